"""Conditions that mix both events of a pair in other ways than a comparison of keys, as steps on a stack.

What no step can do (decimals of both events multiplied, say) becomes a table of all pairs of different events.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from hamlet_core.errors import StreamError
from hamlet_core.language.syntax import (
    Arithmetic,
    ArithmeticOperator,
    Comparison,
    ComparisonOperator,
    Conjunction,
    Disjunction,
    Expression,
    IsNull,
    Minus,
    Negation,
)
from hamlet_core.language.writer import write_expression
from hamlet_core.predicates.arithmetic import Number, to_double
from hamlet_core.predicates.distinct import combinations
from hamlet_core.predicates.evaluate import compile_adjacent
from hamlet_core.predicates.one_sided import (
    INT64_MAX,
    Constant,
    Leaf,
    Side,
    attributes,
    counts_in_ticks,
    in_ticks,
    mapped,
    sides,
)
from hamlet_core.predicates.pair_tables import COMPARISONS, STACK, Operation, Steps, height
from hamlet_core.predicates.separation import MIRRORED, Separator, comparable, plain_form
from hamlet_core.predicates.typing import arithmetic_kind
from hamlet_core.table.kinds import Kind

MOST_ENTRIES = 20_000_000
"""The largest table of pairs."""

_INTEGERS = {
    ArithmeticOperator.ADD: Operation.ADD_INTEGERS,
    ArithmeticOperator.SUBTRACT: Operation.SUBTRACT_INTEGERS,
    ArithmeticOperator.MULTIPLY: Operation.MULTIPLY_INTEGERS,
    ArithmeticOperator.DIVIDE: Operation.DIVIDE_INTEGERS,
    ArithmeticOperator.MODULO: Operation.MODULO_INTEGERS,
}
_DOUBLES = {
    ArithmeticOperator.ADD: Operation.ADD_DOUBLES,
    ArithmeticOperator.SUBTRACT: Operation.SUBTRACT_DOUBLES,
    ArithmeticOperator.MULTIPLY: Operation.MULTIPLY_DOUBLES,
    ArithmeticOperator.DIVIDE: Operation.DIVIDE_DOUBLES,
    ArithmeticOperator.MODULO: Operation.MODULO_DOUBLES,
}


@dataclass(frozen=True, slots=True)
class _One:
    """A side, and which event it is of."""

    side: Side
    following: bool

    @property
    def kind(self) -> Kind:
        return self.side.kind


@dataclass(frozen=True, slots=True)
class _Both:
    """Steps that leave a number of this kind on the stack."""

    kind: Kind
    steps: Steps
    is_double: bool = False


_Operand: TypeAlias = _One | _Both


class _BeyondSteps(Exception):
    """No steps do this."""


@dataclass(frozen=True, slots=True)
class Programmer:
    """Writes programs; the columns they need go on the separator's shelves."""

    separator: Separator

    def truth(self, expression: Expression) -> Steps:
        """Steps that push the truth of a condition: 1, 0 or NULL."""
        try:
            steps = self._truth(expression)
        except _BeyondSteps:
            return self._table(expression)
        return steps if height(steps) <= STACK else self._table(expression)

    def _truth(self, expression: Expression) -> Steps:
        if len(sides(expression)) < 2:
            return self._integers(self._one(expression))
        match plain_form(expression):
            case Comparison(operator, left, right):
                return self._comparison(operator, left, right)
            case Conjunction(parts):
                return self._connected(Operation.AND, parts)
            case Disjunction(parts):
                return self._connected(Operation.OR, parts)
            case Negation(operand):
                return (*self.truth(operand), (Operation.NOT, 0, 0))
            case IsNull(operand, negated):
                opposite = ((Operation.NOT, 0, 0),) if negated else ()
                return (*self._steps(self._operand(operand)), (Operation.IS_NULL, 0, 0), *opposite)
            case _:
                raise _BeyondSteps

    def _connected(self, operation: Operation, parts: tuple[Expression, ...]) -> Steps:
        first, *others = map(self.truth, parts)
        return (*first, *(step for other in others for step in (*other, (operation, 0, 0))))

    def _comparison(self, operator: ComparisonOperator, left: Expression, right: Expression) -> Steps:
        if len(sides(left) | sides(right)) < 2:
            return self.truth(Comparison(operator, left, right))
        atom = self.separator.atom(operator, left, right)
        if atom is not None:
            return ((Operation.KEYS_EQUAL + COMPARISONS.index(atom[0]), *atom[1:]),)
        first, second = self._comparable(self._operand(left), self._operand(right))
        if _is_null(first) or _is_null(second):
            return (self.separator.shelves.constant(None),)
        if _is_other(first):
            return self._among_others(MIRRORED[operator], second, first)
        if _is_other(second):
            return self._among_others(operator, first, second)
        comparisons = {
            (False, False): Operation.COMPARE_INTEGERS,
            (True, True): Operation.COMPARE_DOUBLES,
            (False, True): Operation.COMPARE_INTEGER_WITH_DOUBLE,
            (True, False): Operation.COMPARE_DOUBLE_WITH_INTEGER,
        }
        compare = comparisons[_is_double(first), _is_double(second)]
        return (*self._steps(first), *self._steps(second), (compare, COMPARISONS.index(operator), 0))

    def _among_others(self, operator: ComparisonOperator, number: _Operand, other: _Operand) -> Steps:
        """An integer of both events beside exact numbers: as doubles where those are exact, else as whole numbers."""
        if not isinstance(other, _One) or not isinstance(number, _Both) or number.is_double:
            raise _BeyondSteps
        values = _values(other.side)
        if not all(isinstance(value, Number) and type(value) is not bool for value in values):
            raise _BeyondSteps
        place = COMPARISONS.index(operator)
        if all(abs(value) > INT64_MAX + 1 or to_double(value) == value for value in values):
            double = _One(mapped(other.side, _double_or_beyond, Kind.DOUBLE), other.following)
            compare = (Operation.COMPARE_INTEGER_WITH_DOUBLE, place, 0)
            return (*number.steps, *self._steps(double), compare)
        floor = self._steps(_One(mapped(other.side, math.floor, Kind.INTEGER), other.following))
        ceiling = self._steps(_One(mapped(other.side, math.ceil, Kind.INTEGER), other.following))
        if operator in (ComparisonOperator.AT_MOST, ComparisonOperator.GREATER):
            return (*number.steps, *floor, (Operation.COMPARE_INTEGERS, place, 0))
        if operator in (ComparisonOperator.AT_LEAST, ComparisonOperator.LESS):
            return (*number.steps, *ceiling, (Operation.COMPARE_INTEGERS, place, 0))
        return (
            *number.steps,
            *floor,
            (Operation.COMPARE_INTEGERS, COMPARISONS.index(ComparisonOperator.AT_MOST), 0),
            *number.steps,
            *ceiling,
            (Operation.COMPARE_INTEGERS, COMPARISONS.index(ComparisonOperator.AT_LEAST), 0),
            (Operation.AND, 0, 0),
            *(((Operation.NOT, 0, 0),) if operator is ComparisonOperator.UNEQUAL else ()),
        )

    def _comparable(self, left: _Operand, right: _Operand) -> tuple[_Operand, _Operand]:
        unit = self.separator.columns.unit
        if isinstance(left, _One):
            changed, _ = comparable(left.side, Constant(right.kind, None), unit)
            left = _One(changed, left.following)
        if isinstance(right, _One):
            changed, _ = comparable(right.side, Constant(left.kind, None), unit)
            right = _One(changed, right.following)
        return self._in_ticks(left, right.kind), self._in_ticks(right, left.kind)

    def _in_ticks(self, operand: _Operand, other: Kind) -> _Operand:
        if not counts_in_ticks(operand.kind, other):
            return operand
        unit = self.separator.columns.unit
        if isinstance(operand, _One):
            return _One(in_ticks(operand.side, unit), operand.following)
        if unit != 1 or operand.is_double:
            raise _BeyondSteps
        return _Both(Kind.TICK_DIFFERENCE, operand.steps)

    def _operand(self, expression: Expression) -> _Operand:
        if len(sides(expression)) < 2:
            return self._one(expression)
        match expression:
            case Arithmetic(operator, left, right):
                return self._arithmetic(operator, self._operand(left), self._operand(right))
            case Minus(operand):
                return self._minus(self._operand(operand))
            case _:
                return _Both(Kind.BOOLEAN, self.truth(expression))

    def _arithmetic(self, operator: ArithmeticOperator, left: _Operand, right: _Operand) -> _Operand:
        kind = arithmetic_kind(operator, left.kind, right.kind)
        if kind is None:
            raise _BeyondSteps
        left, right = self._in_ticks(left, right.kind), self._in_ticks(right, left.kind)
        if _is_null(left) or _is_null(right):
            return _One(Constant(kind, None), False)
        if operator is ArithmeticOperator.DIVIDE:
            return self._quotient(kind, left, right)
        if _is_double(left) or _is_double(right):
            steps = (*self._doubles(left), *self._doubles(right), (_DOUBLES[operator], 0, 0))
            return _Both(kind, steps, is_double=True)
        if _is_other(left) or _is_other(right):
            raise _BeyondSteps
        return _Both(kind, (*self._steps(left), *self._steps(right), (_INTEGERS[operator], 0, 0)))

    def _quotient(self, kind: Kind, left: _Operand, right: _Operand) -> _Operand:
        """Always a double: of two integers the nearest to the exact quotient, else that of two doubles."""
        operands = left, right
        if not any(_is_double(one) or _is_other(one) for one in operands):
            steps = (*self._steps(left), *self._steps(right), (Operation.DIVIDE_INTEGERS, 0, 0))
            return _Both(kind, steps, is_double=True)
        if any(isinstance(one, _One) and _is_other(one) and _has_integers(one.side) for one in operands):
            raise _BeyondSteps
        steps = (*self._doubles(left), *self._doubles(right), (Operation.DIVIDE_DOUBLES, 0, 0))
        return _Both(kind, steps, is_double=True)

    def _minus(self, operand: _Operand) -> _Operand:
        kind = Kind.INTEGER if operand.kind is Kind.TICK else operand.kind
        if _is_null(operand):
            return _One(Constant(kind, None), False)
        if isinstance(operand, _One):
            raise _BeyondSteps
        negate = Operation.NEGATE_DOUBLE if operand.is_double else Operation.NEGATE_INTEGER
        return _Both(kind, (*operand.steps, (negate, 0, 0)), operand.is_double)

    def _one(self, expression: Expression) -> _One:
        return _One(self.separator.columns.side(expression), True in sides(expression))

    def _integers(self, one: _One) -> Steps:
        """The truth of one event (or a constant) on the stack."""
        if isinstance(one.side, Constant):
            value = one.side.value
            return (self.separator.shelves.constant(None if value is None else int(value)),)
        return (self.separator.shelves.push(one.side, one.following),)

    def _steps(self, operand: _Operand) -> Steps:
        if isinstance(operand, _Both):
            return operand.steps
        if _is_null(operand):
            return (self.separator.shelves.constant(None),)
        if _is_other(operand):
            raise _BeyondSteps
        if isinstance(operand.side, Constant):
            return (self.separator.shelves.constant(operand.side.value),)
        return (self.separator.shelves.push(operand.side, operand.following),)

    def _doubles(self, operand: _Operand) -> Steps:
        if _is_double(operand):
            return self._steps(operand)
        if isinstance(operand, _Both):
            return (*operand.steps, (Operation.TO_DOUBLE, 0, 0))
        if isinstance(operand.side, Leaf) and operand.side.is_integer:
            return (*self._steps(operand), (Operation.TO_DOUBLE, 0, 0))
        if not all(isinstance(value, Number) for value in _values(operand.side)):
            raise _BeyondSteps
        return self._steps(_One(mapped(operand.side, to_double, Kind.DOUBLE), operand.following))

    def _table(self, expression: Expression) -> Steps:
        """A look-up in the truth for each pair of different events."""
        columns = self.separator.columns
        read = {
            side: [one.name for one in attributes(expression) if one.next is side] for side in (False, True)
        }
        left, before = combinations(columns.columns, list(dict.fromkeys(read[False])))
        right, after = combinations(columns.columns, list(dict.fromkeys(read[True])))
        here, there = (len(next(iter(few.values())).values) for few in (before, after))
        if here * there > MOST_ENTRIES:
            raise StreamError(
                f"the predicate {write_expression(expression)} would need a table of {here:,} times "
                f"{there:,} different events, more than {MOST_ENTRIES:,} entries",
                code="E218",
                hint="engine='greta' evaluates it pair by pair; or compare doubles in place of decimals",
            )
        few = {
            name: replace(
                like,
                data=[
                    *(before[name].values if name in before else [None] * here),
                    *(after[name].values if name in after else [None] * there),
                ],
            )
            for name, like in {**before, **after}.items()
        }
        evaluate = compile_adjacent(expression, few, unit=columns.unit, text=columns.text)
        truths = (evaluate(row, here + other) for row in range(here) for other in range(there))
        values = np.array([-1 if truth is None else int(truth) for truth in truths], np.int8)
        return (self.separator.shelves.table(left, right, values.reshape(here, there)),)


