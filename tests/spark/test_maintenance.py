"""Maintenance: fewer files, the same rows in the same order, old versions readable, and nothing half done hidden."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hamlet_core.errors import HamletError
from pipelines.assets.configuration import PipelineConfiguration
from pipelines.assets.maintenance import MAINTENANCE_JOB
from pipelines.definitions import definitions
from pipelines.main_job import run_main_job
from pipelines.settings import Source
from pipelines.steps.execution.execute import execute
from pipelines.steps.ingestion.ingest import Needs, ingest
from pipelines.steps.ingestion.ledger import INGEST, Ledger, milliseconds
from pipelines.steps.maintenance import Extent, Maintenance, compact, crowded_partitions, extent, maintain
from resources import warehouse as warehouse_module
from resources.tables import events_table
from resources.warehouse import DataFile, Warehouse
from tests.spark.pipeline_cases import settings_for, stream, table_rows, write_csv

NEEDS = Needs(partitions=(frozenset({"k", "g"}), frozenset({"k"})), read=frozenset({"k", "g", "v"}))
PARTS = 4


class Killed(BaseException):
    """Stands for the end of the process."""


def bring(spark, warehouse: Warehouse, place: Path):
    return ingest(spark, warehouse, Source(str(place)), NEEDS)


def everything(warehouse: Warehouse, table: str) -> list[dict[str, object]]:
    return table_rows(warehouse, table, warehouse.schema(table).names)


@pytest.fixture
def pieces(spark, tmp_path):
    """A stream that came in piece by piece: each ingest leaves a file for every day and bucket."""
    table = stream(200)
    settings = settings_for(tmp_path / "inbox", tmp_path / "warehouse")
    warehouse = Warehouse(settings.warehouse)
    for part in range(PARTS):
        place = write_csv(table.take(list(range(part, 200, PARTS))), tmp_path / "inbox" / f"{part}.csv")
        with place.open("a") as file:
            file.write(f"broken {part}\n")
        bring(spark, warehouse, tmp_path / "inbox")
    return settings, warehouse


def test_files_become_few_and_rows_results_and_readers_stay(spark, pieces, tmp_path):
    settings, warehouse = pieces
    assert run_main_job(settings).success
    names = warehouse.names()
    before = {name: everything(warehouse, name) for name in names}
    old = {name: warehouse.version(name) for name in names}
    reader = warehouse.dataset("events")
    configuration = PipelineConfiguration.of(settings)
    job = definitions(configuration).resolve_job_def(MAINTENANCE_JOB)
    done = job.execute_in_process(raise_on_error=True)
    assert done.success
    shown = [
        event.step_output_data.metadata["tables"].value
        for event in done.all_events if event.is_successful_output and "tables" in event.step_output_data.metadata
    ]  # fmt: skip
    assert len(shown) == 1
    assert "| events | " in shown[0]
    # The same rows, now and at the version before, and for whoever had begun to read.
    for name in names:
        assert everything(warehouse, name) == before[name]
        assert warehouse.read(spark, name, old[name]).count() == len(before[name])
    assert reader.count_rows() == 200
    files = warehouse.files("events")
    assert len(files) == len({tuple(file.partition.items()) for file in files})
    assert len(warehouse.files("events_quarantine")) == 1
    for file in files:
        rows = pq.ParquetFile(file.path).read(columns=["k", "event_time"]).to_pylist()
        places = [((row["k"] is not None, row["k"] or ""), row["event_time"]) for row in rows]
        assert places == sorted(places)
    told = [json.loads(one["userMetadata"]) for one in warehouse.open("events").history()]
    assert {done.run_id} == {one["run_id"] for one in told if one["write"] in ("optimize", "vacuum")}
    # What is computed of the compacted files is what was computed before; and a second time there is nothing to do.
    execute(spark, warehouse, settings_for(tmp_path / "inbox", settings.warehouse, engine="greta"), "again")
    results = [
        name
        for name in warehouse.schema("computed_aggregates").names
        if name not in ("run_id", "events_version")
    ]
    assert table_rows(warehouse, "computed_aggregates", results) == [
        {name: row[name] for name in results} for row in table_rows(warehouse, "trend_aggregates", results)
    ]
    version = warehouse.version("events")
    compact(spark, warehouse, "events")
    assert warehouse.version("events") == version


def test_a_killed_ingest_is_removed_before_and_found_after_its_rows_share_files(
    spark, pieces, tmp_path, monkeypatch
):
    _, warehouse = pieces
    good = everything(warehouse, "events")
    late = tmp_path / "inbox" / "late.csv"
    late.write_text(
        (tmp_path / "inbox" / "0.csv").read_text().replace("broken 0\n", "90,A,x,g,1,1.5\nbroken\n")
    )

    def die(done: str) -> None:
        if done == "append:events":
            raise Killed

    for spoil in (compact, lambda *_: None):
        with monkeypatch.context() as patch:
            patch.setattr(warehouse_module, "passed", die)
            with pytest.raises(Killed):
                bring(spark, warehouse, tmp_path / "inbox")
        assert warehouse.count("events") == 251
        if spoil is compact:
            # As if somebody had run OPTIMIZE by hand: rows of dead and living ingests lie in one file.
            warehouse.optimize(spark, "events")
            content = late.read_text()
            late.unlink()
            assert bring(spark, warehouse, tmp_path / "inbox").killed_ingests == 1
            late.write_text(content)
        else:
            maintain(spark, warehouse)
        assert everything(warehouse, "events") == good
    assert bring(spark, warehouse, tmp_path / "inbox").killed_ingests == 0
    assert warehouse.count("events") == 251


def test_vacuum_takes_what_is_older_than_the_retention_and_nothing_younger(spark, pieces):
    _, warehouse = pieces
    rows = everything(warehouse, "events")
    small = extent(warehouse, "events")
    compact(spark, warehouse, "events")
    both = extent(warehouse, "events")
    assert both.stored_files == small.files + both.files > both.files < small.files
    folder = Path(warehouse.path_of("events"))
    orphan = folder / "day=1970-01-01" / "bucket=0" / "part-of-a-killed-write.parquet"
    orphan.write_bytes(b"nothing")
    maintain(spark, warehouse)
    assert extent(warehouse, "events").stored_files == both.stored_files + 1
    long_ago = time.time() - 30 * 86_400
    for file in folder.rglob("*.parquet"):
        os.utime(file, (long_ago, long_ago))
    maintain(spark, warehouse, Maintenance(24))
    assert not orphan.exists()  # older than the retention, and of no version
    assert extent(warehouse, "events").stored_files == both.stored_files  # of a version within the retention
    warehouse.vacuum(spark, "events", 0)
    assert extent(warehouse, "events") == Extent(both.files, both.bytes, both.files, both.bytes)
    assert everything(warehouse, "events") == rows


@pytest.mark.parametrize("few", [False, True], ids=["by Spark", "here"])
def test_an_ingest_has_a_number_of_its_own_and_a_repeated_or_late_commit_adds_nothing(
    spark, pieces, tmp_path, few
):
    _, warehouse = pieces
    ledger = Ledger.of(warehouse)
    last = max(ledger.ingests)
    assert warehouse.last_number("events", INGEST) == milliseconds(last)
    assert warehouse.last_number("events_quarantine", INGEST) == milliseconds(last)
    assert ledger.begun == {last}
    assert ledger.next_ingest(last) > last
    frame = warehouse.read(spark, "events").limit(3)
    table = events_table((), ())
    warehouse.append(frame, table, once=(INGEST, milliseconds(last)), few=few)
    assert warehouse.count("events") == 200
    with pytest.raises(HamletError, match=r"E528.*events"):
        warehouse.append(frame, table, once=(INGEST, milliseconds(last) - 1), few=few)
    assert warehouse.count("events") == 200


def test_numbers_of_killed_ingests_are_not_used_again(spark, pieces, tmp_path, monkeypatch):
    """A clock that stands still, and an ingest that dies twice: its rows must come in all the same."""
    _, warehouse = pieces
    (tmp_path / "inbox" / "late.csv").write_text("time,type,k,g,v,w\n90,A,x,g,1,1.5\n")

    def die(done: str) -> None:
        if done in ("append:events", "delete:events"):
            raise Killed

    monkeypatch.setattr(Ledger, "next_ingest", still(Ledger.next_ingest))
    with monkeypatch.context() as patch:
        patch.setattr(warehouse_module, "passed", die)
        for _ in range(3):
            with pytest.raises(Killed):
                bring(spark, warehouse, tmp_path / "inbox")
    bring(spark, warehouse, tmp_path / "inbox")
    assert warehouse.count("events") == 201


def still(next_ingest):
    """The same method under a clock that shows the beginning of time."""
    return lambda ledger, now: next_ingest(ledger, now.replace(year=1971))


@pytest.mark.parametrize("hours", [0, 23.9, -1, float("nan")])
def test_a_retention_below_that_of_running_readers_is_refused(hours):
    with pytest.raises(HamletError, match=r"E529.*too short"):
        Maintenance(hours)


def test_only_partitions_with_two_small_files_are_crowded():
    def file(day: str, size: int) -> DataFile:
        return DataFile(f"{day}-{size}", 1, size, {"day": day, "bucket": "1"})

    large = 1 << 30
    files = [file("2", 10), file("2", large), file("1", 10), file("1", 20), file("1", large), file("3", 5)]
    assert crowded_partitions(files) == {(("bucket", "1"), ("day", "1")): 30 + large}
    assert crowded_partitions([DataFile("a", 1, 1, {}), DataFile("b", 1, 1, {})]) == {(): 2}
