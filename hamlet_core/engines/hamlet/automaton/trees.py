"""Pair classes: the events of one type, kept so that the total of those that may precede an event is at hand.

One comparison of keys: a tree of partial sums over the ranks of the left keys of the window (Fenwick 1994), O(log n);
lanes of all queries with the same comparison lie side by side in its nodes. Anything else: a scan of older events.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.automaton.conditions import holds
from hamlet_core.engines.hamlet.automaton.state import allocate
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get, put
from hamlet_core.engines.hamlet.numbers.arenas import Arena
from hamlet_core.engines.hamlet.numbers.vectors import add_leaves, add_run, add_to_leaf, copy_run, zero_run
from hamlet_core.engines.hamlet.program.layout import (
    C_CODE,
    C_CONDITION,
    C_FIELDS,
    C_GAP,
    C_GROUP,
    C_KIND,
    C_LANES,
    C_LEFT,
    C_RIGHT,
    M_BUCKETS,
    M_CLASS_ADDRESS,
    M_CLASS_RANK,
    M_CLASS_SIZE,
    M_COUNTS,
    M_LINE,
    M_LONGEST,
    M_ORDER,
    M_RANK,
    M_SINCE,
    M_SORTING,
    NONE,
    P_ASKED_RUN,
    P_CLASS,
    P_CLASSES,
    P_FED_RUN,
)
from hamlet_core.predicates.pair_tables import PairTables

EQUAL, LESS, AT_MOST, GREATER, AT_LEAST = 0, 2, 3, 4, 5
_SHORT = 32
"""So many keys are sorted by insertion."""
_DIGIT, _UPPER, _MOVES = 11, 2, 2
"""Bits of a digit, digits that tell most keys apart, and moves per key that set the others right."""

_unsigned: Any = np.uint64


@compiled_part
def plant(
    arena: Arena, plan: Packed, memo: Packed, events: Events, pairs: PairTables, first: int, last: int
) -> None:
    """Make every class empty, for the window `first:last`."""
    for number in range(plan[P_CLASSES]):
        kept = plan[P_CLASS] + number * C_FIELDS
        lanes, line = plan[kept + C_LANES], memo[M_LINE] + number * memo[M_LONGEST]
        size, address = 0, allocate(memo, get(memo, M_COUNTS, plan[kept + C_CODE]) * lanes)
        ranks = memo[M_RANK] + number * memo[M_LONGEST] - first
        if plan[kept + C_KIND] >= 0:
            size, low, high = _left_keys(plan, memo, events, pairs, kept, line, first, last)
            size = _sorted(memo, line, size, low, high, ranks)
            if plan[kept + C_GROUP] < 0:
                zero_run(arena, address, size * lanes)
        put(memo, M_CLASS_SIZE, number, size)
        put(memo, M_CLASS_ADDRESS, number, address)
        put(memo, M_CLASS_RANK, number, ranks)


@compiled_part
def _left_keys(
    plan: Packed, memo: Packed, events: Events, pairs: PairTables, kept: int, line: int, first: int, last: int
) -> tuple[Any, Any, Any]:
    """Put the keys of the window's events of a class in line, and the events in order.

    (how many there are, the least, the largest)
    """
    column, code, size = plan[kept + C_LEFT], plan[kept + C_CODE], 0
    keys, order = memo[line : line + last - first], memo[memo[M_ORDER] : memo[M_ORDER] + last - first]
    integers, valid = pairs.integers[column], pairs.integer_valid[column]
    low, high = ~NONE, NONE
    for event in range(first, last):
        if events.code[_unsigned(event)] == code:
            row = _unsigned(row_of(events, _unsigned(event)))
            if valid[row]:
                key = integers[row]
                keys[_unsigned(size)], order[_unsigned(size)] = key, event
                low, high = min(low, key), max(high, key)
                size += 1
    return size, low, high


@compiled_part
def _sorted(memo: Packed, line: int, size: int, low: int, high: int, ranks: int) -> int:
    """Sort the keys of a line and keep one of each; how many are left. The rank of an event's key goes to `ranks`."""
    if size > _SHORT:
        _sort_by_digits(memo, line, size, low, high)
    else:
        _sort_few(memo, line, size, size * size)
    different: Any = 0
    keys, order = memo[line : line + size], memo[memo[M_ORDER] : memo[M_ORDER] + size]
    for place in range(size):
        key = keys[place]
        if different == 0 or keys[_unsigned(different - 1)] != key:
            keys[_unsigned(different)] = key
            different += 1
        memo[_unsigned(ranks + order[place])] = different - 1
    return different  # type: ignore[no-any-return]


