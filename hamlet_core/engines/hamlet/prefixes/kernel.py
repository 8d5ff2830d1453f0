"""Windows folded prefix by prefix (SEMANTICS 10 and 11): each event prolongs those that wait for it.

Under next it takes them; under contiguous they wait for one time stamp; under any they go on waiting. Where nothing but
its positions tells what may prolong a prefix, all that stand in the same ones are one: O(1) an event.
Numbers are integers of 64 bits: a window in which one would leave them is lost, and nothing of it is added.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.automaton.conditions import holds
from hamlet_core.engines.hamlet.input.frame import Events, Jobs
from hamlet_core.engines.hamlet.input.reading import bit_of, holds_bit, row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled, compiled_inline
from hamlet_core.engines.hamlet.prefixes.tables import (
    ANY,
    CONTIGUOUS,
    DONE,
    FULL,
    LOST,
    MOST,
    NEUTRAL,
    NO_TIME,
    T_CLOCK,
    T_EARLIEST,
    T_LASTING,
    T_LATEST,
    T_LONGEST,
    T_MOVING,
    T_SHORTEST,
    Fold,
    Found,
    Program,
    Trends,
    Waiting,
)


@compiled
def fold_prefixes(fold: Fold, jobs: Jobs, found: Found, begin: int) -> Any:
    """Fold the windows `jobs[begin:]` into their rows of `found`; `fold` has what a `tables.Fold` has.

    Returns the first job that was not done, and why: LOST, or FULL where there is no more room for prefixes.
    """
    for job in range(begin, jobs.first.shape[0]):
        state, reached, disjoint = _fold(fold, jobs.first[job], jobs.last[job])
        if state == DONE and not _add_window(
            fold.program, fold.trends, found, jobs.row[job], reached, disjoint
        ):
            state = LOST
        if state != DONE:
            return job, state
    return jobs.first.shape[0], DONE


@compiled_inline
def _fold(fold: Fold, first: int, last: int) -> Any:  # noqa: C901, PLR0912 - the steps of a time stamp, in their order
    """One window: (how it went, positions reached, trends that follow one another)."""
    program, events, waiting = fold.program, fold.events, fold.waiting
    _reset(program, fold.trends, fold.starts)
    count, kept, reached, disjoint, free = 0, 0, np.uint64(0), 0, NO_TIME
    event = first
    while event < last:
        time, after = events.time[event], event + 1
        while after < last and events.time[after] == time:
            after += 1
        stop = count
        for one in range(event, after):
            bound = _bound(program, events, one)
            if bound:
                stop = _arrive(fold, one, bound, count, stop)
                if stop < 0:
                    return -stop, reached, 0
        for one in range(count, stop):
            reached |= waiting.mask[one]
            complete = waiting.mask[one] & program.ends[0]
            if complete and program.undoable:
                if kept == fold.ended.time.shape[0]:
                    return FULL, reached, 0
                _copy(waiting, one, fold.ended, kept)
                kept += 1
            elif complete:
                free, disjoint = _chained(program, waiting, one, free, disjoint)
                if not _add_trends(program, waiting, one, complete, fold.trends):
                    return LOST, reached, 0
        count = _settle(program, waiting, count, stop)
        if count < 0:
            return LOST, reached, 0
        _negate(program, events, fold.starts, event, after)
        event = after
    for one in range(kept):
        complete = _still(program, fold.starts, fold.ended.mask[one] & program.ends[0], fold.ended.time[one])
        if complete:
            free, disjoint = _chained(program, fold.ended, one, free, disjoint)
            if not _add_trends(program, fold.ended, one, complete, fold.trends):
                return LOST, reached, 0
    return DONE, reached, disjoint


@compiled_inline
def _chained(program: Program, of: Any, one: int, free: int, disjoint: int) -> Any:
    """Where the trends that follow one another end, and how many they are, after those that end with a prefix."""
    if program.chains:
        slot = _lowest(of.mask[one]) if of.integers.shape[1] > 1 else 0
        if -of.integers[one, slot, program.times[T_LATEST]] > free:
            return of.time[one], disjoint + 1
    return free, disjoint


@compiled_inline
def _reset(program: Program, trends: Trends, starts: Any) -> None:
    for side in range(3):
        trends.there[side] = False
        for part in range(trends.integers.shape[1]):
            trends.integers[side, part] = NEUTRAL if program.least[part] else 0
        for part in range(trends.doubles.shape[1]):
            trends.doubles[side, part] = 0.0
    for position in range(starts.shape[1]):
        starts[0, position] = NO_TIME


@compiled_inline
def _one(position: int) -> Any:
    """The mask of one position."""
    return np.uint64(1) << np.uint64(position)


@compiled_inline
def _lowest(mask: Any) -> int:
    """The place of the lowest bit that is set."""
    place = 0
    while not bit_of(mask, place):
        place += 1
    return place


@compiled_inline
def _bound(program: Program, events: Events, event: int) -> Any:
    """The positions that the event may take."""
    return _holding(events, event, program.candidates[events.code[event] + 1], program.bit)


@compiled_inline
def _holding(events: Events, event: int, mask: Any, bit: Any) -> Any:
    """Those of some positions whose local predicate holds."""
    for position in range(bit.shape[0]):
        if bit_of(mask, position) and not holds_bit(events, event, bit[position]):
            mask &= ~_one(position)
    return mask


@compiled_inline
def _latest(program: Program, starts: Any, gap: Any) -> int:
    """When the last match of some negated patterns began that has ended by now."""
    latest = NO_TIME
    for negation in range(program.negated_ends.shape[0]):
        if bit_of(gap, negation):
            for position in range(starts.shape[1]):
                if bit_of(program.negated_ends[negation], position):
                    latest = max(latest, starts[0, position])
    return latest


@compiled_inline
def _still(program: Program, starts: Any, complete: Any, time: int) -> Any:
    """The last positions of trends that no negated match has undone, now that the window closes."""
    for position in range(program.end_gap.shape[0]):
        gap = program.end_gap[position]
        if gap and bit_of(complete, position) and _latest(program, starts, gap) > time:
            complete &= ~_one(position)
    return complete


@compiled_inline
def _arrive(fold: Fold, event: int, bound: Any, count: int, stop: int) -> int:
    """The prefixes that end with an event, put behind the others; how many there are then, or minus LOST or FULL."""
    waiting, own = fold.waiting, stop
    begun = _begun(fold.program, fold.starts, bound)
    for older in range(-1, count):
        if stop + 1 >= waiting.time.shape[0]:
            return -FULL
        mask = begun
        if older >= 0:
            mask = _prolonged(fold, older, bound, stop, event)
            waiting.taken[older] |= _sides(fold.program, mask)
        elif begun:
            _begin(fold.program, waiting, stop, fold.events.time[event])
        if mask:
            if not _take(fold, stop, mask, event):
                return -LOST
            stop = _merged(fold.program, waiting, count if fold.program.together else own, stop)
            if stop < 0:
                return -LOST
    return stop


@compiled_inline
def _begun(program: Program, starts: Any, bound: Any) -> Any:
    """The positions at which a trend may begin now."""
    begun = bound & program.start[0]
    for position in range(program.start_gap.shape[0]):
        gap = program.start_gap[position]
        if gap and bit_of(begun, position) and _latest(program, starts, gap) != NO_TIME:
            begun &= ~_one(position)
    return begun


@compiled_inline
def _sides(program: Program, mask: Any) -> int:
    """The sides of AND of some positions: bit 0 for the left one, bit 1 for the right one."""
    side = 0
    if mask & ~program.right[0]:
        side += 1
    if mask & program.right[0]:
        side += 2
    return side


@compiled_inline
def _begin(program: Program, waiting: Waiting, new: int, time: int) -> None:
    """The element of the empty prefix, before an event at this time."""
    for slot in range(waiting.integers.shape[1]):
        for part in range(waiting.integers.shape[2]):
            waiting.integers[new, slot, part] = NEUTRAL if program.least[part] else 0
        for part in range(waiting.doubles.shape[2]):
            waiting.doubles[new, slot, part] = 0.0
        waiting.integers[new, slot, 0] = 1
        if program.times[T_LATEST] >= 0:
            waiting.integers[new, slot, program.times[T_LATEST]] = -time
            waiting.integers[new, slot, program.times[T_EARLIEST]] = time
            waiting.integers[new, slot, program.times[T_CLOCK]] = time


@compiled_inline
def _prolonged(fold: Fold, older: int, bound: Any, new: int, event: int) -> Any:
    """The positions in which a prefix may stand after the event; its elements are then those of `new`."""
    program, waiting = fold.program, fold.waiting
    mask, standing, row = np.uint64(0), waiting.mask[older], row_of(fold.events, event)
    for position in range(program.before.shape[0]):
        if not bit_of(bound, position) or not program.before[position] & standing:
            continue
        for edge in range(program.edge_first[position], program.edge_first[position + 1]):
            source = program.edge_source[edge]
            if not bit_of(standing, source):
                continue
            gap, condition = program.edge_gap[edge], program.edge_condition[edge]
            if gap and _latest(program, fold.starts, gap) > waiting.time[older]:
                continue
            if condition >= 0 and not holds(fold.pairs, condition, waiting.row[older], row):
                continue
            mask |= _one(position)
            slot = position if waiting.integers.shape[1] > 1 else 0
            origin = source if waiting.integers.shape[1] > 1 else 0
            for part in range(waiting.integers.shape[2]):
                waiting.integers[new, slot, part] = waiting.integers[older, origin, part]
            for part in range(waiting.doubles.shape[2]):
                waiting.doubles[new, slot, part] = waiting.doubles[older, origin, part]
            break
    return mask


@compiled_inline
def _take(fold: Fold, new: int, mask: Any, event: int) -> bool:
    """Let each position of a new prefix take the event; False where a number is too large."""
    program, waiting, values = fold.program, fold.waiting, fold.values
    time, row = fold.events.time[event], row_of(fold.events, event)
    waiting.time[new], waiting.row[new], waiting.mask[new], waiting.taken[new] = time, row, mask, 0
    slots = waiting.integers.shape[1]
    for position in range(program.before.shape[0]):
        if not bit_of(mask, position):
            continue
        slot = position if slots > 1 else 0
        count = waiting.integers[new, slot, 0]
        if program.times[T_LATEST] >= 0 and not _age(program, waiting.integers, new, slot, time):
            return False
        for effect in range(program.effect_first[position], program.effect_first[position + 1]):
            part, column, kind = (
                program.effect_part[effect],
                program.effect_column[effect],
                program.effect_kind[effect],
            )
            if kind == 2:
                waiting.doubles[new, slot, part] += count * values.doubles[column, row]
            elif kind == 1:
                key = values.integers[column, row]
                waiting.integers[new, slot, part] = min(waiting.integers[new, slot, part], key)
            else:
                value = 1 if column < 0 else values.integers[column, row]
                if abs(float(count) * float(value)) >= MOST:
                    return False
                total = waiting.integers[new, slot, part] + count * value
                if abs(total) >= MOST:
                    return False
                waiting.integers[new, slot, part] = total
        if slots == 1:
            return True
    return True


@compiled_inline
def _age(program: Program, integers: Any, new: int, slot: int, time: int) -> bool:
    """What the trends of an element last if they end at this time; False where that is too large."""
    moving, clock = program.times[T_MOVING], program.times[T_CLOCK]
    if moving >= 0:
        since = time - integers[new, slot, clock]
        if float(integers[new, slot, 0]) * float(since) + float(integers[new, slot, moving]) >= MOST:
            return False
        integers[new, slot, moving] += integers[new, slot, 0] * since
        integers[new, slot, program.times[T_LASTING]] = integers[new, slot, moving]
    integers[new, slot, clock] = time
    if program.times[T_SHORTEST] >= 0:
        integers[new, slot, program.times[T_SHORTEST]] = time + integers[new, slot, program.times[T_LATEST]]
    if program.times[T_LONGEST] >= 0:
        integers[new, slot, program.times[T_LONGEST]] = integers[new, slot, program.times[T_EARLIEST]] - time
    return True


@compiled_inline
def _merged(program: Program, waiting: Waiting, first: int, new: int) -> int:
    """Add a new prefix to one from `first` on that stands in the same positions: how many there are then, or -1."""
    for other in range(first, new):
        if waiting.mask[other] == waiting.mask[new]:
            return new if _plus(program, waiting, other, waiting, new) else -1
    return new + 1


@compiled_inline
def _plus(program: Program, into: Any, one: int, of: Any, other: int) -> bool:
    """Add the elements of a prefix to those of another; False where a number is too large."""
    clock = program.times[T_CLOCK]
    for slot in range(into.integers.shape[1]):
        if into.integers.shape[1] > 1 and not bit_of(into.mask[one], slot):
            continue
        if clock >= 0 and not _same_clock(program, into, one, of, other, slot):
            return False
        for part in range(into.integers.shape[2]):
            mine, theirs = into.integers[one, slot, part], of.integers[other, slot, part]
            if part == clock or (part == 0 and not program.counting):
                continue
            if program.least[part]:
                into.integers[one, slot, part] = min(mine, theirs)
            else:
                if abs(mine + theirs) >= MOST:
                    return False
                into.integers[one, slot, part] = mine + theirs
        for part in range(into.doubles.shape[2]):
            into.doubles[one, slot, part] += of.doubles[other, slot, part]
    into.time[one], into.row[one] = of.time[other], of.row[other]
    return True


@compiled_inline
def _same_clock(program: Program, into: Any, one: int, of: Any, other: int, slot: int) -> bool:
    """Let what both have lasted be up to the later of their times."""
    clock, moving = program.times[T_CLOCK], program.times[T_MOVING]
    time = max(into.integers[one, slot, clock], of.integers[other, slot, clock])
    if moving >= 0:
        mine = time - into.integers[one, slot, clock]
        theirs = time - of.integers[other, slot, clock]
        if float(into.integers[one, slot, 0]) * float(mine) >= MOST:
            return False
        if float(of.integers[other, slot, 0]) * float(theirs) >= MOST:
            return False
        into.integers[one, slot, moving] += into.integers[one, slot, 0] * mine
        of.integers[other, slot, moving] += of.integers[other, slot, 0] * theirs
        if into.integers[one, slot, moving] >= MOST or of.integers[other, slot, moving] >= MOST:
            return False
    into.integers[one, slot, clock] = time
    of.integers[other, slot, clock] = time
    return True


@compiled_inline
def _copy(of: Any, one: int, into: Any, other: int) -> None:
    into.time[other], into.row[other] = of.time[one], of.row[one]
    into.mask[other], into.taken[other] = of.mask[one], 0
    for slot in range(of.integers.shape[1]):
        for part in range(of.integers.shape[2]):
            into.integers[other, slot, part] = of.integers[one, slot, part]
        for part in range(of.doubles.shape[2]):
            into.doubles[other, slot, part] = of.doubles[one, slot, part]


@compiled_inline
def _settle(program: Program, waiting: Waiting, count: int, stop: int) -> int:
    """What waits behind this time stamp, the new ones last; -1 where a number is too large."""
    older = 0
    for one in range(count if program.mode != CONTIGUOUS else 0):
        if program.mode != ANY:
            waiting.mask[one] &= _not_taken(program, waiting.taken[one])
        if waiting.mask[one]:
            _move(waiting, one, older)
            older += 1
    kept = older
    for one in range(count, stop):
        place = _place_of(waiting, waiting.mask[one], older) if program.together else older
        if place == older:
            _move(waiting, one, kept)
            kept += 1
        elif not _plus(program, waiting, place, waiting, one):
            return -1
    return kept


@compiled_inline
def _not_taken(program: Program, taken: Any) -> Any:
    """The positions of the sides on which no event prolongs."""
    mask = ~np.uint64(0)
    if taken & 1:
        mask &= program.right[0]
    if taken & 2:
        mask &= ~program.right[0]
    return mask


@compiled_inline
def _move(waiting: Waiting, one: int, to: int) -> None:
    if one != to:
        _copy(waiting, one, waiting, to)
    waiting.taken[to] = 0


@compiled_inline
def _place_of(waiting: Waiting, mask: Any, count: int) -> int:
    """Which of the first prefixes stands in just these positions; `count` if none does."""
    for place in range(count):
        if waiting.mask[place] == mask:
            return place
    return count


@compiled_inline
def _negate(program: Program, events: Events, starts: Any, event: int, after: int) -> None:
    """Matches of negated patterns: by position the latest start of those that stand there (read first, then written)."""
    if not program.negated_ends.shape[0]:
        return
    for position in range(starts.shape[1]):
        starts[1, position] = starts[0, position]
    for one in range(event, after):
        mask = _holding(events, one, program.negated[events.code[one] + 1], program.negated_bit)
        for position in range(starts.shape[1]):
            if not bit_of(mask, position):
                continue
            latest = events.time[one] if bit_of(program.negated_start[0], position) else NO_TIME
            for source in range(starts.shape[1]):
                if bit_of(program.negated_before[position], source):
                    latest = max(latest, starts[0, source])
            starts[1, position] = max(starts[1, position], latest)
    for position in range(starts.shape[1]):
        starts[0, position] = starts[1, position]


@compiled_inline
def _add_trends(program: Program, of: Any, one: int, complete: Any, trends: Trends) -> bool:
    """Add what may end here to the trends of its sides; False where a number is too large."""
    side = _sides(program, complete)
    slot = _lowest(complete) if of.integers.shape[1] > 1 else 0
    trends.there[side - 1] = True
    for part in range(trends.integers.shape[1]):
        mine, theirs = trends.integers[side - 1, part], of.integers[one, slot, part]
        if part == program.times[T_CLOCK] or part == program.times[T_MOVING]:
            continue
        if part == 0 and not program.counting:
            trends.integers[side - 1, 0] = 1
        elif program.least[part]:
            trends.integers[side - 1, part] = min(mine, theirs)
        else:
            if abs(mine + theirs) >= MOST:
                return False
            trends.integers[side - 1, part] = mine + theirs
    for part in range(trends.doubles.shape[1]):
        trends.doubles[side - 1, part] += of.doubles[one, slot, part]
    return True


@compiled_inline
def _add_window(
    program: Program, trends: Trends, found: Found, row: int, reached: Any, disjoint: int
) -> bool:
    """Add the window of one partition to its row; False where a number is too large."""
    if program.right[0]:
        left, right, both = trends.integers[0, 0], trends.integers[1, 0], trends.integers[2, 0]
        about = (float(left) + float(both)) * (float(right) + float(both)) + float(both) * float(both)
        if about >= MOST:
            return False
        pairs = left * right + left * both + right * both + both * (both - 1) // 2
        trends.integers[0, 0] = pairs
        trends.there[0] = pairs > 0
    for part in range(found.integers.shape[1]):
        mine, theirs = found.integers[row, part], trends.integers[0, part]
        if program.least[part]:
            found.integers[row, part] = min(mine, theirs)
        else:
            if abs(mine + theirs) >= MOST:
                return False
            found.integers[row, part] = mine + theirs
    for part in range(found.doubles.shape[1]):
        found.doubles[row, part] += trends.doubles[0, part]
    found.there[row] |= trends.there[0]
    found.partitions[row] += trends.there[0]
    found.disjoint[row] += disjoint
    for alias in range(program.reach.shape[0]):
        found.reached[row, alias] += (program.reach[alias] & reached) != 0
    return True
