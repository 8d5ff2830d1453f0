"""The Kleene sub-patterns of a query in a form that tells two queries alike, whatever their aliases are called."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import assert_never

from hamlet_core.language import syntax
from hamlet_core.language.writer import write_pattern


@dataclass(frozen=True, slots=True)
class KleeneBody:
    """The body P of one `P+` (or `P*`, which is `P+` or nothing) of a pattern.

    `body` is nameless and in normal form; `positions` are those of the query's automaton, in the order of its atoms.
    """

    body: syntax.Pattern
    positions: tuple[int, ...]


def kleene_bodies(pattern: syntax.Pattern) -> tuple[KleeneBody, ...]:
    """Every Kleene sub-pattern outside NOT, an outer one before those it holds.

    >>> from hamlet_core.language.parser import parse_syntax
    >>> pattern = parse_syntax("RETURN COUNT(*) PATTERN SEQ(C, SEQ(A x, B y+)+) WITHIN 1 s").queries[0].pattern
    >>> [(write_pattern(found.body), found.positions) for found in kleene_bodies(pattern)]
    [('SEQ(A, B+)', (1, 2)), ('B', (2,))]
    """
    return tuple(_bodies(_normal(_numbered(pattern, count()))))


def _bodies(pattern: syntax.Pattern) -> Iterator[KleeneBody]:
    match pattern:
        case syntax.Plus(body) | syntax.Star(body):
            yield KleeneBody(_nameless(body), tuple(int(atom.alias) for atom in _atoms(body)))
            yield from _bodies(body)
        case syntax.Optional(body):
            yield from _bodies(body)
        case syntax.Seq(parts) | syntax.Or(parts):
            for part in parts:
                yield from _bodies(part)
        case syntax.And(left, right):
            yield from _bodies(left)
            yield from _bodies(right)


def _atoms(pattern: syntax.Pattern) -> Iterator[syntax.Atom]:
    """The atoms outside NOT."""
    match pattern:
        case syntax.Atom():
            yield pattern
        case syntax.Plus(body) | syntax.Star(body) | syntax.Optional(body):
            yield from _atoms(body)
        case syntax.Seq(parts) | syntax.Or(parts):
            for part in parts:
                yield from _atoms(part)


def _over_parts(
    pattern: syntax.Pattern, change: Callable[[syntax.Pattern], syntax.Pattern]
) -> syntax.Pattern:
    """The pattern with each of its direct parts changed; an atom has none."""
    match pattern:
        case syntax.Atom():
            return pattern
        case syntax.Plus(body) | syntax.Star(body) | syntax.Optional(body) | syntax.Not(body):
            return type(pattern)(change(body))
        case syntax.Seq(parts):
            return syntax.Seq(tuple(map(change, parts)))
        case syntax.Or(branches):
            return syntax.Or(tuple(map(change, branches)))
        case syntax.And(left, right):
            return syntax.And(change(left), change(right))
        case _:
            assert_never(pattern)


def _numbered(pattern: syntax.Pattern, numbers: Iterator[int]) -> syntax.Pattern:
    """Each atom outside NOT with the number of its position as its alias, in the order of the construction."""
    if isinstance(pattern, syntax.Atom):
        return syntax.Atom(pattern.type, str(next(numbers)))
    if isinstance(pattern, syntax.Not):
        return _nameless(pattern)
    return _over_parts(pattern, lambda part: _numbered(part, numbers))


def _nameless(pattern: syntax.Pattern) -> syntax.Pattern:
    """Each atom with its type as its alias."""
    if isinstance(pattern, syntax.Atom):
        return syntax.Atom(pattern.type, pattern.type)
    return _over_parts(pattern, _nameless)


def _normal(pattern: syntax.Pattern) -> syntax.Pattern:
    """The same trends without repetition of a repetition, SEQ in SEQ and OR in OR, and with OR's branches in order."""
    pattern = _over_parts(pattern, _normal)
    match pattern:
        case syntax.Plus(body) | syntax.Star(body) | syntax.Optional(body):
            return _repetition(pattern, body)
        case syntax.Seq(parts):
            flat = tuple(
                item for part in parts for item in (part.parts if isinstance(part, syntax.Seq) else (part,))
            )
            return syntax.Seq(flat) if len(flat) > 1 else flat[0]
        case syntax.Or(branches):
            either = (one.branches if isinstance(one, syntax.Or) else (one,) for one in branches)
            named = [(write_pattern(_nameless(branch)), branch) for some in either for branch in some]
            return syntax.Or(tuple(branch for _, branch in sorted(named, key=lambda pair: pair[0])))
    return pattern


def _repetition(outer: syntax.Plus | syntax.Star | syntax.Optional, body: syntax.Pattern) -> syntax.Pattern:
    """P++ is P+, P?? is P?, and whatever else repeats and may be absent is P*."""
    if not isinstance(body, syntax.Plus | syntax.Star | syntax.Optional):
        return type(outer)(body)
    return body if type(outer) is type(body) else syntax.Star(body.body)
