"""Whatever stands in data, names and texts comes out as it went in, and is never run: from files to every reader."""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import deltalake
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs
from pyspark.sql import SparkSession

from pipelines.checks.events import check_events
from pipelines.checks.greta import compare_with_greta
from pipelines.checks.results import check_results
from pipelines.cli import main
from pipelines.querying import query
from pipelines.reading import ColumnOptions
from pipelines.settings import ExecuteOptions, JobSettings, NamedWorkload, SampleOptions, Source
from pipelines.steps.execution.execute import execute
from pipelines.steps.ingestion.ingest import ingest
from pipelines.steps.planning import needs_of, plan_rows, write_plan
from pipelines.steps.publication.publish import publish
from pipelines.steps.publication.shape import wide_name
from pipelines.steps.publication.wide import publish_wide
from resources.sql import literal
from resources.warehouse import Warehouse, WarehouseError

VALUES = (
    "plain", "", None, "null", "NULL", "None", 'so"uth', "it's", "''", "a/b\\c", "\\", "\\u0041", "\\'", "line\nbreak",
    "carriage\r\nreturn", "\ttab", "é", "e\u0301", "東京", "🚲 outside the plane", "\u2028", "'; DROP TABLE events; --", "`events`",
    "${env:HOME}", "${spark.app.name}", "{{ batch }}", "{batch}", "%s %(x)s", "$1", " ", " led and trailed ", '{"g":"x"}', "[1]", "-- x",
    "/* x */", "x" * 10_240, "🚲" * 2_560, "1", "true", "2026-01-05",
)  # fmt: skip
IN_CSV = tuple(value for value in VALUES if value not in ("", None))
ATTRIBUTE = "it's.a`b%20$"
WORKLOAD = "ride-sharing.v2"
QUERY = "${env:HOME}'; DROP TABLE events; -- {{x}} `é` \\"
TEXT = f"""
-- '; DROP TABLE events; -- ${{env:HOME}} {{{{x}}}}
"{QUERY}":
  RETURN g, COUNT(*), SUM(b.v)
  PATTERN SEQ(A a, B b+)
  WHERE a.g != '''; DROP TABLE trend_aggregates; --' AND a.g != '${{env:HOME}} {{{{x}}}}' OR a.g IS NULL
  GROUP-BY g, "{ATTRIBUTE}"
  WITHIN 1 min
"""
START = datetime(2026, 1, 5, tzinfo=UTC)
FILES = ('it\'s 100%25 "new" ${HOME}.jsonl', "{{x}} é🚲; DROP TABLE events.parquet", "a b\nc'%s`.csv")