@compiled_part
def _sort_few(memo: Packed, line: int, size: int, moves: int) -> bool:
    """Sort by insertion, in place; whether so many moves were enough."""
    keys, order = memo[line : line + size], memo[memo[M_ORDER] : memo[M_ORDER] + size]
    for place in range(1, size):
        key, free = keys[place], place
        if keys[_unsigned(place - 1)] <= key:
            continue
        event = order[place]
        while free > 0 and keys[_unsigned(free - 1)] > key:
            keys[_unsigned(free)], order[_unsigned(free)] = (
                keys[_unsigned(free - 1)],
                order[_unsigned(free - 1)],
            )
            free -= 1
        keys[_unsigned(free)], order[_unsigned(free)] = key, event
        moves -= place - free
        if moves < 0:
            return False
    return True


@compiled_part
def _sort_by_digits(memo: Packed, line: int, size: int, low: int, high: int) -> None:
    """Sort by the upper digits of the range of keys, then by insertion; by all digits where that is not enough."""
    span, bits = np.uint64(high) - np.uint64(low), 0
    while bits < 64 and span >> np.uint64(bits) > 0:
        bits += 1
    shift = max(bits - _UPPER * _DIGIT, 0)
    _sort_from(memo, line, size, low, shift, bits)
    if shift > 0 and not _sort_few(memo, line, size, _MOVES * size):
        _sort_from(memo, line, size, low, 0, bits)


@compiled_part
def _sort_from(memo: Packed, line: int, size: int, low: int, shift: int, bits: int) -> None:
    """Sort by the digits of `key - low` from a bit on, lowest first."""
    source, target = memo[line : line + size], memo[memo[M_SORTING] : memo[M_SORTING] + size]
    order = memo[memo[M_ORDER] : memo[M_ORDER] + size]
    reordered = memo[memo[M_ORDER] + memo[M_LONGEST] : memo[M_ORDER] + memo[M_LONGEST] + size]
    buckets = memo[memo[M_BUCKETS] : memo[M_BUCKETS] + (1 << _DIGIT)]
    base, rest, passes = np.uint64(low), np.uint64((1 << _DIGIT) - 1), 0
    for first in range(shift, bits, _DIGIT):
        by = np.uint64(first)
        for bucket in range(1 << _DIGIT):
            buckets[bucket] = 0
        for place in range(size):
            buckets[((np.uint64(source[place]) - base) >> by) & rest] += 1
        free = 0
        for bucket in range(1 << _DIGIT):
            keys = buckets[bucket]
            buckets[bucket] = free
            free += keys
        for place in range(size):
            key = source[place]
            digit = ((np.uint64(key) - base) >> by) & rest
            free = buckets[digit]
            target[_unsigned(free)], reordered[_unsigned(free)] = key, order[place]
            buckets[digit] = free + 1
        source, target = target, source
        order, reordered = reordered, order
        passes += 1
    if passes & 1:
        for place in range(size):
            target[place], reordered[place] = source[place], order[place]


@compiled_part
def _below(memo: Packed, line: int, size: int, key: int) -> int:
    """How many keys of a line are less than `key`."""
    low: Any = line
    left: Any = size
    while left > 0:
        half = left >> 1
        under = np.int64(memo[low + half] < key)  # no branch: nothing could foresee it
        low += under * (half + 1)
        left = half + under * (left - 2 * half - 1)
    return low - line  # type: ignore[no-any-return]


@compiled_part
def _reach(kind: int, size: int, below: int, found: int) -> int:
    """How many leaves of a tree an event may follow, from its beginning; `below` keys are less, `found` is equal."""
    if kind == LESS:
        return below
    if kind == AT_MOST:
        return below + found
    if kind == GREATER:
        return size - below - found
    return size - below


@compiled_inline
def reach_of(plan: Packed, memo: Packed, events: Events, pairs: PairTables, number: int, event: int) -> Any:
    """How many leaves of the tree of a class an event may follow, or for equality the one leaf, from 1 on; 0: none."""
    kept = plan[P_CLASS] + number * C_FIELDS
    right, row = plan[kept + C_RIGHT], row_of(events, event)
    if not pairs.integer_valid[right, row]:
        return 0
    size = get(memo, M_CLASS_SIZE, number)
    if right == plan[kept + C_LEFT] and events.code[event] == plan[kept + C_CODE]:
        place, found = memo[get(memo, M_CLASS_RANK, number) + event], 1
    else:
        key, line = pairs.integers[right, row], memo[M_LINE] + number * memo[M_LONGEST]
        place = _below(memo, line, size, key)
        found = 1 if place < size and memo[line + place] == key else 0
    if plan[kept + C_KIND] == EQUAL:
        return (place + 1) * found
    return _reach(plan[kept + C_KIND], size, place, found)


