"""The burst kernel: folds a class of strands without adjacent conditions, a burst at a time, all windows at once.

A burst of one type moves a block of lanes by `u = inputs + totals; totals += grown * u` where a position follows
itself, and by `totals += added * inputs` where it does not (HAMLET, SIGMOD 2021, section 3; closed form: DESIGN).
Events of one time stamp see the state before it: all changes are gathered in `delta`, negated matches drop what
waited, then the changes are committed (SEMANTICS 1 and 4).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hamlet_core.engines.hamlet.aligned_lanes import align, settle, step
from hamlet_core.engines.hamlet.burst_program import (
    BIT,
    BURSTS,
    CELL,
    CELL_SLOTS,
    CELL_STRIDE,
    DELTA,
    FOLLOWS_ITSELF,
    GAP_BUCKETS,
    GAP_START,
    GAP_WINDOWS,
    GROWTH,
    N_BEFORE,
    N_BEFORE_STOP,
    N_BIT,
    N_ENDS,
    N_PATTERN,
    N_POSITION,
    N_STARTS,
    NUMBERS,
    PLAIN,
    RIDER,
    S_END,
    S_END_STOP,
    S_OUT,
    S_WINDOWS,
    SIZE,
    SOURCE,
    SOURCES,
    STEPS,
    SUM_FIRST,
    SUM_NUMBERS,
    SUM_STOP,
    TOTAL,
    VALUE,
    WAIT,
    WAIT_BASE,
    WAIT_GAP,
    WAIT_STRIDE,
    WAITS,
    WEIGHT,
    WIDTH,
    BurstProgram,
)
from hamlet_core.engines.hamlet.compilation import compiled, compiled_inline
from hamlet_core.engines.hamlet.frame import DEAD, Events
from hamlet_core.engines.hamlet.lanes import (
    add_gathered_lanes,
    add_lanes,
    add_multiple_lanes,
    gather_lanes,
    grow_lanes,
    multiply_lanes,
    zero_lanes,
)
from hamlet_core.engines.hamlet.numbers import (
    add,
    add_product,
    copy,
    double_times,
    is_zero,
    load,
    minus_one,
    multiply,
    one,
    whole,
    zero,
)
from hamlet_core.engines.hamlet.slicing import row_of

NEVER = np.int64(-(2**63))
"""The latest start of a negated pattern that has not matched."""

STRIDE = 16
"""Events that are compared at once while a burst lasts."""

ROOM = 900
"""Bits that mantissas may grow by before they are normalised."""


class Negations(NamedTuple):
    """Mutable: what the negated patterns of the current partition have matched."""

    latest: Any
    """By position of a negated pattern: the latest start of a match so far that stands there."""
    fresh: Any
    """The same for the time stamp in hand, not yet committed."""
    since: Any
    """By pattern: the latest start of a whole match."""
    bound: Any
    """[gap, bucket]: what waits in a bucket came at this time or later, and before the next bucket's."""
    buckets: Any
    """By gap: how many of its buckets are in use; the last takes what comes."""
    bounds: Any
    """Room for the bounds of one gap."""


class Windows(NamedTuple):
    """Mutable: which windows of each specification are open, in slots that are taken round robin."""

    opened: Any
    """[specification, slot]: the time of the first event of the windows in a slot."""
    opening: Any
    """By specification: the next job to open, and `closing` the next to close."""
    closing: Any
    head: Any
    """By specification: the slot that opens next, and `tail` the one that closes next."""
    tail: Any
    present: Any
    """Room for the types of one time stamp."""


def negations_of(program: BurstProgram) -> Negations:
    """The state of a partition's negations, before the first event."""
    gaps = len(program.gap)
    most = int(program.gap[:, GAP_BUCKETS].max(initial=1))
    return Negations(
        np.full(program.positions, NEVER, np.int64),
        np.full(program.positions, NEVER, np.int64),
        np.full(program.patterns, NEVER, np.int64),
        np.full((gaps, most), NEVER, np.int64),
        np.ones(gaps, np.int64),
        np.full(most, NEVER, np.int64),
    )


def windows_of(program: BurstProgram) -> Windows:
    """No window is open."""
    count = len(program.slots)
    opened = np.full((count, int(program.slots.max(initial=1))), 2**63 - 1, np.int64)
    counters = (np.zeros(count, np.int64) for _ in range(4))
    return Windows(opened, *counters, np.zeros(len(program.kind), np.int64))


@compiled_inline
def holds_bit(events: Events, event: int, bit: int) -> bool:
    """Whether a local predicate holds for an event; bit -1 always does."""
    return bit < 0 or (events.bits[event, bit >> 6] >> np.uint64(bit & 63)) & np.uint64(1) != np.uint64(0)


