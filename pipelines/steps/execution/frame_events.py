"""Events of any layout: a Spark frame is repartitioned by the key that queries partition by, and folded where it arrives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, lit
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet_core import QueryPlan
from hamlet_core.template.plan import types_read
from pipelines.steps.execution.stages import Stage
from pipelines.steps.execution.task_rows import (
    TASK_SCHEMA,
    Reports,
    TaskInput,
    Working,
    columns_read,
    errors_sent,
)
from pipelines.steps.layout import bucket_key
from resources.sql import quoted


@dataclass(frozen=True, slots=True)
class Gathering:
    """Queries that can be computed where events with equal values of `key` are; without a key, where all events are."""

    key: tuple[str, ...]
    plans: tuple[QueryPlan, ...]

    @property
    def queries(self) -> tuple[str, ...]:
        """All labels."""
        return tuple(plan.name for plan in self.plans)

    @property
    def finished(self) -> tuple[str, ...]:
        """Labels of those whose groups are whole there."""
        return tuple(plan.name for plan in self.plans if not self.key or set(self.key) <= set(plan.group_by))


def gatherings(plans: tuple[QueryPlan, ...], columns: list[str]) -> Iterator[Gathering]:
    """The queries by the key that events are gathered by; as few gatherings as a greedy choice finds."""
    left = plans
    while left:
        partitions = [frozenset(plan.equivalence + plan.group_by) for plan in left]
        key = bucket_key(partitions, columns)
        served = (
            tuple(plan for plan, own in zip(left, partitions, strict=True) if set(key) <= own)
            if key
            else left
        )
        yield Gathering(key, served)
        left = tuple(plan for plan in left if plan not in served)


@dataclass(frozen=True, slots=True)
class FrameEvents:
    """A frame with the columns that the queries read."""

    events: DataFrame
    parts: int
    """How many tasks gather events by a key."""

    def stages(self, shared: TaskInput, reports: Reports) -> tuple[list[Stage], bool]:
        """Rows of `TASK_SCHEMA` to be, and whether there will be partial rows among them."""
        found = list(gatherings(shared.plans, shared.events.names))
        stages = [self._gathered(number, one, shared, reports) for number, one in enumerate(found)]
        if not stages:
            nothing = self.events.sparkSession.createDataFrame([], from_arrow_schema(TASK_SCHEMA))
            stages = [Stage(nothing, lambda batches: batches)]
        return stages, any(one.queries != one.finished for one in found)

    def _gathered(self, number: int, gathering: Gathering, shared: TaskInput, reports: Reports) -> Stage:
        """One shuffle of the columns and types that matter, and the engine over each part of it."""
        names = columns_read(gathering.plans, shared.schema, shared.events.names)
        schema = pa.schema([shared.events.field(name) for name in names])
        chosen = self._wanted(gathering.plans, shared).select(*map(quoted, names))
        key = [col(quoted(name)) for name in gathering.key]
        placed = chosen.repartition(self.parts, *key) if key else chosen.repartition(1)

        def body(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            working = Working(shared, gathering.queries, gathering.finished)
            arrived = (batch.cast(schema) for batch in batches if batch.num_rows)
            first = next(arrived, None)
            if first is None:
                return
            with errors_sent():
                reader = pa.RecordBatchReader.from_batches(schema, chain([first], arrived))
                yield from working.rows_of(reader, shared.span)
            context = TaskContext.get()
            reports.add((number, context.partitionId() if context else 0), working.report())

        return Stage(placed, body)

    def _wanted(self, plans: tuple[QueryPlan, ...], shared: TaskInput) -> DataFrame:
        """The events whose type matters to a query; those without a time or type too, which are refused later."""
        events, kind, types = self.events, shared.schema.type, types_read(plans)
        if kind is None or types is None:
            return events
        column, time = col(quoted(kind)), col(quoted(shared.schema.time))
        return events.where(
            column.isin([lit(name) for name in sorted(types)]) | column.isNull() | time.isNull()
        )
