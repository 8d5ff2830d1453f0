"""Which columns of the files carry an event's time and type, as the command line gives them."""

from __future__ import annotations

from dataclasses import dataclass

from hamlet_core.errors import StreamError
from pipelines.reading.reasons import NO_SUCH_COLUMN

MICROSECONDS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
"""Microseconds in one unit of an integer time column."""


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    """`time` and `type` are column names; `type_value` names the one type of files without a type column.

    `time=None` means the column `time`; `type=None` without a `type_value` means the column `type`.
    `time_unit` (us, ms, s, min, h, d) is the unit of an integer time column, and ignored for timestamps.
    """

    time: str | None = None
    type: str | None = None
    type_value: str | None = None
    time_unit: str = "s"

    def __post_init__(self) -> None:
        if self.time_unit not in MICROSECONDS:
            raise StreamError(
                f"unknown time unit {self.time_unit!r}",
                code=NO_SUCH_COLUMN,
                hint=f"use one of {', '.join(MICROSECONDS)}",
            )

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
