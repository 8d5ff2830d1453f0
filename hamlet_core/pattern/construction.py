"""Pattern in, position automaton out, by composing fragments (Glushkov's construction with gaps).

A NOT is a fragment without positions whose only way to be empty leaves its index in the gap: concatenation then
carries it to the right edge, start or end, whatever is nested, starred or optional around it (SEMANTICS 4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TypeAlias, assert_never

from hamlet_core.language import syntax
from hamlet_core.pattern.automaton import Automaton, Border, Edge, Gap, Position, alternatives

GapSet: TypeAlias = frozenset[Gap]
Refuse: TypeAlias = Callable[[str, str, str, syntax.Pattern], Exception]
"""(code, message, hint, culprit) -> the error to raise."""

NO_GAP: Gap = frozenset()
NULLABLE: GapSet = frozenset({NO_GAP})
NEVER: GapSet = frozenset()


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a sub-pattern contributes: gaps before its first, after its last, between events, and when empty."""

    first: Mapping[int, GapSet]
    last: Mapping[int, GapSet]
    follow: Mapping[tuple[int, int], GapSet]
    empty: GapSet

    def edge_gaps(self) -> Iterable[Gap]:
        """Every gap at an edge of the fragment."""
        for gaps in (*self.first.values(), *self.last.values(), self.empty):
            yield from gaps


EMPTY = Fragment({}, {}, {}, NULLABLE)


def _both(left: GapSet, right: GapSet) -> GapSet:
    return frozenset(one | other for one, other in product(left, right))


def _union(*maps: Mapping[object, GapSet]) -> dict[object, GapSet]:
    merged: dict[object, GapSet] = {}
    for mapping in maps:
        for key, gaps in mapping.items():
            merged[key] = merged.get(key, NEVER) | gaps
    return merged


def _crossing(left: Fragment, right: Fragment) -> dict[tuple[int, int], GapSet]:
    return {
        (source, target): _both(after, before)
        for source, after in left.last.items()
        for target, before in right.first.items()
    }


def concatenate(left: Fragment, right: Fragment) -> Fragment:
    """SEQ of two fragments."""
    first = {position: _both(left.empty, gaps) for position, gaps in right.first.items() if left.empty}
    last = {position: _both(gaps, right.empty) for position, gaps in left.last.items() if right.empty}
    return Fragment(
        _union(left.first, first),  # type: ignore[arg-type]
        _union(right.last, last),  # type: ignore[arg-type]
        _union(left.follow, right.follow, _crossing(left, right)),  # type: ignore[arg-type]
        _both(left.empty, right.empty),
    )


def either(left: Fragment, right: Fragment) -> Fragment:
    """OR of two fragments."""
    return Fragment(
        _union(left.first, right.first),  # type: ignore[arg-type]
        _union(left.last, right.last),  # type: ignore[arg-type]
        _union(left.follow, right.follow),  # type: ignore[arg-type]
        left.empty | right.empty,
    )


def repeat(body: Fragment) -> Fragment:
    """Kleene plus: the last event of an iteration may precede the first of the next, with no gap rule."""
    follow = _union(body.follow, _crossing(body, body))  # type: ignore[arg-type]
    return Fragment(body.first, body.last, follow, body.empty)  # type: ignore[arg-type]


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
                raise self.refuse("E107", "NOT stands only inside SEQ", "write SEQ(A, NOT B, C)", pattern)
            case syntax.And():
                raise self.refuse(
                    "E111",
                    "AND of patterns stands only at the top of a pattern, between two sides",
                    "",
                    pattern,
                )
            case _:
                assert_never(pattern)

    def atom(self, atom: syntax.Atom) -> Fragment:
        index = len(self.positions)
        self.positions.append(Position(index, atom.type, atom.alias, self.side))
        return Fragment({index: NULLABLE}, {index: NULLABLE}, {}, NEVER)

    def part(self, pattern: syntax.Pattern) -> Fragment:
        if not isinstance(pattern, syntax.Not):
            return self.fragment(pattern, top=False)
        self.negations.append(negated(pattern, self.refuse))
        return Fragment({}, {}, {}, frozenset({frozenset({len(self.negations) - 1})}))

    def kleene_body(self, kleene: syntax.Pattern, body: syntax.Pattern) -> Fragment:
        self.check_not_bare(body, kleene)
        fragment = self.fragment(body, top=False)
        if any(fragment.edge_gaps()):
            message = (
                "NOT at the edge of a Kleene body has no meaning: the gap would reach out of the iteration"
            )
            raise self.refuse("E108", message, "put an event on both sides of NOT inside the body", kleene)
        return fragment

    def branch(self, branch: syntax.Pattern, *, top: bool) -> Fragment:
        self.check_not_bare(branch, branch)
        fragment = self.fragment(branch, top=top)
        if not top and any(fragment.edge_gaps()):
            message = "NOT at the edge of an OR branch below the top of the pattern has no meaning"
            raise self.refuse("E109", message, "write the OR at the top: (SEQ(...) OR SEQ(...))", branch)
        return fragment

    def check_not_bare(self, body: syntax.Pattern, culprit: syntax.Pattern) -> None:
        if isinstance(body, syntax.Not):
            raise self.refuse("E107", "NOT stands only inside SEQ", "write SEQ(A, NOT B, C)", culprit)

    def automaton(self, fragment: Fragment) -> Automaton:
        return Automaton(
            tuple(self.positions),
            tuple(Border(position, alternatives(gaps)) for position, gaps in sorted(fragment.first.items())),
            tuple(Edge(*pair, alternatives(gaps)) for pair, gaps in sorted(fragment.follow.items())),
            tuple(Border(position, alternatives(gaps)) for position, gaps in sorted(fragment.last.items())),
            tuple(self.negations),
        )


def negated(pattern: syntax.Not, refuse: Refuse) -> Automaton:
    """The automaton of the operand of NOT; it must be able to stand alone."""
    if isinstance(pattern.body, syntax.Not):
        raise refuse("E107", "NOT stands only inside SEQ", "NOT NOT P has no meaning", pattern)
    construction = _Construction(refuse)
    fragment = construction.fragment(pattern.body, top=False)
    if NO_GAP in fragment.empty:
        raise refuse(
            "E106", "the operand of NOT must not match the empty trend", "use + in place of * or ?", pattern
        )
    if any(fragment.edge_gaps()):
        raise refuse(
            "E110", "NOT at the edge of a negated pattern has no meaning", "nest it in the middle", pattern
        )
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
            what = "a side of AND" if len(sides) > 1 else "the pattern"
            raise refuse("E105", f"{what} must not match the empty trend", "use + in place of * or ?", part)
        fragments.append(fragment)
    return construction.automaton(reduce(either, fragments))
