"""Snapshot lanes of a graphlet: how they are made, and how coefficients become values again (HAMLET, section 3).

The values of lanes stand in a matrix [lane, number of the block]. Three kinds of lanes:

- *opening*: what a member had and got when the graphlet opened; a graphlet with running totals has one;
- *input*: where a tree or scan holds older events, a lane for each different input, whose coefficients are values, so
  that lanes do not grow with the number of bursts;
- *event*: members differ on an event, whose total is worked out for each and becomes a lane of its own.
"""

from __future__ import annotations

from hamlet_core.engines.hamlet.automaton.paths import add_moves, make_base, tell_readers
from hamlet_core.engines.hamlet.automaton.state import allocate
from hamlet_core.engines.hamlet.graphlets.settings import N_LANES, SharingState
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get, put
from hamlet_core.engines.hamlet.numbers.arenas import Arena
from hamlet_core.engines.hamlet.numbers.semiring import add, add_product, copy, one
from hamlet_core.engines.hamlet.numbers.vectors import add_run, add_times, copy_run, zero_run
from hamlet_core.engines.hamlet.program.layout import (
    BY_TOTAL,
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
    M_MARK,
    M_NEW_SET,
    M_SET_OF,
    P_ASKED,
    P_BASE,
    P_CLASS,
    P_GROUP,
    P_LOOPS,
    P_MEMBERS,
    P_NUMBERS,
    P_SUMS,
    X_ALONE,
    X_DIFFERING,
    X_EVENTS,
    X_FED,
    X_LANES,
    X_PENDING,
    X_PLANTED,
    X_SETS,
    X_STRIDE,
)

SPARE = 6
"""Lanes that a tree has room for beside those it opens with, where members may differ; it is widened once."""

OPENING, EVENT = -1, -2
"""Instead of the offset of an input: what kind of lane it is."""


@compiled_inline
def whole_vectors(numbers: int) -> int:
    """As many numbers, or a few more, as vectors of four hold."""
    return (numbers + 3) & -4


@compiled_part
def new_lane(
    arena: Arena, plan: Packed, memo: Packed, sharing: SharingState, group: int, label: int, kind: int
) -> int:
    """The number of a new lane of a set; its value is 0 for every member."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    lane, unit = memo[state + X_LANES], plan[about + G_UNIT]
    put(memo, M_LANE_SET, plan[about + G_LANE_AT] + lane, label)
    put(memo, M_LANE_INPUT, plan[about + G_LANE_AT] + lane, kind)
    memo[state + X_LANES] = lane + 1
    if kind < 0:
        zero_run(arena, plan[about + G_SUMS] + lane * plan[about + G_SIZE], plan[about + G_SIZE])
    zero_run(arena, plan[about + G_RUNNING] + lane * unit, unit)
    zero_run(arena, plan[about + G_INPUTS] + lane * unit, whole_vectors((lane + 1) * unit) - lane * unit)
    sharing.count[N_LANES] += 1
    if plan[about + G_KIND] != BY_TOTAL and (lane + 1) * unit >= memo[state + X_STRIDE]:
        _widen(arena, plan, memo, group, plan[about + G_ROOM] * unit)
    return lane  # type: ignore[no-any-return]


@compiled_part
def _widen(arena: Arena, plan: Packed, memo: Packed, group: int, stride: int) -> None:
    """Give the nodes of a group's trees, or the rows of its scans, room for so many coefficients.

    The stride is odd: nodes of the upper levels of a tree would else share a few lines of the cache.
    """
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    old, asked = memo[state + X_STRIDE], plan[P_ASKED] + plan[about + G_BLOCK]
    stride = whole_vectors(stride) + 1
    for at in range(plan[asked], plan[asked + 1], 3):
        number = plan[at]
        scans = get(plan, P_CLASS, number * C_FIELDS + C_KIND) < 0
        rows = get(memo, M_COUNTS, plan[about + G_CODE]) if scans else get(memo, M_CLASS_SIZE, number)
        address, before = allocate(memo, rows * stride), get(memo, M_COEFFICIENTS, number)
        zero_run(arena, address, rows * stride)
        for row in range(rows if old > 0 else 0):
            copy_run(arena, address + row * stride, before + row * old, old)
        put(memo, M_COEFFICIENTS, number, address)
    memo[state + X_STRIDE] = stride


@compiled_part
def open_sets(arena: Arena, plan: Packed, memo: Packed, sharing: SharingState, group: int, sets: int) -> None:
    """Open a graphlet for each set of `M_NEW_SET`; nothing is pending."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    count, first = plan[about + G_MEMBERS], plan[about + G_MEMBER_AT]
    alone = 0
    for member in range(count):
        put(memo, M_SET_OF, first + member, get(memo, M_NEW_SET, first + member))
        alone += get(memo, M_SET_OF, first + member) < 0
    memo[state + X_SETS], memo[state + X_ALONE], memo[state + X_LANES] = sets, alone, 0
    memo[state + X_EVENTS] = memo[state + X_FED] = 0
    for number in range(plan[about + G_SIZE]):
        put(memo, M_LANE_OF, plan[about + G_NUMBER_AT] + number, -1)
    if get(memo, M_DIRTY, plan[about + G_BLOCK]):
        make_base(arena, plan, memo, plan[about + G_BLOCK])
    if plan[about + G_KIND] == BY_TOTAL:
        _open_totals(arena, plan, memo, sharing, group, sets)
    else:
        _open_inputs(arena, plan, memo, sharing, group, sets)
        if alone > 0:
            plant_alone(arena, plan, memo, group)


