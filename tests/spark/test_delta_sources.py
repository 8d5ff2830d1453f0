"""Events that are in Delta tables: what is appended is ingested once, whatever the table does with its files meanwhile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import deltalake
import pytest
from pyspark.sql import SparkSession

from hamlet_core.errors import StreamError
from pipelines.reading import discover
from pipelines.settings import Source
from pipelines.steps.ingestion import ingest as ingest_module
from pipelines.steps.ingestion.ingest import Needs, ingest
from pipelines.streaming import advance
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import Killed
from tests.spark.test_streaming import LATENESS, Arriving, arriving, published


class Lake(Arriving):
    """A stream whose parts are appended to a Delta table."""

    @property
    def place(self) -> Path:
        return Path(self.settings.source.path)

    def bring(self, number: int) -> None:
        deltalake.write_deltalake(self.place, self.parts[number], mode="append", partition_by=["g"])

    @property
    def table(self) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(self.place)


def lake(folder: Path, parts: int) -> Lake:
    one = arriving(folder, parts)
    source = replace(one.settings.source, path=str(folder / "lake" / "rides"))
    return Lake(replace(one.settings, source=source), one.parts)


def test_a_stream_from_a_table_that_is_compacted_and_vacuumed_gives_the_rows_of_a_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    one = lake(tmp_path, 4)
    for number in range(4):
        one.bring(number)
        if number == 1:
            advance(spark, one.settings, LATENESS)
        if number in (1, 2):
            one.table.optimize.compact()
        if number == 2:
            one.table.create_checkpoint()
        advance(spark, one.settings, LATENESS)
    one.table.optimize.compact()
    one.table.vacuum(0, enforce_retention_duration=False, dry_run=False)
    again = advance(spark, one.settings, LATENESS)
    assert (again.given, again.ingested and again.ingested.rows) == (None, 0)
    assert advance(spark, one.settings, LATENESS).ingested is None, "the table is looked through once"
    assert one.warehouse.count("events") == sum(part.num_rows for part in one.parts)
    assert published(one.warehouse) == one.final() != []


def test_an_ingest_that_is_killed_reads_the_files_of_a_table_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, needs = lake(tmp_path, 3), Needs()
    one.bring(0)
    ingest(spark, one.warehouse, one.settings.source, needs)
    one.bring(1)
    one.table.optimize.compact()
    one.bring(2)

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(ingest_module, "_write_ledger", killed)
        with pytest.raises(Killed):
            ingest(spark, one.warehouse, one.settings.source, needs)
    report = ingest(spark, one.warehouse, one.settings.source, needs)
    assert report.killed_ingests == 1
    assert report.rows == one.parts[1].num_rows + one.parts[2].num_rows
    events = one.warehouse.rows("events", ["time", "type", "k", "g", "v", "w"])
    given = one.table.to_pyarrow_table().select(events.column_names)
    key = [(name, "ascending") for name in events.column_names]
    assert events.sort_by(key).equals(given.cast(events.schema).sort_by(key))


def test_a_file_of_a_table_that_goes_while_it_is_read_waits(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it holds is in another file by then, of which nobody may believe that it was read."""
    one, needs = lake(tmp_path, 2), Needs()
    one.bring(0)
    ingest(spark, one.warehouse, one.settings.source, needs)
    one.bring(1)
    one.table.optimize.compact()
    with monkeypatch.context() as patch:
        patch.setattr(ingest_module, "changed_since", lambda _, files: {files[0].path})
        report = ingest(spark, one.warehouse, one.settings.source, needs)
    assert len(report.waiting) == 1
    report = ingest(spark, one.warehouse, one.settings.source, needs)
    assert one.warehouse.count("events") == sum(part.num_rows for part in one.parts)
    assert report.rows > 0


def test_a_table_whose_rows_change_after_they_were_read_ends_a_stream_with_its_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    one = lake(tmp_path, 2)
    one.bring(0)
    advance(spark, one.settings, LATENESS)
    one.table.update(updates={"v": "7"}, predicate="type = 'B'")
    versions = {name: one.warehouse.version(name) for name in one.warehouse.names()}
    with pytest.raises(StreamError, match=rf"E454.*{one.place} \(UPDATE\) has changed rows that were read"):
        advance(spark, one.settings, LATENESS)
    assert {name: one.warehouse.version(name) for name in one.warehouse.names()} == versions


def test_rows_that_spark_has_only_marked_as_deleted_are_refused_until_they_are_gone(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = tmp_path / "marked"
    rows = spark.range(10).selectExpr("id AS time", "'A' AS type")
    rows.coalesce(1).write.format("delta").option("delta.enableDeletionVectors", "true").save(str(place))
    assert sum(1 for _ in discover(place)) == 1
    spark.sql(f"DELETE FROM delta.`{place}` WHERE time = 3")
    with pytest.raises(StreamError, match=r"E453.*deletion vectors") as told:
        ingest(spark, Warehouse(tmp_path / "warehouse"), Source(str(place)), Needs())
    assert "REORG TABLE" in told.value.hint
    spark.sql(f"REORG TABLE delta.`{place}` APPLY (PURGE)")
    ingest(spark, Warehouse(tmp_path / "warehouse"), Source(str(place)), Needs())
    times = Warehouse(tmp_path / "warehouse").rows("events", ["time"]).column(0).to_pylist()
    assert sorted(times) == [time for time in range(10) if time != 3]
