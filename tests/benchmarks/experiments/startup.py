"""s. What a user waits for: the import, a small run with compiled kernels in their cache, the first run without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import pyarrow.parquet as pq

from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.baseline_runs import by_running_totals
from tests.benchmarks.encoding import Encoded, encode
from tests.benchmarks.machine import ROOT
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject

IMPORT_SECONDS = 0.3
RUN_SECONDS = 2.0
COLD_SECONDS = 30.0


def measure(scale: Scale, subject: Subject) -> Finding:
    """Fresh processes, files in cache: a first one of each kind is not counted, but for the cold compile."""
    bare = [timed([sys.executable, "-c", "pass"])[0] for _ in range(scale.rounds + 1)][1:]
    imports = [timed([sys.executable, "-c", "import hamlet_core"])[0] for _ in range(scale.rounds + 1)][1:]
    with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as name:
        folder = Path(name)
        table = scale.stream(scale.of(1_000, 100))
        text = scale.w50(within=scale.of(500, 50))
        encoded = encode(text, table)
        pq.write_table(table, folder / "events.parquet")
        (folder / "w50.hamlet").write_text(text, encoding="utf-8")
        options = ["--time", "time", "--type", "type", "--engine", subject.engine, "--policy", "never"]
        files = [str(folder / "w50.hamlet"), "--events", str(folder / "events.parquet")]
        command = [sys.executable, "-m", "pipelines.cli", "run", *files, *options, "--format", "json"]
        runs = []
        for _ in range(scale.rounds + 1):
            seconds, done = timed(command)
            check(done.stdout, encoded)
            runs.append(seconds)
        # A small version that compiles all kernels would not be small.
        cold = () if scale.quick else first_run(command, folder / "kernels", encoded)
    return Finding(
        "s",
        "Starting",
        claims=(
            Claim("import hamlet_core, whole process", median(imports), unit="s"),
            Claim(
                "import hamlet_core",
                median(imports) - median(bare),
                at_most=IMPORT_SECONDS,
                unit="s beyond a bare Python",
            ),
            Claim(
                f"hamlet run, {encoded.events:,} events, warm",
                median(runs[1:]),
                at_most=RUN_SECONDS,
                unit="s",
            ),
            *cold,
        ),
    )


def first_run(command: list[str], cache: Path, encoded: Encoded) -> tuple[Claim, ...]:
    """The same command where no kernel has been compiled: how long, and what it says on stderr."""
    seconds, done = timed(command, {"NUMBA_CACHE_DIR": str(cache)})
    check(done.stdout, encoded)
    told = [line for line in done.stderr.splitlines() if "ompil" in line]
    return (
        Claim("hamlet run, no kernel in cache", seconds, at_most=COLD_SECONDS, unit="s"),
        Claim("lines that say that kernels are compiled", len(told), at_least=1, unit=""),
    )


def timed(
    command: list[str], environ: dict[str, str] | None = None
) -> tuple[float, subprocess.CompletedProcess[str]]:
    """Seconds and outcome of a command that must succeed."""
    whole = {**os.environ, **(environ or {})}
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=whole, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return taken, done


def check(printed: str, encoded: Encoded) -> None:
    """The rows that `hamlet run` printed are those of the running totals."""
    expected = by_running_totals(encoded)
    wanted = {
        (name, int(start)): log2
        for name, row in zip(encoded.names, expected, strict=True)
        for start, log2 in zip(encoded.window_starts, row, strict=True)
        if np.isfinite(log2)
    }
    found = {(row["query"], row["window_start"]): row["log2"] for row in json.loads(printed)}
    if found.keys() != wanted.keys() or any(abs(found[key] - wanted[key]) > 1e-8 for key in wanted):
        raise WrongAnswer(
            f"hamlet run: {len(found)} rows, not the {len(wanted)} expected, or with other counts"
        )
