"""What every task of an execution has in common, whatever way its events come: the engine, its rows, its report.

A task yields result rows of the queries whose groups it holds whole, and partial rows of the others. Its report goes
to the driver beside the rows, with the decisions that it took, and so does an error that a user can cause.
"""

from __future__ import annotations

import base64
import os
import pickle
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import SparkContext
from pyspark.accumulators import Accumulator, AccumulatorParam

from hamlet_core import EventSchema, QueryPlan, Workload, result_schema, run_part
from hamlet_core.errors import HamletError
from hamlet_core.results.folded import Part
from hamlet_core.sharing.log import summarised
from hamlet_core.table.encode import TIME_UNITS
from pipelines.compiling import from_the_other_end
from pipelines.settings import ExecuteOptions
from pipelines.spans import Span, microseconds
from pipelines.steps.execution.decisions import MOST_OF_A_TASK, Slot, nothing_decided, of_span, packed

_RESULTS = [column.with_nullable(True) for column in result_schema(pa.int64())]
TASK_SCHEMA = pa.schema([*_RESULTS, pa.field("state", pa.binary())])
"""Result rows, window bounds in ticks; a partial row has a `state` in place of an aggregate and its value."""

_ERROR = "hamlet error:"
_SENT = re.compile(_ERROR + r"([A-Za-z0-9+/=]+)")


@dataclass(frozen=True, slots=True)
class TaskReport:
    """What one task did: events that went into the engine, rows out, seconds, its process, and what it decided."""

    queries: tuple[str, ...]
    events: int = 0
    rows: int = 0
    seconds: float = 0.0
    pid: int = 0
    decisions: bytes = field(default=b"", repr=False)
    """As `pipelines.steps.execution.decisions.packed` makes them."""


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
    slot: Slot = "day"

    @property
    def unit(self) -> int:
        """Microseconds per tick of window bounds."""
        time_type = self.events.field(self.schema.time).type
        return TIME_UNITS[self.schema.time_unit] if pa.types.is_integer(time_type) else 1

    def of(self, queries: Collection[str]) -> tuple[QueryPlan, ...]:
        """The plans of these queries, in order."""
        return tuple(plan for plan in self.plans if plan.name in queries)


class _Merged(AccumulatorParam[dict[Any, TaskReport]]):
    """Reports by number of the task: one that Spark runs twice reports once."""

    def zero(self, value: dict[Any, TaskReport]) -> dict[Any, TaskReport]:  # noqa: ARG002
        return {}

    def addInPlace(  # noqa: N802 - Spark's name
        self, value1: dict[Any, TaskReport], value2: dict[Any, TaskReport]
    ) -> dict[Any, TaskReport]:
        return {**value1, **value2}


@dataclass(frozen=True, slots=True)
class Reports:
    """Reports of tasks, gathered by the driver as the tasks end; without `decisions`, which are large, if nobody asks."""

    gathered: Accumulator[dict[Any, TaskReport]]
    decisions: bool = True

    @classmethod
    def on(cls, context: SparkContext, *, decisions: bool = True) -> Reports:
        """None yet."""
        return cls(context.accumulator({}, _Merged()), decisions)

    def add(self, number: Any, report: TaskReport) -> None:
        """In a task: report it."""
        self.gathered.add({number: report if self.decisions else replace(report, decisions=b"")})

    @property
    def all(self) -> tuple[TaskReport, ...]:
        """In the driver: the reports, in order of the tasks."""
        found = self.gathered.value
        return tuple(found[number] for number in sorted(found))


@dataclass(slots=True)
class Working:
    """Mutable: one task at work; counts what goes in and out."""

    shared: TaskInput
    queries: tuple[str, ...]
    finished: Collection[str]
    started: float = field(default_factory=time.monotonic)
    events: int = 0
    rows: int = 0
    decisions: pa.Table = field(default_factory=nothing_decided)

    def rows_of(self, events: Any, span: Span) -> Iterator[pa.RecordBatch]:
        """The engine over one table or reader of events: rows about windows that end in the span."""
        shared, options = self.shared, self.shared.options
        chosen = tuple(plan.query for plan in shared.of(self.queries))
        part = run_part(
            replace(shared.workload, queries=chosen),
            events,
            self.finished,
            schema=shared.schema,
            engine=options.engine,
            policy=options.policy,
            cost_model=options.cost_model,
            choice=options.choice,
            optimizer=options.optimizer,
            arithmetic=options.arithmetic,
            threads=1,
        )
        yield from self.rows_of_part(part, span)

    def rows_of_part(self, part: Part, span: Span) -> Iterator[pa.RecordBatch]:
        """The rows that the engine found about windows that end in the span; its decisions are kept for the report."""
        unit = self.shared.unit
        self.events += part.events
        decided = of_span(part.decisions, span, unit, self.shared.slot)
        self.decisions = summarised(pa.concat_tables([self.decisions, decided]), MOST_OF_A_TASK)
        for found in (part.results, part.partials):
            rows = _ending_in(span, as_task_rows(found), unit)
            self.rows += rows.num_rows
            yield from rows.to_batches(max_chunksize=100_000)

    def report(self) -> TaskReport:
        """What was done so far."""
        seconds = time.monotonic() - self.started
        return TaskReport(self.queries, self.events, self.rows, seconds, os.getpid(), packed(self.decisions))


def as_task_rows(found: pa.Table) -> pa.Table:
    """Result rows or partial rows in the columns of `TASK_SCHEMA`."""
    columns = []
    for column in TASK_SCHEMA:
        if column.name in found.column_names:
            columns.append(found.column(column.name).cast(column.type))
        else:
            columns.append(pa.chunked_array([pa.nulls(found.num_rows, column.type)]))
    return pa.Table.from_arrays(columns, schema=TASK_SCHEMA)


def _ending_in(span: Span, rows: pa.Table, unit: int) -> pa.Table:
    """The rows about windows with span.after < window_end <= span.until; bounds in ticks of `unit` microseconds."""
    if span.after is not None:
        rows = rows.filter(pc.field("window_end") > microseconds(span.after) // unit)
    if span.until is not None:
        rows = rows.filter(pc.field("window_end") <= microseconds(span.until) // unit)
    return rows


def columns_read(plans: Sequence[QueryPlan], schema: EventSchema, present: Iterable[str]) -> list[str]:
    """Columns of the events that the engine needs; `time` and `type` may mean those of the event schema."""
    known = frozenset(present)
    names = {schema.time, *([schema.type] if schema.type else ())}
    attributes = {name for plan in plans for name in plan.columns}
    return sorted(names | {name for name in attributes if name in known or name not in ("time", "type")})


def refuse_what_cannot_fit(shared: TaskInput) -> None:
    """Run the engine on no events at all, here: missing columns and wrong types are one error, before any task.

    Kernels are compiled by it too, in two processes: once, not by every task of this machine at the same time.
    """
    names = columns_read(shared.plans, shared.schema, shared.events.names)
    present = pa.schema([column for column in shared.events if column.name in names])
    working = Working(shared, tuple(plan.name for plan in shared.plans), ())
    with from_the_other_end(shared.workload, present, shared.schema, shared.options.arithmetic):
        list(working.rows_of(pa.Table.from_batches([], present), Span()))


class TaskError(RuntimeError):
    """A `HamletError` on its way out of a task: Spark keeps nothing of an exception but its text."""

    def __init__(self, error: HamletError) -> None:
        super().__init__(_ERROR + base64.b64encode(pickle.dumps(error)).decode())


@contextmanager
def errors_sent() -> Iterator[None]:
    """In a task: send errors that a user can cause home whole."""
    try:
        yield
    except HamletError as error:
        raise TaskError(error) from error


@contextmanager
def errors_received() -> Iterator[None]:
    """In the driver: raise the error that a task sent, in place of what Spark made of it."""
    try:
        yield
    except Exception as failed:
        sent = _SENT.search("\n".join(_texts(failed)))
        if sent is None:
            raise
        error: HamletError = pickle.loads(base64.b64decode(sent[1]))  # noqa: S301 - from our own task
        raise error from None


def _texts(failed: BaseException) -> Iterator[str]:
    """What an exception of Spark says, and its causes in the JVM."""
    yield str(failed)
    cause = getattr(failed, "java_exception", None) or getattr(failed, "_origin", None)
    while cause is not None:
        yield str(cause.toString())
        cause = cause.getCause()