# --- vectors of lanes ----------------------------------------------------------------------------


# Indices are unsigned here: the compiler need not think of negative ones, and makes vector code.


@compiled
def _gather(arena: Any, base: int, target: int, table: Any, place: int, size: int) -> None:
    gather_lanes(arena, target, base, table, place, size)


@compiled
def _gather_more(arena: Any, base: int, target: int, table: Any, place: int, size: int) -> None:
    add_gathered_lanes(arena, target, base, table, place, size)


@compiled
def _add(arena: Any, target: int, source: int, size: int) -> None:
    add_lanes(arena, target, source, size)


@compiled
def _multiply(arena: Any, target: int, factor: int, size: int) -> None:
    multiply_lanes(arena, target, factor, size)


@compiled
def _add_multiple(arena: Any, target: int, source: int, factor: int, size: int) -> None:
    add_multiple_lanes(arena, target, source, factor, size)


@compiled
def _grow(arena: Any, target: int, source: int, factor: int, size: int) -> None:
    grow_lanes(arena, target, source, factor, size)


@compiled
def _zero(arena: Any, target: int, size: int) -> None:
    zero_lanes(arena, target, size)


# --- coefficients of a burst ---------------------------------------------------------------------


@compiled
def _count(
    arena: Any, events: Events, grown: int, first: int, last: int, code: int, bit: int, run: tuple[int, bool]
) -> None:
    """Coefficients of the events `first:last` of one type where only their number and ties matter.

    `run` is how many events of the type there are (negative: not known) and whether some may be tied.
    """
    count, tied = run
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


@compiled
def _matching(events: Events, first: int, last: int, code: int, bit: int) -> int:
    count = 0
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


@compiled
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


@compiled
def _measure(
    arena: Any,
    base: int,
    program: BurstProgram,
    values: Any,
    events: Events,
    first: int,
    last: int,
    code: int,
    run: tuple[int, bool],
) -> None:
    """All coefficients of a type for the events `first:last`: its own of them, time stamp by time stamp."""
    for growth in range(program.growth_first[code], program.growth_first[code + 1]):
        row = program.growth[growth]
        if row[WEIGHT] < 0 and row[SUM_FIRST] == row[SUM_STOP]:
            _count(arena, events, base + row[NUMBERS], first, last, code, row[BIT], run)
            continue
        grown = base + program.growth[growth, NUMBERS]
        zero(arena, grown)
        zero(arena, grown + 1)
        for place in range(program.growth[growth, SUM_FIRST], program.growth[growth, SUM_STOP]):
            number = base + program.sum[place, SUM_NUMBERS]
            zero(arena, number)
            zero(arena, number + 1)
        event = first
        while event < last:
            stamp, end = events.time[event], event + 1
            while end < last and events.time[end] == stamp:
                end += 1
            _measure_stamp(arena, base, program, values, events, event, end, code, growth)
            event = end


@compiled
def _measure_stamp(
    arena: Any,
    base: int,
    program: BurstProgram,
    values: Any,
    events: Events,
    first: int,
    last: int,
    code: int,
    growth: int,
) -> None:
    """One time stamp: u grows to (1 + tied) u, and a sum s to (1 + tied) s + (sum of its values) u."""
    bit, weight = program.growth[growth, BIT], program.growth[growth, WEIGHT]
    grown = base + program.growth[growth, NUMBERS]
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
    for place in range(program.growth[growth, SUM_FIRST], program.growth[growth, SUM_STOP]):
        column, total = program.sum[place, VALUE], base + program.sum[place, SUM_NUMBERS]
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


# --- lanes ---------------------------------------------------------------------------------------


@compiled
def _change(arena: Any, base: int, program: BurstProgram, block: int) -> None:
    """Into `delta`: what the burst in hand adds to the totals of a block."""
    row = program.block[block]
    size, width = row[SIZE], row[WIDTH]
    total, delta = base + row[TOTAL], base + row[DELTA]
    grown = base + program.growth[row[GROWTH], NUMBERS] + 1 - row[FOLLOWS_ITSELF]
    place = row[SOURCE]
    for source in range(row[SOURCES]):
        for component in range(width):
            target = delta + component * size
            if source == 0:
                _gather(arena, base, target, program.source, place, size)
            else:
                _gather_more(arena, base, target, program.source, place, size)
            place += size
    if row[SOURCES] == 0:
        _zero(arena, delta, size * width)
    if row[FOLLOWS_ITSELF]:
        _add(arena, delta, total, size * width)
    for component in range(1, width):
        target = delta + component * size
        _multiply(arena, target, grown, size)
        rider = program.rider[row[RIDER] + component - 1]
        if rider >= 0:
            number = base + program.sum[rider, SUM_NUMBERS] + 1 - row[FOLLOWS_ITSELF]
            _add_multiple(arena, target, delta, number, size)
    _multiply(arena, delta, grown, size)


