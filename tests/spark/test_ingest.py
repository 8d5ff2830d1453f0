"""Ingest: every row is an event or in quarantine, nothing twice, and what a killed ingest left behind goes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from hamlet_core.errors import HamletError, InvariantError
from pipelines.checks.events import check_events
from pipelines.reading import ColumnOptions, beginnings, discover
from pipelines.settings import Source
from pipelines.steps.ingestion import ingest as ingest_module
from pipelines.steps.ingestion import parsing, writing
from pipelines.steps.ingestion.ingest import IngestReport, Needs, ingest
from pipelines.steps.ingestion.parsing import read_here
from pipelines.steps.ingestion.writing import Writing
from pipelines.steps.layout import Layout
from resources import tables
from resources import warehouse as warehouse_module
from resources.data_files import FileWriter, GrowingFiles
from resources.storage import Location
from resources.tables import Table
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import Killed, sorted_rows, stream, write_csv

NOW = datetime(2026, 1, 6, tzinfo=UTC)
LAYOUT = Layout(("k",), 3)
NEEDS = Needs(partitions=(frozenset({"k", "g"}), frozenset({"k"})), read=frozenset({"k", "g", "v"}))
GOOD = "time,type,k,v\n1,A,x,1\n2,B,x,2\n3,B,y,\n"
BAD = "time,type,k,v\n4,A,x,many\n,B,x,2\n5,A,x,1,surplus\n6,,x,1\n7,B,y,7\n"


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "good.csv").write_text(GOOD)
    (folder / "bad.csv").write_text(BAD)
    (folder / "empty.csv").write_text("")
    (folder / "utf16.csv").write_bytes(GOOD.encode("utf-16-le"))
    (folder / "notes.txt").write_text("no events")
    return folder


@pytest.fixture(autouse=True)
def in_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read in tasks, as those that are not small; all other tests read theirs in the driver."""
    monkeypatch.setattr(parsing, "MOST_HERE", 0)


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse")


def bring(spark: SparkSession, warehouse: Warehouse, place: Path, **options: object) -> IngestReport:
    columns = ColumnOptions(**{"types": (("v", "integer"),), **options})  # type: ignore[arg-type]
    return ingest(spark, warehouse, Source(str(place), columns), NEEDS)


def events_of(warehouse: Warehouse) -> list[dict[str, object]]:
    columns = [name for name in warehouse.schema("events").names if name != "ingested_at"]
    return sorted_rows(warehouse.rows("events", columns).to_pylist(), columns)


def test_small_files_are_read_here_and_to_the_same_tables(spark, warehouse, inbox, tmp_path, monkeypatch):
    (inbox / "typed.jsonl").write_text(
        '{"time": "2026-01-05T00:00:00Z", "type": "A", "k": "\\u0000\\n", "v": 1.5}\n'
        '{"time": "9999-01-05T00:00:00Z", "type": "A", "k": "late", "v": 1}\n{"time": 1\n'
    )
    for path in inbox.iterdir():
        if path.suffix == ".csv":
            text = path.read_bytes().decode("latin-1")
            path.write_text(text.replace("\n1,", "\n2026-01-05,").replace("\n2,", "\n2026-01-06,"), "latin-1")
    in_tasks = bring(spark, warehouse, inbox)
    monkeypatch.setattr(parsing, "MOST_HERE", 2 << 20)

    def never(*_: object) -> None:
        raise AssertionError("no task is needed")

    monkeypatch.setattr(parsing, "run_tasks", never)
    here = Warehouse(tmp_path / "here")
    report = bring(spark, here, inbox)
    assert report.rows
    assert report.rejected
    assert [(one.name, one.rows, one.rejected, one.days) for one in report.files] == [
        (one.name, one.rows, one.rejected, one.days) for one in in_tasks.files
    ]
    for table in ("events", "events_quarantine"):
        columns = [name for name in here.schema(table).names if name != "ingested_at"]
        found, wanted = (
            sorted_rows(one.rows(table, columns).to_pylist(), columns) for one in (here, warehouse)
        )
        assert found == wanted
        assert here.schema(table) == warehouse.schema(table)


