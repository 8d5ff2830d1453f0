"""Accumulators without adjacent conditions as plain tables: which lanes an event's type moves, from where, by how much.

A *cell* is a running total: of a position, or of what waits at a gap behind it. It has a number per component, and
each number a lane per slot (open window). Positions of one type and one form lie side by side in a *block*, so that a
burst moves the block in loops over contiguous lanes. Within a burst of one type every lane of a block moves by the
same *coefficients* of the burst, which only its events decide: growth (SEMANTICS 3: n = start + all that may
precede) sums to `grown = product of (1 + ties) - 1` where a position follows itself, to `added = number of events`
where it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

NO_BIT = -1
UNBOUND = -2
"""Instead of a column: the position does not bind the alias of this weight or attribute sum."""

# Fields of `BurstProgram.block`.
SIZE, WIDTH, TOTAL, DELTA, FOLLOWS_ITSELF, GROWTH, SOURCES, SOURCE, WAITS, WAIT, ATTRIBUTE_SUM, PLAIN = range(
    12
)
# Fields of `BurstProgram.growth`; its numbers are grown, added and a temporary, one after the other.
BIT, WEIGHT, NUMBERS, SUM_FIRST, SUM_STOP = range(5)
# Fields of `BurstProgram.sum`; its numbers likewise.
VALUE, SUM_NUMBERS = range(2)
# Fields of `BurstProgram.kind`, one row per type.
BURSTS, STEPS = range(2)
# Fields of `BurstProgram.negation`: one event type at one position of a negated pattern.
N_POSITION, N_BIT, N_STARTS, N_BEFORE, N_BEFORE_STOP, N_PATTERN, N_ENDS = range(7)
# Fields of `BurstProgram.gap`.
GAP_BUCKETS, GAP_START, GAP_WINDOWS = range(3)
# Fields of `BurstProgram.wait`.
WAIT_BASE, WAIT_GAP, WAIT_STRIDE = range(3)
# Fields of `BurstProgram.gap_waits`: the cells that wait at a gap, their first bucket.
CELL, CELL_SLOTS, CELL_STRIDE = range(3)
# Fields of `BurstProgram.accumulator`.
S_WINDOWS, S_OUT, S_END, S_END_STOP = range(4)


class BurstProgram(NamedTuple):
    """Tables of one class of accumulators. Ranges `x_first[i]:x_first[i + 1]` are what belongs to i."""

    block: Any
    block_first: Any
    """By type."""
    source: Any
    """Addresses to gather, [source, component, lane] for each block."""
    wait: Any
    attribute_sum: Any
    """By block: for each component beyond the first the index of its sum, or -1."""
    growth: Any
    growth_first: Any
    """By type."""
    sum: Any
    kind: Any
    negation: Any
    negation_first: Any
    """By type."""
    before: Any
    """Positions that precede a position of a negated pattern."""
    gap: Any
    pattern_gaps: Any
    pattern_gaps_first: Any
    """By negated pattern: the gaps that name it."""
    gap_patterns: Any
    gap_patterns_first: Any
    gap_positions: Any
    """By gap: the positions of its patterns that a match can go on from."""
    gap_positions_first: Any
    gap_waits: Any
    gap_waits_first: Any
    clear: Any
    """By window specification: runs (address of the first slot, how many) of the numbers that its windows own."""
    clear_first: Any
    start: Any
    """By window specification: the address of the starts that no gap closes."""
    slots: Any
    accumulator: Any
    """The accumulators of AND."""
    end: Any
    """Of AND: the address of the first slot, and the side."""
    finish: Any
    """By window specification: (count, number, where in a row of results it is added) of the other accumulators' ends."""
    finish_first: Any
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


@dataclass(slots=True)
class Rows:
    """Ragged rows in one flat list."""

    flat: list[Any] = field(default_factory=list)
    first: list[int] = field(default_factory=lambda: [0])

    def close(self, items: Iterable[Any]) -> None:
        self.flat.extend(items)
        self.first.append(len(self.flat))


def flat(values: Iterable[int]) -> Any:
    """One array."""
    return np.array(list(values), np.int64)


def table(rows: Sequence[Sequence[int]], columns: int) -> Any:
    """An array of two dimensions, also where there are no rows."""
    return np.array(rows, np.int64).reshape(len(rows), columns)


def ragged(name: str, rows: Iterable[Iterable[int]]) -> dict[str, Any]:
    """The two fields of a program for rows of unequal length."""
    made = Rows()
    for row in rows:
        made.close(row)
    return {name: flat(made.flat), f"{name}_first": flat(made.first)}
