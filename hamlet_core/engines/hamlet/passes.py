"""One pass over the events of a class in one arithmetic: accumulators in, their results row by row out.

Accumulators without adjacent conditions go through the burst kernel, all window specifications at once; the others
through the event kernel, one specification after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.arithmetics import Arithmetic, Coarser, Lattice, Residues, Scaled, added_up
from hamlet_core.engines.hamlet.bursts import fold as bursts
from hamlet_core.engines.hamlet.bursts.fold import Done, Rows
from hamlet_core.engines.hamlet.bursts.program import bursts_fold
from hamlet_core.engines.hamlet.bursts.tables import BurstProgram
from hamlet_core.engines.hamlet.events.fold import (
    Folded,
    Workload,
    adjacent_conditions,
    fold_events_class,
    fold_residues,
)
from hamlet_core.engines.hamlet.graphlets.log import Decided
from hamlet_core.engines.hamlet.input.frame import DEAD, Jobs
from hamlet_core.engines.hamlet.input.query_class import ClassEvents, QueryClass
from hamlet_core.engines.hamlet.jit.order import in_order, is_backwards
from hamlet_core.engines.hamlet.numbers.arenas import (
    ZERO_EXPONENT,
    PlainNumbers,
)
from hamlet_core.engines.hamlet.panes.choice import PRICES, RESIDUES
from hamlet_core.engines.hamlet.panes.sliding import Sliding
from hamlet_core.engines.hamlet.program.builder import grouped_accumulators
from hamlet_core.engines.partitioning import coarser
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.predicates.pairs import compile_pairs
from hamlet_core.progress import UNWATCHED, Progress
from hamlet_core.sharing.options import Sharing
from hamlet_core.table.encode import Stream
from hamlet_core.threads import Crew, Piece, alone
from hamlet_core.windows import Panes

PART = 1 << 19
"""Events, added over windows, of the shortest part that a thread folds."""
MOST_PARTS = 8
"""Of the windows of a class that have one specification."""

Results: TypeAlias = list[list[Any]]
"""By accumulator and component: an array per row of the accumulator's windows (for scaled numbers a pair of them)."""


def folds_by_bursts(analysed: AnalysedQuery) -> bool:
    """Whether the burst kernel can fold a query."""
    return not analysed.ambiguous and not analysed.adjacent and bursts_fold(analysed.automaton)


