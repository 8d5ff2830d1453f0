"""A hot bucket in pieces of time: every window in exactly one, tumbling windows' events in no two; no JVM."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core import EventSchema, parse, plan
from hamlet_core.windows import WindowSpec
from pipelines.settings import ExecuteOptions
from pipelines.spans import Partition, Span, microseconds
from pipelines.steps.execution.cutting import cut, events_between, files_read
from pipelines.steps.execution.file_tasks import file_tasks
from pipelines.steps.execution.task_rows import TaskInput
from pipelines.steps.layout import Layout
from resources.warehouse import DataFile

MINUTE = timedelta(minutes=1)
START = datetime(2026, 1, 5, 0, 0, 30, tzinfo=UTC)


def file(rows: int, start: datetime = START, minutes: int = 60, bucket: int = 0) -> DataFile:
    end = start + minutes * MINUTE
    place = {"bucket": str(bucket), "day": "2026-01-05"}
    return DataFile(f"/w/{bucket}/{start:%H%M}", rows, 1, place, first=start, last=end)


def text(within: int = 5, slide: int | None = None) -> str:
    return f"q: RETURN k, COUNT(*) PATTERN A GROUP-BY k WITHIN {within} min SLIDE {slide or within} min"


@given(
    st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 90), st.integers(0, 90)), min_size=1, max_size=5),
    st.tuples(st.integers(1, 9), st.integers(1, 12)),
    st.integers(1, 500),
    st.integers(-10_000_000, 10_000_000),
    st.booleans(),
)
def test_every_window_is_in_one_span_and_all_are_in_order(files, window, share, origin, bounded):
    plans = plan(text(*window))
    span = Span((Partition("p", START + 7 * MINUTE, START + 40 * MINUTE),)) if bounded else Span()
    found = cut(
        [file(rows, START + shift * MINUTE, length) for rows, shift, length in files],
        plans,
        span,
        origin,
        share,
    )
    assert (found[0].after, found[-1].until) == (span.after, span.until)
    assert [one.until for one in found[:-1]] == [one.after for one in found[1:]]
    inner = [one.until for one in found[:-1]]
    assert inner == sorted(set(inner))
    assert len(found) <= -(-sum(rows for rows, _, _ in files) // share)


def test_spans_of_tumbling_windows_read_no_event_twice():
    plans = plan(text())
    spans = cut([file(1000)], plans, Span(), 0, 300)
    bounds = [span.reads([(plan.within, plan.slide) for plan in plans], 0) for span in spans]
    assert len(spans) == 4
    assert [end for _, end in bounds[:-1]] == [start for start, _ in bounds[1:]]
    assert bounds[0][0] is None
    assert bounds[-1][1] is None
    spec = WindowSpec(plans[0].within, plans[0].slide)
    assert all((microseconds(span.until) - spec.within) % spec.slide == 0 for span in spans[:-1])
    assert sum(events_between([file(1000)], span) for span in spans) == pytest.approx(1000, abs=5)


def test_cuts_follow_the_events_and_not_the_clock():
    crowded, calm = file(900, START, 30), file(100, START + 30 * MINUTE, 30)
    first, second = cut([crowded, calm], plan(text(2)), Span(), 0, 500)
    assert first.until == START.replace(second=0) + 18 * MINUTE
    assert files_read([crowded, calm], plan(text(2)), first, 0) == (crowded,)
    assert files_read([crowded, calm], plan(text(2)), second, 0) == (crowded, calm)


def test_nothing_is_cut_below_the_longest_window():
    assert len(cut([file(1000)], plan(text(30)), Span(), 0, 10)) == 2
    (whole,) = cut([file(1000)], plan(text(90)), Span(), 0, 10)
    assert (whole.after, whole.until) == (None, None)
    unknown = DataFile("/w/0/x", 1000, 1, {"bucket": "0", "day": "2026-01-05"})
    assert cut([unknown], plan(text()), Span(), 0, 10) == (Span(),)
    assert events_between([unknown], Span()) == 1000


def test_a_hot_bucket_is_many_tasks_and_the_others_are_packed(monkeypatch):
    monkeypatch.setattr("pipelines.steps.execution.file_tasks.LEAST_SHARE", 1)
    table = pa.schema([("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.string())])
    shared = TaskInput(parse(text()), plan(text()), table, EventSchema(), ExecuteOptions())
    files = [file(9000), *(file(250, bucket=number) for number in range(1, 5))]
    tasks = file_tasks(shared, Layout(("k",), 5), files, 4)
    hot = [task for task in tasks if any(one.files == (files[0],) for one in task.pieces)]
    assert len(tasks) == len(hot) == 4
    assert max(sum(piece.rows for piece in task.pieces) for task in tasks) < 1.3 * 10_000 / 4


def test_no_task_holds_more_than_so_many_events_at_a_time(monkeypatch):
    monkeypatch.setattr("pipelines.steps.execution.file_tasks.LEAST_SHARE", 1)
    monkeypatch.setattr("pipelines.steps.execution.file_tasks.MOST_SHARE", 1_000)
    table = pa.schema([("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("k", pa.string())])
    shared = TaskInput(parse(text(2)), plan(text(2)), table, EventSchema(), ExecuteOptions())
    files = [file(6_000, bucket=number) for number in range(4)]
    tasks = file_tasks(shared, Layout(("k",), 4), files, 4)
    assert len(tasks) == 4
    assert all(len(task.pieces) == 6 for task in tasks)
    assert max(piece.rows for task in tasks for piece in task.pieces) < 1_300
    assert sum(piece.rows for task in tasks for piece in task.pieces) == pytest.approx(24_000, abs=50)
    monkeypatch.setattr("pipelines.steps.execution.file_tasks.TASK_EVENTS", 2_000)
    more = file_tasks(shared, Layout(("k",), 4), files, 4)
    assert 11 <= len(more) <= 12
    pieces = [sorted(map(repr, (piece for task in some for piece in task.pieces))) for some in (tasks, more)]
    assert pieces[0] == pieces[1]
    assert max(sum(piece.rows for piece in task.pieces) for task in more) < 3_000