@compiled_part
def _open_totals(
    arena: Arena, plan: Packed, memo: Packed, sharing: SharingState, group: int, sets: int
) -> None:
    """A lane for each set, whose values are what its members have and get."""
    about = plan[P_GROUP] + group * G_FIELDS
    block, size, scratch = plan[about + G_BLOCK], plan[about + G_SIZE], plan[about + G_SCRATCH]
    copy_run(arena, scratch, get(plan, P_BASE, block), size)
    add_moves(arena, plan, plan[P_LOOPS] + block, scratch)
    for label in range(sets):
        lane = new_lane(arena, plan, memo, sharing, group, label, OPENING)
        keep_values(arena, plan, memo, group, label, lane, scratch)


@compiled_part
def keep_values(
    arena: Arena, plan: Packed, memo: Packed, group: int, label: int, lane: int, block: int
) -> None:
    """The values of a lane are what the members of its set have in a block; 0 for all others."""
    about = plan[P_GROUP] + group * G_FIELDS
    row, members = plan[about + G_SUMS] + lane * plan[about + G_SIZE], get(plan, P_MEMBERS, group)
    for member in range(plan[about + G_MEMBERS]):
        if get(memo, M_SET_OF, plan[about + G_MEMBER_AT] + member) == label:
            offset = plan[members + 3 * member]
            copy_run(arena, row + offset, block + offset, plan[members + 3 * member + 1])


@compiled_part
def _open_inputs(
    arena: Arena, plan: Packed, memo: Packed, sharing: SharingState, group: int, sets: int
) -> None:
    """A lane for each set and different input."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    first, unit = plan[about + G_NUMBER_AT], plan[about + G_UNIT]
    numbers, size = get(plan, P_NUMBERS, group), plan[about + G_SIZE]
    wanted = 0
    for label in range(sets):
        for number in range(size):
            put(memo, M_MARK, first + number, -1)
        for number in range(size):
            member, source = plan[numbers + 4 * number], plan[numbers + 4 * number + 2]
            if source >= 0 and get(memo, M_SET_OF, plan[about + G_MEMBER_AT] + member) == label:
                if get(memo, M_MARK, first + source) < 0:
                    put(memo, M_MARK, first + source, wanted)
                    wanted += 1
                put(memo, M_LANE_OF, first + number, get(memo, M_MARK, first + source))
    memo[state + X_STRIDE] = 0
    spare = min(memo[state + X_DIFFERING], SPARE)
    _widen(arena, plan, memo, group, min(wanted + spare, plan[about + G_ROOM]) * unit)
    for label in range(sets):
        for number in range(size):
            member, source = plan[numbers + 4 * number], plan[numbers + 4 * number + 2]
            lane = get(memo, M_LANE_OF, first + number)
            mine = get(memo, M_SET_OF, plan[about + G_MEMBER_AT] + member) == label
            if mine and lane >= memo[state + X_LANES]:
                new_lane(arena, plan, memo, sharing, group, label, source)


@compiled_part
def plant_alone(arena: Arena, plan: Packed, memo: Packed, group: int) -> None:
    """Make the trees ready in which members that go alone keep their events; once a window."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if memo[state + X_PLANTED]:
        return
    memo[state + X_PLANTED] = 1
    asked = plan[P_ASKED] + plan[about + G_BLOCK]
    for at in range(plan[asked], plan[asked + 1], 3):
        kept = plan[P_CLASS] + plan[at] * C_FIELDS
        if plan[kept + C_KIND] >= 0:
            rows = get(memo, M_CLASS_SIZE, plan[at])
            zero_run(arena, get(memo, M_CLASS_ADDRESS, plan[at]), rows * plan[kept + C_LANES])


