"""Wide tables after a run of the steps: row by row the long table, for integer and timestamp time, and what Spark sees."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from pipelines.settings import JobSettings, NamedWorkload
from pipelines.steps.execution.execute import execute
from pipelines.steps.ingestion.ingest import ingest
from pipelines.steps.planning import needs_of
from pipelines.steps.publication.publish import publish
from pipelines.steps.publication.wide import publish_wide
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import settings_for, stream, write_csv

ALL_TYPES = """
typed: RETURN COUNT(*), SUM(b.v), AVG(b.v) PATTERN SEQ(A a, B b+)
       GROUP-BY text, number, price, flag, moment, day_of, type WITHIN 1 d
"""


def bring(spark: SparkSession, settings: JobSettings, run_id: str = "run") -> dict[str, int]:
    """The steps up to the wide tables."""
    warehouse = Warehouse(settings.warehouse)
    ingest(spark, warehouse, settings.source, needs_of([settings.workload]))
    execute(spark, warehouse, settings, run_id)
    publish(spark, warehouse, settings.workload.name)
    return publish_wide(warehouse, settings)


def turned(warehouse: Warehouse) -> dict[tuple[object, ...], dict[str, object]]:
    """(query, window, group key) -> aggregate -> (value, log2, exact), of the long table."""
    found: dict[tuple[object, ...], dict[str, object]] = defaultdict(dict)
    for row in warehouse.rows("trend_aggregates").to_pylist():
        key = (row["query"], row["window_start"], row["window_end"], row["group_key"])
        found[key][row["aggregate"]] = (row["value"], row["log2"], row["exact"])
    return dict(found)


def read_back(
    warehouse: Warehouse, table: str, query: str, attributes: tuple[str, ...], columns: dict[str, str]
) -> dict[tuple[object, ...], dict[str, object]]:
    """The same of a wide table; where it has no logarithm, that of the long table is not compared."""
    found = {}
    for row in warehouse.rows(table).to_pylist():
        group = {name: row[name] for name in sorted(attributes)}
        key = json.dumps(group, separators=(",", ":"), ensure_ascii=False)
        found[query, row["window_start"], row["window_end"], key] = {
            label: (row[name], row.get(f"{name}_log2", "none"), row[f"{name}_exact"])
            for name, label in columns.items()
        }
    return found


@pytest.mark.parametrize("time", ["integers", "timestamps"])
def test_wide_equals_long_row_by_row(spark: SparkSession, tmp_path: Path, time: str) -> None:
    events = stream(200)
    if time == "timestamps":
        moments = pa.array([value * 1_000_000 for value in events.column("time").to_pylist()], pa.int64())
        events = events.set_column(0, "time", moments.cast(pa.timestamp("us", "UTC")))
    (tmp_path / "in").mkdir()
    pq.write_table(events, tmp_path / "in" / "events.parquet")
    settings = settings_for(tmp_path / "in", tmp_path / "warehouse")
    counts = bring(spark, settings)
    warehouse = Warehouse(settings.warehouse)
    seen = (
        read_back(warehouse, "test__rising", "rising", ("g",), {
            "count": "COUNT(*)", "sum_b_v": "SUM(b.v)", "avg_b_v": "AVG(b.v)", "min_b_v": "MIN(b.v)", "max_b_v": "MAX(b.v)"})
        | read_back(warehouse, "test__pairs", "pairs", (), {"count": "COUNT(*)", "count_b": "COUNT(b)"})
        | read_back(warehouse, "test__all", "all", (), {"count": "COUNT(*)", "sum_b_w": "SUM(b.w)"})
    )  # fmt: skip
    expected = turned(warehouse)
    for place, aggregates in expected.items():
        for label in aggregates:
            if not label.startswith(("COUNT", "SUM")):
                value, _, exact = aggregates[label]
                aggregates[label] = (value, "none", exact)
        assert seen[place] == aggregates
    assert len(seen) == len(expected) == sum(counts.values())
    assert set(counts) == {"test__rising", "test__pairs", "test__all"}
    before = {table: warehouse.rows(table) for table in counts}
    assert bring(spark, settings) == counts
    assert {table: warehouse.rows(table) for table in counts} == before


def test_spark_sees_types_and_comments(spark: SparkSession, tmp_path: Path) -> None:
    start = datetime(2026, 1, 5, tzinfo=UTC)
    typed = {
        "text": (pa.string(), "x", None), "number": (pa.int64(), 2**63 - 1, None), "flag": (pa.bool_(), True, None),
        "price": (pa.decimal128(38, 2), Decimal("-999999999999999999999999999999999999.99"), None),
        "moment": (pa.timestamp("us", "UTC"), start + timedelta(microseconds=1), None), "day_of": (pa.date32(), date(1, 1, 1), None),
    }  # fmt: skip
    fields = pa.schema([("time", pa.timestamp("us", "UTC")), ("type", pa.string()), ("v", pa.int64()),
                        *((name, kind) for name, (kind, _, _) in typed.items())])  # fmt: skip
    rows = [
        {"time": start + timedelta(seconds=second), "type": "AB"[second > 0], "v": second}
        | {name: values[1 + place] for name, values in typed.items()}
        for second in range(3)
        for place in range(2)
    ]
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pylist(rows, fields), tmp_path / "in" / "events.parquet")
    settings = replace(
        settings_for(tmp_path / "in", tmp_path / "warehouse", arithmetic="scaled"),
        workload=NamedWorkload("test", ALL_TYPES.replace(", type WITHIN", " WITHIN")),
    )
    assert bring(spark, settings) == {"test__typed": 2}
    warehouse = Warehouse(settings.warehouse)
    frame = warehouse.read(spark, "test__typed")
    assert {name: frame.schema[name].dataType.simpleString() for name in typed} == {
        "text": "string", "number": "bigint", "flag": "boolean", "price": "decimal(38,2)", "moment": "timestamp", "day_of": "date",
    }  # fmt: skip
    assert frame.schema["sum_b_v"].metadata["comment"] == "SUM(b.v)"
    found = {row["number"]: row for row in frame.toArrow().to_pylist()}
    for place, number in enumerate((2**63 - 1, None)):
        assert {name: found[number][name] for name in typed} == {
            name: values[1 + place] for name, values in typed.items()
        }
        assert (found[number]["count"], found[number]["sum_b_v"], found[number]["avg_b_v"]) == (3.0, 6.0, 1.5)


def test_an_edited_query_replaces_its_table_in_one_commit(spark: SparkSession, tmp_path: Path) -> None:
    source = write_csv(stream(120), tmp_path / "in" / "events.csv")
    first = settings_for(source.parent, tmp_path / "warehouse")
    bring(spark, first)
    text = first.workload.text.replace("GROUP-BY g", "").replace("RETURN g, ", "RETURN ")
    second = replace(first, workload=NamedWorkload("test", text.partition("pairs:")[0]))
    warehouse = Warehouse(first.warehouse)
    versions = {table: warehouse.version(table) for table in ("test__rising", "test__pairs")}
    counts = bring(spark, second, "second")
    assert set(counts) == {"test__rising"}
    assert {table: warehouse.version(table) - version for table, version in versions.items()} == {
        "test__rising": 1, "test__pairs": 1,
    }  # fmt: skip
    assert "g" not in warehouse.schema("test__rising").names
    assert {row["run_id"] for row in warehouse.rows("test__rising").to_pylist()} == {"second"}
    assert warehouse.count("test__pairs") == 0