@pytest.mark.parametrize(("most", "here"), [(len(GOOD), True), (len(GOOD) - 1, False)])
def test_a_few_bytes_of_text_are_read_here(tmp_path, monkeypatch, most, here):
    (tmp_path / "good.csv").write_text(GOOD)
    monkeypatch.setattr(parsing, "MOST_HERE", most)
    assert read_here(discover(tmp_path)) is here
    pq.write_table(pa.table({"time": [1]}), tmp_path / "tiny.parquet")
    monkeypatch.setattr(parsing, "MOST_HERE", 1 << 20)
    assert not read_here(discover(tmp_path))


def test_counts_add_up_and_nothing_is_ingested_twice(spark, warehouse, inbox):
    report = bring(spark, warehouse, inbox)
    assert {file.name: (file.rows, file.rejected) for file in report.files} == {
        "good.csv": (3, 0),
        "bad.csv": (1, 4),
        "empty.csv": (0, 0),
        "utf16.csv": (0, 1),
    }
    assert report.ignored == ("notes.txt",)
    assert [row["time"] for row in events_of(warehouse)] == [1, 2, 3, 7]
    refused = warehouse.rows("events_quarantine").to_pylist()
    assert {(row["source_file"], row["code"]) for row in refused} == {
        ("bad.csv", "E410"), ("bad.csv", "E420"), ("bad.csv", "E402"), ("bad.csv", "E421"), ("utf16.csv", "E401"),
    }  # fmt: skip
    assert all(row["reason"] for row in refused)

    (inbox / "copy.csv").write_text(GOOD)
    before = warehouse.version("events")
    again = bring(spark, warehouse, inbox)
    assert not again.files
    assert {one.name: one.reason for one in again.skipped} == {
        "good.csv": "already ingested",
        "bad.csv": "already ingested",
        "empty.csv": "already ingested",
        "utf16.csv": "already ingested",
        "copy.csv": "same content as good.csv, which is in",
    }
    assert warehouse.version("events") == before


@pytest.mark.parametrize("write", ["append:events", "append:events_quarantine"])
def test_what_a_killed_ingest_left_behind_is_removed(spark, warehouse, inbox, tmp_path, monkeypatch, write):
    def die(done: str) -> None:
        if done == write:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(warehouse_module, "passed", die)
        with pytest.raises(Killed):
            bring(spark, warehouse, inbox)
    assert warehouse.rows("events").num_rows == 4
    report = bring(spark, warehouse, inbox)
    assert report.killed_ingests == 1
    undisturbed = Warehouse(tmp_path / "undisturbed")
    bring(spark, undisturbed, inbox)
    assert events_of(warehouse) == events_of(undisturbed)
    assert warehouse.rows("events_quarantine").num_rows == undisturbed.rows("events_quarantine").num_rows


def test_a_killed_ingest_of_later_files_takes_nothing_else_with_it(spark, warehouse, inbox, monkeypatch):
    bring(spark, warehouse, inbox)
    (inbox / "late.csv").write_text("time,type,k,v\n90000,A,x,1\n")

    def die(done: str) -> None:
        if done == "append:events":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(warehouse_module, "passed", die)
        with pytest.raises(Killed):
            bring(spark, warehouse, inbox)
    (inbox / "late.csv").unlink()
    assert bring(spark, warehouse, inbox).killed_ingests == 1
    assert [row["time"] for row in events_of(warehouse)] == [1, 2, 3, 7]


def test_events_lie_sorted_in_the_files_of_their_day_and_bucket(spark, warehouse, tmp_path):
    table = stream()
    report = bring(spark, warehouse, write_csv(table, tmp_path / "stream.csv"))
    assert report.rows == table.num_rows
    layout = Layout.of(warehouse.properties("events"))
    assert layout == Layout(("k",), 2)
    files = warehouse.files("events")
    assert {file.partition["bucket"] for file in files} == {"0", "1"}
    assert {file.partition["day"] for file in files} == {"1969-12-31", "1970-01-01", "1970-01-02"}
    assert len(files) <= 6
    buckets: dict[object, set[str]] = {}
    for file in files:
        rows = pq.ParquetFile(file.path).read(columns=["k", "event_time"]).to_pylist()
        places = [((row["k"] is not None, row["k"] or ""), row["event_time"]) for row in rows]
        assert places == sorted(places)
        for row in rows:
            buckets.setdefault(row["k"], set()).add(file.partition["bucket"])
    assert all(len(found) == 1 for found in buckets.values())