@compiled_inline
def leaf_of(plan: Packed, memo: Packed, events: Events, pairs: PairTables, number: int, event: int) -> int:
    """The leaf of an event in the tree of a class that keeps it, from 1 on; 0: its key is NULL."""
    kept = plan[P_CLASS] + number * C_FIELDS
    if not pairs.integer_valid[plan[kept + C_LEFT], row_of(events, event)]:
        return 0
    place = memo[get(memo, M_CLASS_RANK, number) + event]
    if plan[kept + C_KIND] in (GREATER, AT_LEAST):
        return get(memo, M_CLASS_SIZE, number) - place  # type: ignore[no-any-return]
    return place + 1  # type: ignore[no-any-return]


@compiled_inline
def ask(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    asked: int,
    event: int,
    slot: int,
) -> None:
    """Add to the block at `slot` what may precede the event, of the class that the plan names at `asked`."""
    number = plan[asked]
    kept = plan[P_CLASS] + number * C_FIELDS
    if plan[kept + C_KIND] < 0:
        _scan(arena, plan, memo, events, pairs, asked, event, slot)
        return
    leaves = reach_of(plan, memo, events, pairs, number, event)
    address, lanes, runs = get(memo, M_CLASS_ADDRESS, number), plan[kept + C_LANES], plan[P_ASKED_RUN]
    if leaves == 0:
        return
    if plan[kept + C_KIND] == EQUAL:
        _add_to_block(arena, plan, asked, address + (leaves - 1) * lanes, slot)
        return
    for run in range(runs + 3 * plan[asked + 1], runs + 3 * plan[asked + 2], 3):
        add_leaves(arena, slot + plan[run + 1], address + plan[run], plan[run + 2], lanes, leaves)


@compiled_inline
def _add_to_block(arena: Arena, plan: Packed, asked: int, node: int, slot: int) -> None:
    runs = plan[P_ASKED_RUN]
    for run in range(runs + 3 * plan[asked + 1], runs + 3 * plan[asked + 2], 3):
        add_run(arena, slot + plan[run + 1], node + plan[run], plan[run + 2])


@compiled_part
def _scan(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    asked: int,
    event: int,
    slot: int,
) -> None:
    number = plan[asked]
    kept = plan[P_CLASS] + number * C_FIELDS
    condition, lanes = plan[kept + C_CONDITION], plan[kept + C_LANES]
    since, row = get(memo, M_SINCE, plan[kept + C_GAP]), row_of(events, event)
    line, address = memo[M_LINE] + number * memo[M_LONGEST], get(memo, M_CLASS_ADDRESS, number)
    for place in range(get(memo, M_CLASS_SIZE, number) - 1, -1, -1):
        earlier = memo[line + place]
        if events.time[earlier] < since:
            break
        if holds(pairs, condition, row_of(events, earlier), row):
            _add_to_block(arena, plan, asked, address + place * lanes, slot)


@compiled_inline
def feed(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    fed: int,
    event: int,
    slot: int,
) -> None:
    """Keep an event, whose block is at `slot`, in the class that the plan names at `fed`."""
    number = plan[fed]
    kept = plan[P_CLASS] + number * C_FIELDS
    kind, lanes = plan[kept + C_KIND], plan[kept + C_LANES]
    size, address = get(memo, M_CLASS_SIZE, number), get(memo, M_CLASS_ADDRESS, number)
    if kind < 0:
        line, runs = memo[M_LINE] + number * memo[M_LONGEST], plan[P_FED_RUN]
        for run in range(runs + 3 * plan[fed + 1], runs + 3 * plan[fed + 2], 3):
            copy_run(arena, address + size * lanes + plan[run], slot + plan[run + 1], plan[run + 2])
        memo[line + size] = event
        put(memo, M_CLASS_SIZE, number, size + 1)
        return
    leaf, runs = leaf_of(plan, memo, events, pairs, number, event), plan[P_FED_RUN]
    if leaf == 0:
        return
    if kind == EQUAL:
        _add_to_node(arena, plan, fed, address + (leaf - 1) * lanes, slot)
        return
    for run in range(runs + 3 * plan[fed + 1], runs + 3 * plan[fed + 2], 3):
        add_to_leaf(arena, address + plan[run], slot + plan[run + 1], plan[run + 2], lanes, leaf, size)


@compiled_inline
def _add_to_node(arena: Arena, plan: Packed, fed: int, node: int, slot: int) -> None:
    runs = plan[P_FED_RUN]
    for run in range(runs + 3 * plan[fed + 1], runs + 3 * plan[fed + 2], 3):
        add_run(arena, node + plan[run], slot + plan[run + 1], plan[run + 2])
