"""Windows in the burst kernel: a slot of lanes is opened, closed into its row of results, and cleared for the next."""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.bursts.blocks import zero_vector
from hamlet_core.engines.hamlet.bursts.packing import (
    ACCUMULATORS,
    AT_ACCUMULATOR,
    AT_CLEAR,
    AT_END,
    AT_FINISH,
    AT_GAP,
    AT_SLOTS,
    AT_START,
    GAPS,
    OUT_WIDTH,
)
from hamlet_core.engines.hamlet.bursts.tables import (
    CLEAR_FIELDS,
    END_FIELDS,
    END_SIDE,
    END_SLOT,
    FINISH_COUNT,
    FINISH_FIELDS,
    FINISH_NUMBER,
    FINISH_TARGET,
    FIRST_SLOT,
    GAP_FIELDS,
    GAP_START,
    GAP_WINDOWS,
    RUN,
    S_END,
    S_END_STOP,
    S_FIELDS,
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
    for run in range(get(program, AT_FINISH, windows), get(program, AT_FINISH, windows + 1), FINISH_FIELDS):
        if not is_zero(arena, base + program[run + FINISH_COUNT] + slot):
            add(arena, begin + program[run + FINISH_TARGET], base + program[run + FINISH_NUMBER] + slot)
    scratch = base - 4  # four numbers between the results and the rest
    for accumulator in range(program[ACCUMULATORS]):
        fields = program[AT_ACCUMULATOR] + accumulator * S_FIELDS
        if program[fields + S_WINDOWS] == windows:
            zero(arena, scratch)
            zero(arena, scratch + 1)
            for end in range(program[fields + S_END], program[fields + S_END_STOP]):
                run = program[AT_END] + end * END_FIELDS
                add(arena, scratch + program[run + END_SIDE], base + program[run + END_SLOT] + slot)
            add_product(arena, begin + program[fields + S_OUT], scratch, scratch + 1)


@compiled_part
def clear(arena: Arena, base: int, program: Packed, windows: int, slot: int) -> None:
    """All lanes of a slot are 0."""
    for run in range(get(program, AT_CLEAR, windows), get(program, AT_CLEAR, windows + 1), CLEAR_FIELDS):
        first, count = base + program[run + FIRST_SLOT] + slot, program[run + RUN]
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
