"""The tables of a burst program in one array, as the burst kernel reads them."""

from __future__ import annotations

from hamlet_core.engines.hamlet.bursts.tables import (
    BLOCK_FIELDS,
    CELL_FIELDS,
    CLEAR_FIELDS,
    END_FIELDS,
    FINISH_FIELDS,
    GAP_FIELDS,
    GROWTH_FIELDS,
    KIND_FIELDS,
    NEGATION_FIELDS,
    S_FIELDS,
    SUM_FIELDS,
    WAIT_FIELDS,
    BurstProgram,
)
from hamlet_core.engines.hamlet.jit.packed import Packed, Rows, joined
from hamlet_core.errors import InvariantError

(GAPS, ACCUMULATORS, SPECIFICATIONS, OUT_WIDTH, ALL_NUMBERS) = range(5)
(AT_BLOCK, AT_SOURCE, AT_WAIT, AT_ATTRIBUTE_SUM, AT_GROWTH, AT_SUM, AT_KIND, AT_NEGATION, AT_BEFORE) = range(
    5, 14
)
(AT_GAP, AT_PATTERN_GAPS, AT_GAP_PATTERNS, AT_GAP_POSITIONS, AT_GAP_WAITS, AT_CLEAR) = range(14, 20)
(AT_START, AT_SLOTS, AT_ACCUMULATOR, AT_END, AT_FINISH) = range(20, 25)


def packed(program: BurstProgram) -> Packed:
    """All tables of a program, one after the other behind their places, read-only."""
    one = program
    counts = [len(one.gap), len(one.accumulator), len(one.slots), one.out_width, one.size]
    tables = [
        (one.block, BLOCK_FIELDS),
        (one.source, 1),
        (one.wait, WAIT_FIELDS),
        (one.attribute_sum, 1),
        (one.growth, GROWTH_FIELDS),
        (one.sum, SUM_FIELDS),
        (one.kind, KIND_FIELDS),
        (one.negation, NEGATION_FIELDS),
        (one.before, 1),
        (one.gap, GAP_FIELDS),
        (one.pattern_gaps, 1),
        (one.gap_patterns, 1),
        (one.gap_positions, 1),
        (one.gap_waits, CELL_FIELDS),
        (one.clear, CLEAR_FIELDS),
        (one.start, 1),
        (one.slots, 1),
        (one.accumulator, S_FIELDS),
        (one.end, END_FIELDS),
        (one.finish, FINISH_FIELDS),
    ]
    for place, (own, fields) in enumerate(tables, start=len(counts)):
        items = own.item if isinstance(own, Rows) else own
        if (items.shape[1] if items.ndim > 1 else 1) != fields:
            raise InvariantError(f"bursts: rows of table {place} have not {fields} fields", code="E931")
    return joined(counts, [own for own, _ in tables])
