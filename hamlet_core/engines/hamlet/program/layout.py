"""The layout of what the event kernel reads and writes: all tables in one packed array, all state in another.

Each begins with a head: `plan[P_SIZE]` is where the sizes begin, `get(plan, P_SIZE, block)` is one of them. Rows that belong to i stand at `range(plan[at + i], plan[at + i + 1], width)`
with `at = plan[P_...]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.jit.packed import joined
from hamlet_core.engines.hamlet.program.tables import EventProgram

Whole = npt.NDArray[np.int64]

NONE = np.int64(-(2**63))
"""No match yet: before every time."""

# The head of a plan: counts and addresses first, then where tables begin, in the order of `packed`.
(P_CODES, P_STRIDE, P_GAPS, P_FOLDS, P_NEGATED, P_HISTORIES, P_CLASSES, P_QUEUES) = range(8)
(P_SETS, P_SET_POSITIONS, P_VALUE, P_WORDS, P_BLOCKS, P_GROUPS, P_LANES) = range(8, 15)
(P_STATE, P_RESULT, P_SCRATCH, P_FREE) = range(15, 19)
(P_SIZE, P_BASE, P_SLOT, P_ALWAYS, P_ASKED_RUN, P_FED_RUN, P_POSITION, P_CLASS, P_QUEUE) = range(19, 28)
(P_ACCUMULATOR, P_SET, P_SET_POSITION, P_GROUP_OF, P_GROUP, P_TOUCHED, P_STEADY, P_ORDERED) = range(28, 36)
(P_UNITS, P_MASKS, P_STARTS, P_INPUTS, P_LOOPS, P_TOTALS, P_READERS, P_LOADS, P_ATTRIBUTE_SUMS) = range(
    36, 45
)
(P_WEIGHTS, P_QUEUED, P_ASKED, P_FED, P_FOLD_GAPS, P_GAP_CODES, P_GAP_WAITS, P_BINDING) = range(45, 53)
(P_INCOMING, P_ENDS, P_SET_BINDING, P_SET_INCOMING, P_SET_EFFECTS) = range(53, 58)
(P_MEMBERS, P_NUMBERS, P_COLUMNS, P_FACTORS, P_SUMS, P_KEPT, P_RUNS, P_TOUCHES) = range(58, 66)
P_STEADY_KEPT, P_ORDERED_KEPT = 66, 67

# Fields of tables.
C_KIND, C_CONDITION, C_GAP, C_LANES, C_LEFT, C_RIGHT, C_CODE, C_GROUP, C_FIELDS = range(9)
Q_CODE, Q_WIDTH, Q_TOTAL, Q_FIELDS = range(4)
N_FOLD, N_STARTS, N_ENDS, N_HISTORY, N_FIELDS = range(5)
S_OFFSET, S_WIDTH, S_SIDES, S_SET, S_FIELDS = range(5)
A_WIDTH, A_SCANS, A_KEEPS, A_FIRST, A_FIELDS = range(5)
X_START, X_END, X_SIDE, X_FIELDS = range(4)
(G_BLOCK, G_CODE, G_SIZE, G_UNIT, G_ROOM, G_KIND, G_MEMBERS, G_BARE, G_TYPES) = range(9)
(G_SUMS, G_RUNNING, G_INPUTS, G_SCRATCH, G_LONE, G_MEMBER_AT, G_NUMBER_AT, G_LANE_AT) = range(9, 17)
G_FIELDS = 17

BY_TOTAL, BY_TREE, BY_SCAN = 0, 1, 2
"""How members find older events: `G_KIND`."""

NOBODY, SOME, ALL = 0, 1, 2
"""Which members of a group or set an event matches."""

WORDS = 8
"""Words of 32 members; larger groups are divided."""
MOST_MEMBERS = 32 * WORDS

ENDS_BURSTS, COUNTS = 1, 2
"""Flags by group and code: its events end a burst of the group; they count as matched."""

# The head of a memo: what is at hand, then where arrays begin.
(M_LOW, M_HIGH, M_ROOM, M_SHORT, M_KEPT, M_PENDING, M_NEWEST, M_STARTS, M_SLOTS, M_FOLDED) = range(10)
(M_LONGEST, M_STANDINGS, M_BURST_SLOTS, M_JUMP) = range(10, 14)
(M_COUNTS, M_LATEST, M_SINCE, M_STARTED, M_DIRTY, M_HISTORY_COUNT, M_HEAD) = range(14, 21)
(M_QUEUE_ADDRESS, M_QUEUE_FIRST, M_QUEUE_MIDDLE, M_QUEUE_COUNT, M_CLASS_ADDRESS, M_CLASS_SIZE) = range(21, 27)
(M_HISTORY_EVENT, M_HISTORY_START, M_START, M_MATCHED, M_LINE, M_SORTING, M_QUEUE_TIME) = range(27, 34)
(M_STANDING, M_MASK, M_WAY_POSITION, M_WAY_SOURCE) = range(34, 38)
(M_CLASS_RANK, M_RANK, M_ORDER, M_BUCKETS) = range(38, 42)
(M_GROUP, M_SET_OF, M_NEW_SET, M_LIKE, M_SOLE, M_TRIED, M_SET_HITS, M_RENAMED) = range(42, 50)
(M_LANE_OF, M_MARK, M_LANE_SET, M_LANE_INPUT, M_COEFFICIENTS, M_MATCHES, M_OPENED) = range(50, 57)
_MEMO_HEAD = 57

# Fields of the state of a group.
(X_STOP, X_SETS, X_LANES, X_GATHERED, X_PENDING, X_ALONE, X_BEGUN, X_EVENTS, X_FED, X_STRIDE) = range(10)
(X_SEEN, X_SEEN_TO, X_LEFT, X_DIFFERING, X_PLANTED, X_BURST, X_RECORD, X_DONE) = range(10, 18)
(X_LOOKED, X_RUNS, GROUP_FIELDS) = range(18, 21)

T_SET, T_TIME, T_ROW, T_ADDRESS, T_MEMBERS, T_NEXT, T_FIELDS = range(7)
"""Fields of a standing."""

WORD_SHIFT, WORD_REST = 5, 31
"""Positions per word of a set: 32."""


def packed(program: EventProgram) -> Whole:
    """All tables in one array."""
    paths, gaps, sets, groups = program.paths, program.gaps, program.sets, program.groups
    state, result, scratch, free = program.numbers.tolist()
    counts = [
        len(paths.units.start) - 1,
        int(paths.stride),
        len(gaps.folds.start) - 1,
        len(gaps.gaps.start) - 1,
        len(gaps.position),
        gaps.histories,
        len(program.classes),
        len(program.queues),
        len(sets.accumulator),
        len(sets.position),
        sets.value,
        sets.words,
        len(paths.size),
        len(groups.group),
        paths.lanes,
    ]
    flat = (
        *(paths.size, paths.base, paths.slot, paths.always, paths.asked_runs, paths.fed_runs, gaps.position),
        *(program.classes, program.queues, program.accumulators, sets.accumulator, sets.position),
        *(groups.of_block, groups.group, groups.touched, program.steady.block, program.ordered.block),
    )
    by_key = (
        *(
            paths.units,
            paths.masks,
            paths.starts,
            paths.inputs,
            paths.loops,
            paths.totals,
            paths.readers,
            paths.loads,
        ),
        *(
            paths.attribute_sums,
            paths.weights,
            paths.queues,
            paths.asked,
            paths.fed,
            gaps.gaps,
            gaps.codes,
            gaps.waits,
        ),
        *(gaps.binding, gaps.incoming, program.ends, sets.binding, sets.incoming, sets.effects),
        *(groups.members, groups.numbers, groups.columns, groups.factors, groups.sums, groups.kept),
        *(groups.runs, groups.touches, program.steady.kept, program.ordered.kept),
    )
    return joined([*counts, state, result, scratch, free], [*flat, *by_key])


def new_memo(plan: Whole, longest: int, standings: int) -> Whole:
    """State for windows of at most `longest` events, and for so many standings of sets."""
    codes, queues, classes, histories = (int(plan[at]) for at in (P_CODES, P_QUEUES, P_CLASSES, P_HISTORIES))
    groups = plan[plan[P_GROUP] : plan[P_TOUCHED]].reshape(-1, G_FIELDS)
    members, numbers, lanes = (int(groups[:, at].sum()) for at in (G_MEMBERS, G_SIZE, G_ROOM))
    binding = plan[plan[P_BINDING] : plan[P_BINDING] + codes + 1]
    starts = int(np.diff(binding).max(initial=0)) // 2
    positions = int(plan[P_SET_POSITIONS])
    sizes = [
        *(codes, int(plan[P_FOLDS]), int(plan[P_GAPS]), int(plan[P_NEGATED]), int(plan[P_BLOCKS])),
        *(histories, 2 * int(plan[P_SETS]), queues, queues, queues, queues, classes, classes),
        *(histories * longest, histories * longest, 3 * starts * longest, longest),
        *(classes * longest, longest if classes else 0, queues * longest),
        *(standings * T_FIELDS, standings * int(plan[P_WORDS]), positions, positions),
        *(classes, classes * longest, 2 * longest if classes else 0, 2048),
        *(len(groups) * GROUP_FIELDS, members, members, members, members, members, members, 2 * members),
        *(numbers, numbers, lanes, lanes, classes, 16, int(plan[P_LANES])),
    ]
    heads = _MEMO_HEAD + np.cumsum([0, *sizes])
    memo = np.zeros(int(heads[-1]), np.int64)
    memo[M_LONGEST], memo[M_STANDINGS] = longest, standings
    memo[M_COUNTS:_MEMO_HEAD] = heads[:-1]
    return memo
