"""Decisions that tasks take reach `sharing_decisions` once, and a run replaces those of its own slots."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from hamlet_core import DECISION_SCHEMA
from hamlet_core.results.folded import Part
from pipelines.settings import JobSettings, NamedWorkload
from pipelines.spans import Partition, Span
from pipelines.steps.execution import file_tasks
from pipelines.steps.execution.decisions import Decided, decisions_by_partition
from pipelines.steps.execution.execute import ExecuteReport, execute
from pipelines.steps.execution.file_tasks import FileTask
from pipelines.steps.execution.task_rows import TASK_SCHEMA, Reports, TaskInput, Working
from pipelines.steps.ingestion.ingest import ingest
from pipelines.steps.planning import needs_of
from resources import tables
from resources import warehouse as warehouse_module
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import Killed, expected_rows, settings_for, stream, table_rows, write_csv

# The first two are folded bucket by bucket, in two tasks.
PAIRS = """
p: RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE [k] WITHIN 1 min
q: RETURN COUNT(*) PATTERN SEQ(C c, B b+) WHERE [k] WITHIN 1 min
r: RETURN COUNT(*) PATTERN SEQ(A a, A a2, B b+) WHERE [k] WITHIN 1 min
"""
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
PANES = [hour * 3_600 for hour in range(-2, 60, 2)]
TASKS = 2


def day(number: int) -> Partition:
    start = FIRST + timedelta(days=number)
    return Partition(f"{start:%Y-%m-%d}", start, start + timedelta(days=1))


DAYS = Span(tuple(day(number) for number in (0, 1, 2)))


@pytest.fixture
def settings(tmp_path) -> JobSettings:
    return settings_for(write_csv(stream(120), tmp_path / "events.csv"), tmp_path / "warehouse", text=PAIRS)


@pytest.fixture
def warehouse(spark, settings) -> Warehouse:
    found = Warehouse(settings.warehouse)
    ingest(spark, found, settings.source, needs_of([settings.workload]))
    return found


@pytest.fixture(autouse=True, params=["workers", "driver"])
def deciding(monkeypatch, request) -> None:
    """Tasks, in Spark's workers or in the driver, take a decision in each pane for every two queries they fold."""
    if request.param == "workers":
        monkeypatch.setattr(file_tasks, "MOST_HERE", 0)
    real, schema, columns, panes = file_tasks.run_task, DECISION_SCHEMA, TASK_SCHEMA, PANES

    def run_task(number: int, task: FileTask, shared: TaskInput, reports: Reports):
        yield from real(number, task, shared, reports)
        pairs = [f"{one}, {two}" for one in task.queries for two in task.queries if one < two]
        log = [
            {
                "pane": pane, "partition": f'{{"task":{number}}}', "kleene": "B+", "burst": 0, "bursts": 2,
                "events": 9, "candidates": pair, "queries": pair if pane % 14_400 == 0 else "",
                "outcome": "open", "reason": "to be seen", "snapshots_created": 1, "snapshots_carried": 3,
                "cost_shared": 1.5, "cost_alone": 2.5,
            }
            for pane in panes for pair in pairs
        ]  # fmt: skip
        nothing = pa.Table.from_batches([], columns)
        working = Working(shared, task.queries, task.finished)
        for piece in task.pieces:
            part = Part(nothing, nothing, 0, pa.Table.from_pylist(log, schema))
            yield from working.rows_of_part(part, piece.span)
        reports.add(number, working.report())

    monkeypatch.setattr(file_tasks, "run_task", run_task)


def decided(warehouse: Warehouse) -> list[dict[str, object]]:
    rows = warehouse.rows("sharing_decisions").to_pylist()
    return sorted(rows, key=lambda row: (row["pane"], row["partition"], row["candidates"]))


def again(settings: JobSettings, arithmetic: str) -> JobSettings:
    """The same, to be computed anew."""
    return replace(settings, execute=replace(settings.execute, arithmetic=arithmetic))


