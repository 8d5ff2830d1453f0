"""Execute: Delta `events` -> Delta `computed_aggregates` and `sharing_decisions`, as one Spark job.

Partial rows, if any, meet in a small shuffle; decisions come home with the reports of the tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit

from pipelines.settings import JobSettings
from pipelines.spans import Partition, Span
from pipelines.steps.execution.computed import (
    Computed,
    changed_days,
    due,
    forget_computed,
    forget_without_results,
    latest_ingest,
    record_computed,
)
from pipelines.steps.execution.cutting import files_read
from pipelines.steps.execution.decisions import Decided, gathered, slot_of, write_decisions
from pipelines.steps.execution.file_tasks import FileEvents
from pipelines.steps.execution.frame_events import FrameEvents
from pipelines.steps.execution.merging import Labels, labelled, merged, merged_rows, with_day
from pipelines.steps.execution.stages import Stage, together
from pipelines.steps.execution.task_rows import (
    Reports,
    TaskInput,
    TaskReport,
    errors_received,
    errors_sent,
    refuse_what_cannot_fit,
)
from pipelines.steps.ingestion.ingest import no_events
from pipelines.steps.ingestion.ledger import Ledger, remove_killed_ingests
from pipelines.steps.layout import Layout
from pipelines.steps.progress import watched
from pipelines.steps.slices import first_day, last_day, results_filter, results_of
from resources import tables
from resources.data_files import NEW_FILES, FileWriter
from resources.warehouse import MOST_HERE, DataFile, Warehouse

MOST_FILES = 64
"""That one execution may write before Spark brings the rows of a day together first."""


@dataclass(frozen=True, slots=True)
class ExecuteReport:
    """What one execution did: the version of `events`, a report per task, result rows per query of the span.

    `kept` are the queries whose results were there already and still hold, `decided` is what the tasks decided.
    """

    events_version: int
    tasks: tuple[TaskReport, ...]
    rows: dict[str, int]
    kept: frozenset[str] = frozenset()
    decided: Decided = Decided()
    days: Span | None = None
    """The days in which the windows end that were computed, if the others of the span still hold."""


def execute(spark: SparkSession, warehouse: Warehouse, settings: JobSettings, run_id: str) -> ExecuteReport:
    """Compute the workload over the windows of its span and replace their rows in `computed_aggregates`, and the
    decisions about its panes in `sharing_decisions`.

    Queries that are computed already and that no new event matters to are kept; of a span without bounds, also the windows of
    other days than those that new events matter to. Raises WarehouseError without events,
    StreamError and QueryMeaningError where they do not fit the queries.
    """
    if not warehouse.exists("events"):
        raise no_events(warehouse)
    remove_killed_ingests(spark, warehouse, Ledger.of(warehouse))
    version, until = warehouse.version("events"), latest_ingest(warehouse)
    everything = task_input(warehouse, settings)
    refuse_what_cannot_fit(everything)
    forget_without_results(warehouse)
    computed = Computed.of(warehouse, settings.workload.name)
    found = due(warehouse, settings, computed)
    wanted, days = found.by_partition(), changed_days(warehouse, settings, computed, found)
    names = frozenset(plan.name for plan in settings.workload.plans)
    left_behind = computed.partitions(names, settings.span)
    kept = names - frozenset[str]().union(*wanted.values())
    reports: tuple[TaskReport, ...] = ()
    decided = Decided()
    warehouse.create(spark, tables.DECISIONS)
    if wanted or left_behind:
        part = replace(settings, span=settings.span.between(wanted.keys() | left_behind))
        if computed.partitions(kept, part.span):
            forget_computed(warehouse, part, kept)
        changed = part if days is None else replace(part, span=days)
        reports, decided = _replace(spark, warehouse, changed, kept, version, run_id)
        if until is not None:
            record_computed(spark, warehouse, part, but=kept, version=version, until=until, run_id=run_id)
    return ExecuteReport(version, reports, _rows_per_query(warehouse, settings), kept, decided, days)


def recompute(spark: SparkSession, warehouse: Warehouse, settings: JobSettings, run_id: str) -> ExecuteReport:
    """Compute the workload over the windows of its span, whatever there is of them, and replace rows and decisions.

    What `computed_partitions` says is the business of the caller: before, that none of it speaks of these windows.
    Raises StreamError and QueryMeaningError where the events do not fit the queries.
    """
    refuse_what_cannot_fit(task_input(warehouse, settings))
    warehouse.create(spark, tables.DECISIONS)
    version = warehouse.version("events")
    reports, decided = _replace(spark, warehouse, settings, frozenset(), version, run_id)
    return ExecuteReport(version, reports, _rows_per_query(warehouse, settings), decided=decided)


def _replace(
    spark: SparkSession,
    warehouse: Warehouse,
    settings: JobSettings,
    kept: frozenset[str],
    version: int,
    run_id: str,
) -> tuple[tuple[TaskReport, ...], Decided]:
    """Replace the rows of the span and the decisions about its panes, except those of the queries that are kept."""
    reports = _compute(spark, warehouse, settings, kept, version, run_id)
    decisions = gathered(task.decisions for task in reports)
    unit = task_input(warehouse, settings).unit
    write_decisions(spark, warehouse, settings, decisions, unit=unit, run_id=run_id, kept=kept)
    return reports, Decided.of(decisions)


def _compute(
    spark: SparkSession,
    warehouse: Warehouse,
    settings: JobSettings,
    kept: frozenset[str],
    version: int,
    run_id: str,
) -> tuple[TaskReport, ...]:
    """Replace the rows of the span, except those of the queries that are kept."""
    everything = task_input(warehouse, settings)
    present = warehouse.files("events", version)
    plans = tuple(plan for plan in everything.plans if plan.name not in kept)
    shared = replace(everything, plans=plans, span=_final(settings, present))
    read = _files_read(present, shared)
    events = _events(spark, warehouse, version, read, shared)
    reports = Reports.on(spark.sparkContext)
    labels = Labels(settings.workload.name, settings.workload.hash, run_id, version)
    writer = warehouse.writer(spark, tables.COMPUTED)
    spread = len({file.partition["day"] for file in read}) * events.parts > MOST_FILES
    with watched(spark, "execute", sum(file.rows for file in read)):
        files = _run(events, shared, reports, labels, writer, spread=spread)
        # Two commits: `forget_computed` has seen to it that a run which dies between them is made good.
        stale = results_filter(settings.workload.name, settings.span, but=kept)
        beside = warehouse.rows_beside(tables.COMPUTED.name, stale)
        if beside:
            where = results_of(settings.workload.name, settings.span, but=kept)
            if beside <= MOST_HERE:
                warehouse.delete_here(spark, tables.COMPUTED, where, stale)
            else:
                warehouse.delete(spark, tables.COMPUTED.name, where)
        warehouse.add_files(files, tables.COMPUTED)
    return reports.all


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
        slot_of(settings.span),
    )


def _files_read(files: Iterable[DataFile], shared: TaskInput) -> tuple[DataFile, ...]:
    """The files with days that a window of the span reaches into, but for those without an event in its time."""
    start, end = shared.span.reads([(plan.within, plan.slide) for plan in shared.plans], shared.origin)
    first = first_day(start).isoformat() if start is not None else ""
    last = last_day(end).isoformat() if end is not None else "9999-12-31"
    of_days = [file for file in files if first <= file.partition["day"] <= last]
    return files_read(of_days, shared.plans, shared.span, shared.origin)


def _final(settings: JobSettings, files: tuple[DataFile, ...]) -> Span:
    """The span, without `flush` only as far as its windows are final."""
    span, last = settings.span, None if settings.execute.flush else latest_day(files)
    if last is None:
        return span
    until = last if span.until is None else min(last, span.until)
    return Span((Partition("final", span.after, until),))


def latest_day(files: tuple[DataFile, ...]) -> datetime | None:
    """Where the UTC day of the latest event begins: what ends up to there is final. None without events."""
    days = [date.fromisoformat(file.partition["day"]) for file in files]
    return datetime.combine(max(days), datetime.min.time(), UTC) if days else None


def _events(
    spark: SparkSession, warehouse: Warehouse, version: int, files: tuple[DataFile, ...], shared: TaskInput
) -> FileEvents | FrameEvents:
    """The events that windows of the span read, on the way to the tasks that the options say."""
    parts = 2 * spark.sparkContext.defaultParallelism
    if shared.options.path == "files":
        return FileEvents(Layout.of(warehouse.properties("events")), files, parts, spark)
    frame = warehouse.read(spark, "events", version)
    start, end = shared.span.reads([(plan.within, plan.slide) for plan in shared.plans], shared.origin)
    if start is not None:
        frame = frame.where((col("day") >= lit(first_day(start))) & (col("event_time") >= lit(start)))
    if end is not None:
        frame = frame.where((col("day") <= lit(last_day(end))) & (col("event_time") < lit(end)))
    return FrameEvents(frame, parts)


def _run(
    events: FileEvents | FrameEvents,
    shared: TaskInput,
    reports: Reports,
    labels: Labels,
    writer: FileWriter,
    *,
    spread: bool,
) -> pa.Table:
    """Tasks, merge and write are one job of Spark; the files that were written, which no commit names yet."""
    if isinstance(events, FileEvents) and events.few:
        return _run_here(events, shared, reports, labels, writer)
    stages, partial = events.stages(shared, reports)
    if partial:
        stages = [merged(stages, shared.workload, shared.options.arithmetic)]
    if spread:
        by_day = with_day(together(stages), shared.unit).hint("rebalance", "day")
        stages = [Stage(by_day, lambda batches: batches)]
    unit = shared.unit

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with errors_sent():
            yield from writer.write(labelled(batch, labels, unit) for batch in batches)

    with errors_received():
        return together([stage.then(write) for stage in stages], NEW_FILES).toArrow()


def _run_here(
    events: FileEvents, shared: TaskInput, reports: Reports, labels: Labels, writer: FileWriter
) -> pa.Table:
    """The same of a few events, in this process."""
    with errors_received():
        found = events.rows(shared, reports)
        rows = merged_rows(found, shared.workload, shared.options.arithmetic).to_batches()
        written = writer.write(labelled(batch, labels, shared.unit) for batch in rows)
        return pa.Table.from_batches(written, NEW_FILES)


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
