"""Random queries over the whole language and random streams for them, small enough to enumerate.

Everything draws from a `random.Random`, so that Hypothesis (which hands out its own) and a seeded loop use the
same code. All queries are legal; only aggregates over aliases of repeated types may be refused as ambiguous.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any

from hamlet_core.language.syntax import (
    Aggregate,
    AggregateFunction,
    And,
    Atom,
    Duration,
    Equivalence,
    GroupAttribute,
    Not,
    Optional,
    Or,
    Pattern,
    Plus,
    Query,
    Seq,
    Star,
    Workload,
)
from hamlet_core.language.writer import write_workload
from tests.oracle.expressions import attributes
from tests.oracle.oracle import atoms
from tests.properties import predicates
from tests.properties.rewriting import as_timestamps
from tests.properties.shapes import legal, neighbours

SECOND = 1_000_000
POSITIVE, NEGATIVE = ("A", "B", "C", "D"), ("N", "M")
MOST_ATOMS = 7
Event = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A query, or several, and the stream they read."""

    workload: Workload
    events: tuple[Event, ...]
    integer_time: bool = True

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
    return _case(random, (query(random),))


def workload_case(random: Random) -> Case:
    """Two or three queries and one stream."""
    return _case(random, tuple(query(random, f"q{number}") for number in range(random.randint(2, 3))))


def _case(random: Random, queries: tuple[Query, ...]) -> Case:
    events = stream(random, queries)
    if random.random() < 0.7:
        return Case(Workload(queries), events)
    return Case(Workload(as_timestamps(queries)), events, integer_time=False)


# --- queries -------------------------------------------------------------------------------------


def query(random: Random, name: str = "q") -> Query:
    """A legal query."""
    asked = pattern(random)
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


def pattern(random: Random) -> Pattern:
    """A legal pattern of at most seven atoms; the same type occurs twice in one of three."""
    for _ in range(200):
        draft = _Draft(random, repeat=random.random() < 0.35)
        asked = draft.whole()
        if legal(asked) and sum(1 for _ in atoms(asked)) <= MOST_ATOMS:
            return _shared_alias(random, asked)
    return Plus(Atom("A", "a"))


def _weighted(random: Random, weights: Mapping[Any, int]) -> Any:
    """One key, as often as its weight says."""
    return random.choice([key for key, weight in weights.items() for _ in range(weight)])


def any_pattern(random: Random) -> Pattern:
    """A pattern that may mean nothing: empty, or with a NOT where none may stand."""
    draft = _Draft(random, repeat=random.random() < 0.5)
    draft.absence = random.choice((0.1, 0.4, 0.6))
    if random.random() < 0.1:
        return And(draft.node(2), draft.node(1))
    return draft.node(random.randint(2, 3))


class _Draft:
    """A pattern in the making: hands out types and fresh aliases."""

    def __init__(self, random: Random, *, repeat: bool) -> None:
        self.random = random
        self.repeat = repeat
        self.absence = random.choice((0.0, 0.15, 0.35))
        self.aliases: Counter[str] = Counter()

    def whole(self) -> Pattern:
        if self.random.random() < 0.12:
            return And(self.node(self.random.randint(1, 2)), self.node(1))
        return self.node(2)

    def node(self, depth: int) -> Pattern:
        kind = _weighted(self.random, {"atom": 3, "seq": 6, "or": 2} if depth else {"atom": 1})
        body = {"atom": self.atom, "seq": lambda: self.sequence(depth), "or": lambda: self.either(depth)}[
            kind
        ]()
        return self.repeated(body)

    def repeated(self, body: Pattern) -> Pattern:
        wrap = _weighted(self.random, {None: 14, Plus: 9, Star: 2, Optional: 2})
        return body if wrap is None else wrap(body)

    def atom(self, types: tuple[str, ...] = POSITIVE) -> Atom:
        free = tuple(name for name in types if not self.aliases[name])
        kind = self.random.choice(types if self.repeat or not free else free)
        self.aliases[kind] += 1
        if self.aliases[kind] == 1:
            return Atom(kind, kind if self.random.random() < 0.15 else kind.lower())
        return Atom(kind, f"{kind.lower()}{self.aliases[kind]}")

    def either(self, depth: int) -> Pattern:
        return Or(tuple(self.node(depth - 1) for _ in range(self.random.choice((2, 2, 3)))))

    def sequence(self, depth: int) -> Pattern:
        parts: list[Pattern] = []
        count = self.random.choice((1, 2, 2, 2, 3))
        for place in range(count + 1):
            while self.random.random() < self.absence * (0.6 if place in (0, count) else 1):
                parts.append(Not(self.negated()))
            if place < count:
                parts.append(self.node(depth - 1))
        return Seq(tuple(parts))

    def negated(self) -> Pattern:
        match _weighted(self.random, {"atom": 7, "seq": 4, "plus": 1, "or": 2, "nested": 3, "own": 2}):
            case "seq":
                return Seq((self.atom(NEGATIVE), self.repeated(self.atom(NEGATIVE))))
            case "plus":
                return Plus(self.atom(NEGATIVE))
            case "or":
                return Or((self.atom(NEGATIVE), self.atom((*NEGATIVE, *POSITIVE))))
            case "nested":
                return Seq((self.atom(NEGATIVE), Not(self.atom(POSITIVE)), self.atom(NEGATIVE)))
            case "own":
                return self.atom(POSITIVE)
        return self.atom(NEGATIVE)


