"""Numbers of many partitions side by side, in the arithmetics that a chain of panes keeps.

Numbers are a tuple of arrays of one shape: scaled (mantissa, exponent), or one array of residues, Python's integers or keys.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

from hamlet_core.algebra.arithmetic import PRIME
from hamlet_core.engines.hamlet.arithmetics import Scaled
from hamlet_core.engines.hamlet.numbers.arenas import ABSENT, NEUTRAL, ZERO_EXPONENT, ScaledNumbers
from hamlet_core.engines.hamlet.panes.kernel import walk_steps
from hamlet_core.engines.hamlet.panes.maps import (
    ADD_LEFT,
    ADD_RIGHT,
    CLEAR,
    COPY,
    COUNT,
    KIND,
    LEFT,
    RIGHT,
    TARGET,
)

Lanes: TypeAlias = tuple[Any, ...]
Shape: TypeAlias = tuple[int, ...]

_LANES = 128
"""Partitions that the kernel takes together: a hundred numbers of each fit the cache of a core."""

_HALF = np.uint64(31)
_LOW = np.uint64((1 << 31) - 1)
_MIDDLE = np.uint64(30)
_LOW_MIDDLE = np.uint64((1 << 30) - 1)
_PRIME = np.uint64(PRIME)


class LaneAlgebra(Protocol):
    """A semiring of arrays of numbers."""

    def zeros(self, shape: Shape) -> Lanes:
        """Numbers without any trend."""

    def ones(self, shape: Shape) -> Lanes:
        """Numbers of the empty trend."""

    def add(self, one: Lanes, other: Lanes) -> Lanes:
        """Numbers of two sets of trends together."""

    def multiply(self, one: Lanes, other: Lanes) -> Lanes:
        """Numbers of trends that go on with others."""

    def positive(self, numbers: Lanes) -> Any:
        """Where there is a trend; of residues, which cannot tell, everywhere."""

    def walk(self, steps: Any, size: int, left: Lanes, right: Lanes) -> Lanes:
        """So many numbers that steps of pane maps make of two regions, each with a row per number."""


class _Walking:
    """Steps in Python: each takes many numbers at once."""

    def walk(self: LaneAlgebra, steps: Any, size: int, left: Lanes, right: Lanes) -> Lanes:
        found = self.zeros((size, left[0].shape[1]))
        for step in steps.tolist():
            into, one, other = (
                tuple(array[step[place] : step[place] + step[COUNT]] for array in region)
                for place, region in ((TARGET, found), (LEFT, left), (RIGHT, right))
            )
            kind = step[KIND]
            if kind == CLEAR:
                continue  # there is nothing yet
            if kind == COPY:
                put(into, one)
            elif kind == ADD_LEFT:
                put(into, self.add(into, one))
            elif kind == ADD_RIGHT:
                put(into, self.add(into, other))
            else:
                put(into, self.add(into, self.multiply(one, other)))
        return found


class ScaledLanes(Scaled):
    """(mantissas, exponents), as `ScaledNumbers`; mutable: keeps the room in which the kernel works."""

    def __init__(self) -> None:
        self.room = self.arena(0)

    def zeros(self, shape: Shape) -> Lanes:
        return np.zeros(shape), np.full(shape, ZERO_EXPONENT, np.int64)

    def ones(self, shape: Shape) -> Lanes:
        return np.full(shape, 0.5), np.ones(shape, np.int64)

    def multiply(self, one: Lanes, other: Lanes) -> Lanes:
        mantissa, grown = np.frexp(one[0] * other[0])
        return mantissa, np.where(mantissa == 0.0, ZERO_EXPONENT, one[1] + other[1] + grown)

    def walk(self, steps: Any, size: int, left: Lanes, right: Lanes) -> Lanes:
        """In the kernel of panes."""
        count = left[0].shape[1]
        lanes = max(1, -(-count // max(1, -(-count // _LANES))))
        room = (size + len(left[0]) + len(right[0])) * lanes
        if len(self.room.mantissa) < room:
            self.room = self.arena(room)
        found = ScaledNumbers(np.empty((size, count)), np.empty((size, count), np.int64))
        one, other = (ScaledNumbers(*map(np.ascontiguousarray, numbers)) for numbers in (left, right))
        walk_steps(self.room, steps * np.array([1, lanes, lanes, lanes, lanes]), lanes, found, one, other)
        return tuple(found)

    def positive(self, numbers: Lanes) -> Any:
        return numbers[0] != 0.0


class ResidueLanes(_Walking):
    """Residues modulo 2**61 - 1, as uint64."""

    def zeros(self, shape: Shape) -> Lanes:
        return (np.zeros(shape, np.uint64),)

    def ones(self, shape: Shape) -> Lanes:
        return (np.ones(shape, np.uint64),)

    def add(self, one: Lanes, other: Lanes) -> Lanes:
        return (_reduced(one[0] + other[0]),)

    def multiply(self, one: Lanes, other: Lanes) -> Lanes:
        """In halves of 31 bits: 2**61 is 1, so that what is beyond it is added below."""
        a, b = one[0] >> _HALF, one[0] & _LOW
        c, d = other[0] >> _HALF, other[0] & _LOW
        middle = b * c + a * d
        beyond = ((a * c) << np.uint64(1)) + (middle >> _MIDDLE)
        return (_reduced(_reduced(beyond + ((middle & _LOW_MIDDLE) << _HALF)) + _reduced(b * d)),)

    def positive(self, numbers: Lanes) -> Any:
        return np.ones(numbers[0].shape, np.bool_)


def _reduced(numbers: Any) -> Any:
    folded = (numbers >> np.uint64(61)) + (numbers & _PRIME)
    return np.where(folded >= _PRIME, folded - _PRIME, folded)


class WholeLanes(_Walking):
    """Python's integers."""

    def zeros(self, shape: Shape) -> Lanes:
        return (np.full(shape, 0, object),)

    def ones(self, shape: Shape) -> Lanes:
        return (np.full(shape, 1, object),)

    def add(self, one: Lanes, other: Lanes) -> Lanes:
        return (one[0] + other[0],)

    def multiply(self, one: Lanes, other: Lanes) -> Lanes:
        return (one[0] * other[0],)

    def positive(self, numbers: Lanes) -> Any:
        return numbers[0].astype(np.bool_)


