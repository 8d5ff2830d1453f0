"""Execute: the Delta rows are those of `hamlet run`, computed by tasks that read their files themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hamlet_core.errors import HamletError
from pipelines.reading import ColumnOptions
from pipelines.steps.execution import execute as execute_step
from pipelines.steps.execution import file_tasks
from pipelines.steps.execution.computed import forget_computed
from pipelines.steps.execution.execute import ExecuteReport, execute
from pipelines.steps.ingestion.ingest import ingest
from pipelines.steps.planning import needs_of
from pipelines.steps.publication.publish import publish
from resources import warehouse as warehouse_module
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import (
    RESULT_COLUMNS,
    Killed,
    expected_rows,
    settings_for,
    stream,
    table_rows,
    write_csv,
)

GROWTH = """growth: RETURN base, COUNT(*), MIN(d.trips) PATTERN Day d+
WHERE [base] AND d.trips > NEXT(d).trips GROUP-BY base WITHIN 28 days SLIDE 7 days"""

GROUPS = """rising: RETURN k, COUNT(*), MIN(b.v) PATTERN SEQ(A a, B b+) WHERE [k] GROUP-BY k WITHIN 10 s SLIDE 5 s
by_w:     RETURN w, COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b+) WHERE [k] GROUP-BY w WITHIN 10 s
all:      RETURN COUNT(*), SUM(b.w) PATTERN SEQ(C c, B b+) WITHIN 10 s"""


def compute(spark, settings) -> tuple[Warehouse, ExecuteReport]:
    warehouse = Warehouse(settings.warehouse)
    ingest(spark, warehouse, settings.source, needs_of([settings.workload]))
    return warehouse, execute(spark, warehouse, settings, "run-1")


@pytest.fixture(scope="module", autouse=True)
def many_events() -> Iterator[None]:
    """However few the events of these tests are, Spark's tasks compute them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(file_tasks, "MOST_HERE", 0)
        yield


@pytest.fixture(scope="module")
def computed(spark, tmp_path_factory, many_events):
    folder = tmp_path_factory.mktemp("computed")
    settings = settings_for(write_csv(stream(), folder / "events.csv"), folder / "warehouse")
    return settings, *compute(spark, settings)


def test_delta_rows_are_those_of_a_run_in_one_process(computed):
    settings, warehouse, report = computed
    expected = expected_rows(settings)
    assert table_rows(warehouse, "computed_aggregates") == expected
    assert sum(report.rows.values()) == len(expected) > 200
    assert set(report.rows) == {"rising", "pairs", "all"}


def test_every_row_says_where_it_comes_from(computed):
    settings, warehouse, report = computed
    rows = warehouse.rows("computed_aggregates").to_pylist()
    assert {
        (row["workload"], row["workload_hash"], row["run_id"], row["events_version"]) for row in rows
    } == {("test", settings.workload.hash, "run-1", report.events_version)}
    for row in rows:
        assert row["day"] == (row["window_end"] - timedelta(microseconds=1)).date()
    assert min(row["day"] for row in rows).isoformat() == "1969-12-31"


def test_tasks_read_the_events_in_other_processes_than_the_driver(computed):
    _, _, report = computed
    by_bucket = [task for task in report.tasks if task.queries == ("rising", "pairs")]
    whole = [task for task in report.tasks if task.queries == ("all",)]
    assert (len(by_bucket), len(whole)) == (2, 1)
    assert all(task.events for task in report.tasks)
    assert os.getpid() not in {task.pid for task in report.tasks}
    relevant = stream().filter(pc.field("type").isin(["A", "B"])).num_rows
    assert sum(task.events for task in by_bucket) == relevant


