"""Spark's own cluster, a master and two workers on this machine: the rows of every other way, also when a worker dies."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.find_spark_home import _find_spark_home

from hamlet_core import run
from hamlet_core.streams import generate_stream
from pipelines.main_job import run_workload
from pipelines.reading import ColumnOptions
from resources.environments import COLLECTOR, ENVIRONMENTS
from resources.java import find_java
from resources.warehouse import Warehouse
from tests.conftest import ROOT
from tests.dagster.folder_cases import DAILY, FIRST, JAMS, KEYS, make_folder
from tests.ports import free_port
from tests.spark.cluster_run import DAYS
from tests.spark.pipeline_cases import RESULT_COLUMNS, expected_rows, settings_for, sorted_rows, table_rows

MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
SECONDS = 400
LARGE, LONG, WORKER_MEMORY = 12_000_000, 1_800, 600 << 20
"""Events, seconds, and the bytes that a worker has for its executor."""
SETTINGS = """\
spark.driver.host 127.0.0.1
spark.driver.bindAddress 127.0.0.1
spark.ui.enabled false
spark.executor.memory 512m
spark.executor.cores 1
spark.executor.extraJavaOptions -XX:TieredStopAtLevel=1
"""
FEW = ENVIRONMENTS["ci"]
FEW_EVENTS = SETTINGS + "".join(
    f"{name} {value}\n"
    for name, value in (
        *FEW.spark,
        ("spark.driver.extraJavaOptions", " ".join(FEW.java_options)),
        ("spark.executor.extraJavaOptions", COLLECTOR),
    )
)
"""What a session on this machine is started with where there is little to do."""


@dataclass(frozen=True)
class Cluster:
    """A master by its address, and its workers by the folder in which their executors run."""

    master: str
    workers: dict[Path, subprocess.Popen[bytes]]


def alive(page: str) -> int:
    """The workers that a master has."""
    # Before the master is up it does not answer, and then for a moment with a page.
    with contextlib.suppress(OSError, ValueError), urllib.request.urlopen(page, timeout=5) as answer:
        return int(json.load(answer)["aliveworkers"])
    return 0


def until(condition: object, what: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.1)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """The daemons have process groups of their own; whatever is left of them at the end is killed."""
    spark_class = str(Path(_find_spark_home(), "bin", "spark-class"))
    java = find_java()
    variables = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))},
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-XX:TieredStopAtLevel=1 {COLLECTOR}",
        "PYTHONPATH": "",
    }
    if java and java.home:
        variables["JAVA_HOME"] = str(java.home)
    port, page = free_port(), free_port()
    started: list[subprocess.Popen[bytes]] = []

    def daemon(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (tmp_path / "daemons.log").open("ab") as log:
            process = subprocess.Popen(
                [spark_class, *arguments],
                env=variables,
                cwd=tmp_path,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        started.append(process)
        return process

    try:
        here = ("--host", "127.0.0.1")
        daemon("master", MASTER, *here, "--port", str(port), "--webui-port", str(page))
        master = f"spark://127.0.0.1:{port}"
        workers = {}
        for number in (1, 2):
            place = tmp_path / f"worker{number}"
            size = ("--cores", "1", "--memory", "600m", "--work-dir", str(place), "--webui-port", "0")
            workers[place] = daemon(f"worker{number}", WORKER, *here, *size, master)
        until(lambda: alive(f"http://127.0.0.1:{page}/json/") == 2, "two workers")
        yield Cluster(master, workers)
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        until(lambda: not running_below(tmp_path), "the end of all executors", 30)


def running_below(folder: Path) -> list[str]:
    """Processes that run in a folder: executors and their Python workers."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (one / "cwd").resolve().is_relative_to(folder):
                found.append((one / "cmdline").read_text().replace("\0", " "))
    return found


