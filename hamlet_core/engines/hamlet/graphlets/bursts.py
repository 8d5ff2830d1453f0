"""Bursts in the event kernel: where each begins and ends, who shares it, and the record of what was decided."""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.graphlets.costs import APART_PRICE, all_go_on, continues, saved
from hamlet_core.engines.hamlet.graphlets.decide import GOES_ON, choose
from hamlet_core.engines.hamlet.graphlets.events import commit_shared, gather_shared
from hamlet_core.engines.hamlet.graphlets.loop import fold_burst
from hamlet_core.engines.hamlet.graphlets.records import pane_of, record_for
from hamlet_core.engines.hamlet.graphlets.settings import (
    APART,
    ASKING,
    ASKING_TO_GO_ON,
    CONTINUE,
    LOOKED_AT,
    MERGE,
    N_BURSTS,
    N_CARRIED,
    N_CYCLES,
    N_MERGES,
    N_SHARED,
    N_SPLITS,
    OPEN,
    PAPER,
    R_ALONE,
    R_BURSTS,
    R_CARRIED,
    R_CREATED,
    R_EVENTS,
    R_SHARED,
    S_LOG,
    S_MODEL,
    S_ORIGIN,
    S_PANE,
    SPLIT,
    SharingState,
)
from hamlet_core.engines.hamlet.graphlets.signatures import agreement, compare, disagreements, nobody_differs
from hamlet_core.engines.hamlet.graphlets.snapshots import dissolve, flush, open_sets, plant_alone
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.jit.clock import cycles
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get, put
from hamlet_core.engines.hamlet.numbers.arenas import Arena, Values
from hamlet_core.engines.hamlet.numbers.vectors import zero_run
from hamlet_core.engines.hamlet.program.layout import (
    BY_TOTAL,
    COUNTS,
    ENDS_BURSTS,
    G_BLOCK,
    G_CODE,
    G_FIELDS,
    G_KIND,
    G_MEMBER_AT,
    G_SIZE,
    GROUP_FIELDS,
    M_BURST_SLOTS,
    M_COUNTS,
    M_GROUP,
    M_JUMP,
    M_NEW_SET,
    NOBODY,
    P_CODES,
    P_GROUP,
    P_GROUP_OF,
    P_GROUPS,
    P_KEPT,
    P_SLOT,
    P_STRIDE,
    P_TOUCHED,
    P_TOUCHES,
    SOME,
    X_BEGUN,
    X_DIFFERING,
    X_DONE,
    X_FED,
    X_LANES,
    X_LEFT,
    X_LOOKED,
    X_RUNS,
    X_SEEN,
    X_SEEN_TO,
    X_SETS,
    X_STOP,
)
from hamlet_core.predicates.pair_tables import PairTables


@compiled_inline
def touches(plan: Packed, events: Events, group: int, begin: int, end: int) -> bool:
    """Whether some event ends a burst of the group."""
    touched = plan[P_TOUCHED] + group * plan[P_CODES]
    for event in range(begin, end):
        code = events.code[event]
        if code >= 0 and plan[touched + code] & ENDS_BURSTS:
            return True
    return False


@compiled_inline
def _goes_alone(memo: Packed, group: int, begin: int) -> Any:
    """Whether it is known that nobody shares the burst that a time stamp lies in."""
    state = memo[M_GROUP] + group * GROUP_FIELDS
    return memo[state + X_SETS] == 0 and begin < memo[state + X_STOP]


@compiled_inline
def end_bursts(arena: Arena, plan: Packed, memo: Packed, events: Events, begin: int, end: int) -> bool:
    """Graphlets that events of a time stamp touch give out what they came to; whether there are any."""
    any_touched = False
    for event in range(begin, end):
        code = events.code[event]
        if code >= 0:
            touches = plan[P_TOUCHES] + code
            for at in range(plan[touches], plan[touches + 1]):
                if not _goes_alone(memo, plan[at], begin):
                    any_touched = True
                    flush(arena, plan, memo, plan[at])
    return any_touched


