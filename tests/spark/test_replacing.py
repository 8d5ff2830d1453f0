"""Rows that are replaced or deleted in this process: what Spark would leave, and never a row of somebody else's."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from random import Random

import pytest
from pyspark.sql.functions import lit

from hamlet_core.errors import HamletError
from pipelines.spans import Partition, Span
from pipelines.steps.slices import results_filter, results_of
from resources import tables
from resources.warehouse import MOST_HERE, Warehouse, frame_of
from tests.spark.pipeline_cases import sorted_rows

BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
LONG = "w" * 40
"""Longer than what Spark keeps of a text in statistics."""
COLUMNS = ("workload", "query", "window_end", "group_key", "value", "day")


def row(workload: str, query: str, hour: int, value: float) -> dict[str, object]:
    end = BEGIN + timedelta(hours=hour, microseconds=hour)
    return {
        "query": query, "window_start": end - timedelta(hours=1), "window_end": end, "group_key": "{}",
        "aggregate": "COUNT(*)", "value": value, "sign": 1, "log2": 0.0, "workload": workload, "workload_hash": "h",
        "run_id": "r", "events_version": 1, "day": (end - timedelta(microseconds=1)).date(),
    }  # fmt: skip


def stored(warehouse: Warehouse, table: str) -> list[dict[str, object]]:
    return sorted_rows(warehouse.rows(table, list(COLUMNS)).to_pylist(), COLUMNS)


def some_rows(random: Random, workload: str, hours: range) -> list[dict[str, object]]:
    return [
        row(workload, query, hour, random.random())
        for hour in hours
        for query in ("p", "q")
        if random.random() < 0.8
    ]


def some_span(random: Random) -> tuple[Span, range]:
    """A span, in which windows end with these hours."""
    first, last = sorted(random.sample(range(72), 2))
    bounds = [BEGIN + timedelta(hours=hour, microseconds=hour) for hour in (first, last)]
    after, until = (bounds[0] if first else None), bounds[1]
    return Span((Partition("some", after, until),)), range(first + 1 if first else 0, last + 1)


@pytest.mark.parametrize("seed", range(2))
def test_what_is_replaced_here_and_by_spark_is_the_same(spark, tmp_path, seed):
    random = Random(seed)
    here, there = Warehouse(tmp_path / "here"), Warehouse(tmp_path / "there")
    for few in (False, True):
        rows = [one for name in ("v", LONG, LONG + "x") for one in some_rows(random, name, range(72))]
        for warehouse in (here, there):
            warehouse.append(frame_of(spark, rows, tables.PUBLISHED), tables.PUBLISHED, few=few)
    for _ in range(3):
        span, hours = some_span(random)
        workload = random.choice(["v", LONG, LONG + "x", "u"])
        new = frame_of(spark, some_rows(random, workload, hours), tables.PUBLISHED)
        where, wanted = results_of(workload, span), results_filter(workload, span)
        found = here.dataset(tables.PUBLISHED.name).count_rows(filter=wanted)
        assert bool(here.rows_beside(tables.PUBLISHED.name, wanted)) >= bool(found)
        here.replace(new, tables.PUBLISHED, where, here=wanted)
        there.replace(new, tables.PUBLISHED, where)
        assert stored(here, tables.PUBLISHED.name) == stored(there, tables.PUBLISHED.name)
    by_spark = here.read(spark, tables.PUBLISHED.name).select(*COLUMNS).toArrow().to_pylist()
    assert sorted_rows(by_spark, COLUMNS) == stored(here, tables.PUBLISHED.name)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_deleted_here_and_by_spark_is_the_same(spark, tmp_path, seed):
    random = Random(seed)
    here, there = Warehouse(tmp_path / "here"), Warehouse(tmp_path / "there")
    rows = [one for name in ("v", "w") for one in some_rows(random, name, range(72))]
    for warehouse in (here, there):
        warehouse.append(frame_of(spark, rows, tables.COMPUTED), tables.COMPUTED)
    span, _ = some_span(random)
    kept = random.choice([(), ("p",), ("p", "q")])
    where = results_of("w", span, but=kept)
    here.delete_here(spark, tables.COMPUTED, where, results_filter("w", span, but=kept))
    there.delete(spark, tables.COMPUTED.name, where)
    assert stored(here, tables.COMPUTED.name) == stored(there, tables.COMPUTED.name)
    assert (kept == ("p", "q")) == (len(stored(here, tables.COMPUTED.name)) == len(rows))


def test_files_without_such_rows_are_left_and_the_commit_says_where_it_comes_from(spark, tmp_path):
    warehouse = Warehouse(tmp_path)
    for hour, workload in ((1, "v"), (2, "w"), (30, "w")):
        warehouse.append(
            frame_of(spark, [row(workload, "q", hour, 1.0)], tables.PUBLISHED), tables.PUBLISHED, few=True
        )
    before = {file.path for file in warehouse.files(tables.PUBLISHED.name)}
    span = Span((Partition("day", BEGIN, BEGIN + timedelta(days=1)),))
    where, wanted = results_of("w", span), results_filter("w", span)
    assert warehouse.rows_beside(tables.PUBLISHED.name, wanted) == 1
    new = frame_of(spark, [row("w", "q", 3, 2.0)], tables.PUBLISHED)
    warehouse.replace(new, tables.PUBLISHED, where, here=wanted)
    after = {file.path for file in warehouse.files(tables.PUBLISHED.name)}
    assert (len(before - after), len(after - before)) == (1, 1)
    said = json.loads(warehouse.open(tables.PUBLISHED.name).history(1)[0]["userMetadata"])
    assert (said["write"], said["where"]) == ("replace", where)
    # What is gone is not lost to who reads an older version.
    version = warehouse.version(tables.PUBLISHED.name)
    assert warehouse.read(spark, tables.PUBLISHED.name, version - 1).count() == 3


def test_a_row_that_is_not_allowed_is_refused_and_nothing_is_replaced(spark, tmp_path):
    warehouse = Warehouse(tmp_path)
    good = row("w", "q", 1, 1.0)
    warehouse.append(frame_of(spark, [good], tables.PUBLISHED), tables.PUBLISHED)
    before = warehouse.version(tables.PUBLISHED.name)
    new = frame_of(spark, [good, {**good, "day": date(2026, 1, 9)}], tables.PUBLISHED)
    with pytest.raises(HamletError, match=r"E519.*day_fits"):
        warehouse.replace(new, tables.PUBLISHED, results_of("w"), here=results_filter("w"))
    assert warehouse.version(tables.PUBLISHED.name) == before


def test_a_column_of_somebody_else_is_kept(spark, tmp_path):
    """Then Spark replaces the rows: this process would write the columns that it knows."""
    warehouse = Warehouse(tmp_path)
    rows = [row("v", "q", 1, 1.0), row("w", "q", 1, 1.0)]
    warehouse.append(frame_of(spark, rows, tables.PUBLISHED), tables.PUBLISHED)
    wider = frame_of(spark, rows, tables.PUBLISHED).withColumn("theirs", lit("x"))
    wider.write.format("delta").mode("overwrite").option("mergeSchema", "true").save(
        warehouse.path_of(tables.PUBLISHED.name)
    )
    new = frame_of(spark, [row("w", "q", 1, 2.0)], tables.PUBLISHED)
    warehouse.replace(new, tables.PUBLISHED, results_of("w"), here=results_filter("w"))
    found = warehouse.rows(tables.PUBLISHED.name, ["workload", "value", "theirs"]).to_pylist()
    assert sorted((one["workload"], one["value"], one["theirs"]) for one in found) == [
        ("v", 1.0, "x"),
        ("w", 2.0, None),
    ]


def test_files_that_somebody_else_has_changed_meanwhile_are_not_replaced(spark, tmp_path, monkeypatch):
    warehouse, name = Warehouse(tmp_path), tables.PUBLISHED.name
    rows = [row("v", "q", 1, 1.0), row("w", "q", 1, 1.0)]
    warehouse.append(frame_of(spark, rows, tables.PUBLISHED), tables.PUBLISHED)
    written = Warehouse._written

    def late(self: Warehouse, *given: object) -> object:
        warehouse.delete(spark, name, "workload = 'v'")
        return written(self, *given)

    monkeypatch.setattr(Warehouse, "_written", late)
    new = frame_of(spark, [row("w", "q", 1, 2.0)], tables.PUBLISHED)
    with pytest.raises(HamletError, match="E528"):
        warehouse.replace(new, tables.PUBLISHED, results_of("w"), here=results_filter("w"))
    assert [(one["workload"], one["value"]) for one in stored(warehouse, name)] == [("w", 1.0)]


def test_files_of_which_the_log_tells_nothing_may_hold_many_rows(spark, tmp_path, monkeypatch):
    warehouse, name = Warehouse(tmp_path), tables.PUBLISHED.name
    warehouse.append(frame_of(spark, [row("v", "q", 1, 1.0)], tables.PUBLISHED), tables.PUBLISHED)
    assert warehouse.rows_beside(name, results_filter("w")) == 0
    assert warehouse.rows_beside("nothing", results_filter("w")) == 0
    silent = [replace(file, rows=0, extremes={}) for file in warehouse.files(name)]
    monkeypatch.setattr(Warehouse, "_files_of", lambda *_: tuple(silent))
    assert warehouse.rows_beside(name, results_filter("w")) > MOST_HERE
