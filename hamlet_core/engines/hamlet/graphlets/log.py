"""The decision log: what a pass decided, as counters and as rows that people read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.graphlets.settings import (
    N_BURSTS,
    N_CARRIED,
    N_CYCLES,
    N_LANES,
    N_MERGES,
    N_RECORDS,
    N_SHARED,
    N_SPLITS,
    OUTCOMES,
    R_ALONE,
    R_BURST,
    R_BURSTS,
    R_CARRIED,
    R_CREATED,
    R_EVENT,
    R_EVENTS,
    R_GROUP,
    R_LABELS,
    R_OUTCOME,
    R_PANE,
    R_REASON,
    R_SHARED,
    REASONS,
    ROOM,
    SharingState,
)
from hamlet_core.engines.hamlet.jit.clock import seconds_per_cycle
from hamlet_core.engines.hamlet.program.groups import Group
from hamlet_core.engines.partitioning import Partitioning, partition_text
from hamlet_core.results.counters import Work
from hamlet_core.table.encode import Stream


@dataclass(frozen=True, slots=True)
class Decided:
    """What a pass over the windows of one specification decided."""

    groups: Sequence[Group]
    state: SharingState
    pane: int
    """Ticks."""
    origin: int

    def add_to(self, work: Work) -> None:
        """Add up the counters."""
        count = self.state.count
        work.decided_bursts += int(count[N_BURSTS])
        work.shared_bursts += int(count[N_SHARED])
        work.snapshots += int(count[N_LANES])
        work.lanes += int(count[N_CARRIED])
        work.splits += int(count[N_SPLITS])
        work.merges += int(count[N_MERGES])
        work.decision_seconds += int(count[N_CYCLES]) * seconds_per_cycle()

    def rows(
        self, names: Sequence[str], attributes: Sequence[str], partitioning: Partitioning, stream: Stream
    ) -> Iterator[Mapping[str, Any]]:
        """Rows of `DECISION_SCHEMA`; `names` are those of the queries, `attributes` make the partitions."""
        record, cost = self.state.record, self.state.cost
        whole = int(self.state.count[N_RECORDS]) if len(record) else 0
        summed = ROOM + np.flatnonzero(record[ROOM:, R_BURSTS])
        texts: dict[int, str] = {}
        candidates = [", ".join(_names(names, one, range(len(one.places)))) for one in self.groups]
        for place in [*range(whole), *summed.tolist()]:
            one, in_detail = record[place], place < ROOM
            group = self.groups[int(one[R_GROUP])]
            partition = None
            if in_detail:
                number = int(np.searchsorted(partitioning.bounds, one[R_EVENT], "right")) - 1
                if number not in texts:
                    texts[number] = partition_text(stream, attributes, partitioning, number)
                partition = texts[number]
            queries = _sets(names, group, one[R_LABELS:].tolist()) if in_detail else None
            yield {
                "pane": int(one[R_PANE]) * self.pane + self.origin,
                "partition": partition,
                "kleene": f"{group.type}+",
                "burst": int(one[R_BURST]) if in_detail else None,
                "bursts": int(one[R_BURSTS]),
                "events": int(one[R_EVENTS]),
                "candidates": candidates[int(one[R_GROUP])],
                "queries": queries if in_detail or one[R_CARRIED] else "",
                "outcome": OUTCOMES[int(one[R_OUTCOME])].value,
                "reason": REASONS[int(one[R_REASON])].value,
                "snapshots_created": int(one[R_CREATED]),
                "snapshots_carried": int(one[R_CARRIED]),
                "cost_shared": float(cost[place, R_SHARED]),
                "cost_alone": float(cost[place, R_ALONE]),
            }


def _names(names: Sequence[str], group: Group, members: Sequence[int]) -> list[str]:
    queries = sorted({query for member in members for query in group.queries[member]})
    return [names[query] for query in queries]


def _sets(names: Sequence[str], group: Group, labels: Sequence[int]) -> str:
    """The sets that share; queries with equal totals are in the same set."""
    sets = range(max(labels[: len(group.places)], default=-1) + 1)
    members = ([place for place in range(len(group.places)) if labels[place] == label] for label in sets)
    return "; ".join(", ".join(_names(names, group, own)) for own in members)
