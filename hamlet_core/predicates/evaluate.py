"""Expressions to closures over the columns of a stream; three-valued, as SQL (SEMANTICS 2).

- A missing value, division by zero and overflow give NULL; `arithmetic` says how each kind of number counts.
- An integer compares exactly with every number. A decimal compares exactly with integers and decimals; with a
  double it is taken as the nearest double, so `v = 0.1` finds the double 0.1.
- Text is ordered by code points; FALSE is less than TRUE.
- A duration beside integer time is turned into ticks. A constant one must be a whole number of ticks (E220).
- `x BETWEEN a AND b` is `x >= a AND x <= b`; `x IN (a, b)` is `x = a OR x = b`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias, assert_never

from hamlet_core.errors import InvariantError
from hamlet_core.language.syntax import (
    Arithmetic,
    Attribute,
    Between,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Disjunction,
    Duration,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Minus,
    Negation,
    Span,
    Timestamp,
)
from hamlet_core.predicates.arithmetic import minus, operation, to_double
from hamlet_core.predicates.like import matcher
from hamlet_core.predicates.logic import Truth, all_of, any_of, negate
from hamlet_core.predicates.typing import arithmetic_kind, check
from hamlet_core.table.encode import Column, ticks
from hamlet_core.table.kinds import Kind, literal_kind

Evaluator: TypeAlias = Callable[[int, int], Any]

_COMPARISONS: dict[ComparisonOperator, Callable[[Any, Any], bool]] = {
    ComparisonOperator.EQUAL: operator.eq,
    ComparisonOperator.UNEQUAL: operator.ne,
    ComparisonOperator.LESS: operator.lt,
    ComparisonOperator.AT_MOST: operator.le,
    ComparisonOperator.GREATER: operator.gt,
    ComparisonOperator.AT_LEAST: operator.ge,
}
_TICKS = frozenset({Kind.TICK, Kind.TICK_DIFFERENCE})


def compile_local(
    expression: Expression, columns: Mapping[str, Column], *, unit: int, text: str = ""
) -> Callable[[int], Truth]:
    """The condition as a function of a row index; `unit` is microseconds per tick of the stream.

    Raises QueryMeaningError as `typing.check`, and E220 for a duration finer than the unit.

    >>> from hamlet_core.language.syntax import ComparisonOperator
    >>> column = Column("v", Kind.INTEGER, 0, [3, None, 8])
    >>> over = Comparison(ComparisonOperator.GREATER, Attribute("a", "v"), Literal(5))
    >>> [compile_local(over, {"v": column}, unit=1)(row) for row in range(3)]
    [False, None, True]
    """
    node = _Compiler(columns, unit, text).condition(expression)
    if node.of_row is not None:
        return node.of_row
    evaluate = node.evaluate
    return lambda row: evaluate(row, row)


def compile_adjacent(
    expression: Expression, columns: Mapping[str, Column], *, unit: int, text: str = ""
) -> Callable[[int, int], Truth]:
    """The condition as a function of two row indices: the left alias' event, and the NEXT alias' event.

    Raises as `compile_local`.
    """
    return _Compiler(columns, unit, text).condition(expression).evaluate


def compile_value(
    expression: Expression, columns: Mapping[str, Column], *, unit: int, text: str = ""
) -> tuple[Kind, Evaluator]:
    """A part of a condition that was checked: its kind, and its value for two row indices."""
    node = _Compiler(columns, unit, text).node(expression)
    return node.kind, node.evaluate


@dataclass(frozen=True, slots=True)
class _Node:
    """A compiled expression; `constant` needs no row, `values` are set where it is just a column."""

    kind: Kind
    evaluate: Evaluator
    constant: bool = False
    values: list[Any] | None = None
    following: bool = False
    span: Span | None = None
    of_row: Callable[[int], Truth] | None = None

    @property
    def value(self) -> Any:
        """The value of a constant."""
        return self.evaluate(0, 0)


def _constant(kind: Kind, value: Any, span: Span | None = None) -> _Node:
    return _Node(kind, lambda _left, _right: value, constant=True, span=span)


class _Compiler:
    """Builds closures bottom up; holds what every step needs and nothing that changes."""

    def __init__(self, columns: Mapping[str, Column], unit: int, text: str) -> None:
        self.columns = columns
        self.unit = unit
        self.text = text

    def condition(self, expression: Expression) -> _Node:
        check(expression, lambda attribute: self._column(attribute).kind, text=self.text)
        return self.node(expression)

    def node(self, expression: Expression) -> _Node:  # noqa: C901, PLR0911, PLR0912 - a line per class of a closed family
        match expression:
            case Literal():
                return _literal(expression)
            case Attribute():
                return self._attribute(expression)
            case Arithmetic():
                return _folded(self._arithmetic(expression), expression)
            case Minus():
                return _folded(self._minus(expression), expression)
            case Comparison():
                return self._compare(
                    expression.operator, self.node(expression.left), self.node(expression.right)
                )
            case Conjunction():
                return _connected(all_of, tuple(self.node(part) for part in expression.parts))
            case Disjunction():
                return _connected(any_of, tuple(self.node(part) for part in expression.parts))
            case Negation():
                return _negated(self.node(expression.operand), True)
            case InList():
                return _negated(self._in_list(expression), expression.negated)
            case Between():
                return _negated(self._between(expression), expression.negated)
            case IsNull():
                return _is_null(self.node(expression.operand), expression.negated)
            case Like():
                return _negated(_like(self.node(expression.operand), expression.pattern), expression.negated)
            case _:
                assert_never(expression)

    def _column(self, attribute: Attribute) -> Column:
        try:
            return self.columns[attribute.name]
        except KeyError:
            raise InvariantError(
                f"predicates: column {attribute.name!r} was not encoded", code="E920"
            ) from None

    def _attribute(self, attribute: Attribute) -> _Node:
        column = self._column(attribute)
        values = column.values
        if attribute.next:
            return _Node(column.kind, lambda _, right: values[right], values=values, following=True)
        return _Node(column.kind, lambda left, _: values[left], values=values)

    def _arithmetic(self, expression: Arithmetic) -> _Node:
        left, right = self.node(expression.left), self.node(expression.right)
        kind = arithmetic_kind(expression.operator, left.kind, right.kind)
        if kind is None:
            raise InvariantError("predicates: arithmetic was not checked before compilation", code="E921")
        left, right = self._in_ticks(left, right)
        first, second, operate = left.evaluate, right.evaluate, operation(expression.operator)

        def evaluate(here: int, there: int) -> Any:
            x, y = first(here, there), second(here, there)
            return None if x is None or y is None else operate(x, y)

        return _Node(kind, evaluate, constant=left.constant and right.constant)

    def _minus(self, expression: Minus) -> _Node:
        node = self.node(expression.operand)
        inner = node.evaluate

        def evaluate(here: int, there: int) -> Any:
            value = inner(here, there)
            return None if value is None else minus(value)

        return _Node(Kind.INTEGER if node.kind is Kind.TICK else node.kind, evaluate, constant=node.constant)

    def _in_ticks(self, left: _Node, right: _Node) -> tuple[_Node, _Node]:
        """Beside integer time (or its differences) a duration counts in ticks."""
        if left.kind in _TICKS and right.kind is Kind.DURATION:
            return left, self._ticks(right)
        if right.kind in _TICKS and left.kind is Kind.DURATION:
            return self._ticks(left), right
        return left, right

    def _ticks(self, node: _Node) -> _Node:
        unit, inner = self.unit, node.evaluate
        if node.constant:
            return _constant(Kind.TICK_DIFFERENCE, self._constant_ticks(node.value, node.span))

        def evaluate(here: int, there: int) -> Any:
            value = inner(here, there)
            if value is None:
                return None
            exact = Fraction(value) / unit
            return exact.numerator if exact.denominator == 1 else exact

        return _Node(Kind.TICK_DIFFERENCE, evaluate)

    def _constant_ticks(self, value: Any, span: Span | None) -> int | None:
        if value is None:
            return None
        exact = Fraction(value)
        # A part of a microsecond is finer than any unit; rounding it away would hide that.
        whole = exact.numerator if exact.denominator == 1 else 1
        return ticks(whole, self.unit if exact.denominator == 1 else 2, span=span, text=self.text)

    def _comparable(self, left: _Node, right: _Node) -> tuple[_Node, _Node]:
        if left.kind is Kind.DOUBLE and right.kind is Kind.DECIMAL:
            return left, _as_double(right)
        if right.kind is Kind.DOUBLE and left.kind is Kind.DECIMAL:
            return _as_double(left), right
        return self._in_ticks(left, right)

    def _compare(self, comparison: ComparisonOperator, left: _Node, right: _Node) -> _Node:
        left, right = self._comparable(left, right)
        compare = _COMPARISONS[comparison]
        if left.values is not None and right.constant:
            return _column_with_constant(left.values, left.following, compare, right.value)
        if left.values is not None and right.values is not None and not left.following and right.following:
            return _column_with_next(left.values, compare, right.values)
        first, second = left.evaluate, right.evaluate

        def evaluate(here: int, there: int) -> Truth:
            x, y = first(here, there), second(here, there)
            return None if x is None or y is None else compare(x, y)

        return _Node(Kind.BOOLEAN, evaluate, constant=left.constant and right.constant)

    def _between(self, expression: Between) -> _Node:
        operand = self.node(expression.operand)
        low = self._compare(ComparisonOperator.AT_LEAST, operand, self.node(expression.low))
        high = self._compare(ComparisonOperator.AT_MOST, operand, self.node(expression.high))
        return _connected(all_of, (low, high))

    def _in_list(self, expression: InList) -> _Node:
        operand = self.node(expression.operand)
        pairs = [self._comparable(operand, self.node(item)) for item in expression.items]
        if all(left is operand and right.constant for left, right in pairs):
            return _member(operand, [right.value for _, right in pairs])
        equal = (self._compare(ComparisonOperator.EQUAL, left, right) for left, right in pairs)
        return _connected(any_of, tuple(equal))


def _literal(literal: Literal) -> _Node:
    value = literal.value
    plain = value.microseconds if isinstance(value, Timestamp | Duration) else value
    return _constant(literal_kind(value), plain, literal.span)


def _folded(node: _Node, expression: Expression) -> _Node:
    """A constant expression is computed once."""
    return _constant(node.kind, node.value, expression.span) if node.constant else node


def _as_double(node: _Node) -> _Node:
    inner = node.evaluate
    if node.constant:
        value = node.value
        return _constant(Kind.DOUBLE, None if value is None else to_double(value), node.span)

    def evaluate(here: int, there: int) -> float | None:
        value = inner(here, there)
        return None if value is None else to_double(value)

    return _Node(Kind.DOUBLE, evaluate)


def _column_with_constant(
    values: list[Any], following: bool, compare: Callable[[Any, Any], bool], constant: Any
) -> _Node:
    """`column op constant`, the most common local predicate."""

    def of_row(row: int) -> Truth:
        value = values[row]
        return None if value is None or constant is None else compare(value, constant)

    def evaluate(here: int, there: int) -> Truth:
        value = values[there if following else here]
        return None if value is None or constant is None else compare(value, constant)

    return _Node(Kind.BOOLEAN, evaluate, of_row=of_row)


def _column_with_next(left: list[Any], compare: Callable[[Any, Any], bool], right: list[Any]) -> _Node:
    """`left.column op NEXT(right).column`, the most common adjacent predicate."""

    def evaluate(here: int, there: int) -> Truth:
        x, y = left[here], right[there]
        return None if x is None or y is None else compare(x, y)

    return _Node(Kind.BOOLEAN, evaluate)


def _connected(connect: Callable[[Any], Truth], parts: tuple[_Node, ...]) -> _Node:
    evaluators = tuple(part.evaluate for part in parts)
    node = _Node(
        Kind.BOOLEAN,
        lambda here, there: connect(evaluate(here, there) for evaluate in evaluators),
        constant=all(part.constant for part in parts),
    )
    rows = tuple(part.of_row for part in parts)
    if None in rows:
        return node
    return replace(
        node, of_row=lambda row: connect(evaluate(row) for evaluate in rows if evaluate is not None)
    )


def _negated(node: _Node, negated: bool) -> _Node:
    if not negated:
        return node
    evaluate, of_row = node.evaluate, node.of_row
    return _Node(
        Kind.BOOLEAN,
        lambda here, there: negate(evaluate(here, there)),
        constant=node.constant,
        of_row=None if of_row is None else lambda row: negate(of_row(row)),
    )


def _is_null(node: _Node, negated: bool) -> _Node:
    inner = node.evaluate
    return _Node(
        Kind.BOOLEAN, lambda here, there: (inner(here, there) is None) != negated, constant=node.constant
    )


def _like(node: _Node, pattern: str) -> _Node:
    inner, matches = node.evaluate, matcher(pattern)

    def evaluate(here: int, there: int) -> Truth:
        value = inner(here, there)
        return None if value is None else matches(value)

    return _Node(Kind.BOOLEAN, evaluate, constant=node.constant)


def _member(node: _Node, items: list[Any]) -> _Node:
    """IN over constants: equal numbers hash alike, whatever their class."""
    inner = node.evaluate
    members = frozenset(item for item in items if item is not None)
    absent: Truth = None if None in items else False

    def evaluate(here: int, there: int) -> Truth:
        value = inner(here, there)
        return None if value is None else (value in members or absent)

    return _Node(Kind.BOOLEAN, evaluate, constant=node.constant)
