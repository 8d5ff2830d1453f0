"""A shared burst in one loop: events that match everybody take a path without tables, all others the general one."""

from __future__ import annotations

import numpy as np

from hamlet_core.engines.hamlet.automaton.paths import load_values
from hamlet_core.engines.hamlet.automaton.trees import EQUAL, leaf_of, reach_of
from hamlet_core.engines.hamlet.graphlets.events import bind_lanes, commit_shared, gather_shared
from hamlet_core.engines.hamlet.graphlets.ordered import fold_ordered, is_ordered
from hamlet_core.engines.hamlet.graphlets.settings import SharingState
from hamlet_core.engines.hamlet.graphlets.signatures import agreement
from hamlet_core.engines.hamlet.graphlets.snapshots import (
    make_inputs,
)
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.arenas import Arena, Values
from hamlet_core.engines.hamlet.numbers.vectors import add_leaves, add_run, add_to_leaf, copy_run
from hamlet_core.engines.hamlet.program.layout import (
    BY_SCAN,
    BY_TOTAL,
    C_FIELDS,
    C_KIND,
    G_BLOCK,
    G_CODE,
    G_FIELDS,
    G_INPUTS,
    G_KIND,
    G_LONE,
    G_RUNNING,
    G_SIZE,
    G_UNIT,
    GROUP_FIELDS,
    M_CLASS_SIZE,
    M_COEFFICIENTS,
    M_GROUP,
    M_JUMP,
    NOBODY,
    P_ASKED,
    P_CLASS,
    P_FED,
    P_GROUP,
    P_KEPT,
    P_LOADS,
    X_ALONE,
    X_EVENTS,
    X_FED,
    X_LANES,
    X_PENDING,
    X_STRIDE,
)
from hamlet_core.predicates.pair_tables import PairTables


@compiled_part
def fold_burst(
    arena: Arena,
    plan: Packed,
    values: Values,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    sharing: SharingState,
    group: int,
    begin: int,
    stop: int,
    slots: int,
    stride: int,
) -> None:
    """Fold the events of a shared burst that no other type interrupts, time stamp by time stamp.

    Events that match all members, alone at their time, take a path without tables; all others the general one.
    """
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    code, block, own = plan[about + G_CODE], plan[about + G_BLOCK], slots + plan[about + G_SIZE]
    unit, running = plan[about + G_UNIT], plan[about + G_RUNNING]
    inputs, total = plan[about + G_INPUTS], plan[about + G_KIND] == BY_TOTAL
    asked, fed = plan[P_ASKED] + block, plan[P_FED] + block
    simple = memo[state + X_ALONE] == 0 and plan[about + G_KIND] != BY_SCAN
    bare = get(plan, P_LOADS, block) == get(plan, P_LOADS, block + 1)
    ordered = bare and not total and is_ordered(plan, group)
    first_class, last_class = plan[asked], plan[asked + 1]
    kept, event, folded, others = plan[P_KEPT] + group, begin, 0, False
    make_inputs(arena, plan, memo, group)
    while event < stop:
        if events.code[event] != code:
            others = others or events.code[event] >= 0
            event += 1
            continue
        every = simple and (event + 1 == stop or events.time[event + 1] != events.time[event])
        for at in range(plan[kept], plan[kept + 1], 2):
            every = every and (~events.bits[event, plan[at]] & np.uint64(plan[at + 1])) == np.uint64(0)
        if not every:
            first, event = (
                event,
                _fold_stamp(
                    arena, plan, values, memo, events, pairs, sharing, group, event, stop, slots, stride
                ),
            )
            for other in range(first, event):
                others = others or (events.code[other] != code and events.code[other] >= 0)
            continue
        if ordered:
            after = fold_ordered(arena, plan, memo, events, pairs, group, event, stop, own)
            if after > event:
                folded, event = folded + after - event, after
                continue
        lanes = memo[state + X_LANES]
        wide = lanes * unit
        copy_run(arena, own, inputs, wide)
        if total:
            add_run(arena, own, running, wide)
        for at in range(first_class, last_class, 3):
            number = plan[at]
            leaves = reach_of(plan, memo, events, pairs, number, event)
            if leaves > 0:
                coefficients = get(memo, M_COEFFICIENTS, number)
                if get(plan, P_CLASS, number * C_FIELDS + C_KIND) == EQUAL:
                    add_run(arena, own, coefficients + (leaves - 1) * memo[state + X_STRIDE], wide)
                else:
                    add_leaves(arena, own, coefficients, wide, memo[state + X_STRIDE], leaves)
        if not bare:
            load_values(arena, plan, values, block, row_of(events, event))
            bind_lanes(arena, plan, group, own, lanes)
        add_run(arena, running, own, wide)
        for at in range(plan[fed], plan[fed + 1], 3):
            number = plan[at]
            leaf = leaf_of(plan, memo, events, pairs, number, event)
            if leaf > 0:
                coefficients = get(memo, M_COEFFICIENTS, number)
                if get(plan, P_CLASS, number * C_FIELDS + C_KIND) == EQUAL:
                    add_run(arena, coefficients + (leaf - 1) * memo[state + X_STRIDE], own, wide)
                else:
                    size = get(memo, M_CLASS_SIZE, number)
                    add_to_leaf(arena, coefficients, own, wide, memo[state + X_STRIDE], leaf, size)
        folded += 1
        event += 1
    if plan[about + G_LONE] and not others:
        memo[M_JUMP] = stop
    if folded > 0:
        memo[state + X_EVENTS] += folded
        memo[state + X_FED] += 0 if total else folded
        memo[state + X_PENDING] = 1


@compiled_part
def _fold_stamp(
    arena: Arena,
    plan: Packed,
    values: Values,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    sharing: SharingState,
    group: int,
    begin: int,
    stop: int,
    slots: int,
    stride: int,
) -> int:
    """Fold the events of one time stamp in the general way; where the next begins."""
    code, end = get(plan, P_GROUP, group * G_FIELDS + G_CODE), begin
    while end < stop and events.time[end] == events.time[begin]:
        if events.code[end] == code and agreement(plan, events, group, end) != NOBODY:
            slot = slots + (end - begin) * stride
            gather_shared(arena, plan, values, memo, events, pairs, group, end, slot)
        end += 1
    for event in range(begin, end):
        if events.code[event] == code and agreement(plan, events, group, event) != NOBODY:
            slot = slots + (event - begin) * stride
            commit_shared(arena, plan, memo, events, pairs, sharing, group, event, slot)
    return end
