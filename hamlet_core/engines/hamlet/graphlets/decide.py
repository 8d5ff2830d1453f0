"""Which members of a group share the burst in hand: `hamlet_core.sharing.decide`, compiled.

The same plans in the same order and the same costs; a test compares both on random bursts. Signatures are read from
the bits of the events: equal edge conditions are what makes members a group, so only matching can differ.
"""

from __future__ import annotations

import numpy as np

from hamlet_core.engines.hamlet.graphlets.costs import (
    alone_price,
    plan_price,
    set_step,
    shared_price,
    size_of,
)
from hamlet_core.engines.hamlet.graphlets.settings import (
    ALWAYS,
    GUARDED,
    REASONS,
    S_CHOICE,
    S_POLICY,
    SharingState,
)
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.jit.decorators import compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed
from hamlet_core.engines.hamlet.program.layout import (
    G_FIELDS,
    G_MEMBER_AT,
    G_MEMBERS,
    GROUP_FIELDS,
    M_GROUP,
    M_LIKE,
    M_NEW_SET,
    M_RENAMED,
    M_SET_HITS,
    M_SET_OF,
    M_SOLE,
    M_TRIED,
    P_GROUP,
    X_SETS,
)
from hamlet_core.sharing.reasons import Reason

_NOTHING, GOES_ON, _PRUNED, _EVERYBODY, _CLASSES, _PAPER, _ALWAYS, _NO_ROOM = (
    REASONS.index(one)
    for one in (
        *(Reason.NOTHING_GAINED, Reason.GOES_ON, Reason.PRUNED, Reason.EVERYBODY, Reason.CLASSES),
        *(Reason.PAPER, Reason.ALWAYS, Reason.NO_ROOM),
    )
)


@compiled_part
def _label_all(memo: Packed, labels: int, count: int, label: int) -> None:
    for member in range(count):
        memo[labels + member] = label


@compiled_part
def _copy_labels(memo: Packed, labels: int, source: int, count: int) -> None:
    for member in range(count):
        memo[labels + member] = memo[source + member]


@compiled_part
def _tidy(memo: Packed, labels: int, count: int, renamed: int) -> int:
    """Number sets of two or more from 0 by their first members; others go alone. How many there are."""
    sets = 0
    for label in range(count):
        memo[renamed + label] = 0
    for member in range(count):
        if memo[labels + member] >= 0:
            memo[renamed + memo[labels + member]] += 1
    for member in range(count):
        label = memo[labels + member]
        if label < 0:
            continue
        if memo[renamed + label] == 1:
            memo[labels + member] = -1
        else:
            if memo[renamed + label] > 0:
                memo[renamed + label] = -1 - sets
                sets += 1
            memo[labels + member] = -1 - memo[renamed + label]
    return sets


