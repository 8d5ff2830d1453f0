"""Where doubles hold every total of a window they are folded instead of scaled numbers, and no bit of the answer changes."""

import math
from collections import Counter
from random import Random
from unittest import mock

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core import QueryMeaningError
from hamlet_core.engines.hamlet import passes
from hamlet_core.engines.hamlet.arithmetics import Plain
from tests.properties import bursty, matching, workloads

TASKS = (bursty.task, workloads.task, matching.task)


class Made:
    """In place of `Plain`: counts how often doubles are folded."""

    def __init__(self):
        self.count = 0

    def __call__(self):
        self.count += 1
        return Plain()


def both(workload, table, **asked):
    """The answer, how often doubles were folded for it, and the answer of scaled numbers."""
    made = Made()
    with mock.patch.object(passes, "Plain", made):
        found = hamlet_core.run(workload, table, **asked)
    with mock.patch.object(passes, "RANGE", -1):
        return found, made.count, hamlet_core.run(workload, table, **asked)


def check(seeds):
    """Compare the answers of these seeds; how many of them had rows, and were folded in doubles."""
    reached: Counter[str] = Counter()
    for seed in seeds:
        case = TASKS[seed % len(TASKS)](Random(seed))
        try:
            found, doubles, scaled = both(case.workload, case.table(), schema=case.schema)
        except QueryMeaningError:
            continue
        assert found.equals(scaled), (seed, case)
        reached["rows"] += found.num_rows > 0
        reached["doubles"] += doubles > 0
    return reached


def test_doubles_give_each_bit_that_scaled_numbers_give():
    reached = check(range(120))
    assert min(reached["rows"], reached["doubles"]) > 40


@pytest.mark.slow
def test_doubles_give_each_bit_in_five_thousand_workloads():
    reached = check(range(10**6, 10**6 + 5_000))
    assert min(reached["rows"], reached["doubles"]) > 1_500


def stream(values, types="B"):
    """Events a second apart, of types in turn."""
    return pa.table(
        {
            "time": range(len(values)),
            "type": [types[place % len(types)] for place in range(len(values))],
            "x": pa.array(values, pa.float64()),
        }
    )


EDGE = 2.0**300
RISING = "q: RETURN COUNT(*), SUM(b.x), AVG(b.x) PATTERN B b+ WITHIN 1 day"
AND = "q: RETURN COUNT(*) PATTERN (SEQ(A a, B b+) AND C c+) WITHIN 1 day"


@pytest.mark.parametrize(
    ("workload", "values", "types", "fits"),
    [
        (RISING, [EDGE] * 300, "B", True),
        (RISING, [EDGE] * 301, "B", False),
        (RISING, [-EDGE, EDGE, 1.0] * 100, "B", True),
        (RISING, [EDGE, 1 / EDGE, -EDGE] * 100, "B", True),
        (RISING, [EDGE * 2], "B", False),
        (RISING, [1 / EDGE / 2], "B", False),
        (RISING, [5e-324, 1e308], "B", False),
        (RISING, [0.0, -0.0, 1.5], "B", True),
        (AND, [EDGE] * 150, "ABC", True),
        (AND, [EDGE] * 151, "ABC", False),
    ],
)
def test_at_the_edge_of_what_doubles_hold(workload, values, types, fits):
    found, doubles, scaled = both(workload, stream(values, types))
    assert found.num_rows > 0
    assert found.equals(scaled)
    assert (doubles > 0) == fits


def test_totals_of_windows_that_doubles_hold_add_up_over_partitions():
    """A row of results takes the totals of many partitions."""
    table = pa.table(
        {
            "time": [0] * 1_000 + list(range(300)),
            "type": ["B"] * 1_300,
            "k": list(range(1, 1_001)) + [0] * 300,
            "x": pa.array([EDGE] * 1_300, pa.float64()),
        }
    ).sort_by("time")
    workload = "q: RETURN COUNT(*), SUM(b.x) PATTERN B b+ WHERE [k] WITHIN 1 day"
    found, doubles, scaled = both(workload, table)
    assert doubles > 0
    assert found.equals(scaled)


@pytest.mark.parametrize("within", [1, 10, 299])
def test_events_between_windows_may_be_as_many_as_they_like(within):
    """No window sees them, but a burst of them grows by more than doubles hold."""
    workload = f"q: RETURN COUNT(*), SUM(b.x) PATTERN B b+ WITHIN {within} s SLIDE 3000 s"
    found, _, scaled = both(workload, stream([1.5] * 7_000))
    assert found.num_rows == 6
    assert found.equals(scaled)
    counts = [row["log2"] for row in found.to_pylist() if row["aggregate"] == "COUNT(*)"]
    assert counts == pytest.approx([math.log2(2**within - 1)] * 3)


def test_a_sum_without_negative_values_is_the_sum_of_absolute_ones_too():
    mixed, negative = stream([3.0, 1.0, 2.0]), stream([3.0, -1.0, 2.0])
    rows = [hamlet_core.run(RISING, table).to_pylist() for table in (mixed, negative)]
    assert [[row["value"] for row in own] for own in rows] == [[7.0, 24.0, 2.0], [7.0, 16.0, 4 / 3]]
