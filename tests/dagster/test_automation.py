"""What starts runs by itself: the sensor of the inbox, the schedule, and a folder in which one workload is broken."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from pipelines.assets.configuration import FolderConfiguration
from pipelines.definitions import INGEST_JOB, definitions
from tests.dagster.folder_cases import DAILY, JAMS, drop, make_folder

SCHEDULED = DAILY + 'schedule: "15 2 * * *"\nfresh_within_hours: 26\nretries: 2\nowners: ["team:traffic"]\n'
BROKEN = "x: RETURN COUNT(*) PATTERN SEQ("


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    workloads = {"jams": (JAMS, SCHEDULED), "broken": (BROKEN, ""), "plain": (JAMS, "")}
    return make_folder(tmp_path / "rides", workloads, days=0)


def settle(place: Path, seconds: float = 60) -> None:
    """As if the file had been written some time ago."""
    then = place.stat().st_mtime - seconds
    os.utime(place, (then, then))


def look(defs: dg.Definitions, name: str, cursor: str | None) -> dg.SensorExecutionData:
    repository = defs.get_repository_def()
    sensor = repository.get_sensor_def(name)
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance, cursor=cursor, repository_def=repository) as context,
    ):
        return sensor.evaluate_tick(context)


def test_a_file_in_the_inbox_starts_one_ingest_once_it_is_whole(folder: Path) -> None:
    defs = definitions(folder=folder)
    empty = look(defs, "new_files", None)
    assert empty.skip_message == "no new files"
    place = drop(folder, 0)
    assert look(defs, "new_files", empty.cursor).skip_message == "no new files; 1 still being written"
    settle(place)
    found = look(defs, "new_files", empty.cursor)
    assert [request.run_key for request in found.run_requests or ()] != []
    assert defs.get_repository_def().get_sensor_def("new_files").job_name == INGEST_JOB
    assert look(defs, "new_files", found.cursor).skip_message == "no new files"
    settle(place, -30)
    changed = look(defs, "new_files", found.cursor)
    (again,) = changed.run_requests or ()
    assert again.run_key != (found.run_requests or ())[0].run_key
    assert "day00.csv" in again.tags["hamlet/reason"]


def test_the_schedule_runs_the_last_complete_day(folder: Path) -> None:
    repository = definitions(folder=folder).get_repository_def()
    schedule = repository.get_schedule_def("jams_schedule")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("15 2 * * *", "UTC")

    def tick(when: datetime) -> dg.ScheduleExecutionData:
        with dg.build_schedule_context(scheduled_execution_time=when, repository_def=repository) as context:
            return schedule.evaluate_tick(context)

    (request,) = tick(datetime(2026, 1, 9, 2, 15, tzinfo=UTC)).run_requests or ()
    assert request.partition_key == "2026-01-08"
    early = tick(datetime(2026, 1, 5, 2, 15, tzinfo=UTC))
    assert (early.run_requests, early.skip_message) == ([], "the first partition is not complete yet")


def test_nothing_is_late_before_the_first_ingest(folder: Path) -> None:
    late = look(definitions(folder=folder), "jams_late_events", None)
    assert late.skip_message == "nothing has come in since the last look"


def test_each_file_of_queries_brings_assets_checks_and_a_job_and_a_broken_one_stops_no_other(
    folder: Path,
) -> None:
    defs = definitions(folder=folder)
    graph = defs.resolve_asset_graph()
    keys = {key.to_user_string() for key in graph.get_all_asset_keys()}
    own = {"workload_plan", "computed_aggregates", "sharing_decisions", "trend_aggregates", "run_metrics"}
    assert keys >= {"events", *(f"{name}/{table}" for name in ("jams", "plain") for table in own)}
    assert {key for key in keys if key.startswith("broken/")} == {"broken/workload_plan"}
    told = graph.get(dg.AssetKey(["broken", "workload_plan"])).description
    assert told is not None
    assert "line 1, column" in told
    assert {job.name for job in defs.get_repository_def().get_all_jobs()} >= {"jams_job", "plain_job"}
    published = graph.get(dg.AssetKey(["jams", "trend_aggregates"]))
    assert isinstance(published.partitions_def, dg.DailyPartitionsDefinition)
    assert published.owners == ["team:traffic"]
    assert published.freshness_policy is not None
    checks = {check.to_user_string() for check in graph.asset_check_keys}
    assert {"jams/computed_aggregates:greta_comparison", "events:events_expectations"} <= checks

    (folder / "added.hamlet").write_text(JAMS)
    added = definitions(folder=folder).resolve_asset_graph()
    assert dg.AssetKey(["added", "trend_aggregates"]) in added.get_all_asset_keys()


def test_a_broken_workload_fails_with_its_mistake_and_is_not_tried_again(folder: Path) -> None:
    defs = definitions(folder=folder)
    job = defs.resolve_implicit_job_def_def_for_assets([dg.AssetKey(["broken", "workload_plan"])])
    assert job is not None
    done = job.execute_in_process(
        asset_selection=[dg.AssetKey(["broken", "workload_plan"])], raise_on_error=False
    )
    (failed,) = [event for event in done.all_events if event.is_step_failure]
    assert "line 1, column" in str(failed.step_failure_data.user_failure_data.description)


def test_a_run_sees_one_text_of_its_folder_and_the_next_run_the_next(folder: Path) -> None:
    configuration, file = FolderConfiguration(folder=str(folder)), folder / "jams.hamlet"
    before = file.read_text(encoding="utf-8")
    with configuration.yield_for_execution(dg.build_init_resource_context()) as pipeline:
        file.write_text(before + "\n-- edited\n", encoding="utf-8")
        assert pipeline.settings("jams").workload.text == before
    with configuration.yield_for_execution(dg.build_init_resource_context()) as pipeline:
        assert pipeline.settings("jams").workload.text == before + "\n-- edited\n"
    file.write_text(before, encoding="utf-8")
