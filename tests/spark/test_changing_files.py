"""Files that change after they were ingested, or while they are: read again as a whole, exactly once, or left apart."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hamlet_core.errors import HamletError
from pipelines.checks.ledger_rules import files_of
from pipelines.reading import ColumnOptions
from pipelines.settings import Source
from pipelines.spans import Partition, Span
from pipelines.steps.execution.computed import late_partitions
from pipelines.steps.execution.execute import execute
from pipelines.steps.ingestion import ingest as ingest_module
from pipelines.steps.ingestion.ingest import IngestReport, Needs, ingest
from pipelines.steps.ingestion.ledger import parts_of
from resources import warehouse as warehouse_module
from resources.warehouse import KILL_AFTER, Warehouse
from tests.conftest import ROOT
from tests.spark.ingest_run import NEEDS, NUMBERS
from tests.spark.pipeline_cases import Killed, expected_rows, settings_for, sorted_rows, stream, table_rows

HEAD = "time,type,k,v\n"
FIRST = HEAD + "1,A,x,1\n2,B,x,2\n3,B,y,wrong\n86412,A,x"
"""Its last line has been copied up to a field."""
WHOLE = HEAD + "1,A,x,1\n2,B,x,2\n3,B,y,wrong\n86412,A,x,5\n,B,x,7\n90000,B,y,8\n"
OTHER = HEAD + "5,A,z,1\n6,B,z,worse\n"
EACH_TIME = {"ingested_at", "modified", "path"}


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    return Warehouse(tmp_path / "warehouse")


def bring(spark, warehouse: Warehouse, place: Path, options: ColumnOptions | None = None) -> IngestReport:
    options = NUMBERS if options is None else options
    return ingest(spark, warehouse, Source(str(place), options), NEEDS)


def contents(warehouse: Warehouse) -> dict[str, list[dict[str, object]]]:
    """The tables of an ingest, without what is of each time."""
    found = {}
    for table in ("events", "events_quarantine", "ingested_files"):
        columns = sorted(set(warehouse.schema(table).names) - EACH_TIME)
        found[table] = sorted_rows(warehouse.rows(table, columns).to_pylist(), columns)
    return found


def fresh(spark, tmp_path: Path, inbox: Path) -> dict[str, list[dict[str, object]]]:
    """What a new warehouse has of the files as they are."""
    warehouse = Warehouse(tmp_path / "fresh")
    bring(spark, warehouse, inbox)
    return contents(warehouse)


def test_a_file_that_has_grown_is_read_again_as_a_whole_exactly_once(spark, warehouse, inbox, tmp_path):
    (inbox / "half.csv").write_text(FIRST)
    (inbox / "other.csv").write_text(OTHER)
    before = bring(spark, warehouse, inbox)
    assert {file.name: (file.rows, file.rejected) for file in before.files} == {
        "half.csv": (2, 2), "other.csv": (1, 1),
    }  # fmt: skip
    (inbox / "half.csv").write_text(WHOLE)
    (inbox / "new.csv").write_text(HEAD + "7,A,n,1\n")
    report = bring(spark, warehouse, inbox)
    assert [(file.name, file.rows, file.rejected, file.again) for file in report.files] == [
        ("half.csv", 4, 2, "had grown"), ("new.csv", 1, 0, ""),
    ]  # fmt: skip
    assert report.waiting == ()
    assert contents(warehouse) == fresh(spark, tmp_path, inbox)
    versions = {table: warehouse.version(table) for table in ("events", "events_quarantine")}
    assert bring(spark, warehouse, inbox).files == ()
    assert {table: warehouse.version(table) for table in versions} == versions


WRITES = (
    *(pytest.param(write, marks=pytest.mark.slow) for write in ("append:events", "append:events_quarantine")),
    "replace:ingested_files",
    *(pytest.param(write, marks=pytest.mark.slow) for write in ("delete:events", "delete:events_quarantine")),
)


@pytest.fixture(scope="module")
def before_and_after(spark, tmp_path_factory) -> tuple[Path, dict[str, list[dict[str, object]]]]:
    """A folder with a warehouse of files of which one is half copied by then, and what a new one has of whole files."""
    folder = tmp_path_factory.mktemp("before")
    (folder / "inbox").mkdir()
    (folder / "inbox" / "half.csv").write_text(FIRST)
    (folder / "inbox" / "other.csv").write_text(OTHER)
    bring(spark, Warehouse(folder / "warehouse"), folder / "inbox")
    (folder / "inbox" / "half.csv").write_text(WHOLE)
    return folder, fresh(spark, folder, folder / "inbox")


@pytest.mark.parametrize("write", WRITES)
def test_killed_between_the_writes_of_a_replacement(spark, before_and_after, tmp_path, monkeypatch, write):
    """Nothing after the write is done. Slow where the next test, which ends whole processes, looks as well, or where
    an ingest after the kill has less to mend than there.
    """
    before, after = before_and_after
    shutil.copytree(before / "warehouse", tmp_path / "warehouse")
    warehouse, inbox = Warehouse(tmp_path / "warehouse"), before / "inbox"

    def die(done: str) -> None:
        if done == write:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(warehouse_module, "passed", die)
        with pytest.raises(Killed):
            bring(spark, warehouse, inbox)
    bring(spark, warehouse, inbox)
    assert contents(warehouse) == after


def test_processes_killed_one_after_the_other_in_a_replacement_leave_the_tables_of_a_fresh_warehouse(
    spark, before_and_after, tmp_path
):
    """Each goes on where the one before was killed, and is killed one write later."""
    before, after = before_and_after
    shutil.copytree(before / "warehouse", tmp_path / "warehouse")
    warehouse, inbox = Warehouse(tmp_path / "warehouse"), before / "inbox"
    command = [sys.executable, "-m", "tests.spark.ingest_run", str(inbox), str(warehouse.root)]
    for write in ("append:events", "replace:ingested_files", "delete:events"):
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, KILL_AFTER: write},
            capture_output=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    bring(spark, warehouse, inbox)
    assert contents(warehouse) == after


def test_a_half_copied_parquet_file_is_in_quarantine_by_name_until_it_is_whole(
    spark, warehouse, inbox, tmp_path
):
    (inbox / "other.csv").write_text(OTHER)
    pq.write_table(stream(200), tmp_path / "whole.parquet")
    content = (tmp_path / "whole.parquet").read_bytes()
    (inbox / "half.parquet").write_bytes(content[: len(content) // 2])
    report = bring(spark, warehouse, inbox)
    assert {file.name: (file.rows, file.rejected) for file in report.files} == {
        "half.parquet": (0, 1), "other.csv": (1, 1),
    }  # fmt: skip
    (inbox / "half.parquet").write_bytes(content)
    (again,) = bring(spark, warehouse, inbox).files
    assert (again.name, again.rows, again.rejected) == ("half.parquet", 200, 0)
    assert contents(warehouse) == fresh(spark, tmp_path, inbox)


def test_a_file_that_has_changed_otherwise_waits_and_blocks_nobody(spark, warehouse, inbox):
    (inbox / "changed.csv").write_text(WHOLE)
    (inbox / "grown.csv").write_text(OTHER)
    bring(spark, warehouse, inbox)
    (inbox / "changed.csv").write_text(WHOLE.replace("2,B,x,2", "2,B,x,3") + "90001,A,y,1\n")
    (inbox / "grown.csv").write_text(OTHER + "8,B,z,1\n")
    (inbox / "new.csv").write_text(HEAD + "7,A,n,1\n")
    report = bring(spark, warehouse, inbox)
    assert {file.name for file in report.files} == {"grown.csv", "new.csv"}
    (waiting,) = report.waiting
    assert waiting.name == "changed.csv"
    assert "put new rows into a new file and restore this one" in waiting.reason
    rows = warehouse.rows("events").to_pylist()
    assert sorted(row["time"] for row in rows if row["source_file"] == "changed.csv") == [1, 2, 86412, 90000]
    assert sorted(row["time"] for row in rows if row["source_file"] != "changed.csv") == [5, 7, 8]
    (inbox / "changed.csv").write_text(WHOLE)
    assert bring(spark, warehouse, inbox).waiting == ()


def test_files_that_all_have_changed_are_an_error_before_anything_is_written(spark, warehouse, inbox):
    (inbox / "changed.csv").write_text(WHOLE)
    bring(spark, warehouse, inbox / "changed.csv")
    (inbox / "changed.csv").write_text(OTHER)
    before = {table: warehouse.version(table) for table in warehouse.names()}
    with pytest.raises(HamletError, match=r"E522.*changed\.csv has changed since it was ingested") as refused:
        bring(spark, warehouse, inbox / "changed.csv")
    assert "new warehouse" in refused.value.hint
    assert {table: warehouse.version(table) for table in warehouse.names()} == before


def test_a_copy_that_was_ingested_half_leaves_nothing_when_it_is_whole(spark, warehouse, inbox):
    (inbox / "a.csv").write_text(WHOLE)
    (inbox / "copy.csv").write_text(FIRST)
    bring(spark, warehouse, inbox)
    (inbox / "copy.csv").write_text(WHOLE)
    report = bring(spark, warehouse, inbox)
    assert {one.name: one.reason for one in report.skipped} == {
        "a.csv": "already ingested",
        "copy.csv": "same content as a.csv, which is in",
    }
    for table in ("events", "events_quarantine"):
        assert {row["source_file"] for row in warehouse.rows(table).to_pylist()} == {"a.csv"}
    entries = files_of(warehouse.rows("ingested_files").to_pylist(), parts_of(warehouse))
    assert [(row["same_content"], row["same_events"]) for row in entries] == [(1, 1), (1, 1)]
    assert {one.name: one.reason for one in bring(spark, warehouse, inbox).skipped} == {
        "a.csv": "already ingested",
        "copy.csv": "same content as a.csv, which is in",
    }


@pytest.fixture
def growing(inbox: Path, monkeypatch) -> Iterator[Path]:
    """A file to which somebody adds a row again and again."""
    monkeypatch.setattr(ingest_module, "LOOK_AGAIN", 1.0)
    place, stop = inbox / "growing.csv", threading.Event()
    place.write_text(HEAD)

    def grow() -> None:
        while not stop.wait(0.02):
            with place.open("a") as file:
                file.write("1,A,x,1\n")

    writer = threading.Thread(target=grow)
    writer.start()
    yield place
    stop.set()
    writer.join()


def test_a_file_that_is_being_written_is_left_to_the_next_run(spark, warehouse, inbox, growing):
    (inbox / "other.csv").write_text(OTHER)
    report = bring(spark, warehouse, inbox)
    assert [file.name for file in report.files] == ["other.csv"]
    (waiting,) = report.waiting
    assert (waiting.name, waiting.reason) == ("growing.csv", "still being written: left to the next run")
    with pytest.raises(HamletError, match=r"E522.*growing\.csv is still being written") as refused:
        bring(spark, warehouse, growing)
    assert "renamed into place" in refused.value.hint
    assert {row["source_file"] for row in warehouse.rows("ingested_files").to_pylist()} == {"other.csv"}


def test_a_file_that_changes_while_it_is_read_is_left_to_the_next_run(
    spark, warehouse, inbox, tmp_path, monkeypatch
):
    (inbox / "half.csv").write_text(FIRST)
    (inbox / "other.csv").write_text(OTHER)
    counted = ingest_module._counted

    def slow(*given):
        done = counted(*given)
        (inbox / "half.csv").write_text(WHOLE)
        return done

    with monkeypatch.context() as patch:
        patch.setattr(ingest_module, "_counted", slow)
        report = bring(spark, warehouse, inbox)
    assert [file.name for file in report.files] == ["other.csv"]
    assert [one.name for one in report.waiting] == ["half.csv"]
    assert {row["source_file"] for row in warehouse.rows("events_quarantine").to_pylist()} == {"other.csv"}
    bring(spark, warehouse, inbox)
    assert contents(warehouse) == fresh(spark, tmp_path, inbox)


QUERY = "q: RETURN COUNT(*) PATTERN A WITHIN 1 hour"
DAYS = tuple(datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=day) for day in range(5))


def test_windows_of_events_that_a_file_has_no_more_are_computed_again(spark, warehouse, inbox, tmp_path):
    """The time 172800 was copied up to 17280, which is on a day without any other event."""
    partitions = [Partition(f"{end:%F}", begin, end) for begin, end in pairwise(DAYS)]
    settings = settings_for(inbox, tmp_path / "warehouse", text=QUERY, options=ColumnOptions(type_value="A"))
    settings = replace(settings, span=Span(tuple(partitions)))
    (inbox / "half.csv").write_text("time\n90000\n17280")
    source, needs = settings.source, Needs(partitions=(frozenset(),))
    ingest(spark, warehouse, source, needs)
    execute(spark, warehouse, settings, "1")
    assert late_partitions(warehouse, settings) == ()
    (inbox / "half.csv").write_text("time\n90000\n172800\n")
    ingest(spark, warehouse, source, needs)
    (entry,) = warehouse.rows("ingested_files").to_pylist()
    assert entry["removed_days"] == [date(1970, 1, 1)]
    late = [one.key for one in late_partitions(warehouse, settings)]
    assert late == ["1970-01-02", "1970-01-03", "1970-01-04"]
    execute(spark, warehouse, settings, "2")
    assert table_rows(warehouse, "computed_aggregates") == expected_rows(settings)