@compiled
def _grow_plain(arena: Any, base: int, program: BurstProgram, block: int) -> None:
    """A block that follows itself, has one source, no riders and nothing waiting behind it: the commonest, in one go."""
    row = program.block[block]
    size, total, delta = row[SIZE], base + row[TOTAL], base + row[DELTA]
    factor = base + program.growth[row[GROWTH], NUMBERS]
    if not is_zero(arena, factor):
        _gather(arena, base, delta, program.source, row[SOURCE], size)
        _grow(arena, total, delta, factor, size)


@compiled
def _step_through(
    arena: Any, base: int, program: BurstProgram, events: Events, block: int, first: int, last: int, code: int
) -> None:
    """The same for such a block, or one that does not follow itself, event by event with its inputs kept at hand."""
    row = program.block[block]
    size, total, delta, follows = row[SIZE], base + row[TOTAL], base + row[DELTA], row[FOLLOWS_ITSELF]
    _gather(arena, base, delta, program.source, row[SOURCE], size)
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


@compiled
def _commit(arena: Any, base: int, program: BurstProgram, state: Negations, block: int) -> None:
    row = program.block[block]
    size, delta = row[SIZE] * row[WIDTH], base + row[DELTA]
    _add(arena, base + row[TOTAL], delta, size)
    for place in range(row[WAIT], row[WAIT] + row[WAITS]):
        wait = program.wait[place]
        bucket = state.buckets[wait[WAIT_GAP]] - 1 if wait[WAIT_GAP] >= 0 else 0
        _add(arena, base + wait[WAIT_BASE] + bucket * wait[WAIT_STRIDE], delta, size)


# --- negation ------------------------------------------------------------------------------------


@compiled
def _negate(
    arena: Any,
    base: int,
    program: BurstProgram,
    state: Negations,
    opened: Any,
    events: Events,
    first: int,
    last: int,
    code: int,
) -> None:
    """Advance the negated patterns by the events of a type in `first:last`, which have one time stamp."""
    begin, stop = program.negation_first[code], program.negation_first[code + 1]
    time = events.time[first]
    for place in range(begin, stop):
        row = program.negation[place]
        fresh = NEVER
        for event in range(first, last):
            if events.code[event] == code and holds_bit(events, event, row[N_BIT]):
                fresh = time if row[N_STARTS] else NEVER
                for before in range(row[N_BEFORE], row[N_BEFORE_STOP]):
                    fresh = max(fresh, state.latest[program.before[before]])
                break
        state.fresh[row[N_POSITION]] = max(fresh, state.latest[row[N_POSITION]])


@compiled
def _negate_commit(program: BurstProgram, state: Negations, code: int) -> None:
    """Commit what `_negate` found; `fresh` then differs from `latest` where something is to be dropped."""
    for place in range(program.negation_first[code], program.negation_first[code + 1]):
        row = program.negation[place]
        position, pattern = row[N_POSITION], row[N_PATTERN]
        if state.fresh[position] == state.latest[position]:
            continue
        state.latest[position] = state.fresh[position]
        state.fresh[position] = NEVER
        if row[N_ENDS]:
            state.since[pattern] = max(state.since[pattern], state.latest[position])


@compiled
def _drop(
    arena: Any, base: int, program: BurstProgram, state: Negations, opened: Any, time: int, code: int
) -> None:
    """Matches that end now drop what waited since before they began, once all types of the time stamp are committed."""
    for place in range(program.negation_first[code], program.negation_first[code + 1]):
        row = program.negation[place]
        position, pattern = row[N_POSITION], row[N_PATTERN]
        if state.fresh[position] == state.latest[position]:
            continue
        state.fresh[position] = state.latest[position]
        for item in range(program.pattern_gaps_first[pattern], program.pattern_gaps_first[pattern + 1]):
            _cut(arena, base, program, state, opened, program.pattern_gaps[item], time)


@compiled
def _cut(
    arena: Any, base: int, program: BurstProgram, state: Negations, opened: Any, gap: int, time: int
) -> None:
    """Drop what waits at a gap since before its latest negated match began, and close starts behind it."""
    since = NEVER
    for item in range(program.gap_patterns_first[gap], program.gap_patterns_first[gap + 1]):
        since = max(since, state.since[program.gap_patterns[item]])
    _cut_buckets(arena, base, program, state, gap, since)
    start, windows = program.gap[gap, GAP_START], program.gap[gap, GAP_WINDOWS]
    if start >= 0:
        for slot in range(program.slots[windows]):
            if opened[windows, slot] <= since:
                zero(arena, base + start + slot)


