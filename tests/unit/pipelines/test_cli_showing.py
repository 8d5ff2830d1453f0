"""Numbers, windows, groups and tables as people see them, and values as JSON and CSV hold them."""

# ruff: noqa: DTZ001 - naive times are among what is tested

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.showing.formats import write_csv, write_json, write_parquet
from pipelines.showing.largest import largest
from pipelines.showing.numbers import number, plain
from pipelines.showing.people import cell, group, show_any, show_results, show_wide, window
from pipelines.showing.rejected import summary
from pipelines.showing.story import questions, tell


def row(
    value: float | None, exact: str | None = None, log2: float | None = None, sign: int | None = 1
) -> dict[str, Any]:
    return {"value": value, "exact": exact, "log2": log2, "sign": sign}


@pytest.mark.parametrize(
    ("shown", "one"),
    [
        ("1,234", row(1234.0)),
        ("-1,234", row(-1234.0, "-1234")),
        ("0", row(0.0, "0")),
        ("18.5", row(18.5)),
        ("37/2 = 18.5", row(18.5, "37/2")),
        ("-1,250.50", row(-1250.5, "-1250.50")),
        ("0.0001", row(0.0001)),
        ("1e-05", row(0.00001)),
        ("1e20", row(1e20)),
        ("1e40 (41 digits)", row(1e40, "1" + "0" * 40)),
        ("1.0000e400 (401 digits)", row(None, "1" + "0" * 400, 1328.7712379549448)),
        ("-1.0000e400", row(None, None, 1328.7712379549448, -1)),
        ("1.0000e-400", row(None, None, -1328.7712379549448)),
        ("0.1", row(0.1, "0.1")),
        ("1e-07", row(1e-7, "1e-07")),
        ("-", row(None, None, None, None)),
        ("~0", row(3.7e-05, None, -14.7, None)),
        ("~0", row(0.0, None, None, None)),
    ],
)
def test_numbers(shown: str, one: dict[str, Any]) -> None:
    assert number(one) == shown


def test_no_plain_number_is_long() -> None:
    values = [
        sign * 10.0**power * digit
        for power in range(-320, 308)
        for digit in (1.0, 1.23456789, 9.99999999)
        for sign in (1, -1)
    ]
    assert max(len(plain(value)) for value in values) <= 26


@pytest.mark.parametrize(
    ("shown", "start", "end"),
    [
        ("[-5, 10)", -5, 10),
        ("2026-01-05", datetime(2026, 1, 5), datetime(2026, 1, 6)),
        ("2026-01-05 .. 2026-01-11", datetime(2026, 1, 5), datetime(2026, 1, 12)),
        ("2026-01-05 18:00 - 24:00", datetime(2026, 1, 5, 18), datetime(2026, 1, 6)),
        ("2026-01-05 23:30 - 2026-01-06 00:30", datetime(2026, 1, 5, 23, 30), datetime(2026, 1, 6, 0, 30)),
        ("2026-01-05 08:00:01 - 08:00:01.5", datetime(2026, 1, 5, 8, 0, 1), datetime(2026, 1, 5, 8, 0, 1, 500_000)),
    ],
)  # fmt: skip
def test_windows(shown: str, start: Any, end: Any) -> None:
    assert window({"window_start": start, "window_end": end}) == shown


FAR = [-(2**62), -62_135_596_800_000_001, None, 0, 253_402_300_799_999_999, 253_402_300_800_000_000]
FAR_TEXTS = [
    "-144169-06-28T09:59:32.612096Z", "0000-12-31T23:59:59.999999Z", None, "1970-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999Z", "+10000-01-01T00:00:00Z",
]  # fmt: skip


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_of_any_year_are_written_in_every_format(zone: str | None) -> None:
    table = pa.table({"at": pa.array(FAR, pa.timestamp("us", zone)), "n": list(range(6))})
    out = io.BytesIO()
    write_json(table, out)
    assert [row["at"] for row in json.loads(out.getvalue())] == FAR_TEXTS
    out = io.BytesIO()
    write_csv(table, out)
    lines = out.getvalue().decode().splitlines()
    assert lines == ["at,n", *(f"{text or ''},{place}" for place, text in enumerate(FAR_TEXTS))]
    out = io.BytesIO()
    write_parquet(table, out)
    assert pq.read_table(io.BytesIO(out.getvalue())).column("at").cast(pa.int64()).to_pylist() == FAR
    shown = io.StringIO()
    show_any(table, shown, 0)
    assert [line.rsplit(maxsplit=1)[0].strip() for line in shown.getvalue().splitlines()[2:8]] == [
        *FAR_TEXTS[:2], "NULL", "1970-01-01", "9999-12-31 23:59:59.999999", FAR_TEXTS[5],
    ]  # fmt: skip


def test_groups() -> None:
    assert group('{"a":null,"b":"x"}') == "a=NULL, b=x"
    assert group("{}") == "all"


