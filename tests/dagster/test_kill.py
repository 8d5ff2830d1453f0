"""Kill -9 at any moment, run again: no waiting for a dead run, and the tables of an undisturbed run.

Two jobs: the main job, and three days of a workload of a folder in one run. Their writes are those that an undisturbed
run makes, in its order.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from hamlet_core.language.syntax import Mode
from pipelines.steps.publication import wide
from resources import warehouse as warehouse_module
from resources.warehouse import KILL_AFTER, Warehouse
from tests.conftest import ROOT
from tests.dagster import main_run
from tests.dagster.folder_cases import DAILY, EVERY_MODE, make_folder
from tests.spark.pipeline_cases import sorted_rows, stream, write_csv

# Run by run, these say when and by whom, not what; files are written anew for each.
OF_THE_RUN = {"ingested_at", "run_id", "events_version", "events_until", "modified"}
OF_EACH_RUN = {"run_metrics"}
SECONDS = 240
MOMENTS = 10
DURATIONS = ("SUM(DURATION)", "AVG(DURATION)", "MIN(DURATION)", "MAX(DURATION)")

Contents = dict[str, list[dict[str, object]]]


@dataclass(frozen=True)
class Job:
    """A job over files of its own: `places` makes them below a folder, and gives the arguments of `main_run`."""

    name: str
    places: Callable[[Path], tuple[str, ...]]

    def warehouse(self, folder: Path) -> Warehouse:
        return Warehouse(folder / "warehouse")

    def contents(self, folder: Path) -> Contents:
        warehouse, found = self.warehouse(folder), {}
        for table in set(warehouse.names()) - OF_EACH_RUN:
            columns = [name for name in warehouse.schema(table).names if name not in OF_THE_RUN]
            rows = sorted_rows(warehouse.rows(table, columns).to_pylist(), columns)
            # Where the files lay is of the folder.
            found[table] = [row | {"path": ""} if "path" in row else row for row in rows]
        return found

    def start(self, folder: Path, kill_after: str = "") -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.dagster.main_run", self.name, *self.places(folder)],
            cwd=ROOT,
            env={**os.environ, KILL_AFTER: kill_after},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )

    def finish(self, folder: Path) -> None:
        """The run after a kill."""
        assert main_run.main(self.name, *self.places(folder)) == 0


def main_places(folder: Path) -> tuple[str, ...]:
    events = folder / "events.csv"
    if not events.exists():
        write_csv(stream(120), events)
        with events.open("a") as file:
            file.write("no event\n")
    return str(events), str(folder / "warehouse")


def folder_places(folder: Path) -> tuple[str, ...]:
    if not (folder / "inbox").exists():
        make_folder(folder, {"jams": (EVERY_MODE, DAILY)}, days=main_run.DAYS)
        with (folder / "inbox" / "day00.csv").open("a") as file:
            file.write("no event\n")
    return (str(folder),)


@dataclass(frozen=True)
class Undisturbed:
    """What a job that nobody kills writes, in its order, and what its tables hold then."""

    job: Job
    writes: tuple[str, ...]
    contents: Contents


@pytest.fixture(
    scope="module",
    params=[pytest.param(Job("main", main_places), marks=pytest.mark.slow), Job("folder", folder_places)],
    ids=lambda job: job.name,
)
def undisturbed(spark, request, tmp_path_factory) -> Undisturbed:
    job, folder, writes = request.param, tmp_path_factory.mktemp("undisturbed"), []
    with pytest.MonkeyPatch.context() as patch:
        for module in (warehouse_module, wide):
            patch.setattr(module, "passed", writes.append)
        job.finish(folder)
    return Undisturbed(job, tuple(dict.fromkeys(writes)), job.contents(folder))


def ended(process: subprocess.Popen[bytes]) -> int:
    _, errors = process.communicate(timeout=SECONDS)
    assert process.returncode in (0, -signal.SIGKILL), errors.decode()
    return process.returncode


def test_every_table_is_written_by_writes_that_a_kill_can_follow(undisturbed):
    written = {write.split(":")[1] for write in undisturbed.writes}
    assert written == set(undisturbed.contents) | OF_EACH_RUN
    assert len(undisturbed.writes) > 15


def test_what_is_killed_computes_every_mode_and_has_windows_without_a_trend(undisturbed):
    contents = undisturbed.contents
    assert {row["mode"] for row in contents["workload_plan"]} == {mode.value for mode in Mode}
    for table in ("computed_aggregates", "trend_aggregates"):
        rows = contents[table]
        assert {"COUNT(PARTITIONS)", "COUNT(DISJOINT)", *DURATIONS} < {row["aggregate"] for row in rows}
        assert any(row["aggregate"] == "COUNT(*)" and row["exact"] == "0" for row in rows)
        assert any(row["aggregate"].startswith("REACH(") and row["value"] > 1 for row in rows)
    wide = [row for table, rows in contents.items() if "__" in table for row in rows]
    assert any(row["count_exact"] == "0" and row.get("min_duration_exact", "0") is None for row in wide)


def test_killed_in_the_ingest_and_killed_before_publishing(undisturbed, tmp_path):
    job = undisturbed.job
    for write in ("append:events", "append:computed_aggregates"):
        assert write in undisturbed.writes
        assert ended(job.start(tmp_path, write)) == -signal.SIGKILL
    job.finish(tmp_path)
    assert job.contents(tmp_path) == undisturbed.contents


@pytest.mark.slow
def test_killed_after_every_write(undisturbed, tmp_path):
    job, wrong = undisturbed.job, []
    for number, write in enumerate(undisturbed.writes):
        folder = tmp_path / str(number)
        assert ended(job.start(folder, write)) == -signal.SIGKILL, write
        job.finish(folder)
        right = job.contents(folder) == undisturbed.contents
        print(f"{job.name}: killed after {write}: {'the same' if right else 'OTHER'} tables", flush=True)
        wrong += [] if right else [write]
    assert wrong == []


@pytest.mark.slow
def test_killed_at_random_moments(undisturbed, tmp_path):
    job, draw, wrong, killed = undisturbed.job, random.Random(5), [], 0
    begun = time.monotonic()
    assert ended(job.start(tmp_path / "timed")) == 0
    whole = time.monotonic() - begun
    for number in range(MOMENTS):
        folder, moment = tmp_path / str(number), draw.uniform(0.15, 0.95) * whole
        process = job.start(folder)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
        killed += ended(process) != 0
        job.finish(folder)
        right = job.contents(folder) == undisturbed.contents
        print(
            f"{job.name}: killed after {moment:.1f} s: {'the same' if right else 'OTHER'} tables", flush=True
        )
        wrong += [] if right else [moment]
    assert wrong == []
    assert killed > MOMENTS // 2
