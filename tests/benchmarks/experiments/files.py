"""u. Plain files: `hamlet run`, ten queries over rides, beside what DuckDB needs to read and group the same file.

Whole processes with all cores. DuckDB counts and averages by partition key, type and window, and fetches all rows.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hamlet_core import run
from hamlet_core.streams import generate_stream, generate_workload, write_stream
from tests.benchmarks.answers import WrongAnswer, require_same_rows
from tests.benchmarks.experiments.cores import all_cores
from tests.benchmarks.machine import ROOT
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.timing import Contender, interleaved

TIMES_DUCKDB = 1.5
ROUNDS = 3
READERS = {"parquet": "read_parquet", "csv": "read_csv", "jsonl": "read_json"}
GROUPED = """
import duckdb, sys
duckdb.sql("SET enable_progress_bar = false")
rows = duckdb.sql(f\"\"\"SELECT driver, rider, type, time_bucket(INTERVAL 5 MINUTE, time::TIMESTAMP), count(*), avg(price)
                       FROM {sys.argv[1]}('{sys.argv[2]}') GROUP BY ALL\"\"\").fetchall()
print(sum(row[4] for row in rows))
"""

WATCHED = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""
"""Tells how much memory a command had at most; Linux counts what its parent has, too, so this is a small one."""


def measure(scale: Scale, subject: Subject) -> Finding:
    """Both in turns, a format at a time."""
    events = scale.of(5_000_000, 2_000)
    table, text = generate_stream("ridesharing", events, 7), generate_workload("ridesharing", 10, 7)
    expected = run(text, table)
    timings, claims, peaks = [], [], []
    with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as name, all_cores() as cores:
        folder = Path(name)
        (folder / "rides.hamlet").write_text(text, encoding="utf-8")
        for kind, reader in READERS.items():
            file, out = folder / f"rides.{kind}", folder / "results.parquet"
            write_stream(table, file)
            ours = [
                str(folder / "rides.hamlet"),
                "--events",
                str(file),
                "--format",
                "parquet",
                "--out",
                str(out),
            ]
            most: dict[str, int] = {}
            contenders = [
                Contender(
                    f"hamlet run, {kind}",
                    events,
                    partial(finished, [sys.executable, "-m", "pipelines.cli", "run", *ours], most, "hamlet"),
                    partial(_same, kind, out, expected),
                ),
                Contender(
                    f"DuckDB, {kind}",
                    events,
                    partial(finished, [sys.executable, "-c", GROUPED, reader, str(file)], most, "duckdb"),
                    partial(_all_counted, kind, events),
                ),
            ]
            hamlet, duckdb = interleaved(contenders, scale.of(ROUNDS, 1)).values()
            file.unlink()
            timings += [hamlet, duckdb]
            claims.append(
                Claim(f"{kind}: hamlet s / DuckDB s", hamlet.median / duckdb.median, at_most=TIMES_DUCKDB)
            )
            claims.append(
                Claim(f"{kind}: hamlet MB / DuckDB MB", most["hamlet"] / most["duckdb"], at_most=TIMES_DUCKDB)
            )
            peaks.append({"format": kind} | {f"{who}, MB": peak // 1000 for who, peak in most.items()})
    return Finding(
        "u",
        f"Plain files: ten queries over {events:,} rides, whole processes, {cores} cores",
        tuple(timings),
        tuple(claims),
        (
            "DuckDB groups by partition key, type and five minutes, and fetches all rows; below 1 hamlet is faster.",
        ),
        {"Peak of memory": peaks},
    )


def finished(command: list[str], most: dict[str, int], who: str) -> str:
    """What a command printed, which must succeed; `most` remembers the kB that it had at most."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    most[who] = max(most.get(who, 0), int(done.stderr.split()[-1]))
    return done.stdout


def _same(kind: str, out: Path, expected: pa.Table, _: str) -> None:
    require_same_rows(f"hamlet run, {kind}", pq.read_table(out), expected)


def _all_counted(kind: str, events: int, printed: str) -> None:
    if int(printed) != events:
        raise WrongAnswer(f"DuckDB, {kind}: {printed.strip()} events, and not {events}")
