"""From partial rows to result rows: states of one (query, window, group) meet in a shuffle and are added up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet_core import PARTIAL_SCHEMA, Workload, merge_partials
from resources import tables

_PARTIALS = pa.schema([field.with_nullable(True) for field in PARTIAL_SCHEMA])
RESULT_SCHEMA = tables.COMPUTED.schema.remove_metadata()


@dataclass(frozen=True, slots=True)
class Labels:
    """What every result row of one execution carries: where it comes from."""

    workload: str
    workload_hash: str
    run_id: str
    events_version: int


@dataclass(frozen=True, slots=True)
class MergeInput:
    """What the merging tasks have in common.

    `unit` is microseconds per unit of an integer time column; windows that end outside (`after`, `until`] are left out.
    """

    workload: Workload
    time_type: pa.DataType
    arithmetic: str
    unit: int
    after: datetime | None
    until: datetime | None
    labels: Labels


def merge_frame(partial_rows: DataFrame, merge: MergeInput) -> DataFrame:
    """The result rows as a lazy frame with the columns of `computed_aggregates`."""

    def body(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        found = pa.Table.from_batches(list(batches), _PARTIALS)
        if found.num_rows:
            yield from result_rows(found, merge).to_batches(max_chunksize=10_000)

    key = ("query", "window_start", "group_key")
    return partial_rows.repartition(*key).mapInArrow(body, from_arrow_schema(RESULT_SCHEMA))


def result_rows(partial_rows: pa.Table, merge: MergeInput) -> pa.Table:
    """Partial rows, complete for their keys, as rows of `computed_aggregates`."""
    merged = merge_partials(
        merge.workload, partial_rows, time_type=merge.time_type, arithmetic=merge.arithmetic
    )
    rows = _with_timestamps(merged, merge.unit)
    if merge.after is not None:
        rows = rows.filter(pc.field("window_end") > pa.scalar(merge.after, tables.TIMESTAMP))
    if merge.until is not None:
        rows = rows.filter(pc.field("window_end") <= pa.scalar(merge.until, tables.TIMESTAMP))
    known = {name: rows.column(name) for name in rows.column_names}
    known["day"] = _last_day(rows.column("window_end"))
    labels = merge.labels
    for name in ("workload", "workload_hash", "run_id", "events_version"):
        known[name] = pa.repeat(getattr(labels, name), rows.num_rows)
    return pa.table(
        [known.get(field.name, pa.nulls(rows.num_rows, field.type)) for field in RESULT_SCHEMA],
        schema=RESULT_SCHEMA,
    )


def _with_timestamps(rows: pa.Table, unit: int) -> pa.Table:
    """Window bounds as timestamps; integers count units from the epoch."""
    for name in ("window_start", "window_end"):
        place = rows.column_names.index(name)
        bounds = rows.column(place)
        if pa.types.is_integer(bounds.type):
            bounds = pc.multiply_checked(bounds, unit).cast(tables.TIMESTAMP)
        rows = rows.set_column(place, name, bounds)
    return rows


def _last_day(ends: pa.ChunkedArray) -> pa.ChunkedArray:
    """The UTC day of a window's last microsecond."""
    last = pc.subtract(ends.cast(pa.int64()), 1).cast(pa.timestamp("us"))
    return pc.floor_temporal(last, unit="day").cast(pa.date32())
