"""e. Time and memory over the length of the stream and of the window; a fresh process for each, so that its peak is its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.child import main as alone
from tests.benchmarks.machine import ROOT
from tests.benchmarks.material import guarded
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject

EXPONENT = 1.05
MEGABYTES = 16.0
"""Of memory beyond input and output, however long the stream; and by which it may differ between streams of 3e6 and 3e7
events where events are encoded, and between windows of 1e3 and 1e5 events; all without adjacent predicates.
"""
WINDOW_EXPONENT = 1.1
"""Of that memory over the window, with adjacent predicates."""
WRONG = 3


def measure(scale: Scale, subject: Subject) -> Finding:
    """Sizes at one window, then windows at one size, without and with adjacent predicates."""
    sizes = scale.of((100_000, 300_000, 1_000_000, 3_000_000, 10_000_000), (1_000, 2_000))
    windows = scale.of((1_000, 10_000, 100_000), (100, 400))
    fixed, middle = scale.of((10_000, 1_000_000), (400, 1_000))
    long = scale.of((3_000_000, 10_000_000, 30_000_000), sizes)
    # A chunk of the stream is at hand at a time: these have several.
    with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as name:
        files = {size: written(scale, size, Path(name)) for size in {*sizes, *long, middle}}
        plain, ordered = scale.w50(within=fixed), {size: scale.w50(within=size) for size in windows}
        by_size = [child(scale, subject, files[size], plain) for size in sizes]
        careful = [child(scale, subject, files[size], guarded(plain)) for size in long]
        by_window = [child(scale, subject, files[middle], text) for text in ordered.values()]
        adjacent = [
            child(scale, subject, files[middle], scale.w50(within=size, adjacent=True)) for size in windows
        ]
    beyond, beyond_careful, beyond_plain, beyond_adjacent = (
        np.array([one["beyond"] for one in some], float) for some in (by_size, careful, by_window, adjacent)
    )
    return Finding(
        "e",
        f"Length of the stream, windows of {fixed:,}; length of the window, {middle:,} events",
        claims=(
            Claim("kernel: seconds ~ events ^", power(sizes, by_size, "fold"), at_most=EXPONENT, unit=""),
            Claim("run(): seconds ~ events ^", power(sizes, by_size, "run"), at_most=EXPONENT, unit=""),
            Claim(
                "the most memory beyond input and output",
                float(beyond.max()) / 1e6,
                at_most=MEGABYTES,
                unit="MB",
            ),
            Claim(
                "the same, between streams, with predicates",
                float(np.ptp(beyond_careful)) / 1e6,
                at_most=MEGABYTES,
                unit="MB",
            ),
            Claim(
                "the same, between windows, no adjacent predicate",
                float(np.ptp(beyond_plain)) / 1e6,
                at_most=MEGABYTES,
                unit="MB",
            ),
            Claim(
                "the same with one: memory ~ window ^",
                float(np.polyfit(np.log(windows), np.log(np.maximum(beyond_adjacent, 1e6)), 1)[0]),
                at_most=WINDOW_EXPONENT,
                unit="",
            ),
        ),
        tables={
            "Length of the stream:": [shown(one, fixed) for one in by_size],
            "Length of the stream, v < 100 for every event:": [shown(one, fixed) for one in careful],
            "Length of the window:": [shown(one, size) for one, size in zip(by_window, windows, strict=True)],
            "Length of the window, with b.x < NEXT(b).x:": [
                shown(one, size) for one, size in zip(adjacent, windows, strict=True)
            ],
        },
        notes=(
            (
                "Beyond input and output: the peak of resident memory after run(), less the peak before it (input "
                "read, kernels warm), less the bytes of the result."
            ),
        ),
    )


def written(scale: Scale, events: int, folder: Path) -> Path:
    """A stream in an Arrow file, with the columns that the workloads read."""
    path = folder / f"{events}.arrow"
    table = scale.stream(events).select(["time", "type", "x", "v"])
    with pa.ipc.new_file(path, table.schema) as sink:
        sink.write_table(table)
    return path


def child(scale: Scale, subject: Subject, events: Path, text: str) -> dict[str, Any]:
    """What `tests/benchmarks/child.py` measured."""
    if scale.quick:  # its memory means nothing
        return alone(str(events), subject.engine, scale.rounds, text)
    command = [sys.executable, "-m", "tests.benchmarks.child", str(events), subject.engine, str(scale.rounds)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode == WRONG:
        raise WrongAnswer(done.stderr.strip())
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def power(sizes: tuple[int, ...], found: list[dict[str, Any]], what: str) -> float:
    """The exponent of the power of the size that fits the seconds best."""
    return float(np.polyfit(np.log(sizes), np.log([one[what] for one in found]), 1)[0])


def shown(one: dict[str, Any], within: int) -> dict[str, Any]:
    return {
        "events": one["events"],
        "window": within,
        "kernel s": one["fold"],
        "run() s": one["run"],
        "peak MB": one["peak"] / 1e6,
        "input MB": one["input"] / 1e6,
        "output MB": one["output"] / 1e6,
        "beyond MB": one["beyond"] / 1e6,
    }
