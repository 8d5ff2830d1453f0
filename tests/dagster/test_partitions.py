"""Partitions of a workload: day by day, all in one run, and all at once are the same rows; late events and edits."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from hamlet_core import EventSchema, run
from hamlet_core.windows import WindowSpec
from pipelines.definitions import definitions
from pipelines.folder import WorkloadFolder
from pipelines.foreseen import Foreseen, foresee
from pipelines.main_job import run_workload
from pipelines.settings import SettingsError
from pipelines.spans import microseconds
from pipelines.steps.execution.computed import Stale, late_partitions
from resources.warehouse import Warehouse
from tests.dagster.folder_cases import DAILY, DAYS, FIRST, JAMS, KEYS, day_of_events, drop, make_folder
from tests.spark.pipeline_cases import RESULT_COLUMNS, sorted_rows, table_rows

pytestmark = pytest.mark.usefixtures("spark")


def expected(days: int = DAYS, *more: pa.Table, text: str = JAMS) -> list[dict[str, object]]:
    """What `run` finds in the same events, for windows that end in the ten days."""
    events = pa.concat_tables([*(day_of_events(day) for day in range(days)), *more])
    found = run(text, events, schema=EventSchema(time="at", type="kind"), arithmetic="exact").to_pylist()
    last = FIRST + timedelta(days=DAYS)
    return sorted_rows((row for row in found if FIRST < row["window_end"] <= last), RESULT_COLUMNS)


def published(folder: Path) -> list[dict[str, object]]:
    return table_rows(Warehouse(folder / "warehouse"), "trend_aggregates")


@pytest.fixture(scope="module")
def backfilled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dg.DagsterInstance, str]]:
    folder = make_folder(tmp_path_factory.mktemp("once") / "rides", {"jams": (JAMS, DAILY)})
    with dg.DagsterInstance.ephemeral() as instance:
        done = run_workload(folder, "jams", (KEYS[0], KEYS[-1]), instance)
        assert done.success
        yield folder, instance, done.run_id


def test_a_backfill_of_ten_days_is_one_run_with_ten_materializations(
    backfilled: tuple[Path, dg.DagsterInstance, str],
) -> None:
    folder, instance, run_id = backfilled
    assert published(folder) == expected()
    key = dg.AssetKey(["jams", "trend_aggregates"])
    assert set(instance.get_materialized_partitions(key)) == set(KEYS)
    rows = {
        entry.asset_materialization.partition: entry.asset_materialization.metadata["dagster/row_count"].value
        for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
        if entry.asset_materialization is not None and entry.asset_materialization.asset_key == key
    }
    found = published(folder)
    ends = [row["window_end"] - timedelta(microseconds=1) for row in found]  # type: ignore[operator]
    assert rows == {one: sum(f"{end:%Y-%m-%d}" == one for end in ends) for one in KEYS}
    starts = [
        entry
        for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_START)
        if entry.step_key == "jams__execute"
    ]
    assert len(starts) == 1


def test_day_by_day_gives_the_same_rows(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY)}, days=4)
    for key in (KEYS[2], KEYS[0], KEYS[1], KEYS[3]):
        assert run_workload(folder, "jams", (key, key)).success
    assert published(folder) == [
        row
        for row in expected(4)
        if row["window_end"] <= FIRST + timedelta(days=4)  # type: ignore[operator]
    ]


def test_hours_are_partitions_too(tmp_path: Path) -> None:
    hourly = "partitions: hourly\nstart: 2026-01-05T00:00\narithmetic: exact\n"
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, hourly)}, days=2)
    assert run_workload(folder, "jams", ("2026-01-05-10:00", "2026-01-05-13:00")).success
    assert run_workload(folder, "jams", ("2026-01-05-12:00", "2026-01-05-15:00")).success
    low, high = FIRST + timedelta(hours=10), FIRST + timedelta(hours=16)
    assert published(folder) == [
        row
        for row in expected(2)
        if low < row["window_end"] <= high  # type: ignore[operator]
    ]


def test_a_second_run_of_a_partition_computes_nothing_and_changes_nothing(
    backfilled: tuple[Path, dg.DagsterInstance, str],
) -> None:
    folder, _, _ = backfilled
    warehouse = Warehouse(folder / "warehouse")
    version = warehouse.version("computed_aggregates")
    again = run_workload(folder, "jams", (KEYS[3], KEYS[3]))
    assert again.success
    assert {one.metric: one.value for one in again.metrics if one.step == "execute"}["tasks"] == 0
    assert warehouse.version("computed_aggregates") == version
    assert published(folder) == expected()


def test_a_run_looks_at_the_events_of_the_days_that_its_windows_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY)}, days=5)
    assert run_workload(folder, "jams", (KEYS[0], KEYS[0])).success
    events = Warehouse(folder / "warehouse").path_of("events")
    DeltaTable.forPath(spark, events).update(f"day = DATE'{KEYS[1]}'", {"speed": "speed + 1"})
    refused = {}
    for key in KEYS[:5]:
        with dg.DagsterInstance.ephemeral() as instance:
            done = run_workload(folder, "jams", (key, key), instance)
            found = instance.all_logs(done.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
        checked = {one.asset_check_evaluation.check_name: one.asset_check_evaluation for one in found}
        refused[key] = not done.success
        assert checked["events_expectations"].passed is done.success
    # Windows of two days that end in a day read it and the two days before.
    assert [refused[key] for key in KEYS[:5]] == [False, True, True, True, False]


def touched(text: str, times: list[datetime]) -> set[str]:
    """The days in which windows end that contain one of these times, window by window."""
    from hamlet_core import parse, plan

    days = set()
    for one in plan(parse(text)):
        spec = WindowSpec(one.within, one.slide, 0)
        for time in times:
            for index in spec.indices(microseconds(time)):
                end = spec.bounds(index)[1]
                days.add(f"{datetime.fromtimestamp((end - 1) / 1e6, UTC):%Y-%m-%d}")
    return days & set(KEYS)


def asked_by_the_sensor(folder: Path) -> list[tuple[str, str]]:
    """First and last partition of each run that the sensor for late events asks for."""
    repository = definitions(folder=folder).get_repository_def()
    with (
        dg.DagsterInstance.ephemeral() as instance,
        dg.build_sensor_context(instance, repository_def=repository) as context,
    ):
        found = repository.get_sensor_def("jams_late_events").evaluate_tick(context)
    tags = [request.tags for request in found.run_requests or ()]
    return [
        (one["dagster/asset_partition_range_start"], one["dagster/asset_partition_range_end"]) for one in tags
    ]


def test_late_events_mark_exactly_the_partitions_they_change(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY)})
    whole = KEYS[0], KEYS[-1]
    before = foresee(folder, "jams", whole)
    assert before.reasons == {key: {"jams": Stale.NEW, "stops": Stale.NEW} for key in KEYS}
    assert len(before.files) == DAYS
    assert not (folder / "warehouse" / "events").exists()
    assert run_workload(folder, "jams", whole).success
    assert foresee(folder, "jams", whole) == Foreseen(
        (), {key: {"jams": None, "stops": None} for key in KEYS}
    )
    warehouse = Warehouse(folder / "warehouse")
    settings = WorkloadFolder.read(folder).settings("jams")
    assert late_partitions(warehouse, settings) == ()

    parked = day_of_events(6, 5, seed=9).set_column(1, "kind", [["Park"] * 5])
    drop(folder, 6, name="parked.csv", table=parked)
    late = day_of_events(3, 3, seed=7).set_column(1, "kind", [["Stop", "Travel", "Stop"]])
    drop(folder, 3, name="late.csv", table=late)
    # The run of one day ingests; the partitions that the late events reach are marked, no others.
    assert run_workload(folder, "jams", (KEYS[8], KEYS[8])).success
    marked = [one.key for one in late_partitions(warehouse, settings)]
    assert set(marked) == touched(JAMS, late.column("at").to_pylist())
    assert 0 < len(marked) < DAYS
    found = foresee(folder, "jams", whole)
    assert [key for key, queries in found.reasons.items() if any(queries.values())] == marked
    assert {one for queries in found.reasons.values() for one in queries.values()} == {None, Stale.LATE}

    ranges = asked_by_the_sensor(folder)
    assert [key for first, last in ranges for key in KEYS if first <= key <= last] == marked
    assert [run_workload(folder, "jams", one).success for one in ranges] == [True] * len(ranges)
    assert late_partitions(warehouse, settings) == ()
    assert published(folder) == expected(DAYS, parked, late)

    later = day_of_events(5, 2, seed=8).set_column(1, "kind", [["Stop", "Travel"]])
    drop(folder, 5, name="later.csv", table=later)
    assert [Path(name).name for name in foresee(folder, "jams", whole).files] == ["later.csv"]
    again = run_workload(folder, "jams", (KEYS[0], KEYS[-1]))
    entries = warehouse.rows("computed_partitions", ["partition", "run_id"]).to_pylist()
    anew = {entry["partition"] for entry in entries if entry["run_id"] == again.run_id}
    assert anew == touched(JAMS, later.column("at").to_pylist())
    assert published(folder) == expected(DAYS, parked, late, later)


def test_an_edited_workload_computes_only_what_changed(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY)}, days=3)
    assert run_workload(folder, "jams", (KEYS[0], KEYS[2])).success
    before = {
        row["query"]: row["run_id"]
        for row in Warehouse(folder / "warehouse").rows("trend_aggregates").to_pylist()
    }
    assert set(before) == {"jams", "stops"}
    first_query, _, _ = JAMS.partition("stops:")
    added = "parks: RETURN COUNT(*) PATTERN Park p+ WHERE [car] WITHIN 1 day\n"
    (folder / "jams.hamlet").write_text("-- jams only, and another\n" + first_query + added)
    foreseen = foresee(folder, "jams", (KEYS[0], KEYS[2]))
    assert foreseen == Foreseen((), {key: {"jams": None, "parks": Stale.NEW} for key in KEYS[:3]})
    (folder / "jams.hamlet").write_text(first_query.replace("WITHIN 6 hours", "WITHIN 4 hours"))
    assert foresee(folder, "jams", (KEYS[1], KEYS[1])).reasons == {KEYS[1]: {"jams": Stale.CHANGED}}
    (folder / "jams.hamlet").write_text("-- jams only, and another\n" + first_query + added)
    edited = run_workload(folder, "jams", (KEYS[0], KEYS[2]))
    assert edited.success
    rows = Warehouse(folder / "warehouse").rows("trend_aggregates").to_pylist()
    assert {(row["query"], row["run_id"]) for row in rows} == {
        ("jams", before["jams"]),
        ("parks", edited.run_id),
    }
    assert published(folder) == [
        row
        for row in expected(3, text=first_query + added)
        if row["window_end"] <= FIRST + timedelta(days=3)  # type: ignore[operator]
    ]


def test_a_case_that_does_not_hold_stops_the_run_before_it_computes(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY)}, days=1)
    case = """
