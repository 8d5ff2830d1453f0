"""Ambiguous accumulators: sequences of events are counted once, in the set of positions their last event may stand in.

A standing is an event (or, merged, all events so far) with such a set, and an element per member. Where a step
depends on the pair of events (conditions, gaps) every standing is kept and scanned.
"""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.automaton.conditions import holds
from hamlet_core.engines.hamlet.automaton.state import allocate
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import holds_bit, row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get, put
from hamlet_core.engines.hamlet.numbers.arenas import Arena, Values
from hamlet_core.engines.hamlet.numbers.semiring import add_product, load, multiply, one
from hamlet_core.engines.hamlet.numbers.vectors import add_run, copy_run, zero_run
from hamlet_core.engines.hamlet.program.layout import (
    A_FIELDS,
    A_FIRST,
    A_KEEPS,
    A_SCANS,
    A_WIDTH,
    M_HEAD,
    M_HIGH,
    M_KEPT,
    M_LOW,
    M_MASK,
    M_NEWEST,
    M_PENDING,
    M_ROOM,
    M_SHORT,
    M_SINCE,
    M_STANDING,
    M_STANDINGS,
    M_WAY_POSITION,
    M_WAY_SOURCE,
    NONE,
    P_SET,
    P_SET_BINDING,
    P_SET_EFFECTS,
    P_SET_INCOMING,
    P_SET_POSITION,
    P_SET_POSITIONS,
    P_SETS,
    P_VALUE,
    P_WORDS,
    T_ADDRESS,
    T_FIELDS,
    T_MEMBERS,
    T_NEXT,
    T_ROW,
    T_SET,
    T_TIME,
    WORD_REST,
    WORD_SHIFT,
    X_END,
    X_FIELDS,
    X_SIDE,
    X_START,
)
from hamlet_core.predicates.pair_tables import PairTables

MERGED, SINGLE = 0, 1
"""Lists of an accumulator's standings, at `M_HEAD`."""


@compiled_part
def _at(memo: Packed, standing: int) -> Any:
    """Where the fields of a standing begin."""
    return memo[M_STANDING] + standing * T_FIELDS


@compiled_part
def _contains(plan: Packed, memo: Packed, standing: int, position: int) -> bool:
    word = get(memo, M_MASK, standing * plan[P_WORDS] + (position >> WORD_SHIFT))
    return bool((word >> (position & WORD_REST)) & 1)


@compiled_part
def _rank(plan: Packed, memo: Packed, standing: int, position: int) -> int:
    """How many members stand before a position."""
    rank = 0
    for before in range(position):
        rank += 1 if _contains(plan, memo, standing, before) else 0
    return rank


@compiled_part
def _equal(plan: Packed, memo: Packed, left: int, right: int) -> bool:
    """Whether two standings of one accumulator have the same set."""
    words = plan[P_WORDS]
    for word in range(words):
        if get(memo, M_MASK, left * words + word) != get(memo, M_MASK, right * words + word):
            return False
    return True


@compiled_part
def _positions(plan: Packed, owner: int) -> Any:
    """How many positions an accumulator has."""
    first = get(plan, P_SET, owner * A_FIELDS + A_FIRST)
    if owner + 1 < plan[P_SETS]:
        return get(plan, P_SET, (owner + 1) * A_FIELDS + A_FIRST) - first
    return plan[P_SET_POSITIONS] - first


@compiled_part
def gather_standings(
    arena: Arena, plan: Packed, values: Values, memo: Packed, events: Events, pairs: PairTables, event: int
) -> None:
    """The standings that end in this event, before the time stamp is committed; they wait at the end of the room."""
    binding = plan[P_SET_BINDING] + events.code[event]
    at, stop = plan[binding], plan[binding + 1]
    while at < stop:
        begin, bound = at, False
        while at < stop and plan[at] == plan[begin]:
            bound = bound or holds_bit(events, event, plan[at + 2])
            at += 3
        if bound:
            memo[M_NEWEST] = memo[M_PENDING]
            _begin(arena, plan, memo, events, event, begin, at)
            _continue(arena, plan, memo, events, pairs, event, begin, at)
            if memo[M_SHORT]:
                return
            for standing in range(memo[M_PENDING], memo[M_NEWEST]):
                _bind(arena, plan, values, memo, standing)