def rows_of(values: tuple[str | None, ...], minute: int) -> list[dict[str, object]]:
    """One A and two B a value, all in one minute."""
    return [
        {
            "time": (START + timedelta(minutes=minute, seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "type": "B" if second else "A",
            "v": second,
            "g": value,
            ATTRIBUTE: f"{value}'",
        }
        for second in range(3)
        for value in values
    ]


def write_files(inbox: Path) -> None:
    inbox.mkdir(parents=True)
    (inbox / FILES[0]).write_text("".join(json.dumps(row) + "\n" for row in rows_of(VALUES, 0)))
    pq.write_table(pa.Table.from_pylist(rows_of(VALUES, 1)), inbox / FILES[1])
    with (inbox / FILES[2]).open("w", newline="", encoding="utf-8") as target:
        writer = csv.DictWriter(target, ["time", "type", "v", "g", ATTRIBUTE], quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows_of(IN_CSV, 2))


def expected() -> set[tuple[object, ...]]:
    """(minute, g, attribute, count, sum): three trends a value, with the sums 1, 2 and 3."""
    return {
        (minute, value, f"{value}'", 3.0, 6.0)
        for minute, values in enumerate((VALUES, VALUES, IN_CSV))
        for value in values
    }


@pytest.fixture(scope="module")
def settings(spark: SparkSession, tmp_path_factory) -> JobSettings:
    folder = tmp_path_factory.mktemp("values") / "ware 'house' \"é🚲\" ${HOME} {{x}} 50%"
    write_files(folder / "in box's")
    settings = JobSettings(
        NamedWorkload(WORKLOAD, TEXT),
        Source(str(folder / "in box's"), ColumnOptions()),
        folder / "ta bles; --",
        ExecuteOptions(arithmetic="exact"),
        SampleOptions(everything_up_to=100_000),
    )
    warehouse = Warehouse(settings.warehouse)
    report = ingest(spark, warehouse, settings.source, needs_of([settings.workload]))
    assert (report.rows, report.rejected) == (3 * (2 * len(VALUES) + len(IN_CSV)), 0)
    write_plan(spark, warehouse, settings.workload, plan_rows(settings.workload, "run"))
    execute(spark, warehouse, settings, "run")
    publish(spark, warehouse, WORKLOAD)
    publish_wide(warehouse, settings)
    return settings


@pytest.fixture
def warehouse(settings: JobSettings) -> Warehouse:
    return Warehouse(settings.warehouse)


Rows = list[dict[str, object]]


def by_spark(spark: SparkSession, path: str) -> Rows:
    return spark.read.format("delta").load(path).toArrow().to_pylist()


def by_spark_sql(spark: SparkSession, path: str) -> Rows:
    spark.read.format("delta").load(path).createOrReplaceTempView("values_read")
    return [row.asDict() for row in spark.sql("SELECT * FROM values_read").collect()]


def by_delta_rs(_: SparkSession, path: str) -> Rows:
    return pa.table(
        deltalake.QueryBuilder()
        .register("seen", deltalake.DeltaTable(path))
        .execute("SELECT * FROM seen")
        .read_all()
    ).to_pylist()


def by_polars(_: SparkSession, path: str) -> Rows:
    # Polars takes the percent-encoded names of files for their names, so its copy lies in a plain folder.
    with tempfile.TemporaryDirectory() as plain:
        return pl.read_delta(shutil.copytree(path, f"{plain}/copy")).to_dicts()


def by_pandas(_: SparkSession, path: str) -> Rows:
    # Through Arrow's own file system: the threads of delta-rs' would call into Python when the process ends.
    frame = deltalake.DeltaTable(path).to_pandas(filesystem=fs.SubTreeFileSystem(path, fs.LocalFileSystem()))
    return [
        {name: None if value is None else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def by_duckdb(_: SparkSession, path: str) -> Rows:
    name = Path(path).name
    return query(f'SELECT * FROM "{name}"', Path(path).parent).to_pylist()


READERS = (by_spark, by_spark_sql, by_delta_rs, by_polars, by_pandas, by_duckdb)


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_every_reader_sees_the_values_of_the_wide_table(
    spark: SparkSession, warehouse: Warehouse, read: Callable[[SparkSession, str], Rows]
) -> None:
    rows = read(spark, warehouse.path_of(wide_name(WORKLOAD, QUERY)))
    seen = {
        (row["window_start"].minute, row["g"], row[ATTRIBUTE], row["count"], row["sum_b_v"]) for row in rows
    }
    assert seen == expected()
    assert len(rows) == len(seen)


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_every_reader_sees_the_values_of_the_long_table(
    spark: SparkSession, warehouse: Warehouse, read: Callable[[SparkSession, str], Rows]
) -> None:
    rows = read(spark, warehouse.path_of("trend_aggregates"))
    groups = [json.loads(row["group_key"]) for row in rows]
    seen = {(row["window_start"].minute, group["g"], group[ATTRIBUTE], row["aggregate"], row["exact"])
            for row, group in zip(rows, groups, strict=True)}  # fmt: skip
    assert seen == {
        (*place, *number) for *place, _, _ in expected() for number in (("COUNT(*)", "3"), ("SUM(b.v)", "6"))
    }
    assert {(row["workload"], row["query"]) for row in rows} == {(WORKLOAD, QUERY)}


def test_events_keep_values_and_the_names_of_their_files(warehouse: Warehouse) -> None:
    rows = warehouse.rows("events", ["source_file", "g", "event_type"]).to_pylist()
    seen = {(row["source_file"], row["g"]) for row in rows}
    assert seen == {
        (name, value)
        for name, values in zip(FILES, (VALUES, VALUES, IN_CSV), strict=True)
        for value in values
    }
    assert {row["source_file"] for row in warehouse.rows("ingested_files").to_pylist()} == set(FILES)


def test_checks_agree(spark: SparkSession, warehouse: Warehouse, settings: JobSettings) -> None:
    comparison = compare_with_greta(warehouse, settings)
    assert (comparison.compared, comparison.differences) == (2 * len(expected()), ())
    for report in (check_events(spark, warehouse), check_results(spark, warehouse, settings)):
        assert [one for one in report.outcomes if not one.passed] == []


def test_a_second_run_replaces_the_same_rows(
    spark: SparkSession, warehouse: Warehouse, settings: JobSettings
) -> None:
    again = ingest(spark, warehouse, settings.source, needs_of([settings.workload]))
    assert len(again.skipped) == len(FILES)
    publish(spark, warehouse, WORKLOAD)
    assert publish_wide(warehouse, settings) == {wide_name(WORKLOAD, QUERY): len(expected())}
    assert warehouse.rows("workload_plan").num_rows == 1


def test_hamlet_query_prints_them(warehouse: Warehouse, capsysbinary) -> None:
    sql = f'SELECT g, "{ATTRIBUTE}" AS other, count FROM {wide_name(WORKLOAD, QUERY)} WHERE minute(window_start) = 0'
    assert main(["query", sql, "--warehouse", str(warehouse.root), "--format", "json"]) == 0
    rows = json.loads(capsysbinary.readouterr().out)
    assert {(row["g"], row["other"], row["count"]) for row in rows} == {
        (value, f"{value}'", 3.0) for value in VALUES
    }
    (named,) = query(
        "SELECT workload, query FROM hamlet_tables WHERE query IS NOT NULL", warehouse.root
    ).to_pylist()
    assert named == {"workload": WORKLOAD, "query": QUERY}


@pytest.mark.parametrize("substitute", ["false", "true"])
def test_a_literal_is_its_text_to_spark(spark: SparkSession, substitute: str) -> None:
    texts = [*filter(None, VALUES), QUERY, "\0", "\\u0024{env:HOME}"]
    assert os.environ.get("HOME")
    kept = spark.conf.get("spark.sql.variable.substitute")
    spark.conf.set("spark.sql.variable.substitute", substitute)
    try:
        row = spark.sql(f"SELECT array({', '.join(map(literal, texts))}) AS texts").collect()[0]
        assert row["texts"] == texts
        shown = spark.sql("SELECT '${env:HOME}' AS home").collect()[0]["home"]
    finally:
        spark.conf.set("spark.sql.variable.substitute", kept)
    assert kept == "false"
    assert (shown == os.environ["HOME"]) is (substitute == "true")


@pytest.mark.parametrize("name", ["a`b", "a%20b", "a[b]", "a\\b", "a\nb", "a|b", "a^b"])
def test_a_folder_whose_name_would_be_read_as_another_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(WarehouseError) as refused:
        Warehouse(tmp_path / name)
    assert refused.value.code == "E526"
