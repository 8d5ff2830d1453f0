"""File tasks, the shuffle and `trend_aggregates` on any frame: the rows of `run`, each of them, in every arithmetic."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql.functions import col, expr, lit

from hamlet_core import EventSchema, QueryMeaningError, QuerySyntaxError, StreamError, result_schema, run
from pipelines.reading import ColumnOptions
from pipelines.settings import NamedWorkload
from pipelines.steps import trend_aggregates
from pipelines.steps.execution import file_tasks
from pipelines.steps.execution.execute import execute
from pipelines.steps.ingestion.ingest import ingest
from pipelines.steps.planning import needs_of
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import (
    RESULT_COLUMNS,
    expected_rows,
    settings_for,
    sorted_rows,
    stream,
    table_rows,
    write_csv,
)

TEXT = """
per_key:  RETURN k, COUNT(*), SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.v) PATTERN SEQ(A a, B b+)
          GROUP-BY k WITHIN 40 s SLIDE 20 s
same_key: RETURN g, COUNT(*), SUM(b.w) PATTERN SEQ(A a, B b+) WHERE [k] AND b.v < NEXT(b).v GROUP-BY g WITHIN 1 min
merged:   RETURN COUNT(*), MAX(b.w) PATTERN SEQ(A a, B b) WHERE [k] AND b.v > 10 WITHIN 1 min
both:     RETURN k, g, COUNT(*) PATTERN SEQ(A a, NOT C c, B b) GROUP-BY k, g WITHIN 30 s
other:    RETURN g, COUNT(*), MIN(a.v) PATTERN A a+ GROUP-BY g WITHIN 10 s
all:      RETURN COUNT(*), SUM(b.w) PATTERN SEQ(C c, B b+) WITHIN 10 s
"""


def with_timestamps(table: pa.Table) -> pa.Table:
    moments = pc.multiply(table["time"], 1_000_000).cast(pa.timestamp("us", "UTC"))
    return table.drop_columns(["time"]).append_column("at", moments)


def rows_of(found: pa.Table) -> list[dict[str, object]]:
    return sorted_rows(found.to_pylist(), RESULT_COLUMNS)


@pytest.mark.parametrize("arithmetic", ["exact", "modular"])
def test_files_and_shuffle_give_the_rows_of_run(spark, tmp_path, monkeypatch, arithmetic):
    monkeypatch.setattr(file_tasks, "MOST_HERE", 0)
    place = write_csv(stream(), tmp_path / "events.csv")
    settings = settings_for(place, tmp_path / "warehouse", text=TEXT, arithmetic=arithmetic)
    warehouse, expected = Warehouse(settings.warehouse), expected_rows(settings)
    ingest(spark, warehouse, settings.source, needs_of([settings.workload]))
    for path in ("files", "shuffle"):
        chosen = replace(
            settings,
            workload=NamedWorkload(path, TEXT),
            execute=replace(settings.execute, path=path),
        )
        report = execute(spark, warehouse, chosen, "run")
        found = warehouse.rows("computed_aggregates").filter(pc.field("workload") == path)
        assert rows_of(found) == expected
        assert len(report.tasks) > 1
        assert os.getpid() not in {task.pid for task in report.tasks}
        assert sum(report.rows.values()) == len(expected)
    assert any('"k":null' in row["group_key"] for row in expected)


@pytest.mark.parametrize("arithmetic", ["exact", "modular", "scaled"])
@pytest.mark.parametrize("times", ["integer", "timestamp"])
def test_a_frame_of_any_layout_gives_the_rows_of_run(spark, arithmetic, times):
    table = stream() if times == "integer" else with_timestamps(stream())
    schema = EventSchema() if times == "integer" else EventSchema(time="at")
    text = TEXT if arithmetic != "scaled" else TEXT.replace("SUM(b.w)", "SUM(b.v)")
    frame = trend_aggregates(spark.createDataFrame(table), text, schema=schema, arithmetic=arithmetic)
    expected = run(text, table, schema=schema, arithmetic=arithmetic)
    found = frame.toArrow()
    assert [(field.name, field.type) for field in found.schema] == [
        (field.name, field.type) for field in result_schema(expected.schema.field("window_start").type)
    ]
    assert rows_of(found) == rows_of(expected)


def test_only_the_columns_and_types_of_the_queries_are_read_and_shuffled_once_per_key(spark, tmp_path):
    pq.write_table(stream().append_column("unread", pa.array(["x"] * 400)), tmp_path / "events.parquet")
    frame = trend_aggregates(spark.read.parquet(str(tmp_path)), TEXT)
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert re.findall(r"RepartitionByExpression \[(\w+)#\d+\], 4|Repartition (1)", plan) == [
        ("k", ""),
        ("g", ""),
        ("", "1"),
    ]
    scans = re.findall(r"PushedFilters: \[(.*)\], ReadSchema: (\S+)", frame._jdf.queryExecution().toString())
    assert [columns for _, columns in scans] == [
        "struct<time:bigint,type:string,k:string,g:string,v:bigint,w:double>",
        "struct<time:bigint,type:string,g:string,v:bigint>",
        "struct<time:bigint,type:string,w:double>",
    ]
    assert ["In(type, [A,B,C])" in scans[0][0], "EqualTo(type,A)" in scans[1][0]] == [True, True]
    assert trend_aggregates(spark.read.parquet(str(tmp_path)).where("false"), TEXT).toArrow().num_rows == 0


def test_events_may_be_in_a_stream_of_transformations_and_stay_lazy(spark):
    read = spark.sparkContext.accumulator(0)

    def counted(batches):
        for batch in batches:
            read.add(batch.num_rows)
            yield batch

    events = spark.createDataFrame(stream())
    events = events.mapInArrow(counted, events.schema)
    frame = trend_aggregates(events, "RETURN k, COUNT(*) PATTERN A GROUP-BY k WITHIN 1 min")
    assert read.value == 0
    assert frame.where(col("group_key") == '{"k":"x"}').count() > 0
    assert read.value >= stream().num_rows


@pytest.mark.parametrize(
    ("text", "options", "error", "code"),
    [
        ("RETURN COUNT(*", {}, QuerySyntaxError, "E025"),
        ("RETURN COUNT(*) PATTERN A a WHERE b.v = 1 WITHIN 1 s", {}, QueryMeaningError, "E1"),
        ("RETURN COUNT(*) PATTERN A a WHERE a.absent = 1 WITHIN 1 s", {}, StreamError, "E202"),
        ("RETURN SUM(a.g) PATTERN A a WITHIN 10 s", {}, QueryMeaningError, "E135"),
        ("RETURN COUNT(*) PATTERN A a WHERE a.list = 1 WITHIN 1 s", {}, StreamError, "E203"),
        ("RETURN COUNT(*) PATTERN A a WHERE a.gap = 1 WITHIN 1 s", {}, StreamError, "E203"),
        ("RETURN COUNT(*) PATTERN A a WHERE a.v = 1 WITHIN 1 s", {"schema": EventSchema(time="g")}, StreamError, "E203"),
        ("RETURN COUNT(*) PATTERN A a WHERE [twice] WITHIN 1 s", {}, StreamError, "E208"),
        ("RETURN COUNT(*) PATTERN A a WITHIN 1 s", {"arithmetic": "float"}, StreamError, "E210"),
        (17, {}, StreamError, "E213"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_at_the_call(spark, text, options, error, code):
    events = spark.createDataFrame(stream(40)).withColumn("list", expr("array(1)"))
    events = events.withColumn("gap", expr("make_interval(1)"))
    events = events.select("*", lit(1).alias("twice"), lit(2).alias("Twice"))
    with pytest.raises(error) as refused:
        trend_aggregates(events, text, **options)
    assert refused.value.code.startswith(code)


def test_a_hot_key_is_many_tasks_and_no_row_changes(spark, tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.steps.execution.file_tasks.LEAST_SHARE", 1)
    table = stream(3_000, days=1)
    hot = pa.array(["hot" if number % 10 else f"cold {number % 7}" for number in range(table.num_rows)])
    table = table.set_column(table.column_names.index("k"), "k", hot)
    settings = settings_for(
        write_csv(with_timestamps(table), tmp_path / "events.csv"),
        tmp_path / "warehouse",
        text=TEXT,
        options=ColumnOptions(time="at"),
    )
    warehouse = Warehouse(settings.warehouse)
    ingest(spark, warehouse, settings.source, needs_of([settings.workload]))
    report = execute(spark, warehouse, settings, "run")
    assert table_rows(warehouse, "computed_aggregates") == expected_rows(settings)
    of_key = [task for task in report.tasks if "per_key" in task.queries]
    assert len(of_key) > 2
    # Nine of ten events have one key, and yet no task reads nearly as many.
    assert max(task.events for task in of_key) < 0.5 * table.num_rows