def test_the_table_keeps_the_types_of_the_source(spark, warehouse, tmp_path):
    bring(spark, warehouse, write_csv(stream(), tmp_path / "stream.csv"))
    schema = warehouse.schema("events")
    assert [str(schema.field(name).type) for name in ("time", "type", "k", "v", "w")] == [
        "int64", "string", "string", "int64", "double",
    ]  # fmt: skip
    assert schema.field("event_time").type == pa.timestamp("us", "UTC")
    protocol = warehouse.open("events").protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 3)


def test_later_files_may_bring_columns_and_whole_numbers_in_a_column_of_reals(spark, warehouse, tmp_path):
    inbox = tmp_path / "inbox"
    write_csv(stream(40), inbox / "a.csv")
    bring(spark, warehouse, inbox)
    (inbox / "b.csv").write_text("time,type,k,w,extra\n1,A,x,3,new\n")
    bring(spark, warehouse, inbox)
    added = [row for row in events_of(warehouse) if row["extra"] is not None]
    assert [(row["w"], row["extra"], row["v"]) for row in added] == [(3.0, "new", None)]


@pytest.mark.parametrize("most", [0, 2 << 20])
def test_files_like_those_that_are_in_are_read_once(spark, warehouse, inbox, monkeypatch, most):
    """Whatever their format, and whatever is wrong with some of their rows."""
    bring(spark, warehouse, inbox)
    (inbox / "lines.jsonl").write_text(
        '{"time": 8, "type": "A", "k": "x", "v": 1}\n{"time": 9, "type": "A"}\n{\n'
    )
    if not most:
        columns = {"time": [1, 2], "type": ["A", "B"], "k": ["x", "y"], "v": [1, 2]}
        pq.write_table(pa.table(columns), inbox / "few.parquet")
    monkeypatch.setattr(parsing, "MOST_HERE", most)
    monkeypatch.setattr(ingest_module, "gather_evidence", lambda *_: pytest.fail("read twice"))
    parses, parse = [], ingest_module.parse_files
    monkeypatch.setattr(ingest_module, "parse_files", lambda *a, **k: parses.append(1) or parse(*a, **k))
    write = Writing.write
    monkeypatch.setattr(Writing, "write", lambda *a, **k: parses.append(1) or write(*a, **k))

    def counts() -> dict[str, tuple[int, int]]:
        return {one.name: (one.rows, one.rejected) for one in bring(spark, warehouse, inbox).files}

    assert counts() == {"lines.jsonl": (2, 1)} | ({} if most else {"few.parquet": (2, 0)})
    assert len(parses) == 1
    (inbox / "other_order.csv").write_text("time,k,type,v\n8,x,A,1\n9,x,A,1\n")
    assert counts() == {"other_order.csv": (2, 0)}
    assert len(parses) == 2
    (inbox / "rejected.csv").write_text("time,k,type,v\n8,x,A,1\n9,x,A,many\n")
    assert counts() == {"rejected.csv": (1, 1)}
    assert len(parses) == 4  # the reason that is told of a row depends on the order of the columns


CELLS = {
    "k": ("x", "y", "", "7"),
    "v": ("1", "2", "", "x", "1.5"),
    "w": ("1.5", "2", "", "1e3", "true"),
    "x": ("2026-01-05", "true", "3", ""),
}


def some_file(random: Random, rows: int) -> str:
    """A CSV file whose columns, their order and their values are mostly those of the others."""
    names = ["time", "type", *(name for name in CELLS if random.random() < 0.8)]
    if random.random() < 0.2:
        random.shuffle(names)
    odd = random.choice((0.0, 0.02, 0.02, 0.3))
    lines = [",".join(names)]
    for row in range(rows):
        cells = {"time": str(row), "type": random.choice("AB")}
        for name, given in CELLS.items():
            cells[name] = random.choice(given) if random.random() < odd else given[0]
        cells["time"] = "" if random.random() < odd / 2 else cells["time"]
        lines.append(",".join(cells[name] for name in names))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("most", [0, 2 << 20], ids=["in tasks", "here"])
