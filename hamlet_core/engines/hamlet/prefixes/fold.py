"""Queries with matching modes, or aggregates over trends and partitions: a stream in, totals of each query out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.accumulators import WindowedQuery
from hamlet_core.engines.hamlet.bursts.fold import BurstJobs, burst_jobs
from hamlet_core.engines.hamlet.events.fold import adjacent_conditions
from hamlet_core.engines.hamlet.input.frame import Jobs
from hamlet_core.engines.hamlet.input.query_class import ClassEvents, class_events, classes_of
from hamlet_core.engines.hamlet.prefixes.kernel import DONE, FULL, fold_prefixes
from hamlet_core.engines.hamlet.prefixes.program import (
    Columns,
    Layout,
    program_of,
    slots_of,
)
from hamlet_core.engines.hamlet.prefixes.tables import NEUTRAL, Fold, Found, Program, Trends, Values, Waiting
from hamlet_core.engines.hamlet.prefixes.totals import Reading
from hamlet_core.predicates.pairs import compile_pairs
from hamlet_core.progress import Progress
from hamlet_core.results.counters import Work
from hamlet_core.results.totals import Totals
from hamlet_core.table.encode import Stream

ROOM = 256
"""Prefixes that there is room for at first; more where it is too little."""


def fold_by_prefixes(
    windowed: Sequence[WindowedQuery],
    stream: Stream,
    arithmetic: str,
    work: Work,
    text: str,
    progress: Progress,
) -> Iterator[tuple[int, Totals]]:
    """Totals by place of the query; there are none of queries with a number beyond 64 bits."""
    alike: dict[tuple[frozenset[str], frozenset[str]], list[int]] = {}
    for place, one in enumerate(windowed):
        key = frozenset(one.analysed.equivalence), frozenset(one.analysed.group_by)
        alike.setdefault(key, []).append(place)
    done = 0
    for places in alike.values():
        (own,) = classes_of([windowed[place].analysed for place in places])
        events = class_events(own, stream, text)
        jobs = burst_jobs(events, tuple(dict.fromkeys(windowed[place].spec for place in places)))
        conditions, numbered = adjacent_conditions(own.queries)
        pairs, _ = compile_pairs(conditions, stream.columns, unit=stream.unit, text=text)
        shared = _Shared(stream, events, jobs, pairs, numbered, arithmetic)
        for query, place in enumerate(places):
            totals = shared.totals(query, windowed[place])
            if totals is not None:
                work.matched_events += events.matched
                work.kernel_events += events.matched
                yield place, totals
            done += 1
            progress.at(done / len(windowed))


@dataclass(frozen=True, slots=True)
class _Shared:
    """What queries with the same equivalence and GROUP-BY attributes read."""

    stream: Stream
    events: ClassEvents
    jobs: BurstJobs
    pairs: Any
    conditions: dict[tuple[int, str, str], int]
    """The adjacent conditions of edges: see `adjacent_conditions`."""
    arithmetic: str

    def totals(self, query: int, windowed: WindowedQuery) -> Totals | None:
        """Of one of the queries, by its place among them; None where 64 bits cannot hold a number."""
        columns = Columns(self.stream.columns, exact=self.arithmetic == "exact")
        layout = Layout.of(windowed.parts, columns)
        if layout is None:
            return None
        codes, predicates = self.events.codes, self.events.predicates
        program = program_of(query, windowed.analysed, layout, columns, codes, predicates, self.conditions)
        spec = self.jobs.specs.index(windowed.spec)
        rows = self.jobs.rows[spec]
        found = _found(layout, len(rows.index), len(program.reach))
        if not self._fold(program, layout, columns, spec, slots_of(windowed.analysed, windowed.parts), found):
            return None
        reading = Reading(found, layout, columns, self.stream, self.arithmetic)
        return reading.totals(
            windowed.analysed, windowed.spec, windowed.parts, rows, self.events.partitioning.groups
        )

    def _fold(
        self, program: Program, layout: Layout, columns: Columns, spec: int, slots: int, found: Found
    ) -> bool:
        """Whether the kernel could; with more room for prefixes as long as there is too little."""
        own, first = self.jobs.own(spec), self.jobs.rows[spec].first
        jobs = Jobs(self.jobs.first[own], self.jobs.last[own], self.jobs.row[own] - first)
        width = len(layout.least)
        values = Values(_table(columns.integers, np.int64), _table(columns.doubles, np.float64))
        trends = Trends(np.zeros((3, width), np.int64), np.zeros((3, layout.doubles)), np.zeros(3, np.bool_))
        starts = np.zeros((2, len(program.negated_bit)), np.int64)
        begin, room, state = 0, ROOM, FULL
        while state == FULL:
            waiting, ended = (_room(room, slots, width, layout.doubles) for _ in range(2))
            fold = Fold(program, self.events.events, self.pairs, values, waiting, ended, trends, starts)
            begin, state = fold_prefixes(fold, jobs, found, begin)
            room *= 4
        return bool(state == DONE)


def _table(columns: Sequence[Any], kind: Any) -> Any:
    return np.array(columns, kind) if columns else np.zeros((0, 0), kind)


def _found(layout: Layout, rows: int, aliases: int) -> Found:
    """Nothing yet."""
    least = np.array([NEUTRAL if least else 0 for least in layout.least], np.int64)
    return Found(
        np.tile(least, (rows, 1)),
        np.zeros((rows, layout.doubles)),
        np.zeros(rows, np.bool_),
        np.zeros(rows, np.int64),
        np.zeros((rows, aliases), np.int64),
        np.zeros(rows, np.int64),
    )


def _room(prefixes: int, slots: int, width: int, doubles: int) -> Waiting:
    return Waiting(
        np.zeros(prefixes, np.int64),
        np.zeros(prefixes, np.int64),
        np.zeros(prefixes, np.uint64),
        np.zeros(prefixes, np.uint8),
        np.zeros((prefixes, slots, width), np.int64),
        np.zeros((prefixes, slots, doubles)),
    )
