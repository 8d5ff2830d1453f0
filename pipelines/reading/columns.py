"""How the files are to be read, as the command line and `pipeline.yaml` give it: which columns carry an event's time and
type, and what people know of their columns that the values alone do not tell.
"""

from __future__ import annotations

import re
import zoneinfo
from dataclasses import dataclass

import pyarrow as pa

from hamlet_core.errors import StreamError
from pipelines.reading.reasons import NO_SUCH_COLUMN
from pipelines.reading.times import Clock
from pipelines.reading.values import TIMESTAMP

MICROSECONDS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
"""Microseconds in one unit of an integer time column."""

TYPES = {
    "integer": pa.int64(),
    "double": pa.float64(),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": TIMESTAMP,
}
"""The types that a column can be declared to have, by their names."""

UTC = "UTC"
CASES = ("lower", "upper")
"""What the letters of event types can be made."""

_TIME_FORMAT = re.compile(r"(?:[^%]|%[aAbBdeHIjmMpSyYTDFR%]|%S[.,]%f)*(?:Z| ?%z)?")


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """`time` and `type` are column names; `type_value` names the one type of files without a type column.

    `time=None` means the column `time`; `type=None` without a `type_value` means the column `type`.
    `time_unit` (us, ms, s, min, h, d) is the unit of an integer time column, and ignored for timestamps.
    Raises StreamError E451 for what cannot be.
    """

    time: str | None = None
    type: str | None = None
    type_value: str | None = None
    time_unit: str = "s"
    types: tuple[tuple[str, str], ...] = ()
    """(column, one of `TYPES`): what its values are, whatever they look like."""
    time_format: str | None = None
    """How texts of the time column are written (`%d/%m/%Y %H:%M`), where not as ISO 8601."""
    zone: str = UTC
    """The zone of clock times that name none, as in the IANA database."""
    type_trim: bool = False
    """Blanks around event types do not count."""
    type_case: str | None = None
    """One of `CASES`: what the letters of event types become."""
    unique: tuple[str, ...] = ()
    """A key: of events with equal values in all of these columns, none of them NULL, the first is kept."""
    strict: bool = False
    """A value that does not fit its column costs the event, also where no query reads the column."""

    def __post_init__(self) -> None:
        _one_of("time unit", self.time_unit, MICROSECONDS)
        for column, name in self.types:
            _one_of(f"type of column {column}:", name, TYPES)
        if self.type_case is not None:
            _one_of("case of event types", self.type_case, CASES)
        if self.time_format is not None and not _TIME_FORMAT.fullmatch(self.time_format):
            raise _wrong(
                f"time format {self.time_format!r} cannot be read",
                "use %d %m %Y %y %b %H %I %p %M %S and the like, %f right after %S. and %z at the end",
            )
        if self.zone != UTC:
            try:
                zoneinfo.ZoneInfo(self.zone)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
                raise _wrong(f"unknown time zone {self.zone!r}", "name it as Europe/Berlin or UTC") from None
        if dict(self.types).get(self.type_column or "", "string") != "string":
            raise _wrong(f"column {self.type_column} holds event types, which are strings", "")

    @property
    def time_column(self) -> str:
        """The column that holds the time."""
        return self.time or "time"

    @property
    def type_column(self) -> str | None:
        """The column that holds the type, or None if all events have the type `type_value`."""
        return self.type or (None if self.type_value is not None else "type")

    @property
    def microseconds_per_unit(self) -> int:
        """Microseconds in one unit of an integer time column."""
        return MICROSECONDS[self.time_unit]

    @property
    def roles(self) -> tuple[str, ...]:
        """The columns without which there is no event."""
        return (self.time_column,) if self.type_column is None else (self.time_column, self.type_column)

    @property
    def named(self) -> tuple[str, ...]:
        """Further columns that at least one file must have."""
        return (*self.unique, *(column for column, _ in self.types))

    def clock(self, column: str) -> Clock:
        """How the times of a column are written."""
        return Clock(self.zone, self.time_format if column == self.time_column else None)

    def judges(self, column: str, read: frozenset[str]) -> bool:
        """Whether a value of this column that does not fit costs the event, where queries read the columns `read`."""
        return self.strict or column in read or column in self.roles or column in self.unique


def declaration(text: str) -> tuple[str, str]:
    """`NAME=TYPE` as a pair.

    >>> declaration("amount=double")
    ('amount', 'double')
    """
    name, equals, kind = text.rpartition("=")
    if not equals or not name:
        raise _wrong(f"{text!r} declares no column", "write it as NAME=TYPE, such as amount=double")
    return name, kind


def _one_of(what: str, given: str, known: object) -> None:
    if given not in known:  # type: ignore[operator]
        raise _wrong(f"unknown {what} {given!r}", f"use one of {', '.join(known)}")  # type: ignore[arg-type]


def _wrong(message: str, hint: str) -> StreamError:
    return StreamError(message, code=NO_SUCH_COLUMN, hint=hint)
