"""The GRETA comparison finds every kind of wrong row, recomputing everything or a sample."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from delta.tables import DeltaTable

from hamlet_core.errors import StreamError
from pipelines.checks import greta
from pipelines.checks.differences import Problem
from pipelines.checks.greta import compare_with_greta
from pipelines.settings import SampleOptions
from pipelines.spans import EPOCH, Partition, Span
from pipelines.steps.execution.computed import forget_computed
from pipelines.steps.execution.execute import execute
from pipelines.steps.ingestion.ingest import ingest
from pipelines.steps.packing import each_in_tasks
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
    ingest(spark, warehouse, settings.source, needs_of([settings.workload]))
    compute_anew(spark, warehouse, settings)
    return warehouse


def compute_anew(spark, warehouse, settings):
    """Compute, also where the warehouse says that its rows are current: tests change them behind its back."""
    if warehouse.exists("computed_partitions"):
        forget_computed(warehouse, settings, ())
    execute(spark, warehouse, settings, "run")


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


def test_tasks_recompute_what_would_take_long_and_find_the_same(spark, computed, settings, monkeypatch):
    """Rows, wrong rows, and what the reference refuses."""
    monkeypatch.setattr(greta, "_EVENTS_HERE", 0)
    asked: list[int] = []

    def each(work, items, sizes):
        asked.append(len(items))
        return each_in_tasks(spark, work, items, sizes)

    sampled = replace(settings, sample=SAMPLED)
    here = compare_with_greta(computed, sampled)
    assert asked == []
    assert compare_with_greta(computed, sampled, None, each) == here
    assert sum(asked) == here.compared > 50
    table = DeltaTable.forPath(spark, computed.path_of("computed_aggregates"))
    table.delete("query = 'pairs' AND aggregate = 'COUNT(*)'")
    wrong = compare_with_greta(computed, sampled)
    assert wrong.differences
    assert compare_with_greta(computed, sampled, None, each) == wrong
    with monkeypatch.context() as patch:
        patch.setattr(greta._Reference, "rows", refuse_all)
        with pytest.raises(StreamError, match=r"\[E999\] no"):
            compare_with_greta(computed, sampled, None, lambda work, items, _: [work(one) for one in items])


def refuse_all(*_: object) -> None:
    raise StreamError("no", code="E999")


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
    compute_anew(spark, computed, settings)
    table.update(
        "query = 'all' AND aggregate = 'COUNT(*)'", {"window_start": "window_start + INTERVAL 1 SECOND"}
    )
    for one in both(settings):
        problems = {wrong.problem for wrong in compare_with_greta(computed, one).differences}
        assert problems == {Problem.MISSING, Problem.SURPLUS}


def test_scaled_rows_are_compared_within_their_promise(spark, computed, settings):
    scaled = replace(settings, execute=replace(settings.execute, arithmetic="scaled"))
    compute_anew(spark, computed, scaled)
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


def test_what_is_left_out_is_replaced_by_others(computed, settings):
    small = replace(settings, sample=SampleOptions(size=10, everything_up_to=0, largest=5))
    found = compare_with_greta(computed, small)
    assert found == compare_with_greta(computed, small)
    assert found.left_out > 0
    assert found.compared >= 8
    assert not found.blind


def test_a_comparison_of_nothing_says_so(computed, settings):
    found = compare_with_greta(computed, replace(settings, sample=replace(SAMPLED, largest=0)))
    assert (found.compared, found.differences, found.blind) == (0, (), True)
    assert found.left_out > 0


def test_a_span_is_compared_by_itself(spark, computed, settings):
    day = Span((Partition("1970-01-01", EPOCH, EPOCH + timedelta(days=1)),))
    for one in both(settings):
        within, whole = compare_with_greta(computed, one, day), compare_with_greta(computed, one)
        assert within.differences == ()
        assert 0 < within.stored < whole.stored
        assert 0 < within.compared < whole.compared
    table = DeltaTable.forPath(spark, computed.path_of("computed_aggregates"))
    ends = f"query = 'pairs' AND aggregate = 'COUNT(*)' AND window_end {{}} TIMESTAMP '{EPOCH + timedelta(days=1)}'"
    table.delete(ends.format(">"))
    assert compare_with_greta(computed, settings, day).differences == ()
    table.delete(ends.format("<="))
    found = compare_with_greta(computed, settings, day).differences
    assert {(one.problem, one.query) for one in found} == {(Problem.MISSING, "pairs")}
    assert all(EPOCH < one.window_end <= EPOCH + timedelta(days=1) for one in found)


def test_digits_that_are_gone_are_a_difference(spark, computed, settings):
    DeltaTable.forPath(spark, computed.path_of("computed_aggregates")).update(
        "query = 'pairs'", {"exact": "NULL"}
    )
    found = compare_with_greta(computed, settings).differences
    assert {(one.query, one.column) for one in found} == {("pairs", "exact")}


def test_without_flush_only_final_windows_are_expected(spark, computed, settings):
    held = replace(settings, execute=replace(settings.execute, flush=False))
    compute_anew(spark, computed, held)
    for one in both(held):
        assert compare_with_greta(computed, one).differences == ()
    late = compare_with_greta(computed, settings).differences
    assert {wrong.problem for wrong in late} == {Problem.MISSING}
    assert max(wrong.window_end for wrong in late) > datetime(1970, 1, 2, tzinfo=UTC)