def test_cells_and_columns_of_one_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [cell(one) for one in (None, True, 1, 0.5, float("nan"), "[bold]", ["x"])] == [
        "NULL", "true", "1", "0.5", "nan", "[bold]", '["x"]',
    ]  # fmt: skip
    out = io.StringIO()
    show_any(pa.table([pa.array([1]), pa.array(["[red]x"])], names=["same", "same"]), out, 0)
    assert out.getvalue().splitlines()[-2].split() == ["1", "[red]x"]
    assert out.getvalue().splitlines()[-1] == "1 row"


EVERYTHING = pa.table(
    {
        "time": pa.array([datetime(2026, 1, 5, 8, tzinfo=UTC), None], pa.timestamp("us", "Europe/Berlin")),
        "naive": pa.array([datetime(2026, 1, 5, 8, 0, 0, 5), None], pa.timestamp("us")),
        "day": pa.array([date(2026, 1, 5), None]),
        "clock": pa.array([time(8, 30), None], pa.time64("us")),
        "length": pa.array([timedelta(seconds=1.5), None], pa.duration("us")),
        "decimal": pa.array([Decimal("1.50"), None]),
        "double": pa.array([float("nan"), float("inf")]),
        "text": pa.array(['a,"ü"', ""]),
        "list": pa.array([[1, 2], None]),
        "bytes": pa.array([b"\xff", None]),
        "map": pa.array([{"x": 1}, None]),
        "flag": pa.array([True, None]),
    }
)


def test_json_holds_any_value() -> None:
    out = io.BytesIO()
    write_json(EVERYTHING, out)
    first, second = json.loads(out.getvalue())
    assert first == {
        "time": "2026-01-05T08:00:00Z", "naive": "2026-01-05T08:00:00.000005Z", "day": "2026-01-05",
        "clock": "08:30:00", "length": 1.5, "decimal": "1.50", "double": None, "text": 'a,"ü"', "list": [1, 2],
        "bytes": "/w==", "map": {"x": 1}, "flag": True,
    }  # fmt: skip
    assert second == {name: "" if name == "text" else None for name in EVERYTHING.column_names}
    assert b"NaN" not in out.getvalue()


def test_csv_holds_any_value() -> None:
    out = io.BytesIO()
    write_csv(EVERYTHING, out)
    lines = out.getvalue().decode().splitlines()
    assert lines[0] == ",".join(EVERYTHING.column_names)
    assert lines[1] == (
        "2026-01-05T08:00:00Z,2026-01-05T08:00:00.000005Z,2026-01-05,08:30:00,1.5,1.50,,"
        '"a,""ü""","[1, 2]",/w==,"{""x"": 1}",true'
    )
    assert lines[2] == "," * 11


def test_bad_rows_are_counted_and_the_first_shown() -> None:
    rejected = pa.table(
        {
            "source_file": ["f"] * 7,
            "row_number": [None, 2, 3, 4, 5, 6, 7],
            "reason": ["why"] * 7,
            "code": ["E401"] * 7,
        }
    )
    lines = summary(rejected, 93).splitlines()
    assert lines[:3] == ["7 bad rows of 100:", "  f: why [E401]", "  f, row 2: why [E401]"]
    assert lines[-1] == "  and 2 more"
    assert summary(rejected.slice(1, 1), 0).splitlines()[0] == "1 bad row of 1:"


def test_a_question_is_the_comment_right_above_a_label() -> None:
    text = "-- A title.\n\n-- How many?\n# And why?\nq1: RETURN COUNT(*) PATTERN A WITHIN 1 s\nq2: RETURN COUNT(*)"
    assert questions(text) == {"q1": "How many? And why?"}


def test_a_story_shows_the_largest_first_in_the_order_of_return() -> None:
    def result(start: int, aggregate: str, value: float, log2: float) -> dict[str, Any]:
        bounds = {"window_start": start, "window_end": start + 10}
        measure = {"value": value, "sign": 1, "log2": log2, "exact": None}
        return {"query": "q1", **bounds, "group_key": '{"g":"x"}', "aggregate": aggregate, **measure}

    rows = [
        result(n * 10, label, v, v)
        for n in range(5)
        for label, v in (("AVG(a.v)", 9.0 - n), ("COUNT(*)", 1.0 + n))
    ]
    out = io.StringIO()
    tell(pa.Table.from_pylist(rows), "", [("q1", ("COUNT(*)", "AVG(a.v)"))], out)
    lines = [line.split() for line in out.getvalue().splitlines() if line]
    assert lines[1] == ["5", "windows", "and", "groups;", "the", "largest", "by", "COUNT(*):"]
    assert lines[2] == ["window", "g", "COUNT(*)", "AVG(a.v)"]
    assert lines[4:] == [
        ["[40,", "50)", "x", "5", "5"],
        ["[30,", "40)", "x", "4", "6"],
        ["[20,", "30)", "x", "3", "7"],
    ]


