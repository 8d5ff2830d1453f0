"""Graphlets: a burst of one type folded once for the members of a group that share it, on snapshot lanes.

A lane is a symbolic input; an event's coefficients say how often each lane enters its total (HAMLET, SIGMOD 2021,
section 3). The values of lanes stand in a matrix [lane, number of the block]; when something reads the totals of
members, or their inputs change, coefficients are multiplied with it. Three kinds of lanes:

- *opening*: what a member had and got when the graphlet opened; a graphlet with running totals has one;
- *input*: where a tree or scan holds older events, a lane for each different input, whose coefficients are values, so
  that lanes do not grow with the number of bursts;
- *event*: members differ on an event, whose total is worked out for each and becomes a lane of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.compilation import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.event_choice import ALL, NONE, SCAN, SOME, TOTAL, agreement, matches
from hamlet_core.engines.hamlet.event_layout import (
    C_CONDITION,
    C_FIELDS,
    C_KIND,
    C_LANES,
    G_BLOCK,
    G_CODE,
    G_FIELDS,
    G_INPUTS,
    G_KIND,
    G_LANE_AT,
    G_MEMBER_AT,
    G_MEMBERS,
    G_NUMBER_AT,
    G_ROOM,
    G_RUNNING,
    G_SCRATCH,
    G_SIZE,
    G_SUMS,
    G_UNIT,
    GROUP_FIELDS,
    M_CLASS_ADDRESS,
    M_CLASS_SIZE,
    M_COEFFICIENTS,
    M_COUNTS,
    M_DIRTY,
    M_GROUP,
    M_LANE_INPUT,
    M_LANE_OF,
    M_LANE_SET,
    M_LINE,
    M_LONGEST,
    M_MARK,
    M_NEW_SET,
    M_SET_OF,
    P_ASKED,
    P_BASE,
    P_CLASS,
    P_COLUMNS,
    P_FACTORS,
    P_FED,
    P_GROUP,
    P_KEPT,
    P_LOADS,
    P_LOOPS,
    P_MEMBERS,
    P_NUMBERS,
    P_SUMS,
    X_ALONE,
    X_DIFFERING,
    X_EVENTS,
    X_FED,
    X_GATHERED,
    X_LANES,
    X_PENDING,
    X_PLANTED,
    X_SETS,
    X_STRIDE,
)
from hamlet_core.engines.hamlet.event_paths import add_moves, bind, load_values, make_base, tell_readers
from hamlet_core.engines.hamlet.event_runs import add_leaves, add_run, add_to_leaf, copy_run, zero_run
from hamlet_core.engines.hamlet.event_state import allocate
from hamlet_core.engines.hamlet.event_trees import EQUAL, leaf_of, reach_of
from hamlet_core.engines.hamlet.numbers import add, add_product, copy, multiply, one
from hamlet_core.engines.hamlet.pairs import holds
from hamlet_core.engines.hamlet.sharing_layout import N_LANES
from hamlet_core.engines.hamlet.slicing import row_of

SPARE = 6
"""Lanes that a tree has room for beside those it opens with, where members may differ; it is widened once."""

OPENING, EVENT = -1, -2
"""Instead of the offset of an input: what kind of lane it is."""

# --- lanes ---------------------------------------------------------------------------------------


@compiled_part
def _new_lane(arena: Any, plan: Any, memo: Any, sharing: Any, group: int, label: int, kind: int) -> int:
    """The number of a new lane of a set; its value is 0 for every member."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    lane, unit = memo[state + X_LANES], plan[about + G_UNIT]
    memo[memo[M_LANE_SET] + plan[about + G_LANE_AT] + lane] = label
    memo[memo[M_LANE_INPUT] + plan[about + G_LANE_AT] + lane] = kind
    memo[state + X_LANES] = lane + 1
    if kind < 0:
        zero_run(arena, plan[about + G_SUMS] + lane * plan[about + G_SIZE], plan[about + G_SIZE])
    zero_run(arena, plan[about + G_RUNNING] + lane * unit, unit)
    zero_run(arena, plan[about + G_INPUTS] + lane * unit, unit)
    sharing.count[N_LANES] += 1
    if plan[about + G_KIND] != TOTAL and (lane + 1) * unit > memo[state + X_STRIDE]:
        _widen(arena, plan, memo, group, plan[about + G_ROOM] * unit)
    return lane  # type: ignore[no-any-return]


