"""What the events of a burst amount to, for all lanes alike: how often a block grows, and what its sums gain."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.burst_packing import (
    AT_GROWTH,
    AT_GROWTH_FIRST,
    AT_SUM,
    GROWTH_FIELDS,
    SUM_FIELDS,
)
from hamlet_core.engines.hamlet.burst_state import holds_bit
from hamlet_core.engines.hamlet.burst_tables import (
    BIT,
    NUMBERS,
    SUM_FIRST,
    SUM_NUMBERS,
    SUM_STOP,
    VALUE,
    WEIGHT,
)
from hamlet_core.engines.hamlet.compilation import compiled_part, compiled_within
from hamlet_core.engines.hamlet.frame import Events
from hamlet_core.engines.hamlet.numbers import (
    add,
    add_product,
    copy,
    double_times,
    load,
    minus_one,
    multiply,
    one,
    whole,
    zero,
)
from hamlet_core.engines.hamlet.slicing import row_of

STRIDE = 16
"""Events that are compared at once while a burst lasts."""


@compiled_part
def _count(
    arena: Any,
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
    arena: Any, events: Events, grown: int, first: int, last: int, code: int, bit: int, count: int
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


@compiled_part
def measure(
    arena: Any,
    base: int,
    program: Any,
    values: Any,
    events: Events,
    first: int,
    last: int,
    code: int,
    count: int,
    tied: bool,
) -> None:
    """All coefficients of a type for the events `first:last`: its own of them, time stamp by time stamp."""
    for growth in range(
        program[program[AT_GROWTH_FIRST] + code], program[program[AT_GROWTH_FIRST] + code + 1]
    ):
        row = program[AT_GROWTH] + growth * GROWTH_FIELDS
        if program[row + WEIGHT] < 0 and program[row + SUM_FIRST] == program[row + SUM_STOP]:
            grown, bit = base + program[row + NUMBERS], program[row + BIT]
            _count(arena, events, grown, first, last, code, bit, count, tied)
            continue
        grown = base + program[program[AT_GROWTH] + growth * GROWTH_FIELDS + NUMBERS]
        zero(arena, grown)
        zero(arena, grown + 1)
        for place in range(
            program[program[AT_GROWTH] + growth * GROWTH_FIELDS + SUM_FIRST],
            program[program[AT_GROWTH] + growth * GROWTH_FIELDS + SUM_STOP],
        ):
            number = base + program[program[AT_SUM] + place * SUM_FIELDS + SUM_NUMBERS]
            zero(arena, number)
            zero(arena, number + 1)
        event = first
        while event < last:
            stamp, end = events.time[event], event + 1
            while end < last and events.time[end] == stamp:
                end += 1
            _measure_stamp(arena, base, program, values, events, event, end, code, growth)
            event = end


@compiled_within
def _measure_stamp(
    arena: Any,
    base: int,
    program: Any,
    values: Any,
    events: Events,
    first: int,
    last: int,
    code: int,
    growth: int,
) -> None:
    """One time stamp: u grows to (1 + tied) u, and a sum s to (1 + tied) s + (sum of its values) u."""
    bit, weight = (
        program[program[AT_GROWTH] + growth * GROWTH_FIELDS + BIT],
        program[program[AT_GROWTH] + growth * GROWTH_FIELDS + WEIGHT],
    )
    grown = base + program[program[AT_GROWTH] + growth * GROWTH_FIELDS + NUMBERS]
    added, tied, value = grown + 1, grown + 2, grown + 3
    count = 0
    zero(arena, tied)
    for event in range(first, last):
        if events.code[event] == code and holds_bit(events, event, bit):
            count += 1
            if weight >= 0:
                load(arena, value, values, weight, row_of(events, event))
                add(arena, tied, value)
    if count == 0:
        return
    if weight < 0:
        whole(arena, tied, count)
    for place in range(
        program[program[AT_GROWTH] + growth * GROWTH_FIELDS + SUM_FIRST],
        program[program[AT_GROWTH] + growth * GROWTH_FIELDS + SUM_STOP],
    ):
        column, total = (
            program[program[AT_SUM] + place * SUM_FIELDS + VALUE],
            base + program[program[AT_SUM] + place * SUM_FIELDS + SUM_NUMBERS],
        )
        here, product = total + 2, total + 3
        if column < 0:
            copy(arena, here, tied)
        else:
            zero(arena, here)
            for event in range(first, last):
                if events.code[event] == code and holds_bit(events, event, bit):
                    load(arena, value, values, column, row_of(events, event))
                    add(arena, here, value)
        copy(arena, product, total)
        add_product(arena, total, product, tied)
        add_product(arena, total, here, grown)
        add(arena, total, here)
        add(arena, total + 1, here)
    copy(arena, value, grown)
    add_product(arena, grown, value, tied)
    add(arena, grown, tied)
    add(arena, added, tied)
