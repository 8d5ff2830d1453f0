"""Wrong answers put into the executor and false events put behind the ingest: the checks catch them, nothing is published."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from delta.tables import DeltaTable

from hamlet_core.language.syntax import Mode
from pipelines.checks import greta
from pipelines.checks.differences import differences
from pipelines.checks.rules import cell
from pipelines.main_job import run_main_job
from pipelines.settings import SampleOptions
from pipelines.steps.execution import execute as execute_step
from pipelines.steps.execution import file_tasks, task_rows
from pipelines.steps.execution.computed import forget_computed
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import expected_rows, settings_for, stream, table_rows, write_csv

EVENTS = stream(160)
MINUTE = timedelta(minutes=1)
WHOLE = SampleOptions(everything_up_to=100_000)
SAMPLED = SampleOptions(size=600, everything_up_to=0)
# Every fifth event is of a type that no query below names: it breaks contiguity, and nothing else.
MIXED = stream(160, seed=4)
MIXED = MIXED.set_column(
    1,
    "type",
    pa.array("C" if place % 5 == 0 else kind for place, kind in enumerate(MIXED["type"].to_pylist())),
)
FUNNELS = """
taken: RETURN COUNT(*), COUNT(PARTITIONS), COUNT(DISJOINT), REACH(a), REACH(b), SUM(DURATION), AVG(DURATION), MIN(DURATION),
              MAX(DURATION)
       PATTERN SEQ(A a, B b) SEMANTICS next WHERE [k] WITHIN 20 s
