"""Types whose events find older ones in one tree, that of their own type: a run of them takes a way without tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.automaton.own_tree import through_tree
from hamlet_core.engines.hamlet.automaton.paths import bind, load_values, make_base, tell_readers
from hamlet_core.engines.hamlet.automaton.trees import AT_LEAST, AT_MOST, GREATER
from hamlet_core.engines.hamlet.graphlets.settings import SharingState
from hamlet_core.engines.hamlet.graphlets.snapshots import flush
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.arenas import Arena, Values
from hamlet_core.engines.hamlet.numbers.vectors import add_leaves, add_run, add_to_leaf, copy_run
from hamlet_core.engines.hamlet.program.layout import (
    C_FIELDS,
    C_KIND,
    C_LEFT,
    ENDS_BURSTS,
    M_CLASS_ADDRESS,
    M_CLASS_RANK,
    M_CLASS_SIZE,
    M_DIRTY,
    M_SLOTS,
    P_ASKED,
    P_BASE,
    P_CLASS,
    P_CODES,
    P_GROUPS,
    P_LOADS,
    P_ORDERED,
    P_ORDERED_KEPT,
    P_SIZE,
    P_TOTALS,
    P_TOUCHED,
)
from hamlet_core.predicates.pair_tables import PairTables

_unsigned: Any = np.uint64


@compiled_inline
def is_ordered(plan: Packed, events: Events, event: int) -> bool:
    """Whether a run may begin with an event."""
    code = events.code[event]
    return code >= 0 and get(plan, P_ORDERED, code) >= 0  # type: ignore[no-any-return]


@compiled_part
def fold_ordered_run(
    arena: Arena,
    plan: Packed,
    values: Values,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    sharing: SharingState | None,
    begin: int,
    last: int,
) -> int:
    """Fold events of one type, alone at their times, that all positions of its block bind; where the first other one is.

    That may be `begin`, the first of its time stamp. Events that nobody reads are passed over.
    """
    code = events.code[begin]
    block, own = get(plan, P_ORDERED, code), memo[M_SLOTS]
    number, running = plan[get(plan, P_ASKED, block)], plan[get(plan, P_TOTALS, block)]
    kept, wide = plan[P_CLASS] + number * C_FIELDS, get(plan, P_SIZE, block)
    tree, size = get(memo, M_CLASS_ADDRESS, number), get(memo, M_CLASS_SIZE, number)
    ranks, valid = get(memo, M_CLASS_RANK, number), pairs.integer_valid[plan[kept + C_LEFT]]
    down, itself = plan[kept + C_KIND] in (GREATER, AT_LEAST), plan[kept + C_KIND] in (AT_MOST, AT_LEAST)
    bare, base = get(plan, P_LOADS, block) == get(plan, P_LOADS, block + 1), get(plan, P_BASE, block)
    first, end = get(plan, P_ORDERED_KEPT, code), get(plan, P_ORDERED_KEPT, code + 1)
    event: int = begin
    begun = False
    while event < last:
        if events.code[_unsigned(event)] < 0:
            event += 1
            continue
        if events.code[_unsigned(event)] != code:
            break
        if event + 1 < last and events.time[_unsigned(event + 1)] == events.time[_unsigned(event)]:
            break
        row = row_of(events, event)
        every = valid[_unsigned(row)]
        for at in range(first, end, 2):
            every = every and (~events.bits[event, plan[at]] & np.uint64(plan[at + 1])) == np.uint64(0)
        if not every:
            break
        if not begun:
            begun = True
            _begin(arena, plan, memo, sharing, block, code)
        place = memo[_unsigned(ranks + event)]
        leaf = size - place if down else place + 1
        leaves = leaf if itself else leaf - 1
        if bare:
            through_tree(arena, own, base, running, tree, wide, wide, leaves, leaf, size)
        else:
            copy_run(arena, own, base, wide)
            add_leaves(arena, own, tree, wide, wide, leaves)
            load_values(arena, plan, values, block, row)
            bind(arena, plan, block, own)
            add_run(arena, running, own, wide)
            add_to_leaf(arena, tree, own, wide, wide, leaf, size)
        event += 1
    if begun:
        tell_readers(plan, memo, block)
    return event


@compiled_part
def _begin(
    arena: Arena, plan: Packed, memo: Packed, sharing: SharingState | None, block: int, code: int
) -> None:
    """Bursts of other types end, and what may begin here is gathered."""
    if sharing is not None:
        for group in range(plan[P_GROUPS]):
            if get(plan, P_TOUCHED, group * plan[P_CODES] + code) & ENDS_BURSTS:
                flush(arena, plan, memo, group)
    if get(memo, M_DIRTY, block):
        make_base(arena, plan, memo, block)
