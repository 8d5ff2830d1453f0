"""State of the event kernel: an empty window, room for numbers, and what every part of the kernel asks."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.jit.decorators import compiled, compiled_part
from hamlet_core.engines.hamlet.jit.packed import Packed
from hamlet_core.engines.hamlet.numbers.arenas import Arena
from hamlet_core.engines.hamlet.numbers.vectors import zero_run
from hamlet_core.engines.hamlet.program.layout import (
    C_CODE,
    C_FIELDS,
    C_GROUP,
    C_LANES,
    G_FIELDS,
    G_ROOM,
    G_UNIT,
    GROUP_FIELDS,
    M_COUNTS,
    M_DIRTY,
    M_GROUP,
    M_HEAD,
    M_HIGH,
    M_HISTORY_COUNT,
    M_KEPT,
    M_LATEST,
    M_LOW,
    M_OPENED,
    M_PENDING,
    M_QUEUE_ADDRESS,
    M_QUEUE_FIRST,
    M_ROOM,
    M_SHORT,
    M_STANDINGS,
    M_STARTS,
    NONE,
    P_CLASS,
    P_CLASSES,
    P_CODES,
    P_FREE,
    P_GROUP,
    P_GROUPS,
    P_LANES,
    P_QUEUE,
    P_QUEUES,
    P_RESULT,
    P_STATE,
    P_STRIDE,
    Q_CODE,
    Q_FIELDS,
    Q_WIDTH,
)

_unsigned: Any = np.uint64


@compiled_part
def count(events: Events, plan: Packed, memo: Packed, first: int, last: int) -> Any:
    """Count the events of a window by code; returns how many share one time stamp at most."""
    counts = memo[M_COUNTS]
    for code in range(plan[P_CODES]):
        memo[counts + code] = 0
    before, begin = -1, first
    for event in range(first, last):
        code = events.code[_unsigned(event)]
        if code != before:
            if before >= 0:
                memo[counts + before] += event - begin
            before, begin = code, event
    if before >= 0:
        memo[counts + before] += last - begin
    return _most_tied(events.time[first:last])


@compiled_part
def _most_tied(time: Any) -> Any:
    """How many of some events share one time stamp at most."""
    equal = 0
    for event in range(1, len(time)):
        equal += time[event] == time[event - 1]
    most = tied = 1
    for event in range(1, len(time) if equal else 0):
        tied = tied + 1 if time[event] == time[event - 1] else 1
        most = max(most, tied)
    return most


@compiled
def room_of(plan: Packed, events: Events, jobs: Any, memo: Packed) -> Any:
    """How many numbers the arena must have for the largest window; standings of sets need more."""
    most, counts = np.int64(0), memo[M_COUNTS]
    for job in range(jobs.first.shape[0]):
        needed = count(events, plan, memo, jobs.first[job], jobs.last[job]) * plan[P_STRIDE]
        if plan[P_GROUPS] > 0:
            needed *= 2
        for queue in range(plan[P_QUEUE], plan[P_QUEUE] + plan[P_QUEUES] * Q_FIELDS, Q_FIELDS):
            needed += (2 * memo[counts + plan[queue + Q_CODE]] + 1) * plan[queue + Q_WIDTH]
        for kept in range(plan[P_CLASS], plan[P_CLASS] + plan[P_CLASSES] * C_FIELDS, C_FIELDS):
            needed += memo[counts + plan[kept + C_CODE]] * plan[kept + C_LANES]
            if plan[kept + C_GROUP] >= 0:
                about = plan[P_GROUP] + plan[kept + C_GROUP] * G_FIELDS
                wide = plan[about + G_ROOM] * plan[about + G_UNIT] + 4
                needed += memo[counts + plan[kept + C_CODE]] * 2 * wide
        most = max(most, needed)
    return plan[P_FREE] + most


@compiled_part
def _fill(memo: Packed, first: int, last: int, value: int) -> None:
    for place in range(first, last):
        memo[place] = value


@compiled_part
def reset(arena: Arena, plan: Packed, memo: Packed, room: int) -> None:
    """An empty window; the arena has `room` numbers."""
    zero_run(arena, plan[P_STATE], plan[P_RESULT] - plan[P_STATE])
    _fill(memo, memo[M_LATEST], memo[M_DIRTY], NONE)
    _fill(memo, memo[M_DIRTY], memo[M_HISTORY_COUNT], 1)
    _fill(memo, memo[M_HISTORY_COUNT], memo[M_HEAD], 0)
    _fill(memo, memo[M_HEAD], memo[M_QUEUE_ADDRESS], -1)
    _fill(memo, memo[M_GROUP], memo[M_GROUP] + plan[P_GROUPS] * GROUP_FIELDS, 0)
    _fill(memo, memo[M_QUEUE_FIRST], memo[M_QUEUE_FIRST] + 3 * plan[P_QUEUES], 0)
    _fill(memo, memo[M_OPENED], memo[M_OPENED] + plan[P_LANES], NONE)
    memo[M_LOW], memo[M_HIGH], memo[M_ROOM] = plan[P_FREE], room, room
    memo[M_SHORT], memo[M_KEPT], memo[M_PENDING], memo[M_STARTS] = 0, 0, memo[M_STANDINGS], 0


@compiled_part
def gather_anew(memo: Packed) -> None:
    """What may begin has changed for all blocks."""
    _fill(memo, memo[M_DIRTY], memo[M_HISTORY_COUNT], 1)


@compiled_part
def allocate(memo: Packed, size: int) -> Any:
    """The address of `size` numbers to keep until the window ends; where there is no room, `M_SHORT` is set."""
    address = memo[M_LOW]
    if address + size > memo[M_HIGH]:
        memo[M_SHORT] = 1
    else:
        memo[M_LOW] = address + size
    return address