@compiled_part
def _widen(arena: Any, plan: Any, memo: Any, group: int, stride: int) -> None:
    """Give the nodes of a group's trees, or the rows of its scans, room for so many coefficients."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    old, asked = memo[state + X_STRIDE], plan[P_ASKED] + plan[about + G_BLOCK]
    for at in range(plan[asked], plan[asked + 1], 3):
        number = plan[at]
        scans = plan[plan[P_CLASS] + number * C_FIELDS + C_KIND] < 0
        rows = memo[memo[M_COUNTS] + plan[about + G_CODE]] if scans else memo[memo[M_CLASS_SIZE] + number]
        address, before = allocate(memo, rows * stride), memo[memo[M_COEFFICIENTS] + number]
        zero_run(arena, address, rows * stride)
        for row in range(rows if old > 0 else 0):
            copy_run(arena, address + row * stride, before + row * old, old)
        memo[memo[M_COEFFICIENTS] + number] = address
    memo[state + X_STRIDE] = stride


@compiled_part
def open_sets(arena: Any, plan: Any, memo: Any, sharing: Any, group: int, sets: int) -> None:
    """Open a graphlet for each set of `M_NEW_SET`; nothing is pending."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    count, first = plan[about + G_MEMBERS], plan[about + G_MEMBER_AT]
    alone = 0
    for member in range(count):
        memo[memo[M_SET_OF] + first + member] = memo[memo[M_NEW_SET] + first + member]
        alone += memo[memo[M_SET_OF] + first + member] < 0
    memo[state + X_SETS], memo[state + X_ALONE], memo[state + X_LANES] = sets, alone, 0
    memo[state + X_EVENTS] = memo[state + X_FED] = 0
    for number in range(plan[about + G_SIZE]):
        memo[memo[M_LANE_OF] + plan[about + G_NUMBER_AT] + number] = -1
    if memo[memo[M_DIRTY] + plan[about + G_BLOCK]]:
        make_base(arena, plan, memo, plan[about + G_BLOCK])
    if plan[about + G_KIND] == TOTAL:
        _open_totals(arena, plan, memo, sharing, group, sets)
    else:
        _open_inputs(arena, plan, memo, sharing, group, sets)
        if alone > 0:
            plant_alone(arena, plan, memo, group)


@compiled_part
def _open_totals(arena: Any, plan: Any, memo: Any, sharing: Any, group: int, sets: int) -> None:
    """A lane for each set, whose values are what its members have and get."""
    about = plan[P_GROUP] + group * G_FIELDS
    block, size, scratch = plan[about + G_BLOCK], plan[about + G_SIZE], plan[about + G_SCRATCH]
    copy_run(arena, scratch, plan[plan[P_BASE] + block], size)
    add_moves(arena, plan, plan[P_LOOPS] + block, scratch)
    for label in range(sets):
        lane = _new_lane(arena, plan, memo, sharing, group, label, OPENING)
        _keep_values(arena, plan, memo, group, label, lane, scratch)


@compiled_part
def _keep_values(arena: Any, plan: Any, memo: Any, group: int, label: int, lane: int, block: int) -> None:
    """The values of a lane are what the members of its set have in a block; 0 for all others."""
    about = plan[P_GROUP] + group * G_FIELDS
    row, members = plan[about + G_SUMS] + lane * plan[about + G_SIZE], plan[plan[P_MEMBERS] + group]
    for member in range(plan[about + G_MEMBERS]):
        if memo[memo[M_SET_OF] + plan[about + G_MEMBER_AT] + member] == label:
            offset = plan[members + 3 * member]
            copy_run(arena, row + offset, block + offset, plan[members + 3 * member + 1])


