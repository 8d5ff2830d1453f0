"""Negation in the event kernel: latest starts of negated patterns, and totals that wait at gaps (SEMANTICS 4).

A gap is clean for events at `since` or later. When `since` moves, what waits and is older is dropped: all of it
where matches are single events, else by a queue of two stacks (no subtraction, O(1) amortised).
"""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.automaton.conditions import holds
from hamlet_core.engines.hamlet.automaton.state import allocate
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import holds_bit, row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get, put
from hamlet_core.engines.hamlet.numbers.arenas import Arena
from hamlet_core.engines.hamlet.numbers.vectors import add_run, copy_run, zero_run
from hamlet_core.engines.hamlet.program.layout import (
    M_COUNTS,
    M_DIRTY,
    M_HISTORY_COUNT,
    M_HISTORY_EVENT,
    M_HISTORY_START,
    M_LATEST,
    M_LONGEST,
    M_QUEUE_ADDRESS,
    M_QUEUE_COUNT,
    M_QUEUE_FIRST,
    M_QUEUE_MIDDLE,
    M_QUEUE_TIME,
    M_SINCE,
    M_START,
    M_STARTED,
    M_STARTS,
    N_ENDS,
    N_FIELDS,
    N_FOLD,
    N_HISTORY,
    N_STARTS,
    NONE,
    P_BINDING,
    P_FOLD_GAPS,
    P_GAP_CODES,
    P_GAP_WAITS,
    P_INCOMING,
    P_POSITION,
    P_QUEUE,
    P_QUEUES,
    Q_CODE,
    Q_FIELDS,
    Q_TOTAL,
    Q_WIDTH,
)
from hamlet_core.predicates.pair_tables import PairTables


@compiled_part
def gather_starts(plan: Packed, memo: Packed, events: Events, pairs: PairTables, event: int) -> None:
    """How late matches of negated patterns that reach this event start, before the time stamp is committed."""
    binding = plan[P_BINDING] + events.code[event]
    for at in range(plan[binding], plan[binding + 1], 2):
        position = plan[at]
        if not holds_bit(events, event, plan[at + 1]):
            continue
        start = events.time[event] if get(plan, P_POSITION, position * N_FIELDS + N_STARTS) else NONE
        incoming = plan[P_INCOMING] + position
        for edge in range(plan[incoming], plan[incoming + 1], 3):
            start = _over(plan, memo, events, pairs, edge, event, start)
        if start != NONE:
            waiting = memo[M_START] + 3 * memo[M_STARTS]
            memo[waiting], memo[waiting + 1], memo[waiting + 2] = position, event, start
            memo[M_STARTS] += 1


@compiled_part
def _over(
    plan: Packed, memo: Packed, events: Events, pairs: PairTables, edge: int, event: int, least: int
) -> Any:
    """The latest start that comes over an edge, if it is later than `least`, else that."""
    source, gap, condition = plan[edge], plan[edge + 1], plan[edge + 2]
    most = get(memo, M_STARTED, source)
    if most <= least:
        return least
    if gap == 0 and condition < 0:
        return most
    history, row = get(plan, P_POSITION, source * N_FIELDS + N_HISTORY), row_of(events, event)
    since, latest, first = get(memo, M_SINCE, gap), least, history * memo[M_LONGEST]
    for place in range(get(memo, M_HISTORY_COUNT, history) - 1, -1, -1):
        earlier = get(memo, M_HISTORY_EVENT, first + place)
        if latest == most or events.time[earlier] < since:
            break
        start = get(memo, M_HISTORY_START, first + place)
        if start > latest and (condition < 0 or holds(pairs, condition, row_of(events, earlier), row)):
            latest = start
    return latest


@compiled_part
def commit_starts(arena: Arena, plan: Packed, memo: Packed) -> None:
    """Make the gathered starts known, and drop what they end."""
    for waiting in range(memo[M_START], memo[M_START] + 3 * memo[M_STARTS], 3):
        position, event, start = memo[waiting], memo[waiting + 1], memo[waiting + 2]
        about, started = plan[P_POSITION] + position * N_FIELDS, memo[M_STARTED] + position
        history, fold = plan[about + N_HISTORY], plan[about + N_FOLD]
        memo[started] = max(memo[started], start)
        if history >= 0:
            entry = get(memo, M_HISTORY_COUNT, history)
            put(memo, M_HISTORY_EVENT, history * memo[M_LONGEST] + entry, event)
            put(memo, M_HISTORY_START, history * memo[M_LONGEST] + entry, start)
            put(memo, M_HISTORY_COUNT, history, entry + 1)
        if plan[about + N_ENDS] and start > get(memo, M_LATEST, fold):
            put(memo, M_LATEST, fold, start)
            gaps = plan[P_FOLD_GAPS] + fold
            for at in range(plan[gaps], plan[gaps + 1]):
                _move(arena, plan, memo, plan[at], start)
    memo[M_STARTS] = 0


