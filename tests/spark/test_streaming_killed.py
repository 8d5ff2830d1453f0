"""Streams whose processes are killed at random moments, again and again: each window once, as a run over everything has it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.conftest import ROOT
from tests.spark.pipeline_cases import WORKLOAD
from tests.spark.test_delta_sources import lake
from tests.spark.test_streaming import LATENESS, SECONDS, Arriving, arriving, published

pytestmark = pytest.mark.slow

KILLS = 12
LONGEST = 8.0
"""Seconds between the first look for files and the kill: a micro-batch takes less."""


def start(
    one: Arriving, *options: str, command: tuple[str, ...] = ("pipelines.cli", "stream")
) -> subprocess.Popen[str]:
    """`hamlet stream` in a group of processes of its own."""
    text = f"{one.settings.warehouse}.hamlet"
    Path(text).write_text(WORKLOAD)
    given = ["--source", one.settings.source.path, "--warehouse", str(one.settings.warehouse)]
    given += ["--lateness", f"{LATENESS.seconds} s", "--arithmetic", "exact", "--max-files", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", *command, text, *given, *options],
        cwd=ROOT,
        env={**os.environ, "HAMLET_ENVIRONMENT": "ci"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def kill_after(running: subprocess.Popen[str], seconds: float) -> None:
    """Kill a stream and its JVM so long after it has begun to look for files."""
    assert running.stderr is not None
    try:
        for line in running.stderr:
            if "looking for files" in line or "ingest" in line or "micro-batch" in line:
                break
        else:
            raise AssertionError("the stream has ended by itself")
        time.sleep(seconds)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate(timeout=SECONDS)


@pytest.mark.parametrize("make", [arriving, lake], ids=["files", "table"])
@pytest.mark.parametrize("seed", range(3))
def test_a_stream_that_is_killed_at_random_moments_gives_each_window_once(
    tmp_path: Path, make: type[Arriving], seed: int
) -> None:
    draw, one = Random(seed), make(tmp_path, KILLS)
    for number in range(KILLS):
        one.bring(number)
        if make is lake and draw.random() < 0.3:
            one.table.optimize.compact()
        kill_after(start(one, "--trigger", "0.2 s"), draw.uniform(0, LONGEST))
    last = start(one, "--once")
    told, said = last.communicate(timeout=SECONDS)
    assert last.returncode == 0, said
    assert "published: windows up to" in told
    assert one.warehouse.count("events") == sum(part.num_rows for part in one.parts)
    rows = published(one.warehouse)
    assert len(
        {tuple(row[name] for name in ("query", "window_start", "group_key", "aggregate")) for row in rows}
    ) == len(rows)
    assert rows == one.final() != []


def workers(of: int) -> list[int]:
    """The Python workers of Spark among the descendants of a process, and the daemons that fork them."""
    told = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True)
    lines = [line.split(None, 2) for line in told.stdout.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, _ in lines}
    found = []
    for pid in [int(pid) for pid, _, command in lines if "resources.python_worker" in command]:
        above: int | None = pid
        while above and above != of:
            above = parents.get(above)
        found += [pid] if above == of else []
    return found


@pytest.mark.parametrize("seed", range(3))
def test_workers_that_are_killed_at_random_moments_stop_no_stream(tmp_path: Path, seed: int) -> None:
    draw, one = Random(seed), arriving(tmp_path, KILLS)
    running = start(one, "--trigger", "0.2 s", command=("tests.spark.streaming_by_workers",))
    until = time.monotonic() + 2 * SECONDS

    def wait_for(what: Callable[[], bool], limit: float = until) -> None:
        while not what() and time.monotonic() < limit:
            assert running.poll() is None
            time.sleep(0.1)
        assert time.monotonic() < until

    try:
        for number in range(KILLS):
            one.bring(number)
            # A worker whose daemon was killed is not found, and may do the work.
            wait_for(lambda: bool(workers(running.pid)), time.monotonic() + LONGEST)
            time.sleep(draw.uniform(0, LONGEST / 4))
            for pid in workers(running.pid):
                if draw.random() < 0.5:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            if number % 3 == 2:  # else it may well fail five times in a row
                there = sum(part.num_rows for part in one.parts[: number + 1])
                wait_for(lambda: one.warehouse.exists("events") and one.warehouse.count("events") == there)  # noqa: B023
        wait_for(lambda: one.warehouse.exists("trend_aggregates") and published(one.warehouse) == one.final())
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGTERM)
        _, said = running.communicate(timeout=SECONDS)
    assert running.returncode == 143, said
    assert (
        "[E511] a Python worker of Spark was killed in the middle of a task; it is tried again, 2 of 5"
        in said
    )
    assert one.warehouse.count("events") == sum(part.num_rows for part in one.parts)
    assert published(one.warehouse) == one.final() != []