@compiled_part
def _open_inputs(arena: Any, plan: Any, memo: Any, sharing: Any, group: int, sets: int) -> None:
    """A lane for each set and different input."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    first, unit = plan[about + G_NUMBER_AT], plan[about + G_UNIT]
    numbers, size = plan[plan[P_NUMBERS] + group], plan[about + G_SIZE]
    wanted = 0
    for label in range(sets):
        for number in range(size):
            memo[memo[M_MARK] + first + number] = -1
        for number in range(size):
            member, source = plan[numbers + 4 * number], plan[numbers + 4 * number + 2]
            if source >= 0 and memo[memo[M_SET_OF] + plan[about + G_MEMBER_AT] + member] == label:
                if memo[memo[M_MARK] + first + source] < 0:
                    memo[memo[M_MARK] + first + source] = wanted
                    wanted += 1
                memo[memo[M_LANE_OF] + first + number] = memo[memo[M_MARK] + first + source]
    memo[state + X_STRIDE] = 0
    spare = min(memo[state + X_DIFFERING], SPARE)
    _widen(arena, plan, memo, group, min(wanted + spare, plan[about + G_ROOM]) * unit)
    for label in range(sets):
        for number in range(size):
            member, source = plan[numbers + 4 * number], plan[numbers + 4 * number + 2]
            lane = memo[memo[M_LANE_OF] + first + number]
            mine = memo[memo[M_SET_OF] + plan[about + G_MEMBER_AT] + member] == label
            if mine and lane >= memo[state + X_LANES]:
                _new_lane(arena, plan, memo, sharing, group, label, source)


@compiled_part
def plant_alone(arena: Any, plan: Any, memo: Any, group: int) -> None:
    """Make the trees ready in which members that go alone keep their events; once a window."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if memo[state + X_PLANTED]:
        return
    memo[state + X_PLANTED] = 1
    asked = plan[P_ASKED] + plan[about + G_BLOCK]
    for at in range(plan[asked], plan[asked + 1], 3):
        kept = plan[P_CLASS] + plan[at] * C_FIELDS
        if plan[kept + C_KIND] >= 0:
            rows = memo[memo[M_CLASS_SIZE] + plan[at]]
            zero_run(arena, memo[memo[M_CLASS_ADDRESS] + plan[at]], rows * plan[kept + C_LANES])


# --- from coefficients to values -----------------------------------------------------------------


@compiled_part
def evaluate(arena: Any, plan: Any, memo: Any, group: int, coefficients: int, block: int, only: int) -> None:
    """Into a block: what members of the sets (`only` one of them, unless -1) have by these coefficients."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    size, unit, numbers = plan[about + G_SIZE], plan[about + G_UNIT], plan[plan[P_NUMBERS] + group]
    sets, lane_of = memo[M_SET_OF] + plan[about + G_MEMBER_AT], memo[M_LANE_OF] + plan[about + G_NUMBER_AT]
    for number in range(size):
        label = memo[sets + plan[numbers + 4 * number]]
        if label < 0 or (only >= 0 and label != only):
            continue
        first, column = plan[numbers + 4 * number + 1], plan[numbers + 4 * number + 3]
        zero_run(arena, block + number, 1)
        if memo[lane_of + number] >= 0:
            add(arena, block + number, coefficients + memo[lane_of + number] * unit)
        if column > 0 and memo[lane_of + first] >= 0:
            add(arena, block + number, coefficients + memo[lane_of + first] * unit + column)
    for lane in range(memo[state + X_LANES]):
        label = memo[memo[M_LANE_SET] + plan[about + G_LANE_AT] + lane]
        if memo[memo[M_LANE_INPUT] + plan[about + G_LANE_AT] + lane] >= 0 or (only >= 0 and label != only):
            continue
        row, count = plan[about + G_SUMS] + lane * size, coefficients + lane * unit
        for number in range(size):
            if memo[sets + plan[numbers + 4 * number]] != label:
                continue
            add_product(arena, block + number, count, row + number)
            column = plan[numbers + 4 * number + 3]
            if column > 0:
                add_product(arena, block + number, count + column, row + plan[numbers + 4 * number + 1])


@compiled_part
def flush(arena: Any, plan: Any, memo: Any, group: int) -> None:
    """Give members what their graphlets came to; those that keep no older events close."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if memo[state + X_PENDING]:
        scratch, sums = plan[about + G_SCRATCH], plan[P_SUMS] + group
        evaluate(arena, plan, memo, group, plan[about + G_RUNNING], scratch, -1)
        for at in range(plan[sums], plan[sums + 1], 4):
            if memo[memo[M_SET_OF] + plan[about + G_MEMBER_AT] + plan[at]] >= 0:
                add_run(arena, plan[at + 1], scratch + plan[at + 2], plan[at + 3])
        zero_run(arena, plan[about + G_RUNNING], memo[state + X_LANES] * plan[about + G_UNIT])
        tell_readers(plan, memo, plan[about + G_BLOCK])
        memo[state + X_PENDING] = 0
    if plan[about + G_KIND] == TOTAL:
        memo[state + X_SETS] = memo[state + X_LANES] = 0


