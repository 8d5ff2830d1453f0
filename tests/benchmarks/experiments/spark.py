"""p. The execute step on Spark, local[2], beside the plain Spark job on the same Delta table: both ways of its events. And the
first ingest beside Spark's own way of the same files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from statistics import median
from typing import Any

from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.machine import ROOT
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.timing import Timing

FILES_AT_LEAST = 2.5
SHUFFLE_AT_MOST = 1.5
INGEST_AT_MOST = 1.5


def measure(scale: Scale, subject: Subject) -> Finding:
    """Runs in turns in one process; every answer is that of `run` on the same Arrow table."""
    from tests.benchmarks.spark_child import BASELINE, FILE_TASKS, INGEST, OWN, SHUFFLE

    events, keys, queries = scale.of((5_000_000, 1_000, 50), (40_000, 20, 6))
    found = in_a_process(events, keys, queries, scale.rounds)
    middle = {name: median(seconds) for name, seconds in found["seconds"].items()}
    rows = found["rows"]["count"]
    return Finding(
        "p",
        f"On Spark, local[2]: {events:,} events, {keys:,} keys, {queries} queries, {rows:,} result rows",
        tuple(Timing(name, events, tuple(seconds)) for name, seconds in found["seconds"].items()),
        (
            Claim(
                "baseline / execute, file tasks",
                middle[BASELINE] / middle[FILE_TASKS],
                at_least=FILES_AT_LEAST,
            ),
            Claim("execute, shuffle / baseline", middle[SHUFFLE] / middle[BASELINE], at_most=SHUFFLE_AT_MOST),
            Claim("ingest / Spark's own", middle[INGEST] / middle[OWN], at_most=INGEST_AT_MOST),
        ),
        tables={
            "Resident memory at its peak, MB:": [
                {"what": name, **{part: size // 1_000_000 for part, size in peak.items()}}
                for name, peak in found["memory"].items()
            ],
            "Tasks that folded events:": [{"what": name, **tasks} for name, tasks in found["tasks"].items()],
        },
    )


def in_a_process(*numbers: int) -> dict[str, Any]:
    """What the child measured; it takes the cores that this process gave up."""
    with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as folder:
        done = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.spark_child", folder, *map(str, numbers)],
            cwd=ROOT,
            env={**os.environ, "NUMBA_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode == 3:
        raise WrongAnswer(done.stderr[-2000:])
    if done.returncode:
        raise RuntimeError(done.stderr[-4000:])
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured
