"""How the numbers of a pass are made, read out and added, in each arithmetic; and how rows are added up where groups are coarser."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.bursts.fold import Rows
from hamlet_core.engines.hamlet.numbers.arenas import (
    ABSENT,
    ZERO_EXPONENT,
    LatticeNumbers,
    PlainNumbers,
    ScaledNumbers,
)
from hamlet_core.engines.hamlet.numbers.residues import residue_arena, times_constants

_BLOCK = 1 << 22
"""Residues that an arena may hold."""

_VANISHED = 2200
"""A double times two to the minus this is 0."""


class Adding(Protocol):
    """How numbers are added."""

    def add(self, one: Any, other: Any) -> Any:
        """Numbers as they are read out, added one to one."""


class Arithmetic(Adding, Protocol):
    """How the numbers of a pass are made and read out."""

    def arena(self, size: int) -> Any:
        """So many zeros."""

    def read(self, arena: Any, at: npt.NDArray[np.int64]) -> Any:
        """The numbers at these addresses."""


class _Mantissas:
    """(mantissas, exponents)."""

    def add(self, one: Any, other: Any) -> Any:
        exponent = np.maximum(one[1], other[1])
        parts = (np.ldexp(mantissa, np.maximum(own - exponent, -_VANISHED)) for mantissa, own in (one, other))
        mantissa, grown = np.frexp(sum(parts))
        return mantissa, np.where(mantissa == 0.0, ZERO_EXPONENT, exponent + grown)


class Scaled(_Mantissas):
    """(mantissas, exponents), folded as such."""

    def arena(self, size: int) -> ScaledNumbers:
        return ScaledNumbers(np.zeros(size), np.full(size, ZERO_EXPONENT, np.int64))

    def read(self, arena: ScaledNumbers, at: npt.NDArray[np.int64]) -> Any:
        return arena.mantissa[at], arena.exponent[at]


class Plain(_Mantissas):
    """(mantissas, exponents), folded in doubles: right where none of them leaves its range."""

    def arena(self, size: int) -> PlainNumbers:
        return PlainNumbers(np.zeros(size))

    def read(self, arena: PlainNumbers, at: npt.NDArray[np.int64]) -> Any:
        return mantissas(arena.value[at])


def mantissas(values: npt.NDArray[np.float64]) -> tuple[Any, Any]:
    """Doubles as mantissas and exponents."""
    mantissa, exponent = np.frexp(values)
    return mantissa, np.where(mantissa == 0.0, ZERO_EXPONENT, exponent.astype(np.int64))


class Lattice:
    """Keys."""

    def arena(self, size: int) -> LatticeNumbers:
        return LatticeNumbers(np.full(size, ABSENT, np.int64))

    def read(self, arena: LatticeNumbers, at: npt.NDArray[np.int64]) -> Any:
        return arena.key[at]

    def add(self, one: Any, other: Any) -> Any:
        return np.minimum(one, other)


class Residues:
    """uint64[row, prime]; takes as many of the primes as an arena has room for."""

    def __init__(self, moduli: Sequence[int], count: int | None) -> None:
        self.moduli = moduli
        self.limit = count

    @property
    def count(self) -> int:
        """How many primes were taken."""
        return len(self.all())

    def all(self) -> Sequence[int]:
        """The primes that are taken."""
        return self.moduli if self.limit is None else self.moduli[: self.limit]

    def arena(self, size: int) -> Any:
        if self.limit is None:
            self.limit = max(1, min(len(self.moduli), _BLOCK // max(size, 1)))
        return residue_arena(size, self.all())

    def add(self, one: Any, other: Any) -> Any:
        primes = np.array(self.all(), np.uint64)
        total = one + other  # below 2**62
        return np.where(total >= primes, total - primes, total)

    def read(self, arena: Any, at: npt.NDArray[np.int64]) -> Any:
        taken = arena._replace(residue=arena.residue[at])
        return times_constants(taken, len(at), np.ones(len(arena.prime), np.uint64))


@dataclass(frozen=True, slots=True)
class Coarser:
    """Groups of a query that some of the attributes make by which rows of its class are kept apart."""

    rows: Rows
    into: npt.NDArray[np.int64]
    """Row of the class, in its window specification -> row of the query."""
    groups: tuple[str, ...]


def added_up(numbers: Any, into: npt.NDArray[np.int64], arithmetic: Adding) -> Any:
    """Numbers by row, added to the rows they go into, of which none is left out; in pairs, so that few roundings meet."""
    order = np.argsort(into, kind="stable")
    numbers, into = taken(numbers, order), into[order]
    while len(into) and len(into) > into[-1] + 1:
        place = np.arange(len(into))
        first = np.ones(len(into), np.bool_)
        first[1:] = into[1:] != into[:-1]
        second = (place - np.maximum.accumulate(np.where(first, place, 0))) % 2 == 1
        left = np.flatnonzero(second) - 1
        total = arithmetic.add(taken(numbers, left), taken(numbers, left + 1))
        for one, own in zip(_arrays(numbers), _arrays(total), strict=True):
            one[left] = own
        numbers, into = taken(numbers, ~second), into[~second]
    return numbers


def taken(numbers: Any, which: Any) -> Any:
    """Some of the numbers, which are an array, or a tuple of them."""
    return tuple(one[which] for one in numbers) if isinstance(numbers, tuple) else numbers[which]


def _arrays(numbers: Any) -> tuple[Any, ...]:
    return numbers if isinstance(numbers, tuple) else (numbers,)
