"""Local predicates for all rows of a stream at once, with the meaning of `evaluate` in every corner.

Numbers are compared and combined as arrays (`vectors`), text once per word of the dictionary. A condition that machine
numbers do not decide exactly is left to the closure of `evaluate`, once per combination of values that occurs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np

from hamlet_core.language.syntax import (
    Arithmetic,
    Attribute,
    Between,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Disjunction,
    Expression,
    InList,
    IsNull,
    Like,
    Minus,
    Negation,
)
from hamlet_core.predicates.comparing import compare, members
from hamlet_core.predicates.distinct import combinations
from hamlet_core.predicates.evaluate import compile_local, compile_value
from hamlet_core.predicates.like import matcher
from hamlet_core.predicates.opening import Value, opened, values_of
from hamlet_core.predicates.truths import (
    Texts,
    Truth,
    both_hold,
    by_word,
    compare_text,
    looked_up,
    one_holds,
    opposite_of,
    where_valid,
)
from hamlet_core.predicates.typing import arithmetic_kind
from hamlet_core.predicates.vectors import (
    Constant,
    Form,
    Mask,
    Unsupported,
    Vector,
    both,
    calculate,
    doubles,
    is_null,
    opposite,
    valid_of,
)
from hamlet_core.table.kinds import Kind
from hamlet_core.table.stream import Column

__all__ = ["local_mask", "values_of"]

_TICKS = frozenset({Kind.TICK, Kind.TICK_DIFFERENCE})


def local_mask(
    expression: Expression,
    columns: Mapping[str, Column],
    *,
    unit: int,
    text: str = "",
    count: int | None = None,
) -> Mask:
    """The rows, as a Boolean array, where `evaluate.compile_local(expression, ...)` is TRUE.

    `count` is the number of rows where there may be no column. Raises as `compile_local`.

    >>> from hamlet_core.language.syntax import Literal
    >>> column = Column("v", Kind.INTEGER, 0, [3, None, 8])
    >>> over = Comparison(ComparisonOperator.GREATER, Attribute("a", "v"), Literal(5))
    >>> local_mask(over, {"v": column}, unit=1).tolist()
    [False, False, True]
    """
    empty = {name: Column(name, one.kind, one.scale, []) for name, one in columns.items()}
    compile_local(expression, empty, unit=unit, text=text)
    rows = count if count is not None else max((len(one.data) for one in columns.values()), default=0)
    return _Evaluation(columns, unit, rows).truth(expression).yes


def whole_column(expression: Expression, columns: Mapping[str, Column], *, unit: int) -> Value:
    """The value of a part of a condition that was checked, for all rows; Unsupported where `vectors` cannot say."""
    rows = max((len(one.data) for one in columns.values()), default=0)
    return _Evaluation(columns, unit, rows).operand(expression)


@dataclass(slots=True)
class _Evaluation:
    """Evaluates expressions bottom up; mutable only in that it keeps the columns it has opened."""

    columns: Mapping[str, Column]
    unit: int
    rows: int
    opened: dict[str, Value] = field(default_factory=dict)

    # --- conditions ---

    def truth(self, expression: Expression) -> Truth:
        match expression:
            case Conjunction(parts):
                return reduce(both_hold, map(self.truth, parts))
            case Disjunction(parts):
                return reduce(one_holds, map(self.truth, parts))
            case Negation(operand):
                return opposite_of(self.truth(operand))
            case Between(operand, low, high, negated):
                above = Comparison(ComparisonOperator.AT_LEAST, operand, low)
                truth = both_hold(
                    self.truth(above), self.truth(Comparison(ComparisonOperator.AT_MOST, operand, high))
                )
                return opposite_of(truth) if negated else truth
        try:
            return self._plain(expression)
        except Unsupported:
            return self._by_value(expression)

    def _plain(self, expression: Expression) -> Truth:
        """A condition that is no combination of others."""
        if next(_names(expression), None) is None:
            return self._of_value(self.operand(expression))
        match expression:
            case Comparison(operator, left, right):
                return self._compare(operator, self.operand(left), self.operand(right))
            case InList(operand, items, negated):
                truth = self._in_list(operand, items)
                return opposite_of(truth) if negated else truth
            case Like(operand, pattern, negated):
                truth = self._like(self.operand(operand), pattern)
                return opposite_of(truth) if negated else truth
            case IsNull(operand, negated):
                truth = self._is_null(self.operand(operand))
                return opposite_of(truth) if negated else truth
        return self._of_value(self.operand(expression))

    def _of_value(self, value: Value) -> Truth:
        """A Boolean column or a constant as a condition."""
        if isinstance(value, Constant):
            yes, no = value.value is True, value.value is False
            return Truth(np.full(self.rows, yes), np.full(self.rows, no))
        if isinstance(value, Texts):
            raise Unsupported
        return where_valid(value.numbers != 0, value.valid)

    def _by_value(self, expression: Expression) -> Truth:
        """The closure of the condition, once per combination of the values it reads."""
        names = list(dict.fromkeys(_names(expression)))
        codes, few = combinations(self.columns, names)
        test = compile_local(expression, few, unit=self.unit)
        truths = [test(row) for row in range(len(few[names[0]].values))]
        return looked_up(truths, codes)

    def _compare(self, operator: ComparisonOperator, left: Value, right: Value) -> Truth:
        if is_null(left) or is_null(right):
            return self._of_value(Constant(Kind.NULL, None))
        if isinstance(left, Texts) or isinstance(right, Texts):
            return compare_text(operator, left, right)
        x, y = self._comparable(left, right)
        valid = both(valid_of(x), valid_of(y))
        return where_valid(compare(operator, x, y), valid)

    def _comparable(self, left: Vector | Constant, right: Vector | Constant) -> tuple[Any, Any]:
        """A decimal beside a double is the nearest double, a duration beside integer time counts in ticks."""
        if left.kind is Kind.DOUBLE and right.kind is Kind.DECIMAL:
            return left, _as_double(right)
        if right.kind is Kind.DOUBLE and left.kind is Kind.DECIMAL:
            return _as_double(left), right
        return self._in_ticks(left, right)

    def _in_list(self, operand: Expression, items: tuple[Expression, ...]) -> Truth:
        value = self.operand(operand)
        if all(next(_names(item), None) is None for item in items) and not is_null(value):
            constants = [self.operand(item) for item in items]
            known = [item for item in constants if not is_null(item)]
            truth = self._among(value, known)
            if truth is not None:
                return truth if len(known) == len(constants) else replace(truth, no=np.zeros_like(truth.yes))
        return reduce(
            one_holds, [self.truth(Comparison(ComparisonOperator.EQUAL, operand, item)) for item in items]
        )

    def _among(self, value: Value, items: list[Any]) -> Truth | None:
        """Whether a value is one of constants that are not NULL; None if that is not one look-up."""
        if isinstance(value, Texts):
            among = {item.value for item in items}
            return by_word(value, lambda word: word in among)
        if isinstance(value, Constant):
            return None
        pairs = [self._comparable(value, item) for item in items]
        if any(left is not value for left, _ in pairs):
            return None
        return where_valid(members(value, [item.value for _, item in pairs]), value.valid)

    def _like(self, value: Value, pattern: str) -> Truth:
        if is_null(value):
            return self._of_value(Constant(Kind.NULL, None))
        if not isinstance(value, Texts):
            raise Unsupported
        return by_word(value, matcher(pattern))

    def _is_null(self, value: Value) -> Truth:
        if isinstance(value, Constant):
            return Truth(np.full(self.rows, value.value is None))
        return Truth(np.zeros(self.rows, np.bool_) if value.valid is None else ~value.valid)

    # --- values ---

    def operand(self, expression: Expression) -> Value:
        """The value of any expression."""
        if next(_names(expression), None) is None:
            kind, evaluate = compile_value(expression, {}, unit=self.unit)
            return Constant(kind, evaluate(0, 0))
        match expression:
            case Attribute(name=name):
                if name not in self.opened:
                    self.opened[name] = opened(self.columns[name])
                return self.opened[name]
            case Arithmetic(operator, left, right):
                x, y = self.operand(left), self.operand(right)
                result = arithmetic_kind(operator, x.kind, y.kind)
                if result is None or isinstance(x, Texts) or isinstance(y, Texts):
                    raise Unsupported
                return calculate(operator, *self._in_ticks(x, y), result)
            case Minus(operand):
                value = self.operand(operand)
                if isinstance(value, Texts):
                    raise Unsupported
                return opposite(value, Kind.INTEGER if value.kind is Kind.TICK else value.kind)
        truth = self.truth(expression)
        valid = None if truth.no is None else truth.yes | truth.no
        return Vector(Kind.BOOLEAN, Form.INTEGER, truth.yes.view(np.int8), valid)

    def _in_ticks(self, left: Vector | Constant, right: Vector | Constant) -> tuple[Any, Any]:
        if left.kind in _TICKS and right.kind is Kind.DURATION:
            return left, self._ticks(right)
        if right.kind in _TICKS and left.kind is Kind.DURATION:
            return self._ticks(left), right
        return left, right

    def _ticks(self, length: Vector | Constant) -> Vector | Constant:
        """Microseconds as ticks; a constant was found to be a whole number of them."""
        if isinstance(length, Constant):
            exact = None if length.value is None else (Fraction(length.value) / self.unit).numerator
            return Constant(Kind.TICK_DIFFERENCE, exact)
        if length.form is not Form.INTEGER:
            raise Unsupported
        if self.unit == 1:
            return replace(length, kind=Kind.TICK_DIFFERENCE)
        numbers, rest = np.divmod(length.numbers, np.int64(self.unit))
        if rest.any():
            raise Unsupported
        return replace(length, kind=Kind.TICK_DIFFERENCE, numbers=numbers)


def _names(expression: object) -> Iterator[str]:
    """The attributes that an expression reads."""
    if isinstance(expression, Attribute):
        yield expression.name
    elif isinstance(expression, tuple):
        for item in expression:
            yield from _names(item)
    elif is_dataclass(expression):
        for one in fields(expression):
            yield from _names(getattr(expression, one.name))


def _as_double(operand: Vector | Constant) -> Vector | Constant:
    if isinstance(operand, Constant):
        return Constant(Kind.DOUBLE, float(operand.value))
    return Vector(Kind.DOUBLE, Form.DOUBLE, doubles(operand), operand.valid)