@compiled_part
def _begin(
    arena: Arena, plan: Packed, memo: Packed, events: Events, event: int, begin: int, stop: int
) -> None:
    """Trends that start with this event."""
    owner, members = plan[begin], 0
    about = plan[P_SET] + owner * A_FIELDS
    for at in range(begin, stop, 3):
        gap = get(plan, P_SET_POSITION, (plan[about + A_FIRST] + plan[at + 1]) * X_FIELDS + X_START)
        if gap >= 0 and get(memo, M_SINCE, gap) == NONE and holds_bit(events, event, plan[at + 2]):
            put(memo, M_WAY_POSITION, members, plan[at + 1])
            members += 1
    if members > 0:
        standing = _pending(arena, plan, memo, events, event, owner, members)
        if standing >= 0:
            for member in range(members):
                one(arena, memo[_at(memo, standing) + T_ADDRESS] + member * plan[about + A_WIDTH])


@compiled_part
def _continue(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    event: int,
    begin: int,
    stop: int,
) -> None:
    """Trends that go on with this event, from every older standing."""
    owner = plan[begin]
    about = plan[P_SET] + owner * A_FIELDS
    width = plan[about + A_WIDTH]
    before = get(memo, M_HEAD, 2 * owner + (SINGLE if plan[about + A_SCANS] else MERGED))
    while before >= 0:
        members = 0
        for at in range(begin, stop, 3):
            if holds_bit(events, event, plan[at + 2]):
                place = plan[about + A_FIRST] + plan[at + 1]
                source = _way(plan, memo, pairs, before, place, row_of(events, event))
                if source >= 0:
                    put(memo, M_WAY_POSITION, members, plan[at + 1])
                    put(memo, M_WAY_SOURCE, members, source)
                    members += 1
        if members > 0:
            standing = _pending(arena, plan, memo, events, event, owner, members)
            if standing < 0:
                return
            source = memo[_at(memo, before) + T_ADDRESS]
            target = memo[_at(memo, standing) + T_ADDRESS]
            for member in range(members):
                rank = _rank(plan, memo, before, get(memo, M_WAY_SOURCE, member))
                add_run(arena, target + member * width, source + rank * width, width)
        before = memo[_at(memo, before) + T_NEXT]


@compiled_part
def _way(plan: Packed, memo: Packed, pairs: PairTables, before: int, place: int, row: int) -> Any:
    """One position of an older standing from which an event may follow at a place of all positions, or -1."""
    incoming, earlier = plan[P_SET_INCOMING] + place, _at(memo, before)
    for edge in range(plan[incoming], plan[incoming + 1], 3):
        source, gap, condition = plan[edge], plan[edge + 1], plan[edge + 2]
        if not _contains(plan, memo, before, source) or memo[earlier + T_TIME] < get(memo, M_SINCE, gap):
            continue
        if condition < 0 or holds(pairs, condition, memo[earlier + T_ROW], row):
            return source
    return -1


@compiled_part
def _pending(
    arena: Arena, plan: Packed, memo: Packed, events: Events, event: int, owner: int, members: int
) -> Any:
    """The standing of the event in the set of the way positions: one it has already, or a new one that is 0."""
    made, words = memo[M_PENDING] - 1, plan[P_WORDS]
    size = members * get(plan, P_SET, owner * A_FIELDS + A_WIDTH)
    address = memo[M_HIGH] - size
    if made < memo[M_KEPT] or address < memo[M_LOW]:
        memo[M_SHORT] = 1
        return -1
    mask = memo[M_MASK] + made * words
    for word in range(words):
        memo[mask + word] = 0
    for member in range(members):
        position = get(memo, M_WAY_POSITION, member)
        memo[mask + (position >> WORD_SHIFT)] |= 1 << (position & WORD_REST)
    for known in range(made + 1, memo[M_NEWEST]):
        if _equal(plan, memo, known, made):
            return known
    memo[M_PENDING], memo[M_HIGH] = made, address
    zero_run(arena, address, size)
    at = _at(memo, made)
    memo[at + T_SET], memo[at + T_TIME], memo[at + T_ROW] = owner, events.time[event], row_of(events, event)
    memo[at + T_ADDRESS], memo[at + T_MEMBERS], memo[at + T_NEXT] = address, members, -1
    return made


