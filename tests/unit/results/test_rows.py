"""Result rows: columns, order, and the numbers of each aggregate in each arithmetic."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from math import log2

import pyarrow as pa
import pytest

from hamlet_core import EventSchema, merge_partials, partials, result_schema, run
from hamlet_core.algebra.arithmetic import PRIME

ALL = ("exact", "scaled", "modular")


def table(**columns):
    size = len(next(iter(columns.values())))
    return pa.table({"time": range(size), "type": ["B"] * size, **columns})


def shown(aggregates, arithmetic, events, pattern="B b+"):
    rows = run(f"RETURN {aggregates} PATTERN {pattern} WITHIN 1000 s", events, arithmetic=arithmetic)
    return {row["aggregate"]: row for row in rows.to_pylist()}


def numbers(row):
    return tuple(row[name] for name in ("value", "sign", "log2", "exact", "fingerprint"))


@pytest.mark.parametrize("kind", [pa.int64(), pa.timestamp("us", "UTC")])
def test_columns(kind):
    schema = result_schema(kind)
    assert schema.names == [
        "query", "window_start", "window_end", "group_key", "aggregate",
        "value", "sign", "log2", "exact", "fingerprint",
    ]  # fmt: skip
    assert [str(one) for one in schema.types[3:]] == [
        "string",
        "string",
        "double",
        "int8",
        "double",
        "string",
        "int64",
    ]
    assert schema.field("window_start").type == schema.field("window_end").type == kind


@pytest.mark.parametrize("arithmetic", ALL)
def test_a_run_without_a_trend_has_the_columns_and_no_row(arithmetic):
    found = run("RETURN COUNT(*) PATTERN X WITHIN 10 s", table(v=[1]), arithmetic=arithmetic)
    assert found.num_rows == 0
    assert found.schema == result_schema(pa.int64())
    times = pa.table({"time": pa.array([], pa.timestamp("s")), "type": pa.array([], pa.string())})
    assert run("RETURN COUNT(*) PATTERN X WITHIN 10 s", times).schema == result_schema(
        pa.timestamp("us", "UTC")
    )


def test_rows_stand_in_the_order_of_text_window_group_and_return():
    events = pa.table(
        {"time": [15, 5, -5, 5], "type": ["A"] * 4, "g": ["x", "y", "x", "x"], "v": [1, 2, 3, 4]}
    )
    text = """
        zebra: RETURN MAX(a.v), COUNT(*) PATTERN A a GROUP-BY g WITHIN 10 s
        ant: RETURN COUNT(a), COUNT(*) PATTERN A a WITHIN 10 s
    """
    rows = run(text, events).to_pylist()
    assert [(row["query"], row["window_start"], row["group_key"], row["aggregate"]) for row in rows] == [
        ("zebra", -10, '{"g":"x"}', "MAX(a.v)"),
        ("zebra", -10, '{"g":"x"}', "COUNT(*)"),
        ("zebra", 0, '{"g":"x"}', "MAX(a.v)"),
        ("zebra", 0, '{"g":"x"}', "COUNT(*)"),
        ("zebra", 0, '{"g":"y"}', "MAX(a.v)"),
        ("zebra", 0, '{"g":"y"}', "COUNT(*)"),
        ("zebra", 10, '{"g":"x"}', "MAX(a.v)"),
        ("zebra", 10, '{"g":"x"}', "COUNT(*)"),
        ("ant", -10, "{}", "COUNT(a)"),
        ("ant", -10, "{}", "COUNT(*)"),
        ("ant", 0, "{}", "COUNT(a)"),
        ("ant", 0, "{}", "COUNT(*)"),
        ("ant", 10, "{}", "COUNT(a)"),
        ("ant", 10, "{}", "COUNT(*)"),
    ]  # fmt: skip


def test_windows_are_sorted_as_numbers_not_as_text():
    events = pa.table({"time": [100, 20, -30], "type": ["A"] * 3})
    assert run("RETURN COUNT(*) PATTERN A WITHIN 10 s", events)["window_start"].to_pylist() == [-30, 20, 100]


def test_labels_are_canonical_and_keep_the_alias_as_written():
    found = shown("count( * ), sum(B . v), Avg(b.v)", "scaled", table(v=[1]), "B b")
    assert list(found) == ["COUNT(*)", "SUM(B.v)", "AVG(b.v)"]


@pytest.mark.parametrize("arithmetic", ALL)
def test_integers(arithmetic):
    found = shown(
        "COUNT(*), COUNT(b), SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.v)", arithmetic, table(v=[3, -4, None])
    )
    true = {
        "COUNT(*)": 7,
        "COUNT(b)": 12,
        "SUM(b.v)": -4,
        "AVG(b.v)": Fraction(-1, 2),
        "MIN(b.v)": -4,
        "MAX(b.v)": 3,
    }
    for label, value in true.items():
        row = found[label]
        sign = 1 if value > 0 else -1
        assert numbers(row)[:2] == (pytest.approx(float(value)), sign)
        assert row["log2"] == pytest.approx(log2(abs(value)))
        assert row["exact"] == (str(value) if arithmetic == "exact" else None)
        counted = arithmetic == "modular" and label[:3] in ("COU", "SUM")
        assert row["fingerprint"] == (value % PRIME if counted else None)


@pytest.mark.parametrize("arithmetic", ALL)
def test_of_nothing_a_sum_is_zero_and_the_rest_is_null(arithmetic):
    events = table(v=pa.array([None, None], pa.int64()))
    found = shown("SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.v), COUNT(b)", arithmetic, events)
    zero = {"exact": "0", "scaled": None, "modular": None}[arithmetic]
    assert numbers(found["SUM(b.v)"]) == (0.0, 0, None, zero, 0 if arithmetic == "modular" else None)
    for label in ("AVG(b.v)", "MIN(b.v)", "MAX(b.v)"):
        assert numbers(found[label]) == (None, None, None, None, None)
    assert found["COUNT(b)"]["value"] == 4.0


@pytest.mark.parametrize("arithmetic", ALL)
def test_an_alias_of_the_other_branch_adds_nothing(arithmetic):
    events = pa.table({"time": [1, 2], "type": ["A", "A"], "v": [5, 7]})
    found = shown("COUNT(*), COUNT(b), SUM(b.v), AVG(b.v), MAX(a.v)", arithmetic, events, "(A a OR B b)")
    assert [row["value"] for row in found.values()] == [2.0, 0.0, 0.0, None, 7.0]
    assert found["COUNT(b)"]["sign"] == 0


@pytest.mark.parametrize("arithmetic", ["scaled", "modular"])
def test_where_a_sum_cancels_its_sign_is_unknown(arithmetic):
    row = shown("SUM(b.v)", arithmetic, table(v=[10**15, -(10**15)]))["SUM(b.v)"]
    assert row["sign"] is None
    assert abs(row["value"]) <= 1e-9 * 4 * 10**15
    row = shown("SUM(b.v)", arithmetic, table(v=[10**15, 1 - 10**15]))["SUM(b.v)"]
    assert row["sign"] is None
    assert shown("AVG(b.v)", arithmetic, table(v=[10**15, 1 - 10**15]))["AVG(b.v)"]["sign"] is None


def test_exact_knows_the_sign_where_scaled_does_not():
    row = shown("SUM(b.v)", "exact", table(v=[10**15, 1 - 10**15]))["SUM(b.v)"]
    assert numbers(row) == (2.0, 1, 1.0, "2", None)
    row = shown("SUM(b.v)", "exact", table(v=[10**15, -(10**15)]))["SUM(b.v)"]
    assert numbers(row) == (0.0, 0, None, "0", None)


@pytest.mark.parametrize("arithmetic", ALL)
def test_a_sum_of_zeros_is_surely_zero(arithmetic):
    row = shown("SUM(b.v)", arithmetic, table(v=[0, 0]))["SUM(b.v)"]
    assert (row["value"], row["sign"], row["log2"]) == (0.0, 0, None)


@pytest.mark.parametrize("arithmetic", ALL)
def test_decimals_keep_the_scale_of_the_column(arithmetic):
    values = pa.array([Decimal("1.50"), Decimal("-0.25"), None], pa.decimal128(20, 2))
    found = shown("SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.v)", arithmetic, table(v=values))
    exact = [row["exact"] for row in found.values()]
    assert exact == (["5.00", "5/8", "-0.25", "1.50"] if arithmetic == "exact" else [None] * 4)
    assert [row["value"] for row in found.values()] == pytest.approx([5.0, 0.625, -0.25, 1.5])
    assert found["SUM(b.v)"]["fingerprint"] == (500 if arithmetic == "modular" else None)
    assert found["MAX(b.v)"]["fingerprint"] is None


@pytest.mark.parametrize("arithmetic", ALL)
def test_doubles_have_a_value_and_no_digits(arithmetic):
    values = [0.1, -2.5e-7, 3e10, 1e-30]
    found = shown("SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.v)", arithmetic, table(v=values))
    total = sum(map(Fraction, values)) * 8
    assert found["SUM(b.v)"]["value"] == pytest.approx(float(total), rel=1e-9)
    assert found["AVG(b.v)"]["value"] == pytest.approx(float(total / 32), rel=1e-9)
    exact = [row["exact"] for row in found.values()]
    assert exact == ([None, None, "-2.5e-07", "30000000000.0"] if arithmetic == "exact" else [None] * 4)
    assert {row["fingerprint"] for row in found.values()} == {None}


def test_rows_of_zeros_may_come_in_any_order():
    text = "RETURN MIN(b.v) PATTERN B b WITHIN 10 s"
    for values in ([0.0, -0.0], [-0.0, 0.0]):
        assert run(text, table(v=values), arithmetic="exact")["exact"].to_pylist() == ["0.0"]


@pytest.mark.parametrize("arithmetic", ALL)
def test_beyond_the_double_range(arithmetic):
    text = "RETURN COUNT(*), SUM(b.v), AVG(b.v) PATTERN B b+ WITHIN 2000 s"
    rows = run(text, table(v=[3] * 1999 + [-3]), arithmetic=arithmetic).to_pylist()
    count, total, average = rows
    true = 3 * 1998 * 2**1999
    assert (count["value"], count["sign"], count["log2"]) == (None, 1, pytest.approx(2000, abs=1e-9))
    assert (total["value"], total["sign"]) == (None, 1)
    assert total["log2"] == pytest.approx(1999 + log2(3 * 1998), abs=1e-9)
    assert total["exact"] == (str(true) if arithmetic == "exact" else None)
    assert total["fingerprint"] == (true % PRIME if arithmetic == "modular" else None)
    assert average["value"] == pytest.approx(3 * 1998 / 2000 / (1 - 2.0**-2000), rel=1e-9)


@pytest.mark.parametrize("arithmetic", ALL)
def test_integer_time_is_a_number_to_aggregates(arithmetic):
    found = shown("SUM(b.time), MAX(b.time)", arithmetic, table(v=[1, 2, 3]))
    assert [row["value"] for row in found.values()] == [12.0, 2.0]


def test_a_column_named_time_or_type_wins():
    events = pa.table({"t": [1, 2], "kind": ["A", "A"], "time": [10, 20], "type": ["x", "y"]})
    schema = EventSchema(time="t", type="kind")
    text = "RETURN SUM(a.time) PATTERN A a WHERE a.type = 'y' WITHIN 10 s"
    assert run(text, events, schema=schema)["value"].to_pylist() == [20.0]
    bare = events.drop_columns(["time", "type"])
    text = "RETURN SUM(a.time) PATTERN A a WHERE a.type = 'A' WITHIN 10 s"
    assert run(text, bare, schema=schema)["value"].to_pylist() == [3.0]


@pytest.mark.parametrize("arithmetic", ALL)
def test_average_is_over_what_is_there_not_over_trends(arithmetic):
    row = shown("AVG(b.v)", arithmetic, table(v=[4, None]))["AVG(b.v)"]
    # Three trends; 4 stands in two of them.
    assert row["value"] == 4.0


def test_partial_rows_survive_the_way_through_a_file(tmp_path):
    from pyarrow import parquet

    text = "RETURN SUM(b.v) PATTERN B b+ WHERE [e] WITHIN 10 s"
    events = table(v=[Decimal("0.5"), Decimal("1.5")], e=["x", "y"])
    parquet.write_table(partials(text, events, arithmetic="exact"), tmp_path / "partials.parquet")
    read = parquet.read_table(tmp_path / "partials.parquet")
    merged = merge_partials(text, read, time_type=pa.int64(), arithmetic="exact")
    assert merged == run(text, events, arithmetic="exact")
    assert merged["exact"].to_pylist() == ["2.0"]


def test_merged_timestamps_are_timestamps():
    at = pa.array([datetime(2015, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    events = pa.table({"time": at, "type": ["B"]})
    text = "RETURN COUNT(*) PATTERN B WITHIN 1 h"
    rows = partials(text, events)
    assert rows["window_start"].to_pylist() == [1_420_070_400_000_000]
    merged = merge_partials(text, rows, time_type=pa.timestamp("us", "UTC"))
    assert merged == run(text, events)
