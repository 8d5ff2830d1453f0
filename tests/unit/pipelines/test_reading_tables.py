"""Readers of tables that are damaged or being replaced: which table, which file, what to do; never half of two answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from pipelines.cli import main
from pipelines.querying import query
from resources.warehouse import Warehouse

ROWS = 1_000
COMMITS = 3
PUBLISHED, EVENTS, OTHER = "trend_aggregates", "events", "mine"


def table(root: Path, name: str) -> Path:
    """A table of some files, in folders of partitions, with a checkpoint; its first file."""
    for number in range(COMMITS):
        rows = pa.table({"x": range(ROWS), "day": [f"d{number}"] * ROWS})
        deltalake.write_deltalake(root / name, rows, mode="append", partition_by=["day"])
    deltalake.DeltaTable(root / name).create_checkpoint()
    return min((root / name).rglob("day=*/*.parquet"))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def zeroed(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) // 2) + content[len(content) // 2 + 4 :])


@pytest.mark.parametrize("harm", [Path.unlink, cut, emptied, zeroed], ids=lambda harm: harm.__name__)
@pytest.mark.parametrize("name", [PUBLISHED, EVENTS, OTHER])
def test_a_query_over_a_damaged_data_file_names_it_and_its_cure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], harm: Callable[[Path], None], name: str
) -> None:
    sound, damaged = table(tmp_path, "sound"), table(tmp_path, name)
    harm(damaged)
    assert main(["query", f"SELECT sum(x) AS total FROM {name}", "--warehouse", str(tmp_path)]) == 1
    told, hint = capsys.readouterr().err.splitlines()
    state = "is damaged" if damaged.exists() else "is gone"
    assert told == f"Error: [E514] a data file of the table {name} {state}: {damaged}"
    cures = {
        PUBLISHED: f"delete the folder {tmp_path / PUBLISHED} and run again",
        EVENTS: "back from a copy of the warehouse; without one, ingest the files again into a new --warehouse",
        OTHER: "bring it back from a copy, or move the folder away",
    }
    assert cures[name] in hint
    command = ["query", "SELECT count(*) AS n FROM sound", "--warehouse", str(tmp_path), "--format", "json"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": COMMITS * ROWS}]
    assert sound.exists()


def replaced(root: Path, number: int, columns: int) -> None:
    """Replace all rows, and columns, by a number that is the same in all."""
    rows = pa.table({"x": [number] * ROWS, **{f"y{one}": [number] * ROWS for one in range(columns)}})
    deltalake.write_deltalake(root / PUBLISHED, rows, mode="overwrite", schema_mode="overwrite")


def by_duckdb(root: Path) -> tuple[int, int, int, int]:
    sql = f"SELECT count(*) AS n, min(x) AS low, max(x) AS high, max(y0) AS other FROM {PUBLISHED}"
    (row,) = query(sql, root).to_pylist()
    return row["n"], row["low"], row["high"], row["other"]


def by_delta_rs(root: Path) -> tuple[int, int, int, int]:
    rows = deltalake.DeltaTable(root / PUBLISHED).to_pyarrow_table()
    found = [rows[name].to_pylist() for name in ("x", "y0")]
    return rows.num_rows, min(found[0]), max(found[0]), max(found[1])


def by_the_warehouse(root: Path) -> tuple[int, int, int, int]:
    rows = Warehouse(root).rows(PUBLISHED)
    assert None not in rows[rows.column_names[-1]].to_pylist()
    return rows.num_rows, min(rows["x"].to_pylist()), max(rows["x"].to_pylist()), max(rows["y0"].to_pylist())


@pytest.mark.parametrize("read", [by_duckdb, by_delta_rs, by_the_warehouse], ids=lambda read: read.__name__)
def test_who_reads_in_a_loop_while_a_table_is_replaced_sees_one_version_whole(
    tmp_path: Path, read: Callable[[Path], tuple[int, int, int, int]]
) -> None:
    """Rows and columns change in one commit: what was read has as many rows as ever, all of one number."""
    replaced(tmp_path, 0, 1)
    begun, stop = threading.Event(), threading.Event()
    seen: list[tuple[int, int, int, int]] = []
    failed: list[BaseException] = []

    def loop() -> None:
        while not stop.is_set() and not failed:
            try:
                seen.append(read(tmp_path))
            except BaseException as failure:  # noqa: BLE001 - shown by the test
                failed.append(failure)
            begun.set()

    reader = threading.Thread(target=loop)
    reader.start()
    assert begun.wait(60)
    for number in range(1, 60):
        replaced(tmp_path, number, 1 + number % 3)
    stop.set()
    reader.join()
    assert failed == []
    assert {(rows, high - low, other - low) for rows, low, high, other in seen} == {(ROWS, 0, 0)}
    order = [low for _, low, _, _ in seen]
    assert order == sorted(order)
    assert len(set(order)) > 1
