"""What starts runs by itself: the sensor of the inbox, the schedule, and a folder in which one workload is broken."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.code_pointer import ModuleCodePointer
from dagster._core.origin import RepositoryPythonOrigin
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.test_utils import create_run_for_test

import pipelines.definitions
from pipelines.assets import asked, automation
from pipelines.assets.configuration import FolderConfiguration
from pipelines.assets.place import Place
from pipelines.definitions import INGEST_JOB, definitions
from pipelines.spans import Partition
from resources.warehouse import Warehouse
from tests.dagster.folder_cases import DAILY, FIRST, JAMS, drop, make_folder
from tests.dagster.pages import address_of, ask, serving, wait_for

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


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


@pytest.fixture
def kept() -> Iterator[dg.DagsterInstance]:
    """An instance on the disk, as a schedule looks at one."""
    with dg.instance_for_test() as made:
        yield made


def look(
    defs: dg.Definitions, name: str, cursor: str | None, instance: dg.DagsterInstance
) -> dg.SensorExecutionData:
    repository = defs.get_repository_def()
    sensor = repository.get_sensor_def(name)
    with dg.build_sensor_context(
        instance, cursor=cursor, repository_def=repository, sensor_name=name
    ) as context:
        return sensor.evaluate_tick(context)


def started(
    instance: dg.DagsterInstance, name: str, request: dg.RunRequest, status: dg.DagsterRunStatus
) -> dg.DagsterRun:
    """The run that the daemon makes of a request, in a status."""
    assert request.run_key is not None
    tags = {"dagster/run_key": request.run_key, "dagster/sensor_name": name}
    return create_run_for_test(instance, job_name=INGEST_JOB, status=status, tags=tags)


class Clock:
    """The clock of the sensors, put forward and back."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ahead = timedelta()
        patch.setattr(asked, "now", lambda: datetime.now(UTC) + self.ahead)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_a_file_in_the_inbox_starts_one_ingest_once_it_is_whole(
    folder: Path, instance: dg.DagsterInstance
) -> None:
    defs = definitions(folder=folder)
    empty = look(defs, "new_files", None, instance)
    assert empty.skip_message == "no new files"
    place = drop(folder, 0)
    assert (
        look(defs, "new_files", empty.cursor, instance).skip_message == "no new files; 1 still being written"
    )
    settle(place)
    found = look(defs, "new_files", empty.cursor, instance)
    assert [request.run_key for request in found.run_requests or ()] != []
    assert defs.get_repository_def().get_sensor_def("new_files").job_name == INGEST_JOB
    started(instance, "new_files", (found.run_requests or ())[0], dg.DagsterRunStatus.SUCCESS)
    assert look(defs, "new_files", found.cursor, instance).skip_message == "no new files"
    settle(place, -30)
    changed = look(defs, "new_files", found.cursor, instance)
    (again,) = changed.run_requests or ()
    assert again.run_key != (found.run_requests or ())[0].run_key
    assert "day00.csv" in again.tags["hamlet/reason"]


def one_request(found: dg.SensorExecutionData) -> dg.RunRequest:
    (request,) = found.run_requests or ()
    return request


