"""The compiled engine: a workload and a stream in, totals of every query out.

Queries of one class share partitions, events and predicates; those without adjacent conditions go through the burst
kernel, the others through the event kernel, each in one pass per arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hamlet_core.algebra.aggregates import LATTICE, Component, Role
from hamlet_core.algebra.arithmetic import PRIME, Unit
from hamlet_core.algebra.measuring import Extremes, Numbers
from hamlet_core.engines.hamlet import bursts
from hamlet_core.engines.hamlet.burst_program import bursts_fold
from hamlet_core.engines.hamlet.classes import ClassEvents, class_events
from hamlet_core.engines.hamlet.numbers import (
    ABSENT,
    ZERO_EXPONENT,
    LatticeNumbers,
    LatticeValues,
    ResidueValues,
    ScaledNumbers,
    ScaledValues,
)
from hamlet_core.engines.hamlet.residues import (
    PRIME_BITS,
    lifts,
    primes,
    rebuilt,
    residue_arena,
    times_constants,
)
from hamlet_core.engines.hamlet.strands import Rider, Strand, lattice_strands, number_strands
from hamlet_core.engines.hamlet.values import (
    DIGIT,
    Keys,
    Whole,
    keys,
    scaled_columns,
    values_of_keys,
    whole,
)
from hamlet_core.events import Stream
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.predicates.kinds import Kind
from hamlet_core.totals import Totals
from hamlet_core.windows import WindowSpec

_BLOCK = 1 << 22
"""Residues that one pass may hold."""

_DOUBLE_PARTS = 1074


@dataclass(frozen=True, slots=True)
class Question:
    """One query as the engine needs it; `parts` are the components of its aggregates in exact arithmetic's order."""

    analysed: AnalysedQuery
    spec: WindowSpec
    parts: tuple[Component, ...]


@dataclass(slots=True)
class Work:
    """Mutable: what the kernels did."""

    matched_events: int = 0
    kernel_events: int = 0
    bursts: int = 0


def fold_workload(
    questions: Sequence[Question], stream: Stream, arithmetic: str, text: str = "", *, closed_form: bool = True
) -> tuple[list[Totals], Work]:
    """Totals of every query, in order, and what the kernels did."""
    work = Work()
    classes: dict[Any, list[int]] = {}
    for place, question in enumerate(questions):
        analysed = question.analysed
        classes.setdefault((frozenset(analysed.equivalence), frozenset(analysed.group_by)), []).append(place)
    found: dict[int, Totals] = {}
    for places in classes.values():
        own = [questions[place] for place in places]
        events = class_events([question.analysed for question in own], stream, text)
        totals = fold_class(own, events, stream, arithmetic, work, closed_form=closed_form)
        found.update(zip(places, totals, strict=True))
    return [found[place] for place in range(len(questions))], work


def fold_class(
    questions: Sequence[Question],
    events: ClassEvents,
    stream: Stream,
    arithmetic: str,
    work: Work,
    *,
    closed_form: bool,
) -> list[Totals]:
    """Totals of the queries of one class."""
    specs = tuple(dict.fromkeys(question.spec for question in questions))
    jobs = bursts.burst_jobs(events, specs)
    spec_of = [specs.index(question.spec) for question in questions]
    fold = _Fold(questions, spec_of, events, stream, jobs, closed_form)
    work.matched_events += events.matched
    totals = fold.totals(arithmetic)
    work.kernel_events += events.matched
    work.bursts += fold.bursts
    return totals


