"""The segments of a plan: which positions of which queries are folded together, whoever planned it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

Place: TypeAlias = tuple[str, int]
"""(name of a query, position)"""


@dataclass(frozen=True)
class Segments:
    """Positions of several queries that one fold may serve, as long as their totals are equal; all others go alone.

    What enters a segment may differ between its queries: then it has a lane for each different input.
    """

    numbers: tuple[tuple[Place, int], ...]
    """The positions that are in a segment, ascending, each with its number; a position is in one at most."""

    @classmethod
    def of(cls, found: Mapping[Place, Hashable]) -> Segments:
        """The same, of whatever tells segments apart; one of a single query is none.

        >>> Segments.of({("q1", 0): "AB", ("q2", 1): "AB", ("q3", 0): "C"}).numbers
        ((('q1', 0), 0), (('q2', 1), 0))
        """
        queries: dict[Hashable, set[str]] = {}
        for (query, _), segment in sorted(found.items(), key=lambda one: one[0]):
            queries.setdefault(segment, set()).add(query)
        shared = [segment for segment, own in queries.items() if len(own) > 1]
        number = {segment: place for place, segment in enumerate(shared)}
        return cls(
            tuple(sorted((place, number[segment]) for place, segment in found.items() if segment in number))
        )

    @cached_property
    def _by_place(self) -> Mapping[Place, int]:
        return dict(self.numbers)

    def label(self, query: str, position: int) -> Hashable:
        """What positions must have in common to be folded together."""
        return self._by_place.get((query, position), (query, position))
