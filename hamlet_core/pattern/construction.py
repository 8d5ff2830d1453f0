"""Pattern in, position automaton out, by composing fragments (Glushkov's construction with gaps).

A NOT is a fragment without positions whose only way to be empty leaves its index in the gap: concatenation then
carries it to the right edge, start or end, whatever is nested, starred or optional around it (SEMANTICS 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TypeAlias, TypeVar, assert_never

from hamlet_core.language import syntax
from hamlet_core.pattern.automaton import CLEAN, Automaton, Border, Edge, Gap, Position

Key = TypeVar("Key")
Refuse: TypeAlias = Callable[[str, str, str, syntax.Pattern], Exception]
"""(code, message, hint, culprit) -> the error to raise."""

NOT_ALONE = "NOT stands only as a part of a sequence"
NOT_HINT = "write SEQ(A, NOT B, C), SEQ(A, NOT B) or SEQ(NOT B, C)"
EMPTY_HINT = "let at least one event be there: use + in place of *, or leave ? out"


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a sub-pattern contributes: the gaps before its first events, after its last, and between events.

    `empty` has the gap of every way in which the sub-pattern may be absent. Of two ways over the same edge one
    demands less, because only `?` and `*` make a second way, and theirs demands nothing: that one is kept.
    """

    first: Mapping[int, Gap]
    last: Mapping[int, Gap]
    follow: Mapping[tuple[int, int], Gap]
    empty: frozenset[Gap]

    def edge_gaps(self) -> Iterable[Gap]:
        """Every gap at an edge of the fragment."""
        return (*self.first.values(), *self.last.values(), *self.empty)


NULLABLE = frozenset({CLEAN})
NEVER: frozenset[Gap] = frozenset()
EMPTY = Fragment({}, {}, {}, NULLABLE)


def _least(gaps: Iterable[Gap]) -> Gap:
    """The gap that demands least."""
    return min(gaps, key=len)


def _union(*maps: Mapping[Key, Gap]) -> dict[Key, Gap]:
    merged: dict[Key, Gap] = {}
    for mapping in maps:
        for key, gap in mapping.items():
            merged[key] = _least((merged.get(key, gap), gap))
    return merged


def _through(absent: frozenset[Gap], border: Mapping[int, Gap]) -> dict[int, Gap]:
    """A border seen through a neighbour that may be absent in these ways."""
    return {position: gap | _least(absent) for position, gap in border.items() if absent}


def _crossing(left: Fragment, right: Fragment) -> dict[tuple[int, int], Gap]:
    return {
        (source, target): after | before
        for source, after in left.last.items()
        for target, before in right.first.items()
    }


def concatenate(left: Fragment, right: Fragment) -> Fragment:
    """SEQ of two fragments."""
    return Fragment(
        _union(left.first, _through(left.empty, right.first)),
        _union(right.last, _through(right.empty, left.last)),
        _union(left.follow, right.follow, _crossing(left, right)),
        frozenset(one | other for one, other in product(left.empty, right.empty)),
    )


def either(left: Fragment, right: Fragment) -> Fragment:
    """OR of two fragments."""
    return Fragment(
        _union(left.first, right.first),
        _union(left.last, right.last),
        _union(left.follow, right.follow),
        left.empty | right.empty,
    )


def repeat(body: Fragment) -> Fragment:
    """Kleene plus: the last event of an iteration may precede the first of the next, with no gap rule."""
    return Fragment(body.first, body.last, _union(body.follow, _crossing(body, body)), body.empty)


