"""What is folded: an accumulator is one running total of one query, with the sums that ride on it.

Numbers: a query is one accumulator, its COUNT(*), and its COUNT(E), SUM and AVG ride on it as derivatives. Lattice: every
MIN and MAX is an accumulator of its own, each event multiplying it by the event's key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hamlet_core.algebra.aggregates import LATTICE, Component
from hamlet_core.pattern.automaton import Automaton
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.windows import WindowSpec

UNIT_WEIGHT = -1
"""Instead of a column of values: every event counts 1."""


@dataclass(frozen=True, slots=True)
class WindowedQuery:
    """One query as the engine needs it; `parts` are the components of its aggregates."""

    analysed: AnalysedQuery
    spec: WindowSpec
    parts: tuple[Component, ...]


@dataclass(frozen=True, slots=True)
class AttributeSum:
    """A derivative: adds the attribute (`column` of the values; UNIT_WEIGHT: 1) of every event bound to `alias`."""

    alias: str
    column: int


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A running total of one query: its element is (total, one number per attribute sum)."""

    query: int
    analysed: AnalysedQuery
    attribute_sums: tuple[AttributeSum, ...] = ()
    weight: AttributeSum | None = None
    """Lattice: events bound to the alias multiply the total by their key; other events by 1."""
    instead: Automaton | None = None
    """Fold this automaton over the query's positions instead of its own, and give out a total for each of its ends."""
    lane: int = 0
    """Of windows that overlap and are folded together: which of those that begin at different events."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Accumulators of one workload with equal keys are equal."""
        return self.query, self.attribute_sums, self.weight, self.instead, self.lane

    def added(self, alias: str) -> tuple[Any, ...]:
        """What an event bound to the alias adds: a column per sum, then that of the weight; None for nothing."""
        if not self.attribute_sums and self.weight is None:
            return ()
        attribute_sums = (*self.attribute_sums, *([self.weight] if self.weight else []))
        return tuple(
            attribute_sum.column if attribute_sum.alias == alias else None for attribute_sum in attribute_sums
        )

    @property
    def width(self) -> int:
        """Numbers per element."""
        return 1 + len(self.attribute_sums)

    @property
    def automaton(self) -> Automaton:
        """What is folded."""
        return self.analysed.automaton if self.instead is None else self.instead

    @property
    def elements(self) -> int:
        """Elements given out: one, or one for each end."""
        return 1 if self.instead is None else len(self.instead.ends)


def number_accumulators(
    queries: Sequence[AnalysedQuery], parts: Sequence[Sequence[Component]], columns: dict[Component, int]
) -> list[Accumulator]:
    """One accumulator per query: attribute sums for every component that is no extreme, in the order of `parts`."""
    return [
        Accumulator(
            place,
            analysed,
            tuple(AttributeSum(part.alias, columns[part]) for part in own if part.role not in LATTICE),
        )
        for place, (analysed, own) in enumerate(zip(queries, parts, strict=True))
    ]


def lattice_accumulators(
    queries: Sequence[AnalysedQuery], parts: Sequence[Sequence[Component]], columns: dict[Component, int]
) -> list[Accumulator]:
    """One accumulator per MIN and MAX of each query, in the order of `parts`."""
    return [
        Accumulator(place, analysed, weight=AttributeSum(part.alias, columns[part]))
        for place, (analysed, own) in enumerate(zip(queries, parts, strict=True))
        for part in own
        if part.role in LATTICE
    ]
