# ruff: noqa: ARG001 - numba reads the arguments of an overload
"""Lanes that take many equal steps: scaled numbers get one exponent for as long, so that a step is one line of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.jit.decorators import compiled_by_types
from hamlet_core.engines.hamlet.numbers.arenas import NOTHING, Arena, by_class, power, put_scaled


def align(arena: Arena, target: int, source: int, size: int) -> None:
    """Prepare lanes for `step`: numbers beside each other in both vectors get one exponent."""


def step(arena: Arena, target: int, source: int, size: int, follows: int, tied: int, count: int) -> None:
    """`count` times: lanes of target += tied * (follows * target + source); `follows` is 0 or 1. After `align` only."""


def settle(arena: Arena, target: int, source: int, size: int) -> None:
    """Normalise lanes after some `step`s; they stay aligned. Due before they grew by 2**1000."""


@compiled_by_types(align)
def _align(arena: Arena, target: int, source: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, source: int, size: int) -> None:
        for lane in range(size):
            here, there = arena.exponent[target + lane], arena.exponent[source + lane]
            top = max(here, there)
            arena.mantissa[target + lane] *= power(here - top)
            arena.mantissa[source + lane] *= power(there - top)
            arena.exponent[target + lane] = top
            arena.exponent[source + lane] = top

    def other(arena: Arena, target: int, source: int, size: int) -> None:
        pass

    return by_class(scaled, other, other, other)(arena)


@compiled_by_types(step)
def _step(  # noqa: C901 - a loop per class of numbers
    arena: Arena, target: int, source: int, size: int, follows: int, tied: int, count: int
) -> Any:
    def scaled(
        arena: Arena, target: int, source: int, size: int, follows: int, tied: int, count: int
    ) -> None:
        # Slices, because their indices are known not to be negative: so the loop over lanes becomes vector code.
        totals, inputs = arena.mantissa[target : target + size], arena.mantissa[source : source + size]
        factor, times = np.float64(1 + follows * tied), np.float64(tied)
        for _ in range(count):
            for lane in range(size):
                totals[lane] = totals[lane] * factor + inputs[lane] * times

    def plain(arena: Arena, target: int, source: int, size: int, follows: int, tied: int, count: int) -> None:
        totals, inputs = arena.value[target : target + size], arena.value[source : source + size]
        factor, times = np.float64(1 + follows * tied), np.float64(tied)
        for _ in range(count):
            for lane in range(size):
                totals[lane] = totals[lane] * factor + inputs[lane] * times

    def residue(
        arena: Arena, target: int, source: int, size: int, follows: int, tied: int, count: int
    ) -> None:
        for _ in range(count):
            for lane in range(size):
                for k in range(arena.prime.shape[0]):
                    prime, number = arena.prime[k], arena.residue[target + lane, k]
                    change = arena.residue[source + lane, k] + (number if follows == 1 else NOTHING)
                    change = change - prime if change >= prime else change
                    for _ in range(tied):
                        number += change
                        number = number - prime if number >= prime else number
                    arena.residue[target + lane, k] = number

    def lattice(
        arena: Arena, target: int, source: int, size: int, follows: int, tied: int, count: int
    ) -> None:
        for lane in range(size if tied * count > 0 else 0):
            arena.key[target + lane] = min(arena.key[target + lane], arena.key[source + lane])

    return by_class(scaled, plain, residue, lattice)(arena)


@compiled_by_types(settle)
def _settle(arena: Arena, target: int, source: int, size: int) -> Any:
    def scaled(arena: Arena, target: int, source: int, size: int) -> None:
        for lane in range(size):
            before = arena.exponent[target + lane]
            put_scaled(arena, target + lane, arena.mantissa[target + lane], before)
            if arena.mantissa[target + lane] != 0.0:
                after = arena.exponent[target + lane]
                arena.mantissa[source + lane] *= power(min(before - after, 0))
                arena.exponent[source + lane] = after

    def other(arena: Arena, target: int, source: int, size: int) -> None:
        pass

    return by_class(scaled, other, other, other)(arena)
