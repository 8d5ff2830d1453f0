"""Partial rows to rows of the table: windows as timestamps, days, labels; and comparing rows; no JVM."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hamlet_core import EventSchema, QueryMeaningError, merge_partials, parse, partials, plan, run
from pipelines.checks.differences import Problem, close, differences
from pipelines.checks.raw_events import group_of_key, key_of_group
from pipelines.checks.rules import cell
from pipelines.checks.sampling import from_results, scramble
from pipelines.settings import ExecuteOptions
from pipelines.spans import Partition, Span
from pipelines.steps.execution.merging import RESULT_SCHEMA, Labels, labelled, merged_rows
from pipelines.steps.execution.task_rows import (
    TASK_SCHEMA,
    TaskError,
    TaskInput,
    Working,
    errors_received,
    errors_sent,
)
from resources.storage import WarehouseError

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


OVER_TRENDS = """
q: RETURN COUNT(*), REACH(a), REACH(b), COUNT(PARTITIONS), COUNT(DISJOINT), SUM(DURATION), AVG(DURATION), MIN(DURATION), MAX(DURATION),
          SUM(b.v), MAX(b.v)
   PATTERN SEQ(A a, B b+) SEMANTICS {mode} WHERE [k] WITHIN 10 s
"""


@pytest.mark.parametrize("engines", [("hamlet", "hamlet"), ("hamlet", "greta"), ("greta", "hamlet")])
@pytest.mark.parametrize("mode", ["any", "next", "contiguous"])
@pytest.mark.parametrize("arithmetic", ["scaled", "exact", "modular"])
@pytest.mark.parametrize("unit", [None, "us"])
def test_what_tasks_have_of_partitions_and_durations_adds_up(arithmetic, mode, engines, unit):
    """A task may fold with kernels what another one leaves to the reference, where numbers are large."""
    times = pa.array([1, 2, 3, 4, 5, 12, 13, 15, 22])
    if unit:
        times = pa.array([2_500_000 * time // 2 - 250_000 for time in times.to_pylist()]).cast(
            pa.timestamp(unit, "UTC")
        )
    events = pa.table(
        {
            "time": times,
            "type": list("AABCBABBA"),
            "k": list("xyxyyxyxz"),
            "v": [None, 2, 3, 4, 5, 6, 7, None, 9],
        }
    )
    text = OVER_TRENDS.format(mode=mode)
    parts = [
        partials(
            text,
            events.filter(pc.is_in(events["k"], pa.array(list(keys)))),
            engine=engine,
            arithmetic=arithmetic,
        )
        for keys, engine in zip(("x", "yz"), engines, strict=True)
    ]
    time_type = pa.int64() if unit is None else pa.timestamp("us", "UTC")
    found = merge_partials(text, pa.concat_tables(parts), time_type=time_type, arithmetic=arithmetic)
    whole = run(text, events, engine="greta", arithmetic=arithmetic)
    digits = {"exact": "exact", "modular": "fingerprint"}.get(arithmetic)
    assert found.num_rows == whole.num_rows > 0
    assert differences(found.to_pylist(), whole.to_pylist(), digits) == ()


LABELS = Labels("w", "h", "run", 3)
SECOND = 1_000_000


def bounds(start: int, end: int) -> pa.RecordBatch:
    row = {"query": "q", "window_start": start, "window_end": end, "group_key": "{}", "aggregate": "COUNT(*)"}
    return pa.RecordBatch.from_pylist([row], schema=TASK_SCHEMA)


@pytest.mark.parametrize(
    ("start", "end", "day"),
    [(0, 86_400, date(1970, 1, 1)), (-1, 0, date(1969, 12, 31)), (0, 86_401, date(1970, 1, 2))],
)
def test_a_result_belongs_to_the_day_in_which_its_window_ends(start, end, day):
    (row,) = labelled(bounds(start, end), LABELS, SECOND).to_pylist()
    assert (row["day"], row["workload"], row["workload_hash"], row["run_id"], row["events_version"]) == (
        day, "w", "h", "run", 3,
    )  # fmt: skip
    assert row["window_end"] == datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=end)


@pytest.mark.parametrize("unit", [1, SECOND, 86_400 * SECOND])
def test_windows_beyond_the_years_of_the_tables_are_refused(unit):
    low, high = -(62_135_596_800_000_000 // unit), 253_402_300_799_999_999 // unit
    (row,) = labelled(bounds(low, high), LABELS, unit).to_pylist()
    assert (row["window_start"].year, row["window_end"].year) == (1, 9999)
    for start, end in ((low - 1, high), (low, high + 1), (0, 2**62 // unit)):
        with pytest.raises(WarehouseError, match=r"E537.*query q.*years 1 to 9999"):
            labelled(bounds(start, end), LABELS, unit)


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


def test_equal_rows_do_not_differ():
    assert differences(merged(), merged()) == ()


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"value": 1.0 + 1e-8}, "value"),
        ({"value": None}, "value"),
        ({"sign": -1}, "sign"),
        ({"sign": None}, "sign"),
        ({"log2": 0.5}, "log2"),
        ({"exact": "2"}, "exact"),
        ({"fingerprint": 1}, "fingerprint"),
        ({"window_end": 946_684_800}, "window_end"),
    ],
)
def test_every_column_of_a_wrong_row_is_named(change, column):
    stored = merged()
    stored[1] = {**stored[1], **change}
    digits = column if column in ("exact", "fingerprint") else None
    (found,) = differences(stored, merged(), digits)
    assert (found.problem, found.column, found.query, found.group_key) == (
        Problem.DIFFERENT,
        column,
        "q",
        '{"g":"x"}',
    )


def test_missing_surplus_and_doubled_rows_are_found():
    rows = merged()
    assert [one.problem for one in differences(rows[1:], rows)] == [Problem.MISSING]
    assert [one.problem for one in differences(rows, rows[1:])] == [Problem.SURPLUS]
    assert [one.problem for one in differences([*rows, rows[0]], rows)] == [Problem.SURPLUS]


@pytest.mark.parametrize(
    ("stored", "expected", "same"),
    [
        (None, None, True),
        (0.0, None, False),
        (None, 0.0, False),
        (float("nan"), 1.0, False),
        (1e300, 1e300, True),
    ],
)
def test_nothing_equals_only_nothing(stored, expected, same):
    assert close(stored, expected) is same


TYPES = pa.schema(
    [
        ("s", pa.string()),
        ("t", pa.timestamp("us", "UTC")),
        ("d", pa.date32()),
        ("m", pa.decimal128(9, 2)),
        ("n", pa.int64()),
    ]
)


def test_group_keys_stand_for_the_values_of_the_events():
    events = pa.table(
        {
            "time": [1],
            "type": ["A"],
            "s": ['q"é'],
            "t": pa.array([1_500_000], pa.timestamp("us", "UTC")),
            "d": pa.array([1], pa.date32()),
            "m": pa.array([Decimal("-1.50")], pa.decimal128(9, 2)),
            "n": pa.array([None], pa.int64()),
        }
    )
    names = ", ".join(TYPES.names)
    rows = partials(f"RETURN COUNT(*) PATTERN A GROUP-BY {names} WITHIN 1 min", events)
    key = rows.column("group_key")[0].as_py()
    group = group_of_key(key, TYPES)
    assert dict(group) == events.select(TYPES.names).to_pylist()[0]
    assert key_of_group(group) == key


def test_the_sample_is_the_same_each_time_and_of_the_size_asked_for():
    rows = pa.Table.from_pylist(
        [
            {
                "query": "q",
                "window_start": datetime(2026, 1, day, tzinfo=UTC),
                "window_end": None,
                "group_key": "{}",
            }
            for day in range(1, 29)
        ],
        schema=RESULT_SCHEMA,
    )
    chosen = from_results(rows, pa.schema([]), 5)
    assert len(set(chosen)) == 5
    assert chosen == from_results(rows.take(list(reversed(range(28)))), pa.schema([]), 5)


def test_scrambling_keeps_numbers_apart():
    import numpy as np

    numbers = scramble(np.arange(1000, dtype=np.uint64))
    assert len(set(numbers.tolist())) == 1000


def test_a_cell_of_a_page_holds_its_text_whatever_is_in_it():
    assert cell("a|b\n<script>\\") == "a\\|b &lt;script>\\\\"