class KeyLanes(_Walking):
    """Keys of MIN and MAX: plus is min, times is min of what exists."""

    def zeros(self, shape: Shape) -> Lanes:
        return (np.full(shape, ABSENT, np.int64),)

    def ones(self, shape: Shape) -> Lanes:
        return (np.full(shape, NEUTRAL, np.int64),)

    def add(self, one: Lanes, other: Lanes) -> Lanes:
        return (np.minimum(one[0], other[0]),)

    def multiply(self, one: Lanes, other: Lanes) -> Lanes:
        exist = (one[0] != ABSENT) & (other[0] != ABSENT)
        return (np.where(exist, np.minimum(one[0], other[0]), ABSENT),)

    def positive(self, numbers: Lanes) -> Any:
        return numbers[0] != ABSENT


def taken(numbers: Lanes, columns: Any) -> Lanes:
    """The numbers of some partitions, whose places ascend; not copied where they are all."""
    if len(columns) == numbers[0].shape[1]:
        return numbers
    return tuple(np.take(one, columns, axis=1) for one in numbers)


def put(into: Lanes, numbers: Lanes, columns: Any = slice(None)) -> None:
    """Write numbers into those of some partitions."""
    for one, own in zip(into, numbers, strict=True):
        one[:, columns] = own


def replaced(numbers: Lanes, by: Lanes, columns: Any) -> Lanes:
    """The numbers with those of some partitions, whose places ascend, instead of theirs."""
    if len(columns) == numbers[0].shape[1]:
        return by
    put(numbers, by, columns)
    return numbers


def appended(several: list[Lanes], axis: int) -> Lanes:
    """Numbers one after the other; not copied where there is one."""
    return (
        several[0]
        if len(several) == 1
        else tuple(np.concatenate(arrays, axis=axis) for arrays in zip(*several, strict=True))
    )
