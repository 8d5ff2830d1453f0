"""Strands whose paths are trends: an event's block gathers what may precede it, and is then added to the totals."""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.compilation import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.event_gaps import push
from hamlet_core.engines.hamlet.event_layout import (
    M_DIRTY,
    M_SINCE,
    NONE,
    P_ALWAYS,
    P_ASKED,
    P_BASE,
    P_FED,
    P_INPUTS,
    P_LOADS,
    P_LOOPS,
    P_MASKS,
    P_QUEUED,
    P_READERS,
    P_RIDERS,
    P_SIZE,
    P_STARTS,
    P_TOTALS,
    P_WEIGHTS,
)
from hamlet_core.engines.hamlet.event_runs import add_run, copy_run, zero_run
from hamlet_core.engines.hamlet.event_state import has_bit
from hamlet_core.engines.hamlet.event_trees import ask, feed
from hamlet_core.engines.hamlet.numbers import add_product, load, multiply, one
from hamlet_core.engines.hamlet.slicing import row_of


@compiled_inline
def binds(plan: Any, events: Any, event: int) -> bool:
    """Whether some position binds the event."""
    code = events.code[event]
    if plan[plan[P_ALWAYS] + code]:
        return True
    masks = plan[P_MASKS] + code
    for at in range(plan[masks], plan[masks + 1], 3):  # noqa: SIM110 - compiled code has no any()
        if has_bit(events, event, plan[at + 2]):
            return True
    return False


@compiled_inline
def gather_block(
    arena: Any, plan: Any, values: Any, memo: Any, events: Any, pairs: Any, event: int, slot: int
) -> None:
    """Fill the block at `slot` with the elements of the event at every position of its type."""
    code = events.code[event]
    if memo[memo[M_DIRTY] + code]:
        _make_base(arena, plan, memo, code)
    copy_run(arena, slot, plan[plan[P_BASE] + code], plan[plan[P_SIZE] + code])
    _add_moves(arena, plan, plan[P_LOOPS] + code, slot)
    asked = plan[P_ASKED] + code
    for at in range(plan[asked], plan[asked + 1], 3):
        ask(arena, plan, memo, events, pairs, at, event, slot)
    masks = plan[P_MASKS] + code
    for at in range(plan[masks], plan[masks + 1], 3):
        if not has_bit(events, event, plan[at + 2]):
            zero_run(arena, slot + plan[at], plan[at + 1])
    _bind(arena, plan, values, code, row_of(events, event), slot)


@compiled_part
def _make_base(arena: Any, plan: Any, memo: Any, code: int) -> None:
    base, starts = plan[plan[P_BASE] + code], plan[P_STARTS] + code
    zero_run(arena, base, plan[plan[P_SIZE] + code])
    for at in range(plan[starts], plan[starts + 1], 2):
        if memo[memo[M_SINCE] + plan[at + 1]] == NONE:
            one(arena, base + plan[at])
    _add_moves(arena, plan, plan[P_INPUTS] + code, base)
    memo[memo[M_DIRTY] + code] = 0


@compiled_inline
def _add_moves(arena: Any, plan: Any, moves: int, block: int) -> None:
    for at in range(plan[moves], plan[moves + 1], 3):
        add_run(arena, block + plan[at + 1], plan[at], plan[at + 2])


@compiled_inline
def _bind(arena: Any, plan: Any, values: Any, code: int, row: int, slot: int) -> None:
    """What the event adds to the trends that took it."""
    loads, riders, weights = plan[P_LOADS] + code, plan[P_RIDERS] + code, plan[P_WEIGHTS] + code
    for at in range(plan[loads], plan[loads + 1], 2):
        load(arena, plan[at + 1], values, plan[at], row)
    for at in range(plan[riders], plan[riders + 1], 3):
        add_product(arena, slot + plan[at], slot + plan[at + 1], plan[at + 2])
    for at in range(plan[weights], plan[weights + 1], 2):
        multiply(arena, slot + plan[at], plan[at + 1])


@compiled_inline
def commit_block(arena: Any, plan: Any, memo: Any, events: Any, pairs: Any, event: int, slot: int) -> None:
    """Add the block at `slot` to all that later events read."""
    code = events.code[event]
    totals, queued = plan[P_TOTALS] + code, plan[P_QUEUED] + code
    fed, readers = plan[P_FED] + code, plan[P_READERS] + code
    for at in range(plan[totals], plan[totals + 1], 3):
        add_run(arena, plan[at], slot + plan[at + 1], plan[at + 2])
    for at in range(plan[queued], plan[queued + 1], 2):
        push(arena, plan, memo, plan[at], events.time[event], slot + plan[at + 1])
    for at in range(plan[fed], plan[fed + 1], 3):
        feed(arena, plan, memo, events, pairs, at, event, slot)
    for at in range(plan[readers], plan[readers + 1]):
        memo[memo[M_DIRTY] + plan[at]] = 1