@dataclass(slots=True)
class ClassPasses:
    """A class of queries, ready to be passed over; mutable: counts what the kernels do."""

    own: QueryClass
    spec_of: Sequence[int]
    """By query: its window specification in `jobs`."""
    events: ClassEvents
    stream: Stream
    jobs: bursts.BurstJobs
    text: str
    closed_form: bool = True
    windows: str = "auto"
    """How sliding windows are folded: see `Sliding`."""
    sharing: Sharing = Sharing()
    crew: Crew = field(default_factory=alone)
    matched: int = 0
    """Events that kernels had to fold in the first pass, and `folded` those that they did fold."""
    folded: int = 0
    bursts: int = 0
    counted: bool = False
    undecided: int = 0
    """Events folded while some groups rested."""
    decided: list[Decided] = field(default_factory=list)
    """What the first pass decided, by window specification."""
    pairs: Any = None
    conditions: Any = field(default_factory=dict)
    sliding: Sliding = field(init=False)
    coarser: dict[int, Coarser] = field(default_factory=dict)
    """By query that reports coarser groups than the rows of its class."""

    def __post_init__(self) -> None:
        self.sliding = Sliding(self.events, self.jobs, self.windows, self.sharing.equals)
        conditions, self.conditions = adjacent_conditions(self.own.queries)
        self.pairs, _ = compile_pairs(conditions, self.stream.columns, unit=self.stream.unit, text=self.text)
        made: dict[Any, Coarser] = {}
        for query, analysed in enumerate(self.own.queries):
            key = self.spec_of[query], frozenset(analysed.group_by)
            if key[1] != frozenset(self.own.group_by):
                if key not in made:
                    made[key] = self._coarser(key[0], analysed.group_by)
                self.coarser[query] = made[key]

    def _coarser(self, spec: int, group_by: Sequence[str]) -> Coarser:
        rows, partitioning = self.jobs.rows[spec], self.events.partitioning
        group, groups = coarser(self.stream, partitioning, group_by)
        return Coarser(*bursts.numbered_rows(0, rows.index, group[rows.group]), groups)

    def rows_of(self, query: int) -> tuple[Rows, tuple[str, ...]]:
        """The rows of results of a query, and the texts of its groups."""
        if query in self.coarser:
            return self.coarser[query].rows, self.coarser[query].groups
        return self.jobs.rows[self.spec_of[query]], self.events.partitioning.groups

    def forget(self) -> None:
        """Count and decide anew."""
        self.counted, self.matched, self.folded, self.bursts, self.undecided = False, 0, 0, 0, 0
        self.decided.clear()

    def run(
        self,
        accumulators: Sequence[Accumulator],
        values: Any,
        arithmetic: Arithmetic,
        progress: Progress = UNWATCHED,
    ) -> Results:
        """Fold all accumulators; see `Results`."""
        found: Results = [[] for _ in accumulators]
        by_bursts = self._by_bursts(accumulators)
        by_events: dict[int, list[int]] = {}
        for place, accumulator in enumerate(accumulators):
            if place not in by_bursts:
                by_events.setdefault(self.spec_of[accumulator.query], []).append(place)
        stages: list[int | str] = [*(["bursts"] if by_bursts else []), *sorted(by_events)]
        for stage, spec in enumerate(in_order(stages)):
            here = progress.part(stage, len(stages))
            places = by_bursts if isinstance(spec, str) else by_events[spec]
            chosen = [accumulators[place] for place in places]
            if isinstance(spec, str):
                _put(found, places, self._bursts(chosen, values, arithmetic))
                here.at(1.0)
            else:
                workload = replace(self._workload(chosen, spec), progress=here)
                _put(found, places, self._events(workload, values, arithmetic))
        self.counted = True
        for accumulator, results in zip(accumulators, found, strict=True):
            if accumulator.query in self.coarser:
                into = self.coarser[accumulator.query].into
                results[:] = [added_up(one, into, arithmetic) for one in results]
        return found

    def _by_bursts(self, accumulators: Sequence[Accumulator]) -> list[int]:
        """Accumulators for the burst kernel: all it can fold, unless they have to keep graphlets."""
        found = [
            place for place, accumulator in enumerate(accumulators) if folds_by_bursts(accumulator.analysed)
        ]
        if not self.sharing.everywhere:
            return found
        grouped: set[int] = set()
        for spec in range(len(self.jobs.specs)):
            places = [place for place, one in enumerate(accumulators) if self.spec_of[one.query] == spec]
            chosen = [accumulators[place] for place in places]
            own = grouped_accumulators(
                chosen, self.events.codes, self.events.predicates, self.conditions, self.sharing
            )
            grouped |= {places[number] for number in own}
        return [place for place in found if place not in grouped]

    def residues(
        self,
        accumulators: Sequence[Accumulator],
        values: Any,
        moduli: Sequence[int],
        progress: Progress = UNWATCHED,
    ) -> Results:
        """Fold all accumulators modulo primes, as many at a time as there is room for: uint64[row, prime]."""
        blocks: list[Results] = []
        first, room = 0, None
        least = 1 if self._by_bursts(accumulators) else len(moduli)  # only arenas of bursts take fewer
        while first < len(moduli):
            made = Residues(moduli[first:], room)
            end = min(first + (room or least), len(moduli))
            share = progress.between(first / len(moduli), end / len(moduli))
            blocks.append(self.run(accumulators, values, made, share))
            first, room = first + made.count, made.count
        return [
            [
                np.concatenate([block[accumulator][part] for block in blocks], axis=1)
                for part in range(own.width)
            ]
            for accumulator, own in enumerate(accumulators)
        ]

    # --- the burst kernel ---------------------------------------------------------------------

    def _bursts(self, accumulators: Sequence[Accumulator], values: Any, arithmetic: Arithmetic) -> Results:
        specs = [self.spec_of[accumulator.query] for accumulator in accumulators]
        prices = RESIDUES if isinstance(arithmetic, Residues) else PRICES
        by_panes = self.sliding.by_panes(accumulators, specs, prices)
        in_panes = {place for own in by_panes.values() for place in own}
        lanes = [place for place in range(len(accumulators)) if place not in in_panes]
        found: Results = [[] for _ in accumulators]
        if lanes:
            results, done = self._lanes([accumulators[place] for place in lanes], values, arithmetic)
            _put(found, lanes, results)
            self._count(done)
        for spec, places in by_panes.items():
            chosen = [accumulators[place] for place in places]
            results, done = self.sliding.fold(spec, chosen, values, arithmetic, closed_form=self.closed_form)
            _put(found, places, results)
            self._count(done)
        return found

    def _count(self, done: Done) -> None:
        if not self.counted:
            self.bursts += done.bursts
            self.folded += done.folded
            self.matched += done.matched

    def _lanes(
        self, accumulators: Sequence[Accumulator], values: Any, arithmetic: Arithmetic
    ) -> tuple[Results, Done]:
        specs = [self.spec_of[accumulator.query] for accumulator in accumulators]
        program = self._program(accumulators, specs)
        arena = arithmetic.arena(bursts.arena_size(program, self.jobs))
        done = bursts.fold(arena, program, values, self.events, self.jobs, closed_form=self.closed_form)
        results = [
            [
                arithmetic.read(
                    arena, (np.arange(len(rows.index)) + rows.first) * program.out_width + out + part
                )
                for part in range(accumulator.width)
            ]
            for accumulator, rows, out in zip(
                accumulators,
                (self.jobs.rows[spec] for spec in specs),
                program.out.tolist(),
                strict=True,
            )
        ]
        return results, done

    def _program(self, accumulators: Sequence[Accumulator], specs: Sequence[int]) -> BurstProgram:
        """Tables are made once for equal accumulators: chunks, runs and the residues of many primes use the same."""
        key = (
            tuple(accumulator.key for accumulator in accumulators),
            tuple(specs),
            self.jobs.slots,
            tuple(self.events.codes),
            self.sharing.equals,
        )
        programs = self.own.programs
        with self.own.making:
            if key not in programs:
                programs[key] = bursts.burst_program(
                    accumulators, specs, self.events, self.jobs, share=self.sharing.equals
                )
            program: BurstProgram = programs[key]
        return program

    # --- the event kernel ---------------------------------------------------------------------

    def _events(self, workload: Workload, values: Any, arithmetic: Arithmetic) -> Results:
        """Part by part: where windows are parted does not depend on how many threads there are."""
        parts, into = _parts(workload)
        pieces = [Piece(partial(_folded, part, values, arithmetic), 1 / len(parts)) for part in parts]
        done = list(self.crew.each(pieces, workload.progress))
        if not self.counted and isinstance(arithmetic, Scaled):
            self.matched += self._within(workload.jobs)
            for one in done:
                self.folded += one.events
                self.undecided += one.undecided
                self.decided += [Decided(*two, workload.pane, workload.origin) for two in one.decided]
        return [_joined(own, into, arithmetic) for own in zip(*(one.results for one in done), strict=True)]

    def _workload(self, accumulators: Sequence[Accumulator], spec: int) -> Workload:
        own = self.jobs.own(spec)
        rows = self.jobs.rows[spec]
        return Workload(
            accumulators,
            self.events.codes,
            self.events.predicates,
            self.conditions,
            self.pairs,
            self.events.events,
            Jobs(self.jobs.first[own], self.jobs.last[own], self.jobs.row[own] - rows.first),
            len(rows.index),
            replace(self.sharing, log=self.sharing.log and not self.counted),
            Panes.of([self.jobs.specs[spec]]).length,
            self.jobs.specs[spec].origin,
            self.own.programs,
            self.own.making,
        )

    def _within(self, jobs: Jobs) -> int:
        """Events that are not dead, added over different windows: those over the same events are neighbours."""
        other = np.ones(len(jobs.first), np.bool_)
        other[1:] = (np.diff(jobs.first) != 0) | (np.diff(jobs.last) != 0)
        first, last = jobs.first[other], jobs.last[other]
        if self.events.matched == len(self.events.events.code):
            return int((last - first).sum())
        dead = np.flatnonzero(self.events.events.code == DEAD)
        return int((last - first - (dead.searchsorted(last) - dead.searchsorted(first))).sum())


