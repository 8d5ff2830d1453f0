"""Which constructs of the language a query uses, by name; for the test that the generators reach all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from typing import Any

from hamlet_core.language.syntax import (
    And,
    Arithmetic,
    Attribute,
    Between,
    Comparison,
    Conjunction,
    Disjunction,
    Duration,
    Equivalence,
    InList,
    IsNull,
    Like,
    Literal,
    Minus,
    Mode,
    Negation,
    Not,
    Optional,
    Or,
    Pattern,
    Plus,
    Query,
    Seq,
    Star,
    Timestamp,
)
from tests.oracle.expressions import attributes
from tests.oracle.oracle import atoms
from tests.properties.patterns import positive
from tests.properties.shapes import shapes

PATTERNS = frozenset(
    {
        "SEQ", "+", "*", "?", "OR", "AND", "nested Kleene", "repeated type", "shared alias", "type as alias",
        "NOT leading", "NOT middle", "NOT trailing", "NOT under Kleene", "NOT in OR", "NOT sequence", "NOT nested",
        "NOT before optional", "NOT twice in a gap", "positive and negated type",
    }
)  # fmt: skip
CLAUSES = frozenset(
    {
        "equivalence", "local", "adjacent", "predicate on NOT", "NEXT inside NOT", "time difference", "IN", "BETWEEN",
        "LIKE", "IS NULL", "boolean", "arithmetic", "GROUP-BY", "two groups", "sliding", "not a multiple", "gaps",
        "timestamps",
    }
)  # fmt: skip
AGGREGATES = frozenset({"COUNT(*)", "COUNT(E)", "SUM", "AVG", "MIN", "MAX"})
MODES = frozenset(mode.value for mode in Mode)
OF_TRENDS = frozenset(
    {
        "COUNT(PARTITIONS)", "COUNT(DISJOINT)", "REACH(E)", "SUM(DURATION)", "AVG(DURATION)", "MIN(DURATION)",
        "MAX(DURATION)",
    }
)  # fmt: skip
"""Aggregates over trends and partitions; with the modes they are drawn in `matching` alone."""


def walk(node: Any) -> Iterator[Any]:
    """Every node of a tree, the root first."""
    if isinstance(node, tuple):
        for item in node:
            yield from walk(item)
    elif names := _parts(type(node)):
        yield node
        for name in names:
            yield from walk(getattr(node, name))


@cache
def _parts(kind: type) -> tuple[str, ...]:
    if not is_dataclass(kind) or issubclass(kind, Enum):
        return ()
    return tuple(field.name for field in fields(kind) if field.name != "span")


def constructs(query: Query) -> frozenset[str]:
    """The names of everything a query uses."""
    return frozenset(
        (
            *_operators(query.pattern),
            *_negations(query.pattern),
            query.mode.value,
            *_clauses(query),
            *_returns(query),
        )
    )


_NAMES = {Seq: "SEQ", Plus: "+", Star: "*", Optional: "?", Or: "OR", And: "AND"}


def _operators(pattern: Pattern) -> Iterator[str]:
    nodes = list(walk(pattern))
    yield from (_NAMES[type(node)] for node in nodes if type(node) in _NAMES)
    types = Counter(atom.type for atom in positive(pattern))
    if any(times > 1 for times in types.values()):
        yield "repeated type"
    if any(times > 1 for times in Counter(atom.alias for atom in positive(pattern)).values()):
        yield "shared alias"
    if any(atom.alias == atom.type for atom in atoms(pattern)):
        yield "type as alias"
    for node in nodes:
        inside = [] if not isinstance(node, Plus | Star) else list(walk(node.body))
        if any(isinstance(inner, Plus | Star) for inner in inside):
            yield "nested Kleene"
        if any(isinstance(inner, Not) for inner in inside):
            yield "NOT under Kleene"
        if isinstance(node, Or) and any(isinstance(inner, Not) for inner in walk(node)):
            yield "NOT in OR"
    if {atom.type for atom in atoms(pattern)} - set(types) != _negated_types(pattern):
        yield "positive and negated type"


def _negated_types(pattern: Pattern) -> set[str]:
    return {atom.type for node in walk(pattern) if isinstance(node, Not) for atom in atoms(node)}


def _negations(pattern: Pattern) -> Iterator[str]:
    if any(before for _, before, _ in _sides(pattern)):
        yield "NOT leading"
    if any(after for _, _, after in _sides(pattern)):
        yield "NOT trailing"
    for node in walk(pattern):
        if isinstance(node, Not):
            inner = list(walk(node.body))
            yield from (["NOT sequence"] if any(isinstance(part, Seq) for part in inner) else [])
            yield from (["NOT nested"] if any(isinstance(part, Not) for part in inner) else [])
        if isinstance(node, Seq):
            yield from _gaps(node)


def _sides(pattern: Pattern) -> frozenset[tuple[bool, bool, bool]]:
    return shapes(pattern.left) | shapes(pattern.right) if isinstance(pattern, And) else shapes(pattern)


def _gaps(node: Seq) -> Iterator[str]:
    for place, part in enumerate(node.parts):
        if not isinstance(part, Not):
            continue
        before, after = node.parts[:place], node.parts[place + 1 :]
        if before and after:
            yield "NOT middle"
        if after and isinstance(after[0], Optional | Star):
            yield "NOT before optional"
        if after and isinstance(after[0], Not):
            yield "NOT twice in a gap"


_FORMS = {
    InList: "IN", Between: "BETWEEN", Like: "LIKE", IsNull: "IS NULL", Conjunction: "boolean",
    Disjunction: "boolean", Negation: "boolean", Arithmetic: "arithmetic", Minus: "arithmetic",
}  # fmt: skip


def _clauses(query: Query) -> Iterator[str]:
    negated = {atom.alias for node in walk(query.pattern) if isinstance(node, Not) for atom in atoms(node)}
    for conjunct in query.where:
        if isinstance(conjunct, Equivalence):
            yield "equivalence"
            continue
        read = attributes(conjunct)
        following = any(item.next for item in read)
        yield "adjacent" if following else "local"
        if any(item.alias in negated for item in read):
            yield "NEXT inside NOT" if following else "predicate on NOT"
        yield from _forms(conjunct)
    if query.group_by:
        yield "two groups" if len(query.group_by) > 1 else "GROUP-BY"
    within, slide = query.within.microseconds, query.slide.microseconds
    if slide < within:
        yield "sliding" if within % slide == 0 else "not a multiple"
    if slide > within:
        yield "gaps"


def _forms(conjunct: Any) -> Iterator[str]:
    for node in walk(conjunct):
        yield from [_FORMS[type(node)]] if type(node) in _FORMS else []
        match node:
            case Comparison(left=Arithmetic(left=Attribute(name="time")), right=Literal(value=Duration())):
                yield "time difference"
            case Literal(value=Timestamp()):
                yield "timestamps"


def _returns(query: Query) -> Iterator[str]:
    for item in query.aggregates:
        if item.alias is None:
            yield item.label
        else:
            yield item.function.value if item.attribute else f"{item.function.value}(E)"
