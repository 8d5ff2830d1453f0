"""Records of the decision log, written while a kernel runs; equal decisions in a row are one."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.graphlets.settings import (
    APART,
    CONTINUE,
    N_RECORDS,
    OUTCOMES,
    R_ALONE,
    R_BURST,
    R_BURSTS,
    R_EVENT,
    R_GROUP,
    R_LABELS,
    R_OUTCOME,
    R_PANE,
    R_REASON,
    R_SHARED,
    REASONS,
    ROOM,
    S_ORIGIN,
    S_PANE,
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
    M_NEW_SET,
    P_GROUP,
    X_BURST,
    X_RECORD,
)


@compiled_part
def record_for(
    plan: Packed,
    memo: Packed,
    events: Events,
    sharing: SharingState,
    group: int,
    begin: int,
    outcome: int,
    reason: int,
) -> Any:
    """The record that takes a decision: the last one if it is equal, a new one, or where none is left the summary."""
    about, state = plan[P_GROUP] + group * G_FIELDS, memo[M_GROUP] + group * GROUP_FIELDS
    labels, count = memo[M_NEW_SET] + plan[about + G_MEMBER_AT], plan[about + G_MEMBERS]
    pane, burst = pane_of(events, sharing, begin), memo[state + X_BURST]
    memo[state + X_BURST] = burst + 1
    if memo[state + X_RECORD] > 0 and outcome in (CONTINUE, APART):
        known = memo[state + X_RECORD] - 1
        if (
            sharing.record[known, R_PANE] == pane
            and sharing.record[known, R_OUTCOME] == outcome  # and so the sets, which have not changed since
            and sharing.record[known, R_REASON] == reason
        ):
            return known
    record = sharing.count[N_RECORDS]
    if record >= ROOM:
        memo[state + X_RECORD] = 0
        record = ROOM + (group * len(OUTCOMES) + outcome) * len(REASONS) + reason
        if sharing.record[record, R_BURSTS] == 0:
            sharing.record[record, R_PANE] = pane
        sharing.record[record, R_GROUP] = group
        sharing.record[record, R_OUTCOME], sharing.record[record, R_REASON] = outcome, reason
        return record
    sharing.count[N_RECORDS] = record + 1
    memo[state + X_RECORD] = record + 1
    for place in range(R_LABELS):
        sharing.record[record, place] = 0
    for place in range(R_LABELS + count, sharing.record.shape[1]):
        sharing.record[record, place] = -1
    sharing.cost[record, R_SHARED] = sharing.cost[record, R_ALONE] = 0.0
    sharing.record[record, R_GROUP] = group
    sharing.record[record, R_EVENT], sharing.record[record, R_PANE] = begin, pane
    sharing.record[record, R_BURST] = burst
    sharing.record[record, R_OUTCOME], sharing.record[record, R_REASON] = outcome, reason
    for member in range(count):
        sharing.record[record, R_LABELS + member] = memo[labels + member]
    return record


@compiled_part
def pane_of(events: Events, sharing: SharingState, event: int) -> Any:
    """The number of the pane of an event; 0 where panes do not matter."""
    pane = sharing.settings[S_PANE]
    return (events.time[event] - sharing.settings[S_ORIGIN]) // pane if pane > 0 else np.int64(0)


@compiled_part
def remember(target: Any, source: Any) -> None:
    """Copy the counters of one array to another."""
    for place in range(target.shape[0]):
        target[place] = source[place]
