"""The GRETA comparison finds every kind of wrong row, recomputing everything or a sample."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from delta.tables import DeltaTable

from pipelines.checks.differences import Problem
from pipelines.checks.greta import compare_with_greta
from pipelines.settings import SampleOptions
from pipelines.steps.execute import execute
from pipelines.steps.ingest import ingest
from pipelines.steps.planning import needs_of
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import settings_for, stream, write_csv

# Of every row of the small stream, as a sample: each (query, window, group) with a result, and many without.
SAMPLED = SampleOptions(size=600, everything_up_to=0)


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("greta")
    return settings_for(write_csv(stream(240), folder / "events.csv"), folder / "warehouse")


@pytest.fixture
def computed(spark, settings):
    warehouse = Warehouse(settings.warehouse)
    ingest(spark, warehouse, settings.source, needs_of(settings.workload.plans))
    execute(spark, warehouse, settings, "run")
    return warehouse


def both(settings):
    return settings, replace(settings, sample=SAMPLED)


def test_right_rows_pass_and_the_sample_is_large(computed, settings):
    whole, sample = (compare_with_greta(computed, one) for one in both(settings))
    assert (whole.everything, whole.differences, sample.everything, sample.differences) == (
        True,
        (),
        False,
        (),
    )
    assert whole.compared == computed.rows("computed_aggregates").num_rows
    assert sample.compared > 50
    assert sample == compare_with_greta(computed, replace(settings, sample=SAMPLED))


def test_the_engine_that_computed_is_not_asked(computed, settings, monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("the comparison asked the compiled engine")

    monkeypatch.setattr("hamlet_core.engines.hamlet.engine.fold_workload", refuse)
    for one in both(settings):
        assert compare_with_greta(computed, one).differences == ()


def test_an_off_by_one_a_missing_and_a_surplus_row_are_found(spark, computed, settings):
    table = DeltaTable.forPath(spark, computed.path_of("computed_aggregates"))
    key = "query = 'pairs' AND aggregate = 'COUNT(*)'"
    first = table.toDF().where(key).agg({"window_start": "min"}).first()[0]
    place = f"{key} AND window_start = TIMESTAMP '{first}'"
    table.update(place, {"value": "value + 1", "exact": "string(bigint(exact) + 1)"})
    for one in both(settings):
        found = compare_with_greta(computed, one).differences
        assert {(wrong.problem, wrong.query, wrong.column) for wrong in found} == {
            (Problem.DIFFERENT, "pairs", "value"),
            (Problem.DIFFERENT, "pairs", "exact"),
        }
        assert {wrong.window_start for wrong in found} == {first.replace(tzinfo=UTC)}
    table.delete(place)
    for one in both(settings):
        found = compare_with_greta(computed, one).differences
        assert [(wrong.problem, wrong.query, wrong.aggregate) for wrong in found] == [
            (Problem.MISSING, "pairs", "COUNT(*)")
        ]
    execute(spark, computed, settings, "run")
    table.update(
        "query = 'all' AND aggregate = 'COUNT(*)'", {"window_start": "window_start + INTERVAL 1 SECOND"}
    )
    for one in both(settings):
        problems = {wrong.problem for wrong in compare_with_greta(computed, one).differences}
        assert problems == {Problem.MISSING, Problem.SURPLUS}


def test_scaled_rows_are_compared_within_their_promise(spark, computed, settings):
    scaled = replace(settings, execute=replace(settings.execute, arithmetic="scaled"))
    execute(spark, computed, scaled, "run")
    assert compare_with_greta(computed, scaled).differences == ()
    table = DeltaTable.forPath(spark, computed.path_of("computed_aggregates"))
    table.update("query = 'rising'", {"value": "value * (1 + 1e-12)"})
    assert compare_with_greta(computed, scaled).differences == ()
    table.update("query = 'rising'", {"value": "value * (1 + 1e-8)"})
    found = compare_with_greta(computed, scaled).differences
    assert {(wrong.query, wrong.column) for wrong in found} == {("rising", "value")}


def test_events_past_the_limit_are_left_out_and_counted(computed, settings):
    tiny = replace(settings, sample=replace(SAMPLED, largest=3))
    found = compare_with_greta(computed, tiny)
    assert found.left_out > 0
    assert found.compared > 0
    assert found.differences == ()


def test_without_flush_only_final_windows_are_expected(spark, computed, settings):
    held = replace(settings, execute=replace(settings.execute, flush=False))
    execute(spark, computed, held, "run")
    for one in both(held):
        assert compare_with_greta(computed, one).differences == ()
    late = compare_with_greta(computed, settings).differences
    assert {wrong.problem for wrong in late} == {Problem.MISSING}
    assert max(wrong.window_end for wrong in late) > datetime(1970, 1, 2, tzinfo=UTC)