@compiled_part
def _move(arena: Arena, plan: Packed, memo: Packed, gap: int, since: int) -> None:
    """A gap is clean only from `since` on, or from where it was already known to be."""
    if since <= get(memo, M_SINCE, gap):
        return
    put(memo, M_SINCE, gap, since)
    codes, waits = plan[P_GAP_CODES] + gap, plan[P_GAP_WAITS] + gap
    for at in range(plan[codes], plan[codes + 1]):
        put(memo, M_DIRTY, plan[at], 1)
    for at in range(plan[waits], plan[waits + 1], 3):
        if plan[at + 2] < 0:
            zero_run(arena, plan[at], plan[at + 1])
        else:
            _drop(arena, plan, memo, plan[at + 2], since)


@compiled_part
def open_queues(plan: Packed, memo: Packed) -> None:
    """Give every queue its room: entries, the sum of those of its younger stack, sums from the back of the older."""
    for queue in range(plan[P_QUEUES]):
        about = plan[P_QUEUE] + queue * Q_FIELDS
        entries = get(memo, M_COUNTS, plan[about + Q_CODE])
        put(memo, M_QUEUE_ADDRESS, queue, allocate(memo, (2 * entries + 1) * plan[about + Q_WIDTH]))


@compiled_part
def _sums(plan: Packed, memo: Packed, queue: int) -> Any:
    """Where the sums of a queue begin; the sum of its younger stack stands before them."""
    about = plan[P_QUEUE] + queue * Q_FIELDS
    entries = get(memo, M_COUNTS, plan[about + Q_CODE])
    return get(memo, M_QUEUE_ADDRESS, queue) + (entries + 1) * plan[about + Q_WIDTH]


@compiled_part
def push(arena: Arena, plan: Packed, memo: Packed, queue: int, time: int, source: int) -> None:
    """An element at `source` begins to wait; the total that waits has it already."""
    width, entry = get(plan, P_QUEUE, queue * Q_FIELDS + Q_WIDTH), get(memo, M_QUEUE_COUNT, queue)
    young = _sums(plan, memo, queue) - width
    if entry == get(memo, M_QUEUE_MIDDLE, queue):
        zero_run(arena, young, width)
    copy_run(arena, get(memo, M_QUEUE_ADDRESS, queue) + entry * width, source, width)
    add_run(arena, young, source, width)
    put(memo, M_QUEUE_TIME, queue * memo[M_LONGEST] + entry, time)
    put(memo, M_QUEUE_COUNT, queue, entry + 1)


@compiled_part
def _drop(arena: Arena, plan: Packed, memo: Packed, queue: int, since: int) -> None:
    """Forget what is older than `since`, and make the total again."""
    about, times = plan[P_QUEUE] + queue * Q_FIELDS, memo[M_QUEUE_TIME] + queue * memo[M_LONGEST]
    width, total, sums = plan[about + Q_WIDTH], plan[about + Q_TOTAL], _sums(plan, memo, queue)
    first, middle = get(memo, M_QUEUE_FIRST, queue), get(memo, M_QUEUE_MIDDLE, queue)
    entries, end = get(memo, M_QUEUE_ADDRESS, queue), get(memo, M_QUEUE_COUNT, queue)
    while first < middle and memo[times + first] < since:
        first += 1
    if first == middle and middle < end and memo[times + middle] < since:
        while first < end and memo[times + first] < since:
            first += 1
        for entry in range(end - 1, first - 1, -1):
            copy_run(arena, sums + entry * width, entries + entry * width, width)
            if entry + 1 < end:
                add_run(arena, sums + entry * width, sums + (entry + 1) * width, width)
        middle = end
    zero_run(arena, total, width)
    if first < middle:
        add_run(arena, total, sums + first * width, width)
    if middle < end:
        add_run(arena, total, sums - width, width)
    put(memo, M_QUEUE_FIRST, queue, first)
    put(memo, M_QUEUE_MIDDLE, queue, middle)
