"""What the kernel has found, read as totals of a query in its arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hamlet_core.algebra.aggregates import LASTING, LATTICE, Component, Role
from hamlet_core.algebra.arithmetic import COUNTS, PRIME, Unit, unit_of_durations
from hamlet_core.algebra.measuring import Extremes, Numbers
from hamlet_core.engines.hamlet.bursts.fold import Rows
from hamlet_core.engines.hamlet.numbers.columns import values_of_keys
from hamlet_core.engines.hamlet.prefixes.program import Columns, Layout, reaches
from hamlet_core.engines.hamlet.prefixes.tables import Found
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.results.totals import Totals
from hamlet_core.table.arrow import of_numbers
from hamlet_core.table.encode import Stream
from hamlet_core.windows import WindowSpec


class Windows(NamedTuple):
    """By row its window, and the place of its group."""

    start: Any
    end: Any
    group: Any

    @classmethod
    def of(cls, spec: WindowSpec, rows: Rows) -> Windows:
        """Those of some rows of results."""
        start = spec.origin + rows.index * spec.slide
        return cls(start, start + spec.within, rows.group)


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found of one query, row by row, and how it is to be read."""

    found: Found
    layout: Layout
    columns: Columns
    stream: Stream
    arithmetic: str
    trends: tuple[Any, Any] | None = None
    """Mantissas and exponents of the number of trends, if they are known: of queries that go together they are made at once."""

    def totals(
        self,
        analysed: AnalysedQuery,
        parts: Sequence[Component],
        windows: Windows,
        groups: tuple[str, ...],
    ) -> Totals:
        """A row where there is a trend or a reach (SEMANTICS 11); `windows` are those of all rows."""
        aliases = reaches(analysed)
        alive: Any = self.found.there | self.found.reached.any(axis=1) if aliases else self.found.there
        if np.count_nonzero(alive) == len(alive):
            alive = slice(None)  # no copies
        return Totals(
            analysed.query.name,
            windows.start[alive],
            windows.end[alive],
            windows.group[alive],
            groups,
            self._trends(alive),
            tuple(self._part(part, alive, aliases) for part in parts),
        )

    def _trends(self, alive: Any) -> Numbers:
        if self.trends is None:
            return self._numbers(self.found.integers[alive, 0], COUNTS)
        mantissa, exponent = self.trends
        return Numbers(mantissa[alive], exponent[alive])

    def _part(  # noqa: PLR0911 - one case a kind
        self, part: Component, alive: Any, aliases: Sequence[str]
    ) -> Numbers | Extremes:
        match part.role:
            case Role.PARTITIONS:
                return self._numbers(self.found.partitions[alive], COUNTS)
            case Role.DISJOINT:
                return self._numbers(self.found.disjoint[alive], COUNTS)
            case Role.REACHED:
                return self._numbers(self.found.reached[alive, aliases.index(part.alias)], COUNTS)
        is_double, place = self.layout.places[part]
        if is_double:
            return self._doubles(self.found.doubles[alive, place])
        taken = np.ascontiguousarray(self.found.integers[alive, place])
        if part.role in LATTICE:
            key = str(part.attribute), part.role
            return Extremes(values_of_keys(taken, self.columns.keys[key], self.stream.columns[key[0]]))
        if part.role in LASTING:
            return self._lasting(part.role, taken, self.found.there[alive])
        return self._numbers(taken, self._unit(part))

    def _unit(self, part: Component) -> Unit:
        if part.role not in (Role.TOTAL, Role.MAGNITUDE):
            return COUNTS
        column = self.stream.columns[str(part.attribute)]
        return Unit(column.kind, column.scale)

    def _numbers(self, counts: Any, unit: Unit) -> Numbers:
        """Whole numbers of parts of the unit."""
        if self.arithmetic == "exact":
            nothing = np.zeros(len(counts))
            return Numbers(nothing, nothing.astype(np.int64), digits=tuple(counts.tolist()))
        mantissa, exponent = np.frexp(counts / float(unit.denominator))
        residue = np.mod(counts, PRIME) if self.arithmetic == "modular" else None
        return Numbers(mantissa, exponent.astype(np.int64), residue=residue)

    def _doubles(self, sums: Any) -> Numbers:
        mantissa, exponent = np.frexp(sums)
        residue = np.zeros(len(sums), np.int64) if self.arithmetic == "modular" else None
        return Numbers(mantissa, exponent.astype(np.int64), residue=residue)

    def _lasting(self, role: Role, ticks: Any, there: Any) -> Numbers | Extremes:
        """Durations, NULL where there is no trend."""
        unit = unit_of_durations(self.stream.time_type)
        if role is Role.LASTING:
            return self._numbers(ticks, unit)
        ticks = -ticks if role is Role.LONGEST else ticks
        if unit == COUNTS:
            return Extremes(of_numbers(ticks, null=~there))
        halves = np.stack([ticks, ticks >> 63], axis=1)  # of 128 bits
        seconds = pa.Array.from_buffers(
            pa.decimal128(38, unit.scale), len(ticks), [None, pa.py_buffer(np.ascontiguousarray(halves))]
        )
        return Extremes(seconds.take(of_numbers(np.arange(len(ticks)), null=~there)))
