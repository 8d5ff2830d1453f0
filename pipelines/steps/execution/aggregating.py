"""Trend aggregates of any Spark frame of events, for people with their own orchestration: a frame in, a frame out."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructField

from hamlet_core import EventSchema, Workload, parse, plan, result_schema
from hamlet_core.engines.registry import DEFAULT_ENGINE
from hamlet_core.errors import StreamError
from pipelines.settings import ExecuteOptions
from pipelines.steps.execution.frame_events import FrameEvents
from pipelines.steps.execution.merging import merged, with_timestamps
from pipelines.steps.execution.stages import together
from pipelines.steps.execution.task_rows import Reports, TaskInput, columns_read, refuse_what_cannot_fit


def trend_aggregates(
    events: DataFrame,
    workload: str | Workload,
    *,
    schema: EventSchema = EventSchema(),
    arithmetic: str = "scaled",
    policy: str = "dynamic",
    engine: str = DEFAULT_ENGINE,
    cost_model: str = "measured",
    choice: str = "guarded",
    optimizer: str = "auto",
) -> DataFrame:
    """The rows of `hamlet_core.run` as a lazy frame: window bounds are BIGINT for integer times, else TIMESTAMP.

    Only the columns and types that the queries read are shuffled: once for all queries that partition by a common key,
    and a key that is NULL is one. A task holds those columns of its share of the keys (all events, for queries without
    a key). Raises QuerySyntaxError, QueryMeaningError and StreamError as `run` where the columns do not fit; bad
    values (a NULL time, NaN) show when the frame is computed, as an error of Spark that names the same code.
    """
    parsed = parse(workload) if isinstance(workload, str) else workload
    options = ExecuteOptions(engine, policy, cost_model, choice, arithmetic, optimizer=optimizer)
    plans = plan(parsed)
    columns = _arrow_columns(events, columns_read(plans, schema, events.columns))
    shared = TaskInput(parsed, plans, columns, schema, options)
    refuse_what_cannot_fit(shared)
    context = events.sparkSession.sparkContext
    reports = Reports.on(context, decisions=False)
    stages, partial = FrameEvents(events, 2 * context.defaultParallelism).stages(shared, reports)
    rows = together([merged(stages, parsed, arithmetic)] if partial else stages)
    if not pa.types.is_integer(columns.field(schema.time).type):
        rows = with_timestamps(rows, 1)
    return rows.select(*result_schema(pa.int64()).names)


def _arrow_columns(events: DataFrame, names: list[str]) -> pa.Schema:
    """The columns of these names as tasks will see them; those that are missing are left out here."""
    insensitive = events.sparkSession.conf.get("spark.sql.caseSensitive") != "true"
    spelt = Counter(name.lower() if insensitive else name for name in events.columns)
    found = [field for field in events.schema.fields if field.name in names]
    for field in found:
        if spelt[field.name.lower() if insensitive else field.name] > 1:
            raise StreamError(
                f"the frame has several columns named {field.name!r}"
                + (", upper and lower case aside" if insensitive else ""),
                code="E208",
                hint="rename all but one",
            )
    return pa.schema([pa.field(field.name, _arrow_type(field)) for field in found])


def _arrow_type(field: StructField) -> pa.DataType:
    """The Arrow type of a column; what Arrow does not have cannot be read by a query either."""
    try:
        return to_arrow_type(field.dataType, timezone="UTC")
    except PySparkTypeError as unknown:
        raise StreamError(
            f"column {field.name!r} is of type {field.dataType.simpleString()}: queries know numbers, text, booleans, "
            "times and durations",
            code="E203",
            hint="cast it, or take the part you need into a column of its own",
        ) from unknown