@compiled_part
def evaluate(
    arena: Arena, plan: Packed, memo: Packed, group: int, coefficients: int, block: int, only: int
) -> None:
    """Into a block: what members of the sets (`only` one of them, unless -1) have by these coefficients."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    size, unit, numbers = plan[about + G_SIZE], plan[about + G_UNIT], get(plan, P_NUMBERS, group)
    sets, lane_of = memo[M_SET_OF] + plan[about + G_MEMBER_AT], memo[M_LANE_OF] + plan[about + G_NUMBER_AT]
    kinds = memo[M_LANE_INPUT] + plan[about + G_LANE_AT]
    if unit == 1 and memo[state + X_SETS] == 1 and memo[state + X_ALONE] == 0:
        zero_run(arena, block, size)
        for number in range(size):
            if memo[lane_of + number] >= 0:
                copy(arena, block + number, coefficients + memo[lane_of + number])
        for lane in range(memo[state + X_LANES]):
            if memo[kinds + lane] < 0:
                add_times(arena, block, plan[about + G_SUMS] + lane * size, size, coefficients + lane)
        return
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
        label = get(memo, M_LANE_SET, plan[about + G_LANE_AT] + lane)
        if memo[kinds + lane] >= 0 or (only >= 0 and label != only):
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
def flush(arena: Arena, plan: Packed, memo: Packed, group: int) -> None:
    """Give members what their graphlets came to; those that keep no older events close."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if memo[state + X_PENDING]:
        scratch, sums = plan[about + G_SCRATCH], plan[P_SUMS] + group
        evaluate(arena, plan, memo, group, plan[about + G_RUNNING], scratch, -1)
        for at in range(plan[sums], plan[sums + 1], 4):
            if get(memo, M_SET_OF, plan[about + G_MEMBER_AT] + plan[at]) >= 0:
                add_run(arena, plan[at + 1], scratch + plan[at + 2], plan[at + 3])
        zero_run(arena, plan[about + G_RUNNING], memo[state + X_LANES] * plan[about + G_UNIT])
        tell_readers(plan, memo, plan[about + G_BLOCK])
        memo[state + X_PENDING] = 0
    if plan[about + G_KIND] == BY_TOTAL:
        memo[state + X_SETS] = memo[state + X_LANES] = 0


@compiled_part
def dissolve(arena: Arena, plan: Packed, memo: Packed, group: int) -> None:
    """Split: members go alone from here on, with values in place of coefficients; nothing is pending."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if plan[about + G_KIND] != BY_TOTAL and memo[state + X_FED] > 0:
        plant_alone(arena, plan, memo, group)
        asked, scratch = plan[P_ASKED] + plan[about + G_BLOCK], plan[about + G_SCRATCH]
        for at in range(plan[asked], plan[asked + 1], 3):
            for row in range(get(memo, M_CLASS_SIZE, plan[at])):
                coefficients = get(memo, M_COEFFICIENTS, plan[at]) + row * memo[state + X_STRIDE]
                evaluate(arena, plan, memo, group, coefficients, scratch, -1)
                lanes = get(plan, P_CLASS, plan[at] * C_FIELDS + C_LANES)
                _copy_shared(
                    arena, plan, memo, group, get(memo, M_CLASS_ADDRESS, plan[at]) + row * lanes, scratch
                )
    memo[state + X_SETS] = memo[state + X_LANES] = 0


@compiled_part
def _copy_shared(arena: Arena, plan: Packed, memo: Packed, group: int, target: int, block: int) -> None:
    about, members = plan[P_GROUP] + group * G_FIELDS, get(plan, P_MEMBERS, group)
    for member in range(plan[about + G_MEMBERS]):
        if get(memo, M_SET_OF, plan[about + G_MEMBER_AT] + member) >= 0:
            offset = plan[members + 3 * member]
            copy_run(arena, target + offset, block + offset, plan[members + 3 * member + 1])


@compiled_part
def make_inputs(arena: Arena, plan: Packed, memo: Packed, group: int) -> None:
    """What an event gets on each lane from outside of the graphlet: 1, the value of an input, or nothing."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    block, unit, kinds = (
        plan[about + G_BLOCK],
        plan[about + G_UNIT],
        memo[M_LANE_INPUT] + plan[about + G_LANE_AT],
    )
    if get(memo, M_DIRTY, block):
        make_base(arena, plan, memo, block)
    zero_run(arena, plan[about + G_INPUTS], whole_vectors(memo[state + X_LANES] * unit))
    for lane in range(memo[state + X_LANES]):
        if memo[kinds + lane] >= 0:
            copy(arena, plan[about + G_INPUTS] + lane * unit, get(plan, P_BASE, block) + memo[kinds + lane])
        elif memo[kinds + lane] == OPENING:
            one(arena, plan[about + G_INPUTS] + lane * unit)