- name: one stop after one report
  more: true
  events: |
    at,kind,car,speed
    2026-01-05T08:00,Travel,7,40
    2026-01-05T08:01,Stop,7,0
  rows: [{query: stops, window_start: 2026-01-05, values: {COUNT(*): 2}}]
"""
    (folder / "jams.cases.yaml").write_text(case)
    wrong = run_workload(folder, "jams", (KEYS[0], KEYS[0]))
    assert not wrong.success
    (red,) = [check for check in wrong.checks if not check.passed]
    assert (red.asset, red.name) == ("jams/workload_plan", "cases")
    assert "one stop after one report: stops window" in red.description
    assert "COUNT(*) is 1, not 2" in red.page
    assert not Warehouse(folder / "warehouse").exists("computed_aggregates")
    (folder / "jams.cases.yaml").write_text(case.replace("COUNT(*): 2", "COUNT(*): 1"))
    right = run_workload(folder, "jams", (KEYS[0], KEYS[0]))
    assert right.success
    assert {check.description for check in right.checks if check.name == "cases"} == {"1 of 1 cases hold"}


def test_partitions_that_are_not_there_are_refused(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY), "all": (JAMS, "")}, days=1)
    for name, asked in (("jams", ("2025-12-31", "2026-01-05")), ("jams", None), ("all", (KEYS[0], KEYS[0]))):
        with pytest.raises(Exception, match=r"E53[34]"):
            run_workload(folder, name, asked)
        with pytest.raises(SettingsError, match=r"E53[34]"):
            foresee(folder, name, asked)
    assert not (folder / "warehouse" / "events").exists()
