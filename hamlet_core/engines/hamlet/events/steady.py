"""Types whose events change nothing that they read themselves: a run of such events adds one block many times."""

from __future__ import annotations

import numpy as np

from hamlet_core.engines.hamlet.automaton.paths import commit_block, gather_block, make_base, tell_readers
from hamlet_core.engines.hamlet.graphlets.settings import SharingState
from hamlet_core.engines.hamlet.graphlets.snapshots import flush
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get
from hamlet_core.engines.hamlet.numbers.arenas import Arena, Values
from hamlet_core.engines.hamlet.numbers.semiring import whole
from hamlet_core.engines.hamlet.numbers.vectors import add_times
from hamlet_core.engines.hamlet.program.layout import (
    ENDS_BURSTS,
    M_DIRTY,
    M_SLOTS,
    P_BASE,
    P_CODES,
    P_GROUPS,
    P_LOADS,
    P_STEADY,
    P_STEADY_KEPT,
    P_TOTALS,
    P_TOUCHED,
)
from hamlet_core.predicates.pair_tables import PairTables


@compiled_inline
def is_steady(plan: Packed, events: Events, event: int) -> bool:
    """Whether a run may begin with an event."""
    code = events.code[event]
    return code >= 0 and get(plan, P_STEADY, code) >= 0  # type: ignore[no-any-return]


@compiled_part
def fold_steady(
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
    """Fold a run of events of a steady type, from a time stamp's first; where it ends: `begin` if others tie with it."""
    code = events.code[begin]
    block, slot = get(plan, P_STEADY, code), memo[M_SLOTS]
    stop: int = _run_stop(events, code, begin, last)
    if stop == begin:
        return begin
    if sharing is not None:
        for group in range(plan[P_GROUPS]):
            if get(plan, P_TOUCHED, group * plan[P_CODES] + code) & ENDS_BURSTS:
                flush(arena, plan, memo, group)
    bare = get(plan, P_LOADS, block) == get(plan, P_LOADS, block + 1)
    kept, times = plan[P_STEADY_KEPT] + code, 0
    for event in range(begin, stop):
        if events.code[event] != code:
            continue
        every = bare
        for at in range(plan[kept], plan[kept + 1], 2):
            every = every and (~events.bits[event, plan[at]] & np.uint64(plan[at + 1])) == np.uint64(0)
        if every:
            times += 1
        else:
            gather_block(arena, plan, values, memo, events, pairs, block, event, slot)
            commit_block(arena, plan, memo, events, pairs, block, event, slot)
    if times > 0:
        if get(memo, M_DIRTY, block):
            make_base(arena, plan, memo, block)
        whole(arena, slot, times)
        base, totals = get(plan, P_BASE, block), plan[P_TOTALS] + block
        for at in range(plan[totals], plan[totals + 1], 3):
            add_times(arena, plan[at], base + plan[at + 1], plan[at + 2], slot)
        tell_readers(plan, memo, block)
    return stop


@compiled_part
def _run_stop(events: Events, code: int, begin: int, last: int) -> int:
    """Where the time stamp begins in which another type comes, or where the window ends."""
    stop = begin + 1
    while stop < last and (events.code[stop] == code or events.code[stop] < 0):
        stop += 1
    if stop < last:
        while stop > begin and events.time[stop - 1] == events.time[stop]:
            stop -= 1
    return stop