def _values(side: Side) -> tuple[Any, ...]:
    """The different values, without NULL."""
    values = (side.value,) if isinstance(side, Constant) else side.encoded()[1]
    return tuple(value for value in values if value is not None)


def _double_or_beyond(value: Any) -> float:
    """An exact number as the double it is; beyond int64 as infinity, which compares alike with all integers."""
    if abs(value) > INT64_MAX + 1:
        return math.inf if value > 0 else -math.inf
    return to_double(value)


def _is_null(operand: _Operand) -> bool:
    return isinstance(operand, _One) and isinstance(operand.side, Constant) and operand.side.value is None


def _is_double(operand: _Operand) -> bool:
    if isinstance(operand, _Both):
        return operand.is_double
    return operand.side.is_double if isinstance(operand.side, Leaf) else type(operand.side.value) is float


def _is_other(operand: _Operand) -> bool:
    """Whether the values are neither int64 (or truth) nor doubles."""
    if isinstance(operand, _Both):
        return False
    if isinstance(operand.side, Leaf):
        return operand.side.distinct is not None
    value = operand.side.value
    return not isinstance(value, float) and not (
        isinstance(value, int) and -INT64_MAX - 1 <= value <= INT64_MAX
    )


def _has_integers(side: Side) -> bool:
    return any(type(value) is int for value in _values(side))
