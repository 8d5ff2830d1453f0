"""The layout of what the event kernel reads and writes: all tables in one array, all state in another.

One array costs a compiled function a fraction of what dozens cost, to compile and to call. Each begins with a head:
`plan[P_SIZE]` is where the sizes begin. Rows that belong to i stand at `range(plan[at + i], plan[at + i + 1], width)`
with `at = plan[P_...]`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.event_tables import EventProgram, Rows

Whole = npt.NDArray[np.int64]

NONE = np.int64(-(2**63))
"""No match yet: before every time."""

# The head of a plan: counts and addresses first, then where tables begin, in the order of `packed`.
(P_CODES, P_STRIDE, P_GAPS, P_FOLDS, P_NEGATED, P_HISTORIES, P_CLASSES, P_QUEUES, P_STRANDS) = range(9)
(P_SETS, P_SET_POSITIONS, P_VALUE, P_WORDS, P_WIDTH, P_STATE, P_RESULT, P_SCRATCH, P_FREE) = range(9, 18)
(P_SIZE, P_BASE, P_ALWAYS, P_ASKED_RUN, P_FED_RUN, P_POSITION, P_CLASS, P_QUEUE, P_STRAND) = range(18, 27)
(P_SET, P_SET_POSITION) = range(27, 29)
(P_MASKS, P_STARTS, P_INPUTS, P_LOOPS, P_TOTALS, P_READERS, P_LOADS, P_RIDERS, P_WEIGHTS) = range(29, 38)
(P_QUEUED, P_ASKED, P_FED, P_FOLD_GAPS, P_GAP_CODES, P_GAP_WAITS, P_BINDING, P_INCOMING) = range(38, 46)
(P_ENDS, P_SET_BINDING, P_SET_INCOMING, P_SET_EFFECTS) = range(46, 50)
_PLAN_HEAD = 50

# Fields of tables.
C_KIND, C_CONDITION, C_GAP, C_LANES, C_LEFT, C_RIGHT, C_CODE, C_FIELDS = range(8)
Q_CODE, Q_WIDTH, Q_TOTAL, Q_FIELDS = range(4)
N_FOLD, N_STARTS, N_ENDS, N_HISTORY, N_FIELDS = range(5)
S_OFFSET, S_WIDTH, S_SIDES, S_SET, S_FIELDS = range(5)
A_WIDTH, A_SCANS, A_KEEPS, A_FIRST, A_FIELDS = range(5)
X_START, X_END, X_SIDE, X_FIELDS = range(4)

# The head of a memo: what is at hand, then where arrays begin.
(M_LOW, M_HIGH, M_ROOM, M_SHORT, M_KEPT, M_PENDING, M_NEWEST, M_STARTS, M_SLOTS, M_FOLDED) = range(10)
(M_LONGEST, M_STANDINGS) = range(10, 12)
(M_COUNTS, M_LATEST, M_SINCE, M_STARTED, M_DIRTY, M_HISTORY_COUNT, M_HEAD) = range(12, 19)
(M_QUEUE_ADDRESS, M_QUEUE_FIRST, M_QUEUE_MIDDLE, M_QUEUE_COUNT, M_CLASS_ADDRESS, M_CLASS_SIZE) = range(19, 25)
(M_HISTORY_EVENT, M_HISTORY_START, M_START, M_MATCHED, M_LINE, M_SORTING, M_QUEUE_TIME) = range(25, 32)
(M_STANDING, M_MASK, M_WAY_POSITION, M_WAY_SOURCE) = range(32, 36)
(M_CLASS_RANK, M_RANK, M_ORDER, M_BUCKETS) = range(36, 40)
_MEMO_HEAD = 40

T_SET, T_TIME, T_ROW, T_ADDRESS, T_MEMBERS, T_NEXT, T_FIELDS = range(7)
"""Fields of a standing."""

WORD_SHIFT, WORD_REST = 5, 31
"""Positions per word of a set: 32."""


def packed(program: EventProgram) -> Whole:
    """All tables in one array."""
    paths, gaps, sets = program.paths, program.gaps, program.sets
    width, state, result, scratch, free = program.numbers.tolist()
    counts = [
        len(paths.size),
        int(paths.size.max(initial=0)),
        len(gaps.folds.start) - 1,
        len(gaps.gaps.start) - 1,
        len(gaps.position),
        gaps.histories,
        len(program.classes),
        len(program.queues),
        len(program.strands),
        len(sets.strand),
        len(sets.position),
        sets.value,
        sets.words,
    ]
    flat = (
        *(paths.size, paths.base, paths.always, paths.asked_runs, paths.fed_runs, gaps.position),
        *(program.classes, program.queues, program.strands, sets.strand, sets.position),
    )
    by_key = (
        *(paths.masks, paths.starts, paths.inputs, paths.loops, paths.totals, paths.readers, paths.loads),
        *(
            paths.riders,
            paths.weights,
            paths.queues,
            paths.asked,
            paths.fed,
            gaps.gaps,
            gaps.codes,
            gaps.waits,
        ),
        *(gaps.binding, gaps.incoming, program.ends, sets.binding, sets.incoming, sets.effects),
    )
    return _joined([*counts, width, state, result, scratch, free], flat, by_key)


def _joined(counts: Sequence[int], flat: Sequence[Any], by_key: Sequence[Rows]) -> Whole:
    parts = [np.array(counts, np.int64)]
    top = _PLAN_HEAD
    heads = []
    for table in flat:
        heads.append(top)
        parts.append(table.ravel())
        top += table.size
    for rows in by_key:
        heads.append(top)
        first = top + len(rows.start)
        parts += [first + rows.start * rows.item.shape[1], rows.item.ravel()]
        top = first + rows.item.size
    return np.concatenate([parts[0], np.array(heads, np.int64), *parts[1:]])


def new_memo(plan: Whole, longest: int, standings: int) -> Whole:
    """State for windows of at most `longest` events, and for so many standings of sets."""
    codes, queues, classes, histories = (int(plan[at]) for at in (P_CODES, P_QUEUES, P_CLASSES, P_HISTORIES))
    binding = plan[plan[P_BINDING] : plan[P_BINDING] + codes + 1]
    starts = int(np.diff(binding).max(initial=0)) // 2
    positions = int(plan[P_SET_POSITIONS])
    sizes = [
        *(codes, int(plan[P_FOLDS]), int(plan[P_GAPS]), int(plan[P_NEGATED]), codes),
        *(histories, 2 * int(plan[P_SETS]), queues, queues, queues, queues, classes, classes),
        *(histories * longest, histories * longest, 3 * starts * longest, longest),
        *(classes * longest, longest if classes else 0, queues * longest),
        *(standings * T_FIELDS, standings * int(plan[P_WORDS]), positions, positions),
        *(classes, classes * longest, 2 * longest if classes else 0, 256),
    ]
    heads = _MEMO_HEAD + np.cumsum([0, *sizes])
    memo = np.zeros(int(heads[-1]), np.int64)
    memo[M_LONGEST], memo[M_STANDINGS] = longest, standings
    memo[M_COUNTS:_MEMO_HEAD] = heads[:-1]
    return memo
