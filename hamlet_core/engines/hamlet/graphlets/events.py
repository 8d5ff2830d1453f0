"""Events of graphlets: what an event is to the members of a group that share, and to those that go alone.

A lane is a symbolic input; an event's coefficients say how often each lane enters its total (HAMLET, SIGMOD 2021,
section 3). `snapshots.py` has the lanes and their values.
"""

from __future__ import annotations

from hamlet_core.engines.hamlet.automaton.conditions import holds
from hamlet_core.engines.hamlet.automaton.paths import add_moves, bind, load_values, tell_readers
from hamlet_core.engines.hamlet.automaton.trees import EQUAL, leaf_of, reach_of
from hamlet_core.engines.hamlet.graphlets.settings import SharingState
from hamlet_core.engines.hamlet.graphlets.signatures import agreement, matches
from hamlet_core.engines.hamlet.graphlets.snapshots import (
    EVENT,
    evaluate,
    keep_values,
    make_inputs,
    new_lane,
)
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.input.reading import row_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get, put
from hamlet_core.engines.hamlet.numbers.arenas import Arena, Values
from hamlet_core.engines.hamlet.numbers.semiring import add_product, multiply, one
from hamlet_core.engines.hamlet.numbers.vectors import add_leaves, add_run, add_to_leaf, copy_run, zero_run
from hamlet_core.engines.hamlet.program.layout import (
    ALL,
    BY_TOTAL,
    C_CONDITION,
    C_FIELDS,
    C_KIND,
    C_LANES,
    G_BLOCK,
    G_FIELDS,
    G_INPUTS,
    G_KIND,
    G_LANE_AT,
    G_MEMBER_AT,
    G_MEMBERS,
    G_RUNNING,
    G_SIZE,
    G_UNIT,
    GROUP_FIELDS,
    M_CLASS_ADDRESS,
    M_CLASS_SIZE,
    M_COEFFICIENTS,
    M_GROUP,
    M_LANE_SET,
    M_LINE,
    M_LONGEST,
    M_SET_OF,
    NOBODY,
    P_ASKED,
    P_BASE,
    P_CLASS,
    P_COLUMNS,
    P_FACTORS,
    P_FED,
    P_GROUP,
    P_LOOPS,
    P_MEMBERS,
    P_SUMS,
    SOME,
    X_ALONE,
    X_EVENTS,
    X_FED,
    X_GATHERED,
    X_LANES,
    X_PENDING,
    X_SETS,
    X_STRIDE,
)
from hamlet_core.predicates.pair_tables import PairTables


@compiled_part
def gather_shared(
    arena: Arena,
    plan: Packed,
    values: Values,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    group: int,
    event: int,
    slot: int,
) -> None:
    """At `slot`: the elements of members that go alone, then the coefficients of the event on every lane."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    block, unit, lanes = plan[about + G_BLOCK], plan[about + G_UNIT], memo[state + X_LANES]
    own = slot + plan[about + G_SIZE]
    memo[state + X_GATHERED] = lanes
    make_inputs(arena, plan, memo, group)
    copy_run(arena, own, plan[about + G_INPUTS], lanes * unit)
    if plan[about + G_KIND] == BY_TOTAL:
        add_run(arena, own, plan[about + G_RUNNING], lanes * unit)
    if memo[state + X_ALONE] > 0:
        copy_run(arena, slot, get(plan, P_BASE, block), plan[about + G_SIZE])
        if plan[about + G_KIND] == BY_TOTAL:
            add_moves(arena, plan, plan[P_LOOPS] + block, slot)
    if plan[about + G_KIND] != BY_TOTAL:
        _ask(arena, plan, memo, events, pairs, group, event, slot)
    load_values(arena, plan, values, block, row_of(events, event))
    bind_lanes(arena, plan, group, own, lanes)
    how = agreement(plan, events, group, event)
    if memo[state + X_ALONE] > 0:
        bind(arena, plan, block, slot)
    if how != ALL:
        _differ(arena, plan, memo, events, group, event, slot)


@compiled_inline
def bind_lanes(arena: Arena, plan: Packed, group: int, own: int, lanes: int) -> None:
    """What the event adds to the trends that took it, on every lane."""
    unit = get(plan, P_GROUP, group * G_FIELDS + G_UNIT)
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
def _differ(
    arena: Arena, plan: Packed, memo: Packed, events: Events, group: int, event: int, slot: int
) -> None:
    """Not every member matches: sets that differ get values in the block instead of coefficients, others nothing."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    unit, own = plan[about + G_UNIT], slot + plan[about + G_SIZE]
    for label in range(memo[state + X_SETS]):
        how = _agreement_of(plan, memo, events, group, label, event)
        if how == SOME:
            evaluate(arena, plan, memo, group, own, slot, label)
        if how != ALL:
            for lane in range(memo[state + X_LANES]):
                if get(memo, M_LANE_SET, plan[about + G_LANE_AT] + lane) == label:
                    zero_run(arena, own + lane * unit, unit)
    members = get(plan, P_MEMBERS, group)
    for member in range(plan[about + G_MEMBERS]):
        if not matches(plan, events, group, member, event):
            zero_run(arena, slot + plan[members + 3 * member], plan[members + 3 * member + 1])


