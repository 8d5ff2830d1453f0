"""Accumulators without adjacent conditions as plain tables: which lanes an event's type moves, from where, by how much.

A *cell* is a running total: of a position, or of what waits at a gap behind it. It has a number per component, and
each number a lane per slot (open window). Positions of one type and one form lie side by side in a *block*, so that a
burst moves the block in loops over contiguous lanes. Within a burst of one type every lane of a block moves by the
same *coefficients* of the burst, which only its events decide: growth (SEMANTICS 3: n = start + all that may
precede) sums to `grown = product of (1 + ties) - 1` where a position follows itself, to `added = number of events`
where it does not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from hamlet_core.engines.hamlet.jit.packed import Rows

NO_BIT = -1
UNBOUND = -2
"""Instead of a column: the position does not bind the alias of this weight or attribute sum."""

# Fields of rows, by table; last how many there are.
(SIZE, WIDTH, TOTAL, DELTA, FOLLOWS_ITSELF, GROWTH, SOURCES, SOURCE, WAITS, WAIT) = range(10)
ATTRIBUTE_SUM, PLAIN, BLOCK_FIELDS = range(10, 13)
BIT, WEIGHT, NUMBERS, SUM_FIRST, SUM_STOP, GROWTH_FIELDS = range(6)
"""The numbers of a growth are grown, added and a temporary, one after the other; those of a sum likewise."""
VALUE, SUM_NUMBERS, SUM_FIELDS = range(3)
BURSTS, STEPS, KIND_FIELDS = range(3)
N_POSITION, N_BIT, N_STARTS, N_BEFORE, N_BEFORE_STOP, N_PATTERN, N_ENDS, NEGATION_FIELDS = range(8)
GAP_BUCKETS, GAP_START, GAP_WINDOWS, GAP_FIELDS = range(4)
WAIT_BASE, WAIT_GAP, WAIT_STRIDE, WAIT_FIELDS = range(4)
CELL, CELL_SLOTS, CELL_STRIDE, CELL_FIELDS = range(4)
FIRST_SLOT, RUN, CLEAR_FIELDS = range(3)
S_WINDOWS, S_OUT, S_END, S_END_STOP, S_FIELDS = range(5)
END_SLOT, END_SIDE, END_FIELDS = range(3)
FINISH_COUNT, FINISH_NUMBER, FINISH_TARGET, FINISH_FIELDS = range(4)


class BurstProgram(NamedTuple):
    """Tables of one class of accumulators: rows of the fields above, or of one number."""

    block: Rows
    """By type."""
    source: Any
    """Addresses to gather, [source, component, lane] for each block."""
    wait: Any
    attribute_sum: Any
    """By block: for each component beyond the first the index of its sum, or -1."""
    growth: Rows
    """By type."""
    sum: Any
    kind: Any
    """A row per type."""
    negation: Rows
    """By type: its positions in negated patterns."""
    before: Any
    """Positions that precede a position of a negated pattern."""
    gap: Any
    pattern_gaps: Rows
    """By negated pattern: the gaps that name it."""
    gap_patterns: Rows
    gap_positions: Rows
    """By gap: the positions of its patterns that a match can go on from."""
    gap_waits: Rows
    """By gap: the cells that wait there, their first bucket."""
    clear: Rows
    """By window specification: runs (address of the first slot, how many) of the numbers that its windows own."""
    start: Any
    """By window specification: the address of the starts that no gap closes."""
    slots: Any
    accumulator: Any
    """The accumulators of AND."""
    end: Any
    """Of AND: the address of the first slot, and the side."""
    finish: Rows
    """By window specification: (count, number, where in a row of results it is added) of the other accumulators' ends."""
    out: Any
    """By accumulator: where its elements stand in a row of results."""
    out_width: Any
    """Numbers per row of results."""
    size: Any
    """Numbers in the arena, results not included; addresses count from the end of the results."""
    patterns: Any
    """How many negated patterns there are."""
    positions: Any
    """How many positions they have."""
