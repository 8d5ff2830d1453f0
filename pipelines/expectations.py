"""What a user expects of the events of a workload, beyond what always must hold; plain values that pickle."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import TypeAlias

from hamlet_core.errors import HamletError

Bound: TypeAlias = int | float | datetime | date | None
"""An end of a range, itself inside; None is without a bound. A datetime without zone is UTC."""


class ExpectationError(HamletError, ValueError):
    """An expectation that cannot be, of itself or of these events."""


class ColumnType(StrEnum):
    """The types that a column of events can have."""

    INTEGER = "integer"
    """64 bits."""
    DOUBLE = "double"
    """Floating point."""
    DECIMAL = "decimal"
    """Of any precision."""
    NUMBER = "number"
    """Any of the three above."""
    STRING = "string"
    """Text."""
    BOOLEAN = "boolean"
    """True or false."""
    TIMESTAMP = "timestamp"
    """With microseconds, UTC."""
    DATE = "date"
    """A day."""


@dataclass(frozen=True, slots=True)
class ColumnExpectation:
    """What holds of one column: its type, its range (NULL is in every one), and the largest share of NULL.

    >>> ColumnExpectation("speed", low=0, high=90).column
    'speed'
    """

    column: str
    type: ColumnType | None = None
    low: Bound = None
    high: Bound = None
    most_null: float = 1.0

    def __post_init__(self) -> None:
        _refuse_no_share(f"most_null of {self.column}", self.most_null)
        for bound in (self.low, self.high):
            if isinstance(bound, bool) or (isinstance(bound, int | float) and not _is_number(bound)):
                raise _nonsense(
                    f"the range of {self.column} has the bound {bound!r}",
                    "give numbers within 64 bits, dates or times",
                )
        if _kind(self.low) != _kind(self.high) and None not in (self.low, self.high):
            raise _nonsense(f"the range of {self.column} mixes numbers and times", "give bounds of one kind")
        if self.low is not None and self.high is not None and _order(self.low) > _order(self.high):
            raise _nonsense(
                f"the range of {self.column} is empty: {self.low} to {self.high}", "exchange the bounds"
            )


@dataclass(frozen=True, slots=True)
class Expectations:
    """What holds of the events of a workload; without a word of the user nothing that data can rightly be is refused.

    `unique`: each a key of columns that no two events share. `most_duplicates`: the largest share of events that are
    copies of another one in all source columns. `ahead`: how far after its ingest an event may lie.
    `most_rejected`: the largest share of rows in quarantine; of all files together it stops a run, of a file it warns.
    `equal_files`: two files may bring the same events.
    """

    columns: tuple[ColumnExpectation, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    most_duplicates: float = 1.0
    ahead: timedelta | None = None
    most_rejected: float = 0.5
    equal_files: bool = False

    def __post_init__(self) -> None:
        _refuse_no_share("most_duplicates", self.most_duplicates)
        _refuse_no_share("most_rejected", self.most_rejected)
        if self.ahead is not None and self.ahead < timedelta(0):
            raise _nonsense(f"ahead is negative: {self.ahead}", "give a length of time, or none")
        _refuse_twice("columns", (one.column for one in self.columns))
        for key in self.unique:
            if not key:
                raise _nonsense("a unique key has no column", "name at least one")
            _refuse_twice("a unique key", key)


def unfit(column: str, why: str) -> ExpectationError:
    """The error for an expectation that the table of events cannot be asked about."""
    return ExpectationError(
        f"expectation on the column {column!r}: {why}",
        code="E536",
        hint="correct the expectations in the settings of the workload",
    )


def _refuse_no_share(name: str, share: object) -> None:
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share <= 1:
        raise _nonsense(f"{name} is {share!r}", "a share lies between 0 and 1")


def _refuse_twice(place: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise _nonsense(f"{place}: {name!r} stands there twice", "leave one out")
        seen.add(name)


def _nonsense(message: str, hint: str) -> ExpectationError:
    return ExpectationError(f"expectations: {message}", code="E535", hint=hint)


def _is_number(bound: object) -> bool:
    return math.isfinite(bound) if isinstance(bound, float) else isinstance(bound, int) and abs(bound) < 2**63


def _kind(bound: Bound) -> str:
    return "number" if isinstance(bound, int | float) else "time"


def _order(bound: float | datetime | date) -> float:
    """Comparable within a kind."""
    return bound if isinstance(bound, int | float) else instant(bound).timestamp()


def instant(bound: datetime | date) -> datetime:
    """The moment that a bound in time means, in UTC."""
    moment = bound if isinstance(bound, datetime) else datetime.combine(bound, time())
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