@compiled_part
def flush_all(arena: Arena, plan: Packed, memo: Packed) -> None:
    """All graphlets give out what they came to; what goes on is decided anew where they closed."""
    for group in range(plan[P_GROUPS]):
        flush(arena, plan, memo, group)
        if get(plan, P_GROUP, group * G_FIELDS + G_KIND) == BY_TOTAL:
            put(memo, M_GROUP, group * GROUP_FIELDS + X_STOP, 0)


@compiled_part
def open_window(plan: Packed, memo: Packed, first: int) -> None:
    """No burst of any group has been seen."""
    memo[M_JUMP] = 0
    for group in range(plan[P_GROUPS]):
        state = memo[M_GROUP] + group * GROUP_FIELDS
        memo[state + X_SEEN_TO], memo[state + X_LEFT] = first, -1


@compiled_inline
def gather_together(
    arena: Arena,
    plan: Packed,
    values: Values,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    sharing: SharingState,
    block: int,
    event: int,
    slot: int,
    begin: int,
    end: int,
    last: int,
    touched: bool,
) -> bool:
    """What an event of the time stamp `begin:end` does to a block that may share; False where it goes alone."""
    group = get(plan, P_GROUP_OF, block)
    if group < 0:
        return False
    if event < _done_to(memo, group):
        return True
    return not _goes_alone(memo, group, begin) and _gather(
        arena, plan, values, memo, events, pairs, sharing, group, event, slot, begin, end, last, touched
    )


@compiled_inline
def commit_together(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    sharing: SharingState,
    block: int,
    event: int,
    slot: int,
    begin: int,
) -> bool:
    """Commit what `gather_together` left in a slot; False where the block goes alone."""
    group = get(plan, P_GROUP_OF, block)
    if group < 0:
        return False
    if event < _done_to(memo, group):
        return True
    return not _goes_alone(memo, group, begin) and _commit(
        arena, plan, memo, events, pairs, sharing, group, event, slot
    )


@compiled_inline
def _done_to(memo: Packed, group: int) -> Any:
    """The first event that no shared burst has folded already."""
    return get(memo, M_GROUP, group * GROUP_FIELDS + X_DONE)


@compiled_part
def _gather(
    arena: Arena,
    plan: Packed,
    values: Values,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    sharing: SharingState,
    group: int,
    event: int,
    slot: int,
    begin: int,
    end: int,
    last: int,
    touched: bool,
) -> bool:
    """What an event of the time stamp `begin:end` does to a group; False where its members go alone.

    A shared burst is folded whole at its first event, except where other types take part in the time stamp: what they
    do is committed with it.
    """
    state = memo[M_GROUP] + group * GROUP_FIELDS
    if agreement(plan, events, group, event) == NOBODY:
        zero_run(arena, slot, get(plan, P_GROUP, group * G_FIELDS + G_SIZE))  # if others make it be committed
        return True
    if begin >= memo[state + X_STOP]:
        _begin(arena, plan, memo, events, sharing, group, begin, end, last)
    if memo[state + X_SETS] == 0:
        return False
    place, stride = get(plan, P_SLOT, _block_of(plan, group)), plan[P_STRIDE]
    if touched:
        gather_shared(arena, plan, values, memo, events, pairs, group, event, slot)
    else:
        stop, slots = memo[state + X_STOP], memo[M_BURST_SLOTS] + place
        fold_burst(arena, plan, values, memo, events, pairs, sharing, group, begin, stop, slots, stride)
        memo[state + X_DONE] = stop
    return True


@compiled_part
def _commit(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    sharing: SharingState,
    group: int,
    event: int,
    slot: int,
) -> bool:
    """Commit what `_gather` left in a slot; False where the members go alone."""
    state = memo[M_GROUP] + group * GROUP_FIELDS
    if agreement(plan, events, group, event) == NOBODY:
        return True
    if memo[state + X_SETS] == 0:
        return False
    commit_shared(arena, plan, memo, events, pairs, sharing, group, event, slot)
    return True


@compiled_inline
def _block_of(plan: Packed, group: int) -> Any:
    return get(plan, P_GROUP, group * G_FIELDS + G_BLOCK)


