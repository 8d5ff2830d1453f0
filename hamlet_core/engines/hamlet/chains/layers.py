"""What a chain keeps of each pane: one layer per kind of number, with the tables of pane maps that join them.

A layer is made of the totals that the burst kernel leaves for the rows of pane maps (`bases_of`), and joined by the
steps of `panes/maps.py`, many partitions at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hamlet_core.algebra.aggregates import LATTICE, Component, Role
from hamlet_core.algebra.arithmetic import PRIME
from hamlet_core.engines.hamlet.accumulators import (
    Accumulator,
    AttributeSum,
    WindowedQuery,
    lattice_accumulators,
    number_accumulators,
)
from hamlet_core.engines.hamlet.arithmetics import Lattice, Residues, Scaled
from hamlet_core.engines.hamlet.bursts.fold import BurstJobs, arena_size, fold
from hamlet_core.engines.hamlet.bursts.program import compile_bursts
from hamlet_core.engines.hamlet.chains.algebras import (
    KeyLanes,
    LaneAlgebra,
    Lanes,
    ResidueLanes,
    ScaledLanes,
    WholeLanes,
    put,
)
from hamlet_core.engines.hamlet.engine import with_magnitudes
from hamlet_core.engines.hamlet.input.query_class import ClassEvents
from hamlet_core.engines.hamlet.numbers.arenas import LatticeValues, ScaledValues
from hamlet_core.engines.hamlet.numbers.columns import Keys, keys, scaled_columns
from hamlet_core.engines.hamlet.numbers.exact import Wholes, prime_count, riding
from hamlet_core.engines.hamlet.numbers.residues import primes
from hamlet_core.engines.hamlet.panes.maps import PaneProgram, bases_of, compile_panes, outline
from hamlet_core.sharing.options import Sharing
from hamlet_core.table.encode import Stream

SCALED, WHOLE, RESIDUE, KEYS = "scaled", "whole", "residue", "keys"


@dataclass(frozen=True, slots=True)
class Layer:
    """Numbers of one kind, and how they are joined; arrays have a row per number and a column per partition."""

    algebra: LaneAlgebra
    program: PaneProgram
    results: list[list[int]]
    """By accumulator and component: its number among the totals of a window."""
    sides: tuple[list[int], list[int]]
    """Numbers of the left sides of AND, and of the right ones: trends are pairs."""

    @classmethod
    def of(cls, algebra: LaneAlgebra, accumulators: Sequence[Accumulator]) -> Layer:
        """Numbers are gathered from those of the bases, one accumulator after the other."""
        totals, first = [], 0
        for accumulator in accumulators:
            own = []
            for basis in bases_of(accumulator):
                size = basis.elements * basis.width
                own.append(list(range(first, first + size)))
                first += size
            totals.append(own)
        program, results = compile_panes([outline(one) for one in accumulators], totals)
        pairs = [own for one, own in zip(accumulators, results, strict=True) if one.automaton.sides > 1]
        sides = [left for left, _ in pairs], [right for _, right in pairs]
        return cls(
            algebra,
            program,
            [own[: one.width] for one, own in zip(accumulators, results, strict=True)],
            sides,
        )

    def matrix(self, numbers: Lanes) -> Lanes:
        """The matrices of panes from the totals of the bases."""
        size, gather = self.program.matrix, self.program.gather
        found = tuple(one[gather[:size]] for one in numbers)
        for target, first, count in self.program.more.tolist():
            into = tuple(one[target : target + count] for one in found)
            more = tuple(one[gather[first : first + count]] for one in numbers)
            put(into, self.algebra.add(into, more))
        return found

    def join(self, left: Lanes, right: Lanes) -> Lanes:
        """The matrices of panes, and of those that follow them, as one."""
        return self.algebra.walk(self.program.join, self.program.matrix, left, right)

    def enter(self, matrix: Lanes) -> Lanes:
        """The states that trends which begin in these panes lead to."""
        return self.algebra.walk(
            self.program.enter, self.program.state, self.first_state(matrix[0].shape[1]), matrix
        )

    def leave(self, state: Lanes, matrix: Lanes) -> Lanes:
        """The totals of windows that begin with panes of a state, and end with those of a matrix."""
        totals = self.algebra.walk(self.program.leave, self.program.out_width, state, matrix)
        left, right = (tuple(one[side] for one in totals) for side in self.sides)
        for one, paired in zip(totals, self.algebra.multiply(left, right), strict=True):
            one[self.sides[0]] = paired
        return totals

    def first_state(self, count: int) -> Lanes:
        """Of windows that have just begun."""
        return self._with_ones(self.program.state, self.program.ones, count)

    def nothing(self, count: int) -> Lanes:
        """The matrices of panes without events."""
        return self._with_ones(self.program.matrix, self.program.stays, count)

    def _with_ones(self, size: int, places: Any, count: int) -> Lanes:
        found = self.algebra.zeros((size, count))
        for one, own in zip(found, self.algebra.ones((len(places), count)), strict=True):
            one[places] = own
        return found


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of some queries in one arithmetic."""

    parts: tuple[tuple[Component, ...], ...]
    """By query: what its numbers are, with magnitudes."""
    arithmetic: str
    by_kind: dict[str, Layer]
    programs: dict[Any, Any]
    """Mutable: tables of the burst kernel."""

    @classmethod
    def of(cls, windowed: Sequence[WindowedQuery], arithmetic: str) -> Layers:
        """What is kept: scaled numbers alone tell of residues where there is a trend."""
        parts = tuple(with_magnitudes(one.parts) for one in windowed)
        queries = [one.analysed for one in windowed]
        columns = {part: 0 for own in parts for part in own}
        found = {}
        if arithmetic != "exact":
            found[SCALED] = Layer.of(ScaledLanes(), number_accumulators(queries, parts, columns))
        if arithmetic != "scaled":
            wholes = [
                Accumulator(place, one, tuple(AttributeSum(part.alias, 0) for part in riding(own)))
                for place, (one, own) in enumerate(zip(queries, parts, strict=True))
            ]
            exact = arithmetic == "exact"
            found[WHOLE if exact else RESIDUE] = Layer.of(WholeLanes() if exact else ResidueLanes(), wholes)
        extremes = lattice_accumulators(queries, parts, columns)
        if extremes:
            found[KEYS] = Layer.of(KeyLanes(), extremes)
        return cls(parts, arithmetic, found, {})

    def extremes(self) -> list[tuple[int, Component]]:
        """(query, component) of each accumulator of the keys."""
        return [(place, part) for place, own in enumerate(self.parts) for part in own if part.role in LATTICE]

    def summed(self, query: int) -> list[Component | None]:
        """The components of a query's scaled numbers; the first is COUNT(*)."""
        return [None, *(part for part in self.parts[query] if part.role not in LATTICE)]

    def fold(
        self, queries: Sequence[Any], events: ClassEvents, stream: Stream, jobs: BurstJobs
    ) -> dict[str, Lanes] | None:
        """By kind the matrices of the jobs, a column per row of theirs; None where keys of MIN or MAX do not last."""
        columns, table = scaled_columns(
            (part for own in self.parts for part in own if part.role not in LATTICE), stream.columns
        )
        accumulators = number_accumulators(queries, self.parts, columns)
        found: dict[str, Lanes] = {}
        scaled = self._totals(accumulators, events, ScaledValues(table), Scaled(), jobs)
        if SCALED in self.by_kind:
            found[SCALED] = scaled
        if self.arithmetic != "scaled":
            wholes = Wholes(stream, self.parts, exact=self.arithmetic == "exact")
            riders = [
                Accumulator(place, one, wholes.attribute_sums[place]) for place, one in enumerate(queries)
            ]
            kind = WHOLE if self.arithmetic == "exact" else RESIDUE
            bits = self._bits(accumulators, scaled, wholes)
            found[kind] = self._whole_totals(riders, events, wholes, jobs, bits)
        if KEYS in self.by_kind:
            lasting = self._keys(queries, events, stream, jobs)
            if lasting is None:
                return None
            found[KEYS] = lasting
        return {kind: self.by_kind[kind].matrix(numbers) for kind, numbers in found.items()}

    def _totals(
        self,
        accumulators: Sequence[Accumulator],
        events: ClassEvents,
        values: Any,
        arithmetic: Any,
        jobs: BurstJobs,
    ) -> Any:
        """What the burst kernel leaves for the bases, as `arithmetic` reads it, by number and job."""
        key = tuple(one.key for one in accumulators), tuple(events.codes)
        if key not in self.programs:
            flat = [basis for one in accumulators for basis in bases_of(one)]
            program = compile_bursts(
                flat, [0] * len(flat), [1], events.codes, events.predicates, sharing=Sharing()
            )
            places = [
                out + number
                for out, basis in zip(program.out.tolist(), flat, strict=True)
                for number in range(basis.elements * basis.width)
            ]
            self.programs[key] = program, np.array(places, np.int64)
        program, places = self.programs[key]
        arena = arithmetic.arena(arena_size(program, jobs))
        fold(arena, program, values, events, jobs, specs=(0,), closed_form=True)
        at = places[:, None] + np.arange(jobs.count) * program.out_width
        found = arithmetic.read(arena, at.ravel())
        if isinstance(found, tuple):
            return tuple(one.reshape(at.shape) for one in found)
        return found.reshape(*at.shape, *found.shape[1:])

    def _bits(self, accumulators: Sequence[Accumulator], scaled: Lanes, wholes: Wholes) -> Any:
        """By job: how many bits its largest number may have, with one for the sign and one for rounding."""
        most, first = np.ones(scaled[1].shape[1], np.int64), 0
        for accumulator in accumulators:
            for basis in bases_of(accumulator):
                for number in range(basis.elements * basis.width):
                    part = self.summed(accumulator.query)[number % basis.width]
                    if part is None or part.role is not Role.TOTAL:  # magnitudes bound sums
                        size = scaled[1][first + number] + (0 if part is None else wholes.unit_bits(part))
                        most = np.maximum(most, size)
                first += basis.elements * basis.width
        return most + 2

    def _whole_totals(
        self,
        accumulators: Sequence[Accumulator],
        events: ClassEvents,
        wholes: Wholes,
        jobs: BurstJobs,
        bits: Any,
    ) -> Lanes:
        """Digits, or residues modulo one prime, of the totals of the bases: a number per component."""
        exact = self.arithmetic == "exact"
        moduli = primes(prime_count(int(bits.max(initial=1)))) if exact else (PRIME,)
        blocks, first, room = [], 0, None
        while first < len(moduli):
            made = Residues(moduli[first:], room)
            blocks.append(self._totals(accumulators, events, wholes.values, made, jobs))
            first, room = first + made.count, made.count
        residues, rows, place = np.concatenate(blocks, axis=2), [], 0
        for accumulator in accumulators:
            for basis in bases_of(accumulator):
                for _ in range(basis.elements):
                    own = list(residues[place : place + basis.width])
                    query = accumulator.query
                    told = wholes.numbers(query, own, bits) if exact else wholes.fingerprints(query, own)
                    rows += [told[part] for part in (None, *riding(self.parts[query]))]
                    place += basis.width
        if not exact:
            return (np.array(rows, np.uint64).reshape(len(rows), -1),)
        found = np.empty((len(rows), len(bits)), object)
        for number, digits in enumerate(rows):
            found[number] = digits
        return (found,)

    def _keys(
        self, queries: Sequence[Any], events: ClassEvents, stream: Stream, jobs: BurstJobs
    ) -> Lanes | None:
        extremes = self.extremes()
        names = list(dict.fromkeys((str(part.attribute), part.role) for _, part in extremes))
        made = [keys_of(stream, part) for part in names]
        if any(not lasts(one) for one in made):
            return None
        numbers = {part: names.index((str(part.attribute), part.role)) for _, part in extremes}
        wanted = [[part for part in own if part.role in LATTICE] for own in self.parts]
        accumulators = lattice_accumulators(queries, wanted, numbers)
        values = LatticeValues(np.array([one.keys for one in made]))
        return (self._totals(accumulators, events, values, Lattice(), jobs),)


def keys_of(stream: Stream, attribute: tuple[str, Role]) -> Keys:
    """The keys of a column for MIN or MAX."""
    return keys(stream.columns[attribute[0]], descending=attribute[1] is Role.MAXIMUM)


def lasts(made: Keys) -> bool:
    """Whether keys mean the same for other events; ranks do not, unless nothing has one."""
    return not isinstance(made.back, list) or not made.back
