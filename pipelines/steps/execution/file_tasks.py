"""Laid-out events: which files, queries and windows a Spark task takes, and how it reads them in Python.

Events go from Parquet straight into the task that folds them: no shuffle, no JVM rows, nothing in the driver.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from pyspark.sql import SparkSession

from hamlet_core import QueryPlan
from pipelines.spans import Span
from pipelines.steps.execution.cutting import cut, events_between, files_read
from pipelines.steps.execution.stages import Stage
from pipelines.steps.execution.task_rows import (
    TASK_SCHEMA,
    Reports,
    TaskInput,
    Working,
    columns_read,
    errors_sent,
)
from pipelines.steps.layout import Layout
from pipelines.steps.packing import numbered, pack, worked
from resources.data_files import READ_AHEAD, parquet
from resources.tables import TIMESTAMP
from resources.warehouse import DataFile

MOST_SHARES = 1.5
"""A bucket is cut in time if it has more than so many fair shares of the events."""
MOST_HERE = 10_000
"""Events that the driver computes itself."""
LEAST_SHARE, MOST_SHARE = 50_000, 2_000_000
"""Events for which a task of their own pays, and about how many a task holds at a time."""
TASK_EVENTS = 2 * MOST_SHARE
"""About how many a task has where there are many: by the tasks that are done, people know how far it is."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Files that are read together, of a bucket or of all, for the windows that end in `span`."""

    files: tuple[DataFile, ...]
    rows: int
    """About how many events are read."""
    span: Span = Span()


@dataclass(frozen=True, slots=True)
class FileTask:
    """These queries, over each piece by itself; of the `finished` each piece holds whole groups."""

    queries: tuple[str, ...]
    finished: tuple[str, ...]
    pieces: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class FileEvents:
    """The files of a version of `events`, and how they are laid out."""

    layout: Layout
    files: tuple[DataFile, ...]
    parts: int
    """About how many tasks there shall be."""
    spark: SparkSession

    def stages(self, shared: TaskInput, reports: Reports) -> tuple[list[Stage], bool]:
        """Rows of `TASK_SCHEMA` to be, and whether there will be partial rows among them."""
        tasks = self.tasks(shared)

        def work(one: tuple[int, FileTask]) -> Iterator[pa.RecordBatch]:
            return run_task(*one, shared, reports)

        stage = Stage(numbered(self.spark, len(tasks)), worked(self.spark, tuple(enumerate(tasks)), work))
        return [stage], any(task.queries != task.finished for task in tasks)

    def rows(self, shared: TaskInput, reports: Reports) -> pa.Table:
        """The same rows, made in this process."""
        tasks = enumerate(self.tasks(shared))
        batches = (batch for task in tasks for batch in run_task(*task, shared, reports))
        return pa.Table.from_batches(batches, TASK_SCHEMA)

    def tasks(self, shared: TaskInput) -> tuple[FileTask, ...]:
        """What the stages do, a part each."""
        return file_tasks(shared, self.layout, self.files, self.parts)

    @property
    def few(self) -> bool:
        """Whether the driver computes them before Spark's Python workers would have started; never on a cluster."""
        local = (self.spark.sparkContext.master or "").startswith("local")
        return local and sum(file.rows for file in self.files) <= MOST_HERE


