"""What a burst costs, shared and alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hamlet_core.sharing.burst import Burst, QuerySet


class CostModel(Protocol):
    """Costs in any unit, the same for all of one model."""

    def shared(self, burst: Burst, queries: QuerySet) -> float:
        """If two or more queries share the burst."""

    def alone(self, burst: Burst, queries: QuerySet) -> float:
        """If each goes by itself."""


class Paper:
    """Equation 7 of the paper, as restated for a set of queries; in predecessor events that are read.

    | readable name | letter |
    |---|---|
    | burst_events | b |
    | window_events | n |
    | graphlet events | g |
    | types_per_query | t |
    | snapshots_created, snapshots_carried | s_c, s_p |
    | queries | k |
    """

    def shared(self, burst: Burst, queries: QuerySet) -> float:
        """Events read once for each snapshot carried, and snapshots created: `b n s_p + s_c k g t`."""
        created, carried = burst.snapshots(queries)
        events = burst.burst_events * burst.window_events * carried
        return events + created * len(queries) * burst.events_of_graphlet(queries) * burst.types_per_query

    def alone(self, burst: Burst, queries: QuerySet) -> float:
        """Events read by each query: `k b n`."""
        return len(queries) * burst.burst_events * burst.window_events


def plan_cost(model: CostModel, burst: Burst, sets: Sequence[QuerySet]) -> float:
    """The sets share, all other queries go by themselves; a set of fewer than two shares nothing."""
    sharing = [own for own in sets if len(own) > 1]
    taken = {query for own in sharing for query in own}
    others = tuple(query for query in burst.queries if query not in taken)
    return sum(model.shared(burst, own) for own in sharing) + model.alone(burst, others)


def varpulis_benefit(graphlet_events: int, queries: int, snapshots_carried: int) -> int:
    """Another formula of the field, for comparison: g g (k - s_p) - k s_p (Varpulis)."""
    return graphlet_events**2 * (queries - snapshots_carried) - queries * snapshots_carried
