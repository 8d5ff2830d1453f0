"""Ambiguous strands as tables: positions, edges and what an event adds, for counting by sets of positions."""

from __future__ import annotations

from collections.abc import Sequence

from hamlet_core.engines.hamlet.accumulators import Strand
from hamlet_core.engines.hamlet.program.negations import Folds
from hamlet_core.engines.hamlet.program.tables import NEVER, NO_GAP, Sets, rows, table

WORD = 32
"""Positions per word of a set."""


def set_numbers(strands: Sequence[Strand]) -> dict[int, int]:
    """Which strands are counted by sets -> their numbers among these."""
    ambiguous = (place for place, strand in enumerate(strands) if strand.analysed.ambiguous)
    return {place: number for number, place in enumerate(ambiguous)}


def set_tables(strands: Sequence[Strand], folds: Folds, size: int, value: int) -> Sets:
    """The tables of all ambiguous strands; `size` counts the codes, `value` is an address to load attributes at."""
    table_of: list[tuple[int, ...]] = []
    binding: list[tuple[int, ...]] = []
    position: list[tuple[int, ...]] = []
    incoming: list[tuple[int, ...]] = []
    effects: list[tuple[int, ...]] = []
    words = 1
    for number, place in enumerate(set_numbers(strands)):
        strand, first = strands[place], len(position)
        automaton, query, lookup = strand.analysed.automaton, strand.query, folds.lookup
        edges = folds.edges(query, automaton)
        starts = {one.position: folds.gap(query, automaton, one.gap) for one in automaton.starts}
        ends = {one.position: folds.gap(query, automaton, one.gap) for one in automaton.ends}
        scans = any(gap != NO_GAP or condition >= 0 for _, _, gap, condition in edges)
        keeps = scans or any(gap != NO_GAP for gap in ends.values())
        table_of.append((strand.width, int(scans), int(keeps), first))
        words = max(words, -(-len(automaton.positions) // WORD))
        for one in automaton.positions:
            code, bit = lookup.codes[one.type], lookup.bit(query, one.alias)
            binding.append((code, number, one.index, bit))
            position.append((starts.get(one.index, NEVER), ends.get(one.index, NEVER), one.side))
            effects += _effects(strand, one.alias, first + one.index)
        incoming += [(first + target, source, gap, condition) for source, target, gap, condition in edges]
    return Sets(
        table(table_of, 4),
        rows(size, binding, 3),
        table(position, 3),
        rows(len(position), incoming, 3),
        rows(len(position), effects, 2),
        value,
        words,
    )


def _effects(strand: Strand, alias: str, position: int) -> list[tuple[int, int, int]]:
    found = [
        (position, component, rider.column)
        for component, rider in enumerate(strand.riders, start=1)
        if rider.alias == alias
    ]
    if strand.weight is not None and strand.weight.alias == alias:
        found.append((position, 0, strand.weight.column))
    return found
