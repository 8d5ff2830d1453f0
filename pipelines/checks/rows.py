"""Rows of a table that are to be checked, as a Spark frame."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit

from pipelines.spans import Span
from pipelines.steps.slices import results_filter, results_of
from resources import tables
from resources.warehouse import DataFile, Warehouse, values

FEW = 50_000
"""Rows that pass this process,"""
SMALL = 64 << 20
"""in so many bytes of files."""

Days = tuple[date | None, date | None]
"""The first and the last UTC day; None is without a bound."""
ALL_DAYS: Days = (None, None)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a table. `few` are values of this process already: planning and compiling how to read a table costs Spark
    half a second each time, however few rows it has.
    """

    frame: DataFrame
    few: bool


def events_of(
    spark: SparkSession, warehouse: Warehouse, days: Days = ALL_DAYS, since: datetime | None = None
) -> Rows:
    """The events of these days that came in after an ingest."""
    files = [one for one in warehouse.files("events") if _may_hold(one, days, since)]
    if sum(one.rows or FEW + 1 for one in files) <= FEW and sum(one.size for one in files) <= SMALL:
        rows = warehouse.rows("events", where=_events_filter(days, since))
        return Rows(values(spark, rows), few=True)
    first, last = days
    events = warehouse.read(spark, "events")
    if first is not None:
        events = events.where(col("day") >= lit(first))
    if last is not None:
        events = events.where(col("day") <= lit(last))
    if since is not None:
        events = events.where(col("ingested_at") > lit(since))
    return Rows(events, few=False)


def computed_of(spark: SparkSession, warehouse: Warehouse, workload: str, span: Span) -> tuple[Rows, int]:
    """The computed rows of a workload whose windows end in a span, and how many they are."""
    wanted = results_filter(workload, span)
    count = warehouse.count_where(tables.COMPUTED.name, wanted)
    if count <= FEW:
        return Rows(values(spark, warehouse.rows(tables.COMPUTED.name, where=wanted)), few=True), count
    rows = warehouse.read(spark, tables.COMPUTED.name).where(results_of(workload, span))
    return Rows(rows, few=False), count


def _may_hold(file: DataFile, days: Days, since: datetime | None) -> bool:
    """Whether a file may hold such events, as far as the log of the table says."""
    first, last = days
    day = date.fromisoformat(file.partition["day"]) if "day" in file.partition else None
    if day is not None and ((first is not None and day < first) or (last is not None and day > last)):
        return False
    return since is None or file.newest is None or file.newest > since


def _events_filter(days: Days, since: datetime | None) -> pc.Expression | None:
    first, last = days
    bounds = [
        pc.field("day") >= pa.scalar(first) if first is not None else None,
        pc.field("day") <= pa.scalar(last) if last is not None else None,
        pc.field("ingested_at") > pa.scalar(since, tables.TIMESTAMP) if since is not None else None,
    ]
    wanted = None
    for one in bounds:
        if one is not None:
            wanted = one if wanted is None else wanted & one
    return wanted
