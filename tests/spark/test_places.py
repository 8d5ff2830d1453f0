"""A warehouse named by a URI, or by a path with `..`, from end to end: no step may take it for another place."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipelines.main_job import run_main_job
from pipelines.querying import query
from pipelines.steps.maintenance import maintain
from resources.warehouse import Warehouse
from resources.warehouse_lock import LOCK_FILE
from tests.spark.pipeline_cases import expected_rows, settings_for, stream, table_rows, write_csv


def test_the_job_maintenance_and_queries_on_a_uri(spark, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    settings = settings_for(write_csv(stream(120), tmp_path / "events.csv"), tmp_path / "wh")
    place = f"file://{tmp_path}/wh"
    settings = replace(settings, warehouse=f"file://{elsewhere}/../wh")
    assert run_main_job(settings).success
    warehouse = Warehouse(place)
    assert {file.path.partition("/events/")[0] for file in warehouse.files("events")} == {place}
    assert table_rows(warehouse, "trend_aggregates") == expected_rows(settings)
    assert {one.table for one in maintain(spark, warehouse)} == set(warehouse.names())
    counted = query("SELECT count(*) AS n FROM trend_aggregates", place).to_pylist()
    assert counted == [{"n": len(expected_rows(settings))}]
    # What the URI means is where everything is, and nothing is anywhere else.
    assert (tmp_path / "wh" / LOCK_FILE).is_file()
    assert (tmp_path / "wh" / "events" / "_delta_log").is_dir()
    assert not list(elsewhere.iterdir())
    late = write_csv(stream(40, seed=2), tmp_path / "late.csv")
    again = replace(settings, source=replace(settings.source, path=str(late)), warehouse=Path("../wh"))
    assert run_main_job(again).success
    assert warehouse.count("events") == 160
