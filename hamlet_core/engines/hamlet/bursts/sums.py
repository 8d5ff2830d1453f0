# ruff: noqa: ARG001 - numba reads the arguments of an overload
"""Coefficients of a burst whose events add values: how often its lanes grow, and what each sum gains with that.

At a time stamp with `tied` events whose values add up to v, u grows to (1 + tied) u and a sum s to (1 + tied) s + v u.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.bursts.packing import AT_SUM
from hamlet_core.engines.hamlet.bursts.tables import (
    BIT,
    NUMBERS,
    SUM_FIELDS,
    SUM_FIRST,
    SUM_NUMBERS,
    SUM_STOP,
    VALUE,
    WEIGHT,
)
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import holds_bit, row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_by_types, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.arenas import (
    Arena,
    PlainNumbers,
    ScaledNumbers,
    Values,
    is_arena,
    put_scaled,
)
from hamlet_core.engines.hamlet.numbers.semiring import (
    add,
    add_product,
    copy,
    load,
    minus_one,
    multiply,
    one,
    whole,
    zero,
)

GROWN = 2.0**400
"""So much a block of events may grow by in plain doubles, but for the last of its time stamps."""
LARGEST = 1000
"""Exponents of values are brought to 0 by powers of two up to this one."""


def measure_sums(
    arena: Arena,
    base: int,
    program: Packed,
    values: Values,
    events: Events,
    first: int,
    last: int,
    code: int,
    row: int,
    tied: bool,
) -> None:
    """Growth and sums of the events `first:last` of a type, of which some may be `tied`."""


@compiled_by_types(measure_sums)
def _measure_sums(
    arena: Arena,
    base: int,
    program: Packed,
    values: Values,
    events: Events,
    first: int,
    last: int,
    code: int,
    row: int,
    tied: bool,
) -> Any:
    def scaled(
        arena: Arena,
        base: int,
        program: Packed,
        values: Values,
        events: Events,
        first: int,
        last: int,
        code: int,
        row: int,
        tied: bool,
    ) -> None:
        grown, bit = base + program[row + NUMBERS], program[row + BIT]
        _clear(arena, base, program, row)
        one(arena, grown)
        event, count = first, 0
        while event < last:
            begin, times = event, 1.0
            while event < last and times < GROWN:
                stamp, alike = events.time[event], 0
                while event < last and events.time[event] == stamp:
                    alike += events.code[event] == code and holds_bit(events, event, bit)
                    event += 1
                times *= 1.0 + alike
                count += alike
            if times == 1.0:
                continue
            for place in range(program[row + SUM_FIRST], program[row + SUM_STOP]):
                cell = program[AT_SUM] + place * SUM_FIELDS
                total, column = base + program[cell + SUM_NUMBERS], program[cell + VALUE]
                at_hand = total + 2
                up = _exponent(values.value, events, begin, event, code, bit, column)
                gained, plain = _gained(
                    values.value, events, begin, event, code, bit, column, np.ldexp(1.0, -up)
                )
                put_scaled(arena, at_hand, times, 0)
                multiply(arena, total, at_hand)
                put_scaled(arena, at_hand, gained, up)
                add_product(arena, total, grown, at_hand)
                put_scaled(arena, at_hand, plain, up)
                add(arena, total + 1, at_hand)
            put_scaled(arena, grown + 2, times, 0)
            multiply(arena, grown, grown + 2)
        minus_one(arena, grown)
        whole(arena, grown + 1, count)

    def plain(
        arena: Arena,
        base: int,
        program: Packed,
        values: Values,
        events: Events,
        first: int,
        last: int,
        code: int,
        row: int,
        tied: bool,
    ) -> None:
        _measure_doubles(arena, base, program, values, events, first, last, code, row, tied)

    def general(
        arena: Arena,
        base: int,
        program: Packed,
        values: Values,
        events: Events,
        first: int,
        last: int,
        code: int,
        row: int,
        tied: bool,
    ) -> None:
        _clear(arena, base, program, row)
        event = first
        while event < last:
            stamp, end = events.time[event], event + 1
            while end < last and events.time[end] == stamp:
                end += 1
            _measure_stamp(arena, base, program, values, events, event, end, code, row)
            event = end

    if is_arena(arena, PlainNumbers):
        return plain
    return scaled if is_arena(arena, ScaledNumbers) else general


@compiled_part
def _measure_doubles(
    arena: Arena,
    base: int,
    program: Packed,
    values: Values,
    events: Events,
    first: int,
    last: int,
    code: int,
    row: int,
    tied: bool,
) -> None:
    """All of a burst in plain doubles."""
    number, bit = base + program[row + NUMBERS], program[row + BIT]
    grown, count = _growth(events, first, last, code, bit, tied)
    arena.value[number], arena.value[number + 1] = grown - 1.0, count
    for place in range(program[row + SUM_FIRST], program[row + SUM_STOP]):
        cell = program[AT_SUM] + place * SUM_FIELDS
        total, column = base + program[cell + SUM_NUMBERS], program[cell + VALUE]
        gained, plain = 0.0, 0.0
        if tied:
            gained, plain = _gained(values.value, events, first, last, code, bit, column, 1.0)
        elif count > 0.0:
            gained, plain = _gained_alone(values.value, events, first, last, code, bit, column)
        arena.value[total], arena.value[total + 1] = gained, plain


@compiled_part
def _growth(events: Events, first: int, last: int, code: int, bit: int, tied: bool) -> tuple[float, float]:
    """The product of 1 + ties over the time stamps of a burst, and how many events there are, in doubles."""
    times, count, event = 1.0, 0, first
    while event < last:
        stamp, alike = events.time[event], 0
        while True:
            alike += events.code[event] == code and holds_bit(events, event, bit)
            event += 1
            if event == last or not tied or events.time[event] != stamp:
                break
        times *= 1.0 + alike
        count += alike
    return times, np.float64(count)


@compiled_part
def _gained_alone(
    value: Any, events: Events, first: int, last: int, code: int, bit: int, column: int
) -> tuple[float, float]:
    """As `_gained`, where no events are tied."""
    gained, plain, times = 0.0, 0.0, 1.0
    for event in range(first, last):
        if events.code[event] == code and holds_bit(events, event, bit):
            here = value[column, row_of(events, event)] if column >= 0 else 1.0
            gained = gained * 2.0 + here * times
            times *= 2.0
            plain += here
    return gained, plain


@compiled_part
def _clear(arena: Arena, base: int, program: Packed, row: int) -> None:
    grown = base + program[row + NUMBERS]
    zero(arena, grown)
    zero(arena, grown + 1)
    for place in range(program[row + SUM_FIRST], program[row + SUM_STOP]):
        number = base + get(program, AT_SUM, place * SUM_FIELDS + SUM_NUMBERS)
        zero(arena, number)
        zero(arena, number + 1)


@compiled_part
def _exponent(value: Any, events: Events, first: int, last: int, code: int, bit: int, column: int) -> int:
    """The exponent of the largest value of a column; 0 for the constant 1."""
    largest = 0.0
    if column >= 0:
        for event in range(first, last):
            if events.code[event] == code and holds_bit(events, event, bit):
                largest = max(largest, abs(value[column, row_of(events, event)]))
    if largest == 0.0 or column < 0:
        return 0
    return min(max(int(np.ceil(np.log2(largest))), -LARGEST), LARGEST)


@compiled_part
def _gained(
    value: Any, events: Events, first: int, last: int, code: int, bit: int, column: int, scale: float
) -> tuple[float, float]:
    """What a sum gains that was 0 while u was 1, and the sum of the values; both in doubles, times `scale`."""
    gained, plain, times, event = 0.0, 0.0, 1.0, first
    while event < last:
        stamp, tied, here = events.time[event], 0, 0.0
        while event < last and events.time[event] == stamp:
            if events.code[event] == code and holds_bit(events, event, bit):
                tied += 1
                here += value[column, row_of(events, event)] * scale if column >= 0 else 1.0
            event += 1
        gained = gained * (1.0 + tied) + here * times
        times *= 1.0 + tied
        plain += here
    return _known(gained), _known(plain)


@compiled_part
def _known(number: float) -> float:
    """The number, or 0 if so little is left of values near 1 that it says nothing."""
    return number if abs(number) > 2.0**-LARGEST else 0.0


@compiled_part
def _measure_stamp(
    arena: Arena,
    base: int,
    program: Packed,
    values: Values,
    events: Events,
    first: int,
    last: int,
    code: int,
    row: int,
) -> None:
    """One time stamp."""
    bit, weight = program[row + BIT], program[row + WEIGHT]
    grown = base + program[row + NUMBERS]
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
    for place in range(program[row + SUM_FIRST], program[row + SUM_STOP]):
        cell = program[AT_SUM] + place * SUM_FIELDS
        column, total = program[cell + VALUE], base + program[cell + SUM_NUMBERS]
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