@pytest.mark.parametrize("arithmetic", ["exact", "modular"])
def test_a_few_events_are_computed_in_this_process(spark, computed, tmp_path, monkeypatch, arithmetic):
    settings = settings_for(
        Path(computed[0].source.path), tmp_path / "warehouse", text=GROUPS, arithmetic=arithmetic
    )
    warehouse, by_spark = compute(spark, settings)
    expected = table_rows(warehouse, "computed_aggregates")
    assert expected == expected_rows(settings)
    assert any(task.queries and task.pid != os.getpid() for task in by_spark.tasks)
    forget_computed(warehouse, settings, ())
    monkeypatch.setattr(file_tasks, "MOST_HERE", 10_000)
    here = execute(spark, warehouse, settings, "run-2")
    assert table_rows(warehouse, "computed_aggregates") == expected
    assert {task.pid for task in here.tasks} == {os.getpid()}
    assert [(task.queries, task.events, task.rows) for task in here.tasks] == [
        (task.queries, task.events, task.rows) for task in by_spark.tasks
    ]
    assert here.decided == by_spark.decided
    days = [file.partition["day"] for file in warehouse.files("computed_aggregates")]
    assert len(days) == len(set(days))


@pytest.mark.parametrize("path", ["files", "shuffle"])
def test_results_of_many_days_come_in_a_file_a_day(spark, computed, tmp_path, monkeypatch, path):
    settings = settings_for(Path(computed[0].source.path), tmp_path / "warehouse", path=path)
    monkeypatch.setattr(execute_step, "MOST_FILES", 0)
    warehouse, _ = compute(spark, settings)
    rows = table_rows(warehouse, "computed_aggregates", (*RESULT_COLUMNS, "day"))
    assert rows == table_rows(computed[1], "computed_aggregates", (*RESULT_COLUMNS, "day"))
    days = [file.partition["day"] for file in warehouse.files("computed_aggregates")]
    assert len(days) == len(set(days)) == len({row["day"] for row in rows}) > 2


@pytest.mark.parametrize(
    "write", ["delete:computed_partitions", "delete:computed_aggregates", "append:computed_aggregates"]
)
def test_results_that_are_replaced_by_a_run_that_is_killed_are_made_good(
    spark, computed, tmp_path, monkeypatch, write
):
    settings = settings_for(Path(computed[0].source.path), tmp_path / "warehouse")
    warehouse, _ = compute(spark, settings)
    other = replace(settings, execute=replace(settings.execute, arithmetic="modular"))

    def die(done: str) -> None:
        if done == write:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(warehouse_module, "passed", die)
        with pytest.raises(Killed):
            execute(spark, warehouse, other, "run-2")
    for again in (other, settings):
        assert execute(spark, warehouse, again, "run-3").tasks
        assert table_rows(warehouse, "computed_aggregates") == expected_rows(again)


@pytest.mark.parametrize("here", [0, 10_000])
def test_windows_that_tables_cannot_hold_are_refused_and_leave_nothing(
    spark, computed, tmp_path, monkeypatch, here
):
    monkeypatch.setattr(file_tasks, "MOST_HERE", here)
    text = "far: RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 400000000000 s"
    settings = settings_for(Path(computed[0].source.path), tmp_path / "warehouse", text=text)
    with pytest.raises(HamletError, match=r"E537.*query far: a window begins or ends outside"):
        compute(spark, settings)
    assert Warehouse(settings.warehouse).rows("computed_aggregates").num_rows == 0


def test_publishing_twice_gives_the_same_rows_once(spark, computed):
    settings, warehouse, _ = computed
    expected = table_rows(warehouse, "computed_aggregates")
    for _ in range(2):
        assert publish(spark, warehouse, "test") == len(expected)
        assert table_rows(warehouse, "trend_aggregates") == expected
    other = settings_for(
        Path(settings.source.path), settings.warehouse, text="q: RETURN COUNT(*) PATTERN C WITHIN 1 h"
    )
    other = other.__class__(
        other.workload.__class__("other", other.workload.text), other.source, other.warehouse
    )
    execute(spark, warehouse, other, "run-2")
    publish(spark, warehouse, "other")
    kept = [row for row in warehouse.rows("trend_aggregates").to_pylist() if row["workload"] == "test"]
    assert len(kept) == len(expected)
    assert warehouse.rows("trend_aggregates").num_rows > len(expected)


def test_an_edited_workload_leaves_none_of_its_old_rows(spark, tmp_path):
    place = write_csv(stream(120), tmp_path / "events.csv")
    warehouse, _ = compute(spark, settings_for(place, tmp_path / "warehouse"))
    publish(spark, warehouse, "test")
    edited = settings_for(
        place, tmp_path / "warehouse", text="late: RETURN COUNT(*) PATTERN C WHERE C.time > 1000 WITHIN 1 h"
    )
    execute(spark, warehouse, edited, "run-2")
    publish(spark, warehouse, "test")
    rows = table_rows(warehouse, "trend_aggregates")
    assert rows == expected_rows(edited)
    assert {row["query"] for row in rows} == {"late"}


