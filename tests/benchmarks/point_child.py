"""One point of a figure in a process of its own: FILE ENGINE POLICY ROWS, the workload on stdin, JSON on stdout.

Result rows go to the file ROWS (Arrow). An engine that refuses the workload is answered by the code of its error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

from hamlet_core import StreamError
from hamlet_core.bench.memory import forget_peak, peak
from tests.benchmarks.child import seconds
from tests.benchmarks.machine import one_core
from tests.benchmarks.subject import Subject

REFUSALS = ("E301",)


def main(path: str, engine: str, policy: str, rows: str, text: str) -> dict[str, Any]:
    """Seconds and the peak of memory of one run, kernels in memory."""
    table = read(Path(path))
    subject = Subject(engine)
    subject.run(text, table.slice(0, 0), policy=policy)()
    call = subject.run(text, table, policy=policy)
    found: list[pa.Table] = []
    forget_peak()
    before = peak()
    try:
        taken = seconds(lambda: found.append(call()))
    except StreamError as refused:
        if refused.code not in REFUSALS:
            raise
        return {"refusal": refused.code}
    beyond = max(peak() - before - found[0].nbytes, 0)
    write(found[0], Path(rows))
    return {"seconds": taken, "beyond": beyond}


def write(table: pa.Table, path: Path) -> Path:
    """The table in an Arrow file."""
    with pa.ipc.new_file(path, table.schema) as sink:
        sink.write_table(table)
    return path


def read(path: Path) -> pa.Table:
    """The table in an Arrow file."""
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_file(source).read_all()


if __name__ == "__main__":
    one_core()
    print(json.dumps(main(*sys.argv[1:5], sys.stdin.read())))
