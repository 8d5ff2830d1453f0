"""The event kernel: windows of partitions folded event by event, all accumulators of a class in one pass.

Source: GRETA (Poppe et al., VLDB 2017, section 4), with running totals, ordered trees and sets of positions in place
of the graph. Equal times: gather, then drop by negation, then commit (SEMANTICS 1 and 4).
"""

from __future__ import annotations

from typing import Any

from hamlet_core.engines.hamlet.automaton.negation import commit_starts, gather_starts, open_queues
from hamlet_core.engines.hamlet.automaton.paths import binds, commit_block, gather_block
from hamlet_core.engines.hamlet.automaton.sets import commit_standings, finish_standings, gather_standings
from hamlet_core.engines.hamlet.automaton.state import allocate, count, gather_anew, reset
from hamlet_core.engines.hamlet.automaton.trees import plant
from hamlet_core.engines.hamlet.events.ordered import fold_ordered_run, is_ordered
from hamlet_core.engines.hamlet.events.spans import Spans
from hamlet_core.engines.hamlet.events.steady import fold_steady, is_steady
from hamlet_core.engines.hamlet.graphlets.bursts import (
    commit_together,
    end_bursts,
    flush_all,
    gather_together,
    open_window,
)
from hamlet_core.engines.hamlet.graphlets.records import remember
from hamlet_core.engines.hamlet.graphlets.settings import SharingState
from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.jit.decorators import compiled, compiled_inline, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed, get, put
from hamlet_core.engines.hamlet.numbers.arenas import Arena, Values
from hamlet_core.engines.hamlet.numbers.semiring import add_product, copy, halve, minus_one, multiply
from hamlet_core.engines.hamlet.numbers.vectors import add_run, copy_run, run_lost, zero_run
from hamlet_core.engines.hamlet.program.layout import (
    M_BURST_SLOTS,
    M_COUNTS,
    M_FOLDED,
    M_JUMP,
    M_LOW,
    M_MATCHED,
    M_OPENED,
    M_SHORT,
    M_SLOTS,
    P_ACCUMULATOR,
    P_CODES,
    P_ENDS,
    P_FOLDS,
    P_RESULT,
    P_SCRATCH,
    P_SLOT,
    P_STRIDE,
    P_UNITS,
    S_FIELDS,
    S_OFFSET,
    S_SET,
    S_SIDES,
    S_WIDTH,
)
from hamlet_core.predicates.pair_tables import PairTables


@compiled
def fold_windows(
    arena: Arena,
    plan: Packed,
    values: Values,
    events: Events,
    pairs: PairTables,
    spans: Spans,
    memo: Packed,
    sharing: SharingState | None,
    standings: int | None,
    begin: int,
    until: int,
    room: int,
    lost: Any,
) -> Any:
    """Fold the spans `begin:until` and add what their windows come to to their rows, at the beginning of the arena.

    Returns the first span that was not done, for want of standings or of room for them. The arena has `room` numbers.
    `lost[window]` is set where plain numbers left their range; such a window adds nothing. `memo[M_FOLDED]` counts events.
    `sharing` decides who shares which burst, and keeps what was decided; None: no group of the plan may share. With it, or
    with sets, all windows of a span are the same.
    `standings` may be kept at a time; None: no pattern of the plan is ambiguous. What is None is not compiled.
    """
    for span in range(begin, until):
        first, last = spans.first[span], spans.last[span]
        reset(arena, plan, memo, room)
        memo[M_SLOTS] = allocate(memo, count(events, plan, memo, first, last) * plan[P_STRIDE])
        memo[M_BURST_SLOTS] = memo[M_SLOTS]
        if sharing is not None:
            memo[M_BURST_SLOTS] = allocate(memo, memo[M_LOW] - memo[M_SLOTS])
            remember(sharing.before, sharing.count)
            open_window(plan, memo, first)
        open_queues(plan, memo)
        plant(arena, plan, memo, events, pairs, first, last)
        here, lane, until_lane = first, spans.lanes[span], spans.lanes[span + 1]
        for read in range(spans.reads[span], spans.reads[span + 1]):
            close, window = spans.close[read], spans.window[read]
            while here < close:
                if lane < until_lane and spans.opens[lane] == here:
                    put(memo, M_OPENED, lane - spans.lanes[span], events.time[here])
                    if here > first:
                        gather_anew(memo)
                    lane += 1
                stop = close
                if lane < until_lane:
                    stop = min(stop, spans.opens[lane])
                _fold(arena, plan, values, memo, events, pairs, sharing, standings, here, stop)
                here = stop
            if memo[M_SHORT]:
                if sharing is not None:
                    remember(sharing.count, sharing.before)
                return span
            if read > spans.reads[span] and _is_read(spans, read - 1, read):
                lost[window] = lost[spans.window[read - 1]]
            else:
                if sharing is not None:
                    flush_all(arena, plan, memo)
                lost[window] = _finish(arena, plan, memo, standings, spans.begin[read], spans.end[read])
            if not lost[window]:
                result, width = _result(plan, spans.begin[read], spans.end[read])
                add_run(arena, spans.address[read], result, width)
        memo[M_FOLDED] += _alive(plan, memo)
    return until


@compiled_inline
def _is_read(spans: Spans, read: int, other: int) -> bool:
    """Whether two reads are of the same numbers."""
    return spans.close[read] == spans.close[other] and spans.begin[read] == spans.begin[other]  # type: ignore[no-any-return]


