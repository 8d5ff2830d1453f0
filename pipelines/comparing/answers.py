"""Whether two answers to a workload are the same: digits and fingerprints entirely, doubles within what scaled arithmetic promises."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

import hamlet_core
from hamlet_core import EventSchema, Workload
from pipelines.checks.differences import Difference, differences
from pipelines.checks.magnitudes import magnitudes, with_magnitudes
from pipelines.showing.rows import rows_of

_DIGITS = {"exact": "exact", "modular": "fingerprint"}


@dataclass(frozen=True, slots=True)
class Judge:
    """What is needed to say how far answers may differ."""

    workload: Workload
    events: pa.Table
    schema: EventSchema
    arithmetic: str

    def differing(self, found: pa.Table, expected: pa.Table) -> tuple[Difference, ...]:
        """The rows in which an answer differs from another, both as `hamlet_core.run` gives them.

        How large the terms of a sum are is asked only where the sums differ: they may have cancelled out.
        """
        if found.equals(expected):
            return ()
        digits, rows = _DIGITS.get(self.arithmetic), list(rows_of(expected))
        wrong = differences(rows_of(found), rows, digits)
        if wrong and self.arithmetic != "exact":
            wrong = differences(rows_of(found), self._bounded(rows), digits)
        return wrong

    def _bounded(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows, those of sums over terms of both signs with a bound on these."""
        queries = self.workload.queries
        asked = replace(self.workload, queries=tuple(map(with_magnitudes, queries)))
        found = hamlet_core.run(asked, self.events, schema=self.schema)
        bounds = {
            _key(row): row["magnitude"]
            for row in magnitudes(list(rows_of(found)), queries)
            if "magnitude" in row
        }
        return [{**row, "magnitude": bounds.get(_key(row))} for row in rows]


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["query"], row["window_start"], row["group_key"], row["aggregate"]
