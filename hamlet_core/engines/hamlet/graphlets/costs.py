"""What a burst costs, shared and alone: the cost models of `hamlet_core.sharing.costs`, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.graphlets.settings import (
    DYNAMIC,
    PAPER,
    S_MODEL,
    S_POLICY,
    SharingState,
)
from hamlet_core.engines.hamlet.graphlets.signatures import disagreements
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.jit.decorators import compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.program.layout import (
    BY_TOTAL,
    BY_TREE,
    G_CODE,
    G_FIELDS,
    G_KIND,
    G_LANE_AT,
    G_MEMBER_AT,
    G_MEMBERS,
    G_NUMBER_AT,
    G_ROOM,
    G_SIZE,
    G_TYPES,
    G_UNIT,
    GROUP_FIELDS,
    M_COUNTS,
    M_GROUP,
    M_LANE_SET,
    M_MARK,
    M_NEW_SET,
    M_SET_OF,
    P_GROUP,
    P_MEMBERS,
    P_NUMBERS,
    X_ALONE,
    X_DIFFERING,
    X_EVENTS,
    X_FED,
    X_LANES,
    X_LEFT,
    X_LOOKED,
    X_RUNS,
    X_SEEN,
    X_SETS,
)

PRODUCT, CLEAR, GRAPHLET, APART_PRICE, MIXED, STEP = range(3, 9)
"""Behind the constants of the model."""


@compiled_part
def inputs_of(plan: Packed, memo: Packed, group: int, labels: int, label: int) -> int:
    """Snapshots that a set needs when its graphlet opens: one for each different input if there is a tree or scan."""
    about = plan[P_GROUP] + group * G_FIELDS
    if plan[about + G_KIND] == BY_TOTAL:
        return 1
    mark, numbers, different = memo[M_MARK] + plan[about + G_NUMBER_AT], get(plan, P_NUMBERS, group), 0
    for number in range(plan[about + G_SIZE]):
        memo[mark + number] = 0
    for number in range(plan[about + G_SIZE]):
        field = numbers + 4 * number
        source = plan[field + 2]
        if memo[labels + plan[field]] == label and source >= 0 and memo[mark + source] == 0:
            memo[mark + source] = 1
            different += 1
    return different


@compiled_part
def set_step(plan: Packed, memo: Packed, sharing: SharingState, group: int) -> None:
    """Into `prices[STEP]`: what an event pays for each number of its element (`Measured.step`)."""
    sharing.prices[STEP] = _step_price(plan, memo, sharing, group)


@compiled_part
def _step_price(plan: Packed, memo: Packed, sharing: SharingState, group: int) -> Any:
    about = plan[P_GROUP] + group * G_FIELDS
    stored = np.float64(get(memo, M_COUNTS, plan[about + G_CODE]))
    if plan[about + G_KIND] == BY_TOTAL:
        return sharing.prices[0]
    if plan[about + G_KIND] == BY_TREE:
        return sharing.prices[1] * (1.0 + np.log2(1.0 + stored))
    return sharing.prices[2] * stored / 2.0


@compiled_part
def alone_price(
    plan: Packed, memo: Packed, sharing: SharingState, group: int, labels: int, label: int, found: int
) -> Any:
    """What members with a label cost if each goes by itself."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    size, numbers = size_of(plan, memo, group, labels, label)
    if sharing.settings[S_MODEL] == PAPER:
        return np.float64(size) * found * memo[state + X_SEEN]
    later = memo[state + X_LEFT] - found if plan[about + G_KIND] != BY_TOTAL else 0
    return sharing.prices[STEP] * numbers * (found + later)


