"""Ambiguous accumulators as tables: positions, edges and what an event adds, for counting by sets of positions."""

from __future__ import annotations

from collections.abc import Sequence

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.jit.packed import rows, table
from hamlet_core.engines.hamlet.program.negations import Folds
from hamlet_core.engines.hamlet.program.tables import NEVER, NO_GAP, Sets

WORD = 32
"""Positions per word of a set."""


def set_numbers(accumulators: Sequence[Accumulator]) -> dict[int, int]:
    """Which accumulators are counted by sets -> their numbers among these."""
    ambiguous = (place for place, accumulator in enumerate(accumulators) if accumulator.analysed.ambiguous)
    return {place: number for number, place in enumerate(ambiguous)}


def set_tables(accumulators: Sequence[Accumulator], folds: Folds, size: int, value: int) -> Sets:
    """The tables of all ambiguous accumulators; `size` counts the codes, `value` is an address to load attributes at."""
    table_of: list[tuple[int, ...]] = []
    binding: list[tuple[int, ...]] = []
    position: list[tuple[int, ...]] = []
    incoming: list[tuple[int, ...]] = []
    effects: list[tuple[int, ...]] = []
    words = 1
    for number, place in enumerate(set_numbers(accumulators)):
        accumulator, first = accumulators[place], len(position)
        automaton, query, lookup = accumulator.analysed.automaton, accumulator.query, folds.lookup
        edges = folds.edges(query, automaton)
        starts = {one.position: folds.gap(query, automaton, one.gap) for one in automaton.starts}
        ends = {one.position: folds.gap(query, automaton, one.gap) for one in automaton.ends}
        scans = any(gap != NO_GAP or condition >= 0 for _, _, gap, condition in edges)
        keeps = scans or any(gap != NO_GAP for gap in ends.values())
        table_of.append((accumulator.width, int(scans), int(keeps), first))
        words = max(words, -(-len(automaton.positions) // WORD))
        for one in automaton.positions:
            code, bit = lookup.codes[one.type], lookup.bit(query, one.alias)
            binding.append((code, number, one.index, bit))
            position.append((starts.get(one.index, NEVER), ends.get(one.index, NEVER), one.side))
            effects += _effects(accumulator, one.alias, first + one.index)
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


def _effects(accumulator: Accumulator, alias: str, position: int) -> list[tuple[int, int, int]]:
    found = [
        (position, component, attribute_sum.column)
        for component, attribute_sum in enumerate(accumulator.attribute_sums, start=1)
        if attribute_sum.alias == alias
    ]
    if accumulator.weight is not None and accumulator.weight.alias == alias:
        found.append((position, 0, accumulator.weight.column))
    return found
