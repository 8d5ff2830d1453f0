"""Events that find older ones in the one tree they go into themselves: a run of them takes a way without tables.

Compared with the reference; what must not take that way, or only in part, stands beside it: ties, NULL, conditions that
some events fail, negations, copies of totals for windows that overlap, attributes that are added.
"""

from collections import Counter
from collections.abc import Iterable
from random import Random

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core.engines.hamlet.program import builder

WAYS = ({"policy": "never"}, {"policy": "dynamic"}, {"policy": "always"}, {"threads": 2})
RETURNS = (
    "COUNT(*)",
    "COUNT(*)",
    "SUM(b.v)",
    "COUNT(b), AVG(b.v)",
    "MIN(b.v), SUM(b.w)",
    "COUNT(*), MAX(b.x)",
)
PATTERNS = (
    "SEQ(P p, B b+)",
    "SEQ(P p, B b+)",
    "B b+",
    "SEQ(P p, B b+, S s)",
    "SEQ(P p, NOT N n, B b+)",
    "SEQ(P p, B b+, NOT N n)",
    "SEQ(P p, B b+, NOT N n, S s)",
    "(SEQ(P p, B b+))+",
)


def workload(random: Random) -> str:
    """One to four queries, most of which compare an attribute of B with itself."""
    window = random.choice(("WITHIN 30 s", "WITHIN 30 s", "WITHIN 40 s SLIDE 10 s"))
    lines = []
    for number in range(random.choice((1, 1, 2, 4))):
        other = random.choice(("b.x", "b.x", "b.x", "b.x", "b.v"))
        conditions = [f"b.x {random.choice(('<', '<=', '>', '>='))} NEXT(b).{other[2:]}"]
        if random.random() < 0.3:
            conditions.append(f"b.w < {random.choice((1, 5))}")
        text = random.choice(PATTERNS)
        where = " AND ".join(conditions)
        lines.append(f"q{number}: RETURN {random.choice(RETURNS)} PATTERN {text} WHERE {where} {window}")
    return "\n".join(lines)


def stream(random: Random) -> pa.Table:
    """Long runs of B, with events between that nobody reads, and others."""
    ties, nulls, wide = random.choice((0.0, 0.0, 0.2)), random.choice((0.0, 0.1)), random.choice((9, 2**40))
    rows, time = [], 0
    while len(rows) < random.choice((30, 90, 160)):
        kind = random.choice(("B", "B", "P", "S", "N", "Z"))
        for _ in range(random.randint(1, 25 if kind == "B" else 2)):
            x = None if random.random() < nulls else random.randrange(-wide, wide)
            name = "Z" if random.random() < 0.05 else kind
            rows.append(
                {"time": time, "type": name, "x": x, "v": random.randrange(9), "w": random.randrange(9)}
            )
            time += random.random() >= ties
    fields = [("time", pa.int64()), ("type", pa.string()), *((name, pa.int64()) for name in "xvw")]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


def check(seeds: Iterable[int], monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Compare the workloads of these seeds with the reference; how many programs had such types, of what kinds."""
    reached: Counter[str] = Counter()
    found = builder.ordered

    def watched(paths, *others):  # type: ignore[no-untyped-def]
        lone = found(paths, *others)
        for block in lone.block[lone.block >= 0].tolist():
            reached["plain" if not len(paths.loads.of(block)) else "attributes"] += 1
            reached[f"{int(paths.size[block])} numbers"] += 1
            reached["condition"] += bool(len(paths.masks.of(block)))
        return lone

    monkeypatch.setattr(builder, "ordered", watched)
    for seed in seeds:
        random = Random(seed)
        text, table = workload(random), stream(random)
        truth = hamlet_core.run(text, table, arithmetic="exact", engine="greta")
        for way in (WAYS[seed % len(WAYS)], {"policy": "never"}):
            assert hamlet_core.run(text, table, arithmetic="exact", **way).equals(truth), (seed, way, text)
        scaled = hamlet_core.run(text, table, **WAYS[seed % len(WAYS)])
        reference = hamlet_core.run(text, table, engine="greta")
        assert scaled.num_rows == reference.num_rows, (seed, text)
        for one, other in zip(scaled.to_pylist(), reference.to_pylist(), strict=True):
            expected = None if other["value"] is None else pytest.approx(other["value"], rel=1e-9)
            assert one["value"] == expected, (seed, text, one, other)
    return reached


def test_random_runs_agree_with_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    reached = check(range(120), monkeypatch)
    for kind in ("plain", "attributes", "condition", "1 numbers", "2 numbers", "4 numbers"):
        assert reached[kind] > 5, reached
