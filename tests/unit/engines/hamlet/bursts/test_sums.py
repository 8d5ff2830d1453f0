"""Sums over bursts in doubles with exponents of their own: against exact arithmetic, for values of every size."""

from random import Random

import pyarrow as pa
import pytest

from hamlet_core import run

QUERY = "RETURN COUNT(*), SUM(b.v), AVG(b.v), COUNT(b) PATTERN SEQ(A a, B b+) WHERE b.w > 0 WITHIN 100000 s SLIDE 50000 s"
DRAWS = {
    "near 1": lambda random: random.uniform(-1, 1),
    "huge": lambda random: random.choice([1.0, -1.0]) * random.uniform(1e307, 1.7e308),
    "tiny": lambda random: random.uniform(1, 50) * 5e-324,
    "every size": lambda random: random.choice([1.0, -1.0]) * 10.0 ** random.randrange(-320, 308),
    "zeros": lambda random: random.choice([0.0, -0.0, 1e-300]),
    "mostly NULL": lambda random: random.choice([None, None, None, 3.5]),
    "positive": lambda random: random.uniform(0.5, 2.0),
}


def events(draw, random, count, ties):
    times, tick = [], 0
    for _ in range(count):
        tick += random.random() >= ties
        times.append(tick)
    types = [random.choices("ABC", [1, 300, 1])[0] for _ in range(count)]
    types[0] = "A"
    values = [draw(random) for _ in range(count)]
    # What the condition leaves out would drown the rest.
    kept = [random.random() < 0.9 for _ in range(count)]
    values = [value if keep else 1e308 for value, keep in zip(values, kept, strict=True)]
    columns = {
        "time": times,
        "type": types,
        "v": pa.array(values, pa.float64()),
        "w": [int(one) for one in kept],
    }
    return pa.table(columns)


@pytest.mark.parametrize("ties", [0.0, 0.3, 0.98])
@pytest.mark.parametrize("name", DRAWS)
def test_sums_are_those_of_exact_arithmetic(name, ties):
    random = Random(f"{name} {ties}")
    for count in (5, 40, 700, 3_000):
        table = events(DRAWS[name], random, count, ties)
        found = run(QUERY, table, arithmetic="scaled").to_pylist()
        truth = run(QUERY, table, arithmetic="exact").to_pylist()
        assert len(found) == len(truth)
        for row, true in zip(found, truth, strict=True):
            if row["sign"] != true["sign"]:
                assert row["sign"] is None  # positive and negative values cancel
                continue
            if true["log2"] is not None and true["sign"] != 0:
                drowns = true["aggregate"].startswith(("SUM", "AVG")) and name in {
                    "near 1",
                    "huge",
                    "every size",
                }
                assert row["log2"] == pytest.approx(true["log2"], abs=1e-6 if drowns else 1e-9), (
                    count,
                    row,
                    true,
                )
