"""What the kernel of waiting prefixes reads and writes, as named arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

NEUTRAL = 2**63 - 2
"""Of the least of nothing."""
MOST = 2**62
"""No number may be larger: then two of them can be added."""
ANY, NEXT, CONTIGUOUS = range(3)
DONE, LOST, FULL = range(3)
"""How a window went: LOST where a number would be larger than MOST, FULL where there is no more room for prefixes."""
NO_TIME = -(2**63)


class Program(NamedTuple):
    """One query: its automaton in bits, bit p for position p, and what events add to elements.

    An element is a row of integers and one of doubles. Integers are added up, or the least of them is kept; the first
    is the number of trends.
    """

    mode: int
    together: bool
    """Whether prefixes that stand in the same positions are one, whatever their last events are."""
    counting: bool
    """Whether anybody asks for the number of trends: it is 1 else, and cannot grow."""
    chains: bool
    """Whether anybody asks how many trends follow one another."""
    undoable: bool
    """Whether a trend may be undone by what comes after it."""
    candidates: Any
    """uint64[code + 1]: positions of the type."""
    bit: Any
    """int64[position]: its local predicate among the bits of an event; -1: none."""
    start: Any
    """uint64[1]: positions of first events, and `start_gap`, uint64[position], negations that close them."""
    start_gap: Any
    ends: Any
    """uint64[1]: positions of last events, and `end_gap`, uint64[position], negations that undo them."""
    end_gap: Any
    before: Any
    """uint64[position]: the positions of events that may come directly before."""
    edge_first: Any
    """int64[position + 1]: where its incoming edges begin."""
    edge_source: Any
    edge_gap: Any
    edge_condition: Any
    """int64[edge]: the condition on both events; -1: none."""
    right: Any
    """uint64[1]: positions of the right side of AND."""
    negated: Any
    """uint64[code + 1]: positions of negated patterns, all patterns numbered through."""
    negated_bit: Any
    negated_start: Any
    negated_before: Any
    negated_ends: Any
    """uint64[negation]"""
    reach: Any
    """uint64[aliases asked for]: their positions."""
    effect_first: Any
    """int64[position + 1]: where begins what an event there adds."""
    effect_part: Any
    effect_column: Any
    """int64: a column of values; -1: 1 for every event."""
    effect_kind: Any
    """0: into the integers, times the number of trends; 1: the least; 2: into the doubles, times that number."""
    least: Any
    """Boolean[integer]: whether the least is kept."""
    times: Any
    """int64[7], see `T_LATEST` and the others: the places of what is known of times; -1: nothing of it."""


T_LATEST, T_EARLIEST, T_MOVING, T_CLOCK, T_LASTING, T_SHORTEST, T_LONGEST = range(7)
"""Times that grow are kept negated where the largest is wanted."""


class Waiting(NamedTuple):
    """Prefixes: those that wait, and behind them those that arrive at this time."""

    time: Any
    row: Any
    mask: Any
    """uint64: the positions in which the prefix may stand."""
    taken: Any
    """uint8: bit 0 and 1, the sides on which an event of this time prolongs it."""
    integers: Any
    """int64[prefix, slot, number]: an element for each position, or (one slot) one for all."""
    doubles: Any


class Values(NamedTuple):
    """Columns of what events add to elements: [column, row of the stream]."""

    integers: Any
    doubles: Any


class Trends(NamedTuple):
    """The trends of a window by their sides: left, right, both."""

    integers: Any
    doubles: Any
    there: Any


class Fold(NamedTuple):
    """What a fold reads, and the room it has."""

    program: Program
    events: Any
    """See `input.frame.Events`."""
    pairs: Any
    """See `predicates.pair_tables.PairTables`."""
    values: Values
    waiting: Waiting
    ended: Waiting
    """What may be a trend, if nothing undoes it until the window closes."""
    trends: Trends
    starts: Any
    """int64[2, position of negated patterns]: the latest start of matches that stand there, before and after a time."""


class Found(NamedTuple):
    """What windows come to, row by row; windows of several partitions add up in one row."""

    integers: Any
    doubles: Any
    there: Any
    """Boolean[row]: whether there is a trend (of AND: a pair)."""
    partitions: Any
    reached: Any
    """int64[row, alias]"""
    disjoint: Any
