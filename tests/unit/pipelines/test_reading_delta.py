"""Delta tables as places of events: what is in them now, and what was appended since they were read."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random

import deltalake
import pyarrow as pa
import pytest
from deltalake import PostCommitHookProperties

from hamlet_core.errors import HamletError, StreamError
from pipelines.reading import (
    ColumnOptions,
    changed_since,
    check_names,
    discover,
    discover_first,
    read_all,
)
from resources.storage import ListedFile

TICK = ColumnOptions()
_NO_CHECKPOINTS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


def events(*times: int, kind: str = "A") -> pa.Table:
    return pa.table({"time": pa.array(times, pa.int64()), "type": [kind] * len(times)})


def append(place: Path, rows: pa.Table, **options) -> None:
    deltalake.write_deltalake(
        place, rows, mode="append", post_commithook_properties=_NO_CHECKPOINTS, **options
    )


def times(files) -> list[int]:
    good, rejected, _ = read_all(files, None, TICK)
    assert rejected.num_rows == 0, rejected.to_pylist()
    return sorted(good.column("time").to_pylist())


@dataclass
class Read:
    """In place of the ledger: the files that were read."""

    fingerprints: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)

    def known(self, file: ListedFile) -> str | None:
        return None

    def has(self, path: str, fingerprint: str) -> bool:
        return fingerprint in self.fingerprints

    def any_below(self, address: str) -> bool:
        return any(path.startswith(address) for path in self.paths)

    def new(self, place: Path) -> list[int]:
        """Read what is new, as an ingest does."""
        files = discover(place, self)
        fresh = [file for file in files if not file.same_as and file.fingerprint not in self.fingerprints]
        found = times(fresh) if fresh else []
        self.fingerprints |= {file.fingerprint for file in files}
        self.paths |= {file.path for file in files}
        return found


def test_what_a_table_no_longer_holds_is_not_read(tmp_path):
    place = tmp_path / "t"
    append(place, events(1, 2, 3))
    append(place, events(4))
    deltalake.DeltaTable(place).optimize.compact()
    deltalake.DeltaTable(place).delete("time = 3")
    assert len([*place.glob("*.parquet")]) > 1
    assert times(discover(place)) == [1, 2, 4]
    assert times(discover(f"file://{place}")) == [1, 2, 4]
    assert times(discover(tmp_path)) == [1, 2, 4]
    assert times(discover(tmp_path / "?")) == [1, 2, 4]


def test_a_table_lies_among_files(tmp_path):
    append(tmp_path / "lake" / "t", events(1))
    append(tmp_path / "lake" / "t", events(2), schema_mode="merge")
    deltalake.DeltaTable(tmp_path / "lake" / "t").delete("time = 1")
    append(tmp_path / "_hidden" / "h", events(7))
    (tmp_path / "f.csv").write_text("time,type\n3,A\n")
    files = discover(tmp_path)
    assert times(files) == [2, 3]
    assert [Path(file.name).parent.as_posix() for file in files] == [".", "lake/t"]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("type", ["A", "x y/ü%=", None, "50%25"]),
        ("day", [date(2026, 1, 1), None, date(1969, 12, 31), date(2026, 2, 1)]),
        ("n", [1, -5, None, 2**53 + 1]),
        ("ok", [True, False, None, True]),
    ],
)
def test_columns_by_which_a_table_is_partitioned_are_read(tmp_path, column, values):
    rows = {"time": [1, 2, 3, 4], "type": ["A", "B", "C", "D"], column: values}
    append(tmp_path / "t", pa.table(rows), partition_by=[column])
    memory = Read()
    memory.paths.add("/elsewhere")
    for files in (discover(tmp_path / "t"), discover(tmp_path / "t", memory)):
        good, rejected, _ = read_all(files, None, ColumnOptions(), None if column != "type" else frozenset())
        found = {row["time"]: row[column] for row in good.to_pylist()}
        rows_out = {row["time"] for row in map(json.loads, rejected.column("raw").to_pylist())}
        # An event without a type is none.
        assert rows_out == ({3} if column == "type" else set())
        assert found == {
            time: value for time, value in zip(rows["time"], values, strict=True) if time not in rows_out
        }
    assert check_names(files, ColumnOptions(), {column}) is None


def test_a_table_may_be_partitioned_by_the_time_of_its_events(tmp_path):
    moments = [datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(3)]
    for number in range(2):
        texts = pa.array(moments, pa.timestamp("us", "UTC"))
        written = texts if number == 0 else [one.isoformat() for one in moments]
        rows = pa.table({"time": written, "type": ["A", "B", "C"]})
        append(tmp_path / str(number), rows, partition_by=["time"])
        good, rejected, _ = read_all(discover(tmp_path / str(number)), None, TICK)
        assert rejected.num_rows == 0
        assert sorted(good.column("time").to_pylist()) == moments


def test_appends_that_are_alike_are_two(tmp_path):
    memory, place = Read(), tmp_path / "t"
    append(place, events(1, 2))
    append(place, events(1, 2))
    assert memory.new(place) == [1, 1, 2, 2]
    append(place, events(1, 2))
    assert memory.new(place) == [1, 2]
    assert memory.new(place) == []


def test_a_table_that_is_copied_is_the_same(tmp_path):
    memory = Read()
    append(tmp_path / "t", events(1))
    assert memory.new(tmp_path / "t") == [1]
    shutil.copytree(tmp_path / "t", tmp_path / "u")
    append(tmp_path / "u", events(2))
    assert memory.new(tmp_path / "u") == [2]


def test_what_is_compacted_is_not_read_twice(tmp_path):
    memory, place = Read(), tmp_path / "t"
    append(place, events(1))
    append(place, events(2))
    assert memory.new(place) == [1, 2]
    deltalake.DeltaTable(place).optimize.compact()
    (file,) = discover(place, memory)
    assert file.same_as
    assert file.lasting
    assert memory.new(place) == []
    append(place, events(3))
    deltalake.DeltaTable(place).optimize.compact()
    assert memory.new(place) == [3]
    deltalake.DeltaTable(place).vacuum(0, enforce_retention_duration=False, dry_run=False)
    append(place, events(4))
    assert memory.new(place) == [4]


def test_of_a_long_backlog_whole_commits_are_read_the_oldest_first(tmp_path):
    memory, place = Read(), tmp_path / "t"
    for number in range(5):
        rows = {"time": [10 * number + 1, 10 * number + 2], "type": ["A", "B"]}
        append(place, pa.table(rows), partition_by=["type"])
    seen = []
    for at_most in (1, 1, 3, 9):
        files, left = discover_first(place, memory, at_most)
        fresh = [file for file in files if file.fingerprint not in memory.fingerprints and not file.same_as]
        seen.append((times(fresh), left))
        memory.fingerprints |= {file.fingerprint for file in fresh}
        memory.paths |= {file.path for file in fresh}
        if at_most == 1:
            deltalake.DeltaTable(place).optimize.compact()
    assert [found for found, _ in seen] == [[1, 2], [11, 12], [21, 22, 31, 32], [41, 42]]
    assert [left > 0 for _, left in seen] == [True, True, True, False]


def test_what_was_compacted_and_deleted_before_it_was_read_is_told(tmp_path):
    memory, place = Read(), tmp_path / "t"
    append(place, events(1))
    assert memory.new(place) == [1]
    append(place, events(2))
    deltalake.DeltaTable(place).optimize.compact()
    deltalake.DeltaTable(place).vacuum(0, enforce_retention_duration=False, dry_run=False)
    with pytest.raises(StreamError, match=r"E454.*compacted and deleted before it was read"):
        memory.new(place)
    assert Read().new(place) == [1, 2]


def test_rows_that_were_read_may_not_be_changed(tmp_path):
    memory, place = Read(), tmp_path / "t"
    append(place, events(1, 2))
    deltalake.DeltaTable(place).update(updates={"time": "5"}, predicate="time = 2")
    assert memory.new(place) == [1, 5]
    append(place, events(3, 4))
    deltalake.DeltaTable(place).update(updates={"time": "6"}, predicate="time = 4")
    assert memory.new(place) == [3, 6]
    deltalake.DeltaTable(place).update(updates={"time": "7"}, predicate="time = 5")
    with pytest.raises(
        StreamError, match=r"E454.*version 4 .*UPDATE.* has changed rows that were read"
    ) as told:
        memory.new(place)
    assert "another --warehouse" in told.value.hint


def test_files_that_are_deleted_as_a_whole_stay_read(tmp_path):
    memory, place = Read(), tmp_path / "t"
    append(place, events(1))
    append(place, events(2))
    assert memory.new(place) == [1, 2]
    deltalake.DeltaTable(place).delete("time = 1")
    append(place, events(3))
    assert memory.new(place) == [3]


def test_a_log_that_was_cleaned_says_too_little(tmp_path):
    memory, place = Read(), tmp_path / "t"
    append(place, events(1))
    append(place, events(2))
    assert memory.new(place) == [1, 2]
    clean(place)
    append(place, events(3))
    assert memory.new(place) == [3], "all that the checkpoint has is known"
    append(place, events(4))
    deltalake.DeltaTable(place).optimize.compact()
    clean(place)
    with pytest.raises(StreamError, match=r"E454.*no longer says what came since"):
        memory.new(place)
    assert Read().new(place) == [1, 2, 3, 4]


def clean(place: Path) -> None:
    """Leave a checkpoint of the log, and none of its commits before that."""
    table = deltalake.DeltaTable(place)
    table.create_checkpoint()
    for version in range(table.version()):
        (place / "_delta_log" / f"{version:020}.json").unlink(missing_ok=True)


def test_files_that_are_only_described_anew_hold_their_rows(tmp_path):
    memory, place = Read(), tmp_path / "t"
    append(place, events(1))
    append(place, events(2))
    first = place / "_delta_log" / f"{0:020}.json"
    (again,) = (
        json.loads(line)["add"] for line in first.read_text().splitlines() if line.startswith('{"add"')
    )
    commit = place / "_delta_log" / f"{2:020}.json"
    commit.write_text(json.dumps({"add": again | {"dataChange": False}}) + "\n\n")
    deltalake.DeltaTable(place).optimize.compact()
    memory.paths.add(str(place))
    assert memory.new(place) == [1, 2]


@pytest.mark.parametrize(
    ("found", "says"),
    [({"delta.columnMapping.mode": "name"}, "other names"), ({}, "")],
)
def test_tables_whose_files_do_not_say_what_they_hold_are_refused(tmp_path, found, says):
    append(tmp_path / "t", events(1), configuration={"delta.appendOnly": "false"})
    first = tmp_path / "t" / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    for line in lines:
        if "metaData" in line:
            line["metaData"]["configuration"] |= found
    first.write_text("\n".join(map(json.dumps, lines)))
    if not says:
        assert times(discover(tmp_path / "t")) == [1]
        return
    with pytest.raises(StreamError, match=rf"E453.*{tmp_path}/t cannot be read file by file: .*{says}"):
        discover(tmp_path / "t")


def test_a_damaged_log_is_told(tmp_path):
    append(tmp_path / "t", events(1))
    (tmp_path / "t" / "_delta_log" / f"{0:020}.json").write_text('{"add": {"path')
    with pytest.raises(HamletError, match=r"E516|E453"):
        discover(tmp_path / "t")


def test_a_file_that_is_vacuumed_while_it_is_read_has_changed(tmp_path):
    append(tmp_path / "t", events(1))
    files = discover(tmp_path / "t")
    assert not changed_since(tmp_path / "t", files)
    Path(files[0].path).unlink()
    assert changed_since(tmp_path / "t", files) == {files[0].path}


class Life:
    """A table to which everything happens, and a reader that comes now and then."""

    def __init__(self, random: Random, place: Path) -> None:
        self.random, self.place, self.memory = random, place, Read()
        self.next = 0
        self.read: Counter[int] = Counter()
        self.lost: set[int] = set()
        """Rows that were deleted before anybody read them."""
        self.may_fail = False
        self.happened: Counter[str] = Counter()

    def append(self) -> None:
        many = self.random.randint(1, 3)
        rows = pa.table(
            {
                "time": range(self.next, self.next + many),
                "type": self.random.choices("AB", k=many),
            }
        )
        append(self.place, rows, partition_by=["type"])
        self.next += many

    def compact(self) -> None:
        deltalake.DeltaTable(self.place).optimize.compact()

    def change(self) -> None:
        """Rewrite a file without one of its rows; allowed while nobody has read any of it."""
        alone = deltalake.DeltaTable(self.place).to_pyarrow_table().column("time").to_pylist()
        gone = self.random.choice(alone)
        files_before = set(deltalake.DeltaTable(self.place).file_uris())
        deltalake.DeltaTable(self.place).delete(f"time = {gone}")
        rewritten = set(deltalake.DeltaTable(self.place).file_uris()) - files_before
        self.lost |= {gone} - self.read.keys()
        self.may_fail = self.may_fail or bool(rewritten and self.read)

    def vacuum(self) -> None:
        deltalake.DeltaTable(self.place).vacuum(0, enforce_retention_duration=False, dry_run=False)
        self.may_fail = True

    def clean(self) -> None:
        clean(self.place)
        self.may_fail = True

    def checkpoint(self) -> None:
        deltalake.DeltaTable(self.place).create_checkpoint()

    def look(self) -> None:
        self.read.update(self.memory.new(self.place))
        assert max(self.read.values()) == 1, self.read
        assert set(self.read) | self.lost == set(range(self.next)), self.read


def live(seed: int, place: Path, rare: tuple[str, ...]) -> Life:
    random = Random(seed)
    life = Life(random, place)
    life.append()
    for _ in range(random.randint(4, 16)):
        step = random.choice(("append", "append", "compact", "checkpoint", "look", "look", *rare, *rare))
        if step == "change" and not deltalake.DeltaTable(place).file_uris():
            continue
        if step == "look" and not deltalake.DeltaTable(place).file_uris():
            continue
        try:
            getattr(life, step)()
        except StreamError as refusal:
            if refusal.code != "E454" or not life.may_fail:
                raise
            life.happened["refused"] += 1
            break
        life.happened[step] += 1
    return life


@pytest.mark.parametrize(
    ("rare", "many"),
    [((), 40), (("change",), 40), (("vacuum",), 80), (("clean",), 40), (("change", "vacuum", "clean"), 40)],
)
def test_whatever_happens_every_row_is_read_once(tmp_path, rare, many):
    happened: Counter[str] = Counter()
    for seed in range(1_000, 1_000 + many):
        happened += live(seed, tmp_path / str(seed), rare).happened
    assert happened["look"] > many
    assert {step: happened[step] for step in rare if not happened[step]} == {}
    assert (happened["refused"] > 0) == bool(rare), happened
    assert happened["refused"] < many * 0.7
