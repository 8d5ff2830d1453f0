"""What must hold of an automaton and of an analysed query after each stage; `InvariantError` names the stage.

Tests run these after every stage (`tests/conftest.py`); production does not. The sets of `neighbours` are computed
from the syntax alone, by the textbook's rules for first, last and follow, and so check the construction with gaps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any, NoReturn, assert_never

from hamlet_core.errors import InvariantError
from hamlet_core.language import syntax
from hamlet_core.pattern.ambiguity import Pair, ambiguous_pairs, predecessors, successors
from hamlet_core.pattern.automaton import Automaton, Border, Gap
from hamlet_core.pattern.meaning import AnalysedQuery


def _broken(stage: str, what: str) -> NoReturn:
    raise InvariantError(
        f"{stage}: {what}", code="E901", hint="this is our bug: please report it with the query"
    )


# --- the automaton -------------------------------------------------------------------------------


def check_automaton(automaton: Automaton, stage: str = "construction") -> None:
    """Positions numbered, borders and edges sorted and in range, gaps that exist, nothing unreachable or dead.

    Negated automata are checked likewise; theirs have one side and no gap at an edge. Raises InvariantError E901.
    """
    _check_numbers(automaton, stage)
    for gap in _all_gaps(automaton):
        if any(index not in range(len(automaton.negations)) for index in gap):
            _broken(stage, f"the gap {sorted(gap)} names a negated pattern that does not exist")
    _check_sides(automaton, stage)
    _check_reach(automaton, stage)
    for negation in automaton.negations:
        check_automaton(negation, f"{stage} of a negated pattern")
        if negation.sides != 1:
            _broken(stage, "a negated pattern has two sides")
        if any(border.gap for border in (*negation.starts, *negation.ends)):
            _broken(stage, "a negated pattern has a gap at its edge")


def _check_numbers(automaton: Automaton, stage: str) -> None:
    places = range(len(automaton.positions))
    if [position.index for position in automaton.positions] != list(places):
        _broken(stage, "positions are not numbered by their place")
    for borders in (automaton.starts, automaton.ends):
        if not borders:
            _broken(stage, "nothing starts, or nothing ends")
        _check_order([border.position for border in borders], stage, "borders")
        _check_range([border.position for border in borders], places, stage)
    _check_order([(edge.source, edge.target) for edge in automaton.edges], stage, "edges")
    _check_range([end for edge in automaton.edges for end in (edge.source, edge.target)], places, stage)


def _check_order(keys: Sequence[Any], stage: str, what: str) -> None:
    if any(not one < other for one, other in pairwise(keys)):
        _broken(stage, f"{what} are not sorted, or one stands twice")


def _check_range(indexes: Iterable[int], places: range, stage: str) -> None:
    if any(index not in places for index in indexes):
        _broken(stage, "a border or an edge names a position that does not exist")


def _all_gaps(automaton: Automaton) -> Iterable[Gap]:
    yield from (border.gap for border in (*automaton.starts, *automaton.ends))
    yield from (edge.gap for edge in automaton.edges)


def _check_sides(automaton: Automaton, stage: str) -> None:
    side = [position.side for position in automaton.positions]
    if any(side[edge.source] != side[edge.target] for edge in automaton.edges):
        _broken(stage, "an edge leads from one side of AND to the other")
    for borders in (automaton.starts, automaton.ends):
        if {side[border.position] for border in borders} != set(range(automaton.sides)):
            _broken(stage, "a side of AND does not start, or does not end")


def _check_reach(automaton: Automaton, stage: str) -> None:
    everything = set(range(len(automaton.positions)))
    if _reached(automaton.starts, successors(automaton)) != everything:
        _broken(stage, "no trend reaches some position")
    if _reached(automaton.ends, predecessors(automaton)) != everything:
        _broken(stage, "no trend can end after some position")


def _reached(borders: Iterable[Border], step: Mapping[int, tuple[int, ...]]) -> set[int]:
    found: set[int] = set()
    waiting = [border.position for border in borders]
    while waiting:
        position = waiting.pop()
        if position not in found:
            found.add(position)
            waiting.extend(step[position])
    return found


# --- ambiguity -----------------------------------------------------------------------------------


def check_ambiguous_pairs(automaton: Automaton, found: frozenset[Pair], stage: str = "ambiguity") -> None:
    """Ambiguous pairs are different positions of one type, in both orders; raises InvariantError E901."""
    for one, other in found:
        if one == other or automaton.positions[one].type != automaton.positions[other].type:
            _broken(stage, f"positions {one} and {other} cannot be ambiguous pairs")
        if (other, one) not in found:
            _broken(stage, f"{one} is ambiguous with {other}, but not the other way round")


# --- the query -----------------------------------------------------------------------------------


def check_analysed(analysed: AnalysedQuery, stage: str = "meaning") -> None:
    """The automaton belongs to the pattern, and conditions and aggregates name what is in it.

    Raises InvariantError E901.
    """
    automaton = analysed.automaton
    check_automaton(automaton, stage)
    check_against_syntax(analysed.query.pattern, automaton, stage)
    check_ambiguous_pairs(automaton, ambiguous_pairs(automaton), stage)
    if analysed.ambiguous != bool(ambiguous_pairs(automaton)):
        _broken(stage, "the query is called ambiguous and has no ambiguous pairs, or the other way round")
    bound = _aliases(automaton)
    if any(condition.alias not in bound for condition in analysed.local):
        _broken(stage, "a local condition reads an alias that is not bound")
    edges = {(source.alias, target.alias) for source, target in automaton.all_edges()}
    if any((condition.left, condition.right) not in edges for condition in analysed.adjacent):
        _broken(stage, "an adjacent condition stands on no edge")
    if len(analysed.operands) != len(analysed.query.aggregates) or any(
        operand is not None and operand not in automaton.aliases() for operand in analysed.operands
    ):
        _broken(stage, "an aggregate reads an alias that no trend binds")
    for names in (analysed.equivalence, analysed.group_by):
        if len(set(names)) != len(names):
            _broken(stage, "a partition attribute stands twice")


def _aliases(automaton: Automaton) -> frozenset[str]:
    return automaton.aliases().union(*(_aliases(negation) for negation in automaton.negations))


def check_against_syntax(pattern: syntax.Pattern, automaton: Automaton, stage: str = "meaning") -> None:
    """Positions are the atoms of the pattern in their order; starts, edges and ends are first, follow and last."""
    atoms: list[tuple[str, str]] = []
    neighbours = _neighbours(pattern, atoms)
    if [(position.type, position.alias) for position in automaton.positions] != atoms:
        _broken(stage, "the positions are not the atoms of the pattern")
    found = Neighbours(
        frozenset(border.position for border in automaton.starts),
        frozenset(border.position for border in automaton.ends),
        frozenset((edge.source, edge.target) for edge in automaton.edges),
        False,
    )
    if found != neighbours:
        _broken(stage, f"the pattern has {neighbours}, the automaton {found}")


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Glushkov's sets of a pattern without its NOTs: first, last and follow positions, and whether it can be empty."""

    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    follow: frozenset[tuple[int, int]] = frozenset()
    empty: bool = True


