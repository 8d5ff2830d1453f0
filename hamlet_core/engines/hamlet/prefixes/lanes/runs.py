"""Runs of events of one type: those that leave what waits as it is are passed over, and those that only begin trends are counted."""

from __future__ import annotations

from hamlet_core.engines.hamlet.automaton.condition_arithmetic import compared
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline
from hamlet_core.engines.hamlet.prefixes.lanes.tables import HEAP, PILE, Fold
from hamlet_core.engines.hamlet.prefixes.lanes.waiting import expire


@compiled_inline
def pass_over(fold: Fold, event: int, last: int) -> int:
    """The first event, from one of a new time stamp on, that has to be looked at by itself; `last` if there is none.

    The event before it has the same type: if such events took what they begin, some of that would wait now.
    """
    steps, places, code = fold.steps, fold.places, fold.events.code[event] + 1
    beginning, live, found = False, 0, 0
    for place in range(steps.code_first[code], steps.code_first[code + 1]):
        step = steps.code_step[place]
        if steps.start[step]:
            if not steps.counted[step] or steps.bit[step] >= 0:
                return event
            beginning = True
        stop = steps.edge_first[step + 1] if places.count[3] else steps.edge_pile[step]
        for edge in range(steps.edge_first[step], stop):
            if _may_follow(fold, edge):
                live, found = live + 1, edge
    if not live and beginning:
        return _begin_run(fold, event, last)
    if steps.contiguous and places.count[0]:
        return event
    if not live:
        return _end_of_run(fold.events, event, last)
    if live == 1 and steps.kind[steps.edge_source[found]] == HEAP and steps.edge_condition[found] >= 0:
        return _until_taken(fold, found, event, last)
    return event


@compiled_inline
def _may_follow(fold: Fold, edge: int) -> bool:
    """Whether something waits at the source of an edge, in lanes that have it."""
    steps, places, source = fold.steps, fold.places, fold.steps.edge_source[edge]
    lanes = fold.waiting.alive[source] if steps.kind[source] == PILE else places.lanes[source]
    if places.begun[source]:
        lanes |= steps.start[source]
    return bool(lanes & steps.edge_lanes[edge])


@compiled_inline
def _end_of_run(events: Events, event: int, last: int) -> int:
    """Where the events of one type end."""
    code = events.code[event]
    while event < last and events.code[event] == code:
        event += 1
    return event


@compiled_inline
def _begin_run(fold: Fold, event: int, last: int) -> int:
    """Count the trends that events of one type begin, up to the last time stamp of the run: others may have that, too."""
    steps, places, events = fold.steps, fold.places, fold.events
    end = _end_of_run(events, event, last) - 1
    while end > event and events.time[end - 1] == events.time[end]:
        end -= 1
    if end == event:
        return event
    if steps.contiguous:
        expire(fold)
    code = events.code[event] + 1
    for place in range(steps.code_first[code], steps.code_first[code + 1]):
        step = steps.code_step[place]
        if not steps.start[step]:
            continue
        fold.trends.reached[step] |= steps.start[step]
        if not steps.contiguous:
            places.count[3] += not fold.waiting.alive[step] and not places.begun[step]
            places.begun[step] += end - event
    return end


@compiled_inline
def _until_taken(fold: Fold, edge: int, event: int, last: int) -> int:
    """The first event of the run that takes what is the first to be taken from a heap."""
    waiting, pairs, events, code = fold.waiting, fold.pairs, fold.events, fold.events.code[event]
    top = fold.places.slot[fold.steps.edge_source[edge], 0]
    if not waiting.known[top]:
        return _end_of_run(events, event, last)
    at = pairs.starts[fold.steps.edge_condition[edge]]
    operation, newer = pairs.code[at, 0], pairs.code[at, 2]
    older = pairs.integers[pairs.code[at, 1], waiting.row[top]]
    while event < last and events.code[event] == code:
        row = row_of(events, event)
        if pairs.integer_valid[newer, row] and compared(operation, older, pairs.integers[newer, row]):
            return event
        event += 1
    return event
