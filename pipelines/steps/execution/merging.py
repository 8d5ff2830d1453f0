"""From rows of tasks to result rows: states of one (query, window, group) meet in a shuffle and are added up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from hamlet_core import PARTIAL_SCHEMA, Workload, merge_partials
from pipelines.spans import microseconds
from pipelines.steps.execution.stages import Stage, together
from pipelines.steps.execution.task_rows import TASK_SCHEMA, as_task_rows
from resources import tables
from resources.storage import WarehouseError

RESULT_SCHEMA = tables.COMPUTED.schema.remove_metadata()
_DAY = 86_400_000_000
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Labels:
    """What every result row of one execution carries: where it comes from."""

    workload: str
    workload_hash: str
    run_id: str
    events_version: int


def merged(stages: Sequence[Stage], workload: Workload, arithmetic: str) -> Stage:
    """Rows of tasks with the partial ones added up: result rows only, in the same columns."""

    def body(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = pa.Table.from_batches(list(batches), TASK_SCHEMA)
        yield from merged_rows(found, workload, arithmetic).to_batches(max_chunksize=100_000)

    key = ("query", "window_start", "group_key")
    return Stage(together(stages).repartition(*key), body)


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


def with_day(rows: DataFrame, unit: int) -> DataFrame:
    """With a column by which rows that belong into one file can be brought together."""
    return rows.withColumn("day", expr(f"(window_end - 1) div {_DAY // unit}L"))


def labelled(rows: pa.RecordBatch, labels: Labels, unit: int) -> pa.RecordBatch:
    """Result rows, whose window bounds count `unit` microseconds, as rows of `computed_aggregates`.

    WarehouseError for a window that begins or ends in a year that not every reader of the tables knows.
    """
    _refuse_far_windows(rows, unit)
    start, end = (
        pc.multiply(rows.column(name), pa.scalar(unit, pa.int64())) for name in ("window_start", "window_end")
    )
    # The UTC day of a window's last microsecond.
    last = pc.subtract(end, 1).cast(tables.TIMESTAMP)
    made = {
        "window_start": start.cast(tables.TIMESTAMP),
        "window_end": end.cast(tables.TIMESTAMP),
        "day": pc.floor_temporal(last, unit="day").cast(pa.date32()),
        "events_version": pa.repeat(pa.scalar(labels.events_version, pa.int64()), rows.num_rows),
    }
    for name in ("workload", "workload_hash", "run_id"):
        made[name] = pa.repeat(getattr(labels, name), rows.num_rows)
    columns = [made[name] if name in made else rows.column(name) for name in RESULT_SCHEMA.names]
    return pa.RecordBatch.from_arrays(columns, schema=RESULT_SCHEMA)


def _refuse_far_windows(rows: pa.RecordBatch, unit: int) -> None:
    low, high = -(-microseconds(datetime.min.replace(tzinfo=UTC)) // unit), microseconds(_LAST) // unit
    far = pc.or_(pc.less(rows.column("window_start"), low), pc.greater(rows.column("window_end"), high))
    if not pc.any(far).as_py():
        return
    query = rows.column("query").filter(far)[0].as_py()
    raise WarehouseError(
        f"query {query}: a window begins or ends outside of the years 1 to 9999, which is all that tables can hold",
        code="E537",
        hint="choose a shorter WITHIN or another origin; `hamlet run` has no such limit for integer times",
    )
