"""Where an event finds the totals of the events before it: the access path of each edge, decided without a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from hamlet_core.language import syntax
from hamlet_core.language.syntax import ArithmeticOperator, ComparisonOperator
from hamlet_core.language.writer import write_expression
from hamlet_core.pattern.automaton import Automaton, Edge
from hamlet_core.pattern.conditions import attributes
from hamlet_core.pattern.meaning import AnalysedQuery


class Access(Enum):
    """How the older events of an edge are summed up, for n of them in the window; the value is its cost as text."""

    RUNNING_TOTAL = "O(1) running total"
    """No condition on the pair of events."""
    ORDERED_TREE = "O(log n) ordered tree"
    """One comparison, each side of which reads one of the two events, in columns that have an order."""
    PERHAPS_ORDERED = "O(log n) ordered tree if it can be rearranged, else O(n) scan"
    """One comparison of sums that column types may allow to bring into that form."""
    SCAN = "O(n) scan"
    """Any other condition on the pair, or an ambiguous pattern whose steps depend on the pair."""


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


def conditions_on(analysed: AnalysedQuery, automaton: Automaton, edge: Edge) -> tuple[syntax.Expression, ...]:
    """The adjacent conditions of an edge."""
    pair = automaton.positions[edge.source].alias, automaton.positions[edge.target].alias
    return tuple(
        condition.expression for condition in analysed.adjacent if (condition.left, condition.right) == pair
    )


def scanned_pairs(analysed: AnalysedQuery) -> str:
    """Why the sets of an ambiguous pattern depend on pairs of events; empty where they do not."""
    if not analysed.ambiguous:
        return ""
    edges = analysed.automaton.edges
    for edge in edges:
        if conditions := conditions_on(analysed, analysed.automaton, edge):
            return f"{_text(conditions)} in an ambiguous pattern"
    return "NOT in an ambiguous pattern" if any(edge.gap for edge in edges) else ""


def _step(analysed: AnalysedQuery, automaton: Automaton, edge: Edge, pairs: str) -> Step:
    conditions = conditions_on(analysed, automaton, edge)
    if pairs:
        return Step(edge.source, edge.target, Access.SCAN, _text(conditions) or pairs)
    return Step(edge.source, edge.target, _access(conditions), _text(conditions))


def _text(conditions: tuple[syntax.Expression, ...]) -> str:
    return " AND ".join(map(write_expression, conditions))


def _access(conditions: tuple[syntax.Expression, ...]) -> Access:
    match conditions:
        case ():
            return Access.RUNNING_TOTAL
        case (syntax.Comparison(operator, left, right),) if operator is not ComparisonOperator.UNEQUAL:
            if all(len(_events(side)) == 1 for side in (left, right)):
                return Access.ORDERED_TREE if _plain(left) and _plain(right) else Access.PERHAPS_ORDERED
            if all(_is_sum(side) for side in (left, right)):
                return Access.PERHAPS_ORDERED
    return Access.SCAN


def _events(expression: syntax.Expression) -> set[bool]:
    """Which of the two events an expression reads: the earlier one (False), NEXT (True)."""
    return {attribute.next for attribute in attributes(expression)}


def _plain(expression: syntax.Expression) -> bool:
    return isinstance(expression, syntax.Attribute)


def _is_sum(expression: syntax.Expression) -> bool:
    """Whether every term that reads both events is a sum or a difference, so that they can be parted."""
    if len(_events(expression)) < 2:
        return True
    match expression:
        case syntax.Arithmetic(ArithmeticOperator.ADD | ArithmeticOperator.SUBTRACT, left, right):
            return _is_sum(left) and _is_sum(right)
        case syntax.Minus(operand):
            return _is_sum(operand)
    return False


def negated_steps(analysed: AnalysedQuery) -> Iterator[tuple[Automaton, tuple[Step, ...]]]:
    """The access paths inside each negated pattern, nested ones after the one that holds them."""
    waiting = list(reversed(analysed.automaton.negations))
    while waiting:
        automaton = waiting.pop()
        waiting.extend(reversed(automaton.negations))
        yield automaton, access_paths(analysed, automaton)
