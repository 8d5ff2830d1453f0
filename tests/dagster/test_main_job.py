"""The main job as Dagster runs it: the answer, the checks that stop it, errors of users, and the pages' metadata."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from delta.tables import DeltaTable

from hamlet_core.errors import HamletError
from pipelines.assets import execute as execute_asset
from pipelines.assets import ingest as ingest_asset
from pipelines.main_job import run_main_job
from pipelines.settings import NamedWorkload
from pipelines.showing.levels import GOING_ON
from pipelines.steps.execution.decisions import Decided
from resources.warehouse import Warehouse
from resources.warehouse_lock import exclusive
from tests.spark.pipeline_cases import expected_rows, settings_for, stream, table_rows, write_csv

CHECKS = {
    ("ingested_files", "files_are_in"),
    ("events", "events_expectations"),
    ("computed_aggregates", "results_expectations"),
    ("computed_aggregates", "greta_comparison"),
}


@pytest.fixture(scope="module")
def done(spark, tmp_path_factory):
    """One undisturbed run, with its instance."""
    folder = tmp_path_factory.mktemp("done")
    settings = settings_for(write_csv(stream(200), folder / "events.csv"), folder / "warehouse")
    with dg.DagsterInstance.ephemeral() as instance:
        yield settings, run_main_job(settings, instance), instance


def test_the_job_publishes_what_a_run_in_one_process_finds(done):
    settings, summary, _ = done
    assert summary.success
    assert {(check.asset, check.name) for check in summary.checks if check.passed} == CHECKS
    warehouse = Warehouse(settings.warehouse)
    assert table_rows(warehouse, "trend_aggregates") == expected_rows(settings)
    assert {row["run_id"] for row in warehouse.rows("trend_aggregates").to_pylist()} == {summary.run_id}


def test_the_numbers_of_the_run_are_in_the_summary_and_in_the_table(done):
    settings, summary, _ = done
    numbers = {(one.step, one.metric, one.query): one.value for one in summary.metrics}
    assert numbers["ingest", "events ingested", None] == 200
    assert numbers["execute", "tasks", None] >= 2
    rows = Warehouse(settings.warehouse).rows("run_metrics").to_pylist()
    stored = {(row["step"], row["metric"], row["query"]): row["value"] for row in rows}
    # The step that writes the table cannot know how long it takes itself.
    assert numbers.keys() - stored.keys() == {("measure", "seconds", None)}
    assert all(stored[key] == numbers[key] for key in numbers.keys() & stored.keys())
    assert {step for step, metric, _ in stored if metric == "seconds"} >= {"ingest", "execute", "publish"}
    published = len(expected_rows(settings))
    assert sum(value for (_, metric, _), value in numbers.items() if metric == "result rows") == published


def test_materializations_say_what_people_look_for(done):
    settings, summary, instance = done
    entries = instance.all_logs(summary.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    found = {
        entry.asset_materialization.asset_key.to_user_string(): entry.asset_materialization.metadata
        for entry in entries
    }
    assert set(found) == {
        "events", "events_quarantine", "ingested_files", "workload_plan", "computed_aggregates", "sharing_decisions",
        "trend_aggregates", "run_metrics", *(f"{settings.workload.name}__{plan.name}" for plan in settings.workload.plans),
    }  # fmt: skip
    for name, metadata in found.items():
        assert metadata["dagster/uri"].value == Warehouse(settings.warehouse).path_of(name)
        assert metadata["dagster/row_count"].value >= 0
    assert "automaton" in found["workload_plan"]["plan"].value
    assert "events.csv" in found["events"]["files read"].value


def test_a_second_run_ingests_nothing_and_finds_the_same(done, spark):
    settings, _, _ = done
    before = Warehouse(settings.warehouse).version("events")
    summary = run_main_job(settings)
    assert summary.success
    assert Warehouse(settings.warehouse).version("events") == before
    assert table_rows(Warehouse(settings.warehouse), "trend_aggregates") == expected_rows(settings)


def test_each_step_says_that_it_has_begun(spark, tmp_path, caplog):
    settings = settings_for(write_csv(stream(50), tmp_path / "events.csv"), tmp_path / "warehouse")
    with caplog.at_level(GOING_ON, "hamlet"):
        assert run_main_job(settings).success
    begun = [record.getMessage() for record in caplog.records if record.levelno == GOING_ON]
    assert sorted(begun) == sorted(
        [
            "ingest",
            "plan",
            "events expectations",
            "execute",
            "greta comparison",
            "results expectations",
            "publish",
            "measure",
        ]
    )


def test_a_sum_of_texts_is_refused_before_a_row_is_touched(spark, tmp_path):
    """And when the query is corrected, no row is in quarantine for what was wrong with the query."""
    given = settings_for(write_csv(stream(50), tmp_path / "events.csv"), tmp_path / "warehouse")
    wrong = replace(
        given, workload=NamedWorkload("w", "RETURN SUM(b.g) PATTERN SEQ(A a, B b+) WITHIN 40 min")
    )
    with pytest.raises(HamletError) as refused:
        run_main_job(wrong)
    assert refused.value.code == "E135"
    warehouse = Warehouse(given.warehouse)
    assert not warehouse.exists("events")
    assert run_main_job(given).success
    assert table_rows(warehouse, "trend_aggregates") == expected_rows(given)
    assert not warehouse.exists("events_quarantine") or warehouse.count("events_quarantine") == 0


def test_what_was_decided_is_told_by_the_asset_and_among_the_numbers_of_the_run(done, spark, monkeypatch):
    settings, _, _ = done
    real = execute_asset.execute
    decided = Decided(bursts=9, shared=7, snapshots_created=3, snapshots_carried=6)
    monkeypatch.setattr(execute_asset, "execute", lambda *given: replace(real(*given), decided=decided))
    with dg.DagsterInstance.ephemeral() as instance:
        summary = run_main_job(settings, instance)
        entries = instance.all_logs(summary.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    assert summary.success
    told = {"bursts decided": 9, "bursts shared": 7, "snapshots created": 3, "snapshots carried": 6}
    (metadata,) = [
        entry.asset_materialization.metadata
        for entry in entries
        if entry.asset_materialization.asset_key == dg.AssetKey("sharing_decisions")
    ]
    assert {name: metadata[name].value for name in told} == told
    rows = Warehouse(settings.warehouse).rows("run_metrics").to_pylist()
    stored = {row["metric"]: row["value"] for row in rows if row["run_id"] == summary.run_id}
    assert {name: stored[name] for name in told} == told


def test_a_wrong_number_is_not_published_and_the_check_names_it(done, spark, monkeypatch):
    settings, _, _ = done
    warehouse = Warehouse(settings.warehouse)
    before = warehouse.version("trend_aggregates")
    real = execute_asset.execute

    def off_by_one(spark, warehouse, settings, run_id):
        report = real(spark, warehouse, settings, run_id)
        table = DeltaTable.forPath(spark, warehouse.path_of("computed_aggregates"))
        wrong = "query = 'pairs' AND aggregate = 'COUNT(*)'"
        first = table.toDF().where(wrong).agg({"window_start": "min"}).first()[0]
        table.update(
            f"{wrong} AND window_start = TIMESTAMP '{first}'", {"exact": "string(bigint(exact) + 1)"}
        )
        return report

    monkeypatch.setattr(execute_asset, "execute", off_by_one)
    summary = run_main_job(settings)
    assert not summary.success
    (red,) = [check for check in summary.checks if not check.passed]
    assert red.name == "greta_comparison"
    assert "| pairs |" in red.page
    assert "COUNT(*)" in red.page
    assert warehouse.version("trend_aggregates") == before


def test_a_file_that_has_changed_is_a_warning_and_the_others_are_published(spark, tmp_path):
    inbox, kept = tmp_path / "inbox", tmp_path / "kept"
    write_csv(stream(80), inbox / "events.csv")
    settings = settings_for(inbox, tmp_path / "warehouse")
    assert run_main_job(settings).success
    inbox.rename(kept)
    write_csv(stream(80, seed=2), inbox / "events.csv")
    write_csv(stream(40, seed=3), inbox / "more.csv")
    summary = run_main_job(settings)
    assert summary.success
    (warning,) = [check for check in summary.checks if not check.passed]
    assert (warning.asset, warning.name, warning.warns) == ("ingested_files", "files_are_in", True)
    assert "events.csv: changed since it was ingested" in warning.description
    assert "put new rows into a new file" in warning.description
    assert "| events.csv | | | waits: changed since it was ingested" in warning.page
    write_csv(stream(40, seed=3), kept / "more.csv")
    expected = expected_rows(settings_for(kept, tmp_path / "warehouse"))
    assert table_rows(Warehouse(settings.warehouse), "trend_aggregates") == expected


def test_a_false_event_behind_the_ingest_stops_the_run(spark, tmp_path, monkeypatch):
    settings = settings_for(write_csv(stream(80), tmp_path / "events.csv"), tmp_path / "warehouse")
    real = ingest_asset.ingest

    def smuggle(spark, warehouse, source, needs):
        report = real(spark, warehouse, source, needs)
        warehouse.read(spark, "events").limit(1).write.format("delta").mode("append").save(
            warehouse.path_of("events")
        )
        return report

    monkeypatch.setattr(ingest_asset, "ingest", smuggle)
    summary = run_main_job(settings)
    assert not summary.success
    (red,) = [check for check in summary.checks if not check.passed]
    assert red.name == "events_expectations"
    assert "rows add up" in red.description
    assert not Warehouse(settings.warehouse).exists("computed_aggregates")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("q: RETURN COUNT(*) PATTERN SEQ(A WITHIN 1 s", "E0"),
        ("q: RETURN COUNT(*) PATTERN A a WHERE b.v = 1 WITHIN 1 s", "E1"),
        ("q: RETURN COUNT(*) PATTERN A a WHERE a.absent = 1 WITHIN 1 s", "E202"),
    ],
)
def test_a_bad_workload_is_the_users_own_error(done, text, code):
    settings, _, _ = done
    with pytest.raises(HamletError) as refused:
        run_main_job(replace(settings, workload=NamedWorkload("bad", text)))
    assert refused.value.code.startswith(code)


def test_a_missing_file_is_the_users_own_error(spark, tmp_path):
    with pytest.raises(HamletError, match="E450"):
        run_main_job(settings_for(tmp_path / "none.csv", tmp_path / "warehouse"))


HOLD = """
import sys, time
from pathlib import Path
from resources.warehouse_lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_warehouse_in_use_is_refused_in_one_line_and_free_when_its_process_is_killed(spark, tmp_path):
    settings = settings_for(write_csv(stream(40), tmp_path / "events.csv"), tmp_path / "warehouse")
    root = str(Path(__file__).resolve().parents[2])
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(settings.warehouse)], stdout=subprocess.PIPE, text=True, cwd=root
    ) as holder:
        try:
            assert holder.stdout.readline() == "held\n"
            with pytest.raises(HamletError, match=rf"E520.*in use by process {holder.pid} on "):
                run_main_job(settings)
        finally:
            holder.kill()
    started = time.monotonic()
    with exclusive(settings.warehouse):
        assert time.monotonic() - started < 5
