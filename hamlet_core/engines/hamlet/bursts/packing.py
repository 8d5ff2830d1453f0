"""The tables of a burst program in one array: a kernel that is given little compiles sooner.

`program[AT_X]` is where table X begins; the field F of its row r stands at `program[AT_X] + r * width + F`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.bursts.tables import BurstProgram
from hamlet_core.errors import InvariantError

TABLES = (
    "block",
    "block_first",
    "source",
    "wait",
    "attribute_sum",
    "growth",
    "growth_first",
    "sum",
    "kind",
    "negation",
    "negation_first",
    "before",
    "gap",
    "pattern_gaps",
    "pattern_gaps_first",
    "gap_patterns",
    "gap_patterns_first",
    "gap_positions",
    "gap_positions_first",
    "gap_waits",
    "gap_waits_first",
    "clear",
    "clear_first",
    "start",
    "slots",
    "accumulator",
    "end",
    "finish",
    "finish_first",
)
"""The fields of `BurstProgram` that are tables, in the order of their places in the array."""

(
    AT_BLOCK,
    AT_BLOCK_FIRST,
    AT_SOURCE,
    AT_WAIT,
    AT_ATTRIBUTE_SUM,
    AT_GROWTH,
    AT_GROWTH_FIRST,
    AT_SUM,
    AT_KIND,
    AT_NEGATION,
    AT_NEGATION_FIRST,
    AT_BEFORE,
    AT_GAP,
    AT_PATTERN_GAPS,
    AT_PATTERN_GAPS_FIRST,
    AT_GAP_PATTERNS,
    AT_GAP_PATTERNS_FIRST,
    AT_GAP_POSITIONS,
    AT_GAP_POSITIONS_FIRST,
    AT_GAP_WAITS,
    AT_GAP_WAITS_FIRST,
    AT_CLEAR,
    AT_CLEAR_FIRST,
    AT_START,
    AT_SLOTS,
    AT_ACCUMULATOR,
    AT_END,
    AT_FINISH,
    AT_FINISH_FIRST,
) = range(len(TABLES))
(GAPS, ACCUMULATORS, SPECIFICATIONS, OUT_WIDTH, ALL_NUMBERS) = range(len(TABLES), len(TABLES) + 5)
_HEAD = len(TABLES) + 5

# Fields of a row, by table.
BLOCK_FIELDS = 12
WAIT_FIELDS = 3
GROWTH_FIELDS = 5
SUM_FIELDS = 2
KIND_FIELDS = 2
NEGATION_FIELDS = 7
GAP_FIELDS = 3
GAP_WAITS_FIELDS = 3
CLEAR_FIELDS = 2
ACCUMULATOR_FIELDS = 4
END_FIELDS = 2
FINISH_FIELDS = 3


_WIDTHS = {
    "block": BLOCK_FIELDS,
    "wait": WAIT_FIELDS,
    "growth": GROWTH_FIELDS,
    "sum": SUM_FIELDS,
    "kind": KIND_FIELDS,
    "negation": NEGATION_FIELDS,
    "gap": GAP_FIELDS,
    "gap_waits": GAP_WAITS_FIELDS,
    "clear": CLEAR_FIELDS,
    "accumulator": ACCUMULATOR_FIELDS,
    "end": END_FIELDS,
    "finish": FINISH_FIELDS,
}


def packed(program: BurstProgram) -> Any:
    """All tables of a program, one after the other behind their places, read-only."""
    for name, fields in _WIDTHS.items():
        if getattr(program, name).shape[1] != fields:
            raise InvariantError(f"bursts: rows of {name} have not {fields} fields", code="E931")
    tables = [np.asarray(getattr(program, name), np.int64).ravel() for name in TABLES]
    places = _HEAD + np.cumsum([0, *(len(table) for table in tables[:-1])])
    counts = [len(program.gap), len(program.accumulator), len(program.slots), program.out_width, program.size]
    whole = np.concatenate([places, np.array(counts, np.int64), *tables])
    whole.flags.writeable = False
    return whole