@compiled
def _cut_buckets(
    arena: Any, base: int, program: BurstProgram, state: Negations, gap: int, since: int
) -> None:
    """New buckets: one from `since` on, and one from every time at which a match that can go on has begun."""
    bounds, count = state.bounds, 1
    bounds[0] = since
    for item in range(program.gap_positions_first[gap], program.gap_positions_first[gap + 1]):
        begun = state.latest[program.gap_positions[item]]
        place = count
        while place > 0 and bounds[place - 1] > begun:
            place -= 1
        if place > 0 and bounds[place - 1] < begun:
            for later in range(count, place, -1):
                bounds[later] = bounds[later - 1]
            bounds[place] = begun
            count += 1
    first, last = program.gap_waits_first[gap], program.gap_waits_first[gap + 1]
    kept = -1
    for bucket in range(state.buckets[gap]):
        target = -1
        while target + 1 < count and bounds[target + 1] <= state.bound[gap, bucket]:
            target += 1
        for item in range(first, last):
            cell = program.gap_waits[item]
            source = base + cell[CELL] + bucket * cell[CELL_STRIDE]
            if target < 0:
                _zero(arena, source, cell[CELL_SLOTS])
            elif target != bucket:
                into = base + cell[CELL] + target * cell[CELL_STRIDE]
                if target != kept:
                    for slot in range(cell[CELL_SLOTS]):
                        copy(arena, into + slot, source + slot)
                else:
                    _add(arena, into, source, cell[CELL_SLOTS])
                _zero(arena, source, cell[CELL_SLOTS])
        kept = target
    state.buckets[gap] = count
    for bucket in range(count):
        state.bound[gap, bucket] = bounds[bucket]


@compiled
def _forget(state: Negations) -> None:
    """A new partition: nothing has matched."""
    for position in range(state.latest.shape[0]):
        state.latest[position] = state.fresh[position] = NEVER
    for pattern in range(state.since.shape[0]):
        state.since[pattern] = NEVER
    for gap in range(state.buckets.shape[0]):
        state.buckets[gap] = 1
        state.bound[gap, 0] = NEVER


# --- runs of events ------------------------------------------------------------------------------


