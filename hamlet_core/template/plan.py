"""Meaning in, plan out: the types, columns and partition attributes a query reads. Needs no table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hamlet_core.language import syntax
from hamlet_core.pattern.conditions import attributes
from hamlet_core.pattern.meaning import AnalysedQuery


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What one query reads; `within` and `slide` are microseconds, the partition is `equivalence` + `group_by`."""

    name: str
    query: syntax.Query
    types: frozenset[str]
    """Event types, positive and negated."""
    columns: tuple[str, ...]
    """Attributes as written in the query (`time` and `type` included where a query reads them), sorted."""
    numeric_columns: tuple[str, ...]
    """Those that must be numbers: aggregated, calculated with, or compared with a number."""
    equivalence: tuple[str, ...]
    group_by: tuple[str, ...]
    within: int
    slide: int
    every_type: bool = False
    """Whether events of all types matter, by their time: SEMANTICS contiguous."""


def types_read(plans: Iterable[QueryPlan]) -> frozenset[str] | None:
    """The types whose events some of the queries read; None where one reads those of every type."""
    plans = tuple(plans)
    if any(plan.every_type for plan in plans):
        return None
    return frozenset().union(*(plan.types for plan in plans))


def plan_query(analysed: AnalysedQuery) -> QueryPlan:
    """The plan of one query."""
    query = analysed.query
    aggregated = {aggregate.attribute for aggregate in query.aggregates if aggregate.attribute is not None}
    expressions = analysed.conditions()
    read = {attribute.name for attribute in attributes(expressions)}
    calculated = {name for expression in expressions for name in _numbers(expression)}
    return QueryPlan(
        query.name,
        query,
        analysed.automaton.types(),
        tuple(sorted(read | aggregated | set(analysed.equivalence) | set(analysed.group_by))),
        tuple(sorted(calculated | aggregated)),
        analysed.equivalence,
        analysed.group_by,
        query.within.microseconds,
        query.slide.microseconds,
        query.mode is syntax.Mode.CONTIGUOUS,
    )


def _numbers(expression: object) -> Iterator[str]:
    """Attributes that an expression can only mean as numbers."""
    match expression:
        case syntax.Arithmetic(operator, left, right):
            if operator in _SCALING:
                yield from _plain(left)
                yield from _plain(right)
            yield from _numbers(left)
            yield from _numbers(right)
        case syntax.Comparison(_, left, right):
            yield from _compared((left, right))
        case syntax.Between(operand, low, high):
            yield from _compared((operand, low, high))
        case syntax.InList(operand, items):
            yield from _compared((operand, *items))
        case syntax.Conjunction(parts) | syntax.Disjunction(parts):
            for part in parts:
                yield from _numbers(part)
        case syntax.Negation(operand) | syntax.Minus(operand) | syntax.IsNull(operand) | syntax.Like(operand):
            yield from _numbers(operand)


_SCALING = (
    syntax.ArithmeticOperator.MULTIPLY,
    syntax.ArithmeticOperator.DIVIDE,
    syntax.ArithmeticOperator.MODULO,
)


def _compared(operands: tuple[syntax.Expression, ...]) -> Iterator[str]:
    if any(_is_number(operand) for operand in operands):
        for operand in operands:
            yield from _plain(operand)
    for operand in operands:
        yield from _numbers(operand)


def _is_number(expression: syntax.Expression) -> bool:
    match expression:
        case syntax.Literal(value):
            return (
                not isinstance(value, bool | str | syntax.Timestamp | syntax.Duration) and value is not None
            )
        case syntax.Arithmetic(_, left, right):
            return _is_number(left) or _is_number(right)
        case syntax.Minus(operand):
            return _is_number(operand)
    return False


def _plain(expression: syntax.Expression) -> Iterator[str]:
    """Attributes added or subtracted at the top of an expression, unless a time takes part in it."""
    match expression:
        case syntax.Attribute(_, name):
            if name != "time":
                yield name
        case syntax.Arithmetic(_, left, right):
            yield from _plain(left)
            yield from _plain(right)
        case syntax.Minus(operand):
            yield from _plain(operand)
