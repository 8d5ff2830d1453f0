"""The burst kernel: folds a class of accumulators without adjacent conditions, a burst at a time, all windows at once.

A burst of one type moves a block of lanes by `u = inputs + totals; totals += grown * u` where a position follows
itself, and by `totals += added * inputs` where it does not (HAMLET, SIGMOD 2021, section 3; closed form: DESIGN).
Events of one time stamp see the state before it: all changes are gathered in `delta`, negated matches drop what
waited, then the changes are committed (SEMANTICS 1 and 4).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.bursts.blocks import change, commit, grow_plain, moves, step_through
from hamlet_core.engines.hamlet.bursts.coefficients import STRIDE, measure
from hamlet_core.engines.hamlet.bursts.negation import drop, forget, negate, negate_commit
from hamlet_core.engines.hamlet.bursts.packing import (
    AT_BLOCK,
    AT_KIND,
    AT_NEGATION,
    AT_SLOTS,
    SPECIFICATIONS,
)
from hamlet_core.engines.hamlet.bursts.state import Negations, Windows
from hamlet_core.engines.hamlet.bursts.tables import (
    BLOCK_FIELDS,
    BURSTS,
    FOLLOWS_ITSELF,
    KIND_FIELDS,
    PLAIN,
    STEPS,
)
from hamlet_core.engines.hamlet.bursts.windows import clear, finish, open_slot
from hamlet_core.engines.hamlet.input.frame import DEAD, Events
from hamlet_core.engines.hamlet.jit.decorators import compiled, compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.arenas import Arena, Values


@compiled_inline
def _fold_stamp(
    arena: Arena,
    base: int,
    program: Packed,
    state: Negations,
    opened: Any,
    values: Values,
    events: Events,
    first: int,
    last: int,
    present: Any,
) -> None:
    """Events of one time stamp, of any types: gather, drop, commit."""
    kinds = 0
    for event in range(first, last):
        code = events.code[event]
        if code != DEAD:
            known = False
            for place in range(kinds):
                known = known or present[place] == code
            if not known:
                present[kinds] = code
                kinds += 1
    for place in range(kinds):
        code = present[place]
        if get(program, AT_BLOCK, code) < get(program, AT_BLOCK, code + 1):
            # With literals `measure` would be compiled once more.
            unknown, tied = np.int64(-1), np.bool_(True)
            measure(arena, base, program, values, events, first, last, code, unknown, tied)
        for row in range(get(program, AT_BLOCK, code), get(program, AT_BLOCK, code + 1), BLOCK_FIELDS):
            change(arena, base, program, row)
    for place in range(kinds):
        negate(program, state, events, first, last, present[place])
    for place in range(kinds):
        negate_commit(program, state, present[place])
    for place in range(kinds):
        drop(arena, base, program, state, opened, present[place])
    for place in range(kinds):
        code = present[place]
        for row in range(get(program, AT_BLOCK, code), get(program, AT_BLOCK, code + 1), BLOCK_FIELDS):
            commit(arena, base, program, state, row)


@compiled_inline
def _fold_burst(
    arena: Arena,
    base: int,
    program: Packed,
    state: Negations,
    opened: Any,
    values: Values,
    events: Events,
    first: int,
    last: int,
    code: int,
    count: int,
    tied: bool,
) -> None:
    """A burst of one type over any number of time stamps."""
    if get(program, AT_BLOCK, code) < get(program, AT_BLOCK, code + 1):
        measure(arena, base, program, values, events, first, last, code, count, tied)
    for row in range(get(program, AT_BLOCK, code), get(program, AT_BLOCK, code + 1), BLOCK_FIELDS):
        if program[row + PLAIN] and program[row + FOLLOWS_ITSELF]:
            grow_plain(arena, base, program, row)
        elif moves(arena, base, program, row):
            change(arena, base, program, row)
            commit(arena, base, program, state, row)
    if get(program, AT_NEGATION, code) < get(program, AT_NEGATION, code + 1):
        event = first
        while event < last:
            end = _stamp_end(events.time, event, last)
            negate(program, state, events, event, end, code)
            negate_commit(program, state, code)
            drop(arena, base, program, state, opened, code)
            event = end


@compiled_part
def _stamp_end(time: Any, first: int, stop: int) -> int:
    end = first + 1
    while end < stop and time[end] == time[first]:
        end += 1
    return end


@compiled_part
def _alive(code: Any, first: int, last: int) -> int:
    """How many of the events are not dead."""
    count = 0
    for event in range(first, last):
        count += code[event] != DEAD
    return count


@compiled_inline
def _burst_end(time: Any, code: Any, first: int, stop: int) -> tuple[int, int, bool]:
    """The end of the burst that begins at `first`, how many events it has (-1: not known), and whether some may be tied.

    The end is `first` itself if its time stamp has several types.
    """
    kind, last, event, count, tied = code[first], first, first + 1, 1, False
    while event < stop:
        if event + STRIDE <= stop:
            other, equal, here = np.int32(0), False, np.uint64(event)
            for ahead in range(np.uint64(STRIDE)):
                other |= code[here + ahead] ^ kind
                equal |= time[here + ahead] == time[here + ahead - np.uint64(1)]
            if other == 0:
                event += STRIDE
                count += STRIDE
                last = event - 1
                tied |= equal
                continue
        if code[event] == kind:
            tied |= time[event] == time[event - 1]
            last = event
            count += 1
        elif code[event] != DEAD:
            break
        else:
            tied |= time[event] == time[event - 1]
        event += 1
    if event == stop or time[event] != time[last]:
        return event, count, tied
    while last > first and time[last] == time[event]:
        last -= 1
    return (last + 1 if time[last] != time[event] else first), -1, True


@compiled_inline
def fold_range(
    arena: Arena,
    base: int,
    program: Packed,
    state: Negations,
    opened: Any,
    values: Values,
    events: Events,
    first: int,
    stop: int,
    present: Any,
    closed_form: bool,
) -> tuple[int, int]:
    """Events between two borders of windows; returns how many bursts and how many events were folded."""
    time, code = events.time, events.code
    event, bursts, folded = first, 0, 0
    while event < stop:
        if code[event] == DEAD:
            event += 1
            continue
        kind = np.int64(code[event])
        end, count, tied = event, -1, True
        if get(program, AT_KIND, kind * KIND_FIELDS + BURSTS) and (
            closed_form or get(program, AT_KIND, kind * KIND_FIELDS + STEPS)
        ):
            end, count, tied = _burst_end(time, code, event, stop)
        if end > event and not closed_form:
            for row in range(get(program, AT_BLOCK, kind), get(program, AT_BLOCK, kind + 1), BLOCK_FIELDS):
                step_through(arena, base, program, events, row, event, end, kind)
        elif end > event:
            _fold_burst(arena, base, program, state, opened, values, events, event, end, kind, count, tied)
        else:
            end = _stamp_end(time, event, stop)
            _fold_stamp(arena, base, program, state, opened, values, events, event, end, present)
        bursts += 1
        folded += count if count >= 0 else _alive(code, event, end)
        event = end
    return bursts, folded


@compiled
def fold_bursts(
    arena: Arena,
    base: int,
    program: Packed,
    state: Negations,
    windows_state: Windows,
    values: Values,
    events: Events,
    bounds: Any,
    first: Any,
    last: Any,
    row: Any,
    job_bounds: Any,
    closed_form: bool,
) -> tuple[int, int]:
    """Fold every partition; results are added to the numbers `row * out_width + ...` of the arena.

    `bounds` are those of partitions in the events; the windows of partition p and specification w are jobs
    `job_bounds[w, p]:job_bounds[w, p + 1]`, which begin before event `first` and end before event `last`. `base` is
    where the state begins. Returns how many bursts and how many events were folded.
    """
    specifications = program[SPECIFICATIONS]
    opened, opening, closing = windows_state.opened, windows_state.opening, windows_state.closing
    head, tail, present = windows_state.head, windows_state.tail, windows_state.present
    bursts = folded = 0
    for partition in range(bounds.shape[0] - 1):
        forget(state)
        for windows in range(specifications):
            opening[windows] = closing[windows] = job_bounds[windows, partition]
        event, stop = bounds[partition], bounds[partition + 1]
        while True:
            border = stop
            for windows in range(specifications):
                end = job_bounds[windows, partition + 1]
                while closing[windows] < opening[windows] and last[closing[windows]] == event:
                    job, slot = closing[windows], tail[windows]
                    finish(arena, base, program, windows, slot, row[job])
                    closing[windows] += 1
                    if closing[windows] == end or first[closing[windows]] != first[job]:
                        clear(arena, base, program, windows, slot)
                        tail[windows] = (slot + 1) % get(program, AT_SLOTS, windows)
                if opening[windows] < end and first[opening[windows]] == event:
                    open_slot(arena, base, program, opened, windows, head[windows], events.time[event])
                    head[windows] = (head[windows] + 1) % get(program, AT_SLOTS, windows)
                    while opening[windows] < end and first[opening[windows]] == event:
                        opening[windows] += 1
                if opening[windows] < end:
                    border = min(border, first[opening[windows]])
                if closing[windows] < opening[windows]:
                    border = min(border, last[closing[windows]])
            if event == stop:
                break
            more, events_more = fold_range(
                arena, base, program, state, opened, values, events, event, border, present, closed_form
            )
            bursts += more
            folded += events_more
            event = border
    return bursts, folded
