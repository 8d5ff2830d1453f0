"""Stored rows against recomputed rows: what is missing, surplus or different, row by row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

RELATIVE = 1e-9
"""What scaled arithmetic promises; digits and residues must agree entirely."""

Row = Mapping[str, Any]
Key = tuple[str, datetime, str, str]


class Problem(StrEnum):
    """How a stored row is wrong."""

    MISSING = "missing"
    """The recomputation has the row, the table does not."""
    SURPLUS = "surplus"
    """The table has the row (or has it twice), the recomputation does not."""
    DIFFERENT = "different"
    """Both have the row, with different numbers."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One wrong row; `column`, `stored` and `expected` say what differs, and are empty for whole rows."""

    problem: Problem
    query: str
    window_start: datetime
    window_end: datetime
    group_key: str
    aggregate: str
    column: str = ""
    stored: str = ""
    expected: str = ""

    @classmethod
    def of(
        cls, problem: Problem, row: Row, column: str = "", stored: object = "", expected: object = ""
    ) -> Difference:
        """The difference at a row."""
        bounds = row["window_start"], row["window_end"]
        names = row["group_key"], row["aggregate"]
        return cls(problem, row["query"], *bounds, *names, column, str(stored), str(expected))


def differences(stored: Iterable[Row], expected: Iterable[Row]) -> tuple[Difference, ...]:
    """Everything in which the rows differ, in the order of query, window, group and aggregate."""
    found: list[Difference] = []
    left: dict[Key, Row] = {}
    for row in stored:
        if _key(row) in left:
            found.append(Difference.of(Problem.SURPLUS, row))
        left[_key(row)] = row
    for row in expected:
        ours = left.pop(_key(row), None)
        if ours is None:
            found.append(Difference.of(Problem.MISSING, row))
        else:
            found.extend(_unequal(ours, row))
    found.extend(Difference.of(Problem.SURPLUS, row) for row in left.values())
    return tuple(sorted(found, key=lambda one: (one.query, one.window_start, one.group_key, one.aggregate)))


def _key(row: Row) -> Key:
    return row["query"], row["window_start"], row["group_key"], row["aggregate"]


def _unequal(stored: Row, expected: Row) -> Iterable[Difference]:
    """A digit string or residue is compared where it is stored: scaled rows have none."""
    pairs = {
        "window_end": stored["window_end"] == expected["window_end"],
        "value": close(stored["value"], expected["value"]),
        "sign": stored["sign"] == expected["sign"] or _drowned(stored),
        "log2": close(stored["log2"], expected["log2"]),
        "exact": stored["exact"] in (expected["exact"], None),
        "fingerprint": stored["fingerprint"] in (expected["fingerprint"], None),
    }
    for column, same in pairs.items():
        if not same:
            yield Difference.of(Problem.DIFFERENT, expected, column, stored[column], expected[column])


def _drowned(row: Row) -> bool:
    """Scaled arithmetic may withhold the sign of a value that cancelled out, never that of another."""
    return row["sign"] is None and row["value"] is not None and row["aggregate"].startswith(("SUM(", "AVG("))


def close(stored: float | None, expected: float | None) -> bool:
    """Equal within what scaled arithmetic promises; nothing equals only nothing."""
    if stored is None or expected is None:
        return stored is expected
    return math.isclose(stored, expected, rel_tol=RELATIVE, abs_tol=RELATIVE * 1e-3)