def test_decisions_of_tasks_arrive_once_and_a_second_run_leaves_them(spark, settings, warehouse) -> None:
    report = execute(spark, warehouse, settings, "run-1")
    rows = decided(warehouse)
    assert len(report.tasks) == TASKS
    assert len(rows) == TASKS * len(PANES) * 3
    assert rows[0] == {
        "workload": "test", "workload_hash": settings.workload.hash, "run_id": "run-1", "pane": -7_200,
        "partition": '{"task":0}', "burst": 0, "queries": "", "outcome": "open", "reason": "to be seen",
        "cost_shared": 1.5, "cost_alone": 2.5, "slot": FIRST - timedelta(days=1),
        "pane_start": FIRST - timedelta(hours=2), "kleene": "B+", "bursts": 2, "events": 9,
        "candidates": "p, q", "snapshots_created": 1, "snapshots_carried": 3,
    }  # fmt: skip
    nobody = [row for row in rows if row["queries"] == ""]
    assert 0 < len(nobody) < len(rows)
    shared = 2 * (len(rows) - len(nobody))
    assert report.decided == Decided(2 * len(rows), shared, len(rows), 3 * len(rows))
    assert table_rows(warehouse, "computed_aggregates") == expected_rows(settings)

    version = warehouse.version("sharing_decisions")
    second = execute(spark, warehouse, settings, "run-2")
    assert (second.tasks, second.decided) == ((), Decided())
    assert warehouse.version("sharing_decisions") == version

    execute(spark, warehouse, again(settings, "modular"), "run-3")
    assert decided(warehouse) == [row | {"run_id": "run-3"} for row in rows]


def test_a_run_over_partitions_replaces_its_own_decisions_only(spark, settings, warehouse) -> None:
    daily = replace(settings, span=DAYS)
    execute(spark, warehouse, settings, "whole")
    whole = len(decided(warehouse))
    execute(spark, warehouse, again(daily, "modular"), "days")
    rows = decided(warehouse)
    # What is of no day of the run stays; each pane is there once.
    assert len(rows) == whole
    assert {row["pane"] for row in rows if row["run_id"] == "whole"} == {-7_200}
    execute(spark, warehouse, replace(daily, span=Span((day(1),))), "day")
    second = decided(warehouse)
    assert [row | {"run_id": ""} for row in second] == [row | {"run_id": ""} for row in rows]
    assert {row["slot"] for row in second if row["run_id"] == "day"} == {day(1).after}
    counts = decisions_by_partition(warehouse, "test", DAYS)
    assert counts == {key: 6 * 12 if number < 2 else 6 * 6 for number, key in enumerate(DAYS.keys)}
    assert decisions_by_partition(warehouse, "test", Span()) == {"all": whole}
    assert decisions_by_partition(warehouse, "other", DAYS) == dict.fromkeys(DAYS.keys, 0)


def test_decisions_about_queries_that_need_no_second_computation_stay(spark, settings, warehouse) -> None:
    execute(spark, warehouse, settings, "run-1")
    edited = replace(
        settings, workload=NamedWorkload("test", PAIRS.replace("SEQ(A a, A a2", "SEQ(C a, A a2"))
    )
    report = execute(spark, warehouse, edited, "run-2")
    assert report.kept == {"p", "q"}
    assert {(row["candidates"], row["run_id"]) for row in decided(warehouse)} == {("p, q", "run-1")}


def test_another_workload_has_its_own(spark, settings, warehouse) -> None:
    execute(spark, warehouse, settings, "run-1")
    rows = decided(warehouse)
    other = replace(settings, workload=NamedWorkload("another", PAIRS))
    execute(spark, warehouse, other, "run-2")
    found = decided(warehouse)
    assert len(found) == 2 * len(rows)
    assert [row for row in found if row["workload"] == "test"] == rows


def test_a_run_that_is_killed_after_its_results_decides_again(
    spark, settings, warehouse, monkeypatch
) -> None:
    def die(done: str) -> None:
        if done == "append:computed_aggregates":
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(warehouse_module, "passed", die)
        with pytest.raises(Killed):
            execute(spark, warehouse, settings, "run-1")
    assert decided(warehouse) == []
    report: ExecuteReport = execute(spark, warehouse, settings, "run-2")
    assert len(decided(warehouse)) == report.decided.bursts // 2 > 0


def test_what_is_too_much_is_summed_up(spark, settings, warehouse, monkeypatch) -> None:
    monkeypatch.setattr("pipelines.steps.execution.decisions.MOST_OF_A_RUN", 20)
    report = execute(spark, warehouse, settings, "run-1")
    table = warehouse.rows("sharing_decisions")
    assert table.num_rows <= 20
    assert Decided.of(table) == report.decided
    assert report.decided.bursts == 2 * TASKS * len(PANES) * 3
    assert None in table["pane"].to_pylist()
    assert None not in table["slot"].to_pylist()
    assert table.schema.names == tables.DECISIONS.schema.names
