"""Kernels compiled by two processes: this one, and another that begins with what this one comes to last."""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator

import pyarrow as pa

from hamlet_core import EventSchema, Workload, execute
from hamlet_core.progress import before_compiling

LEFT_ALONE = 3
"""Exit code of a process whose work nobody waits for any more."""


def compile_kernels(
    workload: str | Workload, columns: pa.Schema, schema: EventSchema, arithmetic: str
) -> None:
    """Compile what a workload may need over events with these columns, in two processes. Raises as a run would."""
    with from_the_other_end(workload, columns, schema, arithmetic):
        execute(workload, columns.empty_table(), schema=schema, arithmetic=arithmetic)


@contextlib.contextmanager
def from_the_other_end(
    workload: str | Workload, columns: pa.Schema, schema: EventSchema, arithmetic: str
) -> Iterator[None]:
    """If the block compiles kernels, another process compiles what the workload may need, last things first, until it ends.

    Where there is a core for it. Each kernel is compiled by one of them, the other waits for it. Whatever is wrong with the
    helper costs time only; it ends with this process, whose end of the pipe it watches.
    """
    helpers: list[subprocess.Popen[bytes]] = []

    def begin() -> None:
        program = "from pipelines.compiling import compile_backwards; compile_backwards()"
        with contextlib.suppress(OSError):
            helper = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            helpers.append(helper)
            if helper.stdin:
                pickle.dump((workload, columns, schema, arithmetic), helper.stdin)
                helper.stdin.flush()

    try:
        with before_compiling(begin) if (os.cpu_count() or 1) > 1 else contextlib.nullcontext():
            yield
    finally:
        for helper in helpers:
            helper.kill()
            with contextlib.suppress(OSError):
                helper.communicate()


def compile_backwards() -> None:
    """Compile what a workload may need, last things first; which is read from stdin. When that ends, so does this process."""
    from hamlet_core.engines.hamlet.jit.order import compile_backwards as last_things_first

    workload, columns, schema, arithmetic = pickle.load(sys.stdin.buffer)  # noqa: S301 - from the process that started this one
    threading.Thread(target=_end_with, args=(sys.stdin.fileno(),), daemon=True).start()
    last_things_first()
    execute(workload, columns.empty_table(), schema=schema, arithmetic=arithmetic)


def _end_with(pipe: int) -> None:
    while os.read(pipe, 1):
        pass
    os._exit(LEFT_ALONE)
