"""Frames of other libraries, data sets and paths give the rows of the Arrow table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from hamlet_core import EventSchema, StreamError, execute, run
from hamlet_core.table.frames import opened, read

QUERY = """
p: RETURN g, COUNT(*), SUM(b.v), MAX(b.x) PATTERN SEQ(A a, B b+) WHERE [k] GROUP-BY g WITHIN 10 min SLIDE 5 min
q: RETURN COUNT(*), AVG(b.x) PATTERN B b+ WHERE b.g = 'north' WITHIN 10 min
"""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
ROWS = 60


def table() -> pa.Table:
    return pa.table(
        {
            "time": pa.array(
                [BEGIN + timedelta(seconds=20 * row) for row in range(ROWS)], pa.timestamp("us", "UTC")
            ),
            "type": [("A", "B", "B", "C")[row * 7 % 4] for row in range(ROWS)],
            "k": [row % 3 for row in range(ROWS)],
            "g": [("north", "south")[row % 2] for row in range(ROWS)],
            "v": pa.array([row * 5 % 11 for row in range(ROWS)], pa.int64()),
            "x": pa.array([None if row % 9 == 0 else row / 4 for row in range(ROWS)], pa.float64()),
            "unread": [[row] for row in range(ROWS)],
        }
    )


def of_pandas(given: pa.Table) -> pd.DataFrame:
    return given.drop_columns("unread").to_pandas()


def of_duckdb(given: pa.Table) -> Any:
    return duckdb.from_arrow(given)


def parquet(given: pa.Table, folder: Path) -> Path:
    pq.write_table(given, folder / "events.parquet")
    return folder / "events.parquet"


FRAMES: dict[str, Callable[[pa.Table, Path], Any]] = {
    "polars": lambda given, _: pl.from_arrow(given),
    "polars, texts as categories": lambda given, _: pl.from_arrow(given).with_columns(
        pl.col("g", "type").cast(pl.Categorical)
    ),
    "pandas": lambda given, _: of_pandas(given),
    "pandas, other index": lambda given, _: of_pandas(given).set_index("k", drop=False).rename_axis(None),
    "pandas, texts as categories": lambda given, _: of_pandas(given).astype({"g": "category"}),
    "duckdb": lambda given, _: of_duckdb(given),
    "batch": lambda given, _: given.combine_chunks().to_batches()[0],
    "reader": lambda given, _: given.to_reader(7),
    "data set": lambda given, _: ds.dataset(given),
    "data set of files": lambda given, folder: ds.dataset(parquet(given, folder)),
    "scanner": lambda given, _: ds.dataset(given).scanner(),
    "path": parquet,
    "path as text": lambda given, folder: str(parquet(given, folder)),
    "folder": lambda given, folder: parquet(given, folder).parent,
}


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("engine", ["hamlet", "greta"])
def test_every_frame_gives_the_rows_of_the_table(name: str, engine: str, tmp_path: Path) -> None:
    wanted = run(QUERY, table(), engine=engine, arithmetic="exact")
    assert wanted.num_rows > 10
    assert run(QUERY, FRAMES[name](table(), tmp_path), engine=engine, arithmetic="exact") == wanted


@pytest.mark.parametrize("below", ["", "lake"])
def test_a_delta_table_is_given_as_a_data_set_and_not_as_a_path(below: str, tmp_path: Path) -> None:
    """Its folder holds files that it no longer holds."""
    place = tmp_path / below / "rides"
    place.parent.mkdir(exist_ok=True)
    deltalake.write_deltalake(place, table())
    deltalake.DeltaTable(place).delete("k = 1")
    with pytest.raises(StreamError, match=rf"E209.*{place} is a Delta table") as refused:
        run(QUERY, tmp_path if below else place)
    assert "to_pyarrow_dataset" in refused.value.hint
    left = table().filter(pc.not_equal(table()["k"], 1))
    wanted = run(QUERY, left, arithmetic="exact")
    found = run(QUERY, deltalake.DeltaTable(place).to_pyarrow_dataset(), arithmetic="exact")
    assert found == wanted


def test_other_functions_take_them_too() -> None:
    assert execute(QUERY, pl.from_arrow(table()), engine="greta").results == run(
        QUERY, table(), engine="greta"
    )


def test_of_a_data_set_only_the_columns_that_are_read_are_read() -> None:
    found = read(opened(ds.dataset(table())), ["time", "type", "v", "no such"])
    assert found.schema.names == ["time", "type", "v"]


def test_types_of_files_are_read_as_codes(tmp_path: Path) -> None:
    path = parquet(table(), tmp_path)
    assert pa.types.is_dictionary(opened(path, "type").schema.field("type").type)
    for other in (None, "k", "no such"):
        assert opened(path, other).schema.equals(table().schema)


@pytest.mark.parametrize(
    "other", [pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_files_of_a_folder_may_keep_types_in_other_ways(other: pa.DataType, tmp_path: Path) -> None:
    place = table().schema.get_field_index("type")
    types = table()["type"].dictionary_encode() if pa.types.is_dictionary(other) else table()["type"]
    changed = table().set_column(place, "type", types.cast(other))
    for name, part in (("one", table().slice(0, 20)), ("two", changed.slice(20))):
        pq.write_table(part, tmp_path / f"{name}.parquet")
    assert run(QUERY, tmp_path) == run(QUERY, table())


def test_numbers_among_the_types_of_a_folder_are_their_texts(tmp_path: Path) -> None:
    for name, kind in (("one", pa.string()), ("two", pa.int64())):
        types = pa.array([1, 2]).cast(kind)
        pq.write_table(pa.table({"time": [0, 1], "type": types}), tmp_path / f"{name}.parquet")
    (row,) = run('RETURN COUNT(*) PATTERN SEQ("1" a, "2" b) WITHIN 10 s', tmp_path).to_pylist()
    assert row["value"] == 4


def test_a_column_that_is_not_there_is_named_with_all_that_are() -> None:
    with pytest.raises(StreamError, match="E202") as caught:
        run("RETURN COUNT(*) PATTERN B b WHERE b.speed > 3 WITHIN 1 s", ds.dataset(table()))
    assert "unread" in str(caught.value)


def test_time_and_type_may_have_other_names(tmp_path: Path) -> None:
    renamed = table().rename_columns({"time": "at", "type": "kind"})
    schema = EventSchema(time="at", type="kind")
    for given in (pl.from_arrow(renamed), ds.dataset(renamed), parquet(renamed, tmp_path)):
        assert run(QUERY, given, schema=schema, engine="greta") == run(QUERY, table(), engine="greta")


def test_nanoseconds_that_would_be_lost_are_refused() -> None:
    frame = of_pandas(table())
    frame["time"] += pd.Timedelta(1, "ns")
    with pytest.raises(StreamError, match="E206"):
        run(QUERY, frame, engine="greta")
