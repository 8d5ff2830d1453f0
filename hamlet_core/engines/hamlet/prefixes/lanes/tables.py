"""What the kernel of lanes reads and writes, as named arrays. A lane is a query, and a bit of a uint64."""

from __future__ import annotations

from typing import Any, NamedTuple

MOST_LANES = 64

PILE, HEAP, LIST, LAST = range(4)
"""How prefixes wait behind an event: all as one; by the key that a condition on the next event compares; one by one; not
at all, for nothing follows.
"""

L_LATEST, L_EARLIEST, L_OFFSETS, L_LASTING, L_SHORTEST, L_LONGEST = range(6)
"""Places of what is known of times: when a prefix began (the last of them negated, the first, all added up from the start
of the window), and what trends have lasted (the longest negated).
"""


class Steps(NamedTuple):
    """The queries: a step is a position that several of them may have, an edge a pair of steps.

    An element is a row of integers and one of doubles for each lane. Integers are added up, or the least of them is kept; the
    first is the number of trends, or (nobody asks for it) its least, which is 1. Lanes that do not stand in a prefix have the
    neutral numbers there.
    """

    contiguous: bool
    """Whether prefixes wait for one time stamp only."""
    keeping: bool
    """Whether prefixes go on waiting when an event prolongs them: under any."""
    kind: Any
    """int64[step]: PILE, HEAP, LIST or LAST."""
    code_first: Any
    """int64[code + 2]: where the steps of a type begin among `code_step`; of dead events there are none."""
    code_step: Any
    bit: Any
    """int64[step]: its local predicate among the bits of an event; -1: none."""
    start: Any
    """uint64[step]: the lanes in which a trend may begin there; `starting` is the same, boolean[step, lane]."""
    starting: Any
    ends: Any
    """uint64[step]: the lanes in which a trend may end there; `ending` is the same, boolean[step, lane]."""
    ending: Any
    edge_first: Any
    """int64[step + 1]: where its incoming edges begin."""
    edge_pile: Any
    """int64[step]: where among them those from a PILE begin, which come last."""
    edge_source: Any
    edge_condition: Any
    """int64[edge]: the condition on both events; -1: none."""
    edge_lanes: Any
    """uint64[edge]: the lanes that have it; `edge_has` is the same, boolean[edge, lane]."""
    edge_has: Any
    key: Any
    """int64[step]: of a HEAP the column of keys among the integers of the pairs, and whether the largest go first."""
    falling: Any
    counted: Any
    """boolean[step]: whether all that is known of what waits there is how many events have begun trends: it is a PILE, nothing
    comes before, nothing is gathered, no trend ends, and no event of the same type comes next.
    """
    effect_first: Any
    """int64[step + 1]: where begins what an event there adds."""
    effect_part: Any
    effect_column: Any
    """int64: a column of values; -1: 1 for every event."""
    effect_kind: Any
    """0: into the integers, times the number of trends; 1: the least; 2: into the doubles, times that number."""
    effect_has: Any
    """boolean[effect, lane]"""
    least: Any
    """boolean[integer]: whether the least is kept."""
    times: Any
    """int64[6], see `L_LATEST`: places among the integers; -1: nobody asks."""
    reach_number: Any
    """int64[pair]: for the reach of this number, a step and a lane."""
    reach_step: Any
    reach_lane: Any


class Prefixes(NamedTuple):
    """Room for prefixes: those that wait (the pile of each step first), or those that arrive at one time."""

    alive: Any
    """uint64: the lanes in which a prefix stands here."""
    step: Any
    row: Any
    """int64: of the stream, of the last event."""
    key: Any
    """int64: what a HEAP is ordered by, smallest first; `known` is False where it is NULL: these come last."""
    known: Any
    gone: Any
    """boolean: prolonged under its condition at this time."""
    integers: Any
    """int64[prefix, number, lane]"""
    doubles: Any


class Places(NamedTuple):
    """What happens at which step."""

    begun: Any
    """int64[step]: events that have begun trends at a counted step, and are not in its pile yet."""
    taken: Any
    """uint64[step]: lanes that go on without a condition at this time."""
    touched: Any
    """boolean[step]: something there has gone on; `list` has these, under contiguous all that hold something."""
    list: Any
    count: Any
    """int64[2]: entries of `list`, piles that hold something."""


class Singles(NamedTuple):
    """Which of the prefixes wait at which step one by one, in its HEAP or LIST."""

    slot: Any
    """int64[step, place]"""
    size: Any
    """int64[step]"""
    lanes: Any
    """uint64[step]: the lanes of all that waits in it, and perhaps more."""
    spare: Any
    """int64: slots that may be used again."""
    todo: Any
    """int64: nodes of a heap that are still to be looked at."""
    count: Any
    """int64[2]: entries of `spare`, slots used so far, those of piles among them."""


class Trends(NamedTuple):
    """The trends of a window, lane by lane."""

    integers: Any
    """int64[number, lane]"""
    doubles: Any
    there: Any
    """uint64[1]: lanes with a trend."""
    reached: Any
    """uint64[step]: lanes in which a prefix has ended there."""
    free: Any
    """int64[lane]: when the last of the trends that follow one another has ended, and how many they are."""
    disjoint: Any


class Fold(NamedTuple):
    """What a fold reads, and the room it has."""

    tied: bool
    """Whether events of a partition may have one time: else no time is looked at that nobody asks for."""
    steps: Steps
    events: Any
    """See `input.frame.Events`."""
    pairs: Any
    """See `predicates.pair_tables.PairTables`."""
    values: Any
    """See `prefixes.tables.Values`."""
    waiting: Prefixes
    fresh: Prefixes
    places: Places
    trends: Trends


class LaneRows(NamedTuple):
    """What windows come to, row by row and lane by lane; windows of several partitions add up in one row."""

    integers: Any
    """int64[row, number, lane]"""
    doubles: Any
    there: Any
    """boolean[row, lane]"""
    partitions: Any
    disjoint: Any
    reached: Any
    """int64[row, reach]"""