@pytest.mark.parametrize("seed", range(3))
def test_files_read_once_come_to_what_they_come_to_read_twice(spark, tmp_path, monkeypatch, seed, most):
    """Reports, tables and errors, whatever columns later files have, and whoever writes their events."""
    random = Random(seed)
    inbox, once, twice = tmp_path / "inbox", Warehouse(tmp_path / "once"), Warehouse(tmp_path / "twice")
    inbox.mkdir()
    monkeypatch.setattr(parsing, "MOST_HERE", most)
    added = written_by_tasks(monkeypatch)
    told = []
    for number in range(6):
        (inbox / f"{number}.csv").write_text(some_file(random, random.choice((0, 60, 60)) if number else 60))
        found = []
        for target in (once, twice):
            with monkeypatch.context() as patch:
                if target is twice:
                    patch.setattr(ingest_module, "_as_before", lambda *_: (None, None, None))
                    patch.setattr(ingest_module, "can_write", lambda *_, **__: False)
                try:
                    report = bring(spark, target, inbox, types=())
                except HamletError as error:
                    found.append(str(error).replace(str(target.root), ""))
                else:
                    found.append(
                        [(one.name, one.rows, one.rejected, one.days, one.faults) for one in report.files]
                    )
        assert found[0] == found[1]
        told.append(isinstance(found[0], str))
        if told[-1]:
            (inbox / f"{number}.csv").unlink()
    assert not all(told)
    assert set(added) == (set() if most else {once.root})
    for table in ("events", "events_quarantine"):
        columns = [name for name in once.schema(table).names if name != "ingested_at"]
        rows, others = (sorted_rows(one.rows(table, columns).to_pylist(), columns) for one in (once, twice))
        assert rows == others
        assert once.schema(table) == twice.schema(table)
    assert all(one.passed for one in check_events(spark, once).outcomes if one.rule not in FAULTY)
    assert stray_files(once) == stray_files(twice) == set()


FAULTY = {"enough rows are events", "files are mostly events", "no content twice", "no events twice"}
"""Rules that such files may break."""


