"""What a file brought into `events`, in few numbers: the ledger keeps them, and the checks find every later change by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from pyspark.sql import Column
from pyspark.sql.functions import col, lit, shiftrightunsigned, when, xxhash64
from pyspark.sql.functions import sum as total

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