@compiled_part
def _bind(arena: Arena, plan: Packed, values: Values, memo: Packed, standing: int) -> None:
    """What the event adds to the trends that took it."""
    at, member = _at(memo, standing), 0
    about = plan[P_SET] + memo[at + T_SET] * A_FIELDS
    for position in range(_positions(plan, memo[at + T_SET])):
        if not _contains(plan, memo, standing, position):
            continue
        element = memo[at + T_ADDRESS] + member * plan[about + A_WIDTH]
        effects = plan[P_SET_EFFECTS] + plan[about + A_FIRST] + position
        for effect in range(plan[effects], plan[effects + 1], 2):
            load(arena, plan[P_VALUE], values, plan[effect + 1], memo[at + T_ROW])
            if plan[effect] == 0:
                multiply(arena, element, plan[P_VALUE])
            else:
                add_product(arena, element + plan[effect], element, plan[P_VALUE])
        member += 1


@compiled_part
def commit_standings(arena: Arena, plan: Packed, memo: Packed) -> None:
    """Keep what waits, or merge it with equal sets; its room is free again."""
    for standing in range(memo[M_STANDINGS] - 1, memo[M_PENDING] - 1, -1):
        at = _at(memo, standing)
        owner = memo[at + T_SET]
        about = plan[P_SET] + owner * A_FIELDS
        if plan[about + A_KEEPS]:
            _keep(arena, plan, memo, standing, memo[M_HEAD] + 2 * owner + SINGLE)
        if not plan[about + A_SCANS]:
            known = get(memo, M_HEAD, 2 * owner + MERGED)
            while known >= 0 and not _equal(plan, memo, known, standing):
                known = memo[_at(memo, known) + T_NEXT]
            if known >= 0:
                size = memo[at + T_MEMBERS] * plan[about + A_WIDTH]
                add_run(arena, memo[_at(memo, known) + T_ADDRESS], memo[at + T_ADDRESS], size)
            else:
                _keep(arena, plan, memo, standing, memo[M_HEAD] + 2 * owner + MERGED)
        if memo[M_SHORT]:
            return
    memo[M_PENDING], memo[M_HIGH] = memo[M_STANDINGS], memo[M_ROOM]


@compiled_part
def _keep(arena: Arena, plan: Packed, memo: Packed, standing: int, head: int) -> None:
    """Put a copy of a standing in a list."""
    at, kept = _at(memo, standing), memo[M_KEPT]
    size = memo[at + T_MEMBERS] * get(plan, P_SET, memo[at + T_SET] * A_FIELDS + A_WIDTH)
    address = allocate(memo, size)
    if kept >= memo[M_PENDING]:
        memo[M_SHORT] = 1
    if memo[M_SHORT]:
        return
    copy_run(arena, address, memo[at + T_ADDRESS], size)
    copied, words = _at(memo, kept), plan[P_WORDS]
    for place in range(T_FIELDS):
        memo[copied + place] = memo[at + place]
    for word in range(words):
        put(memo, M_MASK, kept * words + word, get(memo, M_MASK, standing * words + word))
    memo[copied + T_ADDRESS], memo[copied + T_NEXT] = address, memo[head]
    memo[head] = kept
    memo[M_KEPT] = kept + 1


@compiled_part
def finish_standings(
    arena: Arena, plan: Packed, memo: Packed, owner: int, address: int, by_side: bool
) -> None:
    """Add up the trends that are complete: elements at `address`; by side, three counts."""
    about = plan[P_SET] + owner * A_FIELDS
    width = plan[about + A_WIDTH]
    standing = get(memo, M_HEAD, 2 * owner + (SINGLE if plan[about + A_KEEPS] else MERGED))
    while standing >= 0:
        at, member, sides, element = _at(memo, standing), 0, 0, -1
        for position in range(_positions(plan, owner)):
            if not _contains(plan, memo, standing, position):
                continue
            place = plan[P_SET_POSITION] + (plan[about + A_FIRST] + position) * X_FIELDS
            gap = plan[place + X_END]
            if gap >= 0 and memo[at + T_TIME] >= get(memo, M_SINCE, gap):
                sides |= 1 << plan[place + X_SIDE]
                if element < 0:
                    element = memo[at + T_ADDRESS] + member * width
            member += 1
        if sides > 0:
            add_run(arena, address + (sides - 1 if by_side else 0), element, 1 if by_side else width)
        standing = memo[at + T_NEXT]
