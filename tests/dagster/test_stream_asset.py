"""A workload of a folder as a stream: whoever goes on with it, each window once; late events by days; red when it stands still."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipelines.assets import automation, stream
from pipelines.assets.place import Place
from pipelines.definitions import definitions
from pipelines.folder import WorkloadFolder, WorkloadSettings
from pipelines.main_job import RunSummary, run_stream, run_workload
from pipelines.settings import SettingsError
from pipelines.spans import Partition
from pipelines.streaming import advance
from resources.warehouse import Warehouse
from tests.dagster.folder_cases import DAILY, FIRST, JAMS, KEYS, day_of_events, drop, make_folder
from tests.dagster.test_automation import look
from tests.dagster.test_partitions import expected, published

STREAM = DAILY + 'schedule: "*/5 * * * *"\nstream:\n  lateness: 1 h\n  quiet_after: 2 h\n  max_files: 1\n'
LATENESS = timedelta(hours=1)


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as made:
        yield made


def numbers(done: RunSummary) -> dict[str, float]:
    return {one.metric: one.value for one in done.metrics if one.step == "stream"}


def watched(
    folder: Path, cursor: str | None, instance: dg.DagsterInstance
) -> tuple[str | None, dg.AssetCheckEvaluation | None, dg.AssetObservation | None]:
    """What the sensor says at a tick: its cursor, the check, and how far the stream is."""
    found = look(definitions(folder=folder), "jams_stream_watch", cursor, instance)
    events = {type(one): one for one in found.asset_events}
    return found.cursor, events.get(dg.AssetCheckEvaluation), events.get(dg.AssetObservation)


def hours_later(monkeypatch: pytest.MonkeyPatch, hours: float) -> None:
    class Later(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(hours=hours)

    monkeypatch.setattr(stream, "datetime", Later)


def test_a_stream_goes_on_in_dagster_where_the_command_stopped_and_back(
    spark: SparkSession, tmp_path: Path, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, STREAM)}, days=0)
    assert watched(folder, None, instance)[1].description == "no file has come in yet; all files are in"
    drop(folder, 0)
    drop(folder, 1)
    first = run_stream(folder, "jams", instance)
    assert (first.success, numbers(first)["micro-batches"], numbers(first)["events read"]) == (True, 2, 240)
    drop(folder, 2)
    settings = WorkloadFolder.read(folder).settings("jams")
    assert sum(advance(spark, settings, LATENESS).rows.values()) > 0
    drop(folder, 3)
    second = run_stream(folder, "jams", instance)
    latest = max(day_of_events(3)["at"].to_pylist())
    final = [row for row in expected(4) if row["window_end"] <= latest - LATENESS]  # type: ignore[operator]
    assert published(folder) == final != []
    assert numbers(second)["rows published"] + numbers(first)["rows published"] < len(final)
    assert numbers(second)["watermark, seconds from 1970"] == (latest - LATENESS).timestamp()
    days = instance.get_materialized_partitions(dg.AssetKey(["jams", "trend_aggregates"]))
    assert set(days) == {KEYS[0], KEYS[2]}, "day 1 was completed by the command"
    kept = {
        row["metric"]
        for row in Warehouse(folder / "warehouse").rows("run_metrics").to_pylist()
        if row["step"] == "stream"
    }
    assert {"events per second", "seconds behind the clock", "late events", "events in open windows"} <= kept

    moment = FIRST + timedelta(days=1, hours=6)
    late = pa.Table.from_pylist(
        [{"at": moment, "kind": "Travel", "car": "a", "speed": 59}], schema=day_of_events(1).schema
    )
    drop(folder, 9, name="late.csv", table=late)
    third = run_stream(folder, "jams", instance)
    assert numbers(third)["late events"] == 1
    assert published(folder) == final
    asked = look(definitions(folder=folder), "jams_late_events", None, instance).run_requests or ()
    spans = [
        (one.tags["dagster/asset_partition_range_start"], one.tags["dagster/asset_partition_range_end"])
        for one in asked
    ]
    assert {first for first, _ in spans} == {KEYS[1]}
    for span in spans:
        assert run_workload(folder, "jams", span).success
    repaired = [row for row in expected(4, late) if row["window_end"] <= latest - LATENESS]  # type: ignore[operator]
    assert repaired != final
    done = {row["window_end"] for row in final}
    assert [row for row in published(folder) if row["window_end"] in done] == repaired

    cursor, check, seen = watched(folder, None, instance)
    assert check.passed
    assert "all files are in" in check.description
    assert seen.metadata["watermark"].value == (latest - LATENESS).timestamp()
    assert watched(folder, cursor, instance)[1:] == (None, None), "nothing has changed"
    hours_later(monkeypatch, 3)
    drop(folder, 4)
    cursor, check, _ = watched(folder, cursor, instance)
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.ERROR
    assert check.description.endswith("; 1 files are there that are not in")
    monkeypatch.undo()
    assert run_stream(folder, "jams", instance).success
    assert watched(folder, cursor, instance)[1].passed


def test_a_stream_has_a_job_a_clock_and_a_watch_beside_the_job_of_its_days(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, STREAM), "plain": (JAMS, DAILY)}, days=0)
    found = definitions(folder=folder).get_repository_def()
    assert {job.name for job in found.get_all_jobs()} >= {"jams_job", "jams_stream_job", "plain_job"}
    assert "plain_stream_job" not in {job.name for job in found.get_all_jobs()}
    assert found.get_schedule_def("jams_schedule").job_name == "jams_stream_job"
    assert found.has_sensor_def("jams_stream_watch")
    assert not found.has_sensor_def("plain_stream_watch")
    with pytest.raises(SettingsError, match=r"E533.*plain is no stream"):
        run_stream(folder, "plain")


def test_late_events_of_a_day_that_is_not_complete_wait_until_it_is() -> None:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    days = [today - timedelta(days=1), today]
    late = [Partition(f"{day:%Y-%m-%d}", day, day + timedelta(hours=2)) for day in days]
    given = {"partitions": "daily", "start": FIRST}
    streamed = Place("x", WorkloadSettings(**given, stream={}))
    assert automation._complete(streamed, late) == late[:1]
    assert automation._complete(Place("x", WorkloadSettings(**given)), late) == late
    assert automation._looked_at(streamed, FIRST) == f"{FIRST.isoformat()} {days[0]:%Y-%m-%d}"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("stream: {}\n", "needs daily partitions"),
        ("partitions: hourly\nstart: 2026-01-05\nstream: {}\n", "needs daily partitions"),
        (DAILY + "stream:\n  lateness: soon\n", r"stream.lateness: .*'soon' is no length of time"),
        (DAILY + "stream:\n  quiet_after: -1 s\n", r"stream.quiet_after: .*no length of time"),
        (DAILY + "stream:\n  max_files: 0\n", r"stream.max_files: "),
        (DAILY + "stream:\n  latness: 1 h\n", r"stream.latness: "),
    ],
)
def test_settings_of_a_stream_that_cannot_be_are_told(tmp_path: Path, settings: str, says: str) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, settings)}, days=0)
    with pytest.raises(SettingsError, match=rf"(?s)E533.*{says}"):
        WorkloadFolder.read(folder).named("jams")
