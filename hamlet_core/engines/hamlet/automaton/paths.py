"""Accumulators whose paths are trends: an event's block gathers what may precede it, and is then added to the totals."""

from __future__ import annotations

from hamlet_core.engines.hamlet.automaton.negation import push
from hamlet_core.engines.hamlet.automaton.trees import ask, feed
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import holds_bit, row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get, put
from hamlet_core.engines.hamlet.numbers.arenas import Arena, Values
from hamlet_core.engines.hamlet.numbers.semiring import add_product, load, multiply, one
from hamlet_core.engines.hamlet.numbers.vectors import add_run, copy_run, zero_run
from hamlet_core.engines.hamlet.program.layout import (
    M_DIRTY,
    M_OPENED,
    M_SINCE,
    P_ALWAYS,
    P_ASKED,
    P_ATTRIBUTE_SUMS,
    P_BASE,
    P_FED,
    P_GROUP_OF,
    P_INPUTS,
    P_LOADS,
    P_LOOPS,
    P_MASKS,
    P_QUEUED,
    P_READERS,
    P_SIZE,
    P_STARTS,
    P_TOTALS,
    P_UNITS,
    P_WEIGHTS,
)
from hamlet_core.predicates.pair_tables import PairTables


@compiled_inline
def binds(plan: Packed, events: Events, event: int) -> bool:
    """Whether some position binds the event; groups look for themselves."""
    units = plan[P_UNITS] + events.code[event]
    for unit in range(plan[units], plan[units + 1]):
        if get(plan, P_GROUP_OF, plan[unit]) >= 0 or block_binds(plan, events, plan[unit], event):
            return True
    return False


@compiled_inline
def block_binds(plan: Packed, events: Events, block: int, event: int) -> bool:
    """Whether some position of a block binds the event."""
    if get(plan, P_ALWAYS, block):
        return True
    masks = plan[P_MASKS] + block
    for at in range(plan[masks], plan[masks + 1], 3):  # noqa: SIM110 - compiled code has no any()
        if holds_bit(events, event, plan[at + 2]):
            return True
    return False


@compiled_inline
def gather_block(
    arena: Arena,
    plan: Packed,
    values: Values,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    block: int,
    event: int,
    slot: int,
) -> None:
    """Fill a block, at `slot`, with the elements of the event at its positions."""
    if get(memo, M_DIRTY, block):
        make_base(arena, plan, memo, block)
    copy_run(arena, slot, get(plan, P_BASE, block), get(plan, P_SIZE, block))
    add_moves(arena, plan, plan[P_LOOPS] + block, slot)
    asked = plan[P_ASKED] + block
    for at in range(plan[asked], plan[asked + 1], 3):
        ask(arena, plan, memo, events, pairs, at, event, slot)
    masks = plan[P_MASKS] + block
    for at in range(plan[masks], plan[masks + 1], 3):
        if not holds_bit(events, event, plan[at + 2]):
            zero_run(arena, slot + plan[at], plan[at + 1])
    load_values(arena, plan, values, block, row_of(events, event))
    bind(arena, plan, block, slot)


@compiled_part
def make_base(arena: Arena, plan: Packed, memo: Packed, block: int) -> None:
    """The inputs of a block that no event of its own type changes."""
    base, starts = get(plan, P_BASE, block), plan[P_STARTS] + block
    zero_run(arena, base, get(plan, P_SIZE, block))
    for at in range(plan[starts], plan[starts + 1], 3):
        if get(memo, M_SINCE, plan[at + 1]) < get(memo, M_OPENED, plan[at + 2]):
            one(arena, base + plan[at])
    add_moves(arena, plan, plan[P_INPUTS] + block, base)
    put(memo, M_DIRTY, block, 0)


@compiled_inline
def add_moves(arena: Arena, plan: Packed, moves: int, block: int) -> None:
    """Add the totals that the plan names at `moves` to a block."""
    for at in range(plan[moves], plan[moves + 1], 3):
        add_run(arena, block + plan[at + 1], plan[at], plan[at + 2])


@compiled_inline
def load_values(arena: Arena, plan: Packed, values: Values, block: int, row: int) -> None:
    """Put the attributes at hand that positions of a block add."""
    loads = plan[P_LOADS] + block
    for at in range(plan[loads], plan[loads + 1], 2):
        load(arena, plan[at + 1], values, plan[at], row)


@compiled_inline
def bind(arena: Arena, plan: Packed, block: int, slot: int) -> None:
    """What the event adds to the trends that took it."""
    attribute_sums, weights = plan[P_ATTRIBUTE_SUMS] + block, plan[P_WEIGHTS] + block
    for at in range(plan[attribute_sums], plan[attribute_sums + 1], 3):
        add_product(arena, slot + plan[at], slot + plan[at + 1], plan[at + 2])
    for at in range(plan[weights], plan[weights + 1], 2):
        multiply(arena, slot + plan[at], plan[at + 1])


@compiled_inline
def commit_block(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    block: int,
    event: int,
    slot: int,
) -> None:
    """Add a block, at `slot`, to all that later events read."""
    totals, queued, fed = plan[P_TOTALS] + block, plan[P_QUEUED] + block, plan[P_FED] + block
    for at in range(plan[totals], plan[totals + 1], 3):
        add_run(arena, plan[at], slot + plan[at + 1], plan[at + 2])
    for at in range(plan[queued], plan[queued + 1], 2):
        push(arena, plan, memo, plan[at], events.time[event], slot + plan[at + 1])
    for at in range(plan[fed], plan[fed + 1], 3):
        feed(arena, plan, memo, events, pairs, at, event, slot)
    tell_readers(plan, memo, block)


@compiled_inline
def tell_readers(plan: Packed, memo: Packed, block: int) -> None:
    """The totals of a block have changed."""
    readers = plan[P_READERS] + block
    for at in range(plan[readers], plan[readers + 1]):
        put(memo, M_DIRTY, plan[at], 1)
