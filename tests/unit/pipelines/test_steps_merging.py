"""Partial rows to rows of the table: windows as timestamps, days, labels; and comparing rows; no JVM."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from hamlet_core import parse, partials
from pipelines.checks.differences import Problem, close, differences
from pipelines.checks.raw_events import group_of_key, key_of_group
from pipelines.checks.rules import cell
from pipelines.checks.sampling import from_results, scramble
from pipelines.steps.merging import RESULT_SCHEMA, Labels, MergeInput, result_rows

TEXT = "q: RETURN g, COUNT(*) PATTERN A GROUP-BY g WITHIN 1 min"
EVENTS = pa.table({"time": [-61, -1, 0, 59], "type": ["A"] * 4, "g": ["x", "x", "y", "x"]})


def merged(events: pa.Table = EVENTS, final_until: datetime | None = None) -> list[dict[str, object]]:
    merge = MergeInput(
        parse(TEXT), pa.int64(), "exact", 1_000_000, final_until, Labels("w", "hash", "run", 3)
    )
    rows = result_rows(partials(TEXT, events, arithmetic="exact"), merge)
    assert rows.schema == RESULT_SCHEMA
    return rows.to_pylist()


def test_windows_are_timestamps_and_belong_to_the_day_of_their_last_microsecond():
    rows = merged()
    assert [(row["window_start"].isoformat(), row["window_end"].isoformat(), row["day"]) for row in rows] == [
        ("1969-12-31T23:58:00+00:00", "1969-12-31T23:59:00+00:00", date(1969, 12, 31)),
        ("1969-12-31T23:59:00+00:00", "1970-01-01T00:00:00+00:00", date(1969, 12, 31)),
        ("1970-01-01T00:00:00+00:00", "1970-01-01T00:01:00+00:00", date(1970, 1, 1)),
        ("1970-01-01T00:00:00+00:00", "1970-01-01T00:01:00+00:00", date(1970, 1, 1)),
    ]
    assert {
        (row["workload"], row["workload_hash"], row["run_id"], row["events_version"]) for row in rows
    } == {("w", "hash", "run", 3)}


def test_partial_rows_of_several_tasks_add_up():
    tasks = [partials(TEXT, EVENTS.slice(start, 2), arithmetic="exact") for start in (0, 2)]
    merge = MergeInput(parse(TEXT), pa.int64(), "exact", 1_000_000, None, Labels("w", "hash", "run", 3))
    assert result_rows(pa.concat_tables(tasks), merge).to_pylist() == merged()
    twice = result_rows(pa.concat_tables([tasks[0], tasks[0]]), merge).to_pylist()
    assert [row["exact"] for row in twice] == ["2", "2"]


def test_windows_that_are_not_final_are_left_out():
    rows = merged(final_until=datetime(1970, 1, 1, tzinfo=UTC))
    assert max(row["window_end"] for row in rows) == datetime(1970, 1, 1, tzinfo=UTC)
    assert len(rows) == 2


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
        ({"window_end": datetime(2000, 1, 1, tzinfo=UTC)}, "window_end"),
    ],
)
def test_every_column_of_a_wrong_row_is_named(change, column):
    stored = merged()
    stored[1] = {**stored[1], **change}
    (found,) = differences(stored, merged())
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


def test_only_a_cancelled_sum_may_withhold_its_sign():
    row = {**merged()[0], "aggregate": "SUM(a.v)", "value": 1e-20}
    assert differences([{**row, "sign": None}], [row]) == ()
    assert differences([{**row, "sign": -1}], [row]) != ()


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
