"""A question about funnels in a process of its own: PEER QUESTION FILE ENGINE; a line of JSON on stdout after each of two runs.

CPU seconds of the first are those of the process since its start: imports and kernels that are loaded count.
"""

from __future__ import annotations

import json
import sys
import time
from functools import partial
from pathlib import Path
from runpy import run_path

from tests.benchmarks import funnels
from tests.benchmarks.peers import HAMLET, PEERS

ROOT = Path(__file__).resolve().parents[2]
peak = run_path(str(ROOT / "hamlet_core" / "bench" / "memory.py"))["peak"]
"""Of the file alone: where peers are, nothing else of the package can be imported."""


def main(name: str, question: str, path: str, engine: str) -> None:
    answer = partial(PEERS[name].answer, getattr(funnels, question), Path(path))
    if name == HAMLET:
        answer = partial(answer, engine=engine)
    for first in (True, False):
        begin, before = time.perf_counter(), 0.0 if first else time.process_time()
        found = answer()
        seconds, cpu = time.perf_counter() - begin, time.process_time() - before
        print(json.dumps({"answer": found, "seconds": seconds, "cpu": cpu, "peak": peak()}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:5])
