"""Plant each fault into a copy of the core, run the suite on it, and tell which test saw it; exit 1 if none did.

Usage: python -m tests.mutants [WORD ...]     (only faults whose name contains one of the words)
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.mutants.faults import FAULTS, Fault

ROOT = Path(__file__).resolve().parents[2]
SUITE = (
    "tests/golden/test_cases.py",
    "tests/properties/test_classes.py",
    "tests/properties/test_workloads.py",
    "tests/properties/test_differential.py",
    "tests/properties/test_lanes.py",
    "tests/properties/test_matching.py",
    "tests/properties/test_metamorphic.py",
    "tests/properties/test_optimizers.py",
    "tests/properties/test_pushed.py",
    "tests/properties/test_sequences.py",
    "tests/properties/test_spans.py",
    "tests/properties/test_trends.py",
    "tests/properties/test_wide_graphlets.py",
)
FIRST = {
    "online/": "test_pushed.py",
    "engines/aseq.py": "test_sequences.py",
    "engines/gloria.py": "test_trends.py",
    "engines/shared_two_step.py": "test_trends.py",
    "engines/sharon.py": "test_sequences.py",
    "engines/hamlet/chains/": "test_pushed.py",
    "engines/hamlet/events/": "test_spans.py",
    "engines/hamlet/graphlets/": "test_wide_graphlets.py",
    "engines/hamlet/planning.py": "test_optimizers.py",
    "engines/hamlet/program/equal_states.py": "test_optimizers.py",
    "engines/hamlet/bursts/layout.py": "test_optimizers.py",
    "engines/hamlet/panes/": "test_pushed.py",
    "engines/hamlet/prefixes/": "test_matching.py",
    "template/steps.py": "test_trends.py",
}
"""By the beginning of a path, who most likely sees a fault there: it goes before the others, which are minutes."""

COPIED = ("hamlet_core", "tests/golden", "tests/oracle", "tests/properties")
SURVIVED, STALE = "SURVIVED", "DOES NOT APPLY"


def main(words: Sequence[str]) -> int:
    """Try the faults two at a time; the sound code goes first and has to pass."""
    chosen = [fault for fault in FAULTS if not words or any(word in fault.name for word in words)]
    with tempfile.TemporaryDirectory(prefix="mutants-") as name:
        sound = Path(name)
        for part in COPIED:
            shutil.copytree(ROOT / part, sound / part, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", sound)
        first = next(_failures(sound), "passes")
        print(f"{'(the code as it is)':<62} {first}", flush=True)
        return 1 if first != "passes" else _try(chosen, sound)


def _try(faults: Sequence[Fault], sound: Path) -> int:
    escaped = 0
    with ThreadPoolExecutor(max_workers=2) as pool:
        verdicts = pool.map(lambda fault: verdict(fault, sound), faults)
        for fault, found in zip(faults, verdicts, strict=True):
            print(f"{fault.name:<62} {found}", flush=True)
            escaped += found in (SURVIVED, STALE)
    print(f"{len(faults) - escaped} of {len(faults)} faults caught")
    return 1 if escaped else 0


def verdict(fault: Fault, sound: Path) -> str:
    """The first test that fails with the fault in place, and after how many seconds."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        tree = Path(name) / "tree"
        shutil.copytree(sound, tree)
        return next(_failures(tree, suite_for(fault)), SURVIVED) if plant(fault, tree) else STALE


def suite_for(fault: Fault) -> list[str]:
    """The whole suite, in an order in which this fault is seen soon."""
    first = next((test for place, test in FIRST.items() if fault.file.startswith(place)), "")
    return sorted(SUITE, key=lambda path: Path(path).name != first)


def plant(fault: Fault, tree: Path) -> bool:
    """Write the fault into a tree; False if its place is not there exactly once."""
    path = tree / "hamlet_core" / fault.file
    source = path.read_text("utf-8")
    if source.count(fault.old) != 1:
        return False
    path.write_text(source.replace(fault.old, fault.new) + fault.appended, "utf-8")
    return True


def _failures(tree: Path, suite: Sequence[str] = SUITE) -> Iterator[str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *suite]
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    began = time.monotonic()
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    for test in re.findall(r"^(?:FAILED|ERROR) \S*/(\S+)", done.stdout, re.MULTILINE):
        yield f"{test}  ({time.monotonic() - began:.0f} s)"
    if done.returncode != 0:
        yield f"pytest ended with {done.returncode}: {done.stdout[-300:]} {done.stderr[-300:]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
