"""Windows in the burst kernel: a slot of lanes is opened, closed into its row of results, and cleared for the next."""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.bursts.blocks import zero_vector
from hamlet_core.engines.hamlet.bursts.packing import (
    ACCUMULATOR_FIELDS,
    ACCUMULATORS,
    AT_ACCUMULATOR,
    AT_CLEAR,
    AT_CLEAR_FIRST,
    AT_END,
    AT_FINISH,
    AT_FINISH_FIRST,
    AT_GAP,
    AT_SLOTS,
    AT_START,
    CLEAR_FIELDS,
    END_FIELDS,
    FINISH_FIELDS,
    GAP_FIELDS,
    GAPS,
    OUT_WIDTH,
)
from hamlet_core.engines.hamlet.bursts.tables import (
    GAP_START,
    GAP_WINDOWS,
    S_END,
    S_END_STOP,
    S_OUT,
    S_WINDOWS,
)
from hamlet_core.engines.hamlet.jit.decorators import compiled, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.arenas import Arena
from hamlet_core.engines.hamlet.numbers.semiring import add, add_product, is_zero, one, zero


@compiled_part
def finish(arena: Arena, base: int, program: Packed, windows: int, slot: int, row: int) -> None:
    """Add the trends of a window that closes to its row of results."""
    begin = row * program[OUT_WIDTH]
    for item in range(get(program, AT_FINISH_FIRST, windows), get(program, AT_FINISH_FIRST, windows + 1)):
        run = program[AT_FINISH] + item * FINISH_FIELDS
        if not is_zero(arena, base + program[run] + slot):
            add(arena, begin + program[run + 2], base + program[run + 1] + slot)
    scratch = base - 4  # four numbers between the results and the rest
    for accumulator in range(program[ACCUMULATORS]):
        fields = program[AT_ACCUMULATOR] + accumulator * ACCUMULATOR_FIELDS
        if program[fields + S_WINDOWS] == windows:
            zero(arena, scratch)
            zero(arena, scratch + 1)
            for end in range(program[fields + S_END], program[fields + S_END_STOP]):
                run = program[AT_END] + end * END_FIELDS
                add(arena, scratch + program[run + 1], base + program[run] + slot)
            add_product(arena, begin + program[fields + S_OUT], scratch, scratch + 1)


@compiled_part
def clear(arena: Arena, base: int, program: Packed, windows: int, slot: int) -> None:
    """All lanes of a slot are 0."""
    for item in range(get(program, AT_CLEAR_FIRST, windows), get(program, AT_CLEAR_FIRST, windows + 1)):
        run = program[AT_CLEAR] + item * CLEAR_FIELDS
        first, count = base + program[run] + slot, program[run + 1]
        if get(program, AT_SLOTS, windows) == 1:
            zero_vector(arena, first, count)
        else:
            for place in range(count):
                zero(arena, first + place * get(program, AT_SLOTS, windows))


@compiled_part
def open_slot(
    arena: Arena, base: int, program: Packed, opened: Any, windows: int, slot: int, time: int
) -> None:
    """A slot takes the windows whose first event comes at a time."""
    opened[windows, slot] = time
    one(arena, base + get(program, AT_START, windows) + slot)
    for gap in range(program[GAPS]):
        if (
            get(program, AT_GAP, gap * GAP_FIELDS + GAP_WINDOWS) == windows
            and get(program, AT_GAP, gap * GAP_FIELDS + GAP_START) >= 0
        ):
            one(arena, base + get(program, AT_GAP, gap * GAP_FIELDS + GAP_START) + slot)


@compiled
def most_open(first: Any, last: Any, bounds: Any) -> int:
    """The most windows with different first events that are open at once in a partition."""
    most = 1
    for partition in range(bounds.shape[0] - 1):
        closing, groups = bounds[partition], 0
        for job in range(bounds[partition], bounds[partition + 1]):
            if job == bounds[partition] or first[job] != first[job - 1]:
                while closing < job and last[closing] <= first[job]:
                    closing += 1
                    if closing == job or first[closing] != first[closing - 1]:
                        groups -= 1
                groups += 1
                most = max(most, groups)
    return most
