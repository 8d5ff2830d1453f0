"""Windows folded prefix by prefix for many queries at once (SEMANTICS 10 and 11).

Each event prolongs those that wait for it. Under next it takes them, so that each goes on once: O(1) an event where nothing
but its step tells what may prolong a prefix, O(log n) where one comparison does, else a look at all that wait. Under
contiguous they wait for one time stamp; under any they go on waiting.
Numbers are integers of 64 bits: a window in which one would leave them is lost, and nothing of it is added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.automaton.conditions import holds
from hamlet_core.engines.hamlet.input.frame import Jobs
from hamlet_core.engines.hamlet.input.reading import bit_of, holds_bit, row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled, compiled_inline
from hamlet_core.engines.hamlet.prefixes.lanes.elements import (
    add_all,
    add_some,
    beyond,
    clear,
    copy_all,
    is_within,
)
from hamlet_core.engines.hamlet.prefixes.lanes.ending import end, gather
from hamlet_core.engines.hamlet.prefixes.lanes.runs import pass_over
from hamlet_core.engines.hamlet.prefixes.lanes.singles import most_taken
from hamlet_core.engines.hamlet.prefixes.lanes.tables import (
    HEAP,
    L_EARLIEST,
    L_LATEST,
    L_OFFSETS,
    LAST,
    PILE,
    Fold,
    LaneRows,
    Places,
    Singles,
    Steps,
    Trends,
)
from hamlet_core.engines.hamlet.prefixes.lanes.waiting import pile_up, settle, touch
from hamlet_core.engines.hamlet.prefixes.tables import DONE, FULL, LOST, NEUTRAL, NO_TIME


@compiled
def fold_lanes(fold: Fold, singles: Singles | None, jobs: Jobs, found: LaneRows, begin: int) -> Any:
    """Fold the windows `jobs[begin:]` into their rows of `found`, as `prefixes.kernel.fold_prefixes` does.

    `singles` is None where all that waits is in piles: what would wait one by one is not compiled then.
    """
    for job in range(begin, jobs.first.shape[0]):
        state = _fold(fold, singles, jobs.first[job], jobs.last[job])
        if state == DONE and not _add_window(fold.steps, fold.trends, found, jobs.row[job]):
            state = LOST
        if state != DONE:
            return job, state
    return jobs.first.shape[0], DONE


@compiled_inline
def _fold(fold: Fold, singles: Singles | None, first: int, last: int) -> int:
    """One window: how it went."""
    events = fold.events
    _reset(fold, singles)
    event = first
    while event < last:
        if event + 1 < last and events.code[event + 1] == events.code[event]:
            event = pass_over(fold, singles, event, last, events.time[first])
            if event < 0:
                return int(LOST)
            if event == last:
                break
        after, fresh = event + 1, 0
        while fold.tied and after < last and events.time[after] == events.time[event]:
            after += 1
        for one in range(event, after):
            fresh = _arrive(fold, singles, one, fresh, events.time[first])
            if fresh < 0:
                return int(-fresh)
        if fresh or fold.places.count[0]:
            state = settle(fold, singles, fresh)
            if state != DONE:
                return int(state)
        event = after
    return int(DONE)


@compiled_inline
def _reset(fold: Fold, singles: Singles | None) -> None:
    trends, places, waiting = fold.trends, fold.places, fold.waiting
    for step in range(fold.steps.kind.shape[0]):
        waiting.alive[step] = 0
        places.begun[step] = 0
        places.taken[step] = 0
        places.touched[step] = False
        trends.reached[step] = 0
    places.count[0], places.count[1] = 0, 0
    if singles is not None:
        singles.count[0], singles.count[1] = 0, fold.steps.kind.shape[0]
        for step in range(fold.steps.kind.shape[0]):
            singles.size[step], singles.lanes[step] = 0, 0
    trends.there[0] = 0
    for lane in range(trends.free.shape[0]):
        trends.free[lane], trends.disjoint[lane] = NO_TIME, 0
    for part in range(trends.integers.shape[0]):
        neutral = NEUTRAL if fold.steps.least[part] else 0
        for lane in range(trends.integers.shape[1]):
            trends.integers[part, lane] = neutral
    for part in range(trends.doubles.shape[0]):
        for lane in range(trends.doubles.shape[1]):
            trends.doubles[part, lane] = 0.0


@compiled_inline
def _arrive(fold: Fold, singles: Singles | None, event: int, fresh: int, base: int) -> int:
    """The prefixes that end with an event, at each of its steps as one: how many are fresh then, or minus LOST or FULL."""
    steps, events, code = fold.steps, fold.events, fold.events.code[event] + 1
    for place in range(steps.code_first[code], steps.code_first[code + 1]):
        step = steps.code_step[place]
        if steps.contiguous and not fold.places.count[0] and not steps.start[step]:
            continue  # nothing waits that it could prolong
        if not holds_bit(events, event, steps.bit[step]):
            continue
        if fresh == fold.fresh.alive.shape[0]:
            return -FULL
        if steps.counted[step]:
            fold.fresh.step[fresh] = step
            fold.trends.reached[step] |= steps.start[step]
            fresh += 1
        else:
            fresh = _arrive_at(fold, singles, event, step, fresh, base)
            if fresh < 0:
                return fresh
    return fresh


@compiled_inline
def _arrive_at(fold: Fold, singles: Singles | None, event: int, step: int, fresh: int, base: int) -> int:
    """The same at one step."""
    steps, waiting, new = fold.steps, fold.fresh, fresh
    alive = steps.start[step]
    row = row_of(fold.events, event)
    if alive:
        clear(steps, waiting, new)
        _begin(fold, new, step, event, base)
    waiting.alive[new] = alive
    lanes, fits = _follow_all(fold, singles, step, new, row)
    if not fits:
        return -LOST
    alive |= lanes
    if not alive:
        return fresh
    waiting.step[new], waiting.row[new] = step, row
    fold.trends.reached[step] |= alive
    if not gather(fold, waiting, new, step, row) or not end(fold, waiting, new, step, event, base):
        return -LOST
    return fresh if steps.kind[step] == LAST else fresh + 1


@compiled_inline
def _begin(fold: Fold, new: int, step: int, event: int, base: int) -> None:
    """Put the empty prefix into the lanes in which a trend may begin with the event."""
    steps, integers, times = fold.steps, fold.fresh.integers, fold.steps.times
    for lane in range(integers.shape[2]):
        if steps.starting[step, lane]:
            integers[new, 0, lane] = 1
    if times[L_LATEST] >= 0:
        time = fold.events.time[event]
        for lane in range(integers.shape[2]):
            if steps.starting[step, lane]:
                integers[new, times[L_LATEST], lane] = -time
                integers[new, times[L_EARLIEST], lane] = time
    if times[L_OFFSETS] >= 0:
        for lane in range(integers.shape[2]):
            if steps.starting[step, lane]:
                integers[new, times[L_OFFSETS], lane] = fold.events.time[event] - base


@compiled_inline
def _follow_all(fold: Fold, singles: Singles | None, step: int, new: int, row: int) -> Any:
    """Let the event prolong what waits for it: (the lanes in which it does, whether numbers fit)."""
    steps, found, fits = fold.steps, np.uint64(0), True
    stop = steps.edge_first[step + 1] if fold.places.count[1] else steps.edge_pile[step]
    for edge in range(steps.edge_first[step], stop):
        lanes, fitting = _follow(fold, singles, edge, new, row)
        found |= lanes
        fits = fits and fitting
    return found, fits


@compiled_inline
def _follow(fold: Fold, singles: Singles | None, edge: int, new: int, row: int) -> Any:
    """Let the event prolong what waits at the source of an edge: (the lanes in which it does, whether numbers fit)."""
    steps, places = fold.steps, fold.places
    source = steps.edge_source[edge]
    if steps.kind[source] == PILE:
        if places.begun[source] and fold.waiting.alive[source]:
            pile_up(steps, places, fold.waiting, source)
        standing = steps.start[source] if places.begun[source] else fold.waiting.alive[source]
        found = standing & steps.edge_lanes[edge]
        if not found:
            return found, True
        _take(places, source, found)
        if places.begun[source]:
            return found, _prolong_begun(fold, edge, source, new)
        return found, _prolong(fold, edge, source, new)
    if singles is None or not singles.lanes[source] & steps.edge_lanes[edge]:
        return np.uint64(0), True
    if steps.kind[source] == HEAP and steps.edge_condition[edge] >= 0:
        return _follow_heap(fold, singles, edge, new, row)
    return _follow_list(fold, singles, edge, new, row)


@compiled_inline
def _follow_heap(fold: Fold, singles: Singles, edge: int, new: int, row: int) -> Any:
    """The same of a heap, whose condition is asked as long as it holds: below a prefix it does not take are no others."""
    steps, waiting, places = fold.steps, fold.waiting, fold.places
    source, found, fits, left = steps.edge_source[edge], np.uint64(0), True, 0
    most, known = most_taken(fold, edge, row)
    if singles.size[source] and known:
        singles.todo[0], left = 0, 1
    while left and fits:
        left -= 1
        place = singles.todo[left]
        slot = singles.slot[source, place]
        if waiting.known[slot] and waiting.key[slot] <= most:
            for below in range(2 * place + 1, min(2 * place + 3, singles.size[source])):
                singles.todo[left] = below
                left += 1
            both = waiting.alive[slot] & steps.edge_lanes[edge]
            if both:
                found |= both
                waiting.gone[slot] = True
                touch(places, source)
                fits = _prolong(fold, edge, slot, new)
    return found, fits


@compiled_inline
def _follow_list(fold: Fold, singles: Singles, edge: int, new: int, row: int) -> Any:
    """The same of all that wait, one by one."""
    steps, waiting, places = fold.steps, fold.waiting, fold.places
    source, condition = steps.edge_source[edge], steps.edge_condition[edge]
    found, fits = np.uint64(0), True
    for place in range(singles.size[source]):
        slot = singles.slot[source, place]
        both = waiting.alive[slot] & steps.edge_lanes[edge]
        if both and (condition < 0 or holds(fold.pairs, condition, waiting.row[slot], row)):
            found |= both
            if condition < 0:
                _take(places, source, both)
            else:
                waiting.gone[slot] = True
                touch(places, source)
            fits = fits and _prolong(fold, edge, slot, new)
    if condition < 0 and not found:
        singles.lanes[source] &= ~steps.edge_lanes[edge]
    return found, fits


@compiled_inline
def _prolong(fold: Fold, edge: int, slot: int, new: int) -> bool:
    """Add what waits in a slot to the fresh prefix, in the lanes of an edge; False where a number is too large."""
    steps, waiting, fresh = fold.steps, fold.waiting, fold.fresh
    before, lanes = fresh.alive[new], waiting.alive[slot] & steps.edge_lanes[edge]
    fresh.alive[new] = before | lanes
    if lanes != waiting.alive[slot]:
        if not before:
            clear(steps, fresh, new)
        return bool(add_some(steps, fresh, new, waiting, slot, steps.edge_has[edge]))
    if before:
        return bool(add_all(steps, fresh, new, waiting, slot))
    copy_all(fresh, new, waiting, slot)
    return True


@compiled_inline
def _prolong_begun(fold: Fold, edge: int, source: int, new: int) -> bool:
    """Add the trends that have begun at a counted step, and that nothing else waits with, to the fresh prefix, likewise."""
    steps, fresh, begun, mask = fold.steps, fold.fresh, fold.places.begun[source], np.uint64(0)
    if not fresh.alive[new]:
        clear(steps, fresh, new)
    fresh.alive[new] |= steps.start[source] & steps.edge_lanes[edge]
    for lane in range(fresh.integers.shape[2]):
        if steps.starting[source, lane] and steps.edge_has[edge, lane]:
            total = 1 if steps.least[0] else fresh.integers[new, 0, lane] + begun
            mask |= beyond(total)
            fresh.integers[new, 0, lane] = total
    return bool(is_within(mask))


@compiled_inline
def _take(places: Places, step: int, lanes: Any) -> None:
    places.taken[step] |= lanes
    touch(places, step)


@compiled_inline
def _add_window(steps: Steps, trends: Trends, found: LaneRows, row: int) -> bool:
    """Add the window of one partition to its row; False where a number is too large."""
    _add_reached(steps, trends, found, row)
    if not trends.there[0]:
        return True
    mask = np.uint64(0)
    for part in range(found.integers.shape[1]):
        if steps.least[part]:
            for lane in range(found.integers.shape[2]):
                found.integers[row, part, lane] = min(
                    found.integers[row, part, lane], trends.integers[part, lane]
                )
        else:
            for lane in range(found.integers.shape[2]):
                total = found.integers[row, part, lane] + trends.integers[part, lane]
                mask |= beyond(total)
                found.integers[row, part, lane] = total
    for part in range(found.doubles.shape[1]):
        for lane in range(found.doubles.shape[2]):
            found.doubles[row, part, lane] += trends.doubles[part, lane]
    for lane in range(found.there.shape[1]):
        there = bit_of(trends.there[0], lane)
        found.there[row, lane] |= there
        found.partitions[row, lane] += there
        found.disjoint[row, lane] += trends.disjoint[lane]
    return bool(is_within(mask))


@compiled_inline
def _add_reached(steps: Steps, trends: Trends, found: LaneRows, row: int) -> None:
    """Count the partition where some prefix has ended; a reach has a pair for each position that its alias may take."""
    before, reached = -1, False
    for pair in range(steps.reach_number.shape[0]):
        number = steps.reach_number[pair]
        reached = reached and number == before
        if not reached and bit_of(trends.reached[steps.reach_step[pair]], steps.reach_lane[pair]):
            found.reached[row, number] += 1
            reached = True
        before = number
