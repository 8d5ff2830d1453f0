"""Four classes of numbers for the kernels, each an arena of arrays in which a number is an address.

Scaled and plain numbers, residues modulo several primes at once, and the lattice of MIN; with the few tricks on bits
that their arithmetic stands on.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import types
from numba.extending import intrinsic

from hamlet_core.engines.hamlet.jit.decorators import compiled_inline

ZERO_EXPONENT = -(1 << 50)
"""The exponent of a scaled zero: below that of every other number."""

ABSENT = np.int64(2**63 - 1)
"""Lattice: no trend at all."""

NEUTRAL = np.int64(2**63 - 2)
"""Lattice: a trend without such an event."""
_SMALL = -1020
_FRACTION = np.int64((1 << 52) - 1)
_HALF_BITS = np.int64(1022 << 52)
_LOW = np.uint64(0xFFFFFFFF)
_SHIFT = np.uint64(32)
NOTHING = np.uint64(0)
UNIT = np.uint64(1)


class ScaledNumbers(NamedTuple):
    """value = mantissa * 2**exponent; mantissas lie in +-[0.5, 1), or are 0 with `ZERO_EXPONENT`."""

    mantissa: Any
    exponent: Any


class PlainNumbers(NamedTuple):
    """Doubles as they are: right as long as nothing leaves their range; whoever uses them must look."""

    value: Any


class ResidueNumbers(NamedTuple):
    """Residues modulo odd primes below 2**62, in Montgomery form: `residue[number, prime]`."""

    residue: Any
    prime: Any
    inverse: Any
    """-1/prime modulo 2**64."""
    square: Any
    """2**128 modulo prime."""
    one: Any
    """2**64 modulo prime."""


class LatticeNumbers(NamedTuple):
    """Keys whose order is that of the values: plus is min, times is min of what exists."""

    key: Any


Arena: TypeAlias = Any
"""One of the four classes of numbers: a kernel does not know which, it is compiled for each."""


class ScaledValues(NamedTuple):
    """Attribute values for scaled and plain numbers: `value[column, row]`, 0.0 where NULL."""

    value: Any


class ResidueValues(NamedTuple):
    """Attribute values as whole numbers: significand * 2**shift, both `[column, row]`."""

    significand: Any
    shift: Any


class LatticeValues(NamedTuple):
    """Attribute values as keys, `NEUTRAL` where NULL."""

    key: Any


Values: TypeAlias = Any
"""Attribute values for numbers of the arena's class."""


@intrinsic
def _double_of(typing_context, bits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001 - numba's protocol
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@intrinsic
def _bits_of(typing_context, double):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001 - numba's protocol
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@compiled_inline
def power(exponent: int) -> float:
    """2.0**exponent for an exponent in [-1020, 0]; 0.0 below."""
    return _double_of((np.int64(exponent) + np.int64(1023)) << np.int64(52)) if exponent >= _SMALL else 0.0


@compiled_inline
def doubled(times: int) -> float:
    """2.0**times for a number of times that is not negative; infinite above 1023."""
    return _double_of((min(np.int64(times), np.int64(1024)) + np.int64(1023)) << np.int64(52))  # type: ignore[no-any-return]


@compiled_inline
def put_scaled(numbers: ScaledNumbers, index: int, mantissa: float, exponent: int) -> None:
    """Store mantissa * 2**exponent, normalised; the mantissa is finite and not subnormal."""
    bits = _bits_of(mantissa)
    grown = ((bits >> np.int64(52)) & np.int64(0x7FF)) - np.int64(1022)
    zero = mantissa == 0.0
    numbers.mantissa[index] = (
        0.0 if zero else _double_of((bits & ~(np.int64(0x7FF) << np.int64(52))) | _HALF_BITS)
    )
    numbers.exponent[index] = ZERO_EXPONENT if zero else exponent + grown


@compiled_inline
def high(left: Any, right: Any) -> Any:
    """The upper 64 bits of a product of two unsigned 64-bit numbers."""
    a, b = left >> _SHIFT, left & _LOW
    c, d = right >> _SHIFT, right & _LOW
    low = b * d
    middle = a * d + (low >> _SHIFT)
    other = b * c + (middle & _LOW)
    return a * c + (middle >> _SHIFT) + (other >> _SHIFT)


@compiled_inline
def montgomery(left: Any, right: Any, prime: Any, inverse: Any) -> Any:
    """Left * right / 2**64 modulo prime (Montgomery 1985)."""
    low = left * right
    result = high(left, right) + high(low * inverse, prime) + (UNIT if low != NOTHING else NOTHING)
    return result - prime if result >= prime else result


def is_arena(arena: Any, kind: type) -> bool:
    """Whether the type of an argument is that of an arena of this class."""
    return isinstance(arena, types.BaseNamedTuple) and arena.instance_class is kind


def by_class(scaled: Any, plain: Any, residue: Any, lattice: Any) -> Any:
    """An overload that picks the implementation by the class of the arena, the first argument."""

    def choose(arena: Any, *_: Any) -> Any:
        for kind, implementation in (
            (ScaledNumbers, scaled),
            (PlainNumbers, plain),
            (ResidueNumbers, residue),
            (LatticeNumbers, lattice),
        ):
            if is_arena(arena, kind):
                return implementation
        return None

    return choose
