"""Which members of a group share the burst in hand: `hamlet_core.sharing.decide`, compiled.

The same plans in the same order and the same costs; a test compares both on random bursts. Signatures are read from
the bits of the events: equal edge conditions are what makes members a group, so only matching can differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.compilation import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.event_layout import (
    G_BARE,
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
    M_LIKE,
    M_MARK,
    M_MATCHES,
    M_NEW_SET,
    M_RENAMED,
    M_SET_HITS,
    M_SET_OF,
    M_SOLE,
    M_TRIED,
    P_GROUP,
    P_KEPT,
    P_MEMBERS,
    P_NUMBERS,
    P_RUNS,
    X_DIFFERING,
    X_EVENTS,
    X_FED,
    X_LANES,
    X_LEFT,
    X_SEEN,
    X_SETS,
)
from hamlet_core.engines.hamlet.event_state import has_bit
from hamlet_core.engines.hamlet.sharing_layout import (
    ALWAYS,
    GUARDED,
    PAPER,
    REASONS,
    S_CHOICE,
    S_MODEL,
    S_POLICY,
)
from hamlet_core.sharing.reasons import Reason

PRODUCT, CLEAR, GRAPHLET, APART_PRICE, MIXED, STEP = range(3, 9)
"""Behind the constants of the model."""

TOTAL, TREE, SCAN = 0, 1, 2
"""How members find older events: `G_KIND`."""

_NOTHING, _GOES_ON, _PRUNED, _EVERYBODY, _CLASSES, _PAPER, _ALWAYS, _NO_ROOM = (
    REASONS.index(one)
    for one in (
        *(Reason.NOTHING_GAINED, Reason.GOES_ON, Reason.PRUNED, Reason.EVERYBODY, Reason.CLASSES),
        *(Reason.PAPER, Reason.ALWAYS, Reason.NO_ROOM),
    )
)
NONE, SOME, ALL = 0, 1, 2
WORDS = 8
"""Words of 32 members; larger groups are divided."""
MOST_MEMBERS = 32 * WORDS


@compiled_inline
def agreement(plan: Any, events: Any, group: int, event: int) -> int:
    """Whether an event matches no member, all of them, or some."""
    kept, bare = plan[P_KEPT] + group, plan[plan[P_GROUP] + group * G_FIELDS + G_BARE]
    every, nobody = True, bare == 0
    for at in range(plan[kept], plan[kept + 1], 2):
        found = events.bits[event, plan[at]] & np.uint64(plan[at + 1])
        every = every and found == np.uint64(plan[at + 1])
        nobody = nobody and found == np.uint64(0)
    if every:
        return ALL
    return NONE if nobody else SOME


@compiled_part
def matches(plan: Any, events: Any, group: int, member: int, event: int) -> Any:
    """Whether an event matches a member."""
    return has_bit(events, event, plan[plan[plan[P_MEMBERS] + group] + 3 * member + 2])


@compiled_part
def _set_bits(number: Any) -> Any:
    """How many of the lower 32 bits are set."""
    number -= (number >> 1) & 0x55555555
    number = (number & 0x33333333) + ((number >> 2) & 0x33333333)
    number = (number + (number >> 4)) & 0x0F0F0F0F
    return ((number * 0x01010101) & 0xFFFFFFFF) >> 24


@compiled_inline
def _who_matches(plan: Any, memo: Any, events: Any, group: int, event: int) -> None:
    """Into `M_MATCHES`: a bit for each member that an event matches, 32 to a word."""
    runs, words = plan[P_RUNS] + group, memo[M_MATCHES]
    for word in range(words, words + WORDS):
        memo[word] = 0
    for at in range(plan[runs], plan[runs + 1], 5):
        word, shift, count, first = plan[at], plan[at + 1], plan[at + 2], plan[at + 3]
        found: Any = np.int64(-1)
        if word >= 0:
            found = np.int64(events.bits[event, word] >> np.uint64(shift))
        if plan[at + 4]:
            found = -(found & 1)
        memo[words + (first >> 5)] |= (found & ((1 << count) - 1)) << (first & 31)


@compiled_part
def compare(plan: Any, memo: Any, events: Any, group: int, begin: int, stop: int) -> tuple[int, int]:
    """(events of the burst, those on which members differ); who is like whom goes to `M_LIKE`.

    `M_SOLE` counts for each member the events on which it alone differs from all others.
    """
    about = plan[P_GROUP] + group * G_FIELDS
    code, count = plan[about + G_CODE], plan[about + G_MEMBERS]
    like, sole = memo[M_LIKE] + plan[about + G_MEMBER_AT], memo[M_SOLE] + plan[about + G_MEMBER_AT]
    for member in range(count):
        memo[like + member] = memo[sole + member] = 0
    found, differing, classes = 0, 0, 1
    for event in range(begin, stop):
        if events.code[event] != code:
            continue
        how = agreement(plan, events, group, event)
        if how == NONE:
            continue
        found += 1
        if how == SOME:
            differing += 1
            _who_matches(plan, memo, events, group, event)
            _note_sole(memo, count, sole)
            if classes < count:
                classes = _refine(memo, count, like, memo[M_RENAMED] + 2 * plan[about + G_MEMBER_AT], classes)
    return found, differing


@compiled_inline
def _matched(memo: Any, member: int) -> Any:
    return (memo[memo[M_MATCHES] + (member >> 5)] >> (member & 31)) & 1


@compiled_part
def _note_sole(memo: Any, count: int, sole: int) -> None:
    """Count the event in hand for a member that alone matches it, or alone does not."""
    matched: Any = 0
    for word in range(memo[M_MATCHES], memo[M_MATCHES] + (count + 31) // 32):
        matched += _set_bits(memo[word])
    if matched in (1, count - 1):
        for member in range(count):
            if matched == 1 and _matched(memo, member) == 1:
                memo[sole + member] += 1
            if matched == count - 1 and _matched(memo, member) == 0:
                memo[sole + member] += 1


@compiled_part
def _refine(memo: Any, count: int, like: int, renamed: int, classes: int) -> int:
    """Tell members apart that the event in hand tells apart; how many classes there are then."""
    for old in range(2 * classes):
        memo[renamed + old] = -1
    new = 0
    for member in range(count):
        name = renamed + 2 * memo[like + member] + _matched(memo, member)
        if memo[name] < 0:
            memo[name] = new
            new += 1
        memo[like + member] = memo[name]
    return new


@compiled_part
def disagreements(
    plan: Any, memo: Any, events: Any, group: int, labels: int, label: int, begin: int, stop: int
) -> int:
    """Events of the burst on which members with a label differ."""
    about = plan[P_GROUP] + group * G_FIELDS
    count, differing, wanted = plan[about + G_MEMBERS], 0, memo[M_MATCHES] + WORDS
    for word in range(wanted, wanted + WORDS):
        memo[word] = 0
    for member in range(count):
        if memo[labels + member] == label:
            memo[wanted + (member >> 5)] |= 1 << (member & 31)
    for event in range(begin, stop):
        if events.code[event] != plan[about + G_CODE] or agreement(plan, events, group, event) != SOME:
            continue
        _who_matches(plan, memo, events, group, event)
        hit = missed = False
        for word in range((count + 31) // 32):
            hit = hit or (memo[memo[M_MATCHES] + word] & memo[wanted + word]) != 0
            missed = missed or (~memo[memo[M_MATCHES] + word] & memo[wanted + word]) != 0
        differing += hit and missed
    return differing


@compiled_part
def inputs_of(plan: Any, memo: Any, group: int, labels: int, label: int) -> int:
    """Snapshots that a set needs when its graphlet opens: one for each different input if there is a tree or scan."""
    about = plan[P_GROUP] + group * G_FIELDS
    if plan[about + G_KIND] == TOTAL:
        return 1
    mark, numbers, different = memo[M_MARK] + plan[about + G_NUMBER_AT], plan[plan[P_NUMBERS] + group], 0
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
def set_step(plan: Any, memo: Any, sharing: Any, group: int) -> None:
    """Into `prices[STEP]`: what an event pays for each number of its element (`Measured.step`)."""
    sharing.prices[STEP] = _step_price(plan, memo, sharing, group)


@compiled_part
def _step_price(plan: Any, memo: Any, sharing: Any, group: int) -> Any:
    about = plan[P_GROUP] + group * G_FIELDS
    stored = np.float64(memo[memo[M_COUNTS] + plan[about + G_CODE]])
    if plan[about + G_KIND] == TOTAL:
        return sharing.prices[0]
    if plan[about + G_KIND] == TREE:
        return sharing.prices[1] * (1.0 + np.log2(1.0 + stored))
    return sharing.prices[2] * stored / 2.0


@compiled_part
def alone_price(plan: Any, memo: Any, sharing: Any, group: int, labels: int, label: int, found: int) -> Any:
    """What members with a label cost if each goes by itself."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    size, numbers = _size_of(plan, memo, group, labels, label)
    if sharing.settings[S_MODEL] == PAPER:
        return np.float64(size) * found * memo[state + X_SEEN]
    later = memo[state + X_LEFT] - found if plan[about + G_KIND] != TOTAL else 0
    return sharing.prices[STEP] * numbers * (found + later)


