"""Runs of events of one type: those that leave what waits as it is are passed over, those that only begin trends are counted,
and what they prolong goes on in its place where it is alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import holds_bit, row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline
from hamlet_core.engines.hamlet.prefixes.lanes.ending import end, gather
from hamlet_core.engines.hamlet.prefixes.lanes.singles import most_taken, order_key, sink
from hamlet_core.engines.hamlet.prefixes.lanes.tables import HEAP, Fold, Singles
from hamlet_core.engines.hamlet.prefixes.lanes.waiting import expire
from hamlet_core.predicates.pair_tables import Operation

ONE, BLOCK = np.uint64(1), np.uint64(16)
"""Events that are looked at in one step, in vector registers."""


@compiled_inline
def pass_over(fold: Fold, singles: Singles | None, event: int, last: int, base: int) -> Any:
    """The first event, from one of a new time stamp on, that has to be looked at by itself; `last` if there is none.

    -1 if a number is too large; `base` is the first time of the window.
    """
    steps, places, code = fold.steps, fold.places, fold.events.code[event] + 1
    beginning, live, found, at = False, 0, 0, 0
    for place in range(steps.code_first[code], steps.code_first[code + 1]):
        step = steps.code_step[place]
        if steps.start[step]:
            if not steps.counted[step] or steps.bit[step] >= 0:
                return event
            beginning = True
        stop = steps.edge_first[step + 1] if places.count[1] else steps.edge_pile[step]
        for edge in range(steps.edge_first[step], stop):
            if _may_follow(fold, singles, edge):
                live, found, at = live + 1, edge, step
    if not live and beginning:
        return _begin_run(fold, singles, event, last)
    if beginning or live > 1 or (steps.contiguous and places.count[0]):
        return event
    if not live:
        return _end_of_run(fold.events, code - 1, event, last)
    if singles is None:
        return event
    return _along_heap(fold, singles, found, at, event, last, base)


@compiled_inline
def _may_follow(fold: Fold, singles: Singles | None, edge: int) -> bool:
    """Whether something waits at the source of an edge, in lanes that have it."""
    steps, places, source = fold.steps, fold.places, fold.steps.edge_source[edge]
    lanes = fold.waiting.alive[source]
    if singles is not None:
        lanes |= singles.lanes[source]
    if places.begun[source]:
        lanes |= steps.start[source]
    return bool(lanes & steps.edge_lanes[edge])


@compiled_inline
def _end_of_run(events: Events, code: int, event: int, last: int) -> Any:
    """Where the events of one type end."""
    place, stop = np.uint64(event), np.uint64(last)
    while place + BLOCK <= stop:
        different = np.int32(0)
        for one in range(BLOCK):
            different |= events.code[place + one] ^ code
        if different:
            break
        place += BLOCK
    while place < stop and events.code[place] == code:
        place += ONE
    return np.int64(place)


@compiled_inline
def _begin_run(fold: Fold, singles: Singles | None, event: int, last: int) -> Any:
    """Count the trends that events of one type begin.

    Up to the last time stamp of the run, if that may be the time of others, too, or what begins then waits for the next; under
    contiguous up to the one before, if it is both.
    """
    steps, places, events = fold.steps, fold.places, fold.events
    stop = _end_of_run(events, events.code[event], event, last)
    if steps.contiguous or fold.tied:
        stop -= 1
    while fold.tied and stop > event and events.time[stop - 1] == events.time[stop]:
        stop -= 1
    if steps.contiguous and fold.tied and stop > event:
        stop -= 1  # others at the last time stamp may take what begins at the one before
        while stop > event and events.time[stop - 1] == events.time[stop]:
            stop -= 1
    if stop == event:
        return event
    if steps.contiguous:
        expire(fold, singles)
    code = events.code[event] + 1
    for place in range(steps.code_first[code], steps.code_first[code + 1]):
        step = steps.code_step[place]
        if not steps.start[step]:
            continue
        fold.trends.reached[step] |= steps.start[step]
        if not steps.contiguous:
            places.count[1] += not fold.waiting.alive[step] and not places.begun[step]
            places.begun[step] += stop - event
    return stop


@compiled_inline
def _along_heap(fold: Fold, singles: Singles, edge: int, step: int, event: int, last: int, base: int) -> Any:
    """`pass_over` where what may prolong something is one edge to a step."""
    steps, source, code = fold.steps, fold.steps.edge_source[edge], fold.events.code[event]
    if steps.kind[source] != HEAP or steps.edge_condition[edge] < 0:
        return event
    event = _until_taken(fold, singles, edge, code, event, last)
    if step != source or steps.keeping or fold.tied:
        return event
    while event < last and fold.events.code[event] == code and _is_alone(fold, singles, edge, event):
        if not _go_on(fold, singles, step, event, base):
            return np.int64(-1)
        event = _until_taken(fold, singles, edge, code, event + 1, last)
    return event


@compiled_inline
def _until_taken(fold: Fold, singles: Singles, edge: int, code: int, event: int, last: int) -> Any:
    """The first event of the run that takes what is the first to be taken from a heap."""
    waiting, pairs, events = fold.waiting, fold.pairs, fold.events
    top = singles.slot[fold.steps.edge_source[edge], 0]
    if not waiting.known[top]:
        return _end_of_run(events, code, event, last)
    at = pairs.starts[fold.steps.edge_condition[edge]]
    flipped = -1 if fold.steps.falling[fold.steps.edge_source[edge]] else 0
    below = waiting.key[top]
    if pairs.code[at, 0] in (Operation.REQUIRE_AT_MOST, Operation.REQUIRE_AT_LEAST):
        if below == -(2**63):
            return event
        below -= 1
    keys, known = pairs.integers[pairs.code[at, 2]], pairs.integer_valid[pairs.code[at, 2]]
    place, stop = np.uint64(event), np.uint64(last)
    while not events.row.shape[0] and place + BLOCK <= stop:
        different, most = np.int32(0), below
        for one in range(BLOCK):
            different |= events.code[place + one] ^ code
            most = max(most, keys[place + one] ^ flipped)
        if different or most > below:
            break
        place += BLOCK
    while place < stop and events.code[place] == code:
        row = place if not events.row.shape[0] else np.uint64(events.row[place])
        if keys[row] ^ flipped > below and known[row]:
            break
        place += ONE
    return np.int64(place)


@compiled_inline
def _is_alone(fold: Fold, singles: Singles, edge: int, event: int) -> bool:
    """Whether an event takes from a heap its first prefix, and no other.

    In all its lanes: what takes a step's prefixes under a condition is the same in each, and no other edge has any that wait.
    """
    steps, waiting = fold.steps, fold.waiting
    source, row = steps.edge_source[edge], row_of(fold.events, event)
    top = singles.slot[source, 0]
    if not holds_bit(fold.events, event, steps.bit[source]):
        return False
    most, known = most_taken(fold, edge, row)
    if not known or not waiting.known[top] or waiting.key[top] > most:
        return False
    for place in range(1, min(3, singles.size[source])):
        below = singles.slot[source, place]
        if waiting.known[below] and waiting.key[below] <= most:
            return False
    return True


@compiled_inline
def _go_on(fold: Fold, singles: Singles, step: int, event: int, base: int) -> bool:
    """Let an event prolong the first prefix of its own step's heap; False where a number is too large."""
    waiting, row, top = fold.waiting, row_of(fold.events, event), singles.slot[step, 0]
    waiting.row[top] = row
    waiting.key[top], waiting.known[top] = order_key(fold, step, row)
    sink(singles, waiting, step, 0)
    return bool(gather(fold, waiting, top, step, row) and end(fold, waiting, top, step, event, base))
