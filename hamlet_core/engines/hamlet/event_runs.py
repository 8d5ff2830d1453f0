"""Contiguous runs of numbers of an arena: the inner loops of the event kernel, over lanes that lie side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from hamlet_core.engines.hamlet.compilation import compiled
from hamlet_core.engines.hamlet.numbers import PlainNumbers, add, copy, zero

LIMIT = 2.0**900
"""Plain numbers beyond it are not trusted."""


@compiled
def zero_run(arena: Any, index: int, count: int) -> None:
    """Numbers index .. index + count are 0."""
    for k in range(count):
        zero(arena, np.uint64(index + k))


@compiled
def copy_run(arena: Any, index: int, source: int, count: int) -> None:
    """Copy `count` numbers; the runs do not overlap."""
    for k in range(count):
        copy(arena, np.uint64(index + k), np.uint64(source + k))


@compiled
def add_run(arena: Any, index: int, source: int, count: int) -> None:
    """Add `count` numbers to as many others; the runs do not overlap."""
    for k in range(count):
        add(arena, np.uint64(index + k), np.uint64(source + k))


def _lost(arena: Any, index: int) -> bool:
    """Whether a number left the range in which it is right."""


@overload(_lost)
def _lost_of(arena: Any, index: int) -> Any:  # noqa: ARG001 - numba's protocol
    def plain(arena: Any, index: int) -> bool:
        return not abs(arena.value[index]) <= LIMIT

    def never(arena: Any, index: int) -> bool:  # noqa: ARG001 - as the other
        return False

    is_plain = isinstance(arena, types.BaseNamedTuple) and arena.instance_class is PlainNumbers
    return plain if is_plain else never


@compiled
def run_lost(arena: Any, index: int, count: int) -> bool:
    """Whether any of `count` numbers left its range; only plain ones can."""
    lost = False
    for k in range(count):
        lost |= _lost(arena, index + k)
    return lost