def test_timestamps_a_shifted_origin_and_modular_arithmetic(spark, tmp_path):
    table = stream(120)
    moments = pc.multiply(table["time"], 1_000_000).cast(pa.timestamp("us"))
    table = table.drop_columns(["time"]).append_column("at", moments)
    settings = settings_for(
        write_csv(table, tmp_path / "events.csv"),
        tmp_path / "warehouse",
        options=ColumnOptions(time="at"),
        arithmetic="modular",
        origin=datetime(1970, 1, 1, 0, 0, 7, tzinfo=UTC),
    )
    warehouse, _ = compute(spark, settings)
    rows = table_rows(warehouse, "computed_aggregates")
    assert rows == expected_rows(settings)
    assert {row["window_start"].second % 10 for row in rows} == {7}
    assert any(row["fingerprint"] is not None for row in rows)


def test_without_flush_only_windows_of_complete_days_are_kept(spark, tmp_path):
    settings = settings_for(write_csv(stream(), tmp_path / "events.csv"), tmp_path / "warehouse", flush=False)
    warehouse, _ = compute(spark, settings)
    final = datetime(1970, 1, 2, tzinfo=UTC)
    rows = table_rows(warehouse, "computed_aggregates")
    assert rows == [row for row in expected_rows(settings) if row["window_end"] <= final]
    assert max(row["window_end"] for row in rows) == final


@pytest.mark.parametrize(
    ("text", "options", "code"),
    [
        ("q: RETURN COUNT(*) PATTERN A a WHERE a.absent = 1 WITHIN 10 s", {}, "E202"),
        ("q: RETURN SUM(a.g) PATTERN A a WITHIN 10 s", {}, "E135"),
        ("q: RETURN COUNT(*) PATTERN A a WITHIN 10 ms", {}, "E220"),
        ("q: RETURN COUNT(*) PATTERN A a WITHIN 10 s", {"engine": "hamlet_later"}, "E210"),
    ],
)
def test_what_does_not_fit_the_events_is_one_error_and_changes_nothing(spark, computed, text, options, code):
    settings, warehouse, _ = computed
    before = warehouse.version("computed_aggregates")
    wrong = settings_for(Path(settings.source.path), settings.warehouse, text=text, **options)
    with pytest.raises(HamletError) as refused:
        execute(spark, warehouse, wrong, "run-3")
    assert refused.value.code == code
    assert warehouse.version("computed_aggregates") == before


def test_a_limit_reached_in_a_task_is_the_engines_own_error(spark, tmp_path, capfd):
    table = pa.table({"time": list(range(60)), "type": ["A"] * 60, "k": ["x"] * 60})
    settings = settings_for(
        write_csv(table, tmp_path / "events.csv"),
        tmp_path / "warehouse",
        text="q: RETURN COUNT(*) PATTERN A+ WHERE [k] WITHIN 1 h",
        engine="two_step",
    )
    with pytest.raises(HamletError, match=r"two_step|trends") as refused:
        compute(spark, settings)
    assert refused.value.code.startswith("E3")
    assert Warehouse(settings.warehouse).rows("computed_aggregates").num_rows == 0
    assert not Warehouse(settings.warehouse).exists("computed_partitions")
    assert "Error" not in capfd.readouterr().err


@pytest.mark.needs_data
def test_real_trips_give_the_published_answer_and_every_reader_sees_it(spark, real_data, tmp_path):
    settings = settings_for(
        real_data / "fhv_daily_2015.csv",
        tmp_path / "warehouse",
        text=GROWTH,
        options=ColumnOptions(time="date", type_value="Day"),
    )
    warehouse, _ = compute(spark, settings)
    publish(spark, warehouse, "test")
    rows = table_rows(warehouse, "trend_aggregates")
    counts = [int(row["exact"]) for row in rows if row["aggregate"] == "COUNT(*)"]
    assert (len(counts), max(counts)) == (5_514, 93_939)
    assert rows == expected_rows(settings)
