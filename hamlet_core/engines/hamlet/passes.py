"""One pass over the events of a class in one arithmetic: accumulators in, their results row by row out.

Accumulators without adjacent conditions go through the burst kernel, all window specifications at once; the others
through the event kernel, one specification after the other, or those at once whose windows begin together and that have
equal totals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, pairwise
from typing import Any, TypeAlias

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.arithmetics import (
    Arithmetic,
    Coarser,
    Lattice,
    Plain,
    Residues,
    Scaled,
    added_up,
    mantissas,
    taken,
)
from hamlet_core.engines.hamlet.bursts import fold as bursts
from hamlet_core.engines.hamlet.bursts.fold import Done, Rows
from hamlet_core.engines.hamlet.bursts.program import bursts_fold
from hamlet_core.engines.hamlet.bursts.tables import BurstProgram
from hamlet_core.engines.hamlet.events.choice import LATTICE, SCALED
from hamlet_core.engines.hamlet.events.fold import (
    Folded,
    Workload,
    fold_events_class,
    fold_residues,
)
from hamlet_core.engines.hamlet.events.spans import Layout, Windows
from hamlet_core.engines.hamlet.graphlets.log import Decided
from hamlet_core.engines.hamlet.input.frame import DEAD, Events
from hamlet_core.engines.hamlet.input.query_class import ClassEvents, QueryClass
from hamlet_core.engines.hamlet.jit.order import in_order, is_backwards
from hamlet_core.engines.hamlet.numbers.arenas import PlainNumbers
from hamlet_core.engines.hamlet.panes.choice import PRICES, RESIDUES
from hamlet_core.engines.hamlet.panes.sliding import Sliding
from hamlet_core.engines.hamlet.program.builder import different_totals, grouped_accumulators
from hamlet_core.engines.partitioning import coarser
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.predicates.pairs import compile_pairs
from hamlet_core.progress import UNWATCHED, Progress
from hamlet_core.sharing.options import Sharing
from hamlet_core.table.encode import Stream
from hamlet_core.threads import Crew, Piece, alone
from hamlet_core.windows import Panes

PART = 1_000_000
"""Events, added over windows, of the shortest part that a thread folds: each learns anew who shares."""
EACH = "apart"
"""See `Sliding.windows`."""
RANGE = 300
"""Bits of the largest total of a partition, and of the largest and smallest value, up to which doubles hold all sums."""
BURSTS: tuple[int, ...] = ()
"""Instead of the specifications that a fold of the event kernel serves."""
MOST_PARTS = 8
"""Of the windows that one fold serves."""

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
        self.sliding = Sliding(self.events, self.jobs, self.windows, self.sharing)
        between = self.own.between
        self.conditions = between.of_edges
        self.pairs, _ = compile_pairs(
            between.different, self.stream.columns, unit=self.stream.unit, text=self.text
        )
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
        by_events = sorted(
            (place for place in range(len(accumulators)) if place not in by_bursts),
            key=lambda place: self.spec_of[accumulators[place].query],
        )
        stages = [*([BURSTS] if by_bursts else []), *self._together(accumulators, by_events)]
        for stage, specs in enumerate(in_order(stages)):
            here = progress.part(stage, len(stages))
            if specs == BURSTS:
                chosen = [accumulators[place] for place in by_bursts]
                _put(found, by_bursts, self._bursts(chosen, values, arithmetic))
                here.at(1.0)
            else:
                places = [one for one in by_events if self.spec_of[accumulators[one].query] in specs]
                workload = replace(
                    self._workload([accumulators[one] for one in places], specs), progress=here
                )
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
        if not (self.sharing.everywhere and self.sharing.graphlets):
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
        kinds: Sequence[Arithmetic] = [arithmetic]
        if (
            isinstance(arithmetic, Scaled)
            and self.closed_form
            and self._fits_doubles(accumulators, values.value)
        ):
            # Without events, both are compiled for those to come.
            kinds = [Plain()] if self.jobs.count else in_order([Plain(), arithmetic])
        for kind in kinds:
            arena = kind.arena(bursts.arena_size(program, self.jobs))
            done = bursts.fold(
                arena,
                program,
                values,
                self.events,
                self.jobs,
                specs=set(specs),
                closed_form=self.closed_form,
            )
        results = self._read(accumulators, program.out.tolist(), program.out_width, kinds[-1], arena)
        return results, done

    def _read(
        self,
        accumulators: Sequence[Accumulator],
        out: Sequence[int],
        width: int,
        kind: Arithmetic,
        arena: Any,
    ) -> Results:
        """What stands for the accumulators in the rows of an arena, each of which has so many numbers; theirs begin at `out`."""
        found: Results = [[] for _ in accumulators]
        for spec in {self.spec_of[accumulator.query] for accumulator in accumulators}:
            places = [place for place, one in enumerate(accumulators) if self.spec_of[one.query] == spec]
            columns = [out[place] + part for place in places for part in range(accumulators[place].width)]
            rows, count = self.jobs.rows[spec], len(self.jobs.rows[spec].index)
            of_row = np.arange(rows.first, rows.first + count) * width
            numbers = kind.read(arena, np.add.outer(columns, of_row).ravel())
            each = iter(
                taken(numbers, slice(first, first + count)) for first in count * np.arange(len(columns))
            )
            for place in places:
                found[place] = list(islice(each, accumulators[place].width))
        return found

    def _fits_doubles(self, accumulators: Sequence[Accumulator], values: Any) -> bool:
        """Whether no number of a partition can leave the range of doubles, whatever its events are.

        Each of them at most adds to a total what all its positions hold; AND multiplies two such totals. All events of a partition
        count, for a burst between two windows has what it grows by as well.
        """
        longest = int(np.diff(self.events.partitioning.bounds).max(initial=0))
        positions = max(len(accumulator.automaton.positions) for accumulator in accumulators)
        if longest * np.log2(1 + positions) > RANGE:
            return False
        return all(map(_within_range, values))

    def _program(self, accumulators: Sequence[Accumulator], specs: Sequence[int]) -> BurstProgram:
        """Tables are made once for equal accumulators: chunks, runs and the residues of many primes use the same."""
        key = (
            tuple(accumulator.key for accumulator in accumulators),
            tuple(specs),
            self.jobs.slots,
            tuple(self.events.codes),
            self.sharing.equals,
            self.sharing.segments,
        )
        programs = self.own.programs
        with self.own.making:
            if key not in programs:
                programs[key] = bursts.burst_program(
                    accumulators, specs, self.events, self.jobs, sharing=self.sharing
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
            for one in done:
                self.matched += one.matched
                self.folded += one.events
                self.undecided += one.undecided
                self.decided += [Decided(*two, workload.pane, workload.origin) for two in one.decided]
        spec_of = _specs_of(workload.layout)
        return [
            _joined(own, into and into[spec], arithmetic)
            for spec, own in zip(spec_of, zip(*(one.results for one in done), strict=True), strict=True)
        ]

    def _together(self, accumulators: Sequence[Accumulator], places: Sequence[int]) -> list[tuple[int, ...]]:
        """The specifications of some accumulators in sets, each of which one fold serves."""
        if not self.sharing.across_windows or self.windows == EACH:
            return [(spec,) for spec in sorted({self.spec_of[accumulators[place].query] for place in places})]
        by_start: dict[tuple[int, int], dict[int, list[Accumulator]]] = {}
        for place in places:
            spec = self.spec_of[accumulators[place].query]
            windows = self.jobs.specs[spec]
            family = by_start.setdefault((windows.slide, windows.origin % windows.slide), {})
            family.setdefault(spec, []).append(accumulators[place])
        found: list[tuple[int, ...]] = []
        for family in by_start.values():
            chosen = [accumulator for own in family.values() for accumulator in own]
            if len(family) > 1 and self._serves_all(family, chosen):
                found.append(tuple(family))
            else:
                found += [(spec,) for spec in family]
        return sorted(found)

    def _serves_all(self, family: Mapping[int, Sequence[Accumulator]], chosen: Sequence[Accumulator]) -> bool:
        """Whether the accumulators of all these specifications have no more totals than the longest windows need.

        Those that may share graphlets do so among windows that end together.
        """
        if any(accumulator.analysed.ambiguous for accumulator in chosen):
            return False
        longest = family[max(family, key=lambda spec: self.jobs.specs[spec].within)]
        known = self.events.codes, self.events.predicates, self.conditions
        sharing = replace(self.sharing, log=False)
        key = tuple(one.key for one in chosen), tuple(self.events.codes), sharing
        with self.own.making:
            if key not in self.own.programs:
                self.own.programs[key] = not grouped_accumulators(
                    longest, *known, sharing
                ) and different_totals(chosen, *known) == different_totals(longest, *known)
            return bool(self.own.programs[key])

    def _workload(self, accumulators: Sequence[Accumulator], specs: Sequence[int]) -> Workload:
        counts = Counter(self.spec_of[accumulator.query] for accumulator in accumulators)
        windows, rows, before = [], [], 0
        for number, spec in enumerate(specs):
            own, here = self.jobs.own(spec), self.jobs.rows[spec]
            row = self.jobs.row[own] - here.first + before
            windows.append(
                Windows(self.jobs.first[own], self.jobs.last[own], row, np.full(len(row), number, np.int64))
            )
            rows.append(len(here.index))
            before += len(here.index)
        widths = [sum(one.width for one in accumulators if self.spec_of[one.query] == spec) for spec in specs]
        return Workload(
            accumulators,
            self.events.codes,
            self.events.predicates,
            self.conditions,
            self.pairs,
            self.events.events,
            Windows(*map(np.concatenate, zip(*windows, strict=True))),
            Layout(rows, [counts[spec] for spec in specs], widths),
            replace(self.sharing, log=self.sharing.log and not self.counted),
            Panes.of([self.jobs.specs[specs[0]]]).length,
            self.jobs.specs[specs[0]].origin,
            self.own.programs,
            self.own.making,
            apart=self.windows == EACH,
        )


def _within_range(values: Any) -> bool:
    """Whether no value is too large or too small, but 0, by their bits: those of doubles that are not negative are in their order."""
    bits = values.view(np.uint64) & np.uint64(2**63 - 1)
    bits -= np.uint64(1)  # 0 becomes the largest
    small, large = np.array([2.0**-RANGE, 2.0**RANGE]).view(np.uint64) - np.uint64(1)
    least = bits.min(initial=small)
    bits += np.uint64(1)
    return bool(least >= small and bits.max(initial=0) <= large + np.uint64(1))


def _put(found: Results, places: Sequence[int], results: Results) -> None:
    for place, own in zip(places, results, strict=True):
        found[place] = own


@dataclass(frozen=True, slots=True)
class _Part:
    """What some windows come to, and of a pass in scaled numbers what the kernel did: see `Folded`."""

    results: Results
    matched: int = 0
    events: int = 0
    undecided: int = 0
    decided: Sequence[tuple[Any, Any]] = ()


def _within(first: Any, last: Any, events: Events) -> int:
    """Events that are not dead, added over spans."""
    if len(first) == 0:
        return 0
    begin, end = int(first.min()), int(last.max())
    dead = np.flatnonzero(events.code[begin:end] == DEAD)
    gone = dead.searchsorted(last - begin) - dead.searchsorted(first - begin) if len(dead) else 0
    return int((last - first - gone).sum())


def _different(windows: Windows) -> Any:
    """By window: whether it is over other events than the one before it."""
    other = np.ones(len(windows.first), np.bool_)
    other[1:] = (np.diff(windows.first) != 0) | (np.diff(windows.last) != 0) | (np.diff(windows.spec) != 0)
    return other


def _parts(workload: Workload) -> tuple[list[Workload], list[Any] | None]:
    """The windows in parts that follow one another, each long enough to learn in it who shares, an even number of them; and by
    specification, of the rows of all parts, one part behind the other, which rows they add to (None: there is one part).
    """
    windows, layout = workload.windows, workload.layout
    events = np.cumsum(windows.last - windows.first)
    count = int(events[-1]) // PART if len(events) else 1
    if count <= 1:
        return [workload], None
    count = min(MOST_PARTS, count + count % 2)
    if len(layout.rows) > 1:  # windows that begin together stay together
        order = np.lexsort((windows.spec, windows.last, windows.first))
        windows = Windows(*(one[order] for one in windows))
        events = np.cumsum(windows.last - windows.first)
    cuts = 1 + np.searchsorted(events, events[-1] * np.arange(1, count) / count)
    kept = np.append(
        np.flatnonzero(_different(windows)), len(events)
    )  # windows over the same events are folded once
    cuts = kept[kept.searchsorted(np.minimum(cuts, len(events)))]
    before = np.cumsum([0, *layout.rows])
    found: list[Workload] = []
    into: list[list[Any]] = [[] for _ in layout.rows]
    for first, last in pairwise(sorted({0, *cuts.tolist(), len(events)})):
        rows = windows.row[first:last]
        distinct, row = bursts.numbered_rows(0, rows, np.zeros_like(rows))
        own = distinct.index
        limits = own.searchsorted(before)
        part = Windows(windows.first[first:last], windows.last[first:last], row, windows.spec[first:last])
        found.append(replace(workload, windows=part, layout=replace(layout, rows=np.diff(limits).tolist())))
        for spec, (begin, end) in enumerate(pairwise(limits.tolist())):
            into[spec].append(own[begin:end] - before[spec])
    return found, [np.concatenate(one) for one in into]


def _specs_of(layout: Layout) -> list[int]:
    """By accumulator: the number of its specification."""
    return [spec for spec, count in enumerate(layout.accumulators) for _ in range(count)]


def _folded(workload: Workload, values: Any, arithmetic: Arithmetic, progress: Progress) -> _Part:
    """One part, in one thread."""
    workload = replace(workload, progress=progress)
    if isinstance(arithmetic, Residues):
        numbers = fold_residues(workload, values, arithmetic.all()).numbers
        return _Part(_columns(workload, lambda spec, place: numbers[spec][:, place]))
    if isinstance(arithmetic, Lattice):
        found = fold_events_class(workload, values, arithmetic.arena, LATTICE).numbers
        return _Part(_columns(workload, lambda spec, place: found[spec].key[:, place]))
    plain, scaled = _scaled(workload, values)
    results = _columns(workload, lambda spec, place: tuple(one[:, place] for one in scaled[spec]))
    return _Part(
        results,
        _within(plain.first, plain.last, workload.events),
        plain.events,
        plain.undecided,
        plain.decided,
    )


def _scaled(workload: Workload, values: Any) -> tuple[Folded, list[tuple[Any, Any]]]:
    """Doubles first; windows whose totals leave their range are folded again, scaled.

    So are no windows at all: that compiles the kernel. Returned second are mantissas and exponents by specification.
    """
    first, second = workload.progress.part(0, 2), workload.progress.part(1, 2)
    if is_backwards():
        fold_events_class(workload, values, Scaled().arena, SCALED)
    plain = fold_events_class(
        replace(workload, progress=first), values, lambda size: PlainNumbers(np.zeros(size))
    )
    found = [mantissas(numbers.value) for numbers in plain.numbers]
    if len(plain.lost) and not plain.lost.any():
        return plain, found
    again = np.isin(workload.windows.row, workload.windows.row[plain.lost])
    windows = Windows(*(one[again] for one in workload.windows))
    scaled = fold_events_class(
        replace(workload, windows=windows, progress=second), values, Scaled().arena, SCALED
    )
    rows, before = np.unique(windows.row), np.cumsum([0, *workload.layout.rows])
    for (mantissa, exponent), numbers, (begin, end) in zip(
        found, scaled.numbers, pairwise(before.tolist()), strict=True
    ):
        own = rows[(rows >= begin) & (rows < end)] - begin
        mantissa[own], exponent[own] = numbers.mantissa[own], numbers.exponent[own]
    return plain, found


def _joined(parts: Sequence[list[Any]], into: Any, arithmetic: Arithmetic) -> list[Any]:
    """Results of an accumulator from those of parts; see `_parts`."""
    if into is None:
        return parts[0]
    return [added_up(_behind(one), into, arithmetic) for one in zip(*parts, strict=True)]


def _behind(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], tuple):
        return tuple(map(np.concatenate, zip(*parts, strict=True)))
    return np.concatenate(parts)


def _columns(workload: Workload, read: Callable[[int, int], Any]) -> Results:
    """`read` takes a specification, and the place of a number in its rows."""
    found: Results = []
    places = [0] * len(workload.layout.rows)
    for spec, accumulator in zip(_specs_of(workload.layout), workload.accumulators, strict=True):
        place = places[spec]
        found.append([read(spec, place + part) for part in range(accumulator.width)])
        places[spec] += accumulator.width
    return found
