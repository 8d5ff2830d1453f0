"""Exact sums: what the residue passes add up, and Python integers or fingerprints from their residues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hamlet_core.algebra.aggregates import LATTICE, Component, Role
from hamlet_core.algebra.arithmetic import PRIME, Unit
from hamlet_core.engines.hamlet.accumulators import UNIT_WEIGHT, AttributeSum
from hamlet_core.engines.hamlet.numbers.arenas import ResidueValues
from hamlet_core.engines.hamlet.numbers.columns import DIGIT, Whole, whole
from hamlet_core.engines.hamlet.numbers.residues import PRIME_BITS, lifts, primes, rebuilt
from hamlet_core.table.arrow import numbers_of
from hamlet_core.table.encode import Stream
from hamlet_core.table.kinds import Kind

_DOUBLE_PARTS = 1074


def riding(parts: Sequence[Component]) -> list[Component]:
    """The components that the residue passes sum: no extremes, and no sums of absolute values."""
    return [part for part in parts if part.role not in LATTICE and part.role is not Role.MAGNITUDE]


class Wholes:
    """AttributeSums of the residue passes: wide values are summed digit by digit, doubles are whole after a shift."""

    def __init__(self, stream: Stream, parts: Sequence[Sequence[Component]], *, exact: bool) -> None:
        self.exact = exact
        self.stream = stream
        self.made: dict[tuple[str, Role], tuple[list[int], Whole]] = {}
        self.significands: list[Any] = []
        self.shifts: list[Any] = []
        self.attribute_sums: list[tuple[AttributeSum, ...]] = []
        self.places: list[dict[Component, list[int]]] = []
        for own in parts:
            attribute_sums: list[AttributeSum] = []
            places: dict[Component, list[int]] = {}
            for part in riding(own):
                columns = [UNIT_WEIGHT] if part.attribute is None else self.columns(part)
                places[part] = [1 + len(attribute_sums) + place for place in range(len(columns))]
                attribute_sums += [AttributeSum(part.alias, column) for column in columns]
            self.attribute_sums.append(tuple(attribute_sums))
            self.places.append(places)
        shape = len(self.significands), len(stream)
        shifts = np.zeros(shape, np.int32)
        for column, shift in enumerate(self.shifts):
            if shift is not None:
                shifts[column] = shift
        self.values = ResidueValues(np.array(self.significands, np.int64).reshape(shape), shifts)

    def columns(self, part: Component) -> list[int]:
        """Columns of the values that sum to a component; none for what has no digits in modular arithmetic."""
        key = str(part.attribute), part.role
        if key not in self.made:
            column = self.stream.columns[key[0]]
            if part.role is Role.PRESENT:
                made = Whole((numbers_of(column.array.is_valid()).astype(np.int64),), None, 0)
            elif column.kind is Kind.DOUBLE and not self.exact:
                made = Whole((), None, 0)
            else:
                made = whole(column)
            first = len(self.significands)
            self.significands += made.significands
            self.shifts += [made.shift] * len(made.significands)
            self.made[key] = list(range(first, len(self.significands))), made
        return self.made[key][0]

    def unit_bits(self, part: Component) -> int:
        """log2 of the parts of a unit that sums of an attribute count."""
        if part.role is not Role.MAGNITUDE or part.attribute is None:
            return 0
        column = self.stream.columns[part.attribute]
        if column.kind is Kind.DOUBLE:
            return self.made[part.attribute, Role.TOTAL][1].scale
        return int(Unit(column.kind, column.scale).denominator).bit_length()

    def numbers(self, place: int, residues: Sequence[Any], bits: Any) -> dict[Component | None, Any]:
        """By component (None: COUNT(*)) Python integers of each row; `bits` bound them by row."""
        found: dict[Component | None, Any] = {None: tuple(integers(residues[0], bits))}
        for part, components in self.places[place].items():
            pieces = [integers(residues[component], bits) for component in components]
            up = self.up(part)
            found[part] = tuple(
                sum(number << (DIGIT * digit) for digit, number in enumerate(row)) << up
                for row in zip(*pieces, strict=True)
            )
        return found

    def up(self, part: Component) -> int:
        """What turns the shifted sums of doubles into parts of their unit."""
        if part.role is not Role.TOTAL or part.attribute is None:
            return 0
        double = self.stream.columns[part.attribute].kind is Kind.DOUBLE
        return _DOUBLE_PARTS - self.made[part.attribute, Role.TOTAL][1].scale if double else 0

    def fingerprints(self, place: int, residues: Sequence[Any]) -> dict[Component | None, Any]:
        """By component the residue of each row modulo 2**61 - 1; 0 where a fingerprint means nothing."""
        found: dict[Component | None, Any] = {None: residues[0][:, 0].astype(np.int64)}
        for part, components in self.places[place].items():
            pieces = [residues[component][:, 0].astype(np.int64) for component in components]
            if len(pieces) == 1:
                found[part] = pieces[0]
                continue
            sums = np.zeros(len(residues[0]), object)
            for digit, piece in enumerate(pieces):
                sums += piece.astype(object) * (1 << (DIGIT * digit))
            found[part] = (sums % PRIME).astype(np.int64)
        return found


def integers(residues: Any, bits: Any) -> list[int]:
    """Integers from residues [row, prime]; row r has at most `bits[r]` bits and needs no more primes than these."""
    found = []
    for row, size in zip(residues.tolist(), bits.tolist(), strict=True):
        count = min(len(row), prime_count(size))
        factors, moduli = lifts(count), primes(count)
        found.append(
            rebuilt(
                [number * factor % prime for number, factor, prime in zip(row, factors, moduli, strict=False)]
            )
        )
    return found


def prime_count(bits: int) -> int:
    """How many primes hold every integer of so many bits; rounded up, so that few different counts occur."""
    needed = max(1, -(-bits * 10 // int(PRIME_BITS * 10)))
    step = 1 << max(needed.bit_length() - 4, 0)
    return -(-needed // step) * step