def _shared_alias(random: Random, asked: Pattern) -> Pattern:
    """Sometimes let two sides of AND, or branches of OR, use one alias for atoms of one type."""
    choices = [pair for node in _walk(asked) for pair in _exchangeable(node)]
    if not choices or random.random() < 0.5:
        return asked
    kept, dropped = random.choice(choices)
    return _renamed(asked, dropped, kept)


def _walk(node: Pattern) -> Iterator[Pattern]:
    yield node
    match node:
        case Plus(body=body) | Star(body=body) | Optional(body=body) | Not(body=body):
            yield from _walk(body)
        case Seq(parts=parts) | Or(branches=parts):
            for part in parts:
                yield from _walk(part)
        case And(left=left, right=right):
            yield from _walk(left)
            yield from _walk(right)


def _exchangeable(node: Pattern) -> Iterator[tuple[str, str]]:
    branches = (
        (node.left, node.right) if isinstance(node, And) else node.branches if isinstance(node, Or) else ()
    )
    for number, branch in enumerate(branches):
        for other in branches[number + 1 :]:
            for one in positive(branch):
                yield from ((one.alias, two.alias) for two in positive(other) if one.type == two.type)


def positive(node: Pattern) -> Iterator[Atom]:
    """The atoms that trends bind, from left to right."""
    match node:
        case Atom():
            yield node
        case Not():
            return
        case Plus(body=body) | Star(body=body) | Optional(body=body):
            yield from positive(body)
        case Seq(parts=parts) | Or(branches=parts):
            for part in parts:
                yield from positive(part)
        case And(left=left, right=right):
            yield from positive(left)
            yield from positive(right)


def _renamed(node: Pattern, old: str, new: str) -> Pattern:
    match node:
        case Atom(alias=alias):
            return replace(node, alias=new) if alias == old else node
        case Plus(body=body) | Star(body=body) | Optional(body=body) | Not(body=body):
            return replace(node, body=_renamed(body, old, new))
        case Seq(parts=parts):
            return Seq(tuple(_renamed(part, old, new) for part in parts))
        case Or(branches=branches):
            return Or(tuple(_renamed(branch, old, new) for branch in branches))
        case And(left=left, right=right):
            return And(_renamed(left, old, new), _renamed(right, old, new))
    raise TypeError(node)


def _group_by(random: Random, asked: Pattern) -> tuple[GroupAttribute, ...]:
    if random.random() < 0.65:
        return ()
    names = random.choice((("g",), ("g",), ("u",), ("g", "u")))
    aliases = [None, None, *(atom.alias for atom in positive(asked))]
    return tuple(GroupAttribute(name, random.choice(aliases)) for name in names)


def may_be_ambiguous(asked: Pattern, alias: str) -> bool:
    """Whether an aggregate over `alias` may rightly be refused: its type stands at several places."""
    types = {atom.alias: atom.type for atom in positive(asked)}
    return sum(1 for atom in positive(asked) if atom.type == types.get(alias, alias)) > 1


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
        function = random.choice(tuple(AggregateFunction))
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
        kind = _weighted(random, {"local": 4, "adjacent": 3 if pairs else 0, "equivalence": 2})
        if kind == "local":
            conjuncts.append(predicates.local(random, random.choice(aliases)))
        elif kind == "adjacent":
            conjuncts.append(predicates.adjacent(random, *random.choice(pairs)))
        elif not any(isinstance(conjunct, Equivalence) for conjunct in conjuncts):
            conjuncts.append(Equivalence(random.choice((("u",), ("g",), ("u", "g")))))
    return tuple(conjuncts)


# --- streams -------------------------------------------------------------------------------------


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


def long_case(random: Random, length: int) -> Case:
    """A query over a long stream of values that are never negative."""
    asked = query(random)
    kinds = [kind for _ in range(length) for kind in _word(random, asked.pattern)][:length]
    names = sorted(set(columns(asked)))
    events, time = [], 0
    for kind in kinds:
        values = {name: _value(random, name) for name in names}
        sizes = {
            name: abs(value) if isinstance(value, int | float | Decimal) else value
            for name, value in values.items()
        }
        events.append(_event(time, kind, sizes))
        time += random.choice((0, 1, 1))
    wide = replace(asked, within=Duration(length * SECOND), slide=Duration(length // 3 * SECOND))
    return Case(Workload((wide,)), tuple(events))


def _event(time: int, kind: str, values: Event) -> Event:
    known = {name: value for name, value in values.items() if value is not MISSING}
    return {"t": time, "type": kind} | known


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


MISSING = object()
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
        return random.choice((None, MISSING))
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
            return random.choice(predicates.WORDS)
    raise ValueError(name)
