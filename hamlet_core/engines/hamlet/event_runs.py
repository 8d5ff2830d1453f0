"""Contiguous runs of numbers of an arena: the inner loops of the event kernel, over lanes that lie side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from hamlet_core.engines.hamlet.arenas import PlainNumbers, ScaledNumbers, is_arena, power, put_scaled
from hamlet_core.engines.hamlet.compilation import compiled, compiled_part
from hamlet_core.engines.hamlet.numbers import add, copy, zero

LIMIT = 2.0**900
"""Plain numbers beyond it are not trusted."""

_unsigned: Any = np.uint64


def _add(arena: Any, index: int, source: int, count: int) -> None:
    """Numbers += as many others."""


@overload(_add)
def _add_of(arena: Any, index: int, source: int, count: int) -> Any:  # noqa: ARG001 - numba's protocol
    # Indices that cannot be negative make vector code of the loop; scaled numbers want slices for that.
    def scaled(arena: Any, index: int, source: int, count: int) -> None:
        to = ScaledNumbers(arena.mantissa[index : index + count], arena.exponent[index : index + count])
        mantissa, exponent = arena.mantissa[source : source + count], arena.exponent[source : source + count]
        for k in range(count):
            here, there = to.exponent[k], exponent[k]
            top = max(here, there)
            put_scaled(to, k, to.mantissa[k] * power(here - top) + mantissa[k] * power(there - top), top)

    def plain(arena: Any, index: int, source: int, count: int) -> None:
        to, other = arena.value[index : index + count], arena.value[source : source + count]
        for k in range(count):
            to[k] += other[k]

    def general(arena: Any, index: int, source: int, count: int) -> None:
        for k in range(count):
            add(arena, _unsigned(index + k), _unsigned(source + k))

    if is_arena(arena, PlainNumbers):
        return plain
    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled
def zero_run(arena: Any, index: int, count: int) -> None:
    """Numbers index .. index + count are 0."""
    for k in range(count):
        zero(arena, _unsigned(index + k))


@compiled_part
def copy_run(arena: Any, index: int, source: int, count: int) -> None:
    """Copy `count` numbers; the runs do not overlap."""
    for k in range(count):
        copy(arena, _unsigned(index + k), _unsigned(source + k))


@compiled_part
def add_run(arena: Any, index: int, source: int, count: int) -> None:
    """Add `count` numbers to as many others; the runs do not overlap."""
    _add(arena, index, source, count)


def _lost(arena: Any, index: int) -> bool:
    """Whether a number left the range in which it is right."""
    raise NotImplementedError


@overload(_lost)
def _lost_of(arena: Any, index: int) -> Any:  # noqa: ARG001 - numba's protocol
    def plain(arena: Any, index: int) -> bool:
        return not abs(arena.value[index]) <= LIMIT

    def never(arena: Any, index: int) -> bool:  # noqa: ARG001 - as the other
        return False

    return plain if is_arena(arena, PlainNumbers) else never


@compiled_part
def run_lost(arena: Any, index: int, count: int) -> bool:
    """Whether any of `count` numbers left its range; only plain ones can."""
    lost = False
    for k in range(count):
        lost |= _lost(arena, index + k)
    return lost
