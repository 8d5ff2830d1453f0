"""Encoding: every Arrow type to plain values, order of time, and what is refused, in words a user can act on."""

from __future__ import annotations

import decimal
import math
import pickle
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core.errors import QueryMeaningError, StreamError
from hamlet_core.table import encode as encoding
from hamlet_core.table.encode import TIME_UNITS, Column, EventSchema, Stream, encode, table_kinds, ticks
from hamlet_core.table.kinds import Kind

AB = frozenset({"A", "B"})


def table(**columns: Any) -> pa.Table:
    count = len(next(iter(columns.values()), [1]))
    return pa.table({"time": list(range(count)), "type": ["A"] * count} | columns)


def encoded(
    events: Any, *columns: str, schema: EventSchema | None = None, types: frozenset[str] = AB
) -> Stream:
    return encode(events, schema or EventSchema(), columns, types)


# --- values --------------------------------------------------------------------------------------


def microseconds(*arguments: int) -> int:
    return (datetime(*arguments, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


DAY = TIME_UNITS["d"]
MOMENT = microseconds(2015, 1, 1, 8)


@pytest.mark.parametrize(
    ("array", "kind", "scale", "values"),
    [
        *[
            (pa.array([1, None, 7], data_type), Kind.INTEGER, 0, [1, None, 7])
            for data_type in (pa.int8(), pa.int16(), pa.int32(), pa.int64())
        ],
        *[
            (pa.array([1, None, 7], data_type), Kind.INTEGER, 0, [1, None, 7])
            for data_type in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
        ],
        (pa.array([2**63 - 1], pa.uint64()), Kind.INTEGER, 0, [2**63 - 1]),
        (pa.array([-(2**63)], pa.int64()), Kind.INTEGER, 0, [-(2**63)]),
        (pa.array(np.array([0.5, -2], np.float16)), Kind.DOUBLE, 0, [0.5, -2.0]),
        (pa.array([0.5, None], pa.float32()), Kind.DOUBLE, 0, [0.5, None]),
        (pa.array([0.1, None], pa.float64()), Kind.DOUBLE, 0, [0.1, None]),
        (
            pa.array([decimal.Decimal("1.50"), None], pa.decimal128(9, 2)),
            Kind.DECIMAL,
            2,
            [decimal.Decimal("1.50"), None],
        ),
        (pa.array([decimal.Decimal(7)], pa.decimal256(60, 0)), Kind.DECIMAL, 0, [decimal.Decimal(7)]),
        (pa.array(["ä", None, ""], pa.string()), Kind.TEXT, 0, ["ä", None, ""]),
        (pa.array(["ä", None], pa.large_string()), Kind.TEXT, 0, ["ä", None]),
        (pa.array(["ä", None], pa.string_view()), Kind.TEXT, 0, ["ä", None]),
        (pa.array(["x", None, "x"]).dictionary_encode(), Kind.TEXT, 0, ["x", None, "x"]),
        (pa.array([5, None, 5]).dictionary_encode(), Kind.INTEGER, 0, [5, None, 5]),
        (
            pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["x", None])),
            Kind.TEXT,
            0,
            ["x", "x", None],
        ),
        (pa.array([True, None, False]), Kind.BOOLEAN, 0, [True, None, False]),
        (pa.array([None, None], pa.null()), Kind.NULL, 0, [None, None]),
        (pa.array([16436, None], pa.date32()), Kind.TIMESTAMP, 0, [microseconds(2015, 1, 1), None]),
        (pa.array([-DAY // 1000], pa.date64()), Kind.TIMESTAMP, 0, [-DAY]),
        (pa.array([-1, None], pa.timestamp("s")), Kind.TIMESTAMP, 0, [-1_000_000, None]),
        (pa.array([-1], pa.timestamp("ms", "UTC")), Kind.TIMESTAMP, 0, [-1_000]),
        (pa.array([MOMENT], pa.timestamp("us", "America/New_York")), Kind.TIMESTAMP, 0, [MOMENT]),
        (pa.array([-7000, None], pa.timestamp("ns")), Kind.TIMESTAMP, 0, [-7, None]),
        (pa.array([2**62], pa.timestamp("us")), Kind.TIMESTAMP, 0, [2**62]),  # beyond Python's year 9999
        (pa.array([90, None], pa.duration("s")), Kind.DURATION, 0, [90_000_000, None]),
        (pa.array([5000], pa.duration("ns")), Kind.DURATION, 0, [5]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_every_usable_type_becomes_plain_values(
    array: pa.Array, kind: Kind, scale: int, values: list[Any]
) -> None:
    events = table(v=array)
    assert table_kinds(events.schema, EventSchema(), ["v"]) == {"v": (kind, scale)}
    column = encoded(events, "v").columns["v"]
    assert column == Column("v", kind, scale, values)
    assert [type(value) for value in column.values] == [type(value) for value in values]


@pytest.mark.parametrize(
    "data_type",
    [
        pa.list_(pa.int64()),
        pa.struct([("x", pa.int64())]),
        pa.map_(pa.string(), pa.int64()),
        pa.binary(),
        pa.time64("us"),
        pa.dictionary(pa.int32(), pa.binary()),
    ],
    ids=str,
)
def test_types_without_predicates_are_refused(data_type: pa.DataType) -> None:
    schema = pa.schema([("time", pa.int64()), ("type", pa.string()), ("v", data_type)])
    for refuse in (
        lambda: table_kinds(schema, EventSchema(), ["v"]),
        lambda: encoded(schema.empty_table(), "v"),
    ):
        with pytest.raises(StreamError) as caught:
            refuse()
        assert caught.value.code == "E203"
        assert f"column 'v' is of type {data_type}" in caught.value.message
        assert caught.value.hint
    assert encoded(schema.empty_table()).times == []  # who does not read it, does not mind it


@pytest.mark.parametrize(
    ("array", "code", "message"),
    [
        (
            pa.array([1.0, float("nan"), None, float("inf"), float("-inf")]),
            "E205",
            "column 'v': NaN or infinite in 3 values, first at row 1, 3, 4 (from 0)",
        ),
        (
            pa.array([float("nan")] * 9, pa.float32()),
            "E205",
            "column 'v': NaN or infinite in 9 values, first at row 0, 1, 2, 3, 4, ... (from 0)",
        ),
        (
            pa.array([1, 2**63], pa.uint64()),
            "E206",
            "column 'v': beyond the range of int64 in 1 value, first at row 1 (from 0)",
        ),
        (
            pa.array([1000, None, -1001], pa.timestamp("ns")),
            "E206",
            "column 'v': finer than a microsecond in 1 value, first at row 2 (from 0)",
        ),
        (
            pa.array([0, 2**60], pa.timestamp("s")),
            "E206",
            "column 'v': beyond the range of microseconds in int64 in 1 value, first at row 1 (from 0)",
        ),
        (
            pa.array([-(2**31)], pa.date32()),
            "E206",
            "column 'v': beyond the range of microseconds in int64 in 1 value, first at row 0 (from 0)",
        ),
        (
            pa.array([-(2**62)], pa.duration("ms")),
            "E206",
            "column 'v': beyond the range of microseconds in int64 in 1 value, first at row 0 (from 0)",
        ),
    ],
)
def test_values_that_do_not_fit_are_counted_and_refused(array: pa.Array, code: str, message: str) -> None:
    with pytest.raises(StreamError) as caught:
        encoded(table(v=array), "v")
    assert (caught.value.code, caught.value.message) == (code, message)
    assert caught.value.hint


def test_row_numbers_are_those_of_the_input_also_beside_rows_that_are_not_kept() -> None:
    events = table(type=["C", "A", "C", "A"], v=[0.0, 1.0, 2.0, float("nan")])
    with pytest.raises(StreamError, match=r"NaN or infinite in 1 value, first at row 3 \(from 0\)"):
        encoded(pa.concat_tables([events]), "v")
    with pytest.raises(StreamError, match=r"in 2 values, first at row 3, 7 \(from 0\)"):
        encoded(pa.concat_tables([events, events]), "v")


def test_bad_values_where_nothing_reads_them_are_no_matter() -> None:
    nan = float("nan")
    events = table(type=["A", "C", "A"], v=[1.0, nan, 2.0], w=[nan, nan, nan])
    assert encoded(events, "v").columns["v"].values == [1.0, 2.0]


# --- order ---------------------------------------------------------------------------------------


def test_rows_come_in_order_of_time_and_ties_as_they_stood() -> None:
    events = table(time=[5, -3, 5, 1, -3], type=["A", "B", "B", "C", "A"], v=["a", "b", "c", "d", "e"])
    stream = encoded(events, "v")
    assert stream.times == [-3, -3, 5, 5]
    assert stream.types == ["B", "A", "A", "B"]
    assert stream.columns["v"].values == ["b", "e", "a", "c"]
    assert stream.rows == [1, 4, 0, 2]


def test_a_sequence_orders_ties_and_stays_a_tie() -> None:
    events = table(time=[1, 1, 0, 1], n=pa.array([3, None, 9, 2], pa.int16()))
    stream = encoded(events, schema=EventSchema(sequence="n"))
    assert stream.rows == [2, 3, 0, 1]
    assert stream.times == [0, 1, 1, 1]


def test_sorted_input_costs_no_sort(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("sorted")

    monkeypatch.setattr(np, "argsort", refuse)
    assert encoded(table(time=[1, 1, 2])).rows == [0, 1, 2]
    with pytest.raises(AssertionError, match="sorted"):
        encoded(table(time=[2, 1]))


def test_what_is_kept_whole_is_not_copied() -> None:
    """The arrays are views, read-only like every array of a stream, and lists are made from them when asked for."""
    times, kinds = pa.array([1, 1, 2]), pa.array(["B", "A", "B"]).dictionary_encode()
    values = pa.array([5, 6, 7])
    stream = encoded(table(time=times, type=kinds, v=values), "v")
    assert stream.time.ctypes.data == times.buffers()[1].address
    assert stream.type_codes.ctypes.data == kinds.indices.buffers()[1].address
    assert stream.columns["v"].array.buffers()[1].address == values.buffers()[1].address
    assert (stream.type_names, len(stream)) == (("B", "A"), 3)
    assert stream.times is stream.times
    assert stream.columns["v"].values is stream.columns["v"].values


@pytest.mark.parametrize("times", [[1, 2, 3], [3, 1, 2]])
@pytest.mark.parametrize("types", [AB, frozenset("A"), frozenset("Q")])
def test_arrays_have_one_type_and_layout_whatever_came_in(times: list[int], types: frozenset[str]) -> None:
    for data_type in (pa.int64(), pa.int16(), pa.timestamp("ms")):
        for kinds in (pa.array(["A", "B", "A"]), pa.array(["A", "B", "A"]).dictionary_encode()):
            events = table(time=pa.array(times, data_type), type=kinds)
            for source in (events, pa.concat_tables([events, events])):
                stream = encoded(source, types=types)
                for array, number in (
                    (stream.time, np.int64),
                    (stream.type_codes, np.int32),
                    (stream.row_numbers, np.int64),
                ):
                    assert array.dtype == number
                    assert array.flags.c_contiguous
                    assert not array.flags.writeable
                    assert len(array) == len(stream)


def test_a_dictionary_may_repeat_itself_hold_null_and_grow() -> None:
    def coded(codes: list[int | None], words: list[str | None]) -> pa.Array:
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(words))

    def events(start: int, kinds: pa.Array, words: pa.Array) -> pa.Table:
        return table(time=[start + place for place in range(len(kinds))], type=kinds, s=words)

    first = events(0, coded([0, 1, 2], ["C", "A", "A"]), coded([0, 1, 2], ["x", None, "x"]))
    second = events(3, coded([0, 1, 0], ["B", "A"]), coded([None, 0, 0], ["y"]))
    stream = encoded(pa.concat_tables([first, second]), "s")
    assert stream.types == ["A", "A", "B", "A", "B"]
    assert sorted(stream.type_names) == ["A", "B"]
    assert stream.columns["s"].values == [None, "x", None, "y", "y"]
    assert stream.columns["s"].array.dictionary.to_pylist() == ["x", "y"]
    with pytest.raises(StreamError, match=r"NULL in 1 value, first at row 1 \(from 0\)"):
        encoded(events(0, coded([0, 1], ["A", None]), coded([0, 0], ["x"])))


def test_a_stream_pickles() -> None:
    stream = encoded(
        table(time=[2, 1], type=["A", "B"], v=[decimal.Decimal("1.5"), None]), "v", "time", "type"
    )
    for _ in range(2):  # also after its lists were made
        again = pickle.loads(pickle.dumps(stream))
        assert (again.times, again.types, again.rows) == (stream.times, stream.types, stream.rows)
        assert again.columns == stream.columns
        assert (again.time_type, again.unit, again.origin) == (stream.time_type, stream.unit, stream.origin)


rows = st.lists(
    st.tuples(
        st.integers(-5, 5),
        st.sampled_from("ABC"),
        st.one_of(st.none(), st.integers(-9, 9)),
        st.sampled_from("xyz"),
    ),
    max_size=30,
)


@given(
    rows, st.integers(1, 7), st.booleans(), st.sampled_from([AB, frozenset("C"), frozenset("Q"), frozenset()])
)
def test_encoding_is_filter_and_stable_sort(
    events: list[tuple[int, str, int | None, str]], size: int, as_reader: bool, types: frozenset[str]
) -> None:
    """However the input is cut into batches, also with a dictionary of its own in each."""
    schema = pa.schema(
        [
            ("time", pa.int32()),
            ("type", pa.dictionary(pa.int32(), pa.string())),
            ("v", pa.int64()),
            ("s", pa.dictionary(pa.int32(), pa.string())),
        ]
    )
    batches = [
        pa.RecordBatch.from_pydict(
            dict(zip(schema.names, map(list, zip(*events[start : start + size], strict=True)), strict=True)),
            schema,
        )
        for start in range(0, len(events), size)
    ]
    source = (
        pa.RecordBatchReader.from_batches(schema, iter(batches))
        if as_reader
        else pa.Table.from_batches(batches, schema)
    )
    stream = encoded(source, "v", "s", "time", "type", types=types)
    expected = sorted((row for row in enumerate(events) if row[1][1] in types), key=lambda row: row[1][0])
    assert stream.rows == [number for number, _ in expected]
    assert stream.times == stream.columns["time"].values == [event[0] for _, event in expected]
    assert stream.types == stream.columns["type"].values == [event[1] for _, event in expected]
    assert stream.columns["v"].values == [event[2] for _, event in expected]
    assert stream.columns["s"].values == [event[3] for _, event in expected]


def test_a_reader_is_not_gathered_whole() -> None:
    """Rows of other types are dropped batch by batch: only one batch is alive besides what is kept."""
    alive = pa.total_allocated_bytes()
    most = 0

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal most
        for start in range(20):
            yield pa.RecordBatch.from_pydict(
                {"time": np.arange(100_000) + start, "type": ["C"] * 99_999 + ["A"], "v": np.ones(100_000)}
            )
            most = max(most, pa.total_allocated_bytes() - alive)

    schema = pa.schema([("time", pa.int64()), ("type", pa.string()), ("v", pa.float64())])
    stream = encoded(pa.RecordBatchReader.from_batches(schema, batches()), "v")
    assert len(stream.rows) == 20
    assert most < 4 * 100_000 * 30, "more than a few batches were alive"


def test_a_single_batch_and_a_slice_are_fine() -> None:
    events = table(v=[1, 2, 3, None]).slice(1)
    assert encoded(events, "v").columns["v"].values == [2, 3, None]
    assert encoded(events.to_batches()[0], "v").rows == [0, 1, 2]


# --- names ---------------------------------------------------------------------------------------


def test_time_and_type_mean_the_schemas_columns() -> None:
    events = pa.table({"at": [1, 2], "kind": ["A", "B"]})
    stream = encoded(events, "time", "type", "at", "kind", schema=EventSchema("at", "kind"))
    assert {name: (column.kind, column.values) for name, column in stream.columns.items()} == {
        "time": (Kind.TICK, [1, 2]),
        "at": (Kind.TICK, [1, 2]),
        "type": (Kind.TEXT, ["A", "B"]),
        "kind": (Kind.TEXT, ["A", "B"]),
    }


def test_an_attribute_of_that_name_wins() -> None:
    events = pa.table({"at": [1], "kind": ["A"], "time": [2.5], "type": [7]})
    stream = encoded(events, "time", "type", schema=EventSchema("at", "kind"))
    assert stream.columns["time"] == Column("time", Kind.DOUBLE, 0, [2.5])
    assert stream.columns["type"] == Column("type", Kind.INTEGER, 0, [7])
    assert (stream.times, stream.types) == ([1], ["A"])


def test_a_table_of_one_event_type() -> None:
    schema = EventSchema(type=None, type_value="A")
    stream = encoded(pa.table({"time": [2, 1]}), "type", schema=schema)
    assert stream.types == ["A", "A"]
    assert stream.columns["type"] == Column("type", Kind.TEXT, 0, ["A", "A"])
    assert encoded(pa.table({"time": [2, 1]}), schema=schema, types=frozenset("B")).rows == []
    named = pa.table({"time": [2, 1], "type": ["x", "y"]})
    assert encoded(named, "type", schema=schema).columns["type"].values == ["y", "x"]


@pytest.mark.parametrize(
    ("schema", "columns", "message", "hint"),
    [
        (
            EventSchema(),
            ["speeed"],
            "missing column 'speeed' (an attribute of the queries)",
            "did you mean 'speed'?",
        ),
        (
            EventSchema(time="zzz"),
            [],
            "missing column 'zzz' (the time column)",
            "the table has 'time', 'type', 'speed'",
        ),
        (EventSchema(type="kind"), [], "missing column 'kind' (the type column)", "the table has"),
        (EventSchema(sequence="n"), [], "missing column 'n' (the sequence column)", "the table has"),
    ],
)
def test_missing_columns(schema: EventSchema, columns: list[str], message: str, hint: str) -> None:
    events = table(speed=[1.0])
    for refuse in (
        lambda: table_kinds(events.schema, schema, columns),
        lambda: encode(events, schema, columns, AB),
    ):
        with pytest.raises(StreamError) as caught:
            refuse()
        assert (caught.value.code, caught.value.message) == ("E202", message)
        assert caught.value.hint.startswith(hint)


def test_two_columns_of_one_name_are_refused_where_they_are_read() -> None:
    events = pa.Table.from_arrays(
        [pa.array([1]), pa.array(["A"]), pa.array([1]), pa.array([2])], ["time", "type", "v", "v"]
    )
    assert encoded(events).times == [1]
    with pytest.raises(StreamError, match="2 columns named 'v'") as caught:
        encoded(events, "v")
    assert caught.value.code == "E208"


def test_events_that_are_no_arrow_table() -> None:
    with pytest.raises(StreamError, match=r"events are a builtins\.list") as caught:
        encoded([{"time": 1}])
    assert caught.value.code == "E209"


# --- time and type -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "time_type", "unit", "expected"),
    [
        (pa.array([3, -1], pa.int8()), pa.int64(), 60_000_000, [-1, 3]),
        (pa.array([3, 1]).dictionary_encode(), pa.int64(), 60_000_000, [1, 3]),
        (pa.array([1, -1], pa.timestamp("ms")), pa.timestamp("us", "UTC"), 1, [-1000, 1000]),
        (
            pa.array([1, -1], pa.timestamp("s", "Asia/Tokyo")),
            pa.timestamp("us", "UTC"),
            1,
            [-1_000_000, 1_000_000],
        ),
        (pa.array([1, -1], pa.date32()), pa.timestamp("us", "UTC"), 1, [-DAY, DAY]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_time_columns(times: pa.Array, time_type: pa.DataType, unit: int, expected: list[int]) -> None:
    stream = encoded(table(time=times), "time", schema=EventSchema(time_unit="min"))
    assert (stream.times, stream.time_type, stream.unit, stream.origin) == (expected, time_type, unit, 0)
    assert stream.columns["time"].kind is (Kind.TICK if time_type == pa.int64() else Kind.TIMESTAMP)
    assert all(type(time) is int for time in stream.times)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"time": [1.0]}, "column 'time' is of type double: time is an integer, a timestamp or a date"),
        ({"time": ["1"]}, "column 'time' is of type string: time is an integer, a timestamp or a date"),
        ({"type": [1]}, "column 'type' is of type int64: event types are text"),
        ({"n": ["1"]}, "column 'n' is of type string: a sequence number is an integer"),
    ],
)
def test_time_type_and_sequence_have_their_kinds(columns: dict[str, list[Any]], message: str) -> None:
    schema = EventSchema(sequence="n" if "n" in columns else None)
    with pytest.raises(StreamError) as caught:
        encoded(table(**columns), schema=schema)
    assert (caught.value.code, caught.value.message) == ("E203", message)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"time": [1, None, None], "type": ["A", "C", None]},
            "column 'time': NULL in 2 values, first at row 1, 2 (from 0)",
        ),
        ({"type": ["C", None, "C"]}, "column 'type': NULL in 1 value, first at row 1 (from 0)"),
        ({"time": pa.nulls(2)}, "column 'time': NULL in 2 values, first at row 0, 1 (from 0)"),
        ({"type": pa.nulls(2)}, "column 'type': NULL in 2 values, first at row 0, 1 (from 0)"),
        (
            {"type": pa.array(["C", None]).dictionary_encode()},
            "column 'type': NULL in 1 value, first at row 1 (from 0)",
        ),
    ],
)
def test_null_time_and_type_are_refused_in_every_row(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(StreamError) as caught:
        encoded(table(**columns))
    assert (caught.value.code, caught.value.message) == ("E204", message)


def test_faults_are_counted_over_all_batches() -> None:
    events = pa.concat_tables([table(type=["A", None]) for _ in range(7)])
    with pytest.raises(StreamError, match=r"NULL in 7 values, first at row 1, 3, 5, 7, 9, \.\.\. \(from 0\)"):
        encoded(pa.RecordBatchReader.from_batches(events.schema, events.to_batches(max_chunksize=3)))


def test_a_time_finer_than_a_microsecond_is_refused_in_every_row() -> None:
    """Rounding would make ties of events that are none."""
    events = table(time=pa.array([1000, 1001], pa.timestamp("ns")), type=["A", "C"])
    with pytest.raises(StreamError, match="column 'time': finer than a microsecond in 1 value") as caught:
        encoded(events)
    assert caught.value.code == "E206"


def test_empty_tables_also_without_types() -> None:
    for events in (table(v=pa.array([], pa.int32())), pa.table({"time": [], "type": [], "v": []})):
        stream = encoded(events, "v", "time", "type")
        assert (stream.times, stream.types, stream.rows) == ([], [], [])
        assert [column.values for column in stream.columns.values()] == [[], [], []]


# --- schema --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": ""}, "event schema: time='' is not a name"),
        ({"time": None}, "event schema: time=None is not a name"),
        ({"type": 5}, "event schema: type=5 is not a name"),
        ({"type": None}, "event schema: no event type"),
        ({"type_value": "Day"}, "event schema: both type='type' and type_value='Day'"),
        ({"type": "time"}, "event schema: time and type are the same column 'time'"),
        ({"time_unit": "week"}, "event schema: time_unit='week'"),
        ({"sequence": ""}, "event schema: sequence='' is not a name"),
        ({"origin": True}, "event schema: origin=True"),
        ({"origin": 1.5}, "event schema: origin=1.5"),
        ({"origin": 2**63}, "event schema: origin=9223372036854775808"),
        ({"origin": "2015-01-01"}, "event schema: origin='2015-01-01'"),
    ],
)
def test_schemas_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(StreamError) as caught:
        EventSchema(**options)
    assert (caught.value.code, caught.value.message) == ("E201", message)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        (0, 0),
        (datetime(2015, 1, 1, 8), MOMENT),  # noqa: DTZ001 - naive means UTC
        (datetime(2015, 1, 1, 9, tzinfo=timezone(timedelta(hours=1))), MOMENT),
        (date(1969, 12, 31), -DAY),
    ],
)
def test_origins_of_timestamps(origin: int | datetime | date, expected: int) -> None:
    events = table(time=pa.array([0], pa.timestamp("s")))
    assert encoded(events, schema=EventSchema(origin=origin)).origin == expected


