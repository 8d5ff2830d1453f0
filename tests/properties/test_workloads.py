"""hamlet == greta over random workloads too large to enumerate: digits and fingerprints to the bit; kernels did the work."""

from collections import Counter
from random import Random
from unittest import mock

import pytest

from hamlet_core.engines.hamlet import engine
from hamlet_core.engines.hamlet.bursts import layout
from hamlet_core.engines.hamlet.equal_states import equal_totals
from hamlet_core.engines.hamlet.input.chunks import Limits, chunks
from hamlet_core.engines.hamlet.program import equal_states
from tests.properties import agreement, workloads
from tests.properties.constructs import AGGREGATES, CLAUSES, PATTERNS, constructs

ALL = PATTERNS | CLAUSES | AGGREGATES
CUT = (None, Limits(bytes=10, overlap=0), Limits(rows=4, overlap=1))
"""How streams are cut into chunks, in turn."""


class Cutting:
    """In place of `chunks`: cuts as told, and counts the chunks of a stream."""

    def __init__(self, limits):
        self.limits = limits
        self.most = 0

    def __call__(self, stream, specs, bytes_per_event, limits, only):
        size = bytes_per_event if self.limits is None else 1
        count = 0
        for chunk in chunks(stream, specs, size, self.limits or limits, only):
            count += 1
            yield chunk
        self.most = max(self.most, count)


class Equals:
    """In place of `equal_totals`: counts the totals of different queries that are one."""

    def __init__(self):
        self.shared = 0

    def __call__(self, labels, ways):
        found = equal_totals(labels, ways)
        self.shared += sum(place[0] != same[0] for place, same in found.items())
        return found


def check(seeds):
    """Compare the workloads of these seeds; how often constructs, classes, bursts and results occurred."""
    reached: Counter[str] = Counter()
    for seed in seeds:
        case = workloads.task(Random(seed))
        cutting, equals = Cutting(CUT[seed % len(CUT)]), Equals()
        policy = "never" if seed % 4 == 0 else "dynamic"
        with (
            mock.patch.object(engine, "chunks", cutting),
            mock.patch.object(layout, "equal_totals", equals),
            mock.patch.object(equal_states, "equal_totals", equals),
        ):
            wrong, counters = agreement.compare(case.workload, case.table(), case.schema, policy=policy)
        assert wrong == [], (seed, case)
        for one in counters:
            assert one.kernel_events == one.matched_events, (seed, case)
            assert one.kernel_events > 0 or one.result_rows == 0, (seed, case)
        reached.update(name for query in case.workload.queries for name in constructs(query))
        reached.update(_merits(case, counters))
        reached["chunks"] += cutting.most > 1
        reached["shared totals"] += equals.shared > 0
        assert policy == "dynamic" or not equals.shared, (seed, case)
    return reached


def _merits(case, counters):
    yield from ("several queries" for _ in case.workload.queries[1:2])
    for one in counters[:1]:
        yield from ("rows" for _ in range(one.result_rows > 0))
        yield from ("bursts" for _ in range(0 < one.bursts < one.kernel_events))
    merits = {"limits of types": case.wide, "time stamps": case.timestamps, "origin": case.origin}
    yield from (name for name, there in merits.items() if there)
    yield f"{len(workloads.classes(case))} sets of partition attributes"


def test_engines_agree_on_large_workloads():
    reached = check(range(200))
    assert {name: reached[name] for name in ALL if not reached[name]} == {}
    assert reached["rows"] > 100
    assert reached["chunks"] > 30
    assert reached["shared totals"] > 20


@pytest.mark.slow
def test_engines_agree_on_twenty_thousand_large_workloads():
    reached = check(range(10**6, 10**6 + 20_000))
    assert {name: reached[name] for name in ALL if reached[name] < 300} == {}
    others = (
        "several queries",
        "rows",
        "bursts",
        "chunks",
        "shared totals",
        "limits of types",
        "time stamps",
        "origin",
    )
    others += tuple(f"{count} sets of partition attributes" for count in (1, 2, 3))
    assert {name: reached[name] for name in others if reached[name] < 1_000} == {}
