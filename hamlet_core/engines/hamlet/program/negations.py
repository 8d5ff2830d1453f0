"""Negated patterns as tables: each is a fold of its own whose only result is how late its matches start.

Equal negated patterns of different queries are one fold, and gaps that name the same folds are one gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from hamlet_core.engines.hamlet.input.frame import Predicates
from hamlet_core.engines.hamlet.jit.packed import rows, table
from hamlet_core.engines.hamlet.program.tables import NO_BIT, NO_GAP, Gaps
from hamlet_core.pattern.automaton import Automaton, Gap, Position

Conditions: TypeAlias = Mapping[tuple[int, str, str], int]
"""(query, left alias, NEXT alias) -> condition of the `PairTables`; absent: any pair may be adjacent."""

Edge: TypeAlias = tuple[int, int, int, int]
"""(source, target, gap, condition or -1)"""

FoldKey: TypeAlias = tuple[tuple[tuple[int, int], ...], tuple[int, ...], tuple[Edge, ...], tuple[int, ...]]
"""(code and bit of each position, starts, edges, ends)"""


@dataclass(frozen=True, slots=True)
class Lookup:
    """What names stand for in the arrays of a class."""

    codes: Mapping[str, int]
    """Type -> code, for every type that an accumulator reads."""
    predicates: Predicates
    conditions: Conditions

    def bit(self, query: int, alias: str) -> int:
        """The local predicate of an alias."""
        return self.predicates.bit.get((query, alias), NO_BIT)

    def condition(self, query: int, source: Position, target: Position) -> int:
        """The condition on an edge, or -1."""
        return self.conditions.get((query, source.alias, target.alias), -1)


@dataclass(slots=True)
class Folds:
    """Mutable: the negated patterns and the gaps found so far, by their numbers."""

    lookup: Lookup
    folds: dict[FoldKey, int] = field(default_factory=dict)
    gaps: dict[frozenset[int], int] = field(default_factory=lambda: {frozenset(): NO_GAP})

    def gap(self, query: int, automaton: Automaton, gap: Gap) -> int:
        """The number of a gap of this automaton."""
        named = frozenset(self._fold(query, automaton.negations[index]) for index in gap)
        return self.gaps.setdefault(named, len(self.gaps))

    def edges(self, query: int, automaton: Automaton) -> tuple[Edge, ...]:
        """The edges of an automaton in its order."""
        at = automaton.positions
        return tuple(
            (
                edge.source,
                edge.target,
                self.gap(query, automaton, edge.gap),
                self.lookup.condition(query, at[edge.source], at[edge.target]),
            )
            for edge in automaton.edges
        )

    def is_brief(self, gap: int) -> bool:
        """Whether a match ends all that waits: the latest match of each negated pattern is a single event."""
        named = next(folds for folds, number in self.gaps.items() if number == gap)
        keys = list(self.folds)
        return all(len(keys[fold][0]) == 1 for fold in named)

    def _fold(self, query: int, automaton: Automaton) -> int:
        binding = tuple(
            (self.lookup.codes[position.type], self.lookup.bit(query, position.alias))
            for position in automaton.positions
        )
        # Of one position alone, the latest match is always its latest event.
        edges = self.edges(query, automaton) if len(binding) > 1 else ()
        starts = tuple(border.position for border in automaton.starts)
        ends = tuple(border.position for border in automaton.ends)
        return self.folds.setdefault((binding, starts, edges, ends), len(self.folds))

    def tables(
        self, size: int, codes: Iterable[tuple[int, int]], waits: Iterable[tuple[int, int, int, int]]
    ) -> Gaps:
        """Everything; `codes` are (gap, code of a base that depends on it), `waits` (gap, address, width, queue)."""
        binding: list[tuple[int, int, int]] = []
        positions: list[tuple[int, int, int, int]] = []
        incoming: list[tuple[int, int, int, int]] = []
        histories = 0
        for (bound, starts, edges, ends), fold in self.folds.items():
            base = len(positions)
            scanned = {source for source, _, gap, condition in edges if gap != NO_GAP or condition >= 0}
            for place, (code, bit) in enumerate(bound):
                binding.append((code, base + place, bit))
                history = histories if place in scanned else -1
                histories += place in scanned
                positions.append((fold, int(place in starts), int(place in ends), history))
            incoming += [
                (base + target, base + source, gap, condition) for source, target, gap, condition in edges
            ]
        named = [(gap, fold) for folds, gap in self.gaps.items() for fold in sorted(folds)]
        count = len(self.gaps)
        return Gaps(
            rows(count, named, 1),
            rows(len(self.folds), ((fold, gap) for gap, fold in named), 1),
            rows(count, sorted(set(codes)), 1),
            rows(count, waits, 3),
            rows(size, binding, 2),
            table(positions, 4),
            rows(len(positions), incoming, 3),
            histories,
        )
