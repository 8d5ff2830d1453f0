"""t. Listing trends (engine two_step) on growing windows, until it refuses."""

from __future__ import annotations

import math
import time

import pyarrow as pa

from hamlet_core import StreamError
from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.report import Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject

TEXT = "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 1000 s"
REFUSAL = "E301"


def measure(scale: Scale, subject: Subject) -> Finding:
    """A window of an A and n B has 2^n - 1 trends."""
    rows = []
    for size in scale.of((8, 12, 14, 16, 18, 20), (3, 6)):
        table = pa.table({"time": range(size + 1), "type": ["A"] + ["B"] * size})
        found = {name: answer(Subject(name), table, size) for name in ("two_step", subject.engine)}
        listed, refusal = found["two_step"]
        rows.append(
            {
                "B in the window": size,
                "trends": 2**size - 1,
                "two_step s": refusal or listed,
                f"{subject.engine} s": found[subject.engine][0],
            }
        )
    dead = [row["B in the window"] for row in rows if row["two_step s"] == REFUSAL]
    note = (
        f"two_step refuses ({REFUSAL}) a window of {dead[0]} B."
        if dead
        else "Windows too small for a refusal."
    )
    return Finding("t", "Listing trends on growing windows", tables={"One query:": rows}, notes=(note,))


def answer(subject: Subject, table: pa.Table, size: int) -> tuple[float, str]:
    """(seconds, code of a refusal if it refused); the answer is checked."""
    call = subject.run(TEXT, table)
    begin = time.perf_counter()
    try:
        rows = call()
    except StreamError as refused:
        if refused.code != REFUSAL:
            raise
        return time.perf_counter() - begin, refused.code
    taken = time.perf_counter() - begin
    if not math.isclose(rows["value"][0].as_py(), 2**size - 1, rel_tol=1e-9):
        raise WrongAnswer(f"{subject.engine}: {rows['value'][0]} trends, not {2**size - 1}")
    return taken, ""
