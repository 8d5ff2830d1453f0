"""Streams as files: what is written is read again, and broken rows are rejected, each for its own reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hamlet_core.errors import StreamError
from hamlet_core.streams import (
    BROKEN_KINDS,
    STREAMS,
    RideSharing,
    generate,
    generate_stream,
    write_csv,
    write_stream,
)
from hamlet_core.streams.files import _damages, _plain
from pipelines.reading import ColumnOptions, discover, read_all

TABLE = generate(RideSharing(events=4_000))
CODES = ("E411", "E420", "E402", "E403", "E415", "E404", "E406", "E412")


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str) -> None:
    write_stream(TABLE, tmp_path / f"rides.{suffix}")
    good, rejected, _ = read_all(discover(tmp_path), None, ColumnOptions())
    assert rejected.num_rows == 0
    assert good.combine_chunks().equals(_plain(TABLE).combine_chunks())


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_every_stream_is_read_again(tmp_path: Path, name: str, suffix: str) -> None:
    table = generate_stream(name, 2_000, 3)
    write_stream(table, tmp_path / f"events.{suffix}")
    good, rejected, _ = read_all(discover(tmp_path), None, ColumnOptions())
    assert rejected.num_rows == 0
    assert good.combine_chunks().to_pylist() == table.to_pylist()


@pytest.mark.parametrize("name", STREAMS)
def test_rows_of_every_stream_can_be_broken(tmp_path: Path, name: str) -> None:
    table = generate_stream(name, 2_000, 3)
    assert write_csv(table, tmp_path / "events.csv", broken_rows=40) == 40
    good, rejected, _ = read_all(discover(tmp_path), None, ColumnOptions())
    assert (good.num_rows, rejected.num_rows) == (1_960, 40)


def test_names_are_strings_of_a_parquet_file(tmp_path: Path) -> None:
    write_stream(TABLE, tmp_path / "rides.parquet")
    stored = pq.ParquetFile(tmp_path / "rides.parquet").schema
    assert [stored.column(place).logical_type.type for place in (1, 4, 5)] == ["STRING"] * 3
    assert pa.types.is_dictionary(TABLE.schema.field("type").type)


def test_broken_rows_are_rejected_and_nothing_else(tmp_path: Path) -> None:
    assert write_csv(TABLE, tmp_path / "rides.csv", broken_rows=82) == 82
    good, rejected, _ = read_all(discover(tmp_path), None, ColumnOptions())
    counted = Counter(rejected["code"].to_pylist())
    assert counted == {code: 10 + (turn < 2) for turn, code in enumerate(CODES)}
    kept = set(range(1, 4_001)) - set(rejected["row_number"].to_pylist())
    assert good.combine_chunks().equals(
        _plain(TABLE).take([number - 1 for number in sorted(kept)]).combine_chunks()
    )


def test_broken_rows_are_seeded(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_csv(TABLE, tmp_path / f"{name}.csv", broken_rows=20, seed=seed)
    first, second, third = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert first == second != third


def test_no_more_rows_are_broken_than_there_are(tmp_path: Path) -> None:
    assert write_csv(TABLE.slice(0, 3), tmp_path / "rides.csv", broken_rows=10) == 3


def test_every_kind_of_damage_is_documented() -> None:
    assert tuple(_damages(TABLE.schema)) == BROKEN_KINDS


def test_an_unknown_suffix_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StreamError, match="E292"):
        write_stream(TABLE, tmp_path / "rides.xlsx")
