"""Every reader of the tables sees the same rows, and none needs a newer protocol than the oldest."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from pipelines.settings import NamedWorkload
from pipelines.steps.execution.execute import execute
from pipelines.steps.ingestion.ingest import ingest
from pipelines.steps.metrics import Metric, write_metrics
from pipelines.steps.planning import needs_of, plan_rows, write_plan
from pipelines.steps.publication.publish import publish
from resources import tables
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import settings_for, stream

TABLES = (
    "events", "events_quarantine", "ingested_files", "workload_plan", "computed_aggregates", "trend_aggregates",
    "sharing_decisions", "run_metrics",
)  # fmt: skip


@pytest.fixture(scope="module")
def warehouse(spark, tmp_path_factory) -> Warehouse:
    folder = tmp_path_factory.mktemp("readers")
    lines = [",".join(str("" if value is None else value).replace('"', '""') for value in row.values())
             for row in stream(120).to_pylist()]  # fmt: skip
    (folder / "events.csv").write_text("time,type,k,g,v,w\n" + "\n".join(lines) + "\nbroken\n")
    settings = replace(
        settings_for(folder / "events.csv", folder / "warehouse"),
        workload=NamedWorkload(
            "test", "q: RETURN g, COUNT(*), AVG(b.w) PATTERN B b+ GROUP-BY g WITHIN 1 min"
        ),
    )
    warehouse = Warehouse(settings.warehouse)
    ingest(spark, warehouse, settings.source, needs_of([settings.workload]))
    write_plan(spark, warehouse, settings.workload, plan_rows(settings.workload, "run"))
    execute(spark, warehouse, settings, "run")
    publish(spark, warehouse, "test")
    write_metrics(spark, warehouse, "test", "run", [Metric("execute", "tasks", 2)])
    return warehouse


def canonical(rows: list[dict[str, object]]) -> list[str]:
    return sorted(str([(name, plain(row[name])) for name in sorted(row)]) for row in rows)


def plain(value: object) -> object:
    if hasattr(value, "astimezone"):
        return value.timestamp()
    return list(value) if isinstance(value, list) else value


@pytest.mark.parametrize("table", TABLES)
def test_spark_delta_rs_duckdb_and_polars_agree(spark, warehouse, table):
    seen = warehouse.rows(table)
    expected = canonical(seen.to_pylist())
    assert canonical(warehouse.read(spark, table).toArrow().to_pylist()) == expected
    frame = pl.read_delta(warehouse.path_of(table))
    assert canonical(frame.to_dicts()) == expected
    rows = warehouse.open(table).to_pyarrow_dataset()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("seen", rows)
        answer = connection.sql("SELECT * FROM seen").to_arrow_table()
    assert canonical(answer.to_pylist()) == expected
    assert bool(expected) is (table != "sharing_decisions")


@pytest.mark.parametrize("table", TABLES)
def test_the_oldest_reader_protocol_and_no_feature(warehouse, table):
    protocol = warehouse.open(table).protocol()
    assert (protocol.min_reader_version, protocol.reader_features) == (1, None)
    # CHECK constraints ask writers, not readers, for more.
    assert protocol.min_writer_version == (2 if table == "computed_aggregates" else 3)


@pytest.mark.parametrize(
    "table",
    [
        tables.QUARANTINE,
        tables.LEDGER,
        tables.PLAN,
        tables.COMPUTED,
        tables.PUBLISHED,
        tables.DECISIONS,
        tables.METRICS,
    ],
)
def test_tables_have_the_declared_columns_and_comments(warehouse, table):
    stored = warehouse.schema(table.name)
    assert [(field.name, field.type) for field in stored] == [
        (
            column.name,
            pa.list_(pa.field("element", pa.string()))
            if column.type == pa.list_(pa.string())
            else column.type,
        )
        for column in table.columns
    ]
    assert [field.metadata[b"comment"].decode() for field in stored] == [one.comment for one in table.columns]
    assert warehouse.open(table.name).metadata().description == table.comment
    assert tuple(warehouse.open(table.name).metadata().partition_columns) == table.partition