def _put(found: Results, places: Sequence[int], results: Results) -> None:
    for place, own in zip(places, results, strict=True):
        found[place] = own


@dataclass(frozen=True, slots=True)
class _Part:
    """What some windows come to, and of a pass in scaled numbers what the kernel did: see `Folded`."""

    results: Results
    events: int = 0
    undecided: int = 0
    decided: Sequence[tuple[Any, Any]] = ()


def _parts(workload: Workload) -> tuple[list[Workload], Any]:
    """The windows in parts that follow one another, each long enough to learn in it who shares; and of the rows of all parts,
    one part behind the other, which rows they add to (None: there is one part).
    """
    jobs, events = workload.jobs, np.cumsum(workload.jobs.last - workload.jobs.first)
    count = min(MOST_PARTS, int(events[-1]) // PART) if len(events) else 1
    if count <= 1:
        return [workload], None
    cuts = 1 + np.searchsorted(events, events[-1] * np.arange(1, count) / count)
    for place, cut in enumerate(cuts.tolist()):  # windows over the same events are folded once
        same = (jobs.first[cut:] == jobs.first[cut - 1]) & (jobs.last[cut:] == jobs.last[cut - 1])
        cuts[place] = cut + (len(same) if same.all() else int(same.argmin()))
    found, into = [], []
    for first, last in pairwise(sorted({0, *cuts.tolist(), len(events)})):
        own, row = np.unique(jobs.row[first:last], return_inverse=True)
        part = Jobs(jobs.first[first:last], jobs.last[first:last], row)
        found.append(replace(workload, jobs=part, rows=len(own)))
        into.append(own)
    return found, np.concatenate(into)


def _folded(workload: Workload, values: Any, arithmetic: Arithmetic, progress: Progress) -> _Part:
    """One part, in one thread."""
    workload, accumulators = replace(workload, progress=progress), workload.accumulators
    if isinstance(arithmetic, Residues):
        numbers = fold_residues(workload, values, arithmetic.all()).numbers
        return _Part(_columns(accumulators, lambda place: numbers[:, place]))
    if isinstance(arithmetic, Lattice):
        keys = fold_events_class(workload, values, arithmetic.arena).numbers.key
        return _Part(_columns(accumulators, lambda place: keys[:, place]))
    plain, mantissa, exponent = _scaled(workload, values)
    results = _columns(accumulators, lambda place: (mantissa[:, place], exponent[:, place]))
    return _Part(results, plain.events, plain.undecided, plain.decided)


def _scaled(workload: Workload, values: Any) -> tuple[Folded, Any, Any]:
    """Doubles first; windows whose totals leave their range are folded again, scaled.

    So are no windows at all: that compiles the kernel.
    """
    first, second = workload.progress.part(0, 2), workload.progress.part(1, 2)
    if is_backwards():
        fold_events_class(workload, values, Scaled().arena)
    plain = fold_events_class(
        replace(workload, progress=first), values, lambda size: PlainNumbers(np.zeros(size))
    )
    mantissa, exponent = np.frexp(plain.numbers.value)
    exponent = np.where(mantissa == 0.0, ZERO_EXPONENT, exponent.astype(np.int64))
    if len(plain.lost) and not plain.lost.any():
        return plain, mantissa, exponent
    again = np.isin(workload.jobs.row, workload.jobs.row[plain.lost])
    jobs = Jobs(*(one[again] for one in workload.jobs))
    scaled = fold_events_class(replace(workload, jobs=jobs, progress=second), values, Scaled().arena)
    rows = np.unique(jobs.row)
    mantissa[rows], exponent[rows] = scaled.numbers.mantissa[rows], scaled.numbers.exponent[rows]
    return plain, mantissa, exponent


def _joined(parts: Sequence[list[Any]], into: Any, arithmetic: Arithmetic) -> list[Any]:
    """Results of an accumulator from those of parts; see `_parts`."""
    if into is None:
        return parts[0]
    return [added_up(_behind(one), into, arithmetic) for one in zip(*parts, strict=True)]


def _behind(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], tuple):
        return tuple(map(np.concatenate, zip(*parts, strict=True)))
    return np.concatenate(parts)


def _columns(accumulators: Sequence[Accumulator], read: Callable[[int], Any]) -> Results:
    found: Results = []
    place = 0
    for accumulator in accumulators:
        found.append([read(place + part) for part in range(accumulator.width)])
        place += accumulator.width
    return found
