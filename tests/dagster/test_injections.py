"""Wrong answers put into the executor and false events put behind the ingest: the checks catch them, nothing is published."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import dagster as dg
import pyarrow as pa
import pytest
from delta.tables import DeltaTable

from pipelines.main_job import run_main_job
from pipelines.settings import SampleOptions
from pipelines.steps.execution import execute as execute_step
from pipelines.steps.execution import file_tasks
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import expected_rows, settings_for, stream, table_rows, write_csv

EVENTS = stream(160)
MINUTE = timedelta(minutes=1)
WHOLE = SampleOptions(everything_up_to=100_000)
SAMPLED = SampleOptions(size=600, everything_up_to=0)


def pair() -> tuple[dict[str, object], dict[str, object]]:
    """An A and a B that the query `pairs` counts as a trend."""
    rows = EVENTS.to_pylist()
    starts = [row for row in rows if row["type"] == "A" and row["k"] is not None]
    ends = [row for row in rows if row["type"] == "B" and (row["v"] or 0) > 10]
    for first, second in itertools.product(starts, ends):
        same_minute = first["time"] // 60 == second["time"] // 60
        if same_minute and first["time"] < second["time"] and first["k"] == second["k"]:
            return first, second
    raise AssertionError("the stream has no pair")


HIT = pair()[1]
WINDOW = datetime.fromtimestamp(HIT["time"] // 60 * 60, UTC)


@pytest.fixture(scope="module")
def published(spark, tmp_path_factory):
    """A warehouse with published results, and its settings."""
    folder = tmp_path_factory.mktemp("injections")
    settings = settings_for(write_csv(EVENTS, folder / "events.csv"), folder / "warehouse")
    assert run_main_job(settings).success
    return settings


def run_red(settings, check):
    """A run that this check stops: its result, with what the pages show; and published rows are what they were."""
    warehouse = Warehouse(settings.warehouse)
    before = warehouse.version("trend_aggregates"), table_rows(warehouse, "trend_aggregates")
    with dg.DagsterInstance.ephemeral() as instance:
        summary = run_main_job(settings, instance)
        entries = instance.all_logs(summary.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    assert not summary.success
    shown = {entry.asset_check_evaluation.check_name: entry.asset_check_evaluation for entry in entries}
    assert [name for name, one in shown.items() if not one.passed] == [check]
    assert (warehouse.version("trend_aggregates"), table_rows(warehouse, "trend_aggregates")) == before
    return shown[check]


def off_by_one(window: datetime):
    """`labelled`, with the COUNT(*) of one query in one window one too large."""
    real = execute_step.labelled

    def wrong(rows, labels, unit):
        batch = real(rows, labels, unit)
        found = batch.to_pylist()
        for row in found:
            if (row["query"], row["aggregate"], row["window_start"]) == ("pairs", "COUNT(*)", window):
                row["value"] += 1
                row["log2"] = math.log2(row["value"])
                row["fingerprint"] = row["fingerprint"] and row["fingerprint"] + 1
        return pa.RecordBatch.from_pylist(found, schema=batch.schema)

    return wrong


def misread(column: str, value: object):
    """`run_task`, with one value of one event read wrongly: the table of events and the reference have it right."""
    hit = dict(HIT)

    def wrong(number, task, shared, reports):
        from pipelines.steps.execution import file_tasks as in_the_task

        real = in_the_task.read_events

        def read(*arguments):
            table = real(*arguments).read_all()
            rows = table.to_pylist()
            known = [name for name in table.column_names if name in hit and name != column]
            for row in rows:
                if row.get(column) == hit[column] and all(row[name] == hit[name] for name in known):
                    row[column] = value
            return pa.Table.from_pylist(rows, schema=table.schema).to_reader()

        in_the_task.read_events = read
        try:
            yield from in_the_task.run_task(number, task, shared, reports)
        finally:
            in_the_task.read_events = real

    return wrong


def in_arithmetic(settings, arithmetic, sample):
    """Settings that make the run compute anew: results of another arithmetic are not current."""
    return replace(settings, execute=replace(settings.execute, arithmetic=arithmetic), sample=sample)


def assert_named(red):
    """The page names query, window and group, and what to do."""
    page = red.metadata["rows that differ"].value
    window = f"{WINDOW.isoformat()} to {(WINDOW + MINUTE).isoformat()}"
    assert f"| pairs | {window} | {{}} | COUNT(*) | " in page
    assert "the first: query " in red.description
    assert "keep the warehouse and report it" in red.description
    assert red.metadata["differences"].value >= 1
    assert red.metadata["compared"].value > 50
    assert red.severity == dg.AssetCheckSeverity.ERROR


@pytest.mark.parametrize("sample", [WHOLE, SAMPLED])
def test_an_answer_that_is_off_by_one_is_not_published_and_computed_again(published, monkeypatch, sample):
    settings = in_arithmetic(published, "modular" if sample is WHOLE else "scaled", sample)
    with monkeypatch.context() as patch:
        patch.setattr(execute_step, "labelled", off_by_one(WINDOW))
        red = run_red(settings, "greta_comparison")
    assert_named(red)
    assert f"query pairs, window {WINDOW.isoformat()}" in red.description
    assert {line.split(" | ")[0] for line in red.metadata["rows that differ"].value.splitlines()[2:]} == {
        "| pairs"
    }
    assert run_main_job(settings).success
    rows = table_rows(Warehouse(settings.warehouse), "trend_aggregates")
    assert rows == expected_rows(settings)


@pytest.mark.parametrize(("column", "value", "sample"), [("v", 0, SAMPLED), ("type", "C", WHOLE)])
def test_one_event_encoded_wrongly_is_not_published(published, monkeypatch, column, value, sample):
    settings = in_arithmetic(published, "exact", sample)
    settings = replace(settings, execute=replace(settings.execute, origin=60 if column == "v" else 120))
    monkeypatch.setattr(file_tasks, "MOST_HERE", 0)  # so that it is a worker, which has the real function
    monkeypatch.setattr(file_tasks, "run_task", misread(column, value))
    assert_named(run_red(settings, "greta_comparison"))


def false_event(spark, warehouse):
    """One more event, written past the ingest by another program."""
    first = warehouse.rows("events").slice(3, 1).to_pylist()[0]
    twin = warehouse.read(spark, "events").where(f"time = {first['time']}").limit(1)
    twin.write.format("delta").mode("append").save(warehouse.path_of("events"))


def changed_event(spark, warehouse):
    """One value of one event, changed in place."""
    first = warehouse.rows("events").slice(3, 1).to_pylist()[0]
    place = f"time = {first['time']} AND w = {first['w']} AND type = '{first['type']}'"
    DeltaTable.forPath(spark, warehouse.path_of("events")).update(place, {"w": "w + 0.25"})


def lost_event(spark, warehouse):
    """An event less."""
    first = warehouse.rows("events").slice(3, 1).to_pylist()[0]
    DeltaTable.forPath(spark, warehouse.path_of("events")).delete(f"time = {first['time']}")


@pytest.mark.parametrize(
    ("tamper", "rule"),
    [
        (false_event, "rows add up"),
        (changed_event, "no event has changed"),
        (lost_event, "rows add up"),
    ],
)
def test_what_is_done_to_events_behind_the_ingest_stops_the_run(spark, published, tamper, rule):
    warehouse = Warehouse(published.warehouse)
    sound = warehouse.version("events")
    tamper(spark, warehouse)
    red = run_red(published, "events_expectations")
    table = DeltaTable.forPath(spark, warehouse.path_of("events"))
    table.restoreToVersion(sound)
    assert f"broken: {rule};" in red.description
    assert "restore" in red.description
    line = next(line for line in red.metadata["rules"].value.splitlines() if line.startswith(f"| {rule} |"))
    assert "| **no** | 1 | source_file=events.csv" in line
    assert red.metadata["broken rules"].value == 1
    if tamper is changed_event:
        assert run_main_job(published).success
