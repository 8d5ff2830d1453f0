"""Random workloads that may share bursts: queries about runs of B that differ in what stands around them and in whom
they match, over bursty streams that are quiet for a while and then make the queries diverge.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from hamlet_core.language.syntax import (
    Aggregate,
    AggregateFunction,
    Arithmetic,
    ArithmeticOperator,
    Atom,
    Attribute,
    Comparison,
    ComparisonOperator,
    Duration,
    Equivalence,
    Expression,
    GroupAttribute,
    Literal,
    Not,
    Optional,
    Or,
    Pattern,
    Plus,
    Query,
    Seq,
    Workload,
)
from tests.oracle.oracle import atoms
from tests.properties import predicates
from tests.properties.generation import OF_EVENTS, SECOND
from tests.properties.patterns import positive
from tests.properties.streams import Event, columns
from tests.properties.workloads import Task, value

A, B, C, D, E = Atom("A", "a"), Plus(Atom("B", "b")), Atom("C", "c"), Atom("D", "d"), Atom("C", "e")
ABSENT, PAIR = Not(Atom("N", "n")), Not(Seq((Atom("N", "n"), Atom("M", "m"))))
BEFORE: tuple[tuple[Pattern, ...], ...] = (
    (), (A,), (A,), (C,), (C,), (D,), (A, C), (C, A), (Plus(A),), (Or((A, C)),), (Optional(A), C), (A, ABSENT),
    (ABSENT, C),
)  # fmt: skip
AFTER: tuple[tuple[Pattern, ...], ...] = (
    (), (), (), (D,), (D,), (E,), (ABSENT,), (ABSENT, D), (PAIR, D), (Optional(D), E), (Plus(D),),
)  # fmt: skip
WINDOWS = ((20, 20), (30, 10), (50, 50), (40, 30), (60, 20), (97, 40), (400, 400), (10, 90))
MANY = (65, 70)
"""Queries of a workload that has more than fit a word of bits."""


def task(random: Random) -> Task:
    """Two to six queries, now and then more than 64, and up to three hundred events."""
    many = random.random() < 0.01
    count = random.randint(*MANY) if many else random.choice((2, 2, 3, 3, 4, 5, 6))
    step = _condition(random) if random.random() < 0.6 else None
    window, partition = random.choice(WINDOWS), _partition(random)
    queries = []
    for number in range(count):
        own = _query(random, f"q{number}", step if random.random() < 0.85 else _condition(random))
        within, slide = window if random.random() < 0.85 else random.choice(WINDOWS)
        own = replace(own, within=Duration(within * SECOND), slide=Duration(slide * SECOND))
        queries.append(_partitioned(own, *(partition if random.random() < 0.9 else _partition(random))))
    length = random.choice(((5, 20), (20, 60), (20, 60), (40, 120), (100, 300)))
    events = _events(random, queries, random.randint(*((10, 25) if many else length)))
    return Task(
        Workload(tuple(queries)), events, wide=False, timestamps=False, origin=random.choice((0, 0, 0, 7))
    )


def _partition(random: Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Equivalence and GROUP-BY attributes."""
    return random.choice((((), ()), ((), ()), ((), ()), (("u",), ()), ((), ("g",)), (("u",), ("g",))))


def _partitioned(query: Query, equal: tuple[str, ...], groups: tuple[str, ...]) -> Query:
    where = (*query.where, Equivalence(equal)) if equal else query.where
    return replace(query, where=where, group_by=tuple(GroupAttribute(name, None) for name in groups))


def _query(random: Random, name: str, step: Expression | None) -> Query:
    pattern = _pattern(random)
    bound = {atom.alias for atom in positive(pattern)}
    where: list[Any] = [] if step is None else [step]
    if random.random() < 0.55:
        where.append(_local(random, "b"))
    if random.random() < 0.2:
        where.append(_local(random, random.choice(sorted({atom.alias for atom in atoms(pattern)}))))
    return Query(
        name,
        _aggregates(random, sorted(bound)),
        pattern,
        Duration(SECOND),
        Duration(SECOND),
        tuple(where),
        (),
    )


def _pattern(random: Random) -> Pattern:
    """A run of B, alone, between others, in one branch, or in a Kleene of its own."""
    kind = random.random()
    if kind < 0.08:
        return Or((Seq((A, B)), Seq((Atom("C", "c"), Plus(Atom("D", "d"))))))
    if kind < 0.12:
        return Or((B, Seq((C, D))))
    if kind < 0.2:
        return random.choice((Plus(Seq((C, B))), Seq((A, Plus(Seq((C, B))))), Seq((Plus(Seq((A, B))), D))))
    before, after = random.choice(BEFORE), random.choice(AFTER)
    if any(one is ABSENT for one in before) and any(one in (ABSENT, PAIR) for one in after):
        after = (D,) if D not in before else ()
    used = {atom.alias for one in before for atom in atoms(one)}
    if used & {atom.alias for one in after for atom in atoms(one)}:
        after = ()
    parts = (*before, B, *after)
    return Seq(parts) if len(parts) > 1 else B


def _condition(random: Random) -> Expression:
    """On a B and the next one."""
    here, there = Attribute("b", "v"), Attribute("b", "v", next=True)
    kind = random.random()
    if kind < 0.25:
        return predicates.adjacent(random, "b", "b")
    if kind < 0.5:
        twice = Arithmetic(ArithmeticOperator.MULTIPLY, there, Literal(2))
        return Comparison(
            ComparisonOperator.LESS, Arithmetic(ArithmeticOperator.ADD, here, Literal(1)), twice
        )
    return Comparison(random.choice(tuple(ComparisonOperator)), here, there)


def _local(random: Random, alias: str) -> Expression:
    if random.random() < 0.2:
        return predicates.local(random, alias)
    return Comparison(ComparisonOperator.LESS, Attribute(alias, "v"), Literal(random.choice((2, 5, 8))))


def _aggregates(random: Random, bound: list[str]) -> tuple[Aggregate, ...]:
    trends = Aggregate(AggregateFunction.COUNT)
    found = {trends.label: trends} if random.random() < 0.8 else {}
    for _ in range(random.choice((0, 0, 1, 1, 2)) if found else 1):
        function, alias = random.choice(OF_EVENTS), random.choice(("b", "b", *bound))
        item = Aggregate(function, alias, None if function is AggregateFunction.COUNT else "v")
        found.setdefault(item.label, item)
    return tuple(found.values())


def _events(random: Random, queries: list[Query], length: int) -> tuple[Event, ...]:
    """Runs of one type; for some runs together, all values are small, so that most queries match the same events."""
    others = sorted({atom.type for one in queries for atom in atoms(one.pattern)} - {"B"})
    kinds = [*others, *("B" for _ in range(len(others) + 2)), "Z"]
    read = sorted({name for one in queries for name in columns(one)})
    ties, nulls = random.choice((0.0, 0.1, 0.5)), random.choice((0.0, 0.0, 0.1))
    longest = random.choice((2, 5, 5, 12, 80))
    choices, quiet = {"u": random.choice((1, 2)), "g": random.choice((1, 2, 3)), "v": 9}, True
    time, events = random.choice((0, 0, 5, -40)), []
    while len(events) < length:
        kind = random.choice(kinds)
        if random.random() < 0.3:
            quiet = not quiet
        for _ in range(random.randint(1, longest if kind == "B" else 2)):
            event: Event = {"t": time, "type": kind}
            for name in read:
                if random.random() >= nulls:
                    event[name] = 1 if name == "v" and quiet else value(random, name, choices, wide=False)
            events.append(event)
            time += random.random() >= ties
    return tuple(events[:length])