@compiled_part
def choose(
    plan: Packed,
    memo: Packed,
    events: Events,
    sharing: SharingState,
    group: int,
    begin: int,
    stop: int,
    found: int,
    differing: int,
    bound: bool,
) -> tuple[int, int, float, float]:
    """(sets, reason, cost shared, cost alone); the label of each member goes to `M_NEW_SET`.

    `bound`: older events of the window hold what open sets came to, so that they go on as they are or not at all.
    """
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    count, first = plan[about + G_MEMBERS], plan[about + G_MEMBER_AT]
    best, tried = memo[M_NEW_SET] + first, memo[M_TRIED] + first
    opened, like = memo[M_SET_OF] + first, memo[M_LIKE] + first
    renamed = memo[M_RENAMED] + 2 * first
    set_step(plan, memo, sharing, group)
    _label_all(memo, best, count, -1)
    alone = plan_price(plan, memo, events, sharing, group, best, 0, begin, stop, found, differing, 0)
    _label_all(memo, tried, count, 0)
    everybody = plan_price(
        plan, memo, events, sharing, group, tried, 1, begin, stop, found, differing, differing
    )
    if sharing.settings[S_POLICY] == ALWAYS:
        if everybody == np.inf:
            return 0, _NO_ROOM, everybody, alone
        _label_all(memo, best, count, 0)
        return 1, _ALWAYS, everybody, alone
    sets, reason, cost, shared = 0, _NOTHING, alone, np.inf
    guarded = sharing.settings[S_CHOICE] == GUARDED
    if memo[state + X_SETS] > 0 and (guarded or bound):
        price = plan_price(
            plan,
            memo,
            events,
            sharing,
            group,
            opened,
            memo[state + X_SETS],
            begin,
            stop,
            found,
            differing,
            -1,
        )
        shared = price
        if price < cost:
            sets, reason, cost = memo[state + X_SETS], GOES_ON, price
            _copy_labels(memo, best, opened, count)
    if bound:
        return sets, reason, shared, alone
    leaving = _without_costly(
        plan, memo, events, sharing, group, tried, begin, stop, found, differing, everybody
    )
    pruned = _tidy(memo, tried, count, renamed)
    own = differing if leaving == 0 else -1
    price = plan_price(plan, memo, events, sharing, group, tried, pruned, begin, stop, found, differing, own)
    if pruned > 0:
        shared = min(shared, price)
    if not guarded and price == np.inf:
        return 0, _NO_ROOM, price, alone
    if not guarded:
        _copy_labels(memo, best, tried, count)
        return pruned, _PAPER, price if pruned > 0 else everybody, alone
    shared = min(shared, everybody)
    if everybody < cost:
        sets, reason, cost = 1, _EVERYBODY, everybody
        _label_all(memo, best, count, 0)
    if price < cost:
        sets, reason, cost = pruned, _PRUNED, price
        _copy_labels(memo, best, tried, count)
    _copy_labels(memo, tried, like, count)
    for label in range(count):
        size, _ = size_of(plan, memo, group, like, label)
        if size > 1 and shared_price(
            plan, memo, sharing, group, like, label, found, differing, 0, False
        ) < alone_price(plan, memo, sharing, group, like, label, found):
            continue
        for member in range(count):
            if memo[like + member] == label:
                memo[tried + member] = -1
    classes = _tidy(memo, tried, count, renamed)
    price = plan_price(plan, memo, events, sharing, group, tried, classes, begin, stop, found, differing, 0)
    if classes > 0:
        shared = min(shared, price)
    if price < cost:
        sets, reason, cost = classes, _CLASSES, price
        _copy_labels(memo, best, tried, count)
    return sets, reason, (cost if sets > 0 else shared), alone


@compiled_part
def _without_costly(
    plan: Packed,
    memo: Packed,
    events: Events,
    sharing: SharingState,
    group: int,
    tried: int,
    begin: int,
    stop: int,
    found: int,
    differing: int,
    everybody: float,
) -> int:
    """Label 0 for everybody but the noisy members without whom the others are cheaper; how many leave."""
    about = plan[P_GROUP] + group * G_FIELDS
    count, first = plan[about + G_MEMBERS], plan[about + G_MEMBER_AT]
    like, sole, leaves = memo[M_LIKE] + first, memo[M_SOLE] + first, memo[M_SET_HITS] + first
    quiet, most, leaving = 0, 0, 0
    for member in range(count):
        size, _ = size_of(plan, memo, group, like, memo[like + member])
        if size > most:
            quiet, most = memo[like + member], size
    for member in range(count):
        memo[leaves + member] = 0
        if memo[like + member] == quiet:
            continue
        _label_all(memo, tried, count, 0)
        memo[tried + member] = -1
        own = differing - memo[sole + member]
        if count == 2:
            _label_all(memo, tried, count, -1)
        price = plan_price(
            plan,
            memo,
            events,
            sharing,
            group,
            tried,
            1 if count > 2 else 0,
            begin,
            stop,
            found,
            differing,
            own,
        )
        if price < everybody:
            memo[leaves + member] = 1
            leaving += 1
    for member in range(count):
        memo[tried + member] = -memo[leaves + member]
    return leaving