@compiled_part
def dissolve(arena: Any, plan: Any, memo: Any, group: int) -> None:
    """Split: members go alone from here on, with values in place of coefficients; nothing is pending."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if plan[about + G_KIND] != TOTAL and memo[state + X_FED] > 0:
        plant_alone(arena, plan, memo, group)
        asked, scratch = plan[P_ASKED] + plan[about + G_BLOCK], plan[about + G_SCRATCH]
        for at in range(plan[asked], plan[asked + 1], 3):
            for row in range(memo[memo[M_CLASS_SIZE] + plan[at]]):
                coefficients = memo[memo[M_COEFFICIENTS] + plan[at]] + row * memo[state + X_STRIDE]
                evaluate(arena, plan, memo, group, coefficients, scratch, -1)
                lanes = plan[plan[P_CLASS] + plan[at] * C_FIELDS + C_LANES]
                _copy_shared(
                    arena, plan, memo, group, memo[memo[M_CLASS_ADDRESS] + plan[at]] + row * lanes, scratch
                )
    memo[state + X_SETS] = memo[state + X_LANES] = 0


@compiled_part
def _copy_shared(arena: Any, plan: Any, memo: Any, group: int, target: int, block: int) -> None:
    about, members = plan[P_GROUP] + group * G_FIELDS, plan[plan[P_MEMBERS] + group]
    for member in range(plan[about + G_MEMBERS]):
        if memo[memo[M_SET_OF] + plan[about + G_MEMBER_AT] + member] >= 0:
            offset = plan[members + 3 * member]
            copy_run(arena, target + offset, block + offset, plan[members + 3 * member + 1])


@compiled_part
def _make_inputs(arena: Any, plan: Any, memo: Any, group: int) -> None:
    """What an event gets on each lane from outside of the graphlet: 1, the value of an input, or nothing."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    block, unit, kinds = (
        plan[about + G_BLOCK],
        plan[about + G_UNIT],
        memo[M_LANE_INPUT] + plan[about + G_LANE_AT],
    )
    if memo[memo[M_DIRTY] + block]:
        make_base(arena, plan, memo, block)
    zero_run(arena, plan[about + G_INPUTS], memo[state + X_LANES] * unit)
    for lane in range(memo[state + X_LANES]):
        if memo[kinds + lane] >= 0:
            copy(arena, plan[about + G_INPUTS] + lane * unit, plan[plan[P_BASE] + block] + memo[kinds + lane])
        elif memo[kinds + lane] == OPENING:
            one(arena, plan[about + G_INPUTS] + lane * unit)


# --- bursts --------------------------------------------------------------------------------------


