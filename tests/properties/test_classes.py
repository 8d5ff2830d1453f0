"""Queries of one set of partition attributes are one class, whichever clause names them (SEMANTICS 9): they share, and every
query keeps its own groups, and its own partitions where an attribute has no value (SEMANTICS 6).
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core import EventSchema
from hamlet_core.describe.graphlets import graphlet_plans
from hamlet_core.engines.hamlet.input.query_class import classes_of
from hamlet_core.execution import execute
from hamlet_core.language.parser import parse_syntax
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.template.workload import plan_workload
from tests.properties.agreement import compare

SCHEMA = EventSchema(time="t")
SEEDS = 36
ORDERED = """
p: RETURN COUNT(*), SUM(b.x) PATTERN B b+ WHERE [k] AND b.x < NEXT(b).x WITHIN 40 s
q: RETURN COUNT(*), SUM(b.x) PATTERN B b+ WHERE b.x < NEXT(b).x GROUP-BY k WITHIN 40 s
"""
PATTERNS = (
    ("B b+", "b"),
    ("SEQ(A a, B b+)", "b"),
    ("SEQ(A a, NOT C c, B b+)", "b"),
    ("SEQ(A a+, B b)", "b"),
    ("SEQ(B b, B d+)", "d"),
)
RETURNED = (
    "COUNT(*)",
    "COUNT(*), SUM({0}.x), MAX({0}.x)",
    "AVG({0}.x), MIN({0}.x)",
    "COUNT({0}), SUM({0}.y)",
)
CLAUSES = (
    ("k", ""),
    ("", "k"),
    ("k", "k"),
    ("k, l", ""),
    ("", "k, l"),
    ("k", "l"),
    ("l", "k"),
    ("k, l", "l"),
    ("", ""),
)


def workload(seed: int) -> str:
    """Up to six queries whose partition attributes stand in WHERE, in GROUP-BY or in both."""
    draw, queries = random.Random(seed), []
    for number in range(draw.randint(2, 6)):
        pattern, alias = draw.choice(PATTERNS)
        equivalence, group_by = draw.choice(CLAUSES[: draw.choice((3, 9))])
        where = [f"[{equivalence}]"] * bool(equivalence)
        if draw.random() < 0.6:
            where.append(
                f"{alias}.x < NEXT({alias}).x" if "+" in pattern.split(alias)[1] else f"{alias}.y > 1"
            )
        text = f"q{number}: RETURN {draw.choice(RETURNED).format(alias)} PATTERN {pattern}"
        text += f" WHERE {' AND '.join(where)}" * bool(where) + f" GROUP-BY {group_by}" * bool(group_by)
        queries.append(f"{text} WITHIN {draw.choice((12, 20))} s SLIDE {draw.choice((6, 20))} s")
    return "\n".join(queries)


def stream(seed: int, nulls: float = 0.2) -> pa.Table:
    draw = random.Random(seed)
    count = draw.choice((0, 1, 5, 60, 60, 60))

    def column(values: tuple[object, ...]) -> list[object]:
        return [None if draw.random() < nulls else draw.choice(values) for _ in range(count)]

    return pa.table(
        {
            "t": pa.array(sorted(draw.randrange(60) for _ in range(count)), pa.int64()),
            "type": pa.array([draw.choice("AABBBC") for _ in range(count)], pa.string()),
            "k": pa.array(column((1, 2, 3)), pa.int64()),
            "l": pa.array(column(("x", "y")), pa.string()),
            "x": pa.array(column((1.5, 2.0, -3.25, 7.0, 0.1)), pa.float64()),
            "y": pa.array(column((1, 2, 3, -4)), pa.int64()),
        }
    )


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_query_keeps_its_groups_and_partitions(seed: int) -> None:
    text, policy = workload(seed), ("dynamic", "always", "never")[seed % 3]
    wrong, _ = compare(parse_syntax(text), stream(seed), SCHEMA, policy=policy)
    assert wrong == [], text


def test_workloads_mix_clauses_within_a_class() -> None:
    """Else the test above shows nothing."""
    mixed = narrower = 0
    for seed in range(SEEDS):
        for own in classes_of(analyse_workload(parse_syntax(workload(seed)))):
            mixed += len({one.group_by for one in own.queries}) > 1
            narrower += len(own.rest)
    assert mixed >= 10
    assert narrower >= 10


def test_where_and_group_by_share() -> None:
    text = ORDERED.replace(
        "q: RETURN COUNT(*), SUM(b.x) PATTERN B b+", "q: RETURN COUNT(*) PATTERN SEQ(A a, B b+)"
    )
    analysed = analyse_workload(parse_syntax(text))
    assert [one.partition for one in plan_workload(analysed).classes] == [("k",)]
    assert [plan.queries for plan in graphlet_plans(analysed)] == [(0, 1)]
    events = stream(3, nulls=0)
    done = execute(text, events, schema=SCHEMA, policy="always")
    assert done.counters.shared_bursts == done.counters.decided_bursts > 0
    assert set(done.decisions["candidates"].to_pylist()) == {"p, q"}
    assert done.results.equals(execute(text, events, schema=SCHEMA, policy="never").results)
    wrong, _ = compare(parse_syntax(text), events, SCHEMA, policy="always")
    assert wrong == []


def test_equal_totals_are_one_whichever_clause_names_the_attribute() -> None:
    """The two differ in their groups alone: every event is folded once for both."""
    events = stream(3, nulls=0)
    both = execute(ORDERED, events, schema=SCHEMA)
    alone = [execute(one, events, schema=SCHEMA) for one in ORDERED.strip().splitlines()]
    assert [both.counters.kernel_events] * 2 == [one.counters.kernel_events for one in alone]
    assert both.results.to_pylist() == [row for one in alone for row in one.results.to_pylist()]


def test_events_without_a_value_are_read_by_those_alone_that_group_by_it() -> None:
    """`[k]` leaves them out, GROUP-BY k has a group of them; nobody shares there."""
    events = pa.table(
        {"t": [1, 2, 3], "type": ["B"] * 3, "k": pa.array([None] * 3, pa.int64()), "x": [1.0, 2.0, 3.0]}
    )
    found = hamlet_core.run(ORDERED, events, schema=SCHEMA).to_pylist()
    assert [(row["query"], row["group_key"], row["aggregate"], row["value"]) for row in found] == [
        ("q", '{"k":null}', "COUNT(*)", 7.0),
        ("q", '{"k":null}', "SUM(b.x)", 24.0),
    ]
    assert execute(ORDERED, events, schema=SCHEMA, policy="always").counters.decided_bursts == 0


def test_classes_are_those_of_the_plan() -> None:
    for seed in range(SEEDS):
        analysed = analyse_workload(parse_syntax(workload(seed)))
        assert [one.places for one in classes_of(analysed)] == [
            one.queries for one in plan_workload(analysed).classes
        ]
