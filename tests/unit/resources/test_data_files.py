"""Files that tasks write: what their commit says of them, and that readers of Delta find every row by it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from resources import data_files
from resources.data_files import NEW_FILES, FileWriter, add_actions, statistics_of
from resources.storage import Location, WarehouseError
from resources.tables import TIMESTAMP, Check, Column, Table
from resources.warehouse import Warehouse

SHAPE = Table(
    "numbers",
    "of a test",
    (
        Column("word", pa.string(), ""),
        Column("at", TIMESTAMP, ""),
        Column("number", pa.int64(), ""),
        Column("place", pa.string(), ""),
        Column("day", pa.date32(), ""),
    ),
    partition=("day", "place"),
    properties=(("delta.dataSkippingStatsColumns", "word,at"),),
)
SCHEMA = SHAPE.schema.remove_metadata()
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
ROWS = [
    {
        "word": word,
        "at": NOON + timedelta(microseconds=number * 1_001),
        "number": number,
        "place": place,
        "day": day,
    }
    for number, (word, place, day) in enumerate(
        [
            ("b", "a/b=c d%20ü", date(2026, 1, 5)),
            ("a", "a/b=c d%20ü", date(2026, 1, 5)),
            (None, "x", date(2026, 1, 6)),
            ("ü" * 9_000, None, date(2026, 1, 6)),
            ("c", None, date(2026, 1, 6)),
        ]
    )
]


def batch(rows: list[dict[str, object]]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


def written(place: Path, *batches: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches(FileWriter(Location.of(place), SHAPE).write(batches), NEW_FILES)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """An empty table of the shape."""
    place = tmp_path / "numbers"
    deltalake.DeltaTable.create(
        place, SCHEMA, partition_by=list(SHAPE.partition), configuration=dict(SHAPE.properties)
    )
    return place


def test_files_of_several_tasks_are_one_commit_with_all_rows(table: Path) -> None:
    warehouse = Warehouse(table.parent)
    new = pa.concat_tables([written(table, batch(ROWS[:3]), batch(ROWS[3:])), written(table, batch(ROWS))])
    assert new.num_rows == 6
    assert deltalake.DeltaTable(table).file_uris() == []  # nothing is visible without the commit
    warehouse.add_files(new, SHAPE)
    assert deltalake.DeltaTable(table).version() == 1
    key = [("number", "ascending")]
    for found in (warehouse.rows("numbers"), deltalake.DeltaTable(table).to_pyarrow_table()):
        assert found.sort_by(key).to_pylist() == sorted(ROWS * 2, key=lambda row: row["number"])


def test_readers_find_rows_by_partition_and_statistics(table: Path) -> None:
    Warehouse(table.parent).add_files(written(table, batch(ROWS)), SHAPE)
    scan = deltalake.DeltaTable(table).to_pyarrow_dataset()
    for row in ROWS:
        wanted = (pc.field("at") == row["at"]) & (pc.field("day") == row["day"])
        assert [one["number"] for one in scan.to_table(filter=wanted).to_pylist()] == [row["number"]]
        here = Warehouse(table.parent).dataset("numbers").to_table(filter=wanted)
        assert here.column("number").to_pylist() == [row["number"]]


def test_no_rows_are_no_files_and_an_empty_commit(table: Path) -> None:
    new = written(table)
    assert new.num_rows == 0
    Warehouse(table.parent).add_files(new, SHAPE)
    assert deltalake.DeltaTable(table).version() == 1
    assert Warehouse(table.parent).rows("numbers").num_rows == 0


def test_files_that_only_another_machine_has_are_not_committed(table: Path) -> None:
    warehouse, new = Warehouse(table.parent), written(table, batch(ROWS))
    (table / new.column("path")[1].as_py()).unlink()
    with pytest.raises(WarehouseError, match=r"1 of 3 files that tasks have written are not here") as caught:
        warehouse.add_files(new, SHAPE)
    assert caught.value.code == "E538"
    assert deltalake.DeltaTable(table).version() == 0


def grown(place: Path, *several: list[dict[str, object]]) -> list[list[int]]:
    """How many rows have the files that are ended by each of some writes, and by the end."""
    with FileWriter(Location.of(place), SHAPE).growing() as files:
        ended = [files.write(pa.table(batch(rows))) for rows in several]
        ended.append(files.end())
    Warehouse(place.parent).add_files(pa.Table.from_batches(ended), SHAPE)
    return [
        [json.loads(one)["numRecords"] for one in some.column("statistics").to_pylist()] for some in ended
    ]


def test_a_file_grows_until_it_is_large_or_others_are_written_to(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = ROWS[:2], ROWS[2:3], ROWS[3:]
    assert grown(table, ROWS, first, third) == [[], [], [], [1, 4, 4]]
    monkeypatch.setattr(data_files, "MOST_OPEN", 2)
    assert grown(table, first, second, third, second, first) == [[], [], [2], [], [2], [2, 2]]
    monkeypatch.setattr(data_files, "MOST_IN_FILE", 3)
    assert grown(table, first, first, third, third) == [[], [4], [], [4], []]
    monkeypatch.setattr(Location, "local", property(lambda _: None))
    assert grown(table, first, first, []) == [[2], [2], [], []]
    parts = (ROWS, *[first] * 7, *[second] * 2, *[third] * 4)
    found = Warehouse(table.parent).rows("numbers", ["number"]).column(0).to_pylist()
    assert sorted(found) == sorted(row["number"] for part in parts for row in part)
    for file in deltalake.DeltaTable(table).file_uris():
        groups = pq.ParquetFile(file).metadata
        assert all(groups.row_group(place).num_rows for place in range(groups.num_row_groups))


def test_files_that_were_not_ended_are_deleted(table: Path) -> None:
    def broken() -> None:
        with FileWriter(Location.of(table), SHAPE).growing() as files:
            files.write(pa.table(batch(ROWS)))
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        broken()
    assert list(table.rglob("*.parquet")) == []


def test_what_the_rows_raise_is_raised(table: Path) -> None:
    def broken():
        yield batch(ROWS)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(FileWriter(Location.of(table), SHAPE).write(broken()))


def test_statistics_are_rounded_outwards_and_of_the_asked_columns_only(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_batches([batch(ROWS[:3])]), tmp_path / "one", row_group_size=1)
    found = statistics_of(pq.read_metadata(tmp_path / "one"), ("word", "at", "absent"))
    assert found == {
        "numRecords": 3,
        "minValues": {"at": "2026-01-05T12:00:00.000Z"},
        "maxValues": {"at": "2026-01-05T12:00:00.003Z"},
        "nullCount": {"word": 1, "at": 0},
    }
    pq.write_table(pa.Table.from_batches([batch(ROWS[:2])]), tmp_path / "two")
    found = statistics_of(pq.read_metadata(tmp_path / "two"), ("word",))
    assert (found["minValues"], found["maxValues"]) == ({"word": "a"}, {"word": "b"})


def test_partition_values_are_those_of_the_rows(tmp_path: Path) -> None:
    actions = add_actions(written(tmp_path, batch(ROWS)))
    assert sorted((one.partition_values for one in actions), key=str) == [
        {"day": "2026-01-05", "place": "a/b=c d%20ü"},
        {"day": "2026-01-06", "place": "x"},
        {"day": "2026-01-06", "place": None},
    ]
    assert sum(json.loads(one.stats)["numRecords"] for one in actions) == len(ROWS)


def test_a_table_without_partitions_has_one_file_in_its_folder(tmp_path: Path) -> None:
    whole = FileWriter(Location.of(tmp_path), replace(SHAPE, partition=()))
    (found,) = pa.Table.from_batches(whole.write([batch(ROWS)]), NEW_FILES).to_pylist()
    assert (found["partition"], "/" in found["path"]) == ("{}", False)
    assert pq.read_table(tmp_path / found["path"]).to_pylist() == ROWS


def test_a_table_whose_rows_have_to_be_tested_is_refused(tmp_path: Path) -> None:
    tested = Table("tested", "", SHAPE.columns, checks=(Check("positive", "number > 0"),))
    with pytest.raises(ValueError, match="rows of tested have to be tested"):
        Warehouse(tmp_path).writer(None, tested)
