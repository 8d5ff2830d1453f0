"""What a file brought into `events`, in few numbers: the ledger keeps them, and the checks find every later change by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql.functions import col, lit, shiftrightunsigned, when, xxhash64
from pyspark.sql.functions import sum as total

from pipelines.steps.row_hashes import row_hashes
from resources.sql import quoted

_LOW_HALF = 0xFFFF_FFFF


@dataclass(frozen=True, slots=True)
class DayContent:
    """The events of one file on one UTC day: how many, and the checksum of their values."""

    day: date
    rows: int
    checksum: int


def checksum(source_columns: Iterable[str]) -> Column:
    """An aggregate over events: equal for equal rows in any order, also where columns without values were added.

    The 64-bit hashes of the rows are added up in two halves, so that nothing overflows and equal rows do not cancel
    out. A hash passes over NULL, so every value goes in with the name of its column.
    """
    parts = []
    for name in sorted({*source_columns, "event_time", "event_type"}):
        value = col(quoted(name))
        parts += [when(value.isNotNull(), lit(name)), value]
    row = xxhash64(*parts)
    return xxhash64(total(shiftrightunsigned(row, 32)), total(row.bitwiseAND(_LOW_HALF)))


@dataclass(frozen=True, slots=True)
class Sums:
    """Events so far: how many, and the sums of which `checksum` is the hash."""

    rows: int = 0
    high: int = 0
    low: int = 0

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.rows + other.rows, self.high + other.high, self.low + other.low)

    @property
    def checksum(self) -> int:
        """As that of Spark."""
        return int(row_hashes([pa.array([self.high]), pa.array([self.low])], 1).view(np.int64)[0])


def day_sums(events: pa.Table, source_columns: Iterable[str]) -> dict[date, Sums]:
    """The sums of some events by their column `day`, in Arrow; columns have types of `HASHED`."""
    parts: list[pa.Array | str] = []
    for name in sorted({*source_columns, "event_time", "event_type"}):
        value = events.column(name).combine_chunks()
        parts += [_named(name, value), value]
    hashes = row_hashes(parts, events.num_rows)
    days = events.column("day").combine_chunks()
    found = {}
    for day in pc.unique(days):
        mine = hashes[pc.equal(days, day).to_numpy(zero_copy_only=False)]
        found[day.as_py()] = Sums(
            mine.size, int((mine >> np.uint64(32)).sum()), int((mine & np.uint64(_LOW_HALF)).sum())
        )
    return found


def _named(name: str, value: pa.Array) -> pa.Array | str:
    """The name of a column, where it has a value."""
    return pc.if_else(value.is_valid(), name, None) if value.null_count else name
