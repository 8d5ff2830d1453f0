"""A run over everything, again, where only events have come or gone: the windows of other days stay, and all are right."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest

from pipelines.assets import checks, publish
from pipelines.assets.configuration import PipelineResource
from pipelines.expectations import ColumnExpectation, Expectations
from pipelines.main_job import RunSummary, run_main_job
from pipelines.settings import JobSettings, NamedWorkload
from pipelines.spans import Partition, Span
from pipelines.steps.execution import execute as execute_module
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import (
    WORKLOAD,
    Killed,
    expected_rows,
    settings_for,
    stream,
    table_rows,
    write_csv,
)

pytestmark = pytest.mark.usefixtures("spark")

DAYS = 8
TICK = timedelta(microseconds=1)
LONG = "long: RETURN COUNT(*), COUNT(a) PATTERN SEQ(A a, C c) WHERE [k] WITHIN 30 h SLIDE 7 h\n"
SHARED = "".join(
    f"{name}: RETURN COUNT(*) PATTERN SEQ({first} a, B b+) WHERE [k] WITHIN 1 min\n"
    for name, first in zip("xyz", "ACA", strict=True)
)


def day(number: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=number)


def events_of(number: int, *, rows: int = 5, seed: int = 1, first: int = 43_200) -> pa.Table:
    """Some events within a minute of a day."""
    draw = random.Random(seed)
    few = stream(rows, seed, 1)
    times = sorted(86_400 * number + first + draw.randrange(60) for _ in range(rows))
    return few.set_column(0, "time", pa.array(times, pa.int64()))


@pytest.fixture
def settings(tmp_path: Path) -> JobSettings:
    """Eight days of events."""
    write_csv(stream(320, days=DAYS), tmp_path / "events" / "first.csv")
    return settings_for(tmp_path / "events", tmp_path / "warehouse")


def drop(settings: JobSettings, name: str, table: pa.Table) -> None:
    write_csv(table, Path(settings.source.path) / f"{name}.csv")


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[Span]:
    """The spans that are computed, as they are."""
    found: list[Span] = []
    real = execute_module._replace

    def told(spark, warehouse, settings, *others):
        found.append(settings.span)
        return real(spark, warehouse, settings, *others)

    monkeypatch.setattr(execute_module, "_replace", told)
    return found


def spans(*days: tuple[int, int]) -> list[Span]:
    return [Span((Partition("all", day(first), day(last)),)) for first, last in days]


def run(settings: JobSettings) -> RunSummary:
    """A run whose results are those of one process."""
    summary = run_main_job(settings)
    assert summary.success
    assert table_rows(Warehouse(settings.warehouse), "trend_aggregates") == expected_rows(settings)
    return summary


def test_a_late_event_costs_its_days(settings: JobSettings, computed: list[Span]) -> None:
    shared, always = NamedWorkload("test", WORKLOAD + SHARED), replace(settings.execute, policy="always")
    settings = replace(settings, workload=shared, execute=always)
    first = run(settings)
    drop(settings, "late", events_of(3))
    with dg.DagsterInstance.ephemeral() as instance:
        second = run_main_job(settings, instance)
        found = instance.all_logs(second.run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    assert second.success
    assert computed == [Span(), *spans((3, 4))]
    warehouse = Warehouse(settings.warehouse)
    for table in ("computed_aggregates", "sharing_decisions"):
        rows = warehouse.rows(table).to_pylist()
        ends = {row["run_id"]: set() for row in rows}
        for row in rows:
            when = row["window_end"] - TICK if "window_end" in row else row["pane_start"]
            ends[row["run_id"]].add(when.date())
        assert ends.keys() == {first.run_id, second.run_id}
        assert ends[second.run_id] == {day(3).date()}
        assert day(3).date() not in ends[first.run_id]
    assert table_rows(warehouse, "trend_aggregates") == expected_rows(settings)
    looked_at = {
        one.asset_check_evaluation.check_name: one.asset_check_evaluation.metadata.get("rows looked at")
        for one in found
    }
    rows = warehouse.rows("events", ["day"]).column(0).to_pylist()
    assert looked_at["events_expectations"].value == sum(rows.count(day(one).date()) for one in (2, 3))
    assert looked_at["results_expectations"].value == sum(
        row["run_id"] == second.run_id for row in warehouse.rows("computed_aggregates").to_pylist()
    )


def test_windows_across_days_and_events_that_are_gone(settings: JobSettings, computed: list[Span]) -> None:
    """Day by day: appended, late, of another type, grown over, and nothing at all."""
    settings = replace(settings, workload=NamedWorkload("test", WORKLOAD + LONG))
    run(settings)
    drop(settings, "new", events_of(9))
    run(settings)
    drop(settings, "late", events_of(2, seed=2))
    drop(settings, "later", events_of(4, seed=3))
    run(settings)
    drop(settings, "unread", events_of(1, seed=4).set_column(1, "type", pa.array(["Z"] * 5)))
    run(settings)
    path = Path(settings.source.path) / "new.csv"
    path.write_text(path.read_text() + path.read_text().splitlines()[-1] + "\n")
    run(settings)
    run(settings)
    # Windows of 30 h that have a noon end on its day or the next.
    assert computed == [Span(), *spans((9, 11), (2, 6), (9, 11))]


def test_midnight_belongs_to_the_windows_that_end_there(settings: JobSettings, computed: list[Span]) -> None:
    run(settings)
    drop(settings, "late", events_of(5, first=86_400 - 60))
    run(settings)
    ends = [row["window_end"] for row in table_rows(Warehouse(settings.warehouse), "computed_aggregates")]
    assert day(6) in ends
    assert computed[1:] in (spans((5, 6)), spans((5, 7)))


def changes(settings: JobSettings) -> Iterator[JobSettings]:
    """What more than events can change."""
    yield replace(settings, workload=NamedWorkload("test", WORKLOAD.replace("> 10", "> 11")))
    yield replace(settings, workload=NamedWorkload("test", WORKLOAD + LONG))
    yield replace(settings, workload=NamedWorkload("test", WORKLOAD.partition("all:")[0]))
    yield replace(settings, execute=replace(settings.execute, arithmetic="modular"))


def test_a_change_of_anything_else_is_a_run_over_everything(
    settings: JobSettings, computed: list[Span]
) -> None:
    run(settings)
    for number, changed in enumerate(changes(settings)):
        drop(settings, f"late{number}", events_of(number, seed=number))
        run(changed)
    assert set(computed) == {Span()}


@pytest.mark.parametrize("step", ["greta", "publish"])
def test_what_was_not_checked_and_published_is_computed_as_a_whole(
    settings: JobSettings, computed: list[Span], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    run(settings)
    drop(settings, "late", events_of(3))

    def dies(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(*((checks, "compare_with_greta") if step == "greta" else (publish, "publish")), dies)
        with pytest.raises(Killed):
            run_main_job(settings)
    drop(settings, "later", events_of(6))
    run(settings)
    assert computed == [Span(), *spans((3, 4)), Span()]


def test_whoever_expects_something_of_events_expects_it_of_all(
    settings: JobSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    real = checks.check_events
    monkeypatch.setattr(checks, "check_events", lambda *given: asked.append(given[-1]) or real(*given))
    run(settings)
    drop(settings, "late", events_of(3))
    run(settings)
    expected = Expectations(columns=(ColumnExpectation("v", low=0),))
    monkeypatch.setattr(PipelineResource, "expectations", lambda _: expected)
    drop(settings, "later", events_of(4))
    run(settings)
    # Windows that end early in day 3 begin in day 2.
    assert asked == [(None, None), (day(2).date(), day(3).date()), (None, None)]


def test_windows_that_were_not_final_are_computed_by_a_run_that_flushes(
    settings: JobSettings, computed: list[Span]
) -> None:
    """Whether events come meanwhile or not."""
    final = replace(settings, execute=replace(settings.execute, flush=False))
    assert run_main_job(final).success
    open_windows = len(table_rows(Warehouse(settings.warehouse), "trend_aggregates"))
    assert open_windows < len(expected_rows(settings))
    run(settings)
    assert run_main_job(final).success
    drop(settings, "late", events_of(3))
    run(settings)
    assert set(computed) == {Span()}