@compiled_part
def fold_burst(
    arena: Any,
    plan: Any,
    values: Any,
    memo: Any,
    events: Any,
    pairs: Any,
    sharing: Any,
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
    inputs, total = plan[about + G_INPUTS], plan[about + G_KIND] == TOTAL
    asked, fed = plan[P_ASKED] + block, plan[P_FED] + block
    simple = memo[state + X_ALONE] == 0 and plan[about + G_KIND] != SCAN
    bare = plan[plan[P_LOADS] + block] == plan[plan[P_LOADS] + block + 1]
    first_class, last_class = plan[asked], plan[asked + 1]
    kept, event, folded = plan[P_KEPT] + group, begin, 0
    _make_inputs(arena, plan, memo, group)
    while event < stop:
        if events.code[event] != code:
            event += 1
            continue
        every = simple and (event + 1 == stop or events.time[event + 1] != events.time[event])
        for at in range(plan[kept], plan[kept + 1], 2):
            every = every and (~events.bits[event, plan[at]] & np.uint64(plan[at + 1])) == np.uint64(0)
        if not every:
            event = _fold_stamp(
                arena, plan, values, memo, events, pairs, sharing, group, event, stop, slots, stride
            )
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
                coefficients = memo[memo[M_COEFFICIENTS] + number]
                if plan[plan[P_CLASS] + number * C_FIELDS + C_KIND] == EQUAL:
                    add_run(arena, own, coefficients + (leaves - 1) * memo[state + X_STRIDE], wide)
                else:
                    add_leaves(arena, own, coefficients, wide, memo[state + X_STRIDE], leaves)
        if not bare:
            load_values(arena, plan, values, block, row_of(events, event))
            _bind_lanes(arena, plan, group, own, lanes)
        add_run(arena, running, own, wide)
        for at in range(plan[fed], plan[fed + 1], 3):
            number = plan[at]
            leaf = leaf_of(plan, memo, events, pairs, number, event)
            if leaf > 0:
                coefficients = memo[memo[M_COEFFICIENTS] + number]
                if plan[plan[P_CLASS] + number * C_FIELDS + C_KIND] == EQUAL:
                    add_run(arena, coefficients + (leaf - 1) * memo[state + X_STRIDE], own, wide)
                else:
                    size = memo[memo[M_CLASS_SIZE] + number]
                    add_to_leaf(arena, coefficients, own, wide, memo[state + X_STRIDE], leaf, size)
        folded += 1
        event += 1
    if folded > 0:
        memo[state + X_EVENTS] += folded
        memo[state + X_FED] += folded
        memo[state + X_PENDING] = 1


@compiled_part
def _fold_stamp(
    arena: Any,
    plan: Any,
    values: Any,
    memo: Any,
    events: Any,
    pairs: Any,
    sharing: Any,
    group: int,
    begin: int,
    stop: int,
    slots: int,
    stride: int,
) -> int:
    """Fold the events of one time stamp in the general way; where the next begins."""
    code, end = plan[plan[P_GROUP] + group * G_FIELDS + G_CODE], begin
    while end < stop and events.time[end] == events.time[begin]:
        if events.code[end] == code and agreement(plan, events, group, end) != NONE:
            slot = slots + (end - begin) * stride
            gather_shared(arena, plan, values, memo, events, pairs, group, end, slot)
        end += 1
    for event in range(begin, end):
        if events.code[event] == code and agreement(plan, events, group, event) != NONE:
            slot = slots + (event - begin) * stride
            commit_shared(arena, plan, memo, events, pairs, sharing, group, event, slot)
    return end


# --- events --------------------------------------------------------------------------------------


@compiled_part
def gather_shared(
    arena: Any, plan: Any, values: Any, memo: Any, events: Any, pairs: Any, group: int, event: int, slot: int
) -> None:
    """At `slot`: the elements of members that go alone, then the coefficients of the event on every lane."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    block, unit, lanes = plan[about + G_BLOCK], plan[about + G_UNIT], memo[state + X_LANES]
    own = slot + plan[about + G_SIZE]
    memo[state + X_GATHERED] = lanes
    _make_inputs(arena, plan, memo, group)
    copy_run(arena, own, plan[about + G_INPUTS], lanes * unit)
    if plan[about + G_KIND] == TOTAL:
        add_run(arena, own, plan[about + G_RUNNING], lanes * unit)
    if memo[state + X_ALONE] > 0:
        copy_run(arena, slot, plan[plan[P_BASE] + block], plan[about + G_SIZE])
        if plan[about + G_KIND] == TOTAL:
            add_moves(arena, plan, plan[P_LOOPS] + block, slot)
    if plan[about + G_KIND] != TOTAL:
        _ask(arena, plan, memo, events, pairs, group, event, slot)
    load_values(arena, plan, values, block, row_of(events, event))
    _bind_lanes(arena, plan, group, own, lanes)
    how = agreement(plan, events, group, event)
    if memo[state + X_ALONE] > 0:
        bind(arena, plan, block, slot)
    if how != ALL:
        _differ(arena, plan, memo, events, group, event, slot)


@compiled_inline
def _bind_lanes(arena: Any, plan: Any, group: int, own: int, lanes: int) -> None:
    """What the event adds to the trends that took it, on every lane."""
    unit = plan[plan[P_GROUP] + group * G_FIELDS + G_UNIT]
    columns, factors = plan[P_COLUMNS] + group, plan[P_FACTORS] + group
    for lane in range(lanes):
        count = own + lane * unit
        column = 1
        for at in range(plan[columns], plan[columns + 1]):
            add_product(arena, count + column, count, plan[at])
            column += 1
        for at in range(plan[factors], plan[factors + 1]):
            multiply(arena, count, plan[at])


@compiled_part
def _differ(arena: Any, plan: Any, memo: Any, events: Any, group: int, event: int, slot: int) -> None:
    """Not every member matches: sets that differ get values in the block instead of coefficients, others nothing."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    unit, own = plan[about + G_UNIT], slot + plan[about + G_SIZE]
    for label in range(memo[state + X_SETS]):
        how = _agreement_of(plan, memo, events, group, label, event)
        if how == SOME:
            evaluate(arena, plan, memo, group, own, slot, label)
        if how != ALL:
            for lane in range(memo[state + X_LANES]):
                if memo[memo[M_LANE_SET] + plan[about + G_LANE_AT] + lane] == label:
                    zero_run(arena, own + lane * unit, unit)
    members = plan[plan[P_MEMBERS] + group]
    for member in range(plan[about + G_MEMBERS]):
        if not matches(plan, events, group, member, event):
            zero_run(arena, slot + plan[members + 3 * member], plan[members + 3 * member + 1])


@compiled_part
def _agreement_of(plan: Any, memo: Any, events: Any, group: int, label: int, event: int) -> int:
    """Whether an event matches no member of a set, all of them, or some."""
    about = plan[P_GROUP] + group * G_FIELDS
    size = hits = 0
    for member in range(plan[about + G_MEMBERS]):
        if memo[memo[M_SET_OF] + plan[about + G_MEMBER_AT] + member] == label:
            size += 1
            hits += matches(plan, events, group, member, event)
    if hits == 0:
        return NONE
    return ALL if hits == size else SOME


@compiled_inline
def _ask(
    arena: Any, plan: Any, memo: Any, events: Any, pairs: Any, group: int, event: int, slot: int
) -> None:
    """Add what trees and scans hold of the older events that this one may follow."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    own, wide, stride = (
        slot + plan[about + G_SIZE],
        memo[state + X_LANES] * plan[about + G_UNIT],
        memo[state + X_STRIDE],
    )
    asked = plan[P_ASKED] + plan[about + G_BLOCK]
    for at in range(plan[asked], plan[asked + 1], 3):
        number = plan[at]
        kept = plan[P_CLASS] + number * C_FIELDS
        coefficients, address = memo[memo[M_COEFFICIENTS] + number], memo[memo[M_CLASS_ADDRESS] + number]
        lanes = plan[kept + C_LANES]
        if plan[kept + C_KIND] < 0:
            _scan(arena, plan, memo, events, pairs, group, number, event, slot)
            continue
        leaves = reach_of(plan, memo, events, pairs, number, event)
        if leaves == 0:
            continue
        if plan[kept + C_KIND] == EQUAL:
            add_run(arena, own, coefficients + (leaves - 1) * stride, wide)
            _add_alone(arena, plan, memo, group, slot, address + (leaves - 1) * lanes)
            continue
        add_leaves(arena, own, coefficients, wide, stride, leaves)
        if memo[state + X_ALONE] > 0:
            members = plan[plan[P_MEMBERS] + group]
            for member in range(plan[about + G_MEMBERS]):
                if memo[memo[M_SET_OF] + plan[about + G_MEMBER_AT] + member] < 0:
                    offset, width = plan[members + 3 * member], plan[members + 3 * member + 1]
                    add_leaves(arena, slot + offset, address + offset, width, lanes, leaves)


@compiled_part
def _scan(
    arena: Any,
    plan: Any,
    memo: Any,
    events: Any,
    pairs: Any,
    group: int,
    number: int,
    event: int,
    slot: int,
) -> None:
    """Add what a scan finds of the older events that this one may follow."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    own, wide = slot + plan[about + G_SIZE], memo[state + X_LANES] * plan[about + G_UNIT]
    kept, stride = plan[P_CLASS] + number * C_FIELDS, memo[state + X_STRIDE]
    coefficients, address = memo[memo[M_COEFFICIENTS] + number], memo[memo[M_CLASS_ADDRESS] + number]
    line, row = memo[M_LINE] + number * memo[M_LONGEST], row_of(events, event)
    for place in range(memo[memo[M_CLASS_SIZE] + number]):
        if holds(pairs, plan[kept + C_CONDITION], row_of(events, memo[line + place]), row):
            add_run(arena, own, coefficients + place * stride, wide)
            _add_alone(arena, plan, memo, group, slot, address + place * plan[kept + C_LANES])


@compiled_part
def _add_alone(arena: Any, plan: Any, memo: Any, group: int, target: int, source: int) -> None:
    """Numbers of members that go alone += those of another block."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if memo[state + X_ALONE] == 0:
        return
    members = plan[plan[P_MEMBERS] + group]
    for member in range(plan[about + G_MEMBERS]):
        if memo[memo[M_SET_OF] + plan[about + G_MEMBER_AT] + member] < 0:
            offset = plan[members + 3 * member]
            add_run(arena, target + offset, source + offset, plan[members + 3 * member + 1])


@compiled_part
def commit_shared(
    arena: Any, plan: Any, memo: Any, events: Any, pairs: Any, sharing: Any, group: int, event: int, slot: int
) -> None:
    """Add the event, gathered at `slot`, to what its graphlets and the members that go alone hold."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    unit, own = plan[about + G_UNIT], slot + plan[about + G_SIZE]
    lanes = memo[state + X_LANES]
    if lanes > memo[state + X_GATHERED]:  # lanes of events with the same time
        zero_run(arena, own + memo[state + X_GATHERED] * unit, (lanes - memo[state + X_GATHERED]) * unit)
    if agreement(plan, events, group, event) == SOME:
        _new_lanes(arena, plan, memo, events, sharing, group, event, slot)
        lanes = memo[state + X_LANES]
    add_run(arena, plan[about + G_RUNNING], own, lanes * unit)
    if memo[state + X_ALONE] > 0:
        sums = plan[P_SUMS] + group
        for at in range(plan[sums], plan[sums + 1], 4):
            if memo[memo[M_SET_OF] + plan[about + G_MEMBER_AT] + plan[at]] < 0:
                add_run(arena, plan[at + 1], slot + plan[at + 2], plan[at + 3])
        tell_readers(plan, memo, plan[about + G_BLOCK])
    if plan[about + G_KIND] != TOTAL:
        _feed(arena, plan, memo, events, pairs, group, event, slot)
        memo[state + X_FED] += 1
    memo[state + X_EVENTS] += 1
    memo[state + X_PENDING] = 1


@compiled_part
def _new_lanes(
    arena: Any, plan: Any, memo: Any, events: Any, sharing: Any, group: int, event: int, slot: int
) -> None:
    """A lane for the event in each set that differs on it; its coefficients are those lanes alone."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    unit, own = plan[about + G_UNIT], slot + plan[about + G_SIZE]
    for label in range(memo[state + X_SETS]):
        if _agreement_of(plan, memo, events, group, label, event) == SOME:
            lane = _new_lane(arena, plan, memo, sharing, group, label, EVENT)
            _keep_values(arena, plan, memo, group, label, lane, slot)
            zero_run(arena, own + lane * unit, unit)
            one(arena, own + lane * unit)


@compiled_inline
def _feed(
    arena: Any, plan: Any, memo: Any, events: Any, pairs: Any, group: int, event: int, slot: int
) -> None:
    """Keep the event in trees and scans."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    own, wide, stride = (
        slot + plan[about + G_SIZE],
        memo[state + X_LANES] * plan[about + G_UNIT],
        memo[state + X_STRIDE],
    )
    fed = plan[P_FED] + plan[about + G_BLOCK]
    for at in range(plan[fed], plan[fed + 1], 3):
        number = plan[at]
        kept = plan[P_CLASS] + number * C_FIELDS
        coefficients, address = memo[memo[M_COEFFICIENTS] + number], memo[memo[M_CLASS_ADDRESS] + number]
        lanes, size = plan[kept + C_LANES], memo[memo[M_CLASS_SIZE] + number]
        if plan[kept + C_KIND] < 0:
            copy_run(arena, coefficients + size * stride, own, wide)
            zero_run(arena, address + size * lanes, lanes)
            _add_alone(arena, plan, memo, group, address + size * lanes, slot)
            memo[memo[M_LINE] + number * memo[M_LONGEST] + size] = event
            memo[memo[M_CLASS_SIZE] + number] = size + 1
            continue
        leaf = leaf_of(plan, memo, events, pairs, number, event)
        if leaf == 0:
            continue
        if plan[kept + C_KIND] == EQUAL:
            add_run(arena, coefficients + (leaf - 1) * stride, own, wide)
            _add_alone(arena, plan, memo, group, address + (leaf - 1) * lanes, slot)
            continue
        add_to_leaf(arena, coefficients, own, wide, stride, leaf, size)
        if memo[state + X_ALONE] > 0:
            members = plan[plan[P_MEMBERS] + group]
            for member in range(plan[about + G_MEMBERS]):
                if memo[memo[M_SET_OF] + plan[about + G_MEMBER_AT] + member] < 0:
                    offset, width = plan[members + 3 * member], plan[members + 3 * member + 1]
                    add_to_leaf(arena, address + offset, slot + offset, width, lanes, leaf, size)
