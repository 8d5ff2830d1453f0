"""What the events of a burst amount to, for all lanes alike: how often a block grows, and what its sums gain."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.bursts.packing import AT_GROWTH
from hamlet_core.engines.hamlet.bursts.sums import measure_sums
from hamlet_core.engines.hamlet.bursts.tables import (
    BIT,
    GROWTH_FIELDS,
    NUMBERS,
    SUM_FIRST,
    SUM_STOP,
    WEIGHT,
)
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.arenas import Arena, Values
from hamlet_core.engines.hamlet.numbers.semiring import (
    double_times,
    minus_one,
    multiply,
    one,
    whole,
    zero,
)

STRIDE = 16
"""Events that are compared at once while a burst lasts."""


@compiled_inline
def _count(
    arena: Arena,
    events: Events,
    grown: int,
    first: int,
    last: int,
    code: int,
    bit: int,
    count: int,
    tied: bool,
) -> None:
    """Coefficients of the events `first:last` of one type where only their number and ties matter.

    `count` is how many events of the type there are (negative: not known), `tied` whether some may be tied.
    """
    if count < 0 or bit >= 0:
        count = _matching(events, first, last, code, bit)
    if count == 0:
        zero(arena, grown)
        zero(arena, grown + 1)
        return
    one(arena, grown)
    double_times(
        arena, grown, _grow_by_ties(arena, events, grown, first, last, code, bit, count) if tied else count
    )
    minus_one(arena, grown)
    whole(arena, grown + 1, count)


@compiled_part
def _matching(events: Events, first: int, last: int, code: int, bit: int) -> Any:
    count: Any = 0
    begin, end = np.uint64(first), np.uint64(last)
    if bit < 0:
        for event in range(begin, end):
            count += events.code[event] == code
        return count
    word, shift = np.uint64(bit >> 6), np.uint64(bit & 63)
    for event in range(begin, end):
        holds = (events.bits[event, word] >> shift) & np.uint64(1)
        count += np.int64(holds) & np.int64(events.code[event] == code)
    return count


@compiled_part
def _grow_by_ties(
    arena: Arena, events: Events, grown: int, first: int, last: int, code: int, bit: int, count: int
) -> int:
    """Multiply by 1 + m for every m > 1 events of one time; returns how many events stand alone."""
    time, event, alone = events.time, first + 1, count
    while event < last:
        if event + STRIDE <= last:
            equal, here = False, np.uint64(event)
            for ahead in range(np.uint64(STRIDE)):
                equal |= time[here + ahead] == time[here + ahead - np.uint64(1)]
            if not equal:
                event += STRIDE
                continue
        if time[event] != time[event - 1]:
            event += 1
            continue
        begin = event - 1
        while event < last and time[event] == time[begin]:
            event += 1
        tied = _matching(events, begin, event, code, bit)
        if tied > 1:
            alone -= tied
            whole(arena, grown + 2, tied + 1)
            multiply(arena, grown, grown + 2)
    return alone


@compiled_inline
def measure(
    arena: Arena,
    base: int,
    program: Packed,
    values: Values,
    events: Events,
    first: int,
    last: int,
    code: int,
    count: int,
    tied: bool,
) -> None:
    """All coefficients of a type for the events `first:last`: its own of them, time stamp by time stamp."""
    for row in range(get(program, AT_GROWTH, code), get(program, AT_GROWTH, code + 1), GROWTH_FIELDS):
        if program[row + WEIGHT] < 0 and program[row + SUM_FIRST] == program[row + SUM_STOP]:
            grown, bit = base + program[row + NUMBERS], program[row + BIT]
            _count(arena, events, grown, first, last, code, bit, count, tied)
        else:
            measure_sums(arena, base, program, values, events, first, last, code, row, tied)
