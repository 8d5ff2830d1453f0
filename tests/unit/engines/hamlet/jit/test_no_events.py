"""A run over no events compiles, or takes from disk, all kernels that a run over events needs: tasks rely on it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

# Windows of the first overlap: lanes or panes. Counts of the second leave the range of doubles.
PROGRAM = '''
import random, sys
import pyarrow as pa
from numba.core.dispatcher import Dispatcher
from hamlet_core import partials

WORKLOAD = """
sliding: RETURN COUNT(*), SUM(b.v), MIN(b.v) PATTERN SEQ(A a, B b+) WITHIN 800 s SLIDE 10 s
many: RETURN COUNT(*), SUM(c.v) PATTERN C c+ WHERE c.v <= NEXT(c).v WITHIN 5000 s
"""
draw = random.Random(1)
types = [draw.choice("AB") for _ in range(4_000)] + ["C"] * 1_200
times = list(range(5_200))
values = [draw.randrange(9) for _ in range(4_000)] + [1] * 1_200
events = pa.table({"time": times, "type": types, "v": values})

def kernels():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("hamlet_core.engines.hamlet")]
    found = {one for module in modules for one in vars(module).values() if isinstance(one, Dispatcher)}
    return {(one.py_func.__module__, one.py_func.__name__, str(types)) for one in found for types in one.signatures}

def fold(table):
    return partials(WORKLOAD, table, arithmetic=sys.argv[1]).num_rows

assert fold(events.schema.empty_table()) == 0
known = kernels()
assert fold(events)
assert ("hamlet_core.engines.hamlet.panes.kernel", "fold_windows_by_panes") in {one[:2] for one in known}
for one in sorted(kernels() - known):
    print(*one)
'''


@pytest.mark.parametrize("arithmetic", ["scaled", "exact"])
def test_events_need_no_kernel_that_no_events_had_not(arithmetic):
    command = [sys.executable, "-c", PROGRAM, arithmetic]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, ""), found.stderr
