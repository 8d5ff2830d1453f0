"""Prefixes that wait one by one: heaps, in the order of the key that a condition compares, and lists."""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.jit.decorators import compiled_inline
from hamlet_core.engines.hamlet.prefixes.lanes.elements import leave, put
from hamlet_core.engines.hamlet.prefixes.lanes.tables import HEAP, Fold, Prefixes, Singles, Steps
from hamlet_core.engines.hamlet.prefixes.tables import FULL
from hamlet_core.predicates.pair_tables import Operation


@compiled_inline
def wait_by_itself(fold: Fold, singles: Singles, new: int, step: int) -> int:
    """Let a fresh prefix wait in the heap or list of its step: DONE, LOST or FULL."""
    steps, waiting, fresh = fold.steps, fold.waiting, fold.fresh
    singles.lanes[step] |= fresh.alive[new]
    if steps.kind[step] == HEAP:
        fresh.key[new], fresh.known[new] = order_key(fold, step, fresh.row[new])
        if singles.size[step]:
            top = singles.slot[step, 0]
            if fresh.known[new] and waiting.known[top] and waiting.key[top] == fresh.key[new]:
                return int(put(steps, waiting, top, fresh, new))
    if singles.size[step] == singles.slot.shape[1]:
        return FULL
    if singles.count[0]:
        singles.count[0] -= 1
        slot = singles.spare[singles.count[0]]
    elif singles.count[1] == waiting.alive.shape[0]:
        return FULL
    else:
        slot = singles.count[1]
        singles.count[1] += 1
    waiting.alive[slot], waiting.gone[slot] = 0, False
    waiting.row[slot], waiting.key[slot], waiting.known[slot] = (
        fresh.row[new],
        fresh.key[new],
        fresh.known[new],
    )
    singles.slot[step, singles.size[step]] = slot
    singles.size[step] += 1
    if steps.kind[step] == HEAP:
        _rise(singles, waiting, step, singles.size[step] - 1)
    return int(put(steps, waiting, slot, fresh, new))


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
def release(steps: Steps, singles: Singles, waiting: Prefixes, step: int, lanes: Any) -> None:
    """Of the prefixes of a heap or list keep those that something may still prolong, though not in some lanes."""
    if not lanes and steps.kind[step] == HEAP:
        while singles.size[step] and waiting.gone[singles.slot[step, 0]]:
            _spare(singles, singles.slot[step, 0])
            singles.size[step] -= 1
            singles.slot[step, 0] = singles.slot[step, singles.size[step]]
            sink(singles, waiting, step, 0)
        if not singles.size[step]:
            singles.lanes[step] = 0
        return
    kept = 0
    singles.lanes[step] = 0
    for place in range(singles.size[step]):
        slot = singles.slot[step, place]
        if lanes and waiting.alive[slot] & lanes:
            leave(steps, waiting, slot, lanes)
        if waiting.gone[slot] or not waiting.alive[slot]:
            _spare(singles, slot)
        else:
            singles.slot[step, kept] = slot
            singles.lanes[step] |= waiting.alive[slot]
            kept += 1
    if kept < singles.size[step] and steps.kind[step] == HEAP:
        singles.size[step] = kept
        for place in range(kept // 2 - 1, -1, -1):
            sink(singles, waiting, step, place)
    singles.size[step] = kept


@compiled_inline
def leave_all(singles: Singles, step: int) -> None:
    """Let nothing wait in the heap or list of a step any longer."""
    for place in range(singles.size[step]):
        _spare(singles, singles.slot[step, place])
    singles.size[step] = 0
    singles.lanes[step] = 0


@compiled_inline
def _spare(singles: Singles, slot: int) -> None:
    singles.spare[singles.count[0]] = slot
    singles.count[0] += 1


@compiled_inline
def _first(waiting: Prefixes, one: int, other: int) -> bool:
    """Whether a prefix goes before another in a heap."""
    if not waiting.known[one]:
        return False
    return bool(not waiting.known[other] or waiting.key[one] < waiting.key[other])


@compiled_inline
def _rise(singles: Singles, waiting: Prefixes, step: int, place: int) -> None:
    while place > 0:
        above = (place - 1) // 2
        one, other = singles.slot[step, place], singles.slot[step, above]
        if not _first(waiting, one, other):
            return
        singles.slot[step, place], singles.slot[step, above] = other, one
        place = above


@compiled_inline
def sink(singles: Singles, waiting: Prefixes, step: int, place: int) -> None:
    """Put a prefix of a heap below those that go before it."""
    size = singles.size[step]
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and _first(waiting, singles.slot[step, below + 1], singles.slot[step, below]):
            below += 1
        one, other = singles.slot[step, below], singles.slot[step, place]
        if not _first(waiting, one, other):
            return
        singles.slot[step, place], singles.slot[step, below] = one, other
        place = below
