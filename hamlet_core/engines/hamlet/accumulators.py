"""What is folded: a strand is one running total of one query, with the sums that ride on it.

Numbers: a query is one strand, its COUNT(*), and its COUNT(E), SUM and AVG ride on it as derivatives. Lattice: every
MIN and MAX is a strand of its own, each event multiplying it by the event's key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hamlet_core.algebra.aggregates import LATTICE, Component
from hamlet_core.pattern.automaton import Automaton
from hamlet_core.pattern.meaning import AnalysedQuery

UNIT_WEIGHT = -1
"""Instead of a column of values: every event counts 1."""


@dataclass(frozen=True, slots=True)
class Rider:
    """A derivative: adds the attribute (`column` of the values; UNIT_WEIGHT: 1) of every event bound to `alias`."""

    alias: str
    column: int


@dataclass(frozen=True, slots=True)
class Strand:
    """A running total of one query: its element is (total, one number per rider)."""

    query: int
    analysed: AnalysedQuery
    riders: tuple[Rider, ...] = ()
    weight: Rider | None = None
    """Lattice: events bound to the alias multiply the total by their key; other events by 1."""
    instead: Automaton | None = None
    """Fold this automaton over the query's positions instead of its own, and give out a total per position."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Strands of one workload with equal keys are equal."""
        return self.query, self.riders, self.weight, self.instead

    def added(self, alias: str) -> tuple[Any, ...]:
        """What an event bound to the alias adds: a column per rider, then that of the weight; None for nothing."""
        riders = (*self.riders, *([self.weight] if self.weight else []))
        return tuple(rider.column if rider.alias == alias else None for rider in riders)

    @property
    def width(self) -> int:
        """Numbers per element."""
        return 1 + len(self.riders)

    @property
    def automaton(self) -> Automaton:
        """What is folded."""
        return self.analysed.automaton if self.instead is None else self.instead

    @property
    def elements(self) -> int:
        """Elements given out: one, or one per position."""
        return 1 if self.instead is None else len(self.instead.positions)


def number_strands(
    queries: Sequence[AnalysedQuery], parts: Sequence[Sequence[Component]], columns: dict[Component, int]
) -> list[Strand]:
    """One strand per query: riders for every component that is no extreme, in the order of `parts`."""
    return [
        Strand(
            place,
            analysed,
            tuple(Rider(part.alias, columns[part]) for part in own if part.role not in LATTICE),
        )
        for place, (analysed, own) in enumerate(zip(queries, parts, strict=True))
    ]


def lattice_strands(
    queries: Sequence[AnalysedQuery], parts: Sequence[Sequence[Component]], columns: dict[Component, int]
) -> list[Strand]:
    """One strand per MIN and MAX of each query, in the order of `parts`."""
    return [
        Strand(place, analysed, weight=Rider(part.alias, columns[part]))
        for place, (analysed, own) in enumerate(zip(queries, parts, strict=True))
        for part in own
        if part.role in LATTICE
    ]
