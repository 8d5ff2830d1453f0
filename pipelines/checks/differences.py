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


def differences(
    stored: Iterable[Row], expected: Iterable[Row], digits: str | None = None
) -> tuple[Difference, ...]:
    """Everything in which the rows differ, in the order of query, window, group and aggregate.

    `digits` is the column that must agree entirely: `exact`, `fingerprint`, or none of them. An expected row may have
    `magnitude`: log2 of a bound on the sum of its absolute terms, which scaled arithmetic keeps its promise by.
    """
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
            found.extend(_unequal(ours, row, digits))
    found.extend(Difference.of(Problem.SURPLUS, row) for row in left.values())
    return tuple(sorted(found, key=lambda one: (one.query, one.window_start, one.group_key, one.aggregate)))


def _key(row: Row) -> Key:
    return row["query"], row["window_start"], row["group_key"], row["aggregate"]


def _unequal(stored: Row, expected: Row, digits: str | None) -> Iterable[Difference]:
    allowed = _allowed(expected)
    pairs = {
        "window_end": stored["window_end"] == expected["window_end"],
        "value": _same_value(stored["value"], expected["value"], allowed),
        "sign": stored["sign"] == expected["sign"] or _drowned(stored, expected, allowed),
        "log2": _same_log2(stored["log2"], expected["log2"], allowed),
    }
    if digits is not None:
        pairs[digits] = stored[digits] == expected[digits]
    for column, same in pairs.items():
        if not same:
            yield Difference.of(Problem.DIFFERENT, expected, column, stored[column], expected[column])


def _allowed(expected: Row) -> float | None:
    """log2 of the absolute error that scaled arithmetic may make; None for a number without terms of both signs."""
    magnitude = expected.get("magnitude")
    return None if magnitude is None else magnitude + math.log2(RELATIVE)


def _same_value(stored: float | None, expected: float | None, allowed: float | None) -> bool:
    if stored is None or expected is None or allowed is None:
        return close(stored, expected)
    return close(stored, expected) or abs(stored - expected) <= 2.0 ** min(allowed, 1023.0)


def _same_log2(stored: float | None, expected: float | None, allowed: float | None) -> bool:
    if close(stored, expected) or allowed is None:
        return close(stored, expected)
    if stored is None or expected is None or expected - allowed < 2:
        # The sum is no larger than its error: of its logarithm only that is known.
        return max(x for x in (stored, expected, -math.inf) if x is not None) <= allowed + 3
    return abs(stored - expected) <= 3 * 2.0 ** (allowed - expected)


def _drowned(stored: Row, expected: Row, allowed: float | None) -> bool:
    """Whether the error of a sum may be as large as the sum: then its sign may be withheld, or even the other one."""
    if allowed is None:
        return stored["sign"] is None and expected["sign"] == 0
    return expected["log2"] is None or bool(expected["log2"] <= allowed)


def close(stored: float | None, expected: float | None) -> bool:
    """Equal within what scaled arithmetic promises; nothing equals only nothing."""
    if stored is None or expected is None:
        return stored is expected
    return math.isclose(stored, expected, rel_tol=RELATIVE, abs_tol=RELATIVE * 1e-3)