def of_query(
    query: str, *counts: tuple[int | None, float | None], aggregates: int = 1
) -> list[dict[str, Any]]:
    """A window for each (sign, log2) of the first aggregate; the others are as large in the first window as may be."""
    return [
        {
            "query": query, "window_start": start, "window_end": start + 1, "group_key": "{}",
            "aggregate": f"A{number}", "value": None, "exact": None, "fingerprint": None,
            "sign": sign if number == 0 else 1, "log2": log2 if number == 0 else 1e6 - start,
        }
        for start, (sign, log2) in enumerate(counts)
        for number in range(aggregates)
    ]  # fmt: skip


def chosen(rows: list[dict[str, Any]], limit: int) -> list[tuple[str, int]]:
    """Query and window of each row that is shown."""
    shown = largest(pa.Table.from_pylist(rows), limit)
    return [(row["query"], row["window_start"]) for row in shown.to_pylist()]


def test_the_largest_are_shown_by_sign_and_logarithm_in_the_order_of_the_results() -> None:
    sizes = [
        (-1, 5000.0),
        (1, -3.0),
        (None, None),
        (1, 5000.5),
        (0, None),
        (-1, -2.0),
        (1, 5000.25),
        (-1, 3.0),
    ]
    downwards = [3, 6, 1, 4, 5, 7, 0, 2]
    for limit in range(1, 8):
        assert chosen(of_query("q", *sizes), limit) == [("q", one) for one in sorted(downwards[:limit])]


def test_what_has_cancelled_out_is_as_large_as_nothing() -> None:
    rows = of_query("q", (-1, -2.0), (None, 20.0), (1, -9.0), (None, None))
    rows[1]["value"] = 1e6
    assert chosen(rows, 1) == [("q", 2)]
    assert chosen(rows, 2) == [("q", 1), ("q", 2)]
    assert chosen(rows, 3) == [("q", 0), ("q", 1), ("q", 2)]


def test_queries_take_turns_and_windows_are_whole() -> None:
    rows = of_query("z", *((1, float(n)) for n in range(9)), aggregates=2)
    rows += of_query("a", (1, 1.0)) + of_query("m", (1, 2.0), (1, 3.0), (1, 1.0))
    assert chosen(rows, 8) == [("z", 7), ("z", 7), ("z", 8), ("z", 8), ("a", 0), ("m", 0), ("m", 1)]
    assert chosen(rows, 4) == [("z", 8), ("z", 8), ("a", 0), ("m", 1)]
    assert chosen(rows, 1) == [("z", 8)]
    assert chosen(rows, 0) == chosen(rows, len(rows)) == [(row["query"], row["window_start"]) for row in rows]


@pytest.mark.parametrize(("sign", "word"), [(1, "largest"), (None, "first")])
def test_the_last_line_says_which_rows_are_shown(sign: int | None, word: str) -> None:
    out = io.StringIO()
    show_results(pa.Table.from_pylist(of_query("q", (sign, 1.0), (sign, 2.0))), out, 1)
    assert out.getvalue().splitlines()[-1] == f"2 rows, the {word} 1 shown (--limit 0 shows all)"


def test_wide_a_window_and_group_is_one_row_of_the_limit_and_each_query_a_table() -> None:
    rows = of_query("z", *((1, float(n)) for n in range(3)), aggregates=2) + of_query("a", (1, 1.0))
    for row in rows:
        row["group_key"] = '{"g":null}'
    out = io.StringIO()
    show_wide(pa.Table.from_pylist(rows), out, 3, ["z", "a", "none", "m"])
    words = [line.split() for line in out.getvalue().splitlines() if "──" not in line]
    assert words == [
        ["z:"],
        ["window", "g", "A0", "A1"],
        ["[1,", "2)", "NULL", "2.0000e0", "4.9503e301029"],
        ["[2,", "3)", "NULL", "4.0000e0", "2.4752e301029"],
        ["3", "rows,", "the", "largest", "2", "shown", "(--limit", "0", "shows", "all)"],
        ["a:"],
        ["window", "g", "A0"],
        ["[0,", "1)", "NULL", "2.0000e0"],
        ["1", "row"],
        *(["none:"], ["0", "rows"], ["m:"], ["0", "rows"]),
    ]
    out = io.StringIO()
    show_wide(pa.Table.from_pylist(rows), out, 1, ["z", "a"])
    assert out.getvalue().splitlines()[-1] == "1 row, none shown (--limit 0 shows all)"


def test_a_story_tells_the_largest_and_not_the_farthest_below_zero() -> None:
    rows = of_query("q", (-1, 9.0), (1, 2.0), (1, 3.0), (0, None))
    out = io.StringIO()
    tell(pa.Table.from_pylist(rows), "", [("q", ("A0",))], out)
    lines = [line.split()[:2] for line in out.getvalue().splitlines() if line.startswith(" [")]
    assert lines == [["[2,", "3)"], ["[1,", "2)"], ["[3,", "4)"]]
