"""One measurement in a process of its own: FILE ENGINE ROUNDS, the workload on stdin, JSON on stdout.

The peak of memory is that of the first whole run; times are medians of the runs after it. Exit 3: a wrong answer.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import pyarrow as pa

from hamlet_core.bench.memory import forget_peak, peak
from tests.benchmarks.answers import WrongAnswer, require_equal
from tests.benchmarks.encoding import encode
from tests.benchmarks.machine import one_core
from tests.benchmarks.subject import Subject, answers

WARM_EVENTS = 1_000


def main(path: str, engine: str, rounds: int, text: str) -> dict[str, Any]:
    """Memory first, before anything else of this size has been in the process."""
    with pa.OSFile(path) as source:
        table = pa.ipc.open_file(source).read_all()
    subject = Subject(engine)
    subject.run(text, table.slice(0, WARM_EVENTS))()
    gc.collect()
    forget_peak()
    before = peak()
    call = subject.run(text, table)
    result = call()
    after, output = peak(), result.nbytes
    check(result, text, table)
    del result
    fold = call
    if "SEMANTICS" not in text:  # kernels by themselves are those of lanes
        fold = subject.fold(text, table)
        check(fold(), text, table)
    return {
        "events": table.num_rows,
        "peak": after,
        "input": table.nbytes,
        "output": output,
        "beyond": max(after - before - output, 0),
        "run": median(seconds(call) for _ in range(rounds)),
        "fold": median(seconds(fold) for _ in range(rounds)),
    }


def seconds(call: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def check(found: Any, text: str, table: pa.Table) -> None:
    """All answers by running totals; with a NEXT condition those of two queries on the first windows, by scan; under a
    matching mode those of two queries, each folded by itself.
    """
    from tests.benchmarks.baseline_runs import by_running_totals, by_scan

    if "SEMANTICS" in text:
        from tests.benchmarks.experiments.modes import require_alone

        require_alone("run", found, text, table)
        return
    encoded = encode(text, table)
    whole = answers(found, encoded.names, encoded.window_starts)
    if "NEXT(" not in text:
        require_equal("run", whole, by_running_totals(encoded))
        return
    few = encoded.prefix(max(100_000 // encoded.within, 1))
    expected = by_scan(few, ordered=True, queries=2)
    require_equal("run", whole[:2, : few.windows], expected)


if __name__ == "__main__":
    one_core()
    try:
        print(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.stdin.read())))
    except WrongAnswer as wrong:
        print(wrong, file=sys.stderr)
        sys.exit(3)
