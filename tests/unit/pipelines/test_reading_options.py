"""How files are read can be said: types of columns, formats and zones of times, spelling of types, keys, strictness."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core.errors import StreamError
from pipelines.cli import main
from pipelines.reading import ColumnOptions, discover, infer_columns, read_all
from pipelines.reading.times import Clock, parse_times, read_times

TICK = ColumnOptions(time="t", type_value="Tick")
BERLIN = replace(TICK, zone="Europe/Berlin")


def read(folder: Path, content: str, options: ColumnOptions, columns: frozenset[str] | None = None):
    """Good rows, (row, code) of rejected ones, and values left empty."""
    (folder / "f.csv").write_text(content, encoding="utf-8")
    rows = read_all(discover(folder / "f.csv"), None, options, columns)
    refused = [(row["row_number"], row["code"]) for row in rows.rejected.to_pylist()]
    return rows.good.to_pylist(), refused, dict(rows.empty)


DIRTY = "t,v,w\n" + "1,1,1\n" * 20 + "2,x,5\n3,4,y\nsoon,5,6\n"


@pytest.mark.parametrize(
    ("columns", "strict", "refused", "empty"),
    [
        (frozenset(), False, [(23, "E410")], {"v": 1, "w": 1}),
        (frozenset("v"), False, [(21, "E410"), (23, "E410")], {"w": 1}),
        (frozenset("vw"), False, [(21, "E410"), (22, "E410"), (23, "E410")], {}),
        (None, False, [(21, "E410"), (22, "E410"), (23, "E410")], {}),
        (frozenset(), True, [(21, "E410"), (22, "E410"), (23, "E410")], {}),
    ],
)
def test_a_bad_value_costs_the_event_where_a_query_reads_its_column_and_is_null_elsewhere(
    tmp_path: Path, columns: frozenset[str] | None, strict: bool, refused: object, empty: object
) -> None:
    rows, found, left = read(tmp_path, DIRTY, replace(TICK, strict=strict), columns)
    assert (found, left) == (refused, empty)
    assert len(rows) == 23 - len(found)
    odd = {row["t"]: (row["v"], row["w"]) for row in rows if row["t"] != 1}
    assert odd.get(2, (None, 5)) == (None, 5)
    assert odd.get(3, (4, None)) == (4, None)


def test_a_value_that_is_too_fine_is_empty_too_and_counted_in_rows_that_stay(tmp_path: Path) -> None:
    fine = pa.array([1_001, 2_000, 1_001], pa.timestamp("ns"))
    table = pa.table({"t": pa.array([1, 2, None], pa.int64()), "v": fine})
    pq.write_table(table, tmp_path / "f.parquet")
    rows = read_all(discover(tmp_path), None, TICK, frozenset())
    assert [row["v"] for row in rows.good.to_pylist()] == [None, datetime(1970, 1, 1, 0, 0, 0, 2, UTC)]
    assert rows.empty == {"v": 1}
    assert rows.rejected["code"].to_pylist() == ["E420"]


@pytest.mark.parametrize(
    ("form", "text", "time"),
    [
        ("%d/%m/%Y", "31/12/2026", datetime(2026, 12, 31, tzinfo=UTC)),
        ("%d/%m/%Y", " 3/2/2026 ", datetime(2026, 2, 3, tzinfo=UTC)),
        ("%d/%m/%Y", "31/02/2026", None),
        ("%d/%m/%Y", "31/12/2026 08:00", None),
        ("%d/%m/%y %H:%M", "31/12/26 08:15", datetime(2026, 12, 31, 8, 15, tzinfo=UTC)),
        ("%d.%m.%Y %H:%M:%S.%f", "31.12.2026 08:15:09.25", datetime(2026, 12, 31, 8, 15, 9, 250_000, UTC)),
        ("%d.%m.%Y %H:%M:%S,%f", "31.12.2026 08:15:09,000001", datetime(2026, 12, 31, 8, 15, 9, 1, UTC)),
        ("%d.%m.%Y %H:%M:%S.%f", "31.12.2026 08:15:09", None),
        ("%d.%m.%Y %H:%M:%S", "31.12.2026 08:15:61", None),
        ("%d.%m.%Y %H:%M:%S", "31.12.2026 24:15:01", None),
        ("%Y-%m-%dT%H:%M:%S%z", "2026-12-31T08:15:09-03:30", datetime(2026, 12, 31, 11, 45, 9, tzinfo=UTC)),
        ("%Y-%m-%dT%H:%M:%S %z", "2026-12-31T08:15:09 +0200", datetime(2026, 12, 31, 6, 15, 9, tzinfo=UTC)),
        ("%Y-%m-%dT%H:%M:%S%z", "2026-12-31T08:15:09", None),
        ("%b %d, %Y %I:%M %p", "Dec 31, 2026 08:15 PM", datetime(2026, 12, 31, 20, 15, tzinfo=UTC)),
        ("%b %d, %Y %I:%M %p", "February 1, 2026 12:15 AM", datetime(2026, 2, 1, 0, 15, tzinfo=UTC)),
        ("%Y%m%d%H%M%S", "20261231081509", datetime(2026, 12, 31, 8, 15, 9, tzinfo=UTC)),
        ("%Y%m%d", "20260230", None),
    ],
)
def test_times_are_written_as_is_said(tmp_path: Path, form: str, text: str, time: datetime | None) -> None:
    rows, refused, _ = read(tmp_path, f't,v\n"{text}",1\n', replace(TICK, time_format=form))
    assert rows == ([{"t": time, "v": 1}] if time else [])
    assert refused == ([] if time else [(1, "E412")])


def test_what_is_finer_than_a_microsecond_or_empty_is_told_apart() -> None:
    column = parse_times(pa.array(["1.1.2026 00:00:00.1234567", None, " "]), "%d.%m.%Y %H:%M:%S.%f", "UTC")
    assert column.codes is not None
    assert (column.codes != 0).tolist() == [True, False, False]


@given(st.datetimes(), st.sampled_from(["%d/%m/%Y %H:%M:%S.%f", "%Y%m%d%H%M%S.%f"]))  # fmt: skip
def test_what_python_writes_in_a_format_is_read_as_it_was(time: datetime, form: str) -> None:
    written = time.strftime(form.replace("%Y", f"{time.year:04}"))
    (found,) = parse_times(pa.array([written]), form, "UTC").values.to_pylist()
    assert found == time.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time", "code"),
    [
        ("2026-07-01T12:00", datetime(2026, 7, 1, 10, tzinfo=UTC), None),
        ("2026-01-01 12:00:00.5", datetime(2026, 1, 1, 11, 0, 0, 500_000, UTC), None),
        ("2026-07-01T12:00Z", datetime(2026, 7, 1, 12, tzinfo=UTC), None),
        ("2026-07-01T12:00+05", datetime(2026, 7, 1, 7, tzinfo=UTC), None),
        ("2026-07-01", datetime(2026, 6, 30, 22, tzinfo=UTC), None),
        ("2026-10-25T02:30", None, "E419"),
        ("2026-03-29T02:30", None, "E419"),
        ("2026-10-25T02:30+01:00", datetime(2026, 10, 25, 1, 30, tzinfo=UTC), None),
        ("2026-13-01T02:30", None, "E412"),
    ],
)
def test_a_clock_time_without_a_zone_is_of_the_zone_that_is_said(
    tmp_path: Path, text: str, time: datetime | None, code: str | None
) -> None:
    clean = "2026-06-01T10:00,1\n" * 20
    rows, refused, _ = read(tmp_path, f"t,v\n{clean}{text},1\n", BERLIN)
    assert {row["t"] for row in rows[:20]} == {datetime(2026, 6, 1, 8, tzinfo=UTC)}
    assert [row["t"] for row in rows[20:]] == ([time] if time else [])
    assert refused == ([(21, code)] if code else [])


def test_times_without_a_zone_in_parquet_and_in_formats_are_of_the_zone_too(tmp_path: Path) -> None:
    times = pa.array(["2026-07-01T12:00:00", "2026-10-25T02:30:00", None]).cast(pa.timestamp("ms"))
    pq.write_table(pa.table({"t": times}), tmp_path / "f.parquet")
    rows = read_all(discover(tmp_path), None, BERLIN)
    assert rows.good["t"].to_pylist() == [datetime(2026, 7, 1, 10, tzinfo=UTC)]
    assert rows.rejected["code"].to_pylist() == ["E419", "E420"]
    assert "is no single moment in Europe/Berlin" in rows.rejected["reason"][0].as_py()
    (time,) = read_times(pa.array(["1.7.2026"]), Clock("Europe/Berlin", "%d.%m.%Y")).values.to_pylist()
    assert time == datetime(2026, 6, 30, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("options", "types"),
    [
        ({}, ["Log-In", " log-in ", "LOG-IN", "  "]),
        ({"type_trim": True}, ["Log-In", "log-in", "LOG-IN"]),
        ({"type_case": "lower"}, ["log-in", " log-in ", "log-in", "  "]),
        ({"type_trim": True, "type_case": "upper"}, ["LOG-IN"] * 3),
    ],
)
def test_event_types_are_spelled_as_is_said(
    tmp_path: Path, options: dict[str, object], types: object
) -> None:
    content = "t,kind\n1,Log-In\n2, log-in \n3,LOG-IN\n4,  \n"
    rows, refused, _ = read(tmp_path, content, ColumnOptions(time="t", type="kind", **options))  # type: ignore[arg-type]
    assert [row["kind"] for row in rows] == types
    assert refused == ([(4, "E421")] if len(rows) == 3 else [])


def test_of_events_that_agree_in_a_key_the_first_is_kept_over_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,id,k\n1,7,x\n2,7,y\n3,,z\n4,,z\nsoon,8,w\n5,8,w\n")
    (tmp_path / "b.csv").write_text("t,id,k\n9,7,x\n8,9,x\n")
    key = replace(TICK, unique=("id",))
    rows = read_all(discover(tmp_path), None, key)
    assert [(row["t"], row["id"]) for row in rows.good.to_pylist()] == [
        (1, 7),
        (3, None),
        (4, None),
        (5, 8),
        (8, 9),
    ]
    told = [(row["source_file"], row["row_number"], row["code"]) for row in rows.rejected.to_pylist()]
    assert told == [("a.csv", 5, "E410"), ("a.csv", 2, "E422"), ("b.csv", 1, "E422")]
    assert rows.rejected["reason"][1].as_py() == "an earlier event has id 7, too"
    assert rows.rejected["raw"][1].as_py() == '{"t": "2", "id": "7", "k": "y"}'
    both = read_all(discover(tmp_path), None, replace(TICK, unique=("id", "k")))
    assert [(row["t"]) for row in both.good.to_pylist()] == [1, 2, 3, 4, 5, 8]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"time_unit": "weeks"}, "unknown time unit 'weeks'"),
        ({"types": (("v", "float"),)}, "unknown type of column v: 'float'"),
        ({"types": (("type", "double"),)}, "column type holds event types"),
        ({"type_case": "title"}, "unknown case of event types 'title'"),
        ({"time_format": "%d/%q"}, "time format '%d/%q' cannot be read"),
        ({"time_format": "%f"}, "time format '%f' cannot be read"),
        ({"time_format": "%z %d"}, "time format '%z %d' cannot be read"),
        ({"zone": "Mars/Base"}, "unknown time zone 'Mars/Base'"),
        ({"zone": "../etc/passwd"}, "unknown time zone"),
    ],
)
def test_what_cannot_be_said_is_refused(options: dict[str, object], told: str) -> None:
    with pytest.raises(StreamError) as refused:
        ColumnOptions(**options)  # type: ignore[arg-type]
    assert refused.value.code == "E451"
    assert told in refused.value.message


def test_columns_that_are_named_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("t,v\n1,2\n")
    for options in ({"types": (("w", "double"),)}, {"unique": ("w",)}):
        with pytest.raises(StreamError, match="no file has a column 'w'"):
            infer_columns(discover(tmp_path), replace(TICK, **options))


def test_the_command_line_says_all_of_it(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("when,kind,id,v\n1.7.2026, A ,1,x\n1.7.2026,a,1,2\n2.7.2026,a,2,3\n")
    (tmp_path / "q.hamlet").write_text("q: RETURN COUNT(*), SUM(a.v) PATTERN a WITHIN 7 days")
    command = [
        *("run", str(tmp_path / "q.hamlet"), "--events", str(tmp_path / "f.csv"), "--time", "when", "--type"),
        *("kind", "--time-format", "%d.%m.%Y", "--zone", "Europe/Berlin", "--column", "v=integer"),
        *("--type-trim", "--type-case", "lower", "--unique", "id", "--format", "json", "--engine", "greta"),
        *("--on-bad-rows", "skip", "--out", str(tmp_path / "out.json")),
    ]
    assert main(command) == 0
    found = json.loads((tmp_path / "out.json").read_text())
    assert [(row["aggregate"], row["value"]) for row in found] == [("COUNT(*)", 2.0), ("SUM(a.v)", 5.0)]
    assert main([*command, "--column", "v"]) == 2