def on_cluster(cluster: Cluster, settings: Path) -> dict[str, str]:
    """The environment of a process that has its Spark there."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))},
        "PYTHONPATH": str(ROOT),
        "HAMLET_ENVIRONMENT": "cluster",
        "HAMLET_SPARK_MASTER": cluster.master,
        "HAMLET_SPARK_CONF": str(settings),
        "HAMLET_DRIVER_MEMORY": "1g",
        "HAMLET_PARALLELISM": "2",
    }


def test_every_way_gives_the_same_rows_and_a_cluster_that_loses_a_worker_too(
    spark: object, cluster: Cluster, tmp_path: Path
) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY)}, days=DAYS)
    marker = tmp_path / "task"
    (tmp_path / "spark.conf").write_text(FEW_EVENTS)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.spark.cluster_run", str(folder), str(marker)],
        cwd=ROOT,
        env=on_cluster(cluster, tmp_path / "spark.conf"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        until(
            lambda: process.poll() is not None or (marker.exists() and marker.read_text()), "a task", SECONDS
        )
        if process.poll() is None:
            # Executors take our code from what is shipped, below the folder of their worker.
            at = Path(marker.read_text())
            (hit,) = [worker for place, worker in cluster.workers.items() if at.is_relative_to(place)]
            os.killpg(hit.pid, signal.SIGKILL)
        output, errors = process.communicate(timeout=SECONDS)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert process.returncode == 0, errors
    found = json.loads(output.splitlines()[-1])
    assert found["master"] == [cluster.master]
    assert int(found["tasks of the shuffle"][0]) > 1

    # In one process, and on local[2]: in one run, and day by day.
    settings = settings_for(
        folder / "inbox", tmp_path / "none", text=JAMS, options=ColumnOptions(time="at", type="kind")
    )
    core = expected_rows(settings)
    assert found["files"] == [repr(row) for row in core]
    assert found["shuffle"] == found["files"]
    days = [row for row in core if FIRST < row["window_end"] <= FIRST + timedelta(days=DAYS)]  # type: ignore[operator]
    assert found["killed"] == [repr(row) for row in days]
    alone = make_folder(tmp_path / "alone", {"jams": (JAMS, DAILY)}, days=DAYS)
    assert run_workload(alone, "jams", (KEYS[0], KEYS[DAYS - 1])).success
    assert table_rows(Warehouse(alone / "warehouse"), "trend_aggregates") == days
    daily = make_folder(tmp_path / "daily", {"jams": (JAMS, DAILY)}, days=DAYS)
    for key in KEYS[:DAYS]:
        assert run_workload(daily, "jams", (key, key)).success
    assert table_rows(Warehouse(daily / "warehouse"), "trend_aggregates") == days


@pytest.mark.slow
def test_a_stream_that_no_worker_has_memory_for_gives_the_rows_of_one_process(
    spark: object, cluster: Cluster, tmp_path: Path
) -> None:
    rides = generate_stream("ridesharing", LARGE, seed=3)
    assert rides.nbytes > WORKER_MEMORY
    (tmp_path / "events").mkdir()
    for first in range(0, LARGE, LARGE // 4):
        pq.write_table(rides.slice(first, LARGE // 4), tmp_path / "events" / f"{first:09}.parquet")
    (tmp_path / "spark.conf").write_text(SETTINGS)
    workload = ROOT / "examples" / "ride_sharing.hamlet"
    where = ("--events", str(tmp_path / "events"), "--warehouse", str(tmp_path / "warehouse"))
    most: dict[str, int] = {}
    with (tmp_path / "output").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "pipelines.cli",
                "pipeline",
                str(workload),
                *where,
                "--arithmetic",
                "exact",
            ],
            cwd=ROOT,
            env=on_cluster(cluster, tmp_path / "spark.conf"),
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            until(lambda: memory_below(tmp_path, most) and process.poll() is not None, "the pipeline", LONG)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        assert process.returncode == 0, output.read()
    executors = [size for command, size in most.items() if "CoarseGrainedExecutorBackend" in command]
    tasks = [size for command, size in most.items() if "pyspark" in command and "Executor" not in command]
    assert len(executors) > 1
    assert tasks
    # A heap of 512 MiB and what a JVM has beside it; a worker's Python may have 1.5 GB, and had 1.1 (exact arithmetic).
    assert max(executors) < 1 << 30
    assert max(tasks) < 1_500_000_000

    expected = run(workload.read_text(encoding="utf-8"), rides, arithmetic="exact")
    found = Warehouse(tmp_path / "warehouse").rows("trend_aggregates", RESULT_COLUMNS)
    assert sorted_rows(found.to_pylist(), RESULT_COLUMNS) == sorted_rows(expected.to_pylist(), RESULT_COLUMNS)


def memory_below(folder: Path, most: dict[str, int]) -> bool:
    """Add the most bytes that each process in a folder has had so far, by its number and command."""
    for one in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            if (one / "cwd").resolve().is_relative_to(folder):
                command = f"{one.name} " + (one / "cmdline").read_text().replace("\0", " ")
                kilobytes = (one / "status").read_text().split("VmHWM:")[1].split()[0]
                most[command] = max(most.get(command, 0), 1024 * int(kilobytes))
    return True


def test_the_archive_has_what_the_executors_import() -> None:
    from resources.shipping import shipped

    names = {str(path.relative_to(ROOT)) for path in shipped()}
    assert {
        "hamlet_core/__init__.py",
        "hamlet_core/language/grammar.lark",
        "pipelines/steps/execution/execute.py",
    } <= names
    assert not [name for name in names if re.search(r"\.pyc$|^tests", name)]