@compiled_part
def shared_price(
    plan: Packed,
    memo: Packed,
    sharing: SharingState,
    group: int,
    labels: int,
    label: int,
    found: int,
    differing: int,
    own: int,
    continuing: bool,
) -> float:
    """What a set costs if it shares, `own` of whose events are disagreements; infinite if there is no room for it."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    size, numbers = size_of(plan, memo, group, labels, label)
    created = own if continuing else own + inputs_of(plan, memo, group, labels, label)
    carried = created + (lanes_of(plan, memo, group, label) if continuing else 0)
    if carried > plan[about + G_ROOM]:
        return np.inf
    if sharing.settings[S_MODEL] == PAPER:
        events = found + (memo[state + X_EVENTS] if continuing else 0)
        cost = np.float64(found) * memo[state + X_SEEN] * carried
        return cost + np.float64(created) * size * events * plan[about + G_TYPES]  # type: ignore[no-any-return]
    unit, stored = plan[about + G_UNIT], get(memo, M_COUNTS, plan[about + G_CODE])
    moved = np.float64(found) * carried
    if plan[about + G_KIND] != BY_TOTAL:
        later, more = memo[state + X_LEFT] - found, np.float64(memo[state + X_DIFFERING] - differing)
        if size < plan[about + G_MEMBERS]:
            more = min(more, later * (own + 0.5) / (found + 1.0))
        moved += later * (carried + more / 2.0)
    cost = sharing.prices[STEP] * unit * moved
    cost += sharing.prices[PRODUCT] * numbers * carried * (1 + own) + sharing.prices[MIXED] * own
    if plan[about + G_KIND] == BY_TREE:
        cost += sharing.prices[CLEAR] * stored * created * unit
    bursts = 1.0 + (_later_bursts(memo, state, found) if plan[about + G_KIND] != BY_TOTAL else 0.0)
    return cost + sharing.prices[GRAPHLET] * bursts  # type: ignore[no-any-return]


@compiled_part
def _later_bursts(memo: Packed, state: int, found: int) -> float:
    """Bursts in which the events come that stand behind the one in hand in the window, about."""
    return (memo[state + X_LEFT] - found) * memo[state + X_RUNS] / max(memo[state + X_LOOKED], 1)  # type: ignore[no-any-return]


@compiled_part
def plan_price(
    plan: Packed,
    memo: Packed,
    events: Events,
    sharing: SharingState,
    group: int,
    labels: int,
    sets: int,
    begin: int,
    stop: int,
    found: int,
    differing: int,
    own: int,
) -> float:
    """The cost of a plan: members with label -1 go alone; `own`: disagreements of each set, or -1 to count them."""
    continuing = continues(plan, memo, group, labels, sets)
    cost, lanes = alone_price(plan, memo, sharing, group, labels, -1, found), 0
    for label in range(sets):
        known = own
        if known < 0:
            known = (
                disagreements(plan, memo, events, group, labels, label, begin, stop) if differing > 0 else 0
            )
        cost += shared_price(plan, memo, sharing, group, labels, label, found, differing, known, continuing)
        lanes += known + (
            lanes_of(plan, memo, group, label) if continuing else inputs_of(plan, memo, group, labels, label)
        )
    if sharing.settings[S_MODEL] != PAPER:
        cost += _beside(plan, memo, sharing, group, labels, sets, found, continuing)
    return np.inf if lanes > get(plan, P_GROUP, group * G_FIELDS + G_ROOM) else cost


@compiled_part
def all_go_on(
    plan: Packed, memo: Packed, sharing: SharingState, group: int, found: int
) -> tuple[bool, float, float]:
    """(whether the open set goes on, cost shared, cost alone): `choose` in short.

    For a tree or scan in which all members share, and a burst on which they agree; False also where that is not so.
    """
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if memo[state + X_SETS] != 1 or memo[state + X_ALONE] > 0:
        return False, 0.0, 0.0
    if sharing.settings[S_MODEL] == PAPER or sharing.settings[S_POLICY] != DYNAMIC:
        return False, 0.0, 0.0
    numbers, lanes, left = plan[about + G_SIZE], memo[state + X_LANES], memo[state + X_LEFT]
    set_step(plan, memo, sharing, group)
    alone = sharing.prices[STEP] * numbers * left
    alone += left * sharing.prices[APART_PRICE] + sharing.prices[PRODUCT] * memo[state + X_FED] * (
        numbers * lanes
    )
    later, more = left - found, np.float64(memo[state + X_DIFFERING])
    moved = np.float64(found) * lanes + later * (lanes + more / 2.0)
    shared = sharing.prices[STEP] * plan[about + G_UNIT] * moved
    shared += sharing.prices[PRODUCT] * numbers * lanes
    shared += sharing.prices[GRAPHLET] * (1.0 + _later_bursts(memo, state, found))
    return shared < alone, shared, alone


@compiled_part
def saved(
    plan: Packed,
    memo: Packed,
    sharing: SharingState,
    group: int,
    found: int,
    own: int,
    created: int,
    carried: int,
) -> Any:
    """What the burst in hand costs less than in a program without the group; the sets are those of `M_NEW_SET`."""
    about, prices = plan[P_GROUP] + group * G_FIELDS, sharing.prices
    single, apart = size_of(plan, memo, group, memo[M_NEW_SET] + plan[about + G_MEMBER_AT], -1)
    together, unit = plan[about + G_SIZE] - apart, plan[about + G_UNIT]
    gained = found * prices[STEP] * (together - unit * carried)
    gained += found * (prices[APART_PRICE] if single == 0 else -prices[MIXED])
    gained -= prices[PRODUCT] * together * carried * (1 + own) + prices[MIXED] * own + prices[GRAPHLET]
    if plan[about + G_KIND] == BY_TREE:
        gained -= prices[CLEAR] * get(memo, M_COUNTS, plan[about + G_CODE]) * created * unit
    return gained


@compiled_part
def _beside(
    plan: Packed,
    memo: Packed,
    sharing: SharingState,
    group: int,
    labels: int,
    sets: int,
    found: int,
    continuing: bool,
) -> Any:
    """`Measured.beside`."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    cost, events = 0.0, found
    if plan[about + G_KIND] != BY_TOTAL:
        events = memo[state + X_LEFT]
    if size_of(plan, memo, group, labels, -1)[0] > 0:
        cost += events * (sharing.prices[MIXED] if sets > 0 else sharing.prices[APART_PRICE])
    if memo[state + X_SETS] > 0 and not continuing:
        cost += sharing.prices[PRODUCT] * memo[state + X_FED] * _open_products(plan, memo, group)
    return cost


