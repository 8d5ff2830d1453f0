"""Where a measurement was taken, and one core for all of it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
POOLS = (
    "NUMBA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "ARROW_IO_THREADS",
    "POLARS_MAX_THREADS",
)


def one_core() -> None:
    """Hold this process and its children to one core; before numba or numpy are imported."""
    os.environ.update(dict.fromkeys(POOLS, "1"))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    import pyarrow as pa

    pa.set_cpu_count(1)


def description() -> dict[str, str | int]:
    """CPU, versions, commit and date."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count() or 0,
        "cores used": 1,
        "python": platform.python_version(),
        **{name: version(name) for name in ("numba", "numpy", "pyarrow")},
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    facts = dict(line.split(":", 1) for line in lines if ":" in line)
    found = {name.strip(): value.strip() for name, value in facts.items()}
    if "model name" not in found:
        return platform.processor() or platform.machine()
    return f"{found['model name']} (family {found.get('cpu family')}, model {found.get('model')})"


def _commit() -> str:
    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    commit = git("rev-parse", "--short", "HEAD") or "unknown"
    changed = git("status", "--porcelain", "--untracked-files=no", "--", "hamlet_core", "tests/benchmarks")
    return f"{commit} with changes" if changed else commit


def say(text: str) -> None:
    """Progress, to stderr."""
    print(text, file=sys.stderr, flush=True)