@pytest.mark.parametrize("status", [dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED, None])
def test_an_ingest_that_fails_is_asked_for_again_after_pauses_that_grow(
    folder: Path, instance: dg.DagsterInstance, clock: Clock, status: dg.DagsterRunStatus | None
) -> None:
    defs = definitions(folder=folder)
    settle(drop(folder, 0))
    found = look(defs, "new_files", None, instance)
    keys, minutes = [], (1, 2, 4, 8, 16, 32, 60, 60)
    for pause in minutes:
        keys.append(one_request(found).run_key)
        if status is not None:
            run = started(instance, "new_files", one_request(found), status)
        clock.ahead += timedelta(minutes=pause, seconds=-5)
        waits = look(defs, "new_files", found.cursor, instance)
        assert waits.run_requests == []
        told = waits.skip_message or ""
        assert "the last ingest failed (" in told
        assert (run.run_id[:8] if status else "its run is not there any more") in told
        assert "next try at 20" in told
        clock.ahead += timedelta(seconds=10)
        if status is not None:
            clock.ahead = timedelta(
                minutes=pause, seconds=5
            )  # the run has ended now, by the clock of its store
        found = look(defs, "new_files", found.cursor, instance)
        clock.ahead = timedelta() if status is not None else clock.ahead
    keys.append(one_request(found).run_key)
    assert len(set(keys)) == len(minutes) + 1
    started(instance, "new_files", one_request(found), dg.DagsterRunStatus.SUCCESS)
    done = look(defs, "new_files", found.cursor, instance)
    assert done.skip_message == "no new files"
    clock.ahead += timedelta(days=1)
    assert look(defs, "new_files", done.cursor, instance).skip_message == "no new files"


@pytest.mark.parametrize("status", [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTED])
def test_an_ingest_on_its_way_is_not_asked_for_twice_even_if_files_arrive(
    folder: Path, instance: dg.DagsterInstance, clock: Clock, status: dg.DagsterRunStatus
) -> None:
    defs = definitions(folder=folder)
    settle(drop(folder, 0))
    found = look(defs, "new_files", None, instance)
    run = started(instance, "new_files", one_request(found), status)
    settle(drop(folder, 1))
    clock.ahead = timedelta(days=1)
    waits = look(defs, "new_files", found.cursor, instance)
    assert waits.run_requests == []
    assert waits.skip_message == f"an ingest is on its way (run {run.run_id[:8]})"
    instance.delete_run(run.run_id)
    started(instance, "new_files", one_request(found), dg.DagsterRunStatus.SUCCESS)
    then = one_request(look(defs, "new_files", waits.cursor or found.cursor, instance))
    assert then.tags["hamlet/reason"] == "1 new files, such as day01.csv"


def test_a_new_file_is_not_kept_waiting_by_a_failed_ingest_and_starts_the_pauses_anew(
    folder: Path, instance: dg.DagsterInstance, clock: Clock
) -> None:
    defs = definitions(folder=folder)
    settle(drop(folder, 0))
    found = look(defs, "new_files", None, instance)
    for pause in (1, 2, 4):
        started(instance, "new_files", one_request(found), dg.DagsterRunStatus.FAILURE)
        clock.ahead = timedelta(minutes=pause, seconds=5)
        found = look(defs, "new_files", found.cursor, instance)
    clock.ahead = timedelta()
    started(instance, "new_files", one_request(found), dg.DagsterRunStatus.FAILURE)
    settle(drop(folder, 1))
    found = look(defs, "new_files", found.cursor, instance)
    started(instance, "new_files", one_request(found), dg.DagsterRunStatus.FAILURE)
    clock.ahead = timedelta(seconds=65)
    assert "attempt 2" in one_request(look(defs, "new_files", found.cursor, instance)).tags["hamlet/reason"]


def test_a_clock_that_was_put_back_does_not_put_the_next_try_off(
    folder: Path, instance: dg.DagsterInstance, clock: Clock
) -> None:
    defs = definitions(folder=folder)
    settle(drop(folder, 0))
    found = look(defs, "new_files", None, instance)
    started(instance, "new_files", one_request(found), dg.DagsterRunStatus.FAILURE)
    clock.ahead = timedelta(days=-30)
    assert one_request(look(defs, "new_files", found.cursor, instance))


def test_a_file_dated_ahead_of_the_clock_is_not_kept_waiting(
    folder: Path, instance: dg.DagsterInstance
) -> None:
    settle(drop(folder, 0), -86_400)
    assert one_request(look(definitions(folder=folder), "new_files", None, instance))