class _Fold:
    """One class: passes in the arithmetics that are asked for, their numbers by query and component."""

    def __init__(
        self,
        questions: Sequence[Question],
        spec_of: Sequence[int],
        events: ClassEvents,
        stream: Stream,
        jobs: bursts.BurstJobs,
        closed_form: bool,
    ) -> None:
        self.questions = questions
        self.analysed = [question.analysed for question in questions]
        self.spec_of = spec_of
        self.events = events
        self.stream = stream
        self.jobs = jobs
        self.closed_form = closed_form
        self.bursts = 0

    def run(self, strands: Sequence[Strand], values: Any, make: Callable[[int], Any]) -> tuple[Any, Any]:
        """(arena, addresses): `addresses[i]` is the (first number, step between rows, rows) of strand i."""
        program = bursts.burst_program(
            strands, [self.spec_of[strand.query] for strand in strands], self.events, self.jobs
        )
        arena = make(bursts.arena_size(program, self.jobs))
        self.bursts = bursts.fold(
            arena, program, values, self.events, self.jobs, closed_form=self.closed_form
        )
        return arena, program

    def numbers_at(self, program: Any, strand: int, component: int) -> Any:
        """Addresses of one component of a strand, by row of its window specification."""
        spec, out = int(program.strand[strand, 0]), int(program.strand[strand, 1])
        rows = self.jobs.rows[spec]
        return (np.arange(len(rows.index)) + rows.first) * program.out_width + out + component

    # --- passes -------------------------------------------------------------------------------

    def totals(self, arithmetic: str) -> list[Totals]:
        parts = [_with_magnitudes(question.parts) for question in self.questions]
        columns, table = scaled_columns((part for own in parts for part in own if part.role not in LATTICE), self.stream.columns)
        strands = number_strands(self.analysed, parts, columns)
        arena, program = self.run(strands, ScaledValues(table), _scaled_arena)
        scaled = [
            [
                Numbers(arena.mantissa[at], arena.exponent[at])
                for component in range(strand.width)
                for at in (self.numbers_at(program, place, component),)
            ]
            for place, strand in enumerate(strands)
        ]
        alive = [numbers[0].mantissa != 0.0 for numbers in scaled]
        exact = self.exact(arithmetic, parts, scaled, alive)
        extremes = self.extremes(alive)
        return [
            self.total(place, parts[place], scaled[place], alive[place], exact[place], extremes, arithmetic)
            for place in range(len(self.questions))
        ]

    def total(
        self,
        place: int,
        parts: Sequence[Component],
        scaled: Sequence[Numbers],
        alive: Any,
        exact: Sequence[Any],
        extremes: dict[tuple[int, Component], Any],
        arithmetic: str,
    ) -> Totals:
        question = self.questions[place]
        by_part: dict[Component | None, Any] = {}
        riding = [None, *(part for part in parts if part.role not in LATTICE)]
        for part, numbers, digits in zip(riding, scaled, exact, strict=True):
            mantissa, exponent = numbers.mantissa[alive], numbers.exponent[alive]
            match arithmetic:
                case "scaled":
                    by_part[part] = Numbers(mantissa, exponent)
                case "modular":
                    by_part[part] = Numbers(mantissa, exponent, residue=digits)
                case _:
                    by_part[part] = Numbers(mantissa, exponent, digits=digits)
        rows = self.jobs.rows[self.spec_of[place]]
        index = rows.index[alive]
        start = question.spec.origin + index * question.spec.slide
        return Totals(
            question.analysed.query.name,
            start,
            start + question.spec.within,
            rows.group[alive],
            self.events.partitioning.groups,
            by_part[None],
            tuple(
                extremes[place, part] if part.role in LATTICE else by_part[part] for part in question.parts
            ),
        )

    def extremes(self, alive: Sequence[Any]) -> dict[tuple[int, Component], Any]:
        """MIN and MAX of every query, where there is a trend."""
        wanted = [[part for part in question.parts if part.role in LATTICE] for question in self.questions]
        distinct = list(dict.fromkeys((part.attribute, part.role) for own in wanted for part in own))
        if not distinct:
            return {}
        made: list[Keys] = [
            keys(self.stream.columns[str(name)], descending=role is Role.MAXIMUM) for name, role in distinct
        ]
        numbers = {
            part: distinct.index((part.attribute, part.role)) for own in wanted for part in own
        }
        strands = lattice_strands(self.analysed, wanted, numbers)
        table = np.array([one.keys for one in made])
        arena, program = self.run(strands, LatticeValues(table), _lattice_arena)
        found = {}
        owners = [(place, part) for place, own in enumerate(wanted) for part in own]
        for strand, (place, part) in enumerate(owners):
            taken = arena.key[self.numbers_at(program, strand, 0)][alive[place]]
            column = self.stream.columns[str(part.attribute)]
            found[place, part] = Extremes(values_of_keys(taken, made[numbers[part]], column))
        return found

    # --- residues -----------------------------------------------------------------------------

    def exact(
        self, arithmetic: str, parts: Sequence[Sequence[Component]], scaled: Sequence[Sequence[Numbers]], alive: Any
    ) -> list[list[Any]]:
        """For every query and its riding components (COUNT(*) first): digits, residues or nothing."""
        if arithmetic == "scaled":
            return [[None] * len(numbers) for numbers in scaled]
        riding = [
            [part for part in own if part.role not in LATTICE and part.role is not Role.MAGNITUDE]
            for own in parts
        ]
        wholes = _Wholes(self.stream, riding, exact=arithmetic == "exact")
        strands = [
            Strand(place, analysed, wholes.riders[place]) for place, analysed in enumerate(self.analysed)
        ]
        if arithmetic == "modular":
            moduli: tuple[int, ...] = (PRIME,)
        else:
            moduli = primes(_prime_count(wholes.bits(parts, scaled, alive)))
        residues = self.residues(strands, wholes.values, moduli)
        found = []
        for place, own in enumerate(parts):
            by_part = wholes.numbers(place, residues[place], alive[place], moduli, arithmetic)
            found.append([by_part.get(part) for part in [None, *own] if part is None or part.role not in LATTICE])
        return found

    def residues(self, strands: Sequence[Strand], values: Any, moduli: Sequence[int]) -> list[list[Any]]:
        """uint64[row, prime] by strand and component."""
        found: list[list[list[Any]]] = [[[] for _ in range(strand.width)] for strand in strands]
        first = 0
        while first < len(moduli):
            program = bursts.burst_program(
                strands, [self.spec_of[strand.query] for strand in strands], self.events, self.jobs
            )
            size = bursts.arena_size(program, self.jobs)
            block = moduli[first : first + max(1, _BLOCK // size)]
            arena, program = self.run(strands, values, lambda size, block=block: residue_arena(size, block))
            plain = times_constants(arena, self.jobs.count * int(program.out_width), np.ones(len(block), np.uint64))
            for place, strand in enumerate(strands):
                for component in range(strand.width):
                    found[place][component].append(plain[self.numbers_at(program, place, component)])
            first += len(block)
        return [[np.concatenate(blocks, axis=1) for blocks in own] for own in found]


class _Wholes:
    """Riders of the residue passes: wide values are summed digit by digit, doubles are whole after a shift."""

    def __init__(self, stream: Stream, riding: Sequence[Sequence[Component]], *, exact: bool) -> None:
        self.exact = exact
        self.stream = stream
        self.made: dict[tuple[str, Role], tuple[list[int], Whole]] = {}
        self.table: list[Any] = []
        self.shifts: list[Any] = []
        self.riding = riding
        self.riders: list[tuple[Rider, ...]] = []
        self.places: list[dict[Component, list[int]]] = []
        for own in riding:
            riders: list[Rider] = []
            places: dict[Component, list[int]] = {}
            for part in own:
                numbers = [-1] if part.attribute is None else self.columns(part)
                places[part] = [1 + len(riders) + place for place in range(len(numbers))]
                riders += [Rider(part.alias, number) for number in numbers]
            self.riders.append(tuple(riders))
            self.places.append(places)
        rows = len(stream)
        shape = (len(self.table), rows)
        shifts = np.zeros(shape if any(one is not None for one in self.shifts) else (len(self.table), 0), np.int32)
        if shifts.size:
            for number, shift in enumerate(self.shifts):
                if shift is not None:
                    shifts[number] = shift
        elif self.table:
            shifts = np.zeros(shape, np.int32)
        self.values = ResidueValues(np.array(self.table, np.int64).reshape(shape), shifts)

    def columns(self, part: Component) -> list[int]:
        key = str(part.attribute), part.role
        if key not in self.made:
            column = self.stream.columns[key[0]]
            if part.role is Role.PRESENT:
                valid = np.asarray(column.array.is_valid(), np.int64)
                made = Whole((valid,), None, 0)
            elif column.kind is Kind.DOUBLE and not self.exact:
                made = Whole((), None, 0)
            else:
                made = whole(column)
            first = len(self.table)
            for significand in made.significands:
                self.table.append(significand)
                self.shifts.append(made.shift)
            self.made[key] = list(range(first, len(self.table))), made
        return self.made[key][0]

    def bits(
        self, parts: Sequence[Sequence[Component]], scaled: Sequence[Sequence[Numbers]], alive: Any
    ) -> int:
        """What the largest number of any row needs: the scaled numbers know."""
        most = 1
        for place, own in enumerate(parts):
            riding = [None, *(part for part in own if part.role not in LATTICE)]
            for part, numbers in zip(riding, scaled[place], strict=True):
                if not alive[place].any() or (part is not None and part.role is Role.TOTAL):
                    continue  # the sum of absolute values, beside it, bounds it
                exponent = numbers.exponent[alive[place]]
                most = max(most, int(exponent.max()) + (self.unit_bits(part) if part else 0))
        return most + 2

    def unit_bits(self, part: Component) -> int:
        """log2 of the parts of a unit that sums over an attribute count."""
        if part.role is not Role.MAGNITUDE or part.attribute is None:
            return 0
        column = self.stream.columns[part.attribute]
        if column.kind is Kind.DOUBLE:
            return self.made[part.attribute, Role.TOTAL][1].scale
        return int(Unit(column.kind, column.scale).denominator).bit_length()

    def numbers(
        self, place: int, residues: Sequence[Any], alive: Any, moduli: Sequence[int], arithmetic: str
    ) -> dict[Component | None, Any]:
        """Per component what the results want: the fingerprint's residues, or Python integers."""
        found: dict[Component | None, Any] = {None: _shown(residues[0][alive], arithmetic)}
        for part, components in self.places[place].items():
            if part.role is Role.TOTAL and part.attribute is not None:
                column = self.stream.columns[part.attribute]
                if column.kind is Kind.DOUBLE and arithmetic == "modular":
                    found[part] = np.zeros(int(alive.sum()), np.int64)
                    continue
            pieces = [_shown(residues[component][alive], arithmetic) for component in components]
            found[part] = self.joined(part, pieces, arithmetic)
        for part in [*found]:
            if part is not None and part.role is Role.TOTAL:
                magnitude = Component(Role.MAGNITUDE, part.alias, part.attribute)
                found[magnitude] = found[part]  # has no digits of its own, and none are shown
        return found

    def joined(self, part: Component, pieces: Sequence[Any], arithmetic: str) -> Any:
        if arithmetic == "modular":
            if len(pieces) == 1:
                return pieces[0]
            sums = [sum(int(piece[row]) << (DIGIT * place) for place, piece in enumerate(pieces)) for row in range(len(pieces[0]))]
            return np.array([number % PRIME for number in sums], np.int64)
        whole_of = self.made[str(part.attribute), part.role][1] if part.attribute else None
        up = 0
        if whole_of is not None and part.role is Role.TOTAL:
            if self.stream.columns[str(part.attribute)].kind is Kind.DOUBLE:
                up = _DOUBLE_PARTS - whole_of.scale
        return tuple(
            sum(number << (DIGIT * place) for place, number in enumerate(row)) << up
            for row in zip(*pieces, strict=True)
        )


def _shown(residues: Any, arithmetic: str) -> Any:
    if arithmetic == "modular":
        return residues[:, 0].astype(np.int64)
    count = residues.shape[1]
    moduli, factors = primes(count), lifts(count)
    return [
        rebuilt([residue * factor % prime for residue, factor, prime in zip(row, factors, moduli, strict=True)])
        for row in residues.tolist()
    ]


def _prime_count(bits: int) -> int:
    return max(1, -(-bits * 10 // int(PRIME_BITS * 10)))


def _with_magnitudes(parts: Sequence[Component]) -> tuple[Component, ...]:
    """Beside every sum the sum of absolute values: it says how far to trust a double, and bounds the digits."""
    return tuple(
        dict.fromkeys(
            one
            for part in parts
            for one in (
                (part, Component(Role.MAGNITUDE, part.alias, part.attribute)) if part.role is Role.TOTAL else (part,)
            )
        )
    )


def _scaled_arena(size: int) -> ScaledNumbers:
    return ScaledNumbers(np.zeros(size), np.full(size, ZERO_EXPONENT, np.int64))


def _lattice_arena(size: int) -> LatticeNumbers:
    return LatticeNumbers(np.full(size, ABSENT, np.int64))


def folds_by_bursts(analysed: AnalysedQuery) -> bool:
    """Whether the burst kernel can fold a query."""
    return not analysed.ambiguous and not analysed.adjacent and bursts_fold(analysed.automaton)