def test_an_origin_of_integer_time_counts_in_its_unit() -> None:
    assert encoded(table(), schema=EventSchema(origin=-7, time_unit="h")).origin == -7


@pytest.mark.parametrize(
    ("time", "origin", "message"),
    [
        (pa.timestamp("us"), 5, "origin=5, but the time column 'time' holds timestamps"),
        (
            pa.int64(),
            date(2015, 1, 1),
            "origin=datetime.date(2015, 1, 1), but the time column 'time' holds integers",
        ),
    ],
)
def test_origins_of_the_wrong_kind(time: pa.DataType, origin: int | date, message: str) -> None:
    with pytest.raises(StreamError) as caught:
        encoded(table(time=pa.array([0], time)), schema=EventSchema(origin=origin))
    assert (caught.value.code, caught.value.message) == ("E207", message)


@pytest.mark.parametrize(
    ("duration", "unit", "expected"), [(300_000_000, "min", 5), (5, "us", 5), (0, "d", 0), (-DAY, "h", -24)]
)
def test_ticks(duration: int, unit: str, expected: int) -> None:
    assert ticks(duration, TIME_UNITS[unit]) == expected


def test_a_duration_finer_than_the_unit() -> None:
    with pytest.raises(QueryMeaningError) as caught:
        ticks(90_000_000, TIME_UNITS["min"], span=(1, 8), text="WITHIN 90 s", what="WITHIN")
    assert str(caught.value) == (
        "[E220] line 1, column 8: WITHIN 90 s is finer than the unit of the time column, 1 min\n"
        "  WITHIN 90 s\n"
        "         ^\n"
        "  hint: use a multiple of the unit, or declare a finer time_unit"
    )


