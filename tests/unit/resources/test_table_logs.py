"""A damaged log of a table is told with its file; what the message says to do is done, and the rows are there again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from deltalake.exceptions import DeltaError

from pipelines.steps.execution.computed import Computed, forget_without_results
from resources import table_logs, tables
from resources.table_logs import find_damage
from resources.warehouse import Warehouse, WarehouseError

CHECKPOINT = f"{3:020}.checkpoint.parquet"


def commit(version: int) -> str:
    return f"{version:020}.json"


def table(root: Path, name: str = "q__x", *, checkpoint: bool = True) -> Path:
    """A table of six rows in six commits, with a checkpoint after the fourth; its log."""
    for number in range(6):
        deltalake.write_deltalake(root / name, pa.table({"x": [number]}), mode="append")
        if number == 3 and checkpoint:
            deltalake.DeltaTable(root / name).create_checkpoint()
    return root / name / "_delta_log"


def rows(root: Path, name: str = "q__x") -> list[int]:
    return sorted(Warehouse(root).rows(name)["x"].to_pylist())


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwritten(path: Path) -> None:
    path.write_bytes(b"\0\xff{" * 300)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def new_process() -> None:
    """One that has the table open goes on with what it has read, whatever is written into its older commits."""
    table_logs._opened.clear()


@pytest.mark.parametrize(
    ("file", "harm", "checkpoint"),
    [
        (commit(5), cut, True),
        (commit(5), overwritten, True),
        (commit(5), emptied, True),
        (commit(4), Path.unlink, True),
        (commit(0), overwritten, False),
        (commit(2), cut, False),
        (commit(2), Path.unlink, False),
        (commit(0), Path.unlink, False),
    ],
)
def test_a_commit_that_is_not_whole_is_named(
    tmp_path: Path, file: str, harm: Callable[[Path], None], checkpoint: bool
) -> None:
    log = table(tmp_path, checkpoint=checkpoint)
    assert find_damage(log) is None
    assert rows(tmp_path) == [0, 1, 2, 3, 4, 5]
    harm(log / file)
    new_process()
    with pytest.raises(WarehouseError) as caught:
        rows(tmp_path)
    assert caught.value.code == "E516"
    assert f"the log of the table q__x is damaged: {log / file} is " in caught.value.message
    assert f"delete the folder {log.parent} and run again" in caught.value.hint


def dangling(log: Path) -> None:
    (log / "_last_checkpoint").write_text('{"version":99,"size":3}')


@pytest.mark.parametrize(
    ("harm", "needless"),
    [
        (lambda log: cut(log / CHECKPOINT), [CHECKPOINT, "_last_checkpoint"]),
        (lambda log: overwritten(log / CHECKPOINT), [CHECKPOINT, "_last_checkpoint"]),
        (lambda log: (log / CHECKPOINT).unlink(), ["_last_checkpoint"]),
        (dangling, ["_last_checkpoint"]),
    ],
    ids=["cut", "overwritten", "gone", "dangling"],
)
def test_a_checkpoint_that_is_damaged_is_deleted_and_nothing_is_lost(
    tmp_path: Path, harm: Callable[[Path], None], needless: list[str]
) -> None:
    log = table(tmp_path, "events_copy")
    harm(log)
    with pytest.raises(WarehouseError) as caught:
        rows(tmp_path, "events_copy")
    assert caught.value.code == "E516"
    assert f"nothing is lost: delete {' and '.join(needless)} in that folder" in caught.value.hint
    for name in needless:
        (log / name).unlink()
    assert rows(tmp_path, "events_copy") == [0, 1, 2, 3, 4, 5]


def test_a_checkpoint_whose_commits_are_gone_is_not_called_needless(tmp_path: Path) -> None:
    log = table(tmp_path, "mine")
    (log / commit(1)).unlink()
    assert rows(tmp_path, "mine") == [0, 1, 2, 3, 4, 5]
    cut(log / CHECKPOINT)
    new_process()
    with pytest.raises(WarehouseError, match=r"checkpoint\.parquet is cut off") as caught:
        rows(tmp_path, "mine")
    assert caught.value.hint == "bring it back from a copy, or move the folder away"


def test_a_last_checkpoint_that_readers_pass_over_stops_nobody(tmp_path: Path) -> None:
    overwritten(table(tmp_path) / "_last_checkpoint")
    assert rows(tmp_path) == [0, 1, 2, 3, 4, 5]


def test_events_are_not_told_to_be_deleted(tmp_path: Path) -> None:
    for name in ("events", tables.LEDGER.name, tables.QUARANTINE.name):
        cut(table(tmp_path, name) / commit(5))
        with pytest.raises(WarehouseError, match=f"the log of the table {name} is damaged") as caught:
            Warehouse(tmp_path).open(name)
        assert caught.value.hint.startswith("bring the folder of the table back from a copy of the warehouse")
        assert "delete" not in caught.value.hint


@pytest.mark.parametrize("deleted", [None, tables.COMPUTED, tables.DECISIONS])
def test_nothing_counts_as_computed_once_somebody_has_deleted_it(
    tmp_path: Path, deleted: tables.Table | None
) -> None:
    for made in (tables.COMPUTED, tables.DECISIONS, tables.COMPUTED_PARTITIONS):
        row = {
            "workload": "w",
            "partition": "all",
            "query": "q",
            "query_hash": "h",
            "events_until": datetime(2026, 1, 1, tzinfo=UTC),
        }
        known = {name: value for name, value in row.items() if name in made.schema.names}
        rows = pa.Table.from_pylist([known], made.schema.remove_metadata())
        deltalake.write_deltalake(tmp_path / made.name, rows)
    if deleted is not None:
        shutil.rmtree(tmp_path / deleted.name)
    forget_without_results(Warehouse(tmp_path))
    assert len(Computed.of(Warehouse(tmp_path), "w").entries) == (1 if deleted is None else 0)


def test_a_table_of_others_by_a_name_of_ours(tmp_path: Path) -> None:
    deltalake.write_deltalake(tmp_path / "events", pa.table({"event_time": [1], "x": [1]}))
    with pytest.raises(
        WarehouseError, match="a Delta table without the column bucket, day, event_type"
    ) as caught:
        Warehouse(tmp_path).stored(tables.ALL[0])
    assert caught.value.code == "E518"


@pytest.mark.parametrize("held", ["nothing", "log", "files", "file"])
def test_something_else_where_a_table_belongs(tmp_path: Path, held: str) -> None:
    place, warehouse = tmp_path / tables.PUBLISHED.name, Warehouse(tmp_path)
    if held == "file":
        place.touch()
    elif held != "nothing":
        (place / ("_delta_log" if held == "log" else "a.csv")).mkdir(parents=True)
    if held in ("nothing", "log"):
        assert warehouse.stored(tables.PUBLISHED) is None
        return
    with pytest.raises(
        WarehouseError, match=f"{place} is where the table trend_aggregates belongs"
    ) as caught:
        warehouse.stored(tables.PUBLISHED)
    assert caught.value.code == "E518"


def test_a_table_is_opened_once_as_long_as_nothing_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table(tmp_path)
    made: list[str] = []
    right = deltalake.DeltaTable
    monkeypatch.setattr(
        deltalake, "DeltaTable", lambda place, **how: made.append(place) or right(place, **how)
    )
    for _ in range(3):
        assert rows(tmp_path) == [0, 1, 2, 3, 4, 5]
    assert len(made) == 1
    assert Warehouse(tmp_path).open("q__x", 2).version() == 2
    assert Warehouse(tmp_path).version("q__x") == 5


CHANGES: dict[str, Callable[[Path], object]] = {
    "a commit of others": lambda place: deltalake.write_deltalake(place, pa.table({"x": [9]}), mode="append"),
    "a commit of ours": lambda place: Warehouse(place.parent).open(place.name).delete("x < 2"),
    "a table made anew": lambda place: (
        shutil.rmtree(place),
        [deltalake.write_deltalake(place, pa.table({"x": [8]}), mode="append") for _ in range(6)],
    ),
    "no table any more": shutil.rmtree,
    "a last commit that is cut": lambda place: cut(place / "_delta_log" / commit(5)),
    "a first commit that is gone": lambda place: [
        (place / "_delta_log" / name).unlink() for name in (commit(0), CHECKPOINT)
    ],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_a_table_that_is_open_is_seen(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    """As by a process that opens it for the first time."""
    table(tmp_path)
    assert rows(tmp_path) == [0, 1, 2, 3, 4, 5]
    change(tmp_path / "q__x")
    found = []
    for look in range(2):
        try:
            found.append(rows(tmp_path))
        except (WarehouseError, DeltaError) as failure:
            found.append(f"{type(failure).__name__} {failure}")
        if not look:
            new_process()
    assert found[0] == found[1] != [0, 1, 2, 3, 4, 5]


def test_an_empty_log_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "q__x" / "_delta_log" / "_staged_commits").mkdir(parents=True)
    (tmp_path / "q__x" / "_delta_log" / f".{commit(0)}.tmp").write_text("{}")
    assert not Warehouse(tmp_path).exists("q__x")
    assert not Warehouse(tmp_path).exists("nothing")
    table(tmp_path, "q__y")
    assert Warehouse(tmp_path).names() == ("q__y",)