@compiled_part
def shared_price(
    plan: Any,
    memo: Any,
    sharing: Any,
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
    size, numbers = _size_of(plan, memo, group, labels, label)
    created = own if continuing else own + inputs_of(plan, memo, group, labels, label)
    carried = created + (lanes_of(plan, memo, group, label) if continuing else 0)
    if carried > plan[about + G_ROOM]:
        return np.inf
    if sharing.settings[S_MODEL] == PAPER:
        events = found + (memo[state + X_EVENTS] if continuing else 0)
        cost = np.float64(found) * memo[state + X_SEEN] * carried
        return cost + np.float64(created) * size * events * plan[about + G_TYPES]  # type: ignore[no-any-return]
    unit, stored = plan[about + G_UNIT], memo[memo[M_COUNTS] + plan[about + G_CODE]]
    moved = np.float64(found) * carried
    if plan[about + G_KIND] != TOTAL:
        later, more = memo[state + X_LEFT] - found, np.float64(memo[state + X_DIFFERING] - differing)
        if size < plan[about + G_MEMBERS]:
            more = min(more, later * (own + 0.5) / (found + 1.0))
        moved += later * (carried + more / 2.0)
    cost = sharing.prices[STEP] * unit * moved
    cost += sharing.prices[PRODUCT] * numbers * carried * (1 + own) + sharing.prices[MIXED] * own
    if plan[about + G_KIND] == TREE:
        cost += sharing.prices[CLEAR] * stored * created * unit
    return cost + sharing.prices[GRAPHLET]  # type: ignore[no-any-return]


@compiled_part
def plan_price(
    plan: Any,
    memo: Any,
    events: Any,
    sharing: Any,
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
    return np.inf if lanes > plan[plan[P_GROUP] + group * G_FIELDS + G_ROOM] else cost


@compiled_part
def _beside(
    plan: Any, memo: Any, sharing: Any, group: int, labels: int, sets: int, found: int, continuing: bool
) -> Any:
    """`Measured.beside`."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    cost, events = 0.0, found
    if plan[about + G_KIND] != TOTAL:
        events = memo[state + X_LEFT]
    if _size_of(plan, memo, group, labels, -1)[0] > 0:
        cost += events * (sharing.prices[MIXED] if sets > 0 else sharing.prices[APART_PRICE])
    if memo[state + X_SETS] > 0 and not continuing:
        cost += sharing.prices[PRODUCT] * memo[state + X_FED] * _open_products(plan, memo, group)
    return cost


@compiled_part
def _size_of(plan: Any, memo: Any, group: int, labels: int, label: int) -> tuple[int, int]:
    """(members with a label, their numbers)"""
    about = plan[P_GROUP] + group * G_FIELDS
    size = numbers = 0
    for member in range(plan[about + G_MEMBERS]):
        if memo[labels + member] == label:
            size += 1
            numbers += plan[plan[plan[P_MEMBERS] + group] + 3 * member + 1]
    return size, numbers


@compiled_part
def lanes_of(plan: Any, memo: Any, group: int, label: int) -> int:
    """Snapshot lanes of an open set."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    found, first = 0, memo[M_LANE_SET] + plan[about + G_LANE_AT]
    for lane in range(memo[state + X_LANES]):
        found += memo[first + lane] == label
    return found


@compiled_part
def _open_products(plan: Any, memo: Any, group: int) -> int:
    """Numbers of members times snapshots, over the open sets."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    products, labels = 0, memo[M_SET_OF] + plan[about + G_MEMBER_AT]
    for label in range(memo[state + X_SETS]):
        products += _size_of(plan, memo, group, labels, label)[1] * lanes_of(plan, memo, group, label)
    return products


@compiled_part
def _label_all(memo: Any, labels: int, count: int, label: int) -> None:
    for member in range(count):
        memo[labels + member] = label


@compiled_part
def _copy_labels(memo: Any, labels: int, source: int, count: int) -> None:
    for member in range(count):
        memo[labels + member] = memo[source + member]


@compiled_part
def _tidy(memo: Any, labels: int, count: int, renamed: int) -> int:
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
def continues(plan: Any, memo: Any, group: int, labels: int, sets: int) -> bool:
    """Whether these sets are the open ones."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    if sets == 0 or sets != memo[state + X_SETS]:
        return False
    opened = memo[M_SET_OF] + plan[about + G_MEMBER_AT]
    for member in range(plan[about + G_MEMBERS]):  # noqa: SIM110 - compiled code has no all()
        if memo[labels + member] != memo[opened + member]:
            return False
    return True


@compiled_part
def choose(
    plan: Any,
    memo: Any,
    events: Any,
    sharing: Any,
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
            sets, reason, cost = memo[state + X_SETS], _GOES_ON, price
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
    if not guarded:
        _copy_labels(memo, best, tried, count)
        return (pruned if price < np.inf else 0), _PAPER, price if pruned > 0 else everybody, alone
    shared = min(shared, everybody)
    if everybody < cost:
        sets, reason, cost = 1, _EVERYBODY, everybody
        _label_all(memo, best, count, 0)
    if price < cost:
        sets, reason, cost = pruned, _PRUNED, price
        _copy_labels(memo, best, tried, count)
    _copy_labels(memo, tried, like, count)
    for label in range(count):
        size, _ = _size_of(plan, memo, group, like, label)
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
    plan: Any,
    memo: Any,
    events: Any,
    sharing: Any,
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
        size, _ = _size_of(plan, memo, group, like, memo[like + member])
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
