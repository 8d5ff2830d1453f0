"""What `hamlet warm` compiles, a run does not."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from hamlet_core import EventSchema
from hamlet_core.engines.hamlet.jit.decorators import COMPILING
from hamlet_core.progress import COMPILE_TIME
from pipelines.compiling import LEFT_ALONE, from_the_other_end
from tests.conftest import ROOT

QUERY = "RETURN COUNT(*), SUM(b.x), MAX(b.x) PATTERN SEQ(A a, B b+) WITHIN 10 min SLIDE 5 min\n"
EVENTS = "time,type,x\n2026-01-01T08:00:00Z,A,1\n2026-01-01T08:01:00Z,B,2\n2026-01-01T08:02:00Z,B,3\n"
COLUMNS = pa.schema({"time": pa.timestamp("us", "UTC"), "type": pa.string(), "x": pa.int64()})


def hamlet(*arguments: str, kernels: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *arguments],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env=os.environ | {"NUMBA_CACHE_DIR": str(kernels)},
    )


def test_a_run_compiles_nothing_that_was_asked_for_ahead(tmp_path: Path) -> None:
    workload, events, kernels = tmp_path / "w.hamlet", tmp_path / "events.csv", tmp_path / "kernels"
    workload.write_text(QUERY, "utf-8")
    events.write_text(EVENTS, "utf-8")
    given = (str(workload), "--events", str(events))
    assert COMPILING in hamlet("warm", *given, kernels=kernels).stderr
    for command in ("run", "explain"):
        assert hamlet(command, *given, kernels=kernels).stderr == ""
    assert hamlet("warm", *given, kernels=kernels).stderr == ""


def helper_for(kernels: Path) -> subprocess.Popen[bytes]:
    program = "from pipelines.compiling import compile_backwards; compile_backwards()"
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        cwd=ROOT,
        env=os.environ | {"NUMBA_CACHE_DIR": str(kernels)},
    )


def test_who_compiles_from_the_other_end_ends_with_whom_it_helps(tmp_path: Path) -> None:
    with helper_for(tmp_path / "kernels") as helper:
        pickle.dump((QUERY, COLUMNS, EventSchema(), "scaled"), helper.stdin)
        helper.stdin.close()
        assert helper.wait(timeout=60) == LEFT_ALONE


def test_what_is_compiled_from_the_other_end_is_the_same(tmp_path: Path) -> None:
    workload, events, kernels = tmp_path / "w.hamlet", tmp_path / "events.csv", tmp_path / "kernels"
    workload.write_text(QUERY, "utf-8")
    events.write_text(EVENTS, "utf-8")
    with helper_for(kernels) as helper:
        pickle.dump((QUERY, COLUMNS, EventSchema(), "scaled"), helper.stdin)
        helper.stdin.flush()
        assert helper.wait(timeout=120) == 0
    assert hamlet("run", str(workload), "--events", str(events), kernels=kernels).stderr == ""


@pytest.mark.parametrize("compiles", [True, False])
def test_who_compiles_is_helped_and_nobody_else(
    *, compiles: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    with from_the_other_end(QUERY, COLUMNS, EventSchema(), "scaled"):
        helpers = children()
        if compiles:  # says so, and leaves all of it to the helper
            COMPILE_TIME.begin()
            COMPILE_TIME.end()
            (helper,) = children() - helpers
            until = time.monotonic() + 120
            while not [*tmp_path.rglob("*.turn")] and time.monotonic() < until:
                time.sleep(0.1)
            assert [*tmp_path.rglob("*.turn")]
        else:
            assert children() == helpers
    if compiles:
        assert helper not in children()


def children() -> set[int]:
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text("ascii")
    return set(map(int, found.split()))