@compiled_part
def _agreement_of(plan: Packed, memo: Packed, events: Events, group: int, label: int, event: int) -> int:
    """Whether an event matches no member of a set, all of them, or some."""
    about = plan[P_GROUP] + group * G_FIELDS
    size = hits = 0
    for member in range(plan[about + G_MEMBERS]):
        if get(memo, M_SET_OF, plan[about + G_MEMBER_AT] + member) == label:
            size += 1
            hits += matches(plan, events, group, member, event)
    if hits == 0:
        return NOBODY
    return ALL if hits == size else SOME


@compiled_inline
def _ask(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    group: int,
    event: int,
    slot: int,
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
        coefficients, address = get(memo, M_COEFFICIENTS, number), get(memo, M_CLASS_ADDRESS, number)
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
            members = get(plan, P_MEMBERS, group)
            for member in range(plan[about + G_MEMBERS]):
                if get(memo, M_SET_OF, plan[about + G_MEMBER_AT] + member) < 0:
                    offset, width = plan[members + 3 * member], plan[members + 3 * member + 1]
                    add_leaves(arena, slot + offset, address + offset, width, lanes, leaves)


@compiled_part
def _scan(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    group: int,
    number: int,
    event: int,
    slot: int,
) -> None:
    """Add what a scan finds of the older events that this one may follow."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    own, wide = slot + plan[about + G_SIZE], memo[state + X_LANES] * plan[about + G_UNIT]
    kept, stride = plan[P_CLASS] + number * C_FIELDS, memo[state + X_STRIDE]
    coefficients, address = get(memo, M_COEFFICIENTS, number), get(memo, M_CLASS_ADDRESS, number)
    line, row = memo[M_LINE] + number * memo[M_LONGEST], row_of(events, event)
    for place in range(get(memo, M_CLASS_SIZE, number)):
        if holds(pairs, plan[kept + C_CONDITION], row_of(events, memo[line + place]), row):
            add_run(arena, own, coefficients + place * stride, wide)
            _add_alone(arena, plan, memo, group, slot, address + place * plan[kept + C_LANES])


@compiled_part
def _add_alone(arena: Arena, plan: Packed, memo: Packed, group: int, target: int, source: int) -> None:
    """Numbers of members that go alone += those of another block."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if memo[state + X_ALONE] == 0:
        return
    members = get(plan, P_MEMBERS, group)
    for member in range(plan[about + G_MEMBERS]):
        if get(memo, M_SET_OF, plan[about + G_MEMBER_AT] + member) < 0:
            offset = plan[members + 3 * member]
            add_run(arena, target + offset, source + offset, plan[members + 3 * member + 1])


@compiled_part
def commit_shared(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    sharing: SharingState,
    group: int,
    event: int,
    slot: int,
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
            if get(memo, M_SET_OF, plan[about + G_MEMBER_AT] + plan[at]) < 0:
                add_run(arena, plan[at + 1], slot + plan[at + 2], plan[at + 3])
        tell_readers(plan, memo, plan[about + G_BLOCK])
    if plan[about + G_KIND] != BY_TOTAL:
        _feed(arena, plan, memo, events, pairs, group, event, slot)
        memo[state + X_FED] += 1
    memo[state + X_EVENTS] += 1
    memo[state + X_PENDING] = 1


@compiled_part
def _new_lanes(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    sharing: SharingState,
    group: int,
    event: int,
    slot: int,
) -> None:
    """A lane for the event in each set that differs on it; its coefficients are those lanes alone."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    unit, own = plan[about + G_UNIT], slot + plan[about + G_SIZE]
    for label in range(memo[state + X_SETS]):
        if _agreement_of(plan, memo, events, group, label, event) == SOME:
            lane = new_lane(arena, plan, memo, sharing, group, label, EVENT)
            keep_values(arena, plan, memo, group, label, lane, slot)
            zero_run(arena, own + lane * unit, unit)
            one(arena, own + lane * unit)


@compiled_inline
def _feed(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    group: int,
    event: int,
    slot: int,
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
        coefficients, address = get(memo, M_COEFFICIENTS, number), get(memo, M_CLASS_ADDRESS, number)
        lanes, size = plan[kept + C_LANES], get(memo, M_CLASS_SIZE, number)
        if plan[kept + C_KIND] < 0:
            copy_run(arena, coefficients + size * stride, own, wide)
            zero_run(arena, address + size * lanes, lanes)
            _add_alone(arena, plan, memo, group, address + size * lanes, slot)
            put(memo, M_LINE, number * memo[M_LONGEST] + size, event)
            put(memo, M_CLASS_SIZE, number, size + 1)
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
            members = get(plan, P_MEMBERS, group)
            for member in range(plan[about + G_MEMBERS]):
                if get(memo, M_SET_OF, plan[about + G_MEMBER_AT] + member) < 0:
                    offset, width = plan[members + 3 * member], plan[members + 3 * member + 1]
                    add_to_leaf(arena, address + offset, slot + offset, width, lanes, leaf, size)
