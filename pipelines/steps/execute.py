"""Execute: Delta `events` -> Delta `computed_aggregates`, as file tasks and one small shuffle of partial rows."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet_core import partials
from hamlet_core.events import TIME_UNITS
from pipelines.settings import JobSettings
from pipelines.steps.computed import (
    Computed,
    current_queries,
    forget_computed,
    latest_ingest,
    record_computed,
)
from pipelines.steps.file_tasks import (
    TASK_SCHEMA,
    FileTask,
    TaskInput,
    TaskReport,
    columns_read,
    file_tasks,
    run_task,
)
from pipelines.steps.ingest import no_events
from pipelines.steps.layout import Layout
from pipelines.steps.ledger import Ledger, remove_killed_ingests
from pipelines.steps.merging import Labels, MergeInput, merge_frame
from pipelines.steps.packing import run_tasks
from pipelines.steps.progress import watched
from pipelines.steps.slices import first_day, last_day, results_filter, results_of
from resources import tables
from resources.warehouse import DataFile, Warehouse


@dataclass(frozen=True, slots=True)
class ExecuteReport:
    """What one execution did: the version of `events`, a report per task, result rows per query of the span.

    `kept` are the queries whose results were there already and still hold.
    """

    events_version: int
    tasks: tuple[TaskReport, ...]
    rows: dict[str, int]
    kept: frozenset[str] = frozenset()


def execute(spark: SparkSession, warehouse: Warehouse, settings: JobSettings, run_id: str) -> ExecuteReport:
    """Compute the workload over the windows of its span and replace their rows in `computed_aggregates`.

    Queries that are computed already and that no new event matters to are kept. Raises WarehouseError without events,
    StreamError and QueryMeaningError where they do not fit the queries.
    """
    if not warehouse.exists("events"):
        raise no_events(warehouse)
    remove_killed_ingests(spark, warehouse, Ledger.of(warehouse))
    version, until = warehouse.version("events"), latest_ingest(warehouse)
    everything = task_input(warehouse, settings)
    refuse_what_cannot_fit(everything)
    computed = Computed.of(warehouse, settings.workload.name)
    kept = current_queries(warehouse, settings, computed)
    present = computed.queries(settings.span)
    plans = tuple(plan for plan in everything.plans if plan.name not in kept)
    reports: tuple[TaskReport, ...] = ()
    if plans or present - kept:
        if present - kept:
            forget_computed(spark, warehouse, settings, kept)
        files = warehouse.files("events", version)
        shared = replace(everything, plans=plans)
        layout = Layout.of(warehouse.properties("events"))
        read = _files_read(files, shared)
        tasks = file_tasks(plans, layout, read, 4 * spark.sparkContext.defaultParallelism)
        merge = _merge_input(everything, settings, files, run_id, version)
        where = results_of(settings.workload.name, settings.span, but=kept)
        with watched(spark, "execute", sum(file.rows for file in read)):
            reports = _run(spark, warehouse, tasks, shared, merge, where)
        if until is not None:
            record_computed(spark, warehouse, settings, but=kept, version=version, until=until, run_id=run_id)
    return ExecuteReport(version, reports, _rows_per_query(warehouse, settings), kept)


def task_input(warehouse: Warehouse, settings: JobSettings) -> TaskInput:
    """What all tasks need to know; small, because it travels to each of them."""
    workload = settings.workload
    events = warehouse.schema("events").remove_metadata()
    events = pa.schema([field.remove_metadata() for field in events])
    return TaskInput(
        workload.parsed,
        workload.plans,
        events,
        settings.event_schema,
        settings.execute,
        settings.span,
        settings.origin,
    )


def refuse_what_cannot_fit(shared: TaskInput) -> None:
    """Run the engine on no events at all, here: missing columns and wrong types are one error, before any task.

    Kernels are compiled by it too: once, not by every task of this machine at the same time.
    """
    names = columns_read(shared.plans, shared)
    present = [shared.events.field(name) for name in names if name in shared.events.names]
    partials(
        shared.workload,
        pa.schema(present).empty_table(),
        schema=shared.schema,
        engine=shared.options.engine,
        policy=shared.options.policy,
        cost_model=shared.options.cost_model,
        arithmetic=shared.options.arithmetic,
    )


def _files_read(files: Iterable[DataFile], shared: TaskInput) -> tuple[DataFile, ...]:
    """The files with days that a window of the span reaches into."""
    start, end = shared.span.reads([(plan.within, plan.slide) for plan in shared.plans], shared.origin)
    first = first_day(start).isoformat() if start is not None else ""
    last = last_day(end).isoformat() if end is not None else "9999-12-31"
    return tuple(file for file in files if first <= file.partition["day"] <= last)


def _merge_input(
    shared: TaskInput, settings: JobSettings, files: tuple[DataFile, ...], run_id: str, version: int
) -> MergeInput:
    time_type = shared.events.field(shared.schema.time).type
    labels = Labels(settings.workload.name, settings.workload.hash, run_id, version)
    bounds = [settings.span.until, None if settings.execute.flush else latest_day(files)]
    return MergeInput(
        workload=shared.workload,
        time_type=pa.int64() if pa.types.is_integer(time_type) else tables.TIMESTAMP,
        arithmetic=settings.execute.arithmetic,
        unit=TIME_UNITS[shared.schema.time_unit],
        after=settings.span.after,
        until=min((bound for bound in bounds if bound is not None), default=None),
        labels=labels,
    )


def latest_day(files: tuple[DataFile, ...]) -> datetime | None:
    """Where the UTC day of the latest event begins: what ends up to there is final. None without events."""
    days = [date.fromisoformat(file.partition["day"]) for file in files]
    return datetime.combine(max(days), datetime.min.time(), UTC) if days else None


def _run(
    spark: SparkSession,
    warehouse: Warehouse,
    tasks: tuple[FileTask, ...],
    shared: TaskInput,
    merge: MergeInput,
    where: str,
) -> tuple[TaskReport, ...]:
    """Tasks first, so that an error in one is raised before anything is written; then merge and write."""
    found = run_tasks(
        spark, tasks, lambda task: run_task(task, shared), from_arrow_schema(TASK_SCHEMA)
    ).persist()
    try:
        reported = found.where(col("report").isNotNull()).select("report").toArrow().column(0)
        reports = tuple(pickle.loads(report) for report in reported.to_pylist())  # noqa: S301 - our own tasks
        for report in reports:
            if report.error is not None:
                raise report.error
        results = merge_frame(found.where(col("report").isNull()).drop("report"), merge)
        warehouse.replace(results.hint("rebalance", "day"), tables.COMPUTED, where)
    finally:
        found.unpersist()
    return reports


def _rows_per_query(warehouse: Warehouse, settings: JobSettings) -> dict[str, int]:
    """Result rows of each query in the span, queries without any included."""
    names = [plan.name for plan in settings.workload.plans]
    if not warehouse.exists(tables.COMPUTED.name):
        return dict.fromkeys(names, 0)
    table = warehouse.dataset(tables.COMPUTED.name)
    stored = table.to_table(columns=["query"], filter=results_filter(settings.workload.name, settings.span))
    counted = stored.column("query").value_counts().to_pylist()
    found = {entry["values"]: entry["counts"] for entry in counted}
    return {name: found.get(name, 0) for name in names}
