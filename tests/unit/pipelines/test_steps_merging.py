"""Partial rows to rows of the table: windows as timestamps, days, labels; and comparing rows; no JVM."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from hamlet_core import EventSchema, QueryMeaningError, parse, plan
from pipelines.settings import ExecuteOptions
from pipelines.spans import Partition, Span
from pipelines.steps.merging import merged_rows
from pipelines.steps.task_rows import (
    TASK_SCHEMA,
    TaskError,
    TaskInput,
    Working,
    errors_received,
    errors_sent,
)

TEXT = "q: RETURN g, COUNT(*) PATTERN A GROUP-BY g WITHIN 1 min"
EVENTS = pa.table({"time": [-61, -1, 0, 59], "type": ["A"] * 4, "g": ["x", "x", "y", "x"]})


def task_rows(events: pa.Table, finished: tuple[str, ...] = (), span: Span = Span()) -> pa.Table:
    plans = plan(TEXT)
    options = ExecuteOptions(arithmetic="exact")
    shared = TaskInput(parse(TEXT), plans, events.schema, EventSchema(), options, span)
    working = Working(shared, ("q",), finished)
    found = pa.Table.from_batches(working.rows_of(events, span), TASK_SCHEMA)
    assert (working.report().events, working.report().rows) == (events.num_rows, found.num_rows)
    return found


def merged(events: pa.Table = EVENTS) -> list[dict[str, object]]:
    rows = merged_rows(task_rows(events), parse(TEXT), "exact")
    assert rows.schema == TASK_SCHEMA
    return rows.to_pylist()


def in_order(rows: pa.Table) -> list[dict[str, object]]:
    return sorted(rows.to_pylist(), key=lambda row: (row["window_start"], row["group_key"]))


def test_partial_rows_of_several_tasks_add_up():
    tasks = [task_rows(EVENTS.slice(start, 2)) for start in (0, 2)]
    assert merged_rows(pa.concat_tables(tasks), parse(TEXT), "exact").to_pylist() == merged()
    twice = merged_rows(pa.concat_tables([tasks[0], tasks[0]]), parse(TEXT), "exact").to_pylist()
    assert [row["exact"] for row in twice] == ["2", "2"]


def test_finished_rows_are_what_partial_rows_become_and_pass_the_merge_unchanged():
    finished = task_rows(EVENTS, ("q",))
    assert in_order(finished) == merged()
    both = pa.concat_tables([task_rows(EVENTS.slice(0, 2), ("q",)), task_rows(EVENTS.slice(2, 2))])
    assert in_order(merged_rows(both, parse(TEXT), "exact")) == merged()


@pytest.mark.parametrize("finished", [(), ("q",)])
def test_windows_that_end_outside_the_span_are_left_out(finished):
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    span = Span((Partition("p", epoch - timedelta(minutes=1), epoch),))
    assert [row["window_end"] for row in in_order(task_rows(EVENTS, finished, span))] == [0]


def test_an_error_of_a_task_comes_home_whole():
    error = QueryMeaningError("no such thing", code="E135", line=2, column=3, text="a\nbcd", hint="try")
    with pytest.raises(TaskError) as sent, errors_sent():
        raise error
    with pytest.raises(QueryMeaningError) as received, errors_received():
        raise RuntimeError(f"Job aborted: {sent.value}\n at org.apache.Spark")
    assert vars(received.value) == vars(error)
    with pytest.raises(RuntimeError, match="disk full"), errors_received():
        raise RuntimeError("disk full")
