"""One query folded in two ways, and joined row by row: aggregates of events and trends, and those that partitions have.

Where there is a trend both have a row; where only a reach is, the second one has (SEMANTICS 11).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from hamlet_core.algebra.aggregates import LATTICE, Component
from hamlet_core.algebra.measuring import Extremes, Numbers
from hamlet_core.results.totals import Integers, Totals, joined_totals
from hamlet_core.table.arrow import of_numbers


@dataclass(slots=True)
class Halves:
    """Mutable: the second half of a query, whose rows are given out with the first half's or, in the end, alone."""

    second: Totals
    """Its parts are `second_parts`; a row where a trend is, or a reach."""
    first_parts: tuple[Component, ...]
    second_parts: tuple[Component, ...]
    parts: tuple[Component, ...]
    """Of the whole, in the order of its shape."""
    left: Any = field(init=False)
    """Boolean[row of the second half]: not given out yet."""
    places: dict[tuple[int, str], int] = field(init=False)

    def __post_init__(self) -> None:
        second = self.second
        texts = [second.groups[group] for group in second.group.tolist()]
        self.left = np.ones(len(texts), np.bool_)
        self.places = {
            key: row for row, key in enumerate(zip(second.window_start.tolist(), texts, strict=True))
        }

    def joined(self, first: Totals) -> Totals:
        """The rows of the first half, with what the second has of them and of windows no later than they."""
        texts = [first.groups[group] for group in first.group.tolist()]
        keys = zip(first.window_start.tolist(), texts, strict=True)
        rows = np.array([self.places[key] for key in keys], np.int64)
        self.left[rows] = False
        both = self._whole(first, rows, dict(zip(self.first_parts, first.parts, strict=True)), first.trends)
        if not len(rows):
            return both
        earlier = self.left & (self.second.window_start <= first.window_start.max())
        return joined_totals([both, self.alone(earlier, first)]) if earlier.any() else both

    def alone(self, which: Any, first: Totals | None = None) -> Totals:
        """Some of the rows that the second half alone has: there is no trend. MIN and MAX have the types of `first`."""
        rows = np.flatnonzero(which)
        self.left[rows] = False
        nothing = _nothing(self.second.trends, len(rows))
        kinds: list[Any] = [pa.int64()] * len(self.first_parts)
        if first is not None:
            kinds = [one.values.type if isinstance(one, Extremes) else None for one in first.parts]
        parts = {
            part: Extremes(pa.nulls(len(rows), kind)) if part.role in LATTICE else nothing
            for part, kind in zip(self.first_parts, kinds, strict=True)
        }
        return self._whole(_taken_rows(self.second, rows), rows, parts, nothing)

    def _whole(
        self, heads: Totals, rows: Integers, firsts: Mapping[Component, Any], trends: Numbers
    ) -> Totals:
        seconds = dict(zip(self.second_parts, self.second.parts, strict=True))
        parts = (firsts[part] if part in firsts else _taken(seconds[part], rows) for part in self.parts)
        return Totals(
            heads.name, heads.window_start, heads.window_end, heads.group, heads.groups, trends, tuple(parts)
        )


def joined_halves(chunks: Iterable[list[Totals]], halves: Halves) -> Iterator[list[Totals]]:
    """The chunks of the first half, one query, with what the second has; at the end what only that one has."""
    for (first,) in chunks:
        yield [halves.joined(first)]
    yield [halves.alone(halves.left)]


def _taken_rows(totals: Totals, rows: Integers) -> Totals:
    return Totals(
        totals.name,
        totals.window_start[rows],
        totals.window_end[rows],
        totals.group[rows],
        totals.groups,
        _taken(totals.trends, rows),
        tuple(_taken(part, rows) for part in totals.parts),
    )


def _taken(part: Any, rows: Integers) -> Any:
    if isinstance(part, Extremes):
        return Extremes(part.values.take(of_numbers(rows)))
    digits = None if part.digits is None else tuple(part.digits[row] for row in rows.tolist())
    residue = None if part.residue is None else part.residue[rows]
    return Numbers(part.mantissa[rows], part.exponent[rows], digits, residue)


def _nothing(like: Numbers, count: int) -> Numbers:
    """So many zeros in the arithmetic of a number."""
    zeros = np.zeros(count, np.int64)
    digits = None if like.digits is None else (0,) * count
    return Numbers(np.zeros(count), zeros, digits, None if like.residue is None else zeros)
