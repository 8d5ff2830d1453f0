"""However many threads fold, each bit of the answer is the same; and digits are those of one fold of everything."""

from collections import Counter
from random import Random
from unittest import mock

import pytest

import hamlet_core
from hamlet_core import QueryMeaningError
from hamlet_core.engines.hamlet import engine, passes
from hamlet_core.engines.hamlet.input.chunks import Limits, chunks
from hamlet_core.engines.hamlet.prefixes import parts
from tests.golden.harness import ARITHMETICS
from tests.properties import bursty, matching, workloads

THREADS = (1, 2, 3, 8)
TASKS = (bursty.task, workloads.task, matching.task)
SHORT = 12
"""Events of a part."""


class Counted:
    """In place of a function that parts windows: counts the times when there is more than one part."""

    def __init__(self, own, name, reached):
        self.own, self.name, self.reached = own, name, reached

    def __call__(self, *asked):
        found = self.own(*asked)
        many = found[0] if isinstance(found, tuple) else found
        self.reached[self.name] += len(many) > 1
        return found


def cut(stream, specs, bytes_per_event, limits, only):
    """In place of `chunks`: short ones."""
    return chunks(stream, specs, 1, Limits(bytes=40, overlap=0), only)


def check(seeds):
    """Compare the answers of these seeds; how often there was more than one chunk, or part, or class."""
    reached: Counter[str] = Counter()
    for seed in seeds:
        case = TASKS[seed % len(TASKS)](Random(seed))
        asked = {"schema": case.schema, "arithmetic": ARITHMETICS[seed // len(TASKS) % len(ARITHMETICS)]}
        try:
            whole = hamlet_core.run(case.workload, case.table(), threads=1, **asked)
        except QueryMeaningError:
            continue
        with (
            mock.patch.multiple(engine, ALONE=0, chunks=cut if seed % 2 else chunks),
            mock.patch.multiple(passes, PART=SHORT, _parts=Counted(passes._parts, "events", reached)),
            mock.patch.object(parts, "ALONE", SHORT),
            mock.patch.object(
                hamlet_core.engines.hamlet.prefixes.fold,
                "parts_of",
                Counted(parts.parts_of, "prefixes", reached),
            ),
        ):
            found = [
                hamlet_core.execute(case.workload, case.table(), threads=threads, **asked)
                for threads in THREADS
            ]
        for other in found[1:]:
            assert other.results.equals(found[0].results), (seed, case)
            assert other.decisions.equals(found[0].decisions), (seed, case)
        heads = ["query", "window_start", "group_key", "aggregate", "exact", "fingerprint"]
        assert found[0].results.select(heads).equals(whole.select(heads)), (seed, case)
        reached["rows"] += whole.num_rows > 0
    return reached


def test_no_bit_depends_on_the_number_of_threads():
    reached = check(range(90))
    assert reached["rows"] > 40
    assert reached["events"] > 40
    assert reached["prefixes"] > 15


@pytest.mark.slow
def test_no_bit_depends_on_the_number_of_threads_in_five_thousand_workloads():
    reached = check(range(10**6, 10**6 + 5_000))
    assert min(reached["rows"], reached["events"], reached["prefixes"]) > 800
