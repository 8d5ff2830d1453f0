"""The prefixes that wait, in piles and otherwise, and what a time stamp makes of them."""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.jit.decorators import compiled_inline
from hamlet_core.engines.hamlet.prefixes.lanes.elements import clear, leave, put
from hamlet_core.engines.hamlet.prefixes.lanes.singles import leave_all, release, wait_by_itself
from hamlet_core.engines.hamlet.prefixes.lanes.tables import PILE, Fold, Places, Prefixes, Singles, Steps
from hamlet_core.engines.hamlet.prefixes.tables import DONE


@compiled_inline
def touch(places: Places, step: int) -> None:
    """Remember that something has gone on at a step, or (under contiguous) holds something."""
    if not places.touched[step]:
        places.touched[step] = True
        places.list[places.count[0]] = step
        places.count[0] += 1


@compiled_inline
def pile_up(steps: Steps, places: Places, waiting: Prefixes, step: int) -> None:
    """Put into the pile of a counted step the events that have begun trends there."""
    if not waiting.alive[step]:
        clear(steps, waiting, step)
    for lane in range(waiting.integers.shape[2]):
        if steps.starting[step, lane]:
            count = waiting.integers[step, 0, lane] + places.begun[step]
            waiting.integers[step, 0, lane] = 1 if steps.least[0] else count
    waiting.alive[step] |= steps.start[step]
    places.begun[step] = 0


@compiled_inline
def settle(fold: Fold, singles: Singles | None, fresh: int) -> int:
    """What waits behind this time stamp: what has gone on leaves, and the fresh ones come; DONE, LOST or FULL."""
    if fold.steps.contiguous:
        expire(fold, singles)
    else:
        _let_go(fold.steps, fold.places, singles, fold.waiting)
    for new in range(fresh):
        state = _wait(fold, singles, new)
        if state != DONE:
            return int(state)
    return DONE


@compiled_inline
def expire(fold: Fold, singles: Singles | None) -> None:
    """Under contiguous nothing waits any longer than for the next time stamp."""
    places, waiting = fold.places, fold.waiting
    for number in range(places.count[0]):
        step = places.list[number]
        places.touched[step] = False
        places.taken[step] = 0
        if fold.steps.kind[step] == PILE:
            waiting.alive[step] = 0
            places.begun[step] = 0
            places.count[1] -= 1
        if singles is not None:
            leave_all(singles, step)
    places.count[0] = 0


@compiled_inline
def _let_go(steps: Steps, places: Places, singles: Singles | None, waiting: Prefixes) -> None:
    """Of the steps at which something has gone on."""
    for number in range(places.count[0]):
        step = places.list[number]
        places.touched[step] = False
        if not steps.keeping and steps.kind[step] == PILE:
            _leave_pile(steps, places, waiting, step, places.taken[step])
        elif not steps.keeping and singles is not None:
            release(steps, singles, waiting, step, places.taken[step])
        places.taken[step] = 0
    places.count[0] = 0


@compiled_inline
def _leave_pile(steps: Steps, places: Places, waiting: Prefixes, step: int, lanes: Any) -> None:
    """Let what waits in a pile stand in some lanes no more."""
    if places.begun[step] and steps.start[step] & ~lanes:
        pile_up(steps, places, waiting, step)
    places.begun[step] = 0
    leave(steps, waiting, step, lanes)
    places.count[1] -= not waiting.alive[step]


@compiled_inline
def _wait(fold: Fold, singles: Singles | None, new: int) -> int:
    """Let a fresh prefix wait at its step."""
    step = fold.fresh.step[new]
    if fold.steps.contiguous:
        touch(fold.places, step)
    if singles is None or fold.steps.kind[step] == PILE:
        return int(_join_pile(fold, new, step))
    return int(wait_by_itself(fold, singles, new, step))


@compiled_inline
def _join_pile(fold: Fold, new: int, step: int) -> int:
    """The same at a step where all waits as one."""
    places = fold.places
    places.count[1] += not fold.waiting.alive[step] and not places.begun[step]
    if fold.steps.counted[step]:
        places.begun[step] += 1
        return int(DONE)
    return int(put(fold.steps, fold.waiting, step, fold.fresh, new))
