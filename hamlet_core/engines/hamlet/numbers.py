"""Four arithmetics for the kernels: an arena of numbers, and the few operations that a kernel does on their addresses.

A kernel is written once, over an arena of any class below, and compiled once for each. All operations are of a
commutative semiring: scaled and plain numbers, residues modulo several primes at once, and the lattice of MIN.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

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
_NOTHING = np.uint64(0)
_UNIT = np.uint64(1)


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


@intrinsic
def _double_of(typing_context, bits):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001 - numba's protocol
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@intrinsic
def _bits_of(typing_context, double):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202, ARG001 - numba's protocol
    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


@njit(forceinline=True)
def power(exponent: int) -> float:
    """2.0**exponent for an exponent in [-1020, 0]; 0.0 below."""
    return _double_of((np.int64(exponent) + np.int64(1023)) << np.int64(52)) if exponent >= _SMALL else 0.0


@njit(forceinline=True)
def put_scaled(numbers: ScaledNumbers, index: int, mantissa: float, exponent: int) -> None:
    """Store mantissa * 2**exponent, normalised; the mantissa is finite and not subnormal."""
    bits = _bits_of(mantissa)
    grown = ((bits >> np.int64(52)) & np.int64(0x7FF)) - np.int64(1022)
    zero = mantissa == 0.0
    numbers.mantissa[index] = (
        0.0 if zero else _double_of((bits & ~(np.int64(0x7FF) << np.int64(52))) | _HALF_BITS)
    )
    numbers.exponent[index] = ZERO_EXPONENT if zero else exponent + grown


@njit(forceinline=True)
def high(left: int, right: int) -> int:
    """The upper 64 bits of a product of two unsigned 64-bit numbers."""
    a, b = left >> _SHIFT, left & _LOW
    c, d = right >> _SHIFT, right & _LOW
    low = b * d
    middle = a * d + (low >> _SHIFT)
    other = b * c + (middle & _LOW)
    return a * c + (middle >> _SHIFT) + (other >> _SHIFT)


@njit(forceinline=True)
def montgomery(left: int, right: int, prime: int, inverse: int) -> int:
    """left * right / 2**64 modulo prime (Montgomery 1985)."""
    low = left * right
    result = high(left, right) + high(low * inverse, prime) + (_UNIT if low != _NOTHING else _NOTHING)
    return result - prime if result >= prime else result


def is_arena(arena: Any, kind: type) -> bool:
    """Whether the type of an argument is that of an arena of this class."""
    return isinstance(arena, types.BaseNamedTuple) and arena.instance_class is kind


def _dispatch(scaled: Any, plain: Any, residue: Any, lattice: Any) -> Any:
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


# --- operations: each is declared once and has an implementation per class -----------------------


def zero(arena: Any, index: int) -> None:
    """Make a number 0 (lattice: no trend)."""


def one(arena: Any, index: int) -> None:
    """Make a number 1 (lattice: a trend without such an event)."""


def copy(arena: Any, index: int, source: int) -> None:
    """number = source."""


def add(arena: Any, index: int, source: int) -> None:
    """number += source."""


def add_product(arena: Any, index: int, left: int, right: int) -> None:
    """number += left * right."""


def multiply(arena: Any, index: int, source: int) -> None:
    """number *= source."""


def is_zero(arena: Any, index: int) -> bool:
    """Whether a number is 0; never asked of residues, whose 0 says nothing."""


def load(arena: Any, index: int, values: Any, column: int, row: int) -> None:
    """number = an attribute value; `column` -1 is the constant 1."""


def minus_one(arena: Any, index: int) -> None:
    """number -= 1, for a whole number of at least 1."""


def halve(arena: Any, index: int) -> None:
    """number /= 2."""


@overload(zero, jit_options={"forceinline": True})
def _zero(arena: Any, index: int) -> Any:
    def scaled(arena: Any, index: int) -> None:
        arena.mantissa[index] = 0.0
        arena.exponent[index] = ZERO_EXPONENT

    def plain(arena: Any, index: int) -> None:
        arena.value[index] = 0.0

    def residue(arena: Any, index: int) -> None:
        for k in range(arena.prime.shape[0]):
            arena.residue[index, k] = _NOTHING

    def lattice(arena: Any, index: int) -> None:
        arena.key[index] = ABSENT

    return _dispatch(scaled, plain, residue, lattice)(arena)


@overload(one, jit_options={"forceinline": True})
def _one(arena: Any, index: int) -> Any:
    def scaled(arena: Any, index: int) -> None:
        arena.mantissa[index] = 0.5
        arena.exponent[index] = 1

    def plain(arena: Any, index: int) -> None:
        arena.value[index] = 1.0

    def residue(arena: Any, index: int) -> None:
        for k in range(arena.prime.shape[0]):
            arena.residue[index, k] = arena.one[k]

    def lattice(arena: Any, index: int) -> None:
        arena.key[index] = NEUTRAL

    return _dispatch(scaled, plain, residue, lattice)(arena)


@overload(copy, jit_options={"forceinline": True})
def _copy(arena: Any, index: int, source: int) -> Any:
    def scaled(arena: Any, index: int, source: int) -> None:
        arena.mantissa[index] = arena.mantissa[source]
        arena.exponent[index] = arena.exponent[source]

    def plain(arena: Any, index: int, source: int) -> None:
        arena.value[index] = arena.value[source]

    def residue(arena: Any, index: int, source: int) -> None:
        for k in range(arena.prime.shape[0]):
            arena.residue[index, k] = arena.residue[source, k]

    def lattice(arena: Any, index: int, source: int) -> None:
        arena.key[index] = arena.key[source]

    return _dispatch(scaled, plain, residue, lattice)(arena)


@overload(add, jit_options={"forceinline": True})
def _add(arena: Any, index: int, source: int) -> Any:
    def scaled(arena: Any, index: int, source: int) -> None:
        here, there = arena.exponent[index], arena.exponent[source]
        top = max(here, there)
        total = arena.mantissa[index] * power(here - top) + arena.mantissa[source] * power(there - top)
        put_scaled(arena, index, total, top)

    def plain(arena: Any, index: int, source: int) -> None:
        arena.value[index] += arena.value[source]

    def residue(arena: Any, index: int, source: int) -> None:
        for k in range(arena.prime.shape[0]):
            total = arena.residue[index, k] + arena.residue[source, k]
            arena.residue[index, k] = total - arena.prime[k] if total >= arena.prime[k] else total

    def lattice(arena: Any, index: int, source: int) -> None:
        arena.key[index] = min(arena.key[index], arena.key[source])

    return _dispatch(scaled, plain, residue, lattice)(arena)


@overload(add_product, jit_options={"forceinline": True})
def _add_product(arena: Any, index: int, left: int, right: int) -> Any:
    def scaled(arena: Any, index: int, left: int, right: int) -> None:
        here, there = arena.exponent[index], arena.exponent[left] + arena.exponent[right]
        top = max(here, there)
        product = arena.mantissa[left] * arena.mantissa[right]
        total = arena.mantissa[index] * power(here - top) + product * power(there - top)
        put_scaled(arena, index, total, max(top, ZERO_EXPONENT))

    def plain(arena: Any, index: int, left: int, right: int) -> None:
        arena.value[index] += arena.value[left] * arena.value[right]

    def residue(arena: Any, index: int, left: int, right: int) -> None:
        for k in range(arena.prime.shape[0]):
            prime = arena.prime[k]
            product = montgomery(arena.residue[left, k], arena.residue[right, k], prime, arena.inverse[k])
            total = arena.residue[index, k] + product
            arena.residue[index, k] = total - prime if total >= prime else total

    def lattice(arena: Any, index: int, left: int, right: int) -> None:
        if arena.key[left] != ABSENT and arena.key[right] != ABSENT:
            arena.key[index] = min(arena.key[index], arena.key[left], arena.key[right])

    return _dispatch(scaled, plain, residue, lattice)(arena)


@overload(multiply, jit_options={"forceinline": True})
def _multiply(arena: Any, index: int, source: int) -> Any:
    def scaled(arena: Any, index: int, source: int) -> None:
        exponent = max(arena.exponent[index] + arena.exponent[source], ZERO_EXPONENT)
        put_scaled(arena, index, arena.mantissa[index] * arena.mantissa[source], exponent)

    def plain(arena: Any, index: int, source: int) -> None:
        arena.value[index] *= arena.value[source]

    def residue(arena: Any, index: int, source: int) -> None:
        for k in range(arena.prime.shape[0]):
            arena.residue[index, k] = montgomery(
                arena.residue[index, k], arena.residue[source, k], arena.prime[k], arena.inverse[k]
            )

    def lattice(arena: Any, index: int, source: int) -> None:
        if arena.key[index] == ABSENT or arena.key[source] == ABSENT:
            arena.key[index] = ABSENT
        else:
            arena.key[index] = min(arena.key[index], arena.key[source])

    return _dispatch(scaled, plain, residue, lattice)(arena)


@overload(is_zero, jit_options={"forceinline": True})
def _is_zero(arena: Any, index: int) -> Any:
    def scaled(arena: Any, index: int) -> bool:
        return bool(arena.mantissa[index] == 0.0)

    def plain(arena: Any, index: int) -> bool:
        return bool(arena.value[index] == 0.0)

    def residue(arena: Any, index: int) -> bool:
        return False

    def lattice(arena: Any, index: int) -> bool:
        return bool(arena.key[index] == ABSENT)

    return _dispatch(scaled, plain, residue, lattice)(arena)


@overload(load)
def _load(arena: Any, index: int, values: Any, column: int, row: int) -> Any:
    def scaled(arena: Any, index: int, values: Any, column: int, row: int) -> None:
        value, exponent = (1.0 if column < 0 else values.value[column, row]), 0
        if abs(value) < 1e-290:  # a subnormal has no leading bit to find
            value, exponent = value * 2.0**200, -200
        put_scaled(arena, index, value, exponent)

    def plain(arena: Any, index: int, values: Any, column: int, row: int) -> None:
        arena.value[index] = 1.0 if column < 0 else values.value[column, row]

    def residue(arena: Any, index: int, values: Any, column: int, row: int) -> None:
        for k in range(arena.prime.shape[0]):
            if column < 0:
                arena.residue[index, k] = arena.one[k]
                continue
            prime, inverse = arena.prime[k], arena.inverse[k]
            significand = values.significand[column, row]
            size = np.uint64(-significand) if significand < 0 else np.uint64(significand)
            number = montgomery(size % prime, arena.square[k], prime, inverse)
            for _ in range(values.shift[column, row]):
                number += number
                number = number - prime if number >= prime else number
            arena.residue[index, k] = (
                prime - number if significand < 0 and number != _NOTHING else number
            )

    def lattice(arena: Any, index: int, values: Any, column: int, row: int) -> None:
        arena.key[index] = NEUTRAL if column < 0 else values.key[column, row]

    return _dispatch(scaled, plain, residue, lattice)(arena)


@overload(minus_one)
def _minus_one(arena: Any, index: int) -> Any:
    def scaled(arena: Any, index: int) -> None:
        top = max(arena.exponent[index], 1)
        total = arena.mantissa[index] * power(arena.exponent[index] - top) - 0.5 * power(1 - top)
        put_scaled(arena, index, total, top)

    def plain(arena: Any, index: int) -> None:
        arena.value[index] -= 1.0

    def residue(arena: Any, index: int) -> None:
        for k in range(arena.prime.shape[0]):
            number, unit = arena.residue[index, k], arena.one[k]
            arena.residue[index, k] = number - unit if number >= unit else number + arena.prime[k] - unit

    def lattice(arena: Any, index: int) -> None:
        pass

    return _dispatch(scaled, plain, residue, lattice)(arena)


@overload(halve)
def _halve(arena: Any, index: int) -> Any:
    def scaled(arena: Any, index: int) -> None:
        if arena.mantissa[index] != 0.0:
            arena.exponent[index] -= 1

    def plain(arena: Any, index: int) -> None:
        arena.value[index] *= 0.5

    def residue(arena: Any, index: int) -> None:
        for k in range(arena.prime.shape[0]):
            number = arena.residue[index, k]
            odd = (number & _UNIT) != _NOTHING
            arena.residue[index, k] = ((number + arena.prime[k]) if odd else number) >> _UNIT

    def lattice(arena: Any, index: int) -> None:
        pass

    return _dispatch(scaled, plain, residue, lattice)(arena)


def whole(arena: Any, index: int, count: int) -> None:
    """number = a whole number that is not negative."""


def double_times(arena: Any, index: int, times: int) -> None:
    """number *= 2**times."""


def grow(arena: Any, index: int, source: int, factor: int) -> None:
    """number += factor * (number + source), for a factor of 1 or more."""


@overload(grow, jit_options={"forceinline": True})
def _grow(arena: Any, index: int, source: int, factor: int) -> Any:
    def scaled(arena: Any, index: int, source: int, factor: int) -> None:
        here, there = arena.exponent[index], arena.exponent[source]
        top = max(here, there)
        number = arena.mantissa[index]
        total = number * power(here - top) + arena.mantissa[source] * power(there - top)
        up = top + arena.exponent[factor]  # not below `here`: the factor is 1 or more
        put_scaled(arena, index, number * power(here - up) + total * arena.mantissa[factor], up)

    def general(arena: Any, index: int, source: int, factor: int) -> None:
        add_product(arena, index, source, factor)
        add_product(arena, index, index, factor)

    def residue(arena: Any, index: int, source: int, factor: int) -> None:
        for k in range(arena.prime.shape[0]):
            prime, number = arena.prime[k], arena.residue[index, k]
            total = number + arena.residue[source, k]
            total = total - prime if total >= prime else total
            total = montgomery(total, arena.residue[factor, k], prime, arena.inverse[k]) + number
            arena.residue[index, k] = total - prime if total >= prime else total

    return _dispatch(scaled, None, residue, general)(arena)


def align(arena: Any, target: int, source: int, size: int) -> None:
    """Prepare lanes for `step`: numbers beside each other in both vectors get one exponent."""


def step(arena: Any, target: int, source: int, size: int, follows: int, tied: int, count: int) -> None:
    """`count` times: lanes of target += tied * (follows * target + source); `follows` is 0 or 1. After `align` only."""


def settle(arena: Any, target: int, source: int, size: int) -> None:
    """Normalise lanes after some `step`s; they stay aligned. Due before they grew by 2**1000."""


@overload(align)
def _align(arena: Any, target: int, source: int, size: int) -> Any:
    def scaled(arena: Any, target: int, source: int, size: int) -> None:
        for lane in range(size):
            here, there = arena.exponent[target + lane], arena.exponent[source + lane]
            top = max(here, there)
            arena.mantissa[target + lane] *= power(here - top)
            arena.mantissa[source + lane] *= power(there - top)
            arena.exponent[target + lane] = top
            arena.exponent[source + lane] = top

    def other(arena: Any, target: int, source: int, size: int) -> None:
        pass

    return _dispatch(scaled, other, other, other)(arena)


@overload(step)
def _step(arena: Any, target: int, source: int, size: int, follows: int, tied: int, count: int) -> Any:
    def scaled(
        arena: Any, target: int, source: int, size: int, follows: int, tied: int, count: int
    ) -> None:
        # Slices, because their indices are known not to be negative: so the loop over lanes becomes vector code.
        totals, inputs = arena.mantissa[target : target + size], arena.mantissa[source : source + size]
        factor, times = np.float64(1 + follows * tied), np.float64(tied)
        for _ in range(count):
            for lane in range(size):
                totals[lane] = totals[lane] * factor + inputs[lane] * times

    def residue(
        arena: Any, target: int, source: int, size: int, follows: int, tied: int, count: int
    ) -> None:
        for _ in range(count):
            for lane in range(size):
                for k in range(arena.prime.shape[0]):
                    prime, number = arena.prime[k], arena.residue[target + lane, k]
                    change = arena.residue[source + lane, k] + (number if follows == 1 else _NOTHING)
                    change = change - prime if change >= prime else change
                    for _ in range(tied):
                        number += change
                        number = number - prime if number >= prime else number
                    arena.residue[target + lane, k] = number

    def lattice(
        arena: Any, target: int, source: int, size: int, follows: int, tied: int, count: int
    ) -> None:
        for lane in range(size if tied * count > 0 else 0):
            arena.key[target + lane] = min(arena.key[target + lane], arena.key[source + lane])

    return _dispatch(scaled, None, residue, lattice)(arena)


@overload(settle)
def _settle(arena: Any, target: int, source: int, size: int) -> Any:
    def scaled(arena: Any, target: int, source: int, size: int) -> None:
        for lane in range(size):
            before = arena.exponent[target + lane]
            put_scaled(arena, target + lane, arena.mantissa[target + lane], before)
            if arena.mantissa[target + lane] != 0.0:
                after = arena.exponent[target + lane]
                arena.mantissa[source + lane] *= power(min(before - after, 0))
                arena.exponent[source + lane] = after

    def other(arena: Any, target: int, source: int, size: int) -> None:
        pass

    return _dispatch(scaled, other, other, other)(arena)


@overload(whole)
def _whole(arena: Any, index: int, count: int) -> Any:
    def scaled(arena: Any, index: int, count: int) -> None:
        put_scaled(arena, index, np.float64(count), 0)

    def plain(arena: Any, index: int, count: int) -> None:
        arena.value[index] = np.float64(count)

    def residue(arena: Any, index: int, count: int) -> None:
        for k in range(arena.prime.shape[0]):
            prime = arena.prime[k]
            arena.residue[index, k] = montgomery(
                np.uint64(count) % prime, arena.square[k], prime, arena.inverse[k]
            )

    def lattice(arena: Any, index: int, count: int) -> None:
        arena.key[index] = NEUTRAL if count > 0 else ABSENT

    return _dispatch(scaled, plain, residue, lattice)(arena)


@overload(double_times)
def _double_times(arena: Any, index: int, times: int) -> Any:
    def scaled(arena: Any, index: int, times: int) -> None:
        if arena.mantissa[index] != 0.0:
            arena.exponent[index] += times

    def plain(arena: Any, index: int, times: int) -> None:
        arena.value[index] *= 2.0**times

    def residue(arena: Any, index: int, times: int) -> None:
        for _ in range(times):
            for k in range(arena.prime.shape[0]):
                number = arena.residue[index, k] + arena.residue[index, k]
                arena.residue[index, k] = number - arena.prime[k] if number >= arena.prime[k] else number

    def lattice(arena: Any, index: int, times: int) -> None:
        pass

    return _dispatch(scaled, plain, residue, lattice)(arena)
