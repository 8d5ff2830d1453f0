"""Windows are folded in batches, so that Python hears signals between them: that changes nothing but how often it does."""

from __future__ import annotations

import dataclasses
import random
import signal
import subprocess
import sys
import time

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core.engines.hamlet import engine
from hamlet_core.engines.hamlet.events import fold, turns
from hamlet_core.engines.hamlet.input.chunks import Limits, chunks
from hamlet_core.sharing.options import Sharing
from tests.conftest import ROOT

WORKLOAD = "\n".join(
    f"q{number}: RETURN COUNT(*), SUM(b.v) PATTERN SEQ({prefix} p, B b+) WHERE b.v < NEXT(b).v WITHIN 40 s SLIDE 5 s"
    for number, prefix in enumerate("ACD")
)


def events(count: int) -> pa.Table:
    draw = random.Random(3)
    return pa.table(
        {
            "time": sorted(draw.randrange(count) for _ in range(count)),
            "type": [draw.choice("ABBBBCD") for _ in range(count)],
            "v": [draw.randrange(50) for _ in range(count)],
        }
    )


@pytest.mark.parametrize("arithmetic", ["scaled", "exact"])
def test_batches_change_neither_results_nor_decisions(
    arithmetic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, calls = events(400), []
    monkeypatch.setattr(Sharing, "may_rest", False)
    whole = hamlet_core.execute(WORKLOAD, table, arithmetic=arithmetic)
    kernel = fold.fold_windows

    def counted(*arguments: object) -> object:
        calls.append(1)
        return kernel(*arguments)

    monkeypatch.setattr(turns, "BATCH", 50)
    monkeypatch.setattr(fold, "fold_windows", counted)
    cut = hamlet_core.execute(WORKLOAD, table, arithmetic=arithmetic)
    assert len(calls) > 20
    assert cut.results.equals(whole.results)
    assert cut.decisions.equals(whole.decisions)
    same = {"decision_seconds": 0.0}
    assert dataclasses.replace(cut.counters, **same) == dataclasses.replace(whole.counters, **same)


LONG = """
import random
import numpy as np, pyarrow as pa
import hamlet_core
count = 6_000_000
draw = np.random.default_rng(1)
table = pa.table({"time": np.arange(count), "type": pa.array(["B"]).take(pa.array(np.zeros(count, int))),
                  "v": draw.integers(0, 1 << 40, count), "x": draw.integers(0, 1 << 40, count)})
query = "RETURN COUNT(*) PATTERN B b+ WHERE b.v < NEXT(b).v AND b.x < NEXT(b).x WITHIN {} s"
hamlet_core.run(query.format(10), table.slice(0, 100))
print("begun", flush=True)
hamlet_core.run(query.format(20_000), table)
print("done", flush=True)
"""


def test_a_script_that_computes_hears_ctrl_c() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LONG], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        heard = time.monotonic()
        out, errors = process.communicate(timeout=120)
    assert time.monotonic() - heard < 30
    assert out == "", "computed before the signal came"
    assert "KeyboardInterrupt" in errors


@pytest.mark.parametrize("arithmetic", ["scaled", "exact", "modular"])
@pytest.mark.parametrize("filled", [(True, False), (False, True)], ids=["first", "second"])
def test_chunks_test_their_conditions_by_what_their_columns_hold(
    filled: tuple[bool, bool], arithmetic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one of two chunks no event has values, so that both queries compare one column of NULLs there."""
    seen = []

    def cut(stream, specs, _bytes_per_event, _limits, only):
        for chunk in chunks(stream, specs, 1, Limits(bytes=3, overlap=0), only):
            seen.append(len(chunk.stream))
            yield chunk

    monkeypatch.setattr(engine, "chunks", cut)
    events = pa.table(
        {
            "time": [0, 1, 2, 10, 11, 12],
            "type": ["C"] * 6,
            "u": pa.array([value if has else None for has in filled for value in (1, 2, 3)], pa.int64()),
            "v": pa.array([value if has else None for has in filled for value in (3, 2, 1)], pa.int64()),
        }
    )
    text = "\n".join(
        f"{name}: RETURN COUNT(*) PATTERN C c+ WHERE c.{name} >= NEXT(c).{name} WITHIN 10 s" for name in "uv"
    )
    found = hamlet_core.run(text, events, arithmetic=arithmetic)
    assert seen == [3, 3]
    assert found == hamlet_core.run(text, events, arithmetic=arithmetic, engine="greta")
    falling = [row["query"] for row in found.to_pylist() if row["log2"] > 2]
    assert falling == ["v"]  # 3 2 1 has 7 trends, 1 2 3 has 3