@compiled_part
def size_of(plan: Packed, memo: Packed, group: int, labels: int, label: int) -> tuple[int, int]:
    """(members with a label, their numbers)"""
    about = plan[P_GROUP] + group * G_FIELDS
    size = numbers = 0
    for member in range(plan[about + G_MEMBERS]):
        if memo[labels + member] == label:
            size += 1
            numbers += plan[get(plan, P_MEMBERS, group) + 3 * member + 1]
    return size, numbers


@compiled_part
def lanes_of(plan: Packed, memo: Packed, group: int, label: int) -> int:
    """Snapshot lanes of an open set."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    found, first = 0, memo[M_LANE_SET] + plan[about + G_LANE_AT]
    for lane in range(memo[state + X_LANES]):
        found += memo[first + lane] == label
    return found


@compiled_part
def _open_products(plan: Packed, memo: Packed, group: int) -> int:
    """Numbers of members times snapshots, over the open sets."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    products, labels = 0, memo[M_SET_OF] + plan[about + G_MEMBER_AT]
    for label in range(memo[state + X_SETS]):
        products += size_of(plan, memo, group, labels, label)[1] * lanes_of(plan, memo, group, label)
    return products


@compiled_part
def continues(plan: Packed, memo: Packed, group: int, labels: int, sets: int) -> bool:
    """Whether these sets are the open ones."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if sets == 0 or sets != memo[state + X_SETS]:
        return False
    opened = memo[M_SET_OF] + plan[about + G_MEMBER_AT]
    for member in range(plan[about + G_MEMBERS]):  # noqa: SIM110 - compiled code has no all()
        if memo[labels + member] != memo[opened + member]:
            return False
    return True