def test_shuffling_the_input_changes_only_the_order_of_ties() -> None:
    shuffled = list(range(200))
    random.Random(5).shuffle(shuffled)
    events = table(time=[number // 3 for number in range(200)], v=list(range(200)))
    plain, mixed = encoded(events, "v"), encoded(events.take(shuffled), "v")
    assert plain.times == mixed.times
    assert sorted(zip(plain.times, plain.columns["v"].values, strict=True)) == sorted(
        zip(mixed.times, mixed.columns["v"].values, strict=True)
    )


@pytest.mark.parametrize(
    ("times", "tied"), [([], False), ([4], False), ([1, 2, 5], False), ([5, 1, 2], False), ([1, 5, 1], True)]
)
def test_a_stream_knows_whether_events_have_one_time(times: list[int], *, tied: bool) -> None:
    stream = encoded(pa.table({"time": pa.array(times, pa.int64()), "type": ["A"] * len(times)}))
    assert stream.tied == tied
    assert pickle.loads(pickle.dumps(stream)).tied == tied
    twice = [time for time in times for _ in range(2)]
    assert replace(stream, time=np.array(twice, np.int64)).tied == bool(times)


@pytest.mark.parametrize("seed", range(8))
def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Types are numbered as they appear, and faults counted, batch after batch, whoever looks at them first."""
    monkeypatch.setattr(encoding, "_MANY_ROWS", 0)
    monkeypatch.setattr(encoding, "_FEW_ROWS", 1)
    draw = random.Random(seed)
    batches = [
        pa.record_batch(
            {
                "time": pa.array(draw.choices(range(50), k=rows), pa.int64()),
                "type": pa.array(draw.choices("ABCDE"[draw.randrange(4) :], k=rows)),
                "v": pa.array(draw.choices([1.5, None, math.nan if seed % 2 else 2.0], k=rows), pa.float64()),
                "k": pa.array(draw.choices(["x", "é", None], k=rows), pa.string()),
            }
        )
        for rows in draw.choices(range(1, 40), k=30)
    ]
    table = pa.Table.from_batches(batches)
    types = draw.choice([None, frozenset("ACE"), frozenset("Z")])

    def found(threads: int) -> object:
        try:
            stream = encode(table, EventSchema(), ["v", "k", "type"], types, threads)
        except StreamError as error:
            return str(error)
        values = {name: list(column.values) for name, column in stream.columns.items()}
        rows = stream.row_numbers.tolist()
        return stream.time.tolist(), stream.type_codes.tolist(), stream.type_names, rows, values

    assert repr(found(3)) == repr(found(1))
    expected = repr(found(1))
    monkeypatch.setattr(encoding, "_STRIDE", 5)
    monkeypatch.setattr(encoding, "_SHARED", 0)
    monkeypatch.setattr(encoding, "_FEW_ROWS", 1_000)  # all are put together, in pieces
    monkeypatch.setattr(encoding, "_MANY_ROWS", 100)
    assert repr(found(3)) == repr(found(1)) == expected


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("place", range(12))
def test_one_row_in_any_block_that_is_unlike_the_others_is_seen(
    monkeypatch: pytest.MonkeyPatch, place: int, threads: int
) -> None:
    monkeypatch.setattr(encoding, "_MANY_ROWS", 0)
    monkeypatch.setattr(encoding, "_STRIDE", 4)
    monkeypatch.setattr(encoding, "_SHARED", 0)
    for moved in (-1.5, -1, 0):  # before the row before it, with it, where it was
        times = [10.0 * (row + 1) for row in range(12)]
        times[place] += 10 * moved
        for unwanted in (False, True):
            types = ["A"] * 12
            types[place] = "B" if unwanted else "A"
            table = pa.table(
                {
                    "time": pa.array(map(int, times), pa.int64()),
                    "type": pa.DictionaryArray.from_arrays(
                        pa.array(["AB".index(name) for name in types]), ["A", "B"]
                    ),
                }
            )
            stream = encode(table, EventSchema(), (), frozenset("A"), threads)
            kept = [row for row in range(12) if types[row] == "A"]
            order = sorted(kept, key=lambda row: times[row])
            assert stream.row_numbers.tolist() == order
            assert stream.time.tolist() == [int(times[row]) for row in order]
            assert stream.tied == (len({times[row] for row in kept}) < len(kept))


def test_small_batches_with_dictionaries_of_their_own_are_put_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encoding, "_MANY_ROWS", 3)
    texts = ["x", "y", None, "z", "x", "z", "w", "x"]
    chunks = [
        pa.array(texts[first : first + 2]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
        for first in range(0, 8, 2)
    ]
    columns = {"time": pa.chunked_array([[0, 1, 2, 3, 4, 5, 6], [7]]), "type": pa.chunked_array([["A"] * 8])}
    stream = encoded(pa.table({**columns, "k": pa.chunked_array(chunks)}), "k")
    assert list(stream.columns["k"].values) == texts
