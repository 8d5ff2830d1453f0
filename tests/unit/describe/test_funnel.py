"""Which steps of a query are passed before which: what conversion is a share of."""

import pytest

from hamlet_core import parse
from hamlet_core.describe.funnel import funnel_steps

STEPS = {
    "three": ("REACH(A), REACH(B), REACH(C)", "SEQ(A, B, C)", [("A", None, None), ("B", 0, 0), ("C", 0, 1)]),
    "any order": ("REACH(C), REACH(A), REACH(B)", "SEQ(A, B, C)", [("C", 1, 2), ("A", None, None), ("B", 1, 1)]),
    "not all": ("REACH(A), COUNT(*), REACH(C)", "SEQ(A, B, C)", [("A", None, None), ("C", 0, 0)]),
    "negated": ("REACH(A), REACH(C)", "SEQ(NOT M, A, NOT SEQ(N, O), C)", [("A", None, None), ("C", 0, 0)]),
    "repeated": ("REACH(A), REACH(B), REACH(C)", "SEQ(A, SEQ(B, C)+)", [("A", None, None), ("B", 0, 0), ("C", 0, 1)]),
    "optional": (
        "REACH(A), REACH(B), REACH(C), REACH(D)",
        "SEQ(A, B?, C*, D)",
        [("A", None, None), ("B", 0, 0), ("C", 0, 0), ("D", 0, 0)],
    ),
    "one of several": (
        "REACH(A), REACH(b), REACH(C), REACH(D)",
        "SEQ((A OR B b)+, C, D)",
        [("A", None, None), ("B", None, None), ("C", None, None), ("D", 2, 2)],
    ),
    "sequences in a choice": (
        "REACH(A), REACH(B), REACH(C), REACH(D)",
        "SEQ((SEQ(A, B) OR C), D)",
        [("A", None, None), ("B", 0, 0), ("C", None, None), ("D", None, None)],
    ),
    "an alias in every branch": (
        "REACH(x), REACH(B), REACH(C)",
        "(SEQ(A x, B) OR SEQ(A x, C))",
        [("A", None, None), ("B", 0, 0), ("C", 0, 0)],
    ),
    "a type twice": (
        "REACH(first), REACH(B), REACH(again)",
        "SEQ(A first, B, A again)",
        [("A first", None, None), ("B", 0, 0), ("A again", 0, 1)],
    ),
    "by type": ("REACH(A), REACH(B)", "SEQ(A a, B b)", [("A", None, None), ("B", 0, 0)]),
}  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_steps(name):
    returns, pattern, expected = STEPS[name]
    (query,) = parse(f"RETURN {returns} PATTERN {pattern} WHERE [u] WITHIN 1 h").queries
    found = funnel_steps(query)
    assert [(step.name, step.first, step.before) for step in found] == expected
    labels = [one.label for one in query.aggregates if one.function.value == "REACH"]
    assert [step.aggregate for step in found] == labels


@pytest.mark.parametrize("returns", ["COUNT(*)", "REACH(A)", "REACH(A), COUNT(PARTITIONS), AVG(DURATION)"])
def test_with_fewer_than_two_there_is_nothing_to_compare(returns):
    (query,) = parse(f"RETURN {returns} PATTERN SEQ(A, B) WHERE [u] WITHIN 1 h").queries
    assert funnel_steps(query) == ()


def test_a_step_is_never_reached_by_more_than_one_before_it():
    """On random streams, in every mode: what `before` promises of any query."""
    from random import Random

    import pyarrow as pa

    from hamlet_core import run

    seen = 0
    for seed in range(30):
        random = Random(seed)
        events = [(time, random.choice("ABCD"), random.randrange(4)) for time in range(24)]
        table = pa.table(dict(zip(("time", "type", "u"), map(list, zip(*events, strict=True)), strict=True)))
        for returns, pattern, _ in STEPS.values():
            mode = random.choice(["any", "next", "contiguous"])
            text = f"q: RETURN {returns} PATTERN {pattern} SEMANTICS {mode} WHERE [u] WITHIN 24 s"
            steps = funnel_steps(parse(text).queries[0])
            rows = run(text, table, engine="greta").to_pylist()
            counts = {row["aggregate"]: row["value"] for row in rows}
            for step in steps:
                if step.before is not None and counts:
                    assert counts[step.aggregate] <= counts[steps[step.before].aggregate], text
                    seen += counts[step.aggregate] < counts[steps[step.before].aggregate]
    assert seen > 50