def file_tasks(
    shared: TaskInput, layout: Layout, files: Sequence[DataFile], parts: int
) -> tuple[FileTask, ...]:
    """The tasks, about `parts` of them: queries whose partitions never cross a bucket go bucket by bucket.

    The others need all events in one place. What is more than a fair share is cut in time, at windows.
    """
    buckets: dict[str, list[DataFile]] = defaultdict(list)
    for file in files:
        buckets[file.partition["bucket"]].append(file)
    local = tuple(plan for plan in shared.plans if _in_bucket(plan.equivalence + plan.group_by, layout))
    whole = tuple(plan for plan in shared.plans if plan not in local)
    share = fair_share(sum(file.rows for file in files), parts)
    tasks: list[FileTask] = []
    if local:
        single = len(buckets) == 1
        done = tuple(plan.name for plan in local if single or _in_bucket(plan.group_by, layout))
        pieces = [
            piece for bucket in buckets.values() for piece in pieces_of(tuple(bucket), local, shared, share)
        ]
        names, sizes = tuple(plan.name for plan in local), [piece.rows for piece in pieces]
        tasks += [
            FileTask(names, done, tuple(pieces[number] for number in members))
            for members in pack(sizes, max(parts, sum(sizes) // TASK_EVENTS))
        ]
    for plan in whole if files else ():
        pieces = pieces_of(tuple(files), (plan,), shared, share)
        tasks += [FileTask((plan.name,), (plan.name,), (piece,)) for piece in pieces]
    return tuple(tasks)


def fair_share(events: int, parts: int) -> int:
    """Events of each of about so many tasks."""
    return min(max(-(-events // parts), LEAST_SHARE), MOST_SHARE)


def _in_bucket(partition: tuple[str, ...], layout: Layout) -> bool:
    """Whether events that agree on these attributes lie in one bucket."""
    return bool(layout.key) and set(layout.key) <= set(partition)


def pieces_of(
    files: tuple[DataFile, ...], plans: Sequence[QueryPlan], shared: TaskInput, share: int
) -> list[Piece]:
    """The files as one piece; where they hold far more than a share, cut in time into pieces of about a share."""
    if sum(file.rows for file in files) <= MOST_SHARES * share:
        return [Piece(files, sum(file.rows for file in files), shared.span)]
    spans = cut(files, plans, shared.span, shared.origin, share)
    read = [files_read(files, plans, span, shared.origin) for span in spans]
    return [Piece(own, events_between(own, span), span) for own, span in zip(read, spans, strict=True) if own]


def run_task(number: int, task: FileTask, shared: TaskInput, reports: Reports) -> Iterator[pa.RecordBatch]:
    """Compute one task, and report it."""
    working = Working(shared, task.queries, task.finished)
    with errors_sent():
        for piece in task.pieces:
            yield from working.rows_of(read_events(piece, task.queries, shared), piece.span)
    reports.add(number, working.report())


def read_events(piece: Piece, queries: Sequence[str], shared: TaskInput) -> pa.RecordBatchReader:
    """The events these queries read: only their columns, and the time of their windows; texts as dictionaries."""
    plans = shared.of(queries)
    names = columns_read(plans, shared.schema, shared.events.names)
    columns = pa.schema([_as_dictionary(column) for column in shared.events])
    texts = [name for name in names if pa.types.is_dictionary(columns.field(name).type)]
    read = ds.ParquetFileFormat(dictionary_columns=texts)
    files = parquet([file.path for file in piece.files], columns, read)
    start, end = piece.span.reads([(plan.within, plan.slide) for plan in plans], shared.origin)
    wanted = _between(start, end, [file.partition["day"] for file in piece.files])
    return files.scanner(columns=names, filter=wanted, use_threads=False, **READ_AHEAD).to_reader()


def _as_dictionary(column: pa.Field) -> pa.Field:
    return column.with_type(pa.dictionary(pa.int32(), pa.string())) if column.type == pa.string() else column


def _between(start: datetime | None, end: datetime | None, days: Sequence[str]) -> pc.Expression | None:
    """Start <= event_time < end as a filter; None where all of these days lie between."""
    first, last = min(days, default=""), max(days, default="")
    wanted = []
    if start is not None and date.fromisoformat(first) < _whole_day(start):
        wanted.append(pc.field("event_time") >= pa.scalar(start, TIMESTAMP))
    if end is not None and date.fromisoformat(last) >= end.date():
        wanted.append(pc.field("event_time") < pa.scalar(end, TIMESTAMP))
    if not wanted:
        return None
    return wanted[0] if len(wanted) == 1 else wanted[0] & wanted[1]


def _whole_day(start: datetime) -> date:
    """The first day that begins at this time or later."""
    return start.date() + timedelta(days=start.time() != datetime.min.time())