def written_by_tasks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The warehouses to which files of events are added that tasks have written."""
    found: list[object] = []
    add = Warehouse.add_files

    def told(self: Warehouse, files: pa.Table, table: Table, **how: object) -> None:
        found.extend([self.root] if table.name == "events" else [])
        add(self, files, table, **how)

    monkeypatch.setattr(Warehouse, "add_files", told)
    return found


def stray_files(warehouse: Warehouse) -> set[str]:
    """Data files that are below `events`, and are no part of it: killed ingests and refused files leave none here."""
    stored = {str(path) for path in Path(warehouse.path_of("events")).rglob("*.parquet")}
    stored -= {path for path in stored if "_delta_log" in path}
    return stored - {file.path for file in warehouse.files("events")}


def test_tasks_write_the_first_events_too_and_none_where_their_beginning_was_another(
    spark, tmp_path, inbox, monkeypatch
):
    """Then Spark writes them, and nothing is left of the other files."""
    added = written_by_tasks(monkeypatch)
    first, other, known = (Warehouse(tmp_path / name) for name in ("first", "other", "known"))
    assert bring(spark, first, inbox).rows == 4
    assert added == [first.root]
    monkeypatch.setattr(beginnings, "BEGINNING", 48)
    place = tmp_path / "place"
    place.mkdir()
    (place / "one.csv").write_text(f"{GOOD}{GOOD.partition(chr(10))[2] * 20}4,B,y,1.5\n")
    for target, columns in ((other, ()), (known, (("v", "double"),))):
        assert bring(spark, target, place, types=columns).rows == 64
    assert added == [first.root, known.root]
    assert other.schema("events") == known.schema("events") != first.schema("events")
    assert events_of(other) == events_of(known)
    for target in (first, other, known):
        assert stray_files(target) == set()
        assert [name for name in target.location.folders() if name.startswith(".")] == []


def test_what_a_killed_first_ingest_left_aside_goes(spark, warehouse, inbox):
    """Of tasks whose table was never made, and of one that was made without them."""
    left = Path(warehouse.root) / ".begun-1" / "day=2026-01-05" / "bucket=0"
    left.mkdir(parents=True)
    (left / "part-1.parquet").write_bytes(b"PAR1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileWriter, "move", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            bring(spark, warehouse, inbox)
    assert warehouse.count("events") == 0
    assert [name for name in warehouse.location.folders() if name.startswith(".begun-")] == []
    left.mkdir(parents=True)
    assert bring(spark, warehouse, inbox).rows == 4
    assert [name for name in warehouse.location.folders() if name.startswith(".begun-")] == []
    assert warehouse.count("events") == 4


def test_a_day_that_begins_where_a_task_writes_has_its_events_in_one_file(tmp_path, monkeypatch):
    """However many days a file has: those that are written no more are in their files."""
    days = writing.MOST_DAYS + 4
    collected, good = collecting(tmp_path, [86_400 * (row // 100) + row for row in range(100 * days)])
    monkeypatch.setattr(writing, "MOST_ROWS", 250)
    for first in range(0, good.num_rows, 50):
        list(collected.take(good.slice(first, 50)))
        assert not collected.left
    list(collected.write())
    list(collected.end())
    written = [pq.read_metadata(path) for path in (tmp_path / "events").rglob("*.parquet")]
    assert [one.num_rows for one in written] == [100] * days


def test_the_events_of_a_day_are_in_one_file_for_each_bucket_however_often_a_task_writes(
    tmp_path, monkeypatch
):
    """And the file is told of once, when it is whole."""
    collected, good = collecting(tmp_path, list(range(1_000)))
    monkeypatch.setattr(writing, "MOST_ROWS", 250)
    told = [one for first in range(0, 1_000, 50) for one in collected.take(good.slice(first, 50))]
    told += [*collected.write()]
    assert told == []
    assert sum(one.num_rows for one in collected.end()) == 1
    (path,) = (tmp_path / "events").rglob("*.parquet")
    whole = pq.read_metadata(path)
    assert (whole.num_rows, whole.num_row_groups) == (1_000, 4)


def test_days_that_come_again_and_again_are_for_spark(tmp_path, monkeypatch):
    """A file that is not in order of time: each time that a task writes it would write files of all days."""
    collected, good = collecting(tmp_path, [86_400 * (row % 4) + row for row in range(600)])
    monkeypatch.setattr(writing, "MOST_ROWS", 250)
    left = []
    for first in range(0, good.num_rows, 50):
        list(collected.take(good.slice(first, 50)))
        left.append(collected.left)
    assert left == [False] * 5 + [True] * 7


def collecting(folder: Path, times: list[int]) -> tuple[writing._Collected, pa.RecordBatch]:
    """What collects the events of a file with these times, and these."""
    lines = [f"{time},A,x,{number}\n" for number, time in enumerate(times)]
    (folder / "one.csv").write_text(f"time,type,k,v\n{''.join(lines)}")
    columns = pa.schema({"time": pa.int64(), "type": pa.string(), "k": pa.string(), "v": pa.int64()})
    table = tables.events_table(tuple(tables.Column(one.name, one.type, "") for one in columns), ())
    how = Writing.of(FileWriter(Location.of(folder / "events"), table), LAYOUT, NOW)
    files = discover(folder / "one.csv")
    good, _ = parsing.parsed_batches(files, 0, columns, ColumnOptions(), NEEDS.read, observe=True)
    return writing._Collected(how, GrowingFiles(how.writer)), good


def test_a_file_that_changes_while_tasks_write_its_events_is_left_to_the_next_run(
    spark, warehouse, inbox, monkeypatch
):
    bring(spark, warehouse, inbox)
    (inbox / "more.csv").write_text(GOOD.replace("\n1,", "\n7,"))
    (inbox / "other.csv").write_text(GOOD.replace("\n1,", "\n8,"))
    added, write = written_by_tasks(monkeypatch), Writing.write

    def slow(*given):
        done = write(*given)
        (inbox / "more.csv").write_text(GOOD.replace("\n1,", "\n9,"))
        return done

    with monkeypatch.context() as patch:
        patch.setattr(Writing, "write", slow)
        report = bring(spark, warehouse, inbox)
    assert [file.name for file in report.files] == ["other.csv"]
    assert stray_files(warehouse) == set()
    assert added == []
    report = bring(spark, warehouse, inbox)
    assert [file.name for file in report.files] == ["more.csv"]
    assert len(added) == 1


@pytest.mark.parametrize("first", [True, False])
def test_files_that_the_machines_of_the_tasks_have_and_this_one_has_not_are_named(
    spark, warehouse, inbox, monkeypatch, first
):
    """Machines of a cluster with a folder of that name each: nothing is committed, whatever is in the files."""
    if not first:
        bring(spark, warehouse, inbox)
    added, run_tasks = written_by_tasks(monkeypatch), writing.run_tasks
    (inbox / "more.csv").write_text(GOOD.replace("\n1,", "\n7,"))
    before = warehouse_files(warehouse)

    class Elsewhere:
        """Tasks on a machine of their own: what they have written is not here."""

        def __init__(self, *given):
            self.told = run_tasks(*given)

        def toArrow(self):  # noqa: N802 - as PySpark has it
            found = self.told.toArrow()
            for path in warehouse_files(warehouse) - before:
                path.unlink()
            return found

    monkeypatch.setattr(writing, "run_tasks", Elsewhere)
    with pytest.raises(
        HamletError, match="files that tasks have written are not here, the first is"
    ) as caught:
        bring(spark, warehouse, inbox)
    assert caught.value.code == "E538"
    assert added == []
    assert warehouse_files(warehouse) == before
    assert warehouse.exists("events") is not first


def warehouse_files(warehouse) -> set[Path]:
    """Parquet files of the events, also of those that wait aside."""
    return {path for path in Path(str(warehouse.root)).rglob("part-*.parquet") if "bucket=" in str(path)}


def test_constraints_of_others_and_much_text_in_many_buckets_are_for_spark(
    spark, warehouse, inbox, monkeypatch
):
    bring(spark, warehouse, inbox)
    added = written_by_tasks(monkeypatch)
    (inbox / "one.csv").write_text(GOOD.replace("\n1,", "\n5,"))
    with monkeypatch.context() as patch:
        patch.setattr(writing, "MOST_BYTES", 10)
        patch.setattr(writing, "MOST_BUCKETS", 1)
        assert bring(spark, warehouse, inbox).rows
    assert added == []
    (inbox / "two.csv").write_text(GOOD.replace("\n1,", "\n6,"))
    assert bring(spark, warehouse, inbox).rows
    assert len(added) == 1
    table = f"delta.`{warehouse.path_of('events')}`"
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT theirs CHECK (event_type <> 'no such')")
    (inbox / "three.csv").write_text(GOOD.replace("\n1,", "\n4,"))
    assert bring(spark, warehouse, inbox).rows
    assert len(added) == 1


def test_long_texts_many_days_and_many_bad_rows_are_for_spark(spark, warehouse, inbox, monkeypatch):
    """Found out by the tasks, which leave the rest of their files then."""
    bring(spark, warehouse, inbox)
    added = written_by_tasks(monkeypatch)
    (inbox / "long.csv").write_text(GOOD.replace("\n1,A,x", f"\n5,A,{'x' * (4 * writing.MOST_TEXT)}"))
    assert bring(spark, warehouse, inbox).rows == 3
    days = "".join(f"{86_400 * day},A,x,1\n" for day in range(writing.MOST_DAYS + 1))
    (inbox / "days.csv").write_text(f"time,type,k,v\n{days}")
    assert bring(spark, warehouse, inbox).rows == writing.MOST_DAYS + 1
    bad = "9,A,x,many\n" * (writing.MOST_REJECTED + 1)
    (inbox / "bad.csv").unlink()
    (inbox / "worse.csv").write_text(f"{GOOD}{bad}")
    report = bring(spark, warehouse, inbox, types=(("v", "integer"),))
    assert [(one.rows, one.rejected) for one in report.files] == [(3, writing.MOST_REJECTED + 1)]
    monkeypatch.setattr(writing, "REJECTED_BYTES", 1_000)
    (inbox / "much.csv").write_text(f"{GOOD}{bad[:22_000]}".replace("\n1,", "\n0,"))
    assert bring(spark, warehouse, inbox, types=(("v", "integer"),)).rejected == 2_000
    assert added == []
    assert stray_files(warehouse) == set()
    assert warehouse.count("events_quarantine") > writing.MOST_REJECTED


def test_an_event_without_what_every_event_has_is_written_by_no_task(spark, warehouse, inbox):
    """The constraints of the table hold for what tasks write, too."""
    bring(spark, warehouse, inbox)
    (inbox / "one.csv").write_text(GOOD)
    files = [file for file in discover(inbox) if file.name == "one.csv"]
    columns = ingest_module._stored(warehouse)
    table = tables.events_table(tuple(tables.Column(one.name, one.type, "") for one in columns), ())
    how = Writing(FileWriter(warehouse.location.below("events"), table), columns, LAYOUT, NOW)
    good, _ = parsing.parsed_batches(files, 0, columns, ColumnOptions(), NEEDS.read, observe=True)
    place = good.schema.names.index("event_type")
    missing = good.set_column(place, "event_type", pa.nulls(good.num_rows, pa.string()))
    collected = writing._Collected(how, GrowingFiles(how.writer))
    assert list(collected.take(good)) == []
    with pytest.raises(InvariantError, match=r"E916.*without its event_type"):
        list(collected.take(missing))


@pytest.mark.parametrize(
    ("content", "options", "code", "text"),
    [
        ("time,type,day\n1,A,1\n", {}, "E521", "'day'"),
        ("at,type,k\n", {}, "E451", "'time'"),
        ("time,type,Bucket\n1,A,1\n", {}, "E521", "'Bucket'"),
        ("time,type,trip count\n1,A,1\n", {}, "E521", "'trip count'"),
        ("time,type,a,A\n1,A,1,2\n", {}, "E521", "upper and lower case"),
        ("time,type,v\n1,A,text\n", {}, "E525", "column 'v' is"),
        ("time,type,K\n1,A,x\n", {}, "E525", "'k' in the warehouse"),
        ("at,type,k\n1,A,x\n", {"time": "at"}, "E524", "--time"),
        ("time,type,k\n1,A,x\n", {"time_unit": "ms"}, "E524", "--time-unit"),
    ],
)
def test_what_cannot_be_in_the_table_is_refused_by_name(
    spark, warehouse, ingested, tmp_path, content, options, code, text
):
    place = tmp_path / "new.csv"
    place.write_text(content)
    target = ingested if code != "E521" else warehouse
    with pytest.raises(HamletError) as refused:
        ingest(spark, target, Source(str(place), ColumnOptions(**options)), Needs())
    assert refused.value.code == code
    assert text in str(refused.value)


@pytest.fixture(scope="module")
def ingested(spark, tmp_path_factory) -> Warehouse:
    """A warehouse that the tests of refusals do not change."""
    folder = tmp_path_factory.mktemp("ingested")
    (folder / "good.csv").write_text(GOOD)
    warehouse = Warehouse(folder / "warehouse")
    bring(spark, warehouse, folder / "good.csv", types=())
    return warehouse


def test_files_without_one_readable_row_are_an_error_that_says_where_to_look(spark, warehouse, tmp_path):
    (tmp_path / "broken.csv").write_bytes(GOOD.encode("utf-16-le"))
    with pytest.raises(HamletError, match=r"E523.*no events"):
        bring(spark, warehouse, tmp_path / "broken.csv")
    assert warehouse.rows("events_quarantine").num_rows == 1


def test_far_times_that_spark_wrote_as_int96_are_events(spark, warehouse, tmp_path):
    times = [datetime(year, 3, 4, 5, 6, 7, 89, UTC) for year in (1816, 2026, 2500, 9998)]
    kind, zone = "spark.sql.parquet.outputTimestampType", "UTC"
    before = spark.conf.get(kind)
    spark.conf.set(kind, "INT96")
    try:
        table = pa.table({"time": pa.array(times, pa.timestamp("us", zone)), "type": ["A"] * 4})
        spark.createDataFrame(table).coalesce(1).write.parquet(str(tmp_path / "inbox"))
    finally:
        spark.conf.set(kind, before)
    (file,) = (tmp_path / "inbox").glob("*.parquet")
    assert pq.ParquetFile(file).schema.column(0).physical_type == "INT96"
    report = ingest(spark, warehouse, Source(str(tmp_path / "inbox"), ColumnOptions()), Needs())
    assert (report.rows, report.rejected) == (4, 0)
    assert sorted(warehouse.rows("events").column("event_time").to_pylist()) == times
