"""The decision log: what a pass decided, as counters and as a table that people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

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
from hamlet_core.engines.partitioning import Partitioning, partition_texts
from hamlet_core.results.counters import Work
from hamlet_core.results.rows import DECISION_SCHEMA
from hamlet_core.table.arrow import of_numbers, of_texts
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

    def table(
        self, names: Sequence[str], attributes: Sequence[str], partitioning: Partitioning, stream: Stream
    ) -> pa.Table:
        """The log, of `DECISION_SCHEMA`; `names` are those of the queries, `attributes` make the partitions."""
        record, cost = self.state.record, self.state.cost
        whole = int(self.state.count[N_RECORDS]) if len(record) else 0
        places = np.concatenate([np.arange(whole), ROOM + np.flatnonzero(record[ROOM:, R_BURSTS])])
        taken, told = record[places], places < ROOM
        groups = taken[:, R_GROUP]
        numbers = np.searchsorted(partitioning.bounds, taken[told, R_EVENT], "right") - 1
        distinct, partition = np.unique(numbers, return_inverse=True)
        columns = {
            "pane": of_numbers(taken[:, R_PANE] * self.pane + self.origin),
            "partition": _texts(partition_texts(stream, attributes, partitioning, distinct), partition, told),
            "kleene": _texts([f"{one.type}+" for one in self.groups], groups),
            "burst": of_numbers(taken[:, R_BURST], null=~told),
            "candidates": _texts(
                [", ".join(_names(names, one, range(len(one.places)))) for one in self.groups], groups
            ),
            "queries": self._queries(names, taken, told),
            "outcome": _texts([one.value for one in OUTCOMES], taken[:, R_OUTCOME]),
            "reason": _texts([one.value for one in REASONS], taken[:, R_REASON]),
            "cost_shared": of_numbers(cost[places, R_SHARED]),
            "cost_alone": of_numbers(cost[places, R_ALONE]),
        }
        summed = {
            "bursts": R_BURSTS,
            "events": R_EVENTS,
            "snapshots_created": R_CREATED,
            "snapshots_carried": R_CARRIED,
        }
        columns |= {name: of_numbers(taken[:, field]) for name, field in summed.items()}
        return pa.Table.from_arrays([columns[name] for name in DECISION_SCHEMA.names], schema=DECISION_SCHEMA)

    def _queries(self, names: Sequence[str], taken: Any, told: Any) -> Any:
        """The sets that share; of a summary "" where nobody does, else NULL."""
        texts: dict[bytes, int] = {}
        known: list[str] = []
        numbers = np.zeros(len(taken), np.int64)
        for place in np.flatnonzero(told).tolist():
            one = taken[place]
            key = one[[R_GROUP, *range(R_LABELS, len(one))]].tobytes()
            if key not in texts:
                texts[key] = len(known)
                known.append(_sets(names, self.groups[int(one[R_GROUP])], one[R_LABELS:].tolist()))
            numbers[place] = texts[key]
        numbers[~told] = len(known)
        return _texts([*known, ""], numbers, told | (taken[:, R_CARRIED] == 0))


def _texts(texts: Sequence[str], numbers: Any, known: Any = None) -> Any:
    """The texts of these numbers; where `known` says so: those of the others are NULL, and may be left out."""
    if known is not None and len(numbers) < len(known):
        placed = np.zeros(len(known), np.int64)
        placed[known] = numbers
        numbers = placed
    null = None if known is None else ~known
    return of_texts(texts or [""]).take(of_numbers(np.ascontiguousarray(numbers), null=null))


def _names(names: Sequence[str], group: Group, members: Sequence[int]) -> list[str]:
    queries = sorted({query for member in members for query in group.queries[member]})
    return [names[query] for query in queries]


def _sets(names: Sequence[str], group: Group, labels: Sequence[int]) -> str:
    """The sets that share; queries with equal totals are in the same set."""
    sets = range(max(labels[: len(group.places)], default=-1) + 1)
    members = ([place for place in range(len(group.places)) if labels[place] == label] for label in sets)
    return "; ".join(", ".join(_names(names, group, own)) for own in members)
