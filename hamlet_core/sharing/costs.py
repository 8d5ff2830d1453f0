"""What a burst costs, shared and alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from math import log2
from typing import Protocol

from hamlet_core.sharing.burst import Access, Burst, QuerySet, Storage


class CostModel(Protocol):
    """Costs in any unit, the same for all of one model."""

    def shared(self, burst: Burst, queries: QuerySet, *, continuing: bool) -> float:
        """If two or more queries share the burst; `continuing`: in the graphlet that they have open."""

    def alone(self, burst: Burst, queries: QuerySet) -> float:
        """If each goes by itself."""

    def beside(self, burst: Burst, sets: Sequence[QuerySet], *, continuing: bool) -> float:
        """What a plan costs beside what its sets do, and the queries that go alone."""


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

    def shared(self, burst: Burst, queries: QuerySet, *, continuing: bool) -> float:
        """Events read once for each snapshot carried, and snapshots created: `b n s_p + s_c k g t`."""
        created, carried = burst.snapshots(queries, continuing=continuing)
        events = burst.burst_events * burst.window_events * carried
        size = burst.events_of_graphlet(queries, continuing=continuing)
        return events + created * len(queries) * size * burst.types_per_query

    def alone(self, burst: Burst, queries: QuerySet) -> float:
        """Events read by each query: `k b n`."""
        return len(queries) * burst.burst_events * burst.window_events

    def beside(self, burst: Burst, sets: Sequence[QuerySet], *, continuing: bool) -> float:  # noqa: ARG002
        """0: to split costs nothing."""
        return 0.0


@dataclass(frozen=True, slots=True)
class Constants:
    """Nanoseconds of the event kernel's steps, as `hamlet calibrate` found them on one core of an AMD EPYC.

    Per number (a count, or a sum that rides on it) where nothing else is said.
    """

    total: float = field(default=0.8, metadata={"means": "an event adds to and reads a running total"})
    level: float = field(
        default=0.25, metadata={"means": "an event goes down and up one level of an ordered tree"}
    )
    older: float = field(default=0.07, metadata={"means": "an event reads one older event in a scan"})
    product: float = field(default=3.0, metadata={"means": "a snapshot is multiplied by its coefficient"})
    clear: float = field(
        default=0.05, metadata={"means": "a leaf of a tree is made ready for a new snapshot"}
    )
    graphlet: float = field(default=170.0, metadata={"means": "a graphlet is opened and closed, in all"})
    apart: float = field(default=30.0, metadata={"means": "an event more if its queries go alone, in all"})
    mixed: float = field(
        default=650.0, metadata={"means": "an event more if some go alone or differ, in all"}
    )

    def values(self) -> tuple[float, ...]:
        """In the order of the fields."""
        return astuple(self)


class Measured:
    """The cost of our kernels, in nanoseconds: lanes moved by each event, snapshots made, coefficients multiplied.

    What enters a tree or a scan stays for the rest of the window, so later events are priced with the burst.
    """

    def __init__(self, constants: Constants = Constants()) -> None:
        self.constants = constants

    def step(self, kept: Storage) -> float:
        """What an event pays for each number of its element, or of its coefficients."""
        if kept.access is Access.TOTAL:
            return self.constants.total
        if kept.access is Access.TREE:
            return self.constants.level * (1.0 + log2(1.0 + kept.stored))
        return self.constants.older * kept.stored / 2.0

    def shared(self, burst: Burst, queries: QuerySet, *, continuing: bool) -> float:
        """Lanes of snapshots through all events, then the products that give each query its values back."""
        kept, constants = burst.storage, self.constants
        created, carried = burst.snapshots(queries, continuing=continuing)
        own = burst.disagreements(queries)
        later: float = kept.later_differing
        if len(queries) < len(
            burst.queries
        ):  # nobody counted theirs: as often as in this burst, or a little more
            later = min(later, kept.later_events * (own + 0.5) / (burst.burst_events + 1.0))
        lanes = burst.burst_events * carried + kept.later_events * (carried + later / 2.0)
        cost = self.step(kept) * kept.lane_numbers * lanes
        cost += constants.product * burst.numbers(queries) * carried * (1 + own) + constants.mixed * own
        if kept.access is Access.TREE:
            cost += constants.clear * kept.stored * created * kept.lane_numbers
        return cost + constants.graphlet * (1.0 + kept.later_bursts)

    def alone(self, burst: Burst, queries: QuerySet) -> float:
        """Each query's numbers through all events."""
        kept = burst.storage
        return self.step(kept) * burst.numbers(queries) * (burst.burst_events + kept.later_events)

    def beside(self, burst: Burst, sets: Sequence[QuerySet], *, continuing: bool) -> float:
        """To find the way of each event, and to split: what a tree or scan holds is multiplied out for every query."""
        events, together = burst.burst_events + burst.storage.later_events, sum(map(len, sets))
        cost = 0.0
        if together < len(burst.queries):
            cost = events * (self.constants.mixed if together else self.constants.apart)
        if not continuing:
            numbers = sum(burst.numbers(one.queries) * one.snapshots for one in burst.open)
            cost += self.constants.product * burst.storage.fed * numbers
        return cost


def plan_cost(model: CostModel, burst: Burst, sets: Sequence[QuerySet]) -> float:
    """The sets share, all other queries go by themselves; a set of fewer than two shares nothing."""
    sharing = [own for own in sets if len(own) > 1]
    taken = {query for own in sharing for query in own}
    others = tuple(query for query in burst.queries if query not in taken)
    continuing = burst.continues(sharing)
    cost = model.alone(burst, others) + model.beside(burst, sharing, continuing=continuing)
    return cost + sum(model.shared(burst, own, continuing=continuing) for own in sharing)


def varpulis_benefit(graphlet_events: int, queries: int, snapshots_carried: int) -> int:
    """Another formula of the field, for comparison: g g (k - s_p) - k s_p (Varpulis)."""
    return graphlet_events**2 * (queries - snapshots_carried) - queries * snapshots_carried
