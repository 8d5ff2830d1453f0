"""The prefixes that wait: piles, heaps and lists of them, and what a time stamp makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.input.reading import bit_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline
from hamlet_core.engines.hamlet.prefixes.lanes.tables import HEAP, PILE, Fold, Places, Prefixes, Steps
from hamlet_core.engines.hamlet.prefixes.tables import DONE, FULL, LOST, MOST, NEUTRAL
from hamlet_core.predicates.pair_tables import Operation


@compiled_inline
def clear(steps: Steps, of: Any, one: int) -> None:
    """Let the elements of a prefix be those of no lane."""
    for part in range(of.integers.shape[1]):
        neutral = NEUTRAL if steps.least[part] else 0
        for lane in range(of.integers.shape[2]):
            of.integers[one, part, lane] = neutral
    for part in range(of.doubles.shape[1]):
        for lane in range(of.doubles.shape[2]):
            of.doubles[one, part, lane] = 0.0


@compiled_inline
def beyond(number: Any) -> Any:
    """A mask whose highest bit says that a number of 64 bits is not within MOST of 0; one instruction for several."""
    return np.uint64(number) + np.uint64(MOST)


@compiled_inline
def is_within(mask: Any) -> bool:
    """Whether no number was beyond, of the masks joined by or."""
    return not bit_of(mask, 63)


@compiled_inline
def add_all(steps: Steps, into: Any, one: int, of: Any, other: int) -> bool:
    """Add the elements of a prefix to those of another, in all lanes; False where a number is too large."""
    mask = np.uint64(0)
    for part in range(into.integers.shape[1]):
        if steps.least[part]:
            for lane in range(into.integers.shape[2]):
                into.integers[one, part, lane] = min(
                    into.integers[one, part, lane], of.integers[other, part, lane]
                )
        else:
            for lane in range(into.integers.shape[2]):
                total = into.integers[one, part, lane] + of.integers[other, part, lane]
                mask |= beyond(total)
                into.integers[one, part, lane] = total
    for part in range(into.doubles.shape[1]):
        for lane in range(into.doubles.shape[2]):
            into.doubles[one, part, lane] += of.doubles[other, part, lane]
    return bool(is_within(mask))


@compiled_inline
def add_some(steps: Steps, into: Any, one: int, of: Any, other: int, has: Any) -> bool:
    """The same in the lanes of `has`."""
    mask = np.uint64(0)
    for part in range(into.integers.shape[1]):
        if steps.least[part]:
            for lane in range(into.integers.shape[2]):
                if has[lane]:
                    into.integers[one, part, lane] = min(
                        into.integers[one, part, lane], of.integers[other, part, lane]
                    )
        else:
            for lane in range(into.integers.shape[2]):
                total = into.integers[one, part, lane] + (of.integers[other, part, lane] if has[lane] else 0)
                mask |= beyond(total)
                into.integers[one, part, lane] = total
    for part in range(into.doubles.shape[1]):
        for lane in range(into.doubles.shape[2]):
            if has[lane]:
                into.doubles[one, part, lane] += of.doubles[other, part, lane]
    return bool(is_within(mask))


@compiled_inline
def copy_all(into: Any, one: int, of: Any, other: int) -> None:
    """Let a prefix have the elements of another."""
    for part in range(of.integers.shape[1]):
        for lane in range(of.integers.shape[2]):
            into.integers[one, part, lane] = of.integers[other, part, lane]
    for part in range(of.doubles.shape[1]):
        for lane in range(of.doubles.shape[2]):
            into.doubles[one, part, lane] = of.doubles[other, part, lane]


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
def settle(fold: Fold, fresh: int) -> int:
    """What waits behind this time stamp: what has gone on leaves, and the fresh ones come; DONE, LOST or FULL."""
    if fold.steps.contiguous:
        expire(fold)
    else:
        _let_go(fold.steps, fold.places, fold.waiting)
    for new in range(fresh):
        state = _wait(fold, new)
        if state != DONE:
            return int(state)
    return DONE


@compiled_inline
def expire(fold: Fold) -> None:
    """Under contiguous nothing waits any longer than for the next time stamp."""
    places, waiting = fold.places, fold.waiting
    for number in range(places.count[0]):
        step = places.list[number]
        places.touched[step] = False
        places.taken[step] = 0
        if fold.steps.kind[step] == PILE:
            waiting.alive[step] = 0
            places.begun[step] = 0
            places.count[3] -= 1
        for place in range(places.size[step]):
            _spare(places, places.slot[step, place])
        places.size[step] = 0
        places.lanes[step] = 0
    places.count[0] = 0


@compiled_inline
def _let_go(steps: Steps, places: Places, waiting: Prefixes) -> None:
    """Of the steps at which something has gone on."""
    for number in range(places.count[0]):
        step = places.list[number]
        places.touched[step] = False
        if not steps.keeping and steps.kind[step] == PILE:
            _leave_pile(steps, places, waiting, step, places.taken[step])
        elif not steps.keeping:
            _release(steps, places, waiting, step)
        places.taken[step] = 0
    places.count[0] = 0


@compiled_inline
def _leave_pile(steps: Steps, places: Places, waiting: Prefixes, step: int, lanes: Any) -> None:
    """Let what waits in a pile stand in some lanes no more."""
    if places.begun[step] and steps.start[step] & ~lanes:
        pile_up(steps, places, waiting, step)
    places.begun[step] = 0
    _leave(steps, waiting, step, lanes)
    places.count[3] -= not waiting.alive[step]


@compiled_inline
def _leave(steps: Steps, waiting: Prefixes, slot: int, lanes: Any) -> None:
    """Let a prefix stand in some lanes no more."""
    waiting.alive[slot] &= ~lanes
    if not waiting.alive[slot]:
        return
    for lane in range(waiting.integers.shape[2]):
        if bit_of(lanes, lane):
            for part in range(waiting.integers.shape[1]):
                waiting.integers[slot, part, lane] = NEUTRAL if steps.least[part] else 0
            for part in range(waiting.doubles.shape[1]):
                waiting.doubles[slot, part, lane] = 0.0


@compiled_inline
def _release(steps: Steps, places: Places, waiting: Prefixes, step: int) -> None:
    """Of the prefixes of a heap or list keep those that something may still prolong."""
    lanes = places.taken[step]
    if not lanes and steps.kind[step] == HEAP:
        while places.size[step] and waiting.gone[places.slot[step, 0]]:
            _spare(places, places.slot[step, 0])
            places.size[step] -= 1
            places.slot[step, 0] = places.slot[step, places.size[step]]
            sink(places, waiting, step, 0)
        if not places.size[step]:
            places.lanes[step] = 0
        return
    kept = 0
    places.lanes[step] = 0
    for place in range(places.size[step]):
        slot = places.slot[step, place]
        if lanes and waiting.alive[slot] & lanes:
            _leave(steps, waiting, slot, lanes)
        if waiting.gone[slot] or not waiting.alive[slot]:
            _spare(places, slot)
        else:
            places.slot[step, kept] = slot
            places.lanes[step] |= waiting.alive[slot]
            kept += 1
    if kept < places.size[step] and steps.kind[step] == HEAP:
        places.size[step] = kept
        for place in range(kept // 2 - 1, -1, -1):
            sink(places, waiting, step, place)
    places.size[step] = kept


@compiled_inline
def _wait(fold: Fold, new: int) -> int:
    """Let a fresh prefix wait at its step."""
    steps, places, waiting, fresh = fold.steps, fold.places, fold.waiting, fold.fresh
    step = fresh.step[new]
    if steps.contiguous:
        touch(places, step)
    if steps.kind[step] == PILE:
        return int(_join_pile(fold, new, step))
    places.lanes[step] |= fresh.alive[new]
    if steps.kind[step] == HEAP:
        fresh.key[new], fresh.known[new] = order_key(fold, step, fresh.row[new])
        if places.size[step]:
            top = places.slot[step, 0]
            if fresh.known[new] and waiting.known[top] and waiting.key[top] == fresh.key[new]:
                return int(_put(steps, waiting, top, fresh, new))
    if places.size[step] == places.slot.shape[1]:
        return FULL
    if places.count[1]:
        places.count[1] -= 1
        slot = places.spare[places.count[1]]
    elif places.count[2] == waiting.alive.shape[0]:
        return FULL
    else:
        slot = places.count[2]
        places.count[2] += 1
    waiting.alive[slot], waiting.gone[slot] = 0, False
    waiting.row[slot], waiting.key[slot], waiting.known[slot] = (
        fresh.row[new],
        fresh.key[new],
        fresh.known[new],
    )
    places.slot[step, places.size[step]] = slot
    places.size[step] += 1
    if steps.kind[step] == HEAP:
        _rise(places, waiting, step, places.size[step] - 1)
    return int(_put(steps, waiting, slot, fresh, new))


@compiled_inline
def order_key(fold: Fold, step: int, row: int) -> Any:
    """(what the heap of a step puts a prefix in order by that ends with an event, whether it is known)"""
    key = fold.pairs.integers[fold.steps.key[step]][row]
    known = fold.pairs.integer_valid[fold.steps.key[step]][row]
    return ~key if fold.steps.falling[step] else key, known


@compiled_inline
def most_taken(fold: Fold, edge: int, row: int) -> Any:
    """(the largest key that an event takes from a heap, whether it takes any)"""
    steps, pairs = fold.steps, fold.pairs
    at = pairs.starts[steps.edge_condition[edge]]
    operation, newer = pairs.code[at, 0], pairs.code[at, 2]
    key, known = pairs.integers[newer, row], pairs.integer_valid[newer, row]
    if steps.falling[steps.edge_source[edge]]:
        key = ~key
    if operation in (Operation.REQUIRE_LESS, Operation.REQUIRE_GREATER):
        known = known and key != -(2**63)
        key -= known
    return key, known


@compiled_inline
def _join_pile(fold: Fold, new: int, step: int) -> int:
    """The same at a step where all waits as one."""
    places = fold.places
    places.count[3] += not fold.waiting.alive[step] and not places.begun[step]
    if fold.steps.counted[step]:
        places.begun[step] += 1
        return int(DONE)
    return int(_put(fold.steps, fold.waiting, step, fold.fresh, new))


@compiled_inline
def _put(steps: Steps, waiting: Prefixes, slot: int, fresh: Prefixes, new: int) -> int:
    """Add a fresh prefix to what waits in a slot."""
    if waiting.alive[slot]:
        fits = add_all(steps, waiting, slot, fresh, new)
        waiting.alive[slot] |= fresh.alive[new]
        return DONE if fits else LOST
    waiting.alive[slot] = fresh.alive[new]
    copy_all(waiting, slot, fresh, new)
    return DONE


@compiled_inline
def _spare(places: Places, slot: int) -> None:
    places.spare[places.count[1]] = slot
    places.count[1] += 1


@compiled_inline
def _first(waiting: Prefixes, one: int, other: int) -> bool:
    """Whether a prefix goes before another in a heap."""
    if not waiting.known[one]:
        return False
    return bool(not waiting.known[other] or waiting.key[one] < waiting.key[other])


@compiled_inline
def _rise(places: Places, waiting: Prefixes, step: int, place: int) -> None:
    while place > 0:
        above = (place - 1) // 2
        one, other = places.slot[step, place], places.slot[step, above]
        if not _first(waiting, one, other):
            return
        places.slot[step, place], places.slot[step, above] = other, one
        place = above


@compiled_inline
def sink(places: Places, waiting: Prefixes, step: int, place: int) -> None:
    """Put a prefix of a heap below those that go before it."""
    size = places.size[step]
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _first(waiting, places.slot[step, below + 1], places.slot[step, below]):
            below += 1
        one, other = places.slot[step, below], places.slot[step, place]
        if not _first(waiting, one, other):
            return
        places.slot[step, place], places.slot[step, below] = one, other
        place = below
