"""Events that came too late for a stream: after windows were given out which they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from hamlet_core import QueryPlan
from hamlet_core.template.plan import types_read
from pipelines.settings import JobSettings
from pipelines.spans import Partition
from pipelines.steps.execution.computed import query_hash, windows_with
from pipelines.steps.watermark import Position
from resources import tables
from resources.sql import equal_values, moment
from resources.warehouse import Warehouse

_COLUMNS = ("event_time", "event_type", "source_file", "ingested_at")


def record_late(
    spark: SparkSession,
    warehouse: Warehouse,
    settings: JobSettings,
    known: Mapping[str, Position],
    run_id: str,
    before: datetime | None,
) -> int:
    """Write which events came in too late since the last micro-batch that gave out windows, and which of the windows given
    out they belong to; how many of them came in after the ingest `before`. To write them again changes nothing.
    """
    workload = settings.workload
    since = min(one.events_until for one in known.values())
    passed = max(one.watermark for one in known.values())
    events = _arrived(warehouse, since, passed)
    queries, first, last = _touched(settings, known, events)
    count = events.num_rows
    values: dict[str, pa.Array | pa.ChunkedArray] = {
        **{name: events.column(name) for name in _COLUMNS},
        "workload": pa.repeat(workload.name, count),
        "workload_hash": pa.repeat(workload.hash, count),
        "watermark": pa.repeat(pa.scalar(passed, tables.TIMESTAMP), count),
        "queries": queries,
        "first_window_end": first,
        "last_window_end": last,
        "run_id": pa.repeat(run_id, count),
    }
    schema = tables.LATE.schema.remove_metadata()
    rows = pa.table({name: values[name] for name in schema.names}).cast(schema)
    if not _told(warehouse, rows, workload.name, since):
        where = f"{equal_values(workload=workload.name)} AND ingested_at > '{moment(since)}'"
        warehouse.replace_rows(spark, rows, tables.LATE, where)
    if before is None:
        return count
    return int(
        pc.sum(pc.greater(rows.column("ingested_at"), pa.scalar(before, tables.TIMESTAMP))).as_py() or 0
    )


def _arrived(warehouse: Warehouse, since: datetime, passed: datetime) -> pa.Table:
    """The events that came in after an ingest and are earlier than the watermark was."""
    late = (pc.field("ingested_at") > pa.scalar(since, tables.TIMESTAMP)) & (
        pc.field("event_time") < pa.scalar(passed, tables.TIMESTAMP)
    )
    return warehouse.rows("events", _COLUMNS, late)


def _told(warehouse: Warehouse, rows: pa.Table, workload: str, since: datetime) -> bool:
    """Whether a micro-batch that gave out no window, or was killed, has written the same."""
    if not warehouse.exists(tables.LATE.name):
        return rows.num_rows == 0
    wanted = (pc.field("workload") == workload) & (
        pc.field("ingested_at") > pa.scalar(since, tables.TIMESTAMP)
    )
    names = [name for name in rows.column_names if name not in ("workload_hash", "run_id")]
    stored = warehouse.rows(tables.LATE.name, names, wanted)
    order = [(name, "ascending") for name in names]
    return bool(
        stored.cast(rows.select(names).schema).sort_by(order).equals(rows.select(names).sort_by(order))
    )


def _touched(
    settings: JobSettings, known: Mapping[str, Position], events: pa.Table
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Of each event the queries with a given window that it belongs to, and the first and the last end of these windows."""
    times = np.asarray(events.column("event_time").cast(pa.int64()))
    plans = [plan for plan in settings.workload.plans if _is_same(plan, settings, known)]
    touched = np.zeros((len(times), len(plans)), dtype=bool)
    first = np.full(len(times), np.iinfo(np.int64).max)
    last = np.full(len(times), np.iinfo(np.int64).min)
    for place, plan in enumerate(plans):
        own = known[plan.name]
        given = Partition(plan.name, own.began, own.watermark)
        lowest, highest = windows_with(plan, settings.origin, given, times, times)
        read = types_read([plan])
        mine = lowest <= highest
        if read is not None:
            mine &= np.asarray(pc.is_in(events.column("event_type"), pa.array(sorted(read))))
        touched[:, place] = mine
        ends = settings.origin + plan.within
        first[mine] = np.minimum(first[mine], lowest[mine] * plan.slide + ends)
        last[mine] = np.maximum(last[mine], highest[mine] * plan.slide + ends)
    nowhere = ~touched.any(axis=1)
    return (
        _names([plan.name for plan in plans], touched),
        pa.array(first, mask=nowhere).cast(tables.TIMESTAMP),
        pa.array(last, mask=nowhere).cast(tables.TIMESTAMP),
    )


def _is_same(plan: QueryPlan, settings: JobSettings, known: Mapping[str, Position]) -> bool:
    """Whether windows of the query, as it is, were given out."""
    return plan.name in known and known[plan.name].query_hash == query_hash(plan, settings)


def _names(queries: Sequence[str], touched: np.ndarray) -> pa.Array:
    """Of each row the queries that it marks, as `p, q`."""
    kinds, which = np.unique(touched, axis=0, return_inverse=True)
    texts = [", ".join(name for name, mark in zip(queries, kind, strict=True) if mark) for kind in kinds]
    return pa.array(texts, pa.string()).take(pa.array(which.reshape(-1)))
