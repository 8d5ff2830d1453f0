"""Negation in the burst kernel: how late matches of negated patterns start, and what waits at the gaps they close."""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.bursts.blocks import add_vector, zero_vector
from hamlet_core.engines.hamlet.bursts.packing import (
    AT_BEFORE,
    AT_GAP,
    AT_GAP_PATTERNS,
    AT_GAP_POSITIONS,
    AT_GAP_WAITS,
    AT_NEGATION,
    AT_PATTERN_GAPS,
    AT_SLOTS,
)
from hamlet_core.engines.hamlet.bursts.state import NEVER, Negations
from hamlet_core.engines.hamlet.bursts.tables import (
    CELL,
    CELL_FIELDS,
    CELL_SLOTS,
    CELL_STRIDE,
    GAP_FIELDS,
    GAP_START,
    GAP_WINDOWS,
    N_BEFORE,
    N_BEFORE_STOP,
    N_BIT,
    N_ENDS,
    N_PATTERN,
    N_POSITION,
    N_STARTS,
    NEGATION_FIELDS,
)
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import holds_bit
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.arenas import Arena
from hamlet_core.engines.hamlet.numbers.semiring import copy, zero


@compiled_part
def negate(
    program: Packed,
    state: Negations,
    events: Events,
    first: int,
    last: int,
    code: int,
) -> None:
    """Advance the negated patterns by the events of a type in `first:last`, which have one time stamp."""
    begin, stop = get(program, AT_NEGATION, code), get(program, AT_NEGATION, code + 1)
    time = events.time[first]
    for row in range(begin, stop, NEGATION_FIELDS):
        fresh = NEVER
        for event in range(first, last):
            if events.code[event] == code and holds_bit(events, event, program[row + N_BIT]):
                fresh = time if program[row + N_STARTS] else NEVER
                for before in range(program[row + N_BEFORE], program[row + N_BEFORE_STOP]):
                    fresh = max(fresh, state.latest[get(program, AT_BEFORE, before)])
                break
        state.fresh[program[row + N_POSITION]] = max(fresh, state.latest[program[row + N_POSITION]])


@compiled_part
def negate_commit(program: Packed, state: Negations, code: int) -> None:
    """Commit what `negate` found; `fresh` then differs from `latest` where something is to be dropped."""
    for row in range(get(program, AT_NEGATION, code), get(program, AT_NEGATION, code + 1), NEGATION_FIELDS):
        position, pattern = program[row + N_POSITION], program[row + N_PATTERN]
        if state.fresh[position] == state.latest[position]:
            continue
        state.latest[position] = state.fresh[position]
        state.fresh[position] = NEVER
        if program[row + N_ENDS]:
            state.since[pattern] = max(state.since[pattern], state.latest[position])


@compiled_part
def drop(arena: Arena, base: int, program: Packed, state: Negations, opened: Any, code: int) -> None:
    """Matches that end now drop what waited since before they began, once all types of the time stamp are committed."""
    for row in range(get(program, AT_NEGATION, code), get(program, AT_NEGATION, code + 1), NEGATION_FIELDS):
        position, pattern = program[row + N_POSITION], program[row + N_PATTERN]
        if state.fresh[position] == state.latest[position]:
            continue
        state.fresh[position] = state.latest[position]
        for gap in range(get(program, AT_PATTERN_GAPS, pattern), get(program, AT_PATTERN_GAPS, pattern + 1)):
            _cut(arena, base, program, state, opened, program[gap])


@compiled_inline
def _cut(arena: Arena, base: int, program: Packed, state: Negations, opened: Any, gap: int) -> None:
    """Drop what waits at a gap since before its latest negated match began, and close starts behind it."""
    since = NEVER
    for pattern in range(get(program, AT_GAP_PATTERNS, gap), get(program, AT_GAP_PATTERNS, gap + 1)):
        since = max(since, state.since[program[pattern]])
    _cut_buckets(arena, base, program, state, gap, since)
    start, windows = (
        get(program, AT_GAP, gap * GAP_FIELDS + GAP_START),
        get(program, AT_GAP, gap * GAP_FIELDS + GAP_WINDOWS),
    )
    if start >= 0:
        for slot in range(get(program, AT_SLOTS, windows)):
            if opened[windows, slot] <= since:
                zero(arena, base + start + slot)


@compiled_inline
def _cut_buckets(arena: Arena, base: int, program: Packed, state: Negations, gap: int, since: int) -> None:
    """New buckets: one from `since` on, and one from every time at which a match that can go on has begun."""
    bounds, count = state.bounds, 1
    bounds[0] = since
    for position in range(get(program, AT_GAP_POSITIONS, gap), get(program, AT_GAP_POSITIONS, gap + 1)):
        begun = state.latest[program[position]]
        place = count
        while place > 0 and bounds[place - 1] > begun:
            place -= 1
        if place > 0 and bounds[place - 1] < begun:
            for later in range(count, place, -1):
                bounds[later] = bounds[later - 1]
            bounds[place] = begun
            count += 1
    first, last = get(program, AT_GAP_WAITS, gap), get(program, AT_GAP_WAITS, gap + 1)
    kept = -1
    for bucket in range(state.buckets[gap]):
        target = -1
        while target + 1 < count and bounds[target + 1] <= state.bound[gap, bucket]:
            target += 1
        for cell in range(first, last, CELL_FIELDS):
            source = base + program[cell + CELL] + bucket * program[cell + CELL_STRIDE]
            if target < 0:
                zero_vector(arena, source, program[cell + CELL_SLOTS])
            elif target != bucket:
                into = base + program[cell + CELL] + target * program[cell + CELL_STRIDE]
                if target != kept:
                    for slot in range(program[cell + CELL_SLOTS]):
                        copy(arena, into + slot, source + slot)
                else:
                    add_vector(arena, into, source, program[cell + CELL_SLOTS])
                zero_vector(arena, source, program[cell + CELL_SLOTS])
        kept = target
    state.buckets[gap] = count
    for bucket in range(count):
        state.bound[gap, bucket] = bounds[bucket]


@compiled_part
def forget(state: Negations) -> None:
    """A new partition: nothing has matched."""
    for position in range(state.latest.shape[0]):
        state.latest[position] = state.fresh[position] = NEVER
    for pattern in range(state.since.shape[0]):
        state.since[pattern] = NEVER
    for gap in range(state.buckets.shape[0]):
        state.buckets[gap] = 1
        state.bound[gap, 0] = NEVER