def _neighbours(  # noqa: PLR0911 - a line per class of a closed family
    pattern: syntax.Pattern, atoms: list[tuple[str, str]]
) -> Neighbours:
    """The sets of a pattern; its atoms outside NOT are appended to `atoms`."""
    match pattern:
        case syntax.Atom(type_name, alias):
            atoms.append((type_name, alias))
            here = frozenset({len(atoms) - 1})
            return Neighbours(here, here, frozenset(), empty=False)
        case syntax.Not():
            return Neighbours()
        case syntax.Plus(body):
            return _looped(_neighbours(body, atoms))
        case syntax.Star(body):
            return replace(_looped(_neighbours(body, atoms)), empty=True)
        case syntax.Optional(body):
            return replace(_neighbours(body, atoms), empty=True)
        case syntax.Seq(parts):
            return reduce(_then, [_neighbours(part, atoms) for part in parts], Neighbours())
        case syntax.Or(branches):
            return reduce(_or, [_neighbours(branch, atoms) for branch in branches])
        case syntax.And(left, right):
            return _or(_neighbours(left, atoms), _neighbours(right, atoms))
        case _:
            assert_never(pattern)


def _looped(body: Neighbours) -> Neighbours:
    return replace(body, follow=body.follow | {(end, start) for end in body.last for start in body.first})


def _then(left: Neighbours, right: Neighbours) -> Neighbours:
    return Neighbours(
        left.first | right.first if left.empty else left.first,
        right.last | left.last if right.empty else right.last,
        left.follow | right.follow | {(end, start) for end in left.last for start in right.first},
        left.empty and right.empty,
    )


def _or(left: Neighbours, right: Neighbours) -> Neighbours:
    return Neighbours(
        left.first | right.first,
        left.last | right.last,
        left.follow | right.follow,
        left.empty or right.empty,
    )
