"""Each example of reading runs by itself on a warehouse, and all see the same five windows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hamlet_core.streams import generate_stream, write_csv
from pipelines.example import example_workload
from pipelines.querying import query
from pipelines.reading import ColumnOptions
from pipelines.settings import JobSettings, Source
from pipelines.steps.execution.execute import execute
from pipelines.steps.ingestion.ingest import ingest
from pipelines.steps.planning import needs_of
from pipelines.steps.publication.publish import publish
from pipelines.steps.publication.wide import publish_wide
from resources.warehouse import Warehouse
from tests.conftest import ROOT

SCRIPTS = sorted((ROOT / "examples" / "reading").glob("*.py"))


@pytest.fixture(scope="module")
def warehouse(spark: SparkSession, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("reading")
    write_csv(generate_stream("ridesharing", 6_000, 7), folder / "events.csv")
    settings = JobSettings(
        example_workload(), Source(str(folder / "events.csv"), ColumnOptions()), folder / "warehouse"
    )
    tables = Warehouse(settings.warehouse)
    ingest(spark, tables, settings.source, needs_of([settings.workload]))
    execute(spark, tables, settings, "run")
    publish(spark, tables, settings.workload.name)
    publish_wide(tables, settings)
    return settings.warehouse


def test_there_is_one_for_each_reader() -> None:
    assert [path.stem for path in SCRIPTS] == [
        "with_delta_rs", "with_duckdb", "with_pandas", "with_polars", "with_spark",
    ]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_runs_and_sees_the_largest_windows(warehouse: Path, script: Path) -> None:
    done = subprocess.run(
        [sys.executable, script, warehouse],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=200,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    largest = query(
        "FROM ride_sharing__slowing_down ORDER BY count DESC, district, window_start LIMIT 5", warehouse
    ).to_pylist()
    lines = done.stdout.splitlines()
    for row in largest:
        said = (
            row["district"],
            f"{row['window_start']:%H:%M}",
            f"{row['count']:.0f}",
            f"{row['avg_t_speed']:.1f}",
        )
        assert any(all(word in line for word in said) for line in lines), (said, done.stdout)
