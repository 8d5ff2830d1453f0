"""Shared events that match all members, in one tree."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.automaton.own_tree import through_tree
from hamlet_core.engines.hamlet.automaton.trees import AT_LEAST, AT_MOST, EQUAL, GREATER
from hamlet_core.engines.hamlet.graphlets.snapshots import whole_vectors
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.arenas import Arena
from hamlet_core.engines.hamlet.program.layout import (
    C_FIELDS,
    C_KIND,
    C_LEFT,
    C_RIGHT,
    G_BLOCK,
    G_CODE,
    G_FIELDS,
    G_INPUTS,
    G_RUNNING,
    GROUP_FIELDS,
    M_CLASS_RANK,
    M_CLASS_SIZE,
    M_COEFFICIENTS,
    M_GROUP,
    P_ASKED,
    P_CLASS,
    P_GROUP,
    P_KEPT,
    X_LANES,
    X_STRIDE,
)
from hamlet_core.predicates.pair_tables import PairTables

_unsigned: Any = np.uint64


@compiled_part
def fold_ordered(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    group: int,
    begin: int,
    stop: int,
    own: int,
) -> int:
    """Fold events of a burst that match all members, alone at their time, as far as they come; the first other one.

    All members share, and `is_ordered`; at `own` is room for an event.
    """
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    code, lanes, stride = plan[about + G_CODE], memo[state + X_LANES], memo[state + X_STRIDE]
    inputs, running = plan[about + G_INPUTS], plan[about + G_RUNNING]
    number = plan[get(plan, P_ASKED, plan[about + G_BLOCK])]
    kept = plan[P_CLASS] + number * C_FIELDS
    size, tree, wide = (
        get(memo, M_CLASS_SIZE, number),
        get(memo, M_COEFFICIENTS, number),
        whole_vectors(lanes),
    )
    ranks, valid = get(memo, M_CLASS_RANK, number), pairs.integer_valid[plan[kept + C_LEFT]]
    down, itself = plan[kept + C_KIND] in (GREATER, AT_LEAST), plan[kept + C_KIND] in (AT_MOST, AT_LEAST)
    first, last = get(plan, P_KEPT, group), get(plan, P_KEPT, group + 1)
    event: int = begin
    while event < stop and events.code[_unsigned(event)] == code:
        if event + 1 < stop and events.time[_unsigned(event + 1)] == events.time[_unsigned(event)]:
            break
        every = valid[_unsigned(row_of(events, _unsigned(event)))]
        for at in range(first, last, 2):
            every = every and (~events.bits[event, plan[at]] & np.uint64(plan[at + 1])) == np.uint64(0)
        if not every:
            break
        place = memo[_unsigned(ranks + event)]
        leaf = size - place if down else place + 1
        leaves = leaf if itself else leaf - 1
        through_tree(arena, own, inputs, running, tree, wide, stride, leaves, leaf, size)
        event += 1
    return event


@compiled_part
def is_ordered(plan: Packed, group: int) -> bool:
    """Whether events of a group, which add no attribute, find older ones in one tree, by comparing an attribute with itself."""
    asked = plan[P_ASKED] + get(plan, P_GROUP, group * G_FIELDS + G_BLOCK)
    if plan[asked + 1] != plan[asked] + 3:
        return False
    kept = plan[P_CLASS] + plan[plan[asked]] * C_FIELDS
    return plan[kept + C_KIND] > EQUAL and plan[kept + C_LEFT] == plan[kept + C_RIGHT]  # type: ignore[no-any-return]
