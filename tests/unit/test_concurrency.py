"""`run` in many threads and processes at once gives what it gives alone, whichever way the processes are started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SCRIPT = """
import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import pyarrow as pa

from hamlet_core import run

def sums(value):
    events = pa.table({"time": [1, 2, 3, 4], "type": ["A", "B", "B", "A"], "v": [1, 2, value, 4]})
    return run("RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b+) WITHIN 10 s", events)["value"].to_pylist()

if __name__ == "__main__":
    method, before = sys.argv[1:]
    if before == "warm":
        assert sums(3) == [3.0, 10.0]
    if method == "threads":
        pool = ThreadPoolExecutor(8)
    else:
        pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method))
    with pool:
        found = list(pool.map(sums, range(16)))
    assert found == [[3.0, 4.0 + 2 * value] for value in range(16)], found
    print("right")
"""


@pytest.mark.parametrize("before", ["warm", "cold"])
@pytest.mark.parametrize("method", ["threads", "fork", "forkserver", "spawn"])
def test_many_at_once_give_what_one_gives(tmp_path: Path, method: str, before: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, str(script), method, before],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
