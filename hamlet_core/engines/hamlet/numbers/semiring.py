# ruff: noqa: ARG001 - numba reads the arguments of an overload
"""What a kernel does with numbers: operations of a commutative semiring on addresses of an arena.

Each is declared once, with its meaning, and has an implementation per class of numbers: a kernel is written once, and
compiled once for each class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.jit.decorators import compiled_by_types
from hamlet_core.engines.hamlet.numbers.arenas import (
    ABSENT,
    NEUTRAL,
    NOTHING,
    UNIT,
    ZERO_EXPONENT,
    Arena,
    Values,
    by_class,
    doubled,
    montgomery,
    power,
    put_scaled,
)


def zero(arena: Arena, index: int) -> None:
    """Make a number 0 (lattice: no trend)."""


def one(arena: Arena, index: int) -> None:
    """Make a number 1 (lattice: a trend without such an event)."""


def copy(arena: Arena, index: int, source: int) -> None:
    """Number = source."""


def add(arena: Arena, index: int, source: int) -> None:
    """Number += source."""


def add_product(arena: Arena, index: int, left: int, right: int) -> None:
    """Number += left * right."""


def multiply(arena: Arena, index: int, source: int) -> None:
    """Number *= source."""


def is_zero(arena: Arena, index: int) -> bool:
    """Whether a number is 0; never asked of residues, whose 0 says nothing."""
    raise NotImplementedError


def load(arena: Arena, index: int, values: Values, column: int, row: int) -> None:
    """Number = an attribute value; `column` -1 is the constant 1."""


def minus_one(arena: Arena, index: int) -> None:
    """Number -= 1, for a whole number of at least 1."""


def halve(arena: Arena, index: int) -> None:
    """Number /= 2."""


@compiled_by_types(zero, inline=True)
def _zero(arena: Arena, index: int) -> Any:
    def scaled(arena: Arena, index: int) -> None:
        arena.mantissa[index] = 0.0
        arena.exponent[index] = ZERO_EXPONENT

    def plain(arena: Arena, index: int) -> None:
        arena.value[index] = 0.0

    def residue(arena: Arena, index: int) -> None:
        for k in range(arena.prime.shape[0]):
            arena.residue[index, k] = NOTHING

    def lattice(arena: Arena, index: int) -> None:
        arena.key[index] = ABSENT

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(one, inline=True)
def _one(arena: Arena, index: int) -> Any:
    def scaled(arena: Arena, index: int) -> None:
        arena.mantissa[index] = 0.5
        arena.exponent[index] = 1

    def plain(arena: Arena, index: int) -> None:
        arena.value[index] = 1.0

    def residue(arena: Arena, index: int) -> None:
        for k in range(arena.prime.shape[0]):
            arena.residue[index, k] = arena.one[k]

    def lattice(arena: Arena, index: int) -> None:
        arena.key[index] = NEUTRAL

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(copy, inline=True)
def _copy(arena: Arena, index: int, source: int) -> Any:
    def scaled(arena: Arena, index: int, source: int) -> None:
        arena.mantissa[index] = arena.mantissa[source]
        arena.exponent[index] = arena.exponent[source]

    def plain(arena: Arena, index: int, source: int) -> None:
        arena.value[index] = arena.value[source]

    def residue(arena: Arena, index: int, source: int) -> None:
        for k in range(arena.prime.shape[0]):
            arena.residue[index, k] = arena.residue[source, k]

    def lattice(arena: Arena, index: int, source: int) -> None:
        arena.key[index] = arena.key[source]

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(add, inline=True)
def _add(arena: Arena, index: int, source: int) -> Any:
    def scaled(arena: Arena, index: int, source: int) -> None:
        here, there = arena.exponent[index], arena.exponent[source]
        top = max(here, there)
        total = arena.mantissa[index] * power(here - top) + arena.mantissa[source] * power(there - top)
        put_scaled(arena, index, total, top)

    def plain(arena: Arena, index: int, source: int) -> None:
        arena.value[index] += arena.value[source]

    def residue(arena: Arena, index: int, source: int) -> None:
        for k in range(arena.prime.shape[0]):
            total = arena.residue[index, k] + arena.residue[source, k]
            arena.residue[index, k] = total - arena.prime[k] if total >= arena.prime[k] else total

    def lattice(arena: Arena, index: int, source: int) -> None:
        arena.key[index] = min(arena.key[index], arena.key[source])

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(add_product, inline=True)
def _add_product(arena: Arena, index: int, left: int, right: int) -> Any:
    def scaled(arena: Arena, index: int, left: int, right: int) -> None:
        here, there = arena.exponent[index], arena.exponent[left] + arena.exponent[right]
        top = max(here, there)
        product = arena.mantissa[left] * arena.mantissa[right]
        total = arena.mantissa[index] * power(here - top) + product * power(there - top)
        put_scaled(arena, index, total, max(top, ZERO_EXPONENT))

    def plain(arena: Arena, index: int, left: int, right: int) -> None:
        arena.value[index] += arena.value[left] * arena.value[right]

    def residue(arena: Arena, index: int, left: int, right: int) -> None:
        for k in range(arena.prime.shape[0]):
            prime = arena.prime[k]
            product = montgomery(arena.residue[left, k], arena.residue[right, k], prime, arena.inverse[k])
            total = arena.residue[index, k] + product
            arena.residue[index, k] = total - prime if total >= prime else total

    def lattice(arena: Arena, index: int, left: int, right: int) -> None:
        if arena.key[left] != ABSENT and arena.key[right] != ABSENT:
            arena.key[index] = min(arena.key[index], arena.key[left], arena.key[right])

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(multiply, inline=True)
def _multiply(arena: Arena, index: int, source: int) -> Any:
    def scaled(arena: Arena, index: int, source: int) -> None:
        exponent = max(arena.exponent[index] + arena.exponent[source], ZERO_EXPONENT)
        put_scaled(arena, index, arena.mantissa[index] * arena.mantissa[source], exponent)

    def plain(arena: Arena, index: int, source: int) -> None:
        arena.value[index] *= arena.value[source]

    def residue(arena: Arena, index: int, source: int) -> None:
        for k in range(arena.prime.shape[0]):
            arena.residue[index, k] = montgomery(
                arena.residue[index, k], arena.residue[source, k], arena.prime[k], arena.inverse[k]
            )

    def lattice(arena: Arena, index: int, source: int) -> None:
        if arena.key[index] == ABSENT or arena.key[source] == ABSENT:
            arena.key[index] = ABSENT
        else:
            arena.key[index] = min(arena.key[index], arena.key[source])

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(is_zero, inline=True)
def _is_zero(arena: Arena, index: int) -> Any:
    def scaled(arena: Arena, index: int) -> bool:
        return bool(arena.mantissa[index] == 0.0)

    def plain(arena: Arena, index: int) -> bool:
        return bool(arena.value[index] == 0.0)

    def residue(arena: Arena, index: int) -> bool:
        return False

    def lattice(arena: Arena, index: int) -> bool:
        return bool(arena.key[index] == ABSENT)

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(load)
def _load(arena: Arena, index: int, values: Values, column: int, row: int) -> Any:
    def scaled(arena: Arena, index: int, values: Values, column: int, row: int) -> None:
        value, exponent = (1.0 if column < 0 else values.value[column, row]), 0
        if abs(value) < 1e-290:  # a subnormal has no leading bit to find
            value, exponent = value * 2.0**200, -200
        put_scaled(arena, index, value, exponent)

    def plain(arena: Arena, index: int, values: Values, column: int, row: int) -> None:
        arena.value[index] = 1.0 if column < 0 else values.value[column, row]

    def residue(arena: Arena, index: int, values: Values, column: int, row: int) -> None:
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
            arena.residue[index, k] = prime - number if significand < 0 and number != NOTHING else number

    def lattice(arena: Arena, index: int, values: Values, column: int, row: int) -> None:
        arena.key[index] = NEUTRAL if column < 0 else values.key[column, row]

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(minus_one)
def _minus_one(arena: Arena, index: int) -> Any:
    def scaled(arena: Arena, index: int) -> None:
        top = max(arena.exponent[index], 1)
        total = arena.mantissa[index] * power(arena.exponent[index] - top) - 0.5 * power(1 - top)
        put_scaled(arena, index, total, top)

    def plain(arena: Arena, index: int) -> None:
        arena.value[index] -= 1.0

    def residue(arena: Arena, index: int) -> None:
        for k in range(arena.prime.shape[0]):
            number, unit = arena.residue[index, k], arena.one[k]
            arena.residue[index, k] = number - unit if number >= unit else number + arena.prime[k] - unit

    def lattice(arena: Arena, index: int) -> None:
        pass

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(halve)
def _halve(arena: Arena, index: int) -> Any:
    def scaled(arena: Arena, index: int) -> None:
        if arena.mantissa[index] != 0.0:
            arena.exponent[index] -= 1

    def plain(arena: Arena, index: int) -> None:
        arena.value[index] *= 0.5

    def residue(arena: Arena, index: int) -> None:
        for k in range(arena.prime.shape[0]):
            number = arena.residue[index, k]
            odd = (number & UNIT) != NOTHING
            arena.residue[index, k] = ((number + arena.prime[k]) if odd else number) >> UNIT

    def lattice(arena: Arena, index: int) -> None:
        pass

    return by_class(scaled, plain, residue, lattice)(arena)


def whole(arena: Arena, index: int, count: int) -> None:
    """Number = a whole number that is not negative."""


def double_times(arena: Arena, index: int, times: int) -> None:
    """Number *= 2**times."""


def grow(arena: Arena, index: int, source: int, factor: int) -> None:
    """Number += factor * (number + source), for a factor of 1 or more."""


@compiled_by_types(grow, inline=True)
def _grow(arena: Arena, index: int, source: int, factor: int) -> Any:
    def scaled(arena: Arena, index: int, source: int, factor: int) -> None:
        here, there = arena.exponent[index], arena.exponent[source]
        top = max(here, there)
        number = arena.mantissa[index]
        total = number * power(here - top) + arena.mantissa[source] * power(there - top)
        up = top + arena.exponent[factor]  # not below `here`: the factor is 1 or more
        put_scaled(arena, index, number * power(here - up) + total * arena.mantissa[factor], up)

    def plain(arena: Arena, index: int, source: int, factor: int) -> None:
        number = arena.value[index]
        arena.value[index] = number + (number + arena.value[source]) * arena.value[factor]

    def general(arena: Arena, index: int, source: int, factor: int) -> None:
        add_product(arena, index, source, factor)
        add_product(arena, index, index, factor)

    def residue(arena: Arena, index: int, source: int, factor: int) -> None:
        for k in range(arena.prime.shape[0]):
            prime, number = arena.prime[k], arena.residue[index, k]
            total = number + arena.residue[source, k]
            total = total - prime if total >= prime else total
            total = montgomery(total, arena.residue[factor, k], prime, arena.inverse[k]) + number
            arena.residue[index, k] = total - prime if total >= prime else total

    return by_class(scaled, plain, residue, general)(arena)


@compiled_by_types(whole)
def _whole(arena: Arena, index: int, count: int) -> Any:
    def scaled(arena: Arena, index: int, count: int) -> None:
        put_scaled(arena, index, np.float64(count), 0)

    def plain(arena: Arena, index: int, count: int) -> None:
        arena.value[index] = np.float64(count)

    def residue(arena: Arena, index: int, count: int) -> None:
        for k in range(arena.prime.shape[0]):
            prime = arena.prime[k]
            arena.residue[index, k] = montgomery(
                np.uint64(count) % prime, arena.square[k], prime, arena.inverse[k]
            )

    def lattice(arena: Arena, index: int, count: int) -> None:
        arena.key[index] = NEUTRAL if count > 0 else ABSENT

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(double_times)
def _double_times(arena: Arena, index: int, times: int) -> Any:
    def scaled(arena: Arena, index: int, times: int) -> None:
        if arena.mantissa[index] != 0.0:
            arena.exponent[index] += times

    def plain(arena: Arena, index: int, times: int) -> None:
        arena.value[index] *= doubled(times)

    def residue(arena: Arena, index: int, times: int) -> None:
        for _ in range(times):
            for k in range(arena.prime.shape[0]):
                number = arena.residue[index, k] + arena.residue[index, k]
                arena.residue[index, k] = number - arena.prime[k] if number >= arena.prime[k] else number

    def lattice(arena: Arena, index: int, times: int) -> None:
        pass

    return by_class(scaled, plain, residue, lattice)(arena)
