"""The execute step's tasks: which files and queries a Spark task takes, and what it does with them in Python.

Events go from Parquet straight into the task that folds them: no shuffle, no JVM rows, nothing in the driver.
"""

from __future__ import annotations

import os
import pickle
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core import PARTIAL_SCHEMA, EventSchema, QueryPlan, Workload, partials
from hamlet_core.errors import HamletError
from pipelines.settings import ExecuteOptions
from pipelines.spans import Span
from pipelines.steps.layout import Layout
from pipelines.steps.packing import pack
from resources.storage import parquet
from resources.tables import TIMESTAMP
from resources.warehouse import DataFile

TASK_SCHEMA = pa.schema([*(field.with_nullable(True) for field in PARTIAL_SCHEMA), ("report", pa.binary())])
"""Partial rows of the engine, and one row with only a pickled `TaskReport` at the end of each task."""


@dataclass(frozen=True, slots=True)
class FileTask:
    """These queries, over each of these sets of files by itself: a bucket, or all buckets together."""

    queries: tuple[str, ...]
    inputs: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one task did: events that went into the engine, partial rows out, seconds, and its process."""

    queries: tuple[str, ...]
    events: int = 0
    rows: int = 0
    seconds: float = 0.0
    pid: int = 0
    error: HamletError | None = None


@dataclass(frozen=True, slots=True)
class TaskInput:
    """What all tasks of one execution have in common."""

    workload: Workload
    plans: tuple[QueryPlan, ...]
    events: pa.Schema
    schema: EventSchema
    options: ExecuteOptions
    span: Span = Span()
    origin: int = 0


def file_tasks(
    plans: Sequence[QueryPlan], layout: Layout, files: Sequence[DataFile], parts: int
) -> tuple[FileTask, ...]:
    """The tasks, about `parts` of them: queries whose partitions never cross a bucket go bucket by bucket.

    The others need all events in one place: a task each.
    """
    buckets: dict[str, list[DataFile]] = defaultdict(list)
    for file in files:
        buckets[file.partition["bucket"]].append(file)
    inputs = [tuple(file.path for file in bucket) for bucket in buckets.values()]
    packs = pack([sum(file.rows for file in bucket) for bucket in buckets.values()], parts)
    local = tuple(query.name for query in plans if _stays_in_bucket(query, layout))
    by_bucket = [FileTask(local, tuple(inputs[number] for number in members)) for members in packs if local]
    everything = tuple(file.path for file in files)
    whole = [
        FileTask((query.name,), (everything,)) for query in plans if query.name not in local and everything
    ]
    return (*by_bucket, *whole)


def _stays_in_bucket(query: QueryPlan, layout: Layout) -> bool:
    return bool(layout.key) and set(layout.key) <= {*query.equivalence, *query.group_by}


def run_task(task: FileTask, shared: TaskInput) -> Iterator[pa.RecordBatch]:
    """Compute one task: partial rows, then its report; a failure that users can cause travels in the report."""
    started = time.monotonic()
    events = rows = 0
    error = None
    try:
        for paths in task.inputs:
            table = read_events(paths, task.queries, shared)
            found = compute_partials(table, task.queries, shared)
            events, rows = events + table.num_rows, rows + found.num_rows
            yield from _with_report(found).to_batches()
    except HamletError as refused:
        error = refused
    seconds = time.monotonic() - started
    yield _report_row(TaskReport(task.queries, events, rows, seconds, os.getpid(), error))


def read_events(paths: Sequence[str], queries: Sequence[str], shared: TaskInput) -> pa.Table:
    """The events these queries read: only their columns and types, and the time of their windows."""
    plans = [plan for plan in shared.plans if plan.name in queries]
    files = parquet(paths, shared.events)
    wanted = pc.field("event_type").isin(sorted({name for plan in plans for name in plan.types}))
    start, end = shared.span.reads([(plan.within, plan.slide) for plan in plans], shared.origin)
    if start is not None:
        wanted &= pc.field("event_time") >= pa.scalar(start, TIMESTAMP)
    if end is not None:
        wanted &= pc.field("event_time") < pa.scalar(end, TIMESTAMP)
    return files.to_table(columns=columns_read(plans, shared), filter=wanted, use_threads=False)


def columns_read(plans: Sequence[QueryPlan], shared: TaskInput) -> list[str]:
    """Columns of the table that the engine needs; `time` and `type` may mean those of the event schema."""
    schema = shared.schema
    names = {schema.time, *([schema.type] if schema.type else ())}
    attributes = {name for plan in plans for name in plan.columns}
    return sorted(
        names | {name for name in attributes if name in shared.events.names or name not in ("time", "type")}
    )


def compute_partials(table: pa.Table, queries: Sequence[str], shared: TaskInput) -> pa.Table:
    """The engine over one table of events."""
    options = shared.options
    chosen = tuple(query.query for query in shared.plans if query.name in queries)
    return partials(
        replace(shared.workload, queries=chosen),
        table,
        schema=shared.schema,
        engine=options.engine,
        policy=options.policy,
        cost_model=options.cost_model,
        arithmetic=options.arithmetic,
    )


def _with_report(found: pa.Table) -> pa.Table:
    return pa.table([*found.columns, pa.nulls(found.num_rows, pa.binary())], schema=TASK_SCHEMA)


def _report_row(report: TaskReport) -> pa.RecordBatch:
    row = [{"report": pickle.dumps(report)}]
    return pa.RecordBatch.from_pylist(row, schema=TASK_SCHEMA)
