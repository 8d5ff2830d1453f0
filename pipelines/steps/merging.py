"""From rows of tasks to result rows: states of one (query, window, group) meet in a shuffle and are added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet_core import PARTIAL_SCHEMA, Workload, merge_partials
from pipelines.steps.task_rows import TASK_SCHEMA, as_task_rows
from resources import tables

RESULT_SCHEMA = tables.COMPUTED.schema.remove_metadata()
_DAY = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Labels:
    """What every result row of one execution carries: where it comes from."""

    workload: str
    workload_hash: str
    run_id: str
    events_version: int


def merged(task_rows: DataFrame, workload: Workload, arithmetic: str) -> DataFrame:
    """Rows of tasks with the partial ones added up: result rows only, in the same columns."""

    def body(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = pa.Table.from_batches(list(batches), TASK_SCHEMA)
        yield from merged_rows(found, workload, arithmetic).to_batches(max_chunksize=100_000)

    key = ("query", "window_start", "group_key")
    return task_rows.repartition(*key).mapInArrow(body, from_arrow_schema(TASK_SCHEMA))


def merged_rows(task_rows: pa.Table, workload: Workload, arithmetic: str) -> pa.Table:
    """Result rows as they are, and those of partial rows that are complete for their keys."""
    is_partial = pc.is_valid(task_rows.column("state"))
    added = merge_partials(
        workload,
        task_rows.filter(is_partial).select(PARTIAL_SCHEMA.names),
        time_type=pa.int64(),
        arithmetic=arithmetic,
    )
    return pa.concat_tables([task_rows.filter(pc.invert(is_partial)), as_task_rows(added)])


def with_timestamps(rows: DataFrame, unit: int) -> DataFrame:
    """Window bounds, which count `unit` microseconds, as timestamps."""
    for name in ("window_start", "window_end"):
        rows = rows.withColumn(name, expr(f"timestamp_micros({name} * {unit}L)"))
    return rows


def labelled(rows: DataFrame, labels: Labels) -> DataFrame:
    """Result rows with timestamps as rows of `computed_aggregates`."""
    for name in ("workload", "workload_hash", "run_id"):
        rows = rows.withColumn(name, lit(getattr(labels, name)))
    rows = rows.withColumn("events_version", lit(labels.events_version).cast("long"))
    # The UTC day of a window's last microsecond.
    last = "(unix_micros(window_end) - 1)"
    days = f"({last} - pmod({last}, {_DAY}L)) div {_DAY}L"
    day = expr(f"date_add(DATE'1970-01-01', CAST({days} AS INT))")
    return rows.withColumn("day", day).select(*RESULT_SCHEMA.names)
