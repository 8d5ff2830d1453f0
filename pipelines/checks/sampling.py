"""Which (query, window, group) the GRETA check recomputes: by hash, so that the same tables give the same sample.

One half is drawn from the stored rows (finds wrong and surplus ones), one half from the events (finds missing ones).
What has more events than the reference engine should take is left out, and another one is drawn in its place.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core import QueryPlan
from hamlet_core.pattern.conditions import attributes
from hamlet_core.template.plan import types_read
from hamlet_core.windows import WindowSpec
from pipelines.checks.raw_events import Group, Place, RawEvents, group_of_key
from pipelines.spans import Span, microseconds, moment

_DRAWN = 4
"""Candidates per sample: so many are looked at before a sample stays smaller than asked."""

_WITHOUT_SCAN = 30
"""How many times as many events the reference takes of a query that compares no neighbours: its work is linear."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Windows to compare: those that end in a span and are final; window 0 starts at `origin` microseconds."""

    span: Span
    final_until: datetime | None
    origin: int

    def has(self, end: datetime) -> bool:
        """Whether a window that ends then is one of them."""
        bounds = (self.span.until, self.final_until)
        return (self.span.after is None or end > self.span.after) and all(
            bound is None or end <= bound for bound in bounds
        )


@dataclass(frozen=True, slots=True)
class Sample:
    """One (query, window, group) to recompute."""

    query: str
    window_start: datetime
    window_end: datetime
    group: Group

    def place(self, plan: QueryPlan) -> Place:
        """Where its events are."""
        start, end = microseconds(self.window_start), microseconds(self.window_end)
        return Place(types_read([plan]), start, end, self.group)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A sample that the reference can take, and how many candidates it could not."""

    samples: Mapping[Sample, int]
    """How many events each has."""
    left_out: int


def draw(
    events: RawEvents, stored: pa.Table, plans: Sequence[QueryPlan], ending: Ending, size: int, largest: int
) -> Drawn:
    """A sample of `size`, of which none has more events than the reference should take.

    `largest` is the limit for queries that compare neighbours, which cost the square of the events.
    """
    by_name = {plan.name: plan for plan in plans}
    half = size // 2
    rows = from_results(stored, events.types, _DRAWN * (size - half))
    windows = from_events(events, plans, ending, _DRAWN * half)
    candidates = tuple(dict.fromkeys((*rows, *windows)))
    found = events.counts([one.place(by_name[one.query]) for one in candidates])
    counts = dict(zip(candidates, found, strict=True))
    limits = {plan.name: largest * (1 if compares_neighbours(plan) else _WITHOUT_SCAN) for plan in plans}
    fits = {one: count <= limits[one.query] for one, count in counts.items()}
    first, out = _first_that_fit(rows, fits, size - half)
    second, more = _first_that_fit(windows, fits, half)
    return Drawn({one: counts[one] for one in (*first, *second)}, len({*out, *more}))


def _first_that_fit(
    candidates: Iterable[Sample], fits: dict[Sample, bool], size: int
) -> tuple[list[Sample], list[Sample]]:
    """The first candidates that fit, and those that were passed over for them."""
    chosen: list[Sample] = []
    passed: list[Sample] = []
    for one in candidates:
        if len(chosen) < size:
            (chosen if fits[one] else passed).append(one)
    return chosen, passed


def compares_neighbours(plan: QueryPlan) -> bool:
    """Whether a condition of the query reads two events of a trend."""
    return any(attribute.next for attribute in attributes(plan.query.where))


def from_results(stored: pa.Table, types: pa.Schema, size: int) -> tuple[Sample, ...]:
    """Samples of what the table of results has, in the order of their ranks."""
    names = ("query", "window_start", "window_end", "group_key")
    keys = stored.group_by(list(names)).aggregate([]).select(names).to_pydict()
    chosen = heapq.nsmallest(size, zip(*keys.values(), strict=True), key=_rank)
    return tuple(Sample(query, start, end, group_of_key(key, types)) for query, start, end, key in chosen)


def from_events(
    events: RawEvents, plans: Sequence[QueryPlan], ending: Ending, size: int
) -> tuple[Sample, ...]:
    """Samples of windows and groups that have an event, whether or not a result is stored for them; query by query."""
    each = -(-size // max(len(plans), 1))
    pools: dict[str, list[tuple[int, int, Group]]] = {plan.name: [] for plan in plans}
    names = {name for plan in plans for name in plan.group_by}
    first = 0
    for every in events.batches({"event_time", "event_type", *names}):
        ranks = scramble(np.arange(first, first + every.num_rows, dtype=np.uint64))
        first += every.num_rows
        near = np.arange(every.num_rows)
        if all(len(pool) == each for pool in pools.values()):
            near = np.flatnonzero(ranks < np.uint64(max(pool[-1][0] for pool in pools.values())))
        batch, ranks = every.take(pa.array(near)), ranks[near]
        for plan in plans if batch.num_rows else ():
            pool = pools[plan.name]
            found = _candidates(batch, ranks, plan, each, pool[-1][0] if len(pool) == each else None)
            pools[plan.name] = heapq.nsmallest(each, [*pool, *found], key=lambda one: one[0])
    drawn = [list(_windows(plan, pools[plan.name], ending)) for plan in plans]
    turns = max(map(len, drawn), default=0)
    return tuple(
        dict.fromkeys(samples[turn] for turn in range(turns) for samples in drawn if turn < len(samples))
    )


def _candidates(
    batch: pa.RecordBatch, ranks: np.ndarray, plan: QueryPlan, most: int, below: int | None
) -> Iterator[tuple[int, int, Group]]:
    """(rank, time, group) of the events of the batch whose type a query names, of the lowest ranks."""
    among = pc.is_in(batch.column("event_type"), value_set=pa.array(sorted(plan.types), pa.string()))
    wanted = np.asarray(among)
    places = np.flatnonzero(wanted if below is None else wanted & (ranks < np.uint64(below)))
    lowest = places[np.argsort(ranks[places], kind="stable")[:most]]
    times = np.asarray(batch.column("event_time").cast(pa.int64()))
    for place in lowest.tolist():
        group = tuple((name, batch.column(name)[place].as_py()) for name in plan.group_by)
        yield int(ranks[place]), int(times[place]), group


def _windows(plan: QueryPlan, pool: Iterable[tuple[int, int, Group]], ending: Ending) -> Iterator[Sample]:
    spec = WindowSpec(plan.within, plan.slide, ending.origin)
    for rank, time, group in pool:
        indices = spec.indices(time)
        if not indices:
            continue
        start, end = spec.bounds(indices[rank % len(indices)])
        if ending.has(moment(end)):
            yield Sample(plan.name, moment(start), moment(end), group)


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
