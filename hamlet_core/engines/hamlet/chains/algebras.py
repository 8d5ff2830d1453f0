"""Numbers of many partitions side by side, in the arithmetics that a chain of panes keeps; no kernel, for there are few steps.

Numbers are a tuple of arrays of one shape: scaled (mantissa, exponent), or one array of residues, Python's integers or keys.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias

import numpy as np

from hamlet_core.algebra.arithmetic import PRIME
from hamlet_core.engines.hamlet.arithmetics import Scaled
from hamlet_core.engines.hamlet.numbers.arenas import ABSENT, NEUTRAL, ZERO_EXPONENT

Lanes: TypeAlias = tuple[Any, ...]
Shape: TypeAlias = tuple[int, ...]

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


class ScaledLanes(Scaled):
    """(mantissas, exponents), as `ScaledNumbers`."""

    def zeros(self, shape: Shape) -> Lanes:
        return np.zeros(shape), np.full(shape, ZERO_EXPONENT, np.int64)

    def ones(self, shape: Shape) -> Lanes:
        return np.full(shape, 0.5), np.ones(shape, np.int64)

    def multiply(self, one: Lanes, other: Lanes) -> Lanes:
        mantissa, grown = np.frexp(one[0] * other[0])
        return mantissa, np.where(mantissa == 0.0, ZERO_EXPONENT, one[1] + other[1] + grown)

    def positive(self, numbers: Lanes) -> Any:
        return numbers[0] != 0.0


class ResidueLanes:
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


class WholeLanes:
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


class KeyLanes:
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


def taken(numbers: Lanes, *which: Any) -> Lanes:
    """Some of the numbers, copied."""
    return tuple(np.array(one[which]) for one in numbers)


def put(into: Lanes, numbers: Lanes, *which: Any) -> None:
    """Write numbers into some of others."""
    for one, own in zip(into, numbers, strict=True):
        one[which] = own


def appended(several: list[Lanes], axis: int) -> Lanes:
    """Numbers one after the other."""
    return tuple(np.concatenate(arrays, axis=axis) for arrays in zip(*several, strict=True))
