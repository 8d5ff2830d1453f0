"""Execute: Delta `events` -> Delta `computed_aggregates`, as file tasks and one small shuffle of partial rows."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet_core import partials
from hamlet_core.events import TIME_UNITS
from pipelines.settings import JobSettings
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
from pipelines.steps.merging import Labels, MergeInput, merge_frame
from pipelines.steps.packing import run_tasks
from resources import tables
from resources.warehouse import DataFile, Warehouse, equal


@dataclass(frozen=True, slots=True)
class ExecuteReport:
    """What one execution did: the version of `events`, a report per task, result rows per query."""

    events_version: int
    tasks: tuple[TaskReport, ...]
    rows: dict[str, int]


def execute(spark: SparkSession, warehouse: Warehouse, settings: JobSettings, run_id: str) -> ExecuteReport:
    """Compute the workload over all events of the warehouse and replace its rows in `computed_aggregates`.

    Raises WarehouseError without events, StreamError and QueryMeaningError where they do not fit the queries.
    """
    if not warehouse.exists("events"):
        raise no_events(warehouse)
    version = warehouse.version("events")
    shared = task_input(warehouse, settings)
    refuse_what_cannot_fit(shared)
    files = warehouse.files("events", version)
    layout = Layout.of(warehouse.properties("events"))
    tasks = file_tasks(shared.plans, layout, files, 4 * spark.sparkContext.defaultParallelism)
    merge = _merge_input(shared, settings, files, run_id, version)
    reports, rows = _run(spark, warehouse, tasks, shared, merge)
    return ExecuteReport(version, reports, rows)


def task_input(warehouse: Warehouse, settings: JobSettings) -> TaskInput:
    """What all tasks need to know; small, because it travels to each of them."""
    workload = settings.workload
    events = warehouse.schema("events").remove_metadata()
    events = pa.schema([field.remove_metadata() for field in events])
    return TaskInput(workload.parsed, workload.plans, events, settings.event_schema, settings.execute)


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


def _merge_input(
    shared: TaskInput, settings: JobSettings, files: tuple[DataFile, ...], run_id: str, version: int
) -> MergeInput:
    time_type = shared.events.field(shared.schema.time).type
    labels = Labels(settings.workload.name, settings.workload.hash, run_id, version)
    return MergeInput(
        workload=shared.workload,
        time_type=pa.int64() if pa.types.is_integer(time_type) else tables.TIMESTAMP,
        arithmetic=settings.execute.arithmetic,
        unit=TIME_UNITS[shared.schema.time_unit],
        final_until=None if settings.execute.flush else latest_day(files),
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
) -> tuple[tuple[TaskReport, ...], dict[str, int]]:
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
        warehouse.replace(
            results.hint("rebalance", "day"), tables.COMPUTED, equal(workload=merge.labels.workload)
        )
    finally:
        found.unpersist()
    return reports, _rows_per_query(warehouse, shared, merge.labels.workload)


def _rows_per_query(warehouse: Warehouse, shared: TaskInput, workload: str) -> dict[str, int]:
    """Result rows of each query, queries without any included."""
    table = warehouse.dataset(tables.COMPUTED.name)
    stored = table.to_table(columns=["query"], filter=pc.field("workload") == workload)
    counted = stored.column("query").value_counts().to_pylist()
    found = {entry["values"]: entry["counts"] for entry in counted}
    return {plan.name: found.get(plan.name, 0) for plan in shared.plans}
