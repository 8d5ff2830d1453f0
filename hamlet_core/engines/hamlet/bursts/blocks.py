"""What a burst does to lanes: a block of them moves by coefficients at once, or step by step where that is cheaper.

A block moves by `u = inputs + totals; totals += grown * u` where a position follows itself, and by
`totals += added * inputs` where it does not. Changes of one time stamp wait in `delta` until they are committed.
"""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.bursts.packing import (
    AT_ATTRIBUTE_SUM,
    AT_GROWTH,
    AT_SOURCE,
    AT_SUM,
    AT_WAIT,
)
from hamlet_core.engines.hamlet.bursts.state import Negations
from hamlet_core.engines.hamlet.bursts.tables import (
    ATTRIBUTE_SUM,
    DELTA,
    FOLLOWS_ITSELF,
    GROWTH,
    GROWTH_FIELDS,
    NUMBERS,
    SIZE,
    SOURCE,
    SOURCES,
    SUM_FIELDS,
    SUM_NUMBERS,
    TOTAL,
    WAIT,
    WAIT_BASE,
    WAIT_FIELDS,
    WAIT_GAP,
    WAIT_STRIDE,
    WAITS,
    WIDTH,
)
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.aligned import align, settle, step
from hamlet_core.engines.hamlet.numbers.arenas import Arena
from hamlet_core.engines.hamlet.numbers.scaled_vectors import (
    add_gathered_lanes,
    add_lanes,
    add_multiple_lanes,
    gather_lanes,
    grow_lanes,
    multiply_lanes,
    zero_lanes,
)
from hamlet_core.engines.hamlet.numbers.semiring import is_zero

ROOM = 900
"""Bits that mantissas may grow by before they are normalised."""


@compiled_part
def _gather(arena: Arena, base: int, target: int, table: Any, place: int, size: int) -> None:
    gather_lanes(arena, target, base, table, place, size)


@compiled_part
def _gather_more(arena: Arena, base: int, target: int, table: Any, place: int, size: int) -> None:
    add_gathered_lanes(arena, target, base, table, place, size)


@compiled_part
def add_vector(arena: Arena, target: int, source: int, size: int) -> None:
    """Lanes of target += lanes of source."""
    add_lanes(arena, target, source, size)


@compiled_part
def _multiply(arena: Arena, target: int, factor: int, size: int) -> None:
    multiply_lanes(arena, target, factor, size)


@compiled_part
def _add_multiple(arena: Arena, target: int, source: int, factor: int, size: int) -> None:
    add_multiple_lanes(arena, target, source, factor, size)


@compiled_part
def _grow(arena: Arena, target: int, source: int, factor: int, size: int) -> None:
    grow_lanes(arena, target, source, factor, size)


@compiled_part
def zero_vector(arena: Arena, target: int, size: int) -> None:
    """Lanes of target are 0."""
    zero_lanes(arena, target, size)


@compiled_inline
def _grown(base: int, program: Packed, row: int) -> int:
    """Where the coefficients of a block stand, the row of which is given."""
    growth = get(program, AT_GROWTH, 0) + program[row + GROWTH] * GROWTH_FIELDS
    return base + program[growth + NUMBERS]  # type: ignore[no-any-return]


@compiled_inline
def moves(arena: Arena, base: int, program: Packed, row: int) -> bool:
    """Whether an event of the burst in hand meets the predicates of a block."""
    # Where weights add up to 0 there are no sums beside them.
    return not is_zero(arena, _grown(base, program, row) + 1 - program[row + FOLLOWS_ITSELF])


