"""The decision log: what a pass decided, as counters and as a table that people read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
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

    def written(self) -> npt.NDArray[np.int64]:
        """Which records say something: those of single decisions, then the summaries."""
        record = self.state.record
        single = np.arange(int(self.state.count[N_RECORDS]) if len(record) else 0)
        return np.concatenate([single, ROOM + np.flatnonzero(record[ROOM:, R_BURSTS])])


def log_of(
    passes: Sequence[Decided],
    names: Sequence[str],
    attributes: Sequence[str],
    partitioning: Partitioning,
    stream: Stream,
) -> pa.Table:
    """What passes over one class decided, of `DECISION_SCHEMA`.

    `names` are those of the queries, `attributes` make the partitions.
    """
    kept = [(one, places) for one in passes if len(places := one.written())]
    if not kept:
        return pa.Table.from_batches([], DECISION_SCHEMA)  # empty_table would import pandas
    groups = [group for one, _ in kept for group in one.groups]
    taken, cost = _stacked(kept), np.concatenate([one.state.cost[places] for one, places in kept])
    told = np.concatenate([places < ROOM for _, places in kept])
    sizes = [len(places) for _, places in kept]
    pane, origin = (
        np.repeat(of, sizes) for of in zip(*((one.pane, one.origin) for one, _ in kept), strict=True)
    )
    group = taken[:, R_GROUP]
    numbers = np.searchsorted(partitioning.bounds, taken[told, R_EVENT], "right") - 1
    distinct, partition = np.unique(numbers, return_inverse=True)
    columns = {
        "pane": of_numbers(taken[:, R_PANE] * pane + origin),
        "partition": _texts(partition_texts(stream, attributes, partitioning, distinct), partition, told),
        "kleene": _texts([f"{one.type}+" for one in groups], group),
        "burst": of_numbers(taken[:, R_BURST], null=~told),
        "candidates": _texts(
            [", ".join(_names(names, one, range(len(one.places)))) for one in groups], group
        ),
        "queries": _queries(names, groups, taken, told),
        "outcome": _texts([one.value for one in OUTCOMES], taken[:, R_OUTCOME]),
        "reason": _texts([one.value for one in REASONS], taken[:, R_REASON]),
        "cost_shared": of_numbers(cost[:, R_SHARED]),
        "cost_alone": of_numbers(cost[:, R_ALONE]),
    }
    summed = {
        "bursts": R_BURSTS,
        "events": R_EVENTS,
        "snapshots_created": R_CREATED,
        "snapshots_carried": R_CARRIED,
    }
    columns |= {name: of_numbers(taken[:, field]) for name, field in summed.items()}
    return pa.Table.from_arrays([columns[name] for name in DECISION_SCHEMA.names], schema=DECISION_SCHEMA)


def _stacked(kept: Sequence[tuple[Decided, npt.NDArray[np.int64]]]) -> npt.NDArray[np.int64]:
    """The records that are kept, with the groups of all numbered one after the other; no member beyond a group's last."""
    width = max(one.state.record.shape[1] for one, _ in kept)
    stacked = np.full((sum(len(places) for _, places in kept), width), -1, np.int64)
    row = groups = 0
    for one, places in kept:
        own = stacked[row : row + len(places)]
        own[:, : one.state.record.shape[1]] = one.state.record[places]
        own[:, R_GROUP] += groups
        row, groups = row + len(places), groups + len(one.groups)
    return stacked


def _queries(names: Sequence[str], groups: Sequence[Group], taken: Any, told: Any) -> Any:
    """The sets that share; of a summary "" where nobody does, else NULL."""
    rows = np.ascontiguousarray(taken[told][:, [R_GROUP, *range(R_LABELS, taken.shape[1])]])
    whole = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1]))).ravel()  # a row is a value
    _, first, of_row = np.unique(whole, return_index=True, return_inverse=True)
    known = [_sets(names, groups[group], labels) for group, *labels in rows[first].tolist()]
    numbers = np.full(len(taken), len(known), np.int64)
    numbers[told] = of_row
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
