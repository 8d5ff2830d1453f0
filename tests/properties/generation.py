"""Random queries over the whole language and random streams for them, small enough to enumerate.

Everything draws from a `random.Random`, so that Hypothesis (which hands out its own) and a seeded loop use the
same code. All queries are legal; only aggregates over aliases of repeated types may be refused as ambiguous.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from hamlet_core.language.syntax import (
    Aggregate,
    AggregateFunction,
    And,
    Duration,
    Equivalence,
    GroupAttribute,
    Pattern,
    Query,
    Workload,
)
from hamlet_core.language.writer import write_workload
from tests.oracle.oracle import atoms
from tests.properties import predicates
from tests.properties.patterns import may_be_ambiguous, pattern, positive, weighted
from tests.properties.rewriting import as_timestamps
from tests.properties.shapes import neighbours
from tests.properties.streams import Event, long_stream, stream

SECOND = 1_000_000
OF_EVENTS = (
    AggregateFunction.COUNT,
    AggregateFunction.SUM,
    AggregateFunction.AVG,
    AggregateFunction.MIN,
    AggregateFunction.MAX,
)
"""The functions over events of an alias."""


@dataclass(frozen=True, slots=True)
class Case:
    """A query, or several, and the stream they read."""

    workload: Workload
    events: tuple[Event, ...]
    integer_time: bool = True
    unit: str = "s"
    """Of the times of the events."""

    def __repr__(self) -> str:
        """What a person needs to see of a failure."""
        return "\n".join((write_workload(self.workload), *map(str, self.events)))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """The same where Hypothesis reports a failure."""
        del cycle
        printer.text(repr(self))

    @property
    def query(self) -> Query:
        """The only query."""
        (query,) = self.workload.queries
        return query


def case(random: Random) -> Case:
    """One query and a stream."""
    return case_of(random, (query(random),))


def workload_case(random: Random) -> Case:
    """Two or three queries and one stream."""
    return case_of(random, tuple(query(random, f"q{number}") for number in range(random.randint(2, 3))))


def case_of(random: Random, queries: tuple[Query, ...]) -> Case:
    """These queries and a stream for them, in integers or in timestamps."""
    events = stream(random, queries)
    if random.random() < 0.7:
        return Case(Workload(queries), events)
    return Case(Workload(as_timestamps(queries)), events, integer_time=False)


def long_case(random: Random, length: int) -> Case:
    """A query with wide windows over a long stream."""
    asked = query(random)
    wide = replace(asked, within=Duration(length * SECOND), slide=Duration(length // 3 * SECOND))
    return Case(Workload((wide,)), long_stream(random, wide, length))


def query(random: Random, name: str = "q", make: Callable[[Random], Pattern] = pattern) -> Query:
    """A legal query of what `make` draws."""
    asked = make(random)
    group_by = _group_by(random, asked)
    returned = tuple(item for item in group_by if random.random() < 0.7)
    within = random.choice((2, 4, 5, 8, 12, 12, 20, 30))
    slide = (
        random.choice((within, within, 1, 2, 3, 4, 5, 7, 33))
        if within < 12
        else random.choice((within, 3, 5, 9))
    )
    return Query(
        name,
        returned + _aggregates(random, asked),
        asked,
        Duration(within * SECOND),
        Duration(slide * SECOND),
        _where(random, asked),
        group_by,
    )


def _group_by(random: Random, asked: Pattern) -> tuple[GroupAttribute, ...]:
    if random.random() < 0.65:
        return ()
    names = random.choice((("g",), ("g",), ("u",), ("g", "u")))
    aliases = [None, None, *(atom.alias for atom in positive(asked))]
    return tuple(GroupAttribute(name, random.choice(aliases)) for name in names)


def _aggregates(random: Random, asked: Pattern) -> tuple[Aggregate, ...]:
    trends = Aggregate(AggregateFunction.COUNT)
    aliases = sorted({atom.alias for atom in positive(asked)})
    clear = [alias for alias in aliases if not may_be_ambiguous(asked, alias)]
    if random.random() < 0.05:
        clear = aliases
    if isinstance(asked, And) or not clear:
        return (trends,)
    found = {trends.label: trends} if random.random() < 0.85 else {}
    for _ in range(random.randint(0 if found else 1, 4)):
        alias = random.choice(clear)
        function = random.choice(OF_EVENTS)
        if function is AggregateFunction.COUNT:
            item = Aggregate(function, alias)
        else:
            item = Aggregate(function, alias, random.choice(("v", "v", "v", "u", "m", "d")))
        found.setdefault(item.label, item)
    return tuple(found.values())


def _where(random: Random, asked: Pattern) -> tuple[Any, ...]:
    aliases = sorted({atom.alias for atom in atoms(asked)})
    pairs = sorted(neighbours(asked).pairs)
    trend = {atom.alias for atom in positive(asked)}
    pairs += [pair for pair in pairs if not trend.issuperset(pair)] * 2
    conjuncts: list[Any] = []
    for _ in range(random.choice((0, 0, 1, 1, 1, 2, 2, 3))):
        kind = weighted(random, {"local": 4, "adjacent": 3 if pairs else 0, "equivalence": 2})
        if kind == "local":
            conjuncts.append(predicates.local(random, random.choice(aliases)))
        elif kind == "adjacent":
            conjuncts.append(predicates.adjacent(random, *random.choice(pairs)))
        elif not any(isinstance(conjunct, Equivalence) for conjunct in conjuncts):
            conjuncts.append(Equivalence(random.choice((("u",), ("g",), ("u", "g")))))
    return tuple(conjuncts)
