"""Reading Parquet: declared types are kept as few plain ones; what does not fit is rejected row by row."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hamlet_core.errors import StreamError
from pipelines.reading import (
    ColumnOptions,
    decide,
    discover,
    evidence,
    ignored,
    infer_columns,
    merge,
    read_all,
)

TICK = ColumnOptions(time="t", type_value="Tick")
UTC_US = pa.timestamp("us", "UTC")


def read(folder: Path, *tables: pa.Table, options: ColumnOptions = TICK):
    for place, table in enumerate(tables):
        pq.write_table(table, folder / f"f{place}.parquet")
    return read_all(discover(folder), None, options)[:2]


def timed(values: pa.Array) -> pa.Table:
    return pa.table({"t": pa.array(range(len(values)), pa.int64()), "v": values})


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (pa.array([1, None], pa.uint8()), pa.int64(), [1, None]),
        (pa.array([1], pa.int32()), pa.int64(), [1]),
        (pa.array([1.5], pa.float32()), pa.float64(), [1.5]),
        (pa.array([np.float16(0.5)], pa.float16()), pa.float64(), [0.5]),
        (pa.array([Decimal("1.50")], pa.decimal128(5, 2)), pa.decimal128(5, 2), [Decimal("1.50")]),
        (pa.array([Decimal("1.50")], pa.decimal256(5, 2)), pa.decimal128(5, 2), [Decimal("1.50")]),
        (pa.array(["a", None], pa.large_string()), pa.string(), ["a", None]),
        (pa.array(["a", "a"]).dictionary_encode(), pa.string(), ["a", "a"]),
        (pa.array([b"a"], pa.binary()), pa.string(), ["a"]),
        (pa.array([True]), pa.bool_(), [True]),
        (pa.array([date(2015, 1, 2)], pa.date64()), pa.date32(), [date(2015, 1, 2)]),
        (pa.array([{"a": [1]}]), pa.string(), ['{"a": [1]}']),
        (pa.array([None, None], pa.null()), pa.string(), [None, None]),
        (pa.array([1_000, None], pa.timestamp("ns")), UTC_US, [datetime(1970, 1, 1, 0, 0, 0, 1, UTC), None]),
        (pa.array([1], pa.timestamp("ms")), UTC_US, [datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)]),
        (pa.array([3600], pa.timestamp("s", "Europe/Paris")), UTC_US, [datetime(1970, 1, 1, 1, tzinfo=UTC)]),
    ],
)
def test_types(tmp_path: Path, values: pa.Array, kind: pa.DataType, expected: list[object]) -> None:
    good, rejected = read(tmp_path, timed(values))
    assert rejected.num_rows == 0
    assert good.schema.field("v").type == kind
    assert good["v"].to_pylist() == expected


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (pa.array([1, 2**63], pa.uint64()), "E416"),
        (pa.array([1.5, float("nan")]), "E415"),
        (pa.array([1.5, float("-inf")], pa.float32()), "E415"),
        (pa.array([1_000, 1_001], pa.timestamp("ns")), "E417"),
        (pa.array([1, 2**60], pa.timestamp("ms")), "E416"),
        (pa.array([b"a", b"\xff"], pa.binary()), "E404"),
    ],
)
def test_values_that_do_not_survive(tmp_path: Path, values: pa.Array, code: str) -> None:
    good, rejected = read(tmp_path, timed(values))
    assert good["t"].to_pylist() == [0]
    (row,) = rejected.to_pylist()
    assert (row["row_number"], row["code"]) == (2, code)
    assert json.loads(row["raw"])["t"] == 1


def test_times(tmp_path: Path) -> None:
    good, rejected = read(tmp_path, pa.table({"t": [1.0, 2.5, None, float("nan"), 1e19]}))
    assert good["t"].to_pylist() == [1]
    assert rejected["code"].to_pylist() == ["E410", "E420", "E415", "E416"]


def test_times_as_text(tmp_path: Path) -> None:
    good, rejected = read(tmp_path, pa.table({"t": ["2015-01-01T00:00:00Z", "soon"]}))
    assert good["t"].to_pylist() == [datetime(2015, 1, 1, tzinfo=UTC)]
    assert rejected["code"].to_pylist() == ["E412"]


def test_a_column_of_texts_that_is_declared_to_be_numbers(tmp_path: Path) -> None:
    numbers = replace(TICK, types=(("v", "double"),))
    good, rejected = read(tmp_path, timed(pa.array(["1", "2.5", "x"])), options=numbers)
    assert good["v"].to_pylist() == [1.0, 2.5]
    assert rejected["code"].to_pylist() == ["E411"]


def test_types_may_be_numbers(tmp_path: Path) -> None:
    table = pa.table({"time": [1, 2], "type": pa.array([7, None], pa.int16())})
    good, rejected = read(tmp_path, table, options=ColumnOptions())
    assert good["type"].to_pylist() == ["7"]
    assert rejected["code"].to_pylist() == ["E421"]


def test_files_with_types_that_go_together(tmp_path: Path) -> None:
    tables = [
        timed(pa.array([1], pa.int32())),
        timed(pa.array([2.5], pa.float32())),
        timed(pa.array([Decimal("0.25")])),
    ]
    good, rejected = read(tmp_path, *tables)
    assert (good["v"].to_pylist(), rejected.num_rows) == ([1.0, 2.5, 0.25], 0)


def test_files_with_types_in_conflict(tmp_path: Path) -> None:
    good, rejected = read(
        tmp_path, timed(pa.array([1, 2])), timed(pa.array(["a"])), timed(pa.array([True, None]))
    )
    assert good["v"].to_pylist() == [1, 2, None]
    assert rejected["code"].to_pylist() == ["E410", "E418"]
    assert rejected["reason"].to_pylist()[1] == "column v is bool in this file, and int64 in the others"


@pytest.mark.parametrize("keep", [0, 3, 200])
def test_a_damaged_file_is_one_rejected_row(tmp_path: Path, keep: int) -> None:
    pq.write_table(timed(pa.array(range(1000))), tmp_path / "good.parquet")
    content = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "bad.parquet").write_bytes(content[:keep])
    good, rejected, _ = read_all(discover(tmp_path), None, TICK)
    assert good.num_rows == 1000
    assert [(r["source_file"], r["row_number"], r["code"]) for r in rejected.to_pylist()] == [
        ("bad.parquet", None, "E401")
    ]


def test_damage_in_the_middle_says_which_rows_are_lost(tmp_path: Path) -> None:
    random = np.random.default_rng(1).random(300_000)
    pq.write_table(timed(pa.array(random)), tmp_path / "f.parquet", row_group_size=100_000)
    content = bytearray((tmp_path / "f.parquet").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 400_000] = bytes(400_000)
    (tmp_path / "f.parquet").write_bytes(content)
    good, rejected, _ = read_all(discover(tmp_path), None, TICK)
    (row,) = rejected.to_pylist()
    assert row["row_number"] is None
    assert f"rows {good.num_rows + 1} to 300000 are lost" in row["reason"]
    assert good.num_rows >= 65_536


def test_evidence_travels_and_adds_up(tmp_path: Path) -> None:
    pq.write_table(timed(pa.array([1])), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_text("t,v,w\n2,3,x\n")
    files = discover(tmp_path)
    parts = [pickle.loads(pickle.dumps(evidence(file, TICK))) for file in files]
    assert decide(merge(parts), TICK) == infer_columns(files, TICK)
    assert [column.name for column in merge(parts).columns] == ["t", "v", "w"]


def test_discover(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("b.CSV", "sub/a.ndjson", "notes.txt", ".hidden.csv", "_half.csv"):
        (tmp_path / name).write_text("t\n1\n")
    files = discover(tmp_path)
    assert [file.name for file in files] == ["b.CSV", "sub/a.ndjson"]
    assert files[0].fingerprint == files[1].fingerprint
    assert files[0].size == 4
    assert ignored(tmp_path) == ("notes.txt",)
    assert [file.name for file in discover(tmp_path / "notes.txt")] == ["notes.txt"]
    for wrong in (tmp_path / "nothing", tmp_path / "*.nothing"):
        with pytest.raises(StreamError, match="E450"):
            discover(wrong)
    with pytest.raises(StreamError, match="E451"):
        ColumnOptions(time_unit="week")


def int96(folder: Path, times: pa.Array) -> tuple[pa.Table, pa.Table]:
    table = pa.table({"t": times, "other": times})
    pq.write_table(table, folder / "old.parquet", use_deprecated_int96_timestamps=True)
    assert {column.physical_type for column in map(pq.ParquetFile(folder / "old.parquet").schema.column, (0, 1))} == {
        "INT96"
    }  # fmt: skip
    return read_all(discover(folder), None, TICK)[:2]


def test_times_as_int96_are_those_of_any_year(tmp_path: Path) -> None:
    times = [
        datetime(year, 7, 2, 3, 4, 5, 678_901, UTC) for year in (1, 1676, 1816, 1970, 2026, 2263, 2500, 9999)
    ]
    good, rejected = int96(tmp_path, pa.array(times, pa.timestamp("us", "UTC")))
    assert good.to_pylist() == [{"t": time, "other": time} for time in times]
    assert rejected.num_rows == 0


def test_times_as_int96_that_are_finer_than_a_microsecond_are_rejected_row_by_row(tmp_path: Path) -> None:
    times = pa.array([0, 1_000, 1_001, -1, -1_000], pa.timestamp("ns"))
    good, rejected = int96(tmp_path, times)
    assert [time.timestamp() for time in good.column("t").to_pylist()] == [0, 1e-6, -1e-6]
    assert [(row["row_number"], row["code"]) for row in rejected.to_pylist()] == [(3, "E417"), (4, "E417")]
    assert "'1970-01-01 00:00:00.000001001' is finer than a microsecond" in rejected["reason"][0].as_py()
    assert "'1969-12-31 23:59:59.999999999' is" in rejected["reason"][1].as_py()
