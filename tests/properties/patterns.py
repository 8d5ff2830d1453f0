"""Random patterns: SEQ, Kleene, options, OR, AND, NOT in all places, repeated types, shared aliases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from hamlet_core.language.syntax import And, Atom, Not, Optional, Or, Pattern, Plus, Seq, Star
from tests.oracle.oracle import atoms
from tests.properties.shapes import legal

POSITIVE, NEGATIVE = ("A", "B", "C", "D"), ("N", "M")
MOST_ATOMS = 7


def pattern(random: Random) -> Pattern:
    """A legal pattern of at most seven atoms; the same type occurs twice in one of three."""
    for _ in range(200):
        draft = _Draft(random, repeat=random.random() < 0.35)
        asked = draft.whole()
        if legal(asked) and sum(1 for _ in atoms(asked)) <= MOST_ATOMS:
            return _shared_alias(random, asked)
    return Plus(Atom("A", "a"))


def weighted(random: Random, weights: Mapping[Any, int]) -> Any:
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
        kind = weighted(self.random, {"atom": 3, "seq": 6, "or": 2} if depth else {"atom": 1})
        body = {"atom": self.atom, "seq": lambda: self.sequence(depth), "or": lambda: self.either(depth)}[
            kind
        ]()
        return self.repeated(body)

    def repeated(self, body: Pattern) -> Pattern:
        wrap = weighted(self.random, {None: 14, Plus: 9, Star: 2, Optional: 2})
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
        match weighted(self.random, {"atom": 7, "seq": 4, "plus": 1, "or": 2, "nested": 3, "own": 2}):
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


def may_be_ambiguous(asked: Pattern, alias: str) -> bool:
    """Whether an aggregate over `alias` may rightly be refused: its type stands at several places."""
    types = {atom.alias: atom.type for atom in positive(asked)}
    return sum(1 for atom in positive(asked) if atom.type == types.get(alias, alias)) > 1
