"""u. Plain files: `hamlet run`, ten queries over rides, beside what DuckDB needs to read and group the same file.

Whole processes with all cores. DuckDB counts and averages by partition key, type and window, and fetches all rows. And
files with broken rows beside clean ones.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
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

TIMES_DUCKDB, TIMES_CLEAN = 1.5, 1.5
ROUNDS = 3
BROKEN = 100
TEXTS = ("csv", "jsonl")
"""Formats in which a value may be anything."""
PRICE = re.compile(r'("price": ?|(?<=,))(?:[0-9.]*|null)(,[^,]*$|,? ?"speed.*$)', re.DOTALL)
"""Of a line of either: the last number but one."""
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
    """All in turns, a format at a time."""
    events = scale.of(5_000_000, 2_000)
    table, text = generate_stream("ridesharing", events, 7), generate_workload("ridesharing", 10, 7)
    kept = pa.array(np.arange(events) % BROKEN != BROKEN // 2)
    expected, of_the_rest = run(text, table), run(text, table.filter(kept))
    timings, claims, peaks = [], [], []
    with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as name, all_cores() as cores:
        folder = Path(name)
        (folder / "rides.hamlet").write_text(text, encoding="utf-8")
        for kind, reader in READERS.items():
            file, most = folder / f"rides.{kind}", dict[str, int]()
            write_stream(table, file)
            contenders = [
                _hamlet(f"hamlet run, {kind}", events, file, expected, most),
                Contender(
                    f"DuckDB, {kind}",
                    events,
                    partial(finished, [sys.executable, "-c", GROUPED, reader, str(file)], most, "duckdb"),
                    partial(_all_counted, kind, events),
                ),
            ]
            if kind in TEXTS:
                dirty = with_broken_rows(file)
                contenders.append(_hamlet(f"hamlet run, dirty {kind}", events, dirty, of_the_rest, {}))
            hamlet, duckdb, *others = interleaved(contenders, scale.of(ROUNDS, 1)).values()
            for path in folder.glob(f"*.{kind}"):
                path.unlink()
            timings += [hamlet, duckdb, *others]
            claims += [
                Claim(f"{kind}: hamlet s / DuckDB s", hamlet.median / duckdb.median, at_most=TIMES_DUCKDB),
                Claim(
                    f"{kind}: hamlet MB / DuckDB MB", most["hamlet"] / most["duckdb"], at_most=TIMES_DUCKDB
                ),
                *(
                    Claim(f"{kind}: dirty s / clean s", one.median / hamlet.median, at_most=TIMES_CLEAN)
                    for one in others
                ),
            ]
            peaks.append({"format": kind} | {f"{who}, MB": peak // 1000 for who, peak in most.items()})
    return Finding(
        "u",
        f"Plain files: ten queries over {events:,} rides, whole processes, {cores} cores",
        tuple(timings),
        tuple(claims),
        (
            (
                "DuckDB groups by partition key, type and five minutes, and fetches all rows; below 1 hamlet is faster. "
                f"Dirty: one row in {BROKEN} has a time or a price that is none, and is skipped."
            ),
        ),
        {"Peak of memory": peaks},
    )


def _hamlet(name: str, events: int, file: Path, expected: pa.Table, most: dict[str, int]) -> Contender:
    """`hamlet run` of the queries beside the file, whose bad rows it skips."""
    out = file.with_name("results.parquet")
    command = [sys.executable, "-m", "pipelines.cli", "run", str(file.with_name("rides.hamlet"))]
    command += ["--events", str(file), "--on-bad-rows", "skip", "--format", "parquet", "--out", str(out)]
    return Contender(
        name, events, partial(finished, command, most, "hamlet"), partial(_same, name, out, expected)
    )


def with_broken_rows(file: Path) -> Path:
    """A copy of a file of lines in which one event of `BROKEN` has a time that is none, or a price, in turns."""
    dirty = file.with_stem("dirty")
    header = file.suffix == ".csv"
    with file.open(encoding="utf-8") as lines, dirty.open("w", encoding="utf-8") as copy:
        for place, line in enumerate(lines, start=-header):
            if place % BROKEN != BROKEN // 2:
                copy.write(line)
            elif place % (2 * BROKEN) < BROKEN:
                copy.write(line.replace("-", "?", 1))
            else:
                broken, count = PRICE.subn(r'\g<1>"many"\g<2>', line, count=1)
                if not count:
                    raise ValueError(f"no price was found in {line!r}")
                copy.write(broken)
    return dirty


def finished(command: list[str], most: dict[str, int], who: str) -> str:
    """What a command printed, which must succeed; `most` remembers the kB that it had at most."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *command], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    most[who] = max(most.get(who, 0), int(done.stderr.split()[-1]))
    return done.stdout


def _same(name: str, out: Path, expected: pa.Table, _: str) -> None:
    require_same_rows(name, pq.read_table(out), expected)


def _all_counted(kind: str, events: int, printed: str) -> None:
    if int(printed) != events:
        raise WrongAnswer(f"DuckDB, {kind}: {printed.strip()} events, and not {events}")