@compiled_part
def _begin(
    arena: Arena,
    plan: Packed,
    memo: Packed,
    events: Events,
    sharing: SharingState,
    group: int,
    begin: int,
    end: int,
    last: int,
) -> None:
    """A burst begins with the time stamp `begin:end`: decide who shares it, and change the graphlets accordingly."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    tree, opened = plan[about + G_KIND] != BY_TOTAL, memo[state + X_SETS] > 0
    stop, found = _burst_stop(plan, events, sharing, group, begin, end, last)
    memo[state + X_STOP] = stop
    clock = cycles()
    found, goes_on, sets, own, reason, shared, alone = _decide(
        plan, memo, events, sharing, group, begin, stop, last, found
    )
    outcome = _outcome(goes_on, opened, sets, memo[state + X_BEGUN])
    sharing.count[N_CYCLES] += cycles() - clock
    if opened and not goes_on:
        flush(arena, plan, memo, group)
        dissolve(arena, plan, memo, group)
    if sets > 0 and not goes_on:
        open_sets(arena, plan, memo, sharing, group, sets)
    if sets == 0 and tree:
        plant_alone(arena, plan, memo, group)
        memo[state + X_STOP] = last  # what is kept for each member cannot be shared any more
    memo[state + X_BEGUN] = sets == 0
    carried = own + memo[state + X_LANES] if sets > 0 else 0
    created = own if goes_on else carried
    if sets > 0:
        sharing.gain[group] += saved(plan, memo, sharing, group, found, own, created, carried)
    else:
        alone_now = get(memo, M_COUNTS, plan[about + G_CODE]) if tree else found
        sharing.gain[group] -= sharing.prices[APART_PRICE] * alone_now
    sharing.gain[group] -= ASKING_TO_GO_ON if tree and goes_on else ASKING
    sharing.count[N_BURSTS] += 1
    sharing.count[N_SHARED] += sets > 0
    sharing.count[N_CARRIED] += carried
    sharing.count[N_SPLITS] += outcome == SPLIT
    sharing.count[N_MERGES] += outcome == MERGE
    if sharing.settings[S_LOG]:
        record = record_for(plan, memo, events, sharing, group, begin, outcome, reason)
        sharing.record[record, R_BURSTS] += 1
        sharing.record[record, R_EVENTS] += found
        sharing.record[record, R_CREATED] += created
        sharing.record[record, R_CARRIED] += carried
        sharing.cost[record, R_SHARED] += shared
        sharing.cost[record, R_ALONE] += alone


@compiled_part
def _decide(
    plan: Packed,
    memo: Packed,
    events: Events,
    sharing: SharingState,
    group: int,
    begin: int,
    stop: int,
    last: int,
    found: int,
) -> tuple[int, bool, int, int, int, float, float]:
    """(events that some member matches, whether graphlets go on, sets, disagreements in them, reason, costs).

    Costs are those of sharing and of going alone; the label of each member goes to `M_NEW_SET`.
    """
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    tree, differing = plan[about + G_KIND] != BY_TOTAL, 0
    some_differ = get(plan, P_KEPT, group) < get(plan, P_KEPT, group + 1)
    if tree and memo[state + X_LEFT] < 0:
        if some_differ:
            _look_ahead(plan, memo, events, group, begin, last)
        else:
            memo[state + X_LEFT], memo[state + X_DIFFERING] = get(memo, M_COUNTS, plan[about + G_CODE]), 0
        _count_runs(plan, memo, events, group, begin, last)
    if sharing.settings[S_MODEL] == PAPER:
        _count_matched(plan, memo, events, group, stop)
    if some_differ:
        found, differing = compare(plan, memo, events, group, begin, stop)
    bound = tree and memo[state + X_SETS] > 0 and memo[state + X_FED] > 0
    goes_on, sets, own, reason, shared, alone = bound and differing == 0, 1, 0, GOES_ON, 0.0, 0.0
    if goes_on:
        goes_on, shared, alone = all_go_on(plan, memo, sharing, group, found)
    if not goes_on:
        if not some_differ:
            nobody_differs(plan, memo, group)
        sets, reason, shared, alone = choose(
            plan, memo, events, sharing, group, begin, stop, found, differing, bound
        )
        labels = memo[M_NEW_SET] + plan[about + G_MEMBER_AT]
        goes_on = continues(plan, memo, group, labels, sets)
        for label in range(sets if differing > 0 else 0):
            own += disagreements(plan, memo, events, group, labels, label, begin, stop)
    memo[state + X_LEFT] -= found
    memo[state + X_DIFFERING] -= differing
    return found, goes_on, sets, own, reason, shared, alone


@compiled_part
def _burst_stop(
    plan: Packed, events: Events, sharing: SharingState, group: int, begin: int, end: int, last: int
) -> tuple[int, int]:
    """(where the burst ends, events of the group's type in it).

    That is at a time stamp that touches the group, at a pane's border, or with the window. A time stamp in which other
    types take part is a burst of its own.
    """
    own, found = get(plan, P_GROUP, group * G_FIELDS + G_CODE), 0
    for event in range(begin, end):
        found += events.code[event] == own
    if touches(plan, events, group, begin, end):
        return end, found
    touched, pane, event = plan[P_TOUCHED] + group * plan[P_CODES], sharing.settings[S_PANE], end
    border = pane_of(events, sharing, begin) * pane + pane + sharing.settings[S_ORIGIN]
    while event < last:
        code = events.code[event]
        if pane > 0 and events.time[event] >= border:
            return event, found
        if code == own:
            found += 1
        elif code >= 0 and plan[touched + code] & ENDS_BURSTS:
            while events.time[event - 1] == events.time[event]:
                event -= 1
                found -= events.code[event] == own
            return event, found
        event += 1
    return last, found


@compiled_part
def _look_ahead(plan: Packed, memo: Packed, events: Events, group: int, begin: int, last: int) -> None:
    """Count the events that trees and scans of the window will hold, and those on which members differ."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    left = differing = 0
    for event in range(begin, last):
        if events.code[event] == plan[about + G_CODE]:
            how = agreement(plan, events, group, event)
            left += how != NOBODY
            differing += how == SOME
    memo[state + X_LEFT], memo[state + X_DIFFERING] = left, differing


@compiled_part
def _count_runs(plan: Packed, memo: Packed, events: Events, group: int, begin: int, last: int) -> None:
    """Count the events of the group in the next ones, and the runs of them: each ends where others end a burst."""
    own, state = get(plan, P_GROUP, group * G_FIELDS + G_CODE), memo[M_GROUP] + group * GROUP_FIELDS
    touched, seen, runs, begins = plan[P_TOUCHED] + group * plan[P_CODES], 0, 0, 1
    for event in range(begin, min(last, begin + LOOKED_AT)):
        code = events.code[event]
        if code == own:
            if agreement(plan, events, group, event) != NOBODY:
                seen, runs, begins = seen + 1, runs + begins, 0
        elif code >= 0 and plan[touched + code] & ENDS_BURSTS:
            begins = 1
    memo[state + X_LOOKED], memo[state + X_RUNS] = seen, runs


@compiled_part
def _count_matched(plan: Packed, memo: Packed, events: Events, group: int, stop: int) -> None:
    """Count the events of the window that the group has matched before `stop`."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    touched = plan[P_TOUCHED] + group * plan[P_CODES]
    for event in range(memo[state + X_SEEN_TO], stop):
        code = events.code[event]
        if code == plan[about + G_CODE]:
            memo[state + X_SEEN] += agreement(plan, events, group, event) != NOBODY
        elif code >= 0 and plan[touched + code] & COUNTS:
            memo[state + X_SEEN] += 1
    memo[state + X_SEEN_TO] = max(stop, memo[state + X_SEEN_TO])


@compiled_part
def _outcome(goes_on: bool, opened: bool, sets: int, begun: int) -> int:
    if opened:
        return CONTINUE if goes_on else SPLIT
    if sets == 0:
        return APART
    return MERGE if begun else OPEN
