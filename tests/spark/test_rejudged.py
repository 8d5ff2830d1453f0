"""What becomes of rows with values that do not fit follows the queries: files are read again, exactly once, when they change."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hamlet_core.errors import StreamError
from pipelines.main_job import run_main_job
from pipelines.reading import ColumnOptions
from pipelines.settings import JobSettings, Source
from pipelines.steps.ingestion.ingest import IngestReport, Needs, ingest
from resources import kafka_topics
from resources.warehouse import KILL_AFTER, Warehouse
from tests.conftest import ROOT
from tests.spark.ingest_run import NUMBERS
from tests.spark.pipeline_cases import expected_rows, settings_for, sorted_rows, table_rows

HEAD = "time,type,k,v,w\n"
CLEAN = "".join(f"{second},A,x,{second},1\n" for second in range(20))
DIRTY = HEAD + CLEAN + "20,B,x,wrong,2\n21,B,x,3,worse\n22,B,y,bad,evil\nsoon,B,y,1,1\n"
OTHER = HEAD + "5,A,z,1,2\n6,B,z,none,3\n7,B,z,4,5\n" + CLEAN
READS_V = "q: RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b) WHERE [k] AND a.w = 1 WITHIN 1 min"
READS_NEITHER = "q: RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE [k] WITHIN 1 min"
EACH_TIME = {"ingested_at", "modified", "path", "run_id", "events_version"}


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "dirty.csv").write_text(DIRTY)
    (folder / "other.csv").write_text(OTHER)
    (folder / "clean.csv").write_text(HEAD + "1,A,c,1,1\n2,B,c,2,2\n")
    return folder


def bring(
    spark, warehouse: Warehouse, inbox: Path | str, *read: str, options: ColumnOptions = ColumnOptions()
) -> IngestReport:
    needs = Needs(partitions=(frozenset({"k"}),), read=frozenset(read), workloads=frozenset({"test"}))
    return ingest(spark, warehouse, Source(str(inbox), options), needs)


def contents(warehouse: Warehouse, *more: str) -> dict[str, list[dict[str, object]]]:
    """Tables without what is of each time."""
    found = {}
    for table in ("events", "events_quarantine", "ingested_files", *more):
        columns = sorted(set(warehouse.schema(table).names) - EACH_TIME)
        found[table] = sorted_rows(warehouse.rows(table, columns).to_pylist(), columns)
    return found


def without_removed_days(found: dict[str, list[dict[str, object]]]) -> dict[str, list[dict[str, object]]]:
    """A ledger remembers the days of events that are gone, so that their windows are computed again."""
    ledger = [row | {"removed_days": None} for row in found["ingested_files"]]
    return found | {"ingested_files": ledger}


def test_a_corrected_query_gets_the_tables_of_a_fresh_warehouse_and_back(inbox: Path, tmp_path: Path) -> None:
    def run(text: str, place: str) -> tuple[JobSettings, Warehouse]:
        settings = settings_for(inbox, tmp_path / place, text=text)
        assert run_main_job(settings).success
        return settings, Warehouse(tmp_path / place)

    _, first = run(READS_V, "first")
    assert first.rows("events_quarantine").num_rows == 5
    for text, place in ((READS_NEITHER, "second"), (READS_V, "third")):
        settings, warehouse = run(text, "first")
        _, fresh = run(text, place)
        published = "trend_aggregates"
        assert without_removed_days(contents(warehouse, published)) == without_removed_days(
            contents(fresh, published)
        )
        assert table_rows(warehouse, published) == expected_rows(settings)
        versions = {table: warehouse.version(table) for table in ("events", "events_quarantine")}
        run(text, "first")
        assert {table: warehouse.version(table) for table in versions} == versions


def test_only_files_with_such_values_are_read_again_and_it_is_told(spark, inbox, tmp_path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse")
    before = bring(spark, warehouse, inbox, "w")
    assert before.empty == {"v": 2}
    assert before.rejected == 3
    assert bring(spark, warehouse, inbox, "w", "k").files == ()
    report = bring(spark, warehouse, inbox, "v")
    told = {file.name: (file.rows, file.rejected, file.empty) for file in report.files}
    assert told == {"dirty.csv": (21, 3, {"w": 1}), "other.csv": (22, 1, {})}
    assert all(file.again.startswith("has bad values that queries read by now") for file in report.files)
    fresh = Warehouse(tmp_path / "fresh")
    bring(spark, fresh, inbox, "v")
    assert without_removed_days(contents(warehouse)) == without_removed_days(contents(fresh))
    strict = bring(spark, warehouse, inbox, "v", options=ColumnOptions(strict=True))
    assert {file.name: file.rejected for file in strict.files} == {"dirty.csv": 4}


def test_a_file_that_is_gone_stays_as_it_was_judged_and_is_told(spark, inbox, tmp_path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse")
    bring(spark, warehouse, inbox, "v")
    (inbox / "dirty.csv").unlink()
    report = bring(spark, warehouse, inbox)
    assert [file.name for file in report.files] == ["other.csv"]
    assert report.lost == ("dirty.csv",)
    assert {row["source_file"] for row in warehouse.rows("events_quarantine").to_pylist()} == {"dirty.csv"}


def test_ranges_of_a_topic_with_such_values_are_read_again_while_they_are_there(
    spark, tmp_path, monkeypatch
) -> None:
    sent = [{"time": n, "type": "A", "k": "x", "v": n} for n in range(40)]
    sent[2]["v"] = sent[4]["v"] = "wrong"
    lines = [json.dumps(one).encode() + b"\n" for one in sent]
    there = [0, 20]
    monkeypatch.setattr(
        kafka_topics, "_topic", lambda *named: kafka_topics._Topic(*named, "kafka:c/t", {0: tuple(there)})
    )
    monkeypatch.setattr(kafka_topics, "_values", lambda _, __, one: iter(lines[one.first : one.until]))
    warehouse, place = Warehouse(tmp_path / "warehouse"), "kafka://b:1/t"
    first, second = (f"0/{n:019}-{n + 20:019}.jsonl" for n in (0, 20))
    assert [file.rows for file in bring(spark, warehouse, place).files] == [20]
    there[1] = 40
    assert [(file.name, file.rows) for file in bring(spark, warehouse, place).files] == [(second, 20)]
    nothing = bring(spark, warehouse, place)
    assert (nothing.files, nothing.skipped, nothing.waiting) == ((), (), ())
    again = bring(spark, warehouse, place, "v")
    assert [(file.name, file.rows, file.rejected) for file in again.files] == [(first, 18, 2)]
    assert warehouse.count("events") == 38
    assert bring(spark, warehouse, place, "v").files == ()
    there[0] = 3
    gone = bring(spark, warehouse, place)
    assert (gone.files, gone.lost, warehouse.count("events")) == ((), (first,), 38)
    there[0] = 40
    with pytest.raises(StreamError, match="no event files at kafka://b:1/t"):
        bring(spark, Warehouse(tmp_path / "other"), place)


def test_columns_that_other_workloads_of_the_warehouse_read_are_judged_too(inbox, tmp_path) -> None:
    other = settings_for(inbox, tmp_path / "warehouse", text=READS_V)
    other = replace(other, workload=replace(other.workload, name="other"))
    assert run_main_job(other).success
    mine = settings_for(inbox, tmp_path / "warehouse", text=READS_NEITHER)
    assert run_main_job(mine).success
    assert Warehouse(tmp_path / "warehouse").rows("events_quarantine").num_rows == 5


def test_rows_that_an_older_version_rejected_are_judged_once_more(spark, inbox, tmp_path) -> None:
    warehouse = Warehouse(tmp_path / "warehouse")
    bring(spark, warehouse, inbox, "v", "w")
    spark.sql(f"UPDATE delta.`{warehouse.root}/ingested_files` SET faults = NULL")
    report = bring(spark, warehouse, inbox)
    assert {file.name for file in report.files} == {"dirty.csv", "other.csv"}
    assert bring(spark, warehouse, inbox).files == ()


def test_processes_killed_while_files_are_read_again_leave_the_tables_of_a_fresh_warehouse(
    spark, inbox, tmp_path
) -> None:
    bring(spark, Warehouse(tmp_path / "before"), inbox, options=NUMBERS)
    shutil.copytree(tmp_path / "before", tmp_path / "warehouse")
    warehouse, fresh = Warehouse(tmp_path / "warehouse"), Warehouse(tmp_path / "fresh")
    bring(spark, fresh, inbox, "k", "v", options=NUMBERS)
    command = [sys.executable, "-m", "tests.spark.ingest_run", str(inbox), str(warehouse.root)]
    for write in ("append:events", "replace:ingested_files", "delete:events"):
        environ = {**os.environ, KILL_AFTER: write}
        done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, timeout=240, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    bring(spark, warehouse, inbox, "k", "v", options=NUMBERS)
    assert without_removed_days(contents(warehouse)) == without_removed_days(contents(fresh))


KEY = ColumnOptions(unique=("id",))


def test_duplicates_by_key_are_rejected_within_files_over_files_and_over_ingests(
    spark, tmp_path, monkeypatch
) -> None:
    inbox, warehouse = tmp_path / "inbox", Warehouse(tmp_path / "warehouse")
    inbox.mkdir()
    (inbox / "a.csv").write_text("time,type,id,n\n1,A,7,1\n2,B,7,2\n3,B,,3\n4,B,,4\n")
    (inbox / "b.csv").write_text("time,type,id,n\n5,A,7,5\n6,A,8,6\n")
    first = bring(spark, warehouse, inbox, options=KEY)
    assert {file.name: (file.rows, file.rejected) for file in first.files} == {
        "a.csv": (3, 1),
        "b.csv": (1, 1),
    }
    (inbox / "c.csv").write_text("time,type,id,n\n9,A,8,9\n10,A,9,10\n11,A,9,11\n")
    second = bring(spark, warehouse, inbox, options=KEY)
    assert [(file.name, file.rows, file.rejected) for file in second.files] == [("c.csv", 1, 2)]
    (inbox / "a.csv").write_text((inbox / "a.csv").read_text() + "12,A,10,12\n")
    third = bring(spark, warehouse, inbox, options=KEY)
    assert [(file.name, file.rows, file.rejected, file.again) for file in third.files] == [
        ("a.csv", 4, 1, "had grown")
    ]
    fresh = Warehouse(tmp_path / "fresh")
    bring(spark, fresh, inbox, options=KEY)
    assert contents(warehouse) == contents(fresh)
    assert sorted(row["n"] for row in warehouse.rows("events").to_pylist()) == [1, 3, 4, 6, 10, 12]
    told = sorted(
        (row["source_file"], row["row_number"], row["code"], row["reason"])
        for row in warehouse.rows("events_quarantine").to_pylist()
    )
    assert told[0] == ("a.csv", 2, "E422", "an earlier event has id 7, too")
    assert [one[:3] for one in told[1:]] == [("b.csv", 1, "E422"), ("c.csv", 1, "E422"), ("c.csv", 3, "E422")]


def test_the_pipeline_and_run_read_files_in_one_way(inbox: Path, tmp_path: Path) -> None:
    (inbox / "berlin.csv").write_text(
        "when,kind,id,price\n"
        + "".join(
            f"{day}.07.2026 12:00, Buy ,{day % 25},{day if day % 3 else 'n/a'}\n" for day in range(1, 31)
        )
    )
    options = ColumnOptions(
        "when", "kind", types=(("price", "double"),), time_format="%d.%m.%Y %H:%M", zone="Europe/Berlin",
        type_trim=True, type_case="lower", unique=("id",),
    )  # fmt: skip
    text = "q: RETURN COUNT(*), SUM(b.price) PATTERN buy b+ WITHIN 3 days SLIDE 1 day"
    settings = settings_for(inbox / "berlin.csv", tmp_path / "warehouse", text=text, options=options)
    assert run_main_job(settings).success
    warehouse = Warehouse(tmp_path / "warehouse")
    rows = expected_rows(settings)
    assert rows
    assert table_rows(warehouse, "trend_aggregates") == rows
    codes = sorted(row["code"] for row in warehouse.rows("events_quarantine").to_pylist())
    assert codes == ["E411"] * 10 + ["E422"] * 2
