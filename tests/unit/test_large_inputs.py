"""Many groups, many windows, one long window, many workloads: right answers, in memory that does not creep."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hamlet_core import run
from tests.conftest import ROOT

DAY = 86_400


@pytest.mark.parametrize("groups", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_every_one_of_many_groups_has_its_own_answer(groups: int) -> None:
    """One A and two B a group: the trends A B1, A B2 and A B1 B2, of which each B is in two. Slow: a million of them."""
    number = np.arange(groups)
    events = pa.table(
        {
            "time": np.concatenate([number, groups + number, 2 * groups + number]),
            "type": pa.DictionaryArray.from_arrays(np.repeat(np.int8([0, 1, 1]), groups), ["A", "B"]),
            "g": np.tile(number, 3),
            "v": np.concatenate([number, number, 2 * number]),
        }
    )
    text = f"RETURN g, COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b+) GROUP-BY g WITHIN {3 * groups} s"
    rows = run(text, events, arithmetic="exact")
    assert rows.num_rows == 2 * groups
    assert pc.count_distinct(rows["group_key"]).as_py() == groups
    keys = pc.replace_substring_regex(rows["group_key"], r'\{"g":(\d+)\}', r"\1").cast(pa.int64()).to_numpy()
    counted = np.asarray(pc.equal(rows["aggregate"], "COUNT(*)"))
    expected = np.where(counted, 3, 6 * keys)
    assert (rows["exact"].cast(pa.int64()).to_numpy() == expected).all()


def test_a_day_that_slides_by_a_second() -> None:
    """A window a second, from a day before the first event; n events of A+ are 2^n - 1 trends."""
    times = np.array([0, 1, 7, 3_600, 50_000, 50_001, DAY, DAY + 1, 2 * DAY, 3 * DAY])
    events = pa.table({"time": times, "type": ["A"] * len(times)})
    rows = run("RETURN COUNT(*) PATTERN A+ WITHIN 1 d SLIDE 1 s", events, arithmetic="exact")
    starts = rows["window_start"].to_numpy()
    held = np.searchsorted(times, starts + DAY) - np.searchsorted(times, starts)
    assert (rows["exact"].cast(pa.int64()).to_numpy() == 2**held - 1).all()
    every = np.arange(times[0] - DAY + 1, times[-1] + 1)
    some = np.searchsorted(times, every + DAY) > np.searchsorted(times, every)
    assert sorted(starts) == list(every[some])


def test_a_million_events_in_one_window() -> None:
    """Half of them A and then B: each A with each B; and of B+ the 2^n - 1 trends, each B in 2^(n-1) of them."""
    half = 500_000
    kinds = pa.DictionaryArray.from_arrays(np.repeat(np.int8([0, 1]), half), ["A", "B"])
    events = pa.table({"time": np.arange(2 * half), "type": kinds, "v": np.arange(2 * half) % 1_000})
    text = f"""
    pairs: RETURN COUNT(*), MIN(b.v), MAX(b.v), AVG(b.v) PATTERN SEQ(A a, B b) WITHIN {2 * half} s
    all:   RETURN COUNT(*), SUM(b.v) PATTERN B b+ WITHIN {2 * half} s
    """
    found = {(row["query"], row["aggregate"]): row for row in run(text, events).to_pylist()}
    assert len(found) == 6
    pairs = {name: row["value"] for (query, name), row in found.items() if query == "pairs"}
    assert pairs == {"COUNT(*)": half**2, "MIN(b.v)": 0, "MAX(b.v)": 999, "AVG(b.v)": pytest.approx(499.5)}
    assert found["all", "COUNT(*)"]["log2"] == pytest.approx(half, rel=1e-12)
    total = int(np.sum(np.arange(half) % 1_000))
    assert found["all", "SUM(b.v)"]["log2"] == pytest.approx(half - 1 + np.log2(total), rel=1e-12)


MANY_WORKLOADS = """
import gc
from pathlib import Path

import pyarrow as pa

from hamlet_core import run

events = pa.table({"time": [1, 2, 3, 4], "type": ["A", "B", "B", "B"], "v": [1, 1, 2, 3]})


def answer(number):
    pattern = f"PATTERN SEQ(A a{number}, B b+) WHERE b.v < {number} WITHIN {number + 10} s"
    text = f"q{number}: RETURN COUNT(*), SUM(b.v) {pattern}"
    return run(text, events, arithmetic="exact")["exact"].to_pylist()


def resident():
    gc.collect()
    pa.default_memory_pool().release_unused()
    (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith("VmRSS")]
    return int(line.split()[1])


seen = []
for number in range(4, 2_004):
    assert answer(number) == ["7", "24"], number
    if number in (1_003, 2_003):
        seen.append(resident())
print(seen[1] - seen[0])
"""


def test_two_thousand_workloads_in_one_process_leave_nothing_behind() -> None:
    """Seven trends of three B, each B in four of them: 4 * (1 + 2 + 3). Bound: two MiB over the second thousand."""
    done = subprocess.run(
        [sys.executable, "-c", MANY_WORKLOADS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2 * 1_024
