# ruff: noqa: ARG001 - numba reads the arguments of an overload
"""Operations on whole vectors of lanes: for scaled numbers written so that the compiler makes vector code of them.

Slices, because their indices are known not to be negative; scalars are read before the loop. Vectors that are written
are none of those that are read. Each operation is the one of `semiring` with the same name, for every lane.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.jit.decorators import compiled_by_types
from hamlet_core.engines.hamlet.numbers.arenas import (
    ZERO_EXPONENT,
    Arena,
    ScaledNumbers,
    is_arena,
    power,
    put_scaled,
)
from hamlet_core.engines.hamlet.numbers.semiring import add, add_product, copy, grow, multiply, zero


def copy_lanes(arena: Arena, target: int, source: int, size: int) -> None:
    """Target = source."""


def zero_lanes(arena: Arena, target: int, size: int) -> None:
    """Target = 0."""


def gather_lanes(arena: Arena, target: int, base: int, table: Any, place: int, size: int) -> None:
    """Target = the numbers at `base + table[place:place + size]`."""


def add_gathered_lanes(arena: Arena, target: int, base: int, table: Any, place: int, size: int) -> None:
    """Target += the numbers at `base + table[place:place + size]`."""


def add_lanes(arena: Arena, target: int, source: int, size: int) -> None:
    """Target += source."""


def multiply_lanes(arena: Arena, target: int, factor: int, size: int) -> None:
    """Target *= factor, which is one number."""


def add_multiple_lanes(arena: Arena, target: int, source: int, factor: int, size: int) -> None:
    """Target += source * factor, which is one number."""


def add_product_lanes(arena: Arena, target: int, left: int, right: int, size: int) -> None:
    """Target += left * right, lane by lane."""


def grow_lanes(arena: Arena, target: int, source: int, factor: int, size: int) -> None:
    """Target += factor * (target + source); the factor is one number."""


@compiled_by_types(copy_lanes)
def _copy_lanes(arena: Arena, target: int, source: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, source: int, size: int) -> None:
        to_mantissa, to_exponent = (
            arena.mantissa[target : target + size],
            arena.exponent[target : target + size],
        )
        mantissa, exponent = arena.mantissa[source : source + size], arena.exponent[source : source + size]
        for lane in range(size):
            to_mantissa[lane] = mantissa[lane]
            to_exponent[lane] = exponent[lane]

    def general(arena: Arena, target: int, source: int, size: int) -> None:
        for lane in range(size):
            copy(arena, target + lane, source + lane)

    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled_by_types(zero_lanes)
def _zero_lanes(arena: Arena, target: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, size: int) -> None:
        mantissa, exponent = arena.mantissa[target : target + size], arena.exponent[target : target + size]
        for lane in range(size):
            mantissa[lane] = 0.0
            exponent[lane] = ZERO_EXPONENT

    def general(arena: Arena, target: int, size: int) -> None:
        for lane in range(size):
            zero(arena, target + lane)

    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled_by_types(gather_lanes)
def _gather_lanes(arena: Arena, target: int, base: int, table: Any, place: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, base: int, table: Any, place: int, size: int) -> None:
        to_mantissa, to_exponent = (
            arena.mantissa[target : target + size],
            arena.exponent[target : target + size],
        )
        mantissa, exponent, places = arena.mantissa[base:], arena.exponent[base:], table[place : place + size]
        for lane in range(size):
            to_mantissa[lane] = mantissa[np.uint64(places[lane])]
            to_exponent[lane] = exponent[np.uint64(places[lane])]

    def general(arena: Arena, target: int, base: int, table: Any, place: int, size: int) -> None:
        for lane in range(size):
            copy(arena, target + lane, base + table[place + lane])

    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled_by_types(add_gathered_lanes)
def _add_gathered_lanes(arena: Arena, target: int, base: int, table: Any, place: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, base: int, table: Any, place: int, size: int) -> None:
        to = ScaledNumbers(arena.mantissa[target : target + size], arena.exponent[target : target + size])
        mantissa, exponent, places = arena.mantissa[base:], arena.exponent[base:], table[place : place + size]
        for lane in range(size):
            here, there = to.exponent[lane], exponent[np.uint64(places[lane])]
            top = max(here, there)
            total = to.mantissa[lane] * power(here - top)
            total += mantissa[np.uint64(places[lane])] * power(there - top)
            put_scaled(to, lane, total, top)

    def general(arena: Arena, target: int, base: int, table: Any, place: int, size: int) -> None:
        for lane in range(size):
            add(arena, target + lane, base + table[place + lane])

    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled_by_types(add_lanes)
def _add_lanes(arena: Arena, target: int, source: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, source: int, size: int) -> None:
        to = ScaledNumbers(arena.mantissa[target : target + size], arena.exponent[target : target + size])
        mantissa, exponent = arena.mantissa[source : source + size], arena.exponent[source : source + size]
        for lane in range(size):
            here, there = to.exponent[lane], exponent[lane]
            top = max(here, there)
            total = to.mantissa[lane] * power(here - top) + mantissa[lane] * power(there - top)
            put_scaled(to, lane, total, top)

    def general(arena: Arena, target: int, source: int, size: int) -> None:
        for lane in range(size):
            add(arena, target + lane, source + lane)

    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled_by_types(multiply_lanes)
def _multiply_lanes(arena: Arena, target: int, factor: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, factor: int, size: int) -> None:
        to = ScaledNumbers(arena.mantissa[target : target + size], arena.exponent[target : target + size])
        mantissa, exponent = arena.mantissa[factor], arena.exponent[factor]
        for lane in range(size):
            put_scaled(
                to, lane, to.mantissa[lane] * mantissa, max(to.exponent[lane] + exponent, ZERO_EXPONENT)
            )

    def general(arena: Arena, target: int, factor: int, size: int) -> None:
        for lane in range(size):
            multiply(arena, target + lane, factor)

    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled_by_types(add_multiple_lanes)
def _add_multiple_lanes(arena: Arena, target: int, source: int, factor: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, source: int, factor: int, size: int) -> None:
        to = ScaledNumbers(arena.mantissa[target : target + size], arena.exponent[target : target + size])
        mantissa, exponent = arena.mantissa[source : source + size], arena.exponent[source : source + size]
        times, up = arena.mantissa[factor], arena.exponent[factor]
        for lane in range(size):
            here, there = to.exponent[lane], exponent[lane] + up
            top = max(here, there)
            product = mantissa[lane] * times
            total = to.mantissa[lane] * power(here - top) + product * power(there - top)
            put_scaled(to, lane, total, max(top, ZERO_EXPONENT))

    def general(arena: Arena, target: int, source: int, factor: int, size: int) -> None:
        for lane in range(size):
            add_product(arena, target + lane, source + lane, factor)

    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled_by_types(add_product_lanes)
def _add_product_lanes(arena: Arena, target: int, left: int, right: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, left: int, right: int, size: int) -> None:
        to = ScaledNumbers(arena.mantissa[target : target + size], arena.exponent[target : target + size])
        mantissa, exponent = arena.mantissa[left : left + size], arena.exponent[left : left + size]
        times, up = arena.mantissa[right : right + size], arena.exponent[right : right + size]
        for lane in range(size):
            here, there = to.exponent[lane], exponent[lane] + up[lane]
            top = max(here, there)
            product = mantissa[lane] * times[lane]
            total = to.mantissa[lane] * power(here - top) + product * power(there - top)
            put_scaled(to, lane, total, max(top, ZERO_EXPONENT))

    def general(arena: Arena, target: int, left: int, right: int, size: int) -> None:
        for lane in range(size):
            add_product(arena, target + lane, left + lane, right + lane)

    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled_by_types(grow_lanes)
def _grow_lanes(arena: Arena, target: int, source: int, factor: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, source: int, factor: int, size: int) -> None:
        to = ScaledNumbers(arena.mantissa[target : target + size], arena.exponent[target : target + size])
        mantissa, exponent = arena.mantissa[source : source + size], arena.exponent[source : source + size]
        times, shift = arena.mantissa[factor], arena.exponent[factor]
        for lane in range(size):
            here, there, number = to.exponent[lane], exponent[lane], to.mantissa[lane]
            top = max(here, there)
            total = number * power(here - top) + mantissa[lane] * power(there - top)
            up = max(top + shift, here)
            product = total * times * power(top + shift - up)
            put_scaled(to, lane, number * power(here - up) + product, max(up, ZERO_EXPONENT))

    def general(arena: Arena, target: int, source: int, factor: int, size: int) -> None:
        for lane in range(size):
            grow(arena, target + lane, source + lane, factor)

    return scaled if is_arena(arena, ScaledNumbers) else general