@pytest.mark.slow
def test_the_daemon_tries_a_failed_ingest_again_and_nobody_touches_the_file(tmp_path: Path) -> None:
    """Slow: two runs with a JVM each, and the pause between them."""
    root = make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY)}, days=1)
    settle(root / "inbox" / "day00.csv")
    in_the_way = root / "warehouse" / "events"
    in_the_way.parent.mkdir()
    in_the_way.write_text("no table")

    def ended(address: str, status: str) -> bool:
        question = "{ runsOrError { ... on Runs { results { jobName status } } } }"
        runs = ask(address, question)["runsOrError"]["results"]
        return any((run["jobName"], run["status"]) == (INGEST_JOB, status) for run in runs)

    with serving(tmp_path / "log", "--workloads", str(root)) as ui:
        address = address_of(ui)
        wait_for(lambda: ended(address, "FAILURE"), 300, "no ingest failed")
        in_the_way.unlink()
        wait_for(lambda: ended(address, "SUCCESS"), 400, "no ingest succeeded")
    assert Warehouse(root / "warehouse").rows("events", ["source_file"]).num_rows > 0


def test_cursors_of_older_versions_are_understood(folder: Path, instance: dg.DagsterInstance) -> None:
    defs = definitions(folder=folder)
    place = drop(folder, 0)
    os.utime(place, (1_750_000_000, 1_750_000_000))
    old = json.dumps({str(place): [place.stat().st_size, place.stat().st_mtime]})
    known = look(defs, "new_files", old, instance)
    assert known.skip_message == "no new files"
    settle(drop(folder, 1))
    assert one_request(look(defs, "new_files", old, instance)).tags["hamlet/reason"].endswith("day01.csv")
    late = look(defs, "jams_late_events", "2026-01-05T00:00:00+00:00", instance)
    assert late.skip_message == "nothing has come in since the last look"