close: RETURN COUNT(*), REACH(b), MAX(DURATION) PATTERN SEQ(A a, B b) SEMANTICS contiguous WHERE [k] WITHIN 20 s
"""


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


@pytest.fixture(scope="module")
def funnels(spark, tmp_path_factory):
    """The same of queries of other modes, with aggregates over trends and partitions."""
    folder = tmp_path_factory.mktemp("funnels")
    source = write_csv(MIXED, folder / "events.csv")
    settings = replace(settings_for(source, folder / "warehouse", text=FUNNELS), sample=WHOLE)
    assert run_main_job(settings).success
    assert table_rows(Warehouse(settings.warehouse), "trend_aggregates") == expected_rows(settings)
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


def relabelled(change):
    """`labelled`, with its rows changed."""
    real = execute_step.labelled

    def wrong(rows, labels, unit):
        batch = real(rows, labels, unit)
        return pa.RecordBatch.from_pylist(change(batch.to_pylist()), schema=batch.schema)

    return wrong


def off_by_one(window: datetime):
    """The COUNT(*) of one query in one window one too large."""

    def change(rows):
        for row in rows:
            if (row["query"], row["aggregate"], row["window_start"]) == ("pairs", "COUNT(*)", window):
                row["value"] += 1
                row["log2"] = math.log2(row["value"])
                row["fingerprint"] = row["fingerprint"] and row["fingerprint"] + 1
        return rows

    return change


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


def a_window(rows, fits):
    """The aggregates of the first window of the query `taken` whose numbers are as asked: aggregate -> row."""
    windows = {}
    for row in rows:
        if row["query"] == "taken":
            windows.setdefault(row["window_start"], {})[row["aggregate"]] = row
    for _, found in sorted(windows.items()):
        if fits({aggregate: row["value"] for aggregate, row in found.items()}):
            return found
    raise AssertionError("the stream has no such window")


def put(row, value):
    """Another number into a row, with all that goes with it."""
    row |= {
        "value": value, "sign": int(value > 0), "log2": math.log2(value) if value else None, "exact": f"{value:.0f}",
    }  # fmt: skip


def only_reached(values):
    """Whether a window has no trend: what is there is a REACH."""
    return values["COUNT(*)"] == 0


def a_reach_too_high(rows):
    found = a_window(rows, lambda values: values["REACH(b)"] < values["REACH(a)"])
    put(found["REACH(b)"], found["REACH(b)"]["value"] + 1)
    return rows


def a_reach_that_grows(rows):
    found = a_window(rows, lambda values: not only_reached(values))
    put(found["REACH(b)"], found["REACH(a)"]["value"] + 1)
    return rows


def fewer_disjoint_than_partitions(rows):
    found = a_window(rows, lambda values: values["COUNT(PARTITIONS)"] > 1)
    put(found["COUNT(DISJOINT)"], found["COUNT(PARTITIONS)"]["value"] - 1)
    return rows


def an_average_beyond_the_longest(rows):
    found = a_window(rows, lambda values: not only_reached(values))
    put(found["AVG(DURATION)"], math.floor(found["MAX(DURATION)"]["value"]) + 1)
    return rows


def no_trend_but_a_duration(rows):
    put(a_window(rows, only_reached)["AVG(DURATION)"], 0)
    return rows


def a_row_of_nothing(rows):
    """A window that nobody reaches: REACH(b) is 0 there already."""
    put(a_window(rows, only_reached)["REACH(a)"], 0)
    return rows


def windows_without_trends_are_lost(rows):
    trends = {
        (row["query"], row["window_start"]) for row in rows if row["aggregate"] == "COUNT(*)" and row["value"]
    }
    assert 0 < sum((row["query"], row["window_start"]) in trends for row in rows) < len(rows)
    return [row for row in rows if (row["query"], row["window_start"]) in trends]


def mode_taken_for(mode, other):
    """`run_part`, with queries of one mode asked in another."""
    real = task_rows.run_part

    def wrong(workload, *arguments, **how):
        queries = (replace(one, mode=other) if one.mode is mode else one for one in workload.queries)
        return real(replace(workload, queries=tuple(queries)), *arguments, **how)

    return wrong


def only_named_types():
    """`read_events`, without the events of types that no query names."""
    real = file_tasks.read_events

    def wrong(*arguments):
        table = real(*arguments).read_all()
        named = pc.is_in(table.column("type").cast(pa.string()), pa.array(["A", "B"]))
        return table.filter(named).to_reader()

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
        patch.setattr(execute_step, "labelled", relabelled(off_by_one(WINDOW)))
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
    red = run_red(settings, "greta_comparison")
    assert_named(red)


@pytest.mark.parametrize(
    ("change", "rule", "aggregate"),
    [
        (a_reach_that_grows, "REACH never grows", "REACH(b)"),
        (fewer_disjoint_than_partitions, "PARTITIONS <= DISJOINT <= trends", "COUNT(DISJOINT)"),
        (an_average_beyond_the_longest, "MIN <= AVG <= MAX", "AVG(DURATION)"),
        (no_trend_but_a_duration, "trends or none", "AVG(DURATION)"),
        (a_row_of_nothing, "no trend, no numbers", "REACH(a)"),
    ],
)
def test_what_cannot_be_is_not_published_even_if_both_engines_say_so(
    funnels, monkeypatch, change, rule, aggregate
):
    def wrong_too(stored, expected, digits):
        assert {one.aggregate for one in differences(stored, expected, digits)} == {aggregate}
        return differences(stored, change(expected), digits)

    forget_computed(Warehouse(funnels.warehouse), funnels, ())
    monkeypatch.setattr(execute_step, "labelled", relabelled(change))
    monkeypatch.setattr(greta, "differences", wrong_too)
    red = run_red(funnels, "results_expectations")
    assert rule in red.description.split("broken: ")[1].split(";")[0]
    (line,) = (
        line for line in red.metadata["rules"].value.splitlines() if line.startswith(f"| {cell(rule)} |")
    )
    assert "| **no** | 1 | query=taken" in line
    assert red.severity == dg.AssetCheckSeverity.ERROR


@pytest.mark.parametrize(
    ("place", "name", "fault", "query", "sample"),
    [
        (execute_step, "labelled", lambda: relabelled(a_reach_too_high), "taken", WHOLE),
        (execute_step, "labelled", lambda: relabelled(windows_without_trends_are_lost), "taken", SAMPLED),
        (task_rows, "run_part", lambda: mode_taken_for(Mode.NEXT, Mode.ANY), "taken", SAMPLED),
        (task_rows, "run_part", lambda: mode_taken_for(Mode.CONTIGUOUS, Mode.NEXT), "close", WHOLE),
        (file_tasks, "read_events", only_named_types, "close", SAMPLED),
    ],
    ids=[
        "a reach too high", "rows of a reach alone are lost", "next is any", "contiguous is next",
        "contiguous looks past other types",
    ],
)  # fmt: skip
def test_an_ignored_mode_a_lost_row_and_a_reach_too_high_are_not_published(
    funnels, monkeypatch, place, name, fault, query, sample
):
    """What could be, and is wrong: only the comparison sees it."""
    forget_computed(Warehouse(funnels.warehouse), funnels, ())
    monkeypatch.setattr(place, name, fault())
    red = run_red(replace(funnels, sample=sample), "greta_comparison")
    lines = red.metadata["rows that differ"].value.splitlines()[2:]
    assert {line.split(" | ")[0] for line in lines} == {f"| {query}"}


def test_after_all_this_the_right_rows_are_published(funnels):
    """Without a fault the same run is green, whatever the runs before it left."""
    forget_computed(Warehouse(funnels.warehouse), funnels, ())
    assert run_main_job(replace(funnels, sample=SAMPLED)).success
    rows = table_rows(Warehouse(funnels.warehouse), "trend_aggregates")
    assert rows == expected_rows(funnels)
    alone = {row["window_start"] for row in rows if row["aggregate"] == "COUNT(*)" and row["exact"] == "0"}
    assert alone & {
        row["window_start"] for row in rows if row["aggregate"] == "REACH(a)" and row["exact"] != "0"
    }


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
