"""Partitions, group keys and the windows that hold an event."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core import EventSchema, run
from hamlet_core.engines.partitions import group_key, windows
from hamlet_core.windows import WindowSpec

GROUPED = "RETURN COUNT(*) PATTERN A GROUP-BY g WITHIN 10 s"


def keys(values, kind=None, text=GROUPED):
    table = pa.table({"time": [1] * len(values), "type": ["A"] * len(values), "g": pa.array(values, kind)})
    return {row["group_key"]: row["value"] for row in run(text, table).to_pylist()}


GROUPS = {
    "text": (["a", "b", "a"], None, {'{"g":"a"}': 2, '{"g":"b"}': 1}),
    "text that needs escapes": (
        ['q"uo\\te', "line\n"],
        None,
        {'{"g":"q\\"uo\\\\te"}': 1, '{"g":"line\\n"}': 1},
    ),
    "text beyond ASCII": (
        ["Žluťoučký", "北京", "🚕"],
        None,
        {'{"g":"Žluťoučký"}': 1, '{"g":"北京"}': 1, '{"g":"🚕"}': 1},
    ),
    "NULL is a group": (["a", None, None], None, {'{"g":"a"}': 1, '{"g":null}': 2}),
    "the text null is another group": (["null", None], None, {'{"g":"null"}': 1, '{"g":null}': 1}),
    "integers": ([1, -2, 2**62], None, {'{"g":1}': 1, '{"g":-2}': 1, f'{{"g":{2**62}}}': 1}),
    "doubles": ([0.1, 1e300], None, {'{"g":0.1}': 1, '{"g":1e+300}': 1}),
    "both zeros": ([-0.0, 0.0, -0.0], None, {'{"g":0.0}': 3}),
    "booleans": ([True, False], None, {'{"g":true}': 1, '{"g":false}': 1}),
    "decimals": (
        [Decimal("1.50"), Decimal("-0.05")],
        pa.decimal128(9, 2),
        {'{"g":"1.50"}': 1, '{"g":"-0.05"}': 1},
    ),
    "large decimals": ([Decimal("1e25")], pa.decimal128(30, 0), {'{"g":"10000000000000000000000000"}': 1}),
    "timestamps": (
        [datetime(2015, 1, 1, 8, tzinfo=UTC), datetime(2015, 1, 1, 8, 0, 0, 5, tzinfo=UTC)],
        pa.timestamp("us", "UTC"),
        {'{"g":"2015-01-01T08:00:00Z"}': 1, '{"g":"2015-01-01T08:00:00.000005Z"}': 1},
    ),
    "timestamps without a zone": (
        [datetime(1969, 12, 31, 23, 59, tzinfo=UTC)],
        pa.timestamp("ms"),
        {'{"g":"1969-12-31T23:59:00Z"}': 1},
    ),
    "dates": ([date(2015, 1, 31)], None, {'{"g":"2015-01-31T00:00:00Z"}': 1}),
    "timestamps beyond the year 9999": (
        [2**60],
        pa.timestamp("us"),
        {'{"g":"+38504-08-17T21:30:06.846976Z"}': 1},
    ),
    "a column of NULL": ([None, None], pa.null(), {'{"g":null}': 2}),
}


@pytest.mark.parametrize("name", GROUPS)
def test_group_keys(name):
    values, kind, expected = GROUPS[name]
    assert keys(values, kind) == expected


@given(st.dictionaries(st.text(max_size=5), st.none() | st.text(max_size=9) | st.integers() | st.booleans()))
def test_a_group_key_is_json_with_sorted_keys_and_without_spaces(values):
    text = group_key(values)
    assert json.loads(text) == values
    assert text == json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def test_several_group_by_attributes_stand_in_order_of_their_names():
    table = pa.table({"time": [1], "type": ["A"], "z": [1], "b": ["x"]})
    rows = run("RETURN COUNT(*) PATTERN A GROUP-BY z, A.b WITHIN 10 s", table).to_pylist()
    assert [row["group_key"] for row in rows] == ['{"b":"x","z":1}']


def test_without_group_by_there_is_one_group():
    table = pa.table({"time": [1], "type": ["A"]})
    assert run("RETURN COUNT(*) PATTERN A WITHIN 10 s", table)["group_key"].to_pylist() == ["{}"]


def test_a_null_equivalence_attribute_belongs_nowhere_and_negates_nothing():
    table = pa.table({"time": [1, 2, 3, 3, 4], "type": list("ANABB"), "e": [1, None, None, 1, None]})
    text = "RETURN COUNT(*) PATTERN SEQ(A, NOT N, B) WHERE [e] WITHIN 10 s"
    assert run(text, table)["value"].to_pylist() == [1.0]


def test_a_null_in_group_by_negates_in_its_own_group():
    table = pa.table({"time": [1, 2, 3, 1, 3], "type": list("ANBAB"), "g": [None, None, None, 1, 1]})
    text = "RETURN COUNT(*) PATTERN SEQ(A, NOT N, B) GROUP-BY g WITHIN 10 s"
    rows = run(text, table).to_pylist()
    assert [(row["group_key"], row["value"]) for row in rows] == [('{"g":1}', 1.0)]


@given(
    st.lists(st.integers(-60, 60), max_size=12).map(sorted),
    st.integers(1, 20),
    st.integers(1, 20),
    st.integers(-30, 30),
)
def test_windows_are_those_that_hold_a_time_each_once(times, within, slide, origin):
    spec = WindowSpec(within, slide, origin)
    found = {index: times[first:last] for index, first, last in windows(spec, times)}
    assert len(found) == len(list(windows(spec, times)))
    for index in range(-100, 200):
        start = origin + index * slide
        inside = [time for time in times if start <= time < start + within]
        assert found.get(index, []) == inside


def starts(times, text, schema=EventSchema()):
    table = pa.table({"time": times, "type": ["A"] * len(times)})
    rows = run(text, table, schema=schema)
    return rows["window_start"].to_pylist(), rows["window_end"].to_pylist()


def test_negative_times():
    text = "RETURN COUNT(*) PATTERN A WITHIN 10 s SLIDE 5 s"
    assert starts([-1, -10], text) == ([-15, -10, -5], [-5, 0, 5])


def test_integer_windows_are_in_the_unit_of_the_time():
    text = "RETURN COUNT(*) PATTERN A WITHIN 2 h"
    assert starts([5], text, EventSchema(time_unit="h", origin=1)) == ([5], [7])
    assert starts([301], text, EventSchema(time_unit="min")) == ([240], [360])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamp_windows_are_microseconds_in_utc(unit):
    at = datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)
    table = pa.table({"time": pa.array([at], pa.timestamp(unit, "Europe/Prague")), "type": ["A"]})
    rows = run("RETURN COUNT(*) PATTERN A WITHIN 1 min", table)
    assert rows.schema.field("window_start").type == pa.timestamp("us", "UTC")
    assert rows["window_start"].to_pylist() == [datetime(1969, 12, 31, 23, 59, tzinfo=UTC)]
    assert rows["window_end"].to_pylist() == [datetime(1970, 1, 1, tzinfo=UTC)]


def test_date_windows_begin_at_midnight_and_origins_move_them():
    table = pa.table({"time": [date(2015, 1, 5)], "type": ["A"]})
    text = "RETURN COUNT(*) PATTERN A WITHIN 7 d"
    monday = EventSchema(origin=date(2015, 1, 5))
    rows = run(text, table, schema=monday)
    assert rows["window_start"].to_pylist() == [datetime(2015, 1, 5, tzinfo=UTC)]
    # 1 January 1970 was a Thursday.
    assert run(text, table)["window_start"].to_pylist() == [datetime(2015, 1, 1, tzinfo=UTC)]
