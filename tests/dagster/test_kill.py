"""Kill -9 at any moment, run again: no waiting for a dead run, and the tables of an undisturbed run."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipelines.main_job import run_main_job
from resources.warehouse import KILL_AFTER, Warehouse
from tests.spark.pipeline_cases import settings_for, sorted_rows, stream, write_csv

ROOT = Path(__file__).resolve().parents[2]
WRITES = (
    "create:events",
    "append:events",
    "create:events_quarantine",
    "append:events_quarantine",
    "create:ingested_files",
    "append:ingested_files",
    "create:workload_plan",
    "replace:workload_plan",
    "create:computed_aggregates",
    "replace:computed_aggregates",
    "create:computed_partitions",
    "replace:computed_partitions",
    "create:sharing_decisions",
    "replace:sharing_decisions",
    "create:trend_aggregates",
    "replace:trend_aggregates",
    "create:run_metrics",
    "replace:run_metrics",
)
# Run by run, these say when and by whom, not what.
OF_THE_RUN = {"ingested_at", "run_id", "events_version", "events_until"}
TABLES = sorted({write.split(":")[1] for write in WRITES} - {"run_metrics"})
SECONDS = 240


@pytest.fixture(scope="module")
def events(tmp_path_factory) -> Path:
    place = write_csv(stream(120), tmp_path_factory.mktemp("kill") / "events.csv")
    with place.open("a") as file:
        file.write("no event\n")
    return place


@pytest.fixture(scope="module")
def undisturbed(spark, events, tmp_path_factory) -> dict[str, list[dict[str, object]]]:
    place = tmp_path_factory.mktemp("undisturbed")
    assert run_main_job(settings_for(events, place)).success
    return contents(place)


def contents(place: Path) -> dict[str, list[dict[str, object]]]:
    warehouse = Warehouse(place)
    found = {}
    for table in TABLES:
        columns = [name for name in warehouse.schema(table).names if name not in OF_THE_RUN]
        found[table] = sorted_rows(warehouse.rows(table, columns).to_pylist(), columns)
    return found


def start(events: Path, place: Path, kill_after: str = "") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.dagster.main_run", str(events), str(place)]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, KILL_AFTER: kill_after},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )


def finish(process: subprocess.Popen[bytes]) -> int:
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    return process.returncode


def test_killed_in_the_ingest_and_killed_before_publishing(events, undisturbed, tmp_path):
    for write in ("append:events", "replace:computed_aggregates"):
        assert finish(start(events, tmp_path, write)) == -signal.SIGKILL
    assert run_main_job(settings_for(events, tmp_path)).success
    assert contents(tmp_path) == undisturbed


@pytest.mark.slow
@pytest.mark.parametrize("write", WRITES)
def test_killed_after_every_write(events, undisturbed, tmp_path, write):
    assert finish(start(events, tmp_path, write)) == -signal.SIGKILL
    assert run_main_job(settings_for(events, tmp_path)).success
    assert contents(tmp_path) == undisturbed


@pytest.mark.slow
def test_killed_at_random_moments(events, undisturbed, tmp_path):
    begun = time.monotonic()
    assert finish(start(events, tmp_path / "timed")) == 0
    whole = time.monotonic() - begun
    draw = random.Random(5)
    for _ in range(5):
        process = start(events, tmp_path / "killed")
        try:
            process.wait(draw.uniform(0.15, 0.95) * whole)
        except subprocess.TimeoutExpired:
            process.kill()
        finish(process)
    assert run_main_job(settings_for(events, tmp_path / "killed")).success
    assert contents(tmp_path / "killed") == undisturbed
