"""Rows of a table that are to be checked, as a Spark frame."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from functools import reduce
from operator import and_

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, lit

from pipelines.spans import Span
from pipelines.steps.slices import results_filter, results_of
from resources import tables
from resources.warehouse import Warehouse, values

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
    wanted = _events_filter(days, since)
    files = warehouse.files_with("events", wanted)
    if sum(one.rows or FEW + 1 for one in files) <= FEW and sum(one.size for one in files) <= SMALL:
        rows = warehouse.rows("events", where=wanted)
        return Rows(values(spark, rows), few=True)
    first, last = days
    if since is not None and days == ALL_DAYS and all(one.oldest and one.oldest > since for one in files):
        # Nothing of the plan depends on what has been ingested: Spark compiles it once for all micro-batches.
        return Rows(warehouse.read_files(spark, "events", files), few=False)
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


def _events_filter(days: Days, since: datetime | None) -> pc.Expression | None:
    first, last = days
    bounds = []
    if first is not None:
        bounds.append(pc.field("day") >= pa.scalar(first))
    if last is not None:
        bounds.append(pc.field("day") <= pa.scalar(last))
    if since is not None:
        bounds.append(pc.field("ingested_at") > pa.scalar(since, tables.TIMESTAMP))
    return reduce(and_, bounds) if bounds else None