class _Construction:
    """Numbers positions and negated patterns while one automaton is built."""

    def __init__(self, refuse: Refuse) -> None:
        self.refuse = refuse
        self.positions: list[Position] = []
        self.negations: list[Automaton] = []
        self.side = 0

    def fragment(self, pattern: syntax.Pattern, *, top: bool) -> Fragment:
        match pattern:
            case syntax.Atom():
                return self.atom(pattern)
            case syntax.Plus(body):
                return repeat(self.kleene_body(pattern, body))
            case syntax.Star(body):
                return either(repeat(self.kleene_body(pattern, body)), EMPTY)
            case syntax.Optional(body):
                self.check_not_bare(body, pattern)
                return either(self.fragment(body, top=False), EMPTY)
            case syntax.Seq(parts):
                return reduce(concatenate, (self.part(part) for part in parts), EMPTY)
            case syntax.Or(branches):
                return reduce(either, (self.branch(branch, top=top) for branch in branches))
            case syntax.Not():
                raise self.refuse("E107", NOT_ALONE, NOT_HINT, pattern)
            case syntax.And():
                raise self.refuse(
                    "E111",
                    "AND of patterns joins two whole patterns and stands nowhere below the top",
                    "write PATTERN (P AND Q); for both orders in one trend (SEQ(P, Q) OR SEQ(Q, P))",
                    pattern,
                )
            case _:
                assert_never(pattern)

    def atom(self, atom: syntax.Atom) -> Fragment:
        index = len(self.positions)
        self.positions.append(Position(index, atom.type, atom.alias, self.side))
        return Fragment({index: CLEAN}, {index: CLEAN}, {}, NEVER)

    def part(self, pattern: syntax.Pattern) -> Fragment:
        if not isinstance(pattern, syntax.Not):
            return self.fragment(pattern, top=False)
        self.negations.append(negated(pattern, self.refuse))
        return Fragment({}, {}, {}, frozenset({frozenset({len(self.negations) - 1})}))

    def kleene_body(self, kleene: syntax.Pattern, body: syntax.Pattern) -> Fragment:
        self.check_not_bare(body, kleene)
        fragment = self.fragment(body, top=False)
        if any(fragment.edge_gaps()):
            message = "NOT stands at the edge of a Kleene body: its gap would reach out of the iteration"
            hint = "put an event on both sides of NOT inside the body, or move NOT out of the repetition"
            raise self.refuse("E108", message, hint, kleene)
        return fragment

    def branch(self, branch: syntax.Pattern, *, top: bool) -> Fragment:
        self.check_not_bare(branch, branch)
        fragment = self.fragment(branch, top=top)
        if not top and any(fragment.edge_gaps()):
            message = (
                "NOT stands at the edge of an OR branch below the top: its gap would reach out of the branch"
            )
            hint = "write the OR at the top of the pattern, with a whole sequence in each branch"
            raise self.refuse("E109", message, hint, branch)
        return fragment

    def check_not_bare(self, body: syntax.Pattern, culprit: syntax.Pattern) -> None:
        if isinstance(body, syntax.Not):
            raise self.refuse("E107", NOT_ALONE, NOT_HINT, culprit)

    def automaton(self, fragment: Fragment) -> Automaton:
        return Automaton(
            tuple(self.positions),
            tuple(Border(position, gap) for position, gap in sorted(fragment.first.items())),
            tuple(Edge(*pair, gap) for pair, gap in sorted(fragment.follow.items())),
            tuple(Border(position, gap) for position, gap in sorted(fragment.last.items())),
            tuple(self.negations),
        )


def negated(pattern: syntax.Not, refuse: Refuse) -> Automaton:
    """The automaton of the operand of NOT; it must be able to stand alone."""
    if isinstance(pattern.body, syntax.Not):
        hint = "leave both out: what must be there is a part of the sequence without NOT"
        raise refuse("E107", "NOT NOT has no meaning", hint, pattern)
    construction = _Construction(refuse)
    fragment = construction.fragment(pattern.body, top=False)
    if CLEAN in fragment.empty:
        message = "the operand of NOT can match without any event, so it could never be absent"
        raise refuse("E106", message, EMPTY_HINT, pattern)
    if any(fragment.edge_gaps()):
        message = "NOT stands at the edge of a negated pattern: its gap would reach out of that pattern"
        hint = "a NOT inside a negated pattern needs an event on both sides, as in NOT SEQ(A, NOT B, C)"
        raise refuse("E110", message, hint, pattern)
    return construction.automaton(fragment)


def construct(pattern: syntax.Pattern, refuse: Refuse) -> Automaton:
    """The position automaton of a whole pattern; `refuse` builds the error for what has no meaning."""
    construction = _Construction(refuse)
    sides = (pattern.left, pattern.right) if isinstance(pattern, syntax.And) else (pattern,)
    fragments = []
    for side, part in enumerate(sides):
        construction.side = side
        fragment = construction.fragment(part, top=True)
        if fragment.empty:
            what = "this side of AND" if len(sides) > 1 else "the pattern"
            if not fragment.first:
                message, hint = f"{what} holds nothing but NOT, so it has no trend", NOT_HINT
            else:
                message, hint = (
                    f"{what} can match without any event, so its trends cannot be counted",
                    EMPTY_HINT,
                )
            raise refuse("E105", message, hint, part)
        fragments.append(fragment)
    return construction.automaton(reduce(either, fragments))


def negated_patterns(pattern: syntax.Pattern) -> Iterator[syntax.Pattern]:
    """The operands of the NOTs of a pattern, in the order of `Automaton.negations`; not those inside another NOT."""
    match pattern:
        case syntax.Not(body):
            yield body
        case syntax.Plus(body) | syntax.Star(body) | syntax.Optional(body):
            yield from negated_patterns(body)
        case syntax.Seq(parts) | syntax.Or(parts):
            for part in parts:
                yield from negated_patterns(part)
        case syntax.And(left, right):
            yield from negated_patterns(left)
            yield from negated_patterns(right)