@compiled
def _fold_stamp(
    arena: Any,
    base: int,
    program: BurstProgram,
    state: Negations,
    opened: Any,
    values: Any,
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
        if program.block_first[code] < program.block_first[code + 1]:
            _measure(arena, base, program, values, events, first, last, code, (-1, True))
        for block in range(program.block_first[code], program.block_first[code + 1]):
            _change(arena, base, program, block)
    for place in range(kinds):
        _negate(arena, base, program, state, opened, events, first, last, present[place])
    for place in range(kinds):
        _negate_commit(program, state, present[place])
    for place in range(kinds):
        _drop(arena, base, program, state, opened, events.time[first], present[place])
    for place in range(kinds):
        for block in range(program.block_first[present[place]], program.block_first[present[place] + 1]):
            _commit(arena, base, program, state, block)


@compiled
def _fold_burst(
    arena: Any,
    base: int,
    program: BurstProgram,
    state: Negations,
    opened: Any,
    values: Any,
    events: Events,
    first: int,
    last: int,
    code: int,
    run: tuple[int, bool],
) -> None:
    """A burst of one type over any number of time stamps."""
    if program.block_first[code] < program.block_first[code + 1]:
        _measure(arena, base, program, values, events, first, last, code, run)
    for block in range(program.block_first[code], program.block_first[code + 1]):
        if program.block[block, PLAIN] and program.block[block, FOLLOWS_ITSELF]:
            _grow_plain(arena, base, program, block)
        else:
            _change(arena, base, program, block)
            _commit(arena, base, program, state, block)
    if program.negation_first[code] < program.negation_first[code + 1]:
        event = first
        while event < last:
            end = _stamp_end(events.time, event, last)
            _negate(arena, base, program, state, opened, events, event, end, code)
            _negate_commit(program, state, code)
            _drop(arena, base, program, state, opened, events.time[event], code)
            event = end


@compiled
def _stamp_end(time: Any, first: int, stop: int) -> int:
    end = first + 1
    while end < stop and time[end] == time[first]:
        end += 1
    return end


@compiled
def _burst_end(time: Any, code: Any, first: int, stop: int) -> tuple[int, tuple[int, bool]]:
    """The end of the burst that begins at `first`, how many events it has, and whether some may be tied.

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
        return event, (count, tied)
    while last > first and time[last] == time[event]:
        last -= 1
    return (last + 1 if time[last] != time[event] else first), (-1, True)


@compiled
def fold_range(
    arena: Any,
    base: int,
    program: BurstProgram,
    state: Negations,
    opened: Any,
    values: Any,
    events: Events,
    first: int,
    stop: int,
    present: Any,
    closed_form: bool,
) -> int:
    """Events between two borders of windows; returns the number of bursts."""
    time, code = events.time, events.code
    event, bursts = first, 0
    while event < stop:
        if code[event] == DEAD:
            event += 1
            continue
        end, run = event, (-1, True)
        if program.kind[code[event], BURSTS] and (closed_form or program.kind[code[event], STEPS]):
            end, run = _burst_end(time, code, event, stop)
        if end > event and not closed_form:
            for block in range(program.block_first[code[event]], program.block_first[code[event] + 1]):
                _step_through(arena, base, program, events, block, event, end, code[event])
        elif end > event:
            _fold_burst(arena, base, program, state, opened, values, events, event, end, code[event], run)
        else:
            end = _stamp_end(time, event, stop)
            _fold_stamp(arena, base, program, state, opened, values, events, event, end, present)
        bursts += 1
        event = end
    return bursts


# --- windows -------------------------------------------------------------------------------------


@compiled
def _finish(arena: Any, base: int, program: BurstProgram, windows: int, slot: int, row: int) -> None:
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
def _clear(arena: Any, base: int, program: BurstProgram, windows: int, slot: int) -> None:
    for item in range(program.clear_first[windows], program.clear_first[windows + 1]):
        first, count = base + program.clear[item, 0] + slot, program.clear[item, 1]
        if program.slots[windows] == 1:
            _zero(arena, first, count)
        else:
            for place in range(count):
                zero(arena, first + place * program.slots[windows])


@compiled
def _open(
    arena: Any, base: int, program: BurstProgram, opened: Any, windows: int, slot: int, time: int
) -> None:
    opened[windows, slot] = time
    one(arena, base + program.start[windows] + slot)
    for gap in range(program.gap.shape[0]):
        if program.gap[gap, GAP_WINDOWS] == windows and program.gap[gap, GAP_START] >= 0:
            one(arena, base + program.gap[gap, GAP_START] + slot)


@compiled
def fold_bursts(
    arena: Any,
    base: int,
    program: BurstProgram,
    state: Negations,
    windows_state: Windows,
    values: Any,
    events: Events,
    bounds: Any,
    first: Any,
    last: Any,
    row: Any,
    job_bounds: Any,
    closed_form: bool,
) -> int:
    """Fold every partition; results are added to the numbers `row * out_width + ...` of the arena.

    `bounds` are those of partitions in the events; the windows of partition p and specification w are jobs
    `job_bounds[w, p]:job_bounds[w, p + 1]`, which begin before event `first` and end before event `last`. `base` is
    where the state begins. Returns the number of bursts.
    """
    specifications = program.slots.shape[0]
    opened, opening, closing = windows_state.opened, windows_state.opening, windows_state.closing
    head, tail, present = windows_state.head, windows_state.tail, windows_state.present
    bursts = 0
    for partition in range(bounds.shape[0] - 1):
        _forget(state)
        for windows in range(specifications):
            opening[windows] = closing[windows] = job_bounds[windows, partition]
        event, stop = bounds[partition], bounds[partition + 1]
        while True:
            border = stop
            for windows in range(specifications):
                end = job_bounds[windows, partition + 1]
                while closing[windows] < opening[windows] and last[closing[windows]] == event:
                    job, slot = closing[windows], tail[windows]
                    _finish(arena, base, program, windows, slot, row[job])
                    closing[windows] += 1
                    if closing[windows] == end or first[closing[windows]] != first[job]:
                        _clear(arena, base, program, windows, slot)
                        tail[windows] = (slot + 1) % program.slots[windows]
                if opening[windows] < end and first[opening[windows]] == event:
                    _open(arena, base, program, opened, windows, head[windows], events.time[event])
                    head[windows] = (head[windows] + 1) % program.slots[windows]
                    while opening[windows] < end and first[opening[windows]] == event:
                        opening[windows] += 1
                if opening[windows] < end:
                    border = min(border, first[opening[windows]])
                if closing[windows] < opening[windows]:
                    border = min(border, last[closing[windows]])
            if event == stop:
                break
            bursts += fold_range(
                arena, base, program, state, opened, values, events, event, border, present, closed_form
            )
            event = border
    return bursts


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
