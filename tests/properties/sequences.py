"""Random workloads of fixed-length sequences, for engines that take no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from hamlet_core.language.syntax import (
    Aggregate,
    AggregateFunction,
    Atom,
    Equivalence,
    Mode,
    Not,
    Pattern,
    Query,
    ReturnItem,
    Seq,
    Subject,
)
from tests.oracle.expressions import attributes
from tests.properties.generation import Case, case_of, query
from tests.properties.matching import in_mode
from tests.properties.patterns import NEGATIVE, POSITIVE
from tests.properties.shapes import legal
from tests.properties.streams import stream


def case(random: Random) -> Case:
    """One to three queries of fixed length and one stream."""
    return case_of(
        random, tuple(_query(random, f"q{number}") for number in range(random.choice((1, 1, 2, 3))))
    )


def long_case(random: Random) -> Case:
    """The same, with a few streams one after the other, so that they overlap."""
    return longer(random, case(random))


def common_case(random: Random) -> Case:
    """Two to five queries without NOT that have parts in common, most of them COUNT(*) alone over the same windows and
    partitions, and a stream as `long_case` has it.
    """
    line = "ABCDAB" if random.random() < 0.7 else random.choices(POSITIVE, k=6)
    first = _query(random, "q0")
    return longer(
        random,
        case_of(random, tuple(_cut(random, line, first, f"q{n}") for n in range(random.randint(2, 5)))),
    )


def _cut(random: Random, line: Sequence[str], first: Query, name: str) -> Query:
    """A query for some of the types in line, most often with the windows and partitions of the first."""
    begin = random.randint(0, 4)
    types = line[begin : begin + random.randint(2, 4)]
    asked = Seq(tuple(Atom(kind, f"s{place}") for place, kind in enumerate(types)))
    drawn = _taken(in_mode(random, query(random, name, lambda _: asked), Mode.ANY))
    if random.random() < 0.15:
        return drawn
    alike = tuple(one for one in first.where if isinstance(one, Equivalence))
    local = tuple(one for one in drawn.where if not isinstance(one, Equivalence))
    return replace(
        drawn,
        where=alike + (local if random.random() < 0.4 else ()),
        returns=(Aggregate(AggregateFunction.COUNT),),
        group_by=tuple(replace(one, alias=None) for one in first.group_by),
        within=first.within,
        slide=first.slide,
    )


def longer(random: Random, drawn: Case) -> Case:
    """The case with a few streams more."""
    more = (
        {**event, "t": event["t"] + 7 * number}
        for number in range(1, random.choice((2, 3, 5)))
        for event in stream(random, drawn.workload.queries)
    )
    return replace(drawn, events=(*drawn.events, *more))


def _query(random: Random, name: str) -> Query:
    """A query that the engines take."""
    return _taken(in_mode(random, query(random, name, sequence), Mode.ANY))


def _taken(asked: Query) -> Query:
    """The query without conditions on neighbours, and without COUNT(DISJOINT)."""
    kept = tuple(
        one
        for one in asked.where
        if isinstance(one, Equivalence) or not any(attribute.next for attribute in attributes(one))
    )
    return replace(asked, where=kept, returns=counted(asked))


def counted(asked: Query) -> tuple[ReturnItem, ...]:
    """What a query returns, without COUNT(DISJOINT)."""
    returned = tuple(one for one in asked.returns if getattr(one, "subject", None) is not Subject.DISJOINT)
    if not any(isinstance(one, Aggregate) for one in returned):
        returned += (Aggregate(AggregateFunction.COUNT),)
    return returned


def sequence(random: Random) -> Pattern:
    """One to four single events, of which types may occur again, with negated ones around them; some parts are nested."""
    aliases: Counter[str] = Counter()
    repeat, absence = random.random() < 0.35, random.choice((0.0, 0.2, 0.4))

    def atom(types: tuple[str, ...]) -> Atom:
        free = [name for name in types if repeat or not aliases[name]]
        kind = random.choice(free or types)
        aliases[kind] += 1
        return Atom(kind, kind.lower() if aliases[kind] == 1 else f"{kind.lower()}{aliases[kind]}")

    def negated() -> list[Pattern]:
        found: list[Pattern] = []
        while random.random() < absence:
            found.append(Not(atom((*NEGATIVE, *NEGATIVE, random.choice(POSITIVE)))))
        return found

    parts = negated()
    for _ in range(random.choice((1, 2, 2, 3, 3, 4))):
        parts += [atom(POSITIVE), *negated()]
    if len(parts) == 1 and random.random() < 0.5:
        return parts[0]
    cut = random.randint(0, len(parts))
    inner = Seq(tuple(parts[cut:]))
    nested = Seq((*parts[:cut], inner))
    return (
        nested if random.random() < 0.3 and 0 < cut < len(parts) - 1 and legal(nested) else Seq(tuple(parts))
    )
