"""Streams whose processes are killed at random moments, again and again: each window once, as a run over everything has it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
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


def start(one: Arriving, *options: str) -> subprocess.Popen[str]:
    """`hamlet stream` in a group of processes of its own."""
    text = one.settings.source.path + ".hamlet"
    Path(text).write_text(WORKLOAD)
    given = ["--source", one.settings.source.path, "--warehouse", str(one.settings.warehouse)]
    given += ["--lateness", f"{LATENESS.seconds} s", "--arithmetic", "exact", "--max-files", "2"]
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", "stream", text, *given, *options],
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
