"""Which random patterns are legal, and what they may be asked: a second reading of SEMANTICS 2 and 4 for tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from itertools import product

from hamlet_core.language.syntax import And, Atom, Not, Optional, Or, Pattern, Plus, Seq, Star

ATOM, GAP, NOTHING = (True, False, False), (False, True, True), (False, False, False)
"""A shape of one expansion: has it events, does a NOT stand before the first, after the last event."""

Shape = tuple[bool, bool, bool]


def shapes(pattern: Pattern) -> frozenset[Shape]:
    """The shapes of all expansions of a pattern."""
    match pattern:
        case Atom():
            return frozenset({ATOM})
        case Not():
            return frozenset({GAP})
        case Plus(body=body):
            return shapes(body)
        case Star(body=body) | Optional(body=body):
            return shapes(body) | {NOTHING}
        case Or(branches=branches):
            return frozenset().union(*map(shapes, branches))
        case Seq(parts=parts):
            return reduce(_then, map(shapes, parts))
    raise TypeError(pattern)


def _then(left: Iterable[Shape], right: Iterable[Shape]) -> frozenset[Shape]:
    return frozenset(_join(one, other) for one, other in product(left, right))


def _join(left: Shape, right: Shape) -> Shape:
    events = left[0] or right[0]
    return events, left[1] or (not left[0] and right[1]), right[2] or (not right[0] and left[2])


def nullable(pattern: Pattern) -> bool:
    """Whether a pattern can match without any event."""
    return any(not events for events, _, _ in shapes(pattern))


def _open(pattern: Pattern) -> bool:
    return any(before or after for _, before, after in shapes(pattern))


def legal(pattern: Pattern) -> bool:
    """Whether a pattern as a whole means something: not empty, and every NOT in a place that has a meaning."""
    sides = (pattern.left, pattern.right) if isinstance(pattern, And) else (pattern,)
    return all(not nullable(side) and _legal(side, top=True) for side in sides)


def _legal(pattern: Pattern, *, top: bool = False) -> bool:
    match pattern:
        case Atom():
            return True
        case Not(body=body):
            return not isinstance(body, Not) and not nullable(body) and not _open(body) and _legal(body)
        case Plus(body=body) | Star(body=body):
            return not _open(body) and _legal(body)
        case Optional(body=body):
            return not isinstance(body, Not) and _legal(body)
        case Or(branches=branches):
            return all(_legal(branch, top=top) and (top or not _open(branch)) for branch in branches)
        case Seq(parts=parts):
            return all(_legal(part) for part in parts)
    return False


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Aliases that can come first and last, and pairs of aliases that can be direct neighbours."""

    first: frozenset[str] = frozenset()
    last: frozenset[str] = frozenset()
    pairs: frozenset[tuple[str, str]] = frozenset()
    empty: bool = True


def neighbours(pattern: Pattern) -> Neighbours:
    """The neighbourhoods of a pattern; pairs inside a negated pattern are among the pairs."""
    match pattern:
        case Atom(alias=alias):
            return Neighbours(frozenset({alias}), frozenset({alias}), frozenset(), empty=False)
        case Not(body=body):
            return Neighbours(pairs=neighbours(body).pairs)
        case Plus(body=body) | Star(body=body):
            inner = neighbours(body)
            loop = inner.pairs | set(product(inner.last, inner.first))
            return Neighbours(inner.first, inner.last, loop, inner.empty or isinstance(pattern, Star))
        case Optional(body=body):
            inner = neighbours(body)
            return Neighbours(inner.first, inner.last, inner.pairs)
        case Or(branches=branches):
            return reduce(_beside, map(neighbours, branches))
        case And(left=left, right=right):
            return _beside(neighbours(left), neighbours(right))
        case Seq(parts=parts):
            return reduce(_after, map(neighbours, parts))
    raise TypeError(pattern)


def _beside(one: Neighbours, other: Neighbours) -> Neighbours:
    return Neighbours(
        one.first | other.first, one.last | other.last, one.pairs | other.pairs, one.empty or other.empty
    )


def _after(left: Neighbours, right: Neighbours) -> Neighbours:
    return Neighbours(
        left.first | (right.first if left.empty else frozenset()),
        right.last | (left.last if right.empty else frozenset()),
        left.pairs | right.pairs | set(product(left.last, right.first)),
        left.empty and right.empty,
    )
