"""Where an event finds the totals of the events before it: the access path of each edge, decided without a table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hamlet_core.language import syntax
from hamlet_core.language.syntax import ArithmeticOperator, ComparisonOperator
from hamlet_core.language.writer import write_expression
from hamlet_core.pattern.automaton import Automaton, Edge
from hamlet_core.pattern.conditions import attributes
from hamlet_core.pattern.meaning import AnalysedQuery

_LARGEST_FIRST = {
    ComparisonOperator.LESS: False,
    ComparisonOperator.AT_MOST: False,
    ComparisonOperator.GREATER: True,
    ComparisonOperator.AT_LEAST: True,
}
"""By the comparison of an older event with the next one: whether those with the largest values are taken first."""


class Access(Enum):
    """How the older events of an edge are summed up, for n of them in the window; the value is its cost as text."""

    RUNNING_TOTAL = "O(1) running total"
    """No condition on the pair of events."""
    ORDERED_TREE = "O(log n) ordered tree"
    """One comparison (for != two trees), each side of which reads one of the two events."""
    PERHAPS_ORDERED = "O(log n) ordered tree if it can be rearranged, else O(n) scan"
    """One comparison of sums over both events: types and values of the columns decide whether they can be parted."""
    SCAN = "O(n) scan"
    """Any other condition on the pair, one beside NOT or inside it, or an ambiguous pattern whose steps depend on it."""


@dataclass(frozen=True, slots=True)
class Step:
    """The access path of one edge of an automaton, and the conditions that ask for it (empty: none)."""

    source: int
    target: int
    access: Access
    because: str


def access_paths(analysed: AnalysedQuery, automaton: Automaton | None = None) -> tuple[Step, ...]:
    """One step for each edge of the query's automaton, or of one of its negated automata."""
    automaton = automaton or analysed.automaton
    pairs = scanned_pairs(analysed) if automaton is analysed.automaton else ""
    return tuple(_step(analysed, automaton, edge, pairs) for edge in automaton.edges)


def conditions_text(analysed: AnalysedQuery, automaton: Automaton, edge: Edge) -> str:
    """The adjacent conditions of an edge, joined by AND; empty where it has none."""
    return " AND ".join(map(write_expression, _conditions(analysed, automaton, edge)))


def taken_in_order(analysed: AnalysedQuery, edge: Edge) -> bool:
    """Whether one order of the older events says which of them an edge takes: none behind one that it does not.

    All edges from the position that have a condition must have the same order, in which the events are kept there.
    """
    orders = {
        _order(_conditions(analysed, analysed.automaton, other))
        for other in analysed.automaton.edges
        if other.source == edge.source and _conditions(analysed, analysed.automaton, other)
    }
    return len(orders) == 1 and None not in orders and bool(_conditions(analysed, analysed.automaton, edge))


def _order(conditions: tuple[syntax.Expression, ...]) -> tuple[str, bool] | None:
    """(what of the older event is compared, whether the largest are taken first); None where no order tells."""
    comparison = _comparison(conditions[0]) if len(conditions) == 1 else None
    if comparison is None or comparison.operator not in _LARGEST_FIRST:
        return None
    negated = isinstance(conditions[0], syntax.Negation)
    older, newer = comparison.left, comparison.right
    falling = _LARGEST_FIRST[comparison.operator] != negated
    if _events(older) == {True}:
        older, newer, falling = newer, older, not falling
    if True in _events(older) or False in _events(newer):
        return (write_expression(comparison), falling) if all(map(_is_sum, (older, newer))) else None
    return write_expression(older), falling


def scanned_pairs(analysed: AnalysedQuery) -> str:
    """Why the sets of an ambiguous pattern depend on pairs of events; empty where they do not."""
    if not analysed.ambiguous:
        return ""
    edges = analysed.automaton.edges
    for edge in edges:
        if conditions := conditions_text(analysed, analysed.automaton, edge):
            return f"{conditions} in an ambiguous pattern"
    return "NOT in an ambiguous pattern" if any(edge.gap for edge in edges) else ""


def _conditions(analysed: AnalysedQuery, automaton: Automaton, edge: Edge) -> tuple[syntax.Expression, ...]:
    pair = automaton.positions[edge.source].alias, automaton.positions[edge.target].alias
    found = (one for one in analysed.adjacent if (one.left, one.right) == pair)
    return tuple(one.expression for one in found)


def _step(analysed: AnalysedQuery, automaton: Automaton, edge: Edge, pairs: str) -> Step:
    conditions = _conditions(analysed, automaton, edge)
    negated = automaton is not analysed.automaton
    access = Access.SCAN if pairs or (conditions and (negated or edge.gap)) else _access(conditions)
    return Step(edge.source, edge.target, access, conditions_text(analysed, automaton, edge) or pairs)


def _access(conditions: tuple[syntax.Expression, ...]) -> Access:
    if not conditions:
        return Access.RUNNING_TOTAL
    comparison = _comparison(conditions[0]) if len(conditions) == 1 else None
    if comparison is None:
        return Access.SCAN
    both = comparison.left, comparison.right
    if all(len(_events(side)) == 1 for side in both):
        return Access.ORDERED_TREE
    return Access.PERHAPS_ORDERED if all(map(_is_sum, both)) else Access.SCAN


def _comparison(expression: syntax.Expression) -> syntax.Comparison | None:
    """The condition as one comparison by order or equality; None if it is none."""
    match expression:
        case syntax.Comparison() as comparison:
            return comparison
        case syntax.Negation(syntax.Comparison() as comparison):
            return comparison
    return None


def _events(expression: syntax.Expression) -> set[bool]:
    """Which of the two events an expression reads: the earlier one (False), NEXT (True)."""
    return {attribute.next for attribute in attributes(expression)}


def _is_sum(expression: syntax.Expression) -> bool:
    """Whether sums, differences and constant factors are all that joins the two events: then they can be parted."""
    if len(_events(expression)) < 2:
        return True
    match expression:
        case syntax.Arithmetic(ArithmeticOperator.ADD | ArithmeticOperator.SUBTRACT, left, right):
            return _is_sum(left) and _is_sum(right)
        case syntax.Arithmetic(ArithmeticOperator.MULTIPLY, left, right):
            return any(not _events(side) for side in (left, right)) and _is_sum(left) and _is_sum(right)
        case syntax.Minus(operand):
            return _is_sum(operand)
    return False
