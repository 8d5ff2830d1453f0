"""Queries with matching modes, or aggregates over trends and partitions: a stream in, totals of each query out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.accumulators import WindowedQuery
from hamlet_core.engines.hamlet.bursts.fold import BurstJobs, burst_jobs
from hamlet_core.engines.hamlet.input.frame import Jobs
from hamlet_core.engines.hamlet.input.query_class import ClassEvents, QueryClass, class_events, classes_of
from hamlet_core.engines.hamlet.prefixes.kernel import fold_prefixes
from hamlet_core.engines.hamlet.prefixes.lanes.fold import fold_together, lanes_at_once
from hamlet_core.engines.hamlet.prefixes.lanes.program import (
    Conditions,
    Member,
    Shape,
    StepBuilder,
    places_of,
    shape_of,
)
from hamlet_core.engines.hamlet.prefixes.lanes.tables import Steps
from hamlet_core.engines.hamlet.prefixes.parts import in_parts, parts_of
from hamlet_core.engines.hamlet.prefixes.program import (
    Columns,
    Layout,
    program_of,
    slots_of,
)
from hamlet_core.engines.hamlet.prefixes.tables import (
    DONE,
    FULL,
    NEUTRAL,
    Fold,
    Found,
    Program,
    Trends,
    Values,
    Waiting,
)
from hamlet_core.engines.hamlet.prefixes.totals import Reading, Windows
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.predicates.pairs import compile_pairs
from hamlet_core.progress import Progress
from hamlet_core.results.counters import Work
from hamlet_core.results.totals import Totals
from hamlet_core.table.encode import Stream
from hamlet_core.template.prefixes import folds, reads, why_by_itself
from hamlet_core.threads import Crew
from hamlet_core.windows import Wanted

ROOM = 256
"""Prefixes that there is room for at first; more where it is too little."""


@dataclass(frozen=True, slots=True)
class Alike:
    """Queries with the same equivalence and GROUP-BY attributes, and what does not depend on the events they read."""

    own: QueryClass
    folds: Sequence[tuple[int, ...]]
    """The places in the class of queries that go together."""


def alike_of(queries: Sequence[AnalysedQuery]) -> list[Alike]:
    """Queries whose path is by prefixes, those together whose events are sorted and cut into windows once."""
    alike: dict[tuple[frozenset[str], frozenset[str]], list[int]] = {}
    for place, one in enumerate(queries):
        alike.setdefault(reads(one), []).append(place)
    found = []
    for places in alike.values():
        (own,) = classes_of([queries[place] for place in places])
        own = replace(own, places=tuple(places))
        found.append(Alike(own, folds(own.queries)))
    return found


def fold_by_prefixes(
    windowed: Sequence[WindowedQuery],
    stream: Stream,
    arithmetic: str,
    work: Work,
    text: str,
    progress: Progress,
    threads: int = 1,
    *,
    only: Wanted | None = None,
    alike: Sequence[Alike] = (),
) -> Iterator[tuple[int, Totals]]:
    """Totals by place of the query; there are none of queries with a number beyond 64 bits. So many threads fold.

    `only`: the windows of each specification that are wanted (None: all). `alike`: what `alike_of` says of the queries, if
    that is known.
    """
    done = 0
    with Crew(threads) as crew:
        for one in alike or alike_of([query.analysed for query in windowed]):
            one.own.spare()
            places = one.own.places
            events = class_events(one.own, stream, text)
            jobs = burst_jobs(events, tuple(dict.fromkeys(windowed[place].spec for place in places)), only)
            between = one.own.between
            pairs, ordered = compile_pairs(between.different, stream.columns, unit=stream.unit, text=text)
            conditions = Conditions(between.of_edges, pairs, ordered)
            windows = [Windows.of(spec, rows) for spec, rows in zip(jobs.specs, jobs.rows, strict=True)]
            shared = _Shared(one.own, stream, events, jobs, conditions, arithmetic, crew, windows)
            for together in one.folds:
                for query, totals in shared.totals([(query, windowed[places[query]]) for query in together]):
                    work.matched_events += events.matched
                    work.kernel_events += events.matched
                    yield places[query], totals
                done += len(together)
                progress.at(done / len(windowed))


@dataclass(frozen=True, slots=True)
class _Shared:
    """What queries with the same equivalence and GROUP-BY attributes read."""

    own: QueryClass
    stream: Stream
    events: ClassEvents
    jobs: BurstJobs
    conditions: Conditions
    arithmetic: str
    crew: Crew
    windows: Sequence[Windows]
    """Of the rows of each window specification."""

    def totals(self, queries: Sequence[tuple[int, WindowedQuery]]) -> Iterator[tuple[int, Totals]]:
        """Of queries that go together, by their places in the class; of none whose numbers 64 bits cannot hold."""
        together = not why_by_itself(queries[0][1].analysed)
        spec = self.jobs.specs.index(queries[0][1].spec)
        parts = max(len(windowed.parts) for _, windowed in queries)
        most = lanes_at_once(len(self.jobs.rows[spec].index), parts) if together else 1
        for first in range(0, len(queries), most):
            some = queries[first : first + most]
            found = self._together(some) if together else None
            if found is None:
                found = [self._alone(*one) for one in some]
            for (query, _), totals in zip(some, found, strict=True):
                if totals is not None:
                    yield query, totals

    def _together(self, queries: Sequence[tuple[int, WindowedQuery]]) -> list[Totals | None] | None:
        """One fold for all; None where a number of one of them needs more than 64 bits."""
        columns = Columns(self.stream.columns, exact=self.arithmetic == "exact")
        made = self._lanes([Member(query, one.analysed, one.parts) for query, one in queries], columns)
        if made is None:
            return None
        shape, lanes, steps = made
        spec, jobs = self._jobs(queries[0][1])
        rows = len(self.jobs.rows[spec].index)
        events, pairs = self.events.events, self.conditions.pairs
        parts = parts_of(jobs, self.crew.threads)
        found = fold_together(
            steps,
            shape,
            lanes,
            events,
            pairs,
            _values(columns),
            parts,
            rows,
            tied=self.stream.tied,
            crew=self.crew,
        )
        if found is None:
            return None
        return [
            self._read(one, layout, columns, windowed, trends)
            for one, layout, (_, windowed), trends in zip(
                found, shape.layouts, queries, self._trends(found), strict=True
            )
        ]

    def _trends(self, found: Sequence[Found]) -> Sequence[tuple[Any, Any] | None]:
        """See `Reading.trends`."""
        if self.arithmetic != "scaled":
            return [None] * len(found)
        mantissa, exponent = np.frexp(np.array([one.integers[:, 0] for one in found], np.float64))
        return list(zip(mantissa, exponent.astype(np.int64), strict=True))

    def _lanes(
        self, members: Sequence[Member], columns: Columns
    ) -> tuple[Shape, Sequence[int], Steps] | None:
        """The tables of a fold, made once for streams in which columns and conditions stand in the same places.

        None where 64 bits cannot hold what one of the members asks for.
        """
        placed = places_of(members, columns)
        if placed is None:
            return None
        key = (
            tuple(member.place for member in members),
            self.arithmetic,
            placed,
            tuple(self.events.codes),
            tuple(map(self.conditions.order, range(len(self.conditions.ordered)))),
        )
        with self.own.making:
            if key not in self.own.programs:
                self.own.programs[key] = self._made(members, columns)
            made: tuple[Shape, Sequence[int], Steps] = self.own.programs[key]
        return made

    def _made(self, members: Sequence[Member], columns: Columns) -> tuple[Shape, Sequence[int], Steps]:
        shape = shape_of(members, columns)
        builder = StepBuilder(columns, self.events.codes, self.events.predicates, self.conditions)
        lanes = [
            builder.add(member, layout, reached)
            for member, layout, reached in zip(members, shape.layouts, shape.reached, strict=True)
        ]
        return shape, lanes, builder.tables(shape, members[0].analysed.query.mode)

    def _alone(self, query: int, windowed: WindowedQuery) -> Totals | None:
        """Of one of the queries; None where 64 bits cannot hold a number."""
        columns = Columns(self.stream.columns, exact=self.arithmetic == "exact")
        layout = Layout.of(windowed.parts, columns)
        if layout is None:
            return None
        codes, predicates = self.events.codes, self.events.predicates
        program = program_of(
            query, windowed.analysed, layout, columns, codes, predicates, self.conditions.of_edges
        )
        spec, jobs = self._jobs(windowed)
        found = _found(layout, len(self.jobs.rows[spec].index), len(program.reach))
        if not self._fold(program, layout, columns, jobs, slots_of(windowed.analysed, windowed.parts), found):
            return None
        return self._read(found, layout, columns, windowed)

    def _jobs(self, windowed: WindowedQuery) -> tuple[int, Jobs]:
        """The number of a query's windows, and they as slices of the events."""
        spec = self.jobs.specs.index(windowed.spec)
        own, first = self.jobs.own(spec), self.jobs.rows[spec].first
        return spec, Jobs(self.jobs.first[own], self.jobs.last[own], self.jobs.row[own] - first)

    def _read(
        self,
        found: Found,
        layout: Layout,
        columns: Columns,
        windowed: WindowedQuery,
        trends: tuple[Any, Any] | None = None,
    ) -> Totals:
        reading = Reading(found, layout, columns, self.stream, self.arithmetic, trends)
        windows = self.windows[self.jobs.specs.index(windowed.spec)]
        groups = self.events.partitioning.groups
        return reading.totals(windowed.analysed, windowed.parts, windows, groups)

    def _fold(
        self, program: Program, layout: Layout, columns: Columns, jobs: Jobs, slots: int, found: Found
    ) -> bool:
        """Whether the kernel could; with more room for prefixes as long as there is too little."""
        width, values = len(layout.least), _values(columns)

        def fits(own: Jobs) -> bool:
            trends = Trends(
                np.zeros((3, width), np.int64), np.zeros((3, layout.doubles)), np.zeros(3, np.bool_)
            )
            starts = np.zeros((2, len(program.negated_bit)), np.int64)
            begin, room, state = 0, ROOM, FULL
            while state == FULL:
                waiting, ended = (_room(room, slots, width, layout.doubles) for _ in range(2))
                fold = Fold(
                    program, self.events.events, self.conditions.pairs, values, waiting, ended, trends, starts
                )
                begin, state = fold_prefixes(fold, own, found, begin)
                room *= 4
            return bool(state == DONE)

        return in_parts(fits, parts_of(jobs, self.crew.threads), self.crew)


def _values(columns: Columns) -> Values:
    return Values(_table(columns.integers, np.int64), _table(columns.doubles, np.float64))


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