@compiled_inline
def _result(plan: Packed, begin: int, end: int) -> tuple[Any, Any]:
    """Where the results of some accumulators are, and how many numbers they have."""
    about, last = plan[P_ACCUMULATOR] + begin * S_FIELDS, plan[P_ACCUMULATOR] + (end - 1) * S_FIELDS
    return plan[P_RESULT] + plan[about + S_OFFSET], plan[last + S_OFFSET] + plan[last + S_WIDTH] - plan[
        about + S_OFFSET
    ]


@compiled_part
def _alive(plan: Packed, memo: Packed) -> int:
    """Events of the window that some accumulator may bind."""
    alive = 0
    for code in range(plan[P_CODES]):
        alive += get(memo, M_COUNTS, code)
    return alive


@compiled_part
def _fold(
    arena: Arena,
    plan: Packed,
    values: Values,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    sharing: SharingState | None,
    standings: int | None,
    first: int,
    last: int,
) -> None:
    """Fold the events of a window, time stamp by time stamp."""
    begin, slots, stride = first, memo[M_SLOTS], plan[P_STRIDE]
    negates = plan[P_FOLDS] > 0
    while begin < last and not memo[M_SHORT]:
        end = _fold_run(arena, plan, values, memo, events, pairs, sharing, begin, last)
        if end > begin:
            begin = end
            continue
        end = begin + 1
        while end < last and events.time[end] == events.time[begin]:
            end += 1
        touched = False
        if sharing is not None:
            touched = end_bursts(arena, plan, memo, events, begin, end)
        for event in range(begin, end):
            put(memo, M_MATCHED, event - begin, 0)
            if events.code[event] >= 0 and binds(plan, events, event):
                slot = slots + (event - begin) * stride
                units = plan[P_UNITS] + events.code[event]
                for unit in range(plan[units], plan[units + 1]):
                    block = plan[unit]
                    here = slot + get(plan, P_SLOT, block)
                    if sharing is None or not gather_together(
                        arena,
                        plan,
                        values,
                        memo,
                        events,
                        pairs,
                        sharing,
                        block,
                        event,
                        here,
                        begin,
                        end,
                        last,
                        touched,
                    ):
                        gather_block(arena, plan, values, memo, events, pairs, block, event, here)
                put(memo, M_MATCHED, event - begin, 1)
        if negates:
            for event in range(begin, end):
                if events.code[event] >= 0:
                    gather_starts(plan, memo, events, pairs, event)
        if standings is not None:
            for event in range(begin, end):
                if events.code[event] >= 0:
                    gather_standings(arena, plan, values, memo, events, pairs, event)
        if memo[M_SHORT]:
            return
        if negates:
            commit_starts(arena, plan, memo)
        for event in range(begin, end):
            if get(memo, M_MATCHED, event - begin):
                slot = slots + (event - begin) * stride
                units = plan[P_UNITS] + events.code[event]
                for unit in range(plan[units], plan[units + 1]):
                    block = plan[unit]
                    here = slot + get(plan, P_SLOT, block)
                    if sharing is None or not commit_together(
                        arena, plan, memo, events, pairs, sharing, block, event, here, begin
                    ):
                        commit_block(arena, plan, memo, events, pairs, block, event, here)
        if sharing is not None and touched:
            end_bursts(arena, plan, memo, events, begin, end)
        if standings is not None:
            commit_standings(arena, plan, memo)
        begin = end
        if sharing is not None:
            begin = max(end, memo[M_JUMP])


@compiled_inline
def _fold_run(
    arena: Arena,
    plan: Packed,
    values: Values,
    memo: Packed,
    events: Events,
    pairs: PairTables,
    sharing: SharingState | None,
    begin: int,
    last: int,
) -> Any:
    """Fold a run of events of one type that has a way of its own, if one begins here; where it ends: `begin` if there is none."""
    if is_steady(plan, events, begin):
        return fold_steady(arena, plan, values, memo, events, pairs, sharing, begin, last)
    if is_ordered(plan, events, begin):
        return fold_ordered_run(arena, plan, values, memo, events, pairs, sharing, begin, last)
    return begin


@compiled_part
def _finish(arena: Arena, plan: Packed, memo: Packed, standings: int | None, begin: int, end: int) -> Any:
    """Close windows: their elements, accumulator after accumulator; whether a number left its range."""
    scratch = plan[P_SCRATCH]
    result, width = _result(plan, begin, end)
    zero_run(arena, result, width)
    for accumulator in range(begin, end):
        about, ends = plan[P_ACCUMULATOR] + accumulator * S_FIELDS, plan[P_ENDS] + accumulator
        element, by_side = plan[P_RESULT] + plan[about + S_OFFSET], plan[about + S_SIDES] == 2
        target = scratch if by_side else element
        if by_side:
            zero_run(arena, scratch, 3)
        for at in range(plan[ends], plan[ends + 1], 2):
            side, numbers = (plan[at], 1) if by_side else (0, plan[about + S_WIDTH])
            add_run(arena, target + side, plan[at + 1], numbers)
        if standings is not None and plan[about + S_SET] >= 0:
            finish_standings(arena, plan, memo, plan[about + S_SET], target, by_side)
        if by_side:
            _pairs(arena, element, scratch)
    return run_lost(arena, result, width)


@compiled_inline
def _pairs(arena: Arena, address: int, counts: int) -> None:
    """AND: pairs of different trends, of counts by left, right and both sides (SEMANTICS 5)."""
    left, right, both, fewer = counts, counts + 1, counts + 2, counts + 3
    copy(arena, fewer, both)
    minus_one(arena, fewer)
    multiply(arena, fewer, both)
    halve(arena, fewer)
    copy_run(arena, address, fewer, 1)
    add_product(arena, address, left, right)
    add_product(arena, address, left, both)
    add_product(arena, address, right, both)