def test_a_failed_run_of_late_events_is_asked_for_again_alone_and_only_until_it_succeeds(
    folder: Path, instance: dg.DagsterInstance, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    defs, name = definitions(folder=folder), "jams_late_events"
    days = [FIRST + timedelta(days=day) for day in range(4)]
    parts = [Partition(f"{day:%Y-%m-%d}", day, day + timedelta(days=1)) for day in days]
    ingests = iter([days[0], days[0], days[0], days[0], days[1]])
    monkeypatch.setattr(automation, "latest_ingest", lambda _: next(ingests))
    monkeypatch.setattr(automation, "late_partitions", lambda *_: (parts[0], parts[1], parts[3]))

    found = look(defs, name, None, instance)
    good, bad = found.run_requests or ()
    assert good.tags["dagster/asset_partition_range_end"] == "2026-01-06"
    started(instance, name, good, dg.DagsterRunStatus.SUCCESS)
    started(instance, name, bad, dg.DagsterRunStatus.FAILURE)
    waits = look(defs, name, found.cursor, instance)
    assert waits.run_requests == []
    assert "the last run of late events failed (run " in (waits.skip_message or "")
    clock.ahead = timedelta(seconds=65)
    again = look(defs, name, found.cursor, instance)
    assert one_request(again).tags == bad.tags
    assert one_request(again).run_key != bad.run_key
    run = started(instance, name, one_request(again), dg.DagsterRunStatus.NOT_STARTED)
    waits = look(defs, name, again.cursor, instance)
    assert waits.skip_message == f"the last run of late events is on its way (run {run.run_id[:8]})"
    instance.delete_run(run.run_id)
    started(instance, name, one_request(again), dg.DagsterRunStatus.SUCCESS)
    done = look(defs, name, again.cursor, instance)
    assert done.skip_message == "nothing has come in since the last look"
    clock.ahead = timedelta(days=1)
    assert len(look(defs, name, done.cursor, instance).run_requests or ()) == 2


def test_the_schedule_runs_the_last_complete_day(folder: Path, kept: dg.DagsterInstance) -> None:
    repository = definitions(folder=folder).get_repository_def()
    schedule = repository.get_schedule_def("jams_schedule")
    assert (schedule.cron_schedule, schedule.execution_timezone) == ("15 2 * * *", "UTC")

    def tick(when: datetime) -> dg.ScheduleExecutionData:
        with dg.build_schedule_context(kept, when, repository_def=repository) as context:
            return schedule.evaluate_tick(context)

    (request,) = tick(datetime(2026, 1, 9, 2, 15, tzinfo=UTC)).run_requests or ()
    assert request.partition_key == "2026-01-08"
    early = tick(datetime(2026, 1, 5, 2, 15, tzinfo=UTC))
    assert (early.run_requests, early.skip_message) == ([], "the first partition is not complete yet")


@pytest.mark.parametrize("partitions", ["daily", "none"])
def test_the_clock_asks_for_no_second_run_while_one_waits(
    tmp_path: Path, kept: dg.DagsterInstance, partitions: str
) -> None:
    """One that has begun may have missed what came in since, and one that somebody else asked for may be of another kind."""
    settings = SCHEDULED if partitions == "daily" else 'schedule: "15 2 * * *"\n'
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, settings)}, days=0)
    repository = definitions(folder=folder).get_repository_def()
    schedule = repository.get_schedule_def("jams_schedule")
    origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("rides"), "rides")
    code = RepositoryPythonOrigin(sys.executable, ModuleCodePointer("pipelines.definitions", "defs"))

    def tick(day: int) -> dg.ScheduleExecutionData:
        when = datetime(2026, 1, day, 2, 15, tzinfo=UTC)
        with dg.build_schedule_context(kept, when, repository_def=repository) as context:
            return schedule.evaluate_tick(context)

    def asked_for(name: str, event: dg.DagsterEventType) -> dg.DagsterRun:
        (request,) = tick(9).run_requests or ()
        tags = {**request.tags, "dagster/schedule_name": name}
        run = create_run_for_test(
            kept,
            job_name="jams_job",
            tags=tags,
            remote_job_origin=origin.get_job_origin("jams_job"),
            job_code_origin=code.get_job_origin("jams_job"),
        )
        kept.report_dagster_event(dg.DagsterEvent(event.value, "jams_job"), run.run_id)
        return run

    asked_for("other_schedule", dg.DagsterEventType.RUN_ENQUEUED)
    asked_for("jams_schedule", dg.DagsterEventType.RUN_START)
    waiting = asked_for("jams_schedule", dg.DagsterEventType.RUN_ENQUEUED)
    again = tick(9)
    assert again.skip_message == f"a run for the same waits already (run {waiting.run_id[:8]})"
    assert not again.run_requests
    assert bool(tick(10).run_requests) == (partitions == "daily")
    kept.delete_run(waiting.run_id)
    assert tick(9).run_requests


def test_nothing_is_late_before_the_first_ingest(folder: Path, instance: dg.DagsterInstance) -> None:
    late = look(definitions(folder=folder), "jams_late_events", None, instance)
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


def test_what_dagster_refuses_of_one_workload_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"good": "", "cron": 'schedule: "61 2 * * *"\n', "owned": "owners: [nobody]\n", "other": ""}
    folder = make_folder(tmp_path / "rides", {name: (JAMS, one) for name, one in settings.items()}, days=1)
    real = pipelines.definitions.workload_schedule

    def refuse(place: Place, job: object) -> object:
        if place.name == "other":
            raise dg.DagsterInvalidDefinitionError("whatever Dagster does not take")
        return real(place, job)

    monkeypatch.setattr(pipelines.definitions, "workload_schedule", refuse)
    defs = definitions(folder=folder)
    graph = defs.resolve_asset_graph()
    jobs = {job.name for job in defs.get_repository_def().get_all_jobs()}
    assert "good_job" in jobs
    assert not {"cron_job", "owned_job", "other_job"} & jobs
    for name, says in (("cron", "no cron expression"), ("owned", "nobody"), ("other", "does not take")):
        assert says in (graph.get(dg.AssetKey([name, "workload_plan"])).description or "")


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
