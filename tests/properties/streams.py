"""Random streams that fit given queries: words of their patterns, noise, bursts, ties, NULLs, missing attributes."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from random import Random
from typing import Any

from hamlet_core.language.syntax import (
    And,
    Atom,
    Equivalence,
    Not,
    Optional,
    Or,
    Pattern,
    Plus,
    Query,
    Seq,
    Star,
)
from tests.oracle.expressions import attributes
from tests.oracle.oracle import atoms
from tests.properties.predicates import WORDS

Event = dict[str, Any]


def stream(random: Random, queries: tuple[Query, ...]) -> tuple[Event, ...]:
    """About a dozen events of the types the queries read (and one they do not), in any order of rows."""
    kinds = _kinds(random, queries)
    read = sorted({name for query in queries for name in columns(query)})
    constant = {name: _value(random, name) for name in ("u", "g") if random.random() < 0.5}
    steps = random.choice(((0, 1, 1, 2), (0, 1, 1, 1, 3), (1,), (0, 1)))
    time, events = random.choice((0, 0, 1, -7, -20, 95)), []
    for kind in kinds:
        values = {name: constant[name] if name in constant else _value(random, name) for name in read}
        events.append(_event(time, kind, values))
        time += random.choice(steps)
    if random.random() < 0.3:
        random.shuffle(events)
    return tuple(events)


def _event(time: int, kind: str, values: Event) -> Event:
    known = {name: value for name, value in values.items() if value is not _MISSING}
    return {"t": time, "type": kind} | known


def long_stream(random: Random, query: Query, length: int) -> tuple[Event, ...]:
    """`length` events for one query, none of whose numbers is negative."""
    kinds = [kind for _ in range(length) for kind in _word(random, query.pattern)][:length]
    names = sorted(set(columns(query)))
    time, events = 0, []
    for kind in kinds:
        events.append(_event(time, kind, {name: _size(_value(random, name)) for name in names}))
        time += random.choice((0, 1, 1))
    return tuple(events)


def _size(value: Any) -> Any:
    return abs(value) if isinstance(value, int | float | Decimal) else value


def strangers(random: Random) -> tuple[Event, ...]:
    """Events of no particular type, with every attribute."""
    count = random.randint(1, 6)
    return tuple(
        _event(random.randint(-20, 30), "Z", {name: _value(random, name) for name in "vugdms"})
        for _ in range(count)
    )


def _kinds(random: Random, queries: tuple[Query, ...]) -> list[str]:
    """Event types in order: words of the patterns with noise in between, or bursts."""
    types = [atom.type for query in queries for atom in atoms(query.pattern)]
    length = random.choice((4, 6, 7, 8, 8, 9, 9, 10))
    kinds: list[str] = []
    if random.random() < 0.3:
        while len(kinds) < length:
            kinds += [random.choice(types)] * random.randint(1, 4)
        return kinds[:length]
    while len(kinds) < length:
        kinds += _word(random, random.choice(queries).pattern) or ["Z"]
    kinds = kinds[:length]
    for _ in range(random.choice((0, 1, 2))):
        kinds[random.randrange(length)] = random.choice((*types, "Z"))
    return kinds


def _word(random: Random, node: Pattern) -> list[str]:
    """The types of one random expansion of a pattern."""
    match node:
        case Atom(type=kind):
            return [kind]
        case Not():
            return []
        case Plus(body=body):
            return [kind for _ in range(random.choice((1, 2, 2))) for kind in _word(random, body)]
        case Star(body=body) | Optional(body=body):
            return _word(random, body) if random.random() < 0.5 else []
        case Seq(parts=parts):
            return [kind for part in parts for kind in _word(random, part)]
        case Or(branches=branches):
            return _word(random, random.choice(branches))
        case And(left=left, right=right):
            return _word(random, left) + _word(random, right)
    raise TypeError(node)


_MISSING = object()
"""The event has no such attribute."""


def columns(query: Query) -> Iterator[str]:
    """The attributes a query reads, besides time and type."""
    yield from (item.name for item in query.group_by)
    yield from (item.attribute for item in query.aggregates if item.attribute)
    for conjunct in query.where:
        if isinstance(conjunct, Equivalence):
            yield from conjunct.attributes
        else:
            yield from (item.name for item in attributes(conjunct) if item.name not in ("time", "type"))


def _value(random: Random, name: str) -> Any:
    if random.random() < 0.07:
        return random.choice((None, _MISSING))
    match name:
        case "v":
            return random.randint(0, 9) if random.random() < 0.9 else random.choice((-3, -1, 10**12))
        case "u":
            return random.randint(1, 2)
        case "g":
            return random.choice(("x", "y", "x", "ü"))
        case "d":
            return random.randint(-8, 30) / 4
        case "m":
            return Decimal(random.randint(-200, 900)) / 100
        case "s":
            return random.choice(WORDS)
    raise ValueError(name)
