"""The position (Glushkov) automaton of a pattern: one state per event type and alias, gaps on its edges.

Source: position automata (Glushkov 1961), as the GRETA template (Poppe et al., VLDB 2017, section 3) and the
HAMLET template (SIGMOD 2021, section 3) use them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Gap: TypeAlias = frozenset[int]
"""Indexes of negated patterns that must all be absent between two events, or before or after a trend."""

CLEAN: Gap = frozenset()

START = -1
"""Instead of a position: what may start a trend."""


@dataclass(frozen=True, slots=True)
class Position:
    """A state: an event of `type` bound to `alias`; `side` is 1 for the right side of AND, else 0."""

    index: int
    type: str
    alias: str
    side: int = 0


@dataclass(frozen=True, slots=True)
class Edge:
    """An event at `source` may directly precede one at `target` if `gap` is clean between them."""

    source: int
    target: int
    gap: Gap


@dataclass(frozen=True, slots=True)
class Border:
    """A trend may start (or end) at `position` if `gap` is clean before (after) it inside the window."""

    position: int
    gap: Gap


@dataclass(frozen=True, slots=True)
class Automaton:
    """All trends of a pattern are the words of this automaton; `negations` are those that gaps name."""

    positions: tuple[Position, ...]
    starts: tuple[Border, ...]
    edges: tuple[Edge, ...]
    ends: tuple[Border, ...]
    negations: tuple[Automaton, ...] = ()

    @property
    def sides(self) -> int:
        """2 for an AND of patterns, else 1."""
        return 1 + max((position.side for position in self.positions), default=0)

    def types(self) -> frozenset[str]:
        """Every event type the automaton reads, positive and negated."""
        own = frozenset(position.type for position in self.positions)
        return own.union(*(negation.types() for negation in self.negations))

    def aliases(self) -> frozenset[str]:
        """The aliases of its own positions, not those of its negated patterns."""
        return frozenset(position.alias for position in self.positions)

    def all_edges(self) -> Iterable[tuple[Position, Position]]:
        """Every edge as a pair of positions, those inside negated patterns included."""
        for edge in self.edges:
            yield self.positions[edge.source], self.positions[edge.target]
        for negation in self.negations:
            yield from negation.all_edges()
