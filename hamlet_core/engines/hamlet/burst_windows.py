"""Windows in the burst kernel: a slot of lanes is opened, closed into its row of results, and cleared for the next."""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.burst_lanes import zero_vector
from hamlet_core.engines.hamlet.burst_tables import (
    GAP_START,
    GAP_WINDOWS,
    S_END,
    S_END_STOP,
    S_OUT,
    S_WINDOWS,
    BurstProgram,
)
from hamlet_core.engines.hamlet.compilation import compiled
from hamlet_core.engines.hamlet.numbers import add, add_product, is_zero, one, zero


@compiled
def finish(arena: Any, base: int, program: BurstProgram, windows: int, slot: int, row: int) -> None:
    """Add the trends of a window that closes to its row of results."""
    begin = row * program.out_width
    for item in range(program.finish_first[windows], program.finish_first[windows + 1]):
        if not is_zero(arena, base + program.finish[item, 0] + slot):
            add(arena, begin + program.finish[item, 2], base + program.finish[item, 1] + slot)
    scratch = base - 4  # four numbers between the results and the rest
    for strand in range(program.strand.shape[0]):
        fields = program.strand[strand]
        if fields[S_WINDOWS] == windows:
            zero(arena, scratch)
            zero(arena, scratch + 1)
            for end in range(fields[S_END], fields[S_END_STOP]):
                add(arena, scratch + program.end[end, 1], base + program.end[end, 0] + slot)
            add_product(arena, begin + fields[S_OUT], scratch, scratch + 1)


@compiled
def clear(arena: Any, base: int, program: BurstProgram, windows: int, slot: int) -> None:
    """All lanes of a slot are 0."""
    for item in range(program.clear_first[windows], program.clear_first[windows + 1]):
        first, count = base + program.clear[item, 0] + slot, program.clear[item, 1]
        if program.slots[windows] == 1:
            zero_vector(arena, first, count)
        else:
            for place in range(count):
                zero(arena, first + place * program.slots[windows])


@compiled
def open_slot(
    arena: Any, base: int, program: BurstProgram, opened: Any, windows: int, slot: int, time: int
) -> None:
    """A slot takes the windows whose first event comes at a time."""
    opened[windows, slot] = time
    one(arena, base + program.start[windows] + slot)
    for gap in range(program.gap.shape[0]):
        if program.gap[gap, GAP_WINDOWS] == windows and program.gap[gap, GAP_START] >= 0:
            one(arena, base + program.gap[gap, GAP_START] + slot)


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