@compiled_part
def change(arena: Arena, base: int, program: Packed, row: int) -> None:
    """Into `delta`: what the burst in hand adds to the totals of a block, the row of which is given, here and below."""
    size, width = program[row + SIZE], program[row + WIDTH]
    total, delta = base + program[row + TOTAL], base + program[row + DELTA]
    grown = _grown(base, program, row) + 1 - program[row + FOLLOWS_ITSELF]
    place = program[row + SOURCE]
    for source in range(program[row + SOURCES]):
        for component in range(width):
            target = delta + component * size
            if source == 0:
                _gather(arena, base, target, program, program[AT_SOURCE] + place, size)
            else:
                _gather_more(arena, base, target, program, program[AT_SOURCE] + place, size)
            place += size
    if program[row + SOURCES] == 0:
        zero_vector(arena, delta, size * width)
    if program[row + FOLLOWS_ITSELF]:
        add_vector(arena, delta, total, size * width)
    for component in range(1, width):
        target = delta + component * size
        _multiply(arena, target, grown, size)
        attribute_sum = get(program, AT_ATTRIBUTE_SUM, program[row + ATTRIBUTE_SUM] + component - 1)
        if attribute_sum >= 0:
            number = (
                base
                + get(program, AT_SUM, attribute_sum * SUM_FIELDS + SUM_NUMBERS)
                + 1
                - program[row + FOLLOWS_ITSELF]
            )
            _add_multiple(arena, target, delta, number, size)
    _multiply(arena, delta, grown, size)


@compiled_part
def grow_plain(arena: Arena, base: int, program: Packed, row: int) -> None:
    """A block that follows itself, has one source, no sums and nothing waiting behind it: the commonest, in one go."""
    size, total, delta = program[row + SIZE], base + program[row + TOTAL], base + program[row + DELTA]
    factor = _grown(base, program, row)
    if not is_zero(arena, factor):
        _gather(arena, base, delta, program, program[AT_SOURCE] + program[row + SOURCE], size)
        _grow(arena, total, delta, factor, size)


@compiled_part
def step_through(
    arena: Arena, base: int, program: Packed, events: Events, row: int, first: int, last: int, code: int
) -> None:
    """The same for such a block, or one that does not follow itself, event by event with its inputs kept at hand."""
    size, total, delta, follows = (
        program[row + SIZE],
        base + program[row + TOTAL],
        base + program[row + DELTA],
        program[row + FOLLOWS_ITSELF],
    )
    _gather(arena, base, delta, program, program[AT_SOURCE] + program[row + SOURCE], size)
    align(arena, total, delta, size)
    grown, event = 0, first
    while event < last:
        count = 0
        while event < last and grown + 1 <= ROOM and _stands_alone(events, event, last, code):
            count += 1
            grown += 1
            event += 1
        step(arena, total, delta, size, follows, 1, count)
        if event == last:
            break
        if grown + 1 > ROOM:
            settle(arena, total, delta, size)
            grown = 0
            continue
        tied, bits, stamp = 0, 1, events.time[event]
        while event < last and events.time[event] == stamp:
            tied += events.code[event] == code
            event += 1
        while (tied + 1) >> bits:
            bits += 1
        if grown + bits > ROOM:
            settle(arena, total, delta, size)
            grown = 0
        grown += bits
        step(arena, total, delta, size, follows, tied, 1)
    settle(arena, total, delta, size)


@compiled_inline
def _stands_alone(events: Events, event: int, last: int, code: int) -> bool:
    """Whether an event of a burst is none of the dead ones and shares its time with no later one."""
    alone = event + 1 == last or events.time[event + 1] != events.time[event]
    return bool(alone and events.code[event] == code)


@compiled_part
def commit(arena: Arena, base: int, program: Packed, state: Negations, row: int) -> None:
    """Add the changes of a block to its totals, and to what waits behind them."""
    size, delta = program[row + SIZE] * program[row + WIDTH], base + program[row + DELTA]
    add_vector(arena, base + program[row + TOTAL], delta, size)
    for place in range(program[row + WAIT], program[row + WAIT] + program[row + WAITS]):
        wait = program[AT_WAIT] + place * WAIT_FIELDS
        bucket = state.buckets[program[wait + WAIT_GAP]] - 1 if program[wait + WAIT_GAP] >= 0 else 0
        add_vector(
            arena, base + program[wait + WAIT_BASE] + bucket * program[wait + WAIT_STRIDE], delta, size
        )
