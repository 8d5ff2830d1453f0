"""Graphlets of many lanes: up to 20 inputs, one set or several, queries that differ on few events of a window or on many.

The other random workloads have few inputs; lanes are moved in vectors of 4, 8, 12 and 16.
"""

from collections import Counter
from dataclasses import dataclass
from math import isclose, log2
from random import Random

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core.engines import registry
from hamlet_core.sharing.costs import Constants
from tests.properties.test_graphlets import counted, logged

WINDOW = 60
WAYS = (
    {"policy": "always"},
    {"policy": "dynamic"},
    {"policy": "dynamic", "constants": Constants(product=0.0, clear=0.0, graphlet=0.0, apart=1e3, mixed=1e4)},
    {"policy": "dynamic", "choice": "paper"},
    {"policy": "dynamic", "cost_model": "paper"},
)
GRETA = 5
"""The reference of every fifth case; of the others, the engine itself where nobody shares."""
LANES = tuple(f"{lanes} lanes" for lanes in (4, 8, 12, 16, 20))


REACHED = (*LANES, "open", "continue", "split", "apart", "several sets")


@dataclass(frozen=True)
class Case:
    text: str
    table: pa.Table


def case(random: Random) -> Case:
    """Two in five: two classes of queries that now and then differ."""
    in_classes = random.random() < 0.4
    inputs = random.choice((2, 3, 5, 6) if in_classes else (1, 2, 4, 5, 8, 9, 12, 13, 16, 17, 20))
    operator = random.choice(("<", "<=", ">", ">="))
    borders = (5,) if in_classes else random.choice(((), (5,), (3, 6), (2, 5, 8)))
    lines = []
    for query in range(6 * inputs if in_classes else random.randint(max(inputs, 2), min(6 * inputs + 2, 40))):
        after = random.choice(("", "", ", S0 s", ", S1 s"))
        local = (
            f" AND b.v < {random.choice(borders)}"
            if borders and random.random() < (0.5 if in_classes else 0.9)
            else ""
        )
        lines.append(
            f"q{query}: RETURN COUNT(*) PATTERN SEQ(P{query % inputs} p, B b+{after}) "
            f"WHERE b.x {operator} NEXT(b).x{local} WITHIN {WINDOW} s"
        )
    ties, nulls = random.choice((0.0, 0.0, 0.2)), random.choice((0.0, 0.1))
    rows, time, spread = [], 0, 0.0
    while time < WINDOW * random.randint(3, 7):
        if random.random() < 0.2:
            spread = random.choice((0.0, 0.05, 0.1) if in_classes else (0.0, 0.0, 0.05, 0.3, 1.0))
        kind = random.choice(("B", "B", *(f"P{one}" for one in range(inputs)), "S0", "S1", "Z"))
        for _ in range(random.randint(1, 25 if kind == "B" else 2)):
            v = random.randrange(10) if random.random() < spread else 0
            x = None if random.random() < nulls else random.randrange(40)
            rows.append({"time": time, "type": kind, "v": v, "x": x})
            time += random.random() >= ties
    fields = [("time", pa.int64()), ("type", pa.string()), ("v", pa.int64()), ("x", pa.int64())]
    return Case("\n".join(lines), pa.Table.from_pylist(rows, schema=pa.schema(fields)))


def check(seeds):
    """Compare the workloads of these seeds with the reference; how many lanes were opened, and what happened."""
    reached: Counter[str] = Counter()
    for seed in seeds:
        made = case(Random(seed))
        engine = {"engine": "greta"} if seed % GRETA == 0 else {"policy": "never"}
        truth = hamlet_core.run(made.text, made.table, arithmetic="exact", **engine)
        for number, way in enumerate(WAYS):
            arithmetic = "exact" if number == seed % len(WAYS) else "scaled"
            found = execute(made, arithmetic, **way)
            assert differences(found.results, truth, arithmetic) == [], (seed, way, arithmetic, made)
            assert counted(found.counters) == logged(found.decisions), (seed, way, arithmetic)
            for row in found.decisions.to_pylist():
                reached[row["outcome"]] += 1
                reached["several sets"] += ";" in row["queries"]
                if row["outcome"] == "open":
                    reached[f"{min(-(-row['snapshots_created'] // 4) * 4, 20)} lanes"] += 1
    return reached


def execute(made, arithmetic, constants=None, **way):
    """With other constants of the measured cost model: where differing and going alone are dear, classes share."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "constants_in_use", lambda: constants or Constants())
        return hamlet_core.execute(made.text, made.table, arithmetic=arithmetic, **way)


def differences(found, truth, arithmetic):
    """Counts that are not as in the reference: to the last digit, or by their logarithms."""
    known = {(row["query"], row["window_start"]): row["exact"] for row in truth.to_pylist()}
    have = {(row["query"], row["window_start"]): row for row in found.to_pylist()}
    if known.keys() != have.keys():
        return sorted(known.keys() ^ have.keys())
    if arithmetic == "exact":
        return [key for key, digits in known.items() if have[key]["exact"] != digits]
    return [
        key
        for key, digits in known.items()
        if not isclose(have[key]["log2"], log2(int(digits)), rel_tol=1e-12, abs_tol=1e-12)
    ]


STALE = 1378
"""Several sets, then one whose lanes grow over a border of vectors: what other sets left behind must be gone."""


def test_graphlets_of_many_lanes():
    reached = check((*range(60), STALE))
    assert {name: reached[name] for name in REACHED if reached[name] < 2} == {}


@pytest.mark.slow
def test_many_graphlets_of_many_lanes():
    reached = check(range(10**6, 10**6 + 4_000))
    assert {name: reached[name] for name in REACHED if reached[name] < 50} == {}
