"""Which (query, window, group) the GRETA check recomputes: by hash, so that the same tables give the same sample.

One half is drawn from the stored rows (finds wrong and surplus ones), one half from the events (finds missing ones).
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core import QueryPlan
from hamlet_core.windows import WindowSpec
from pipelines.checks.raw_events import Group, RawEvents, group_of_key

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Sample:
    """One (query, window, group) to recompute."""

    query: str
    window_start: datetime
    window_end: datetime
    group: Group


def from_results(stored: pa.Table, types: pa.Schema, size: int) -> tuple[Sample, ...]:
    """Samples of what the table of results has."""
    names = ("query", "window_start", "window_end", "group_key")
    keys = stored.group_by(list(names)).aggregate([]).select(names).to_pydict()
    chosen = heapq.nsmallest(size, zip(*keys.values(), strict=True), key=_rank)
    return tuple(Sample(query, start, end, group_of_key(key, types)) for query, start, end, key in chosen)


def from_events(events: RawEvents, plans: Sequence[QueryPlan], origin: int, size: int) -> tuple[Sample, ...]:
    """Samples of windows and groups that have an event, whether or not a result is stored for them.

    `origin` is where window 0 starts, in microseconds from the epoch.
    """
    each = -(-size // max(len(plans), 1))
    pools: dict[str, list[tuple[int, int, Group]]] = {plan.name: [] for plan in plans}
    names = sorted({name for plan in plans for name in plan.group_by})
    first = 0
    for batch in events.rows.to_batches(columns=["event_time", "event_type", *names]):
        ranks = scramble(np.arange(first, first + batch.num_rows, dtype=np.uint64))
        first += batch.num_rows
        for plan in plans:
            pools[plan.name] = heapq.nsmallest(
                each, [*pools[plan.name], *_candidates(batch, ranks, plan, each)], key=lambda one: one[0]
            )
    return tuple(sample for plan in plans for sample in _windows(plan, pools[plan.name], origin))


def _candidates(
    batch: pa.RecordBatch, ranks: np.ndarray, plan: QueryPlan, most: int
) -> Iterator[tuple[int, int, Group]]:
    """(rank, time, group) of the events of the batch that a query reads, of the lowest ranks."""
    among = pc.is_in(batch.column("event_type"), value_set=pa.array(sorted(plan.types), pa.string()))
    places = np.flatnonzero(np.asarray(among))
    lowest = places[np.argsort(ranks[places], kind="stable")[:most]]
    times = np.asarray(batch.column("event_time").cast(pa.int64()))
    for place in lowest.tolist():
        group = tuple((name, batch.column(name)[place].as_py()) for name in plan.group_by)
        yield int(ranks[place]), int(times[place]), group


def _windows(plan: QueryPlan, pool: Iterable[tuple[int, int, Group]], origin: int) -> Iterator[Sample]:
    spec = WindowSpec(plan.within, plan.slide, origin)
    for rank, time, group in pool:
        indices = spec.indices(time)
        if indices:
            start, end = spec.bounds(indices[rank % len(indices)])
            yield Sample(plan.name, _EPOCH + start * _MICROSECOND, _EPOCH + end * _MICROSECOND, group)


def _rank(key: object) -> bytes:
    """A hash that is the same in every process, unlike `hash`."""
    return hashlib.sha256(repr(key).encode()).digest()


def scramble(numbers: Any) -> Any:
    """Spread numbers over 64 bits (SplitMix64): their order says nothing of the numbers."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))
