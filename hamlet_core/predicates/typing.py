"""Which kinds go together (SEMANTICS 2): the kind of an expression, or a `QueryMeaningError` at its place.

An unknown kind (None: there is no table yet) goes with everything. NULL goes with everything too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn, TypeAlias, assert_never

from hamlet_core.errors import QueryMeaningError
from hamlet_core.language.syntax import (
    Arithmetic,
    ArithmeticOperator,
    Attribute,
    Between,
    Comparison,
    Conjunction,
    Disjunction,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Minus,
    Negation,
    Timestamp,
)
from hamlet_core.predicates.kinds import NUMBERS, Kind, literal_kind

KindOf: TypeAlias = Callable[[Attribute], Kind | None]

_TICKS = frozenset({Kind.TICK, Kind.TICK_DIFFERENCE})
_LENGTHS = frozenset({Kind.DURATION, Kind.TICK_DIFFERENCE})
_TIMES = frozenset({Kind.TIMESTAMP, Kind.TICK})


def check(expression: Expression, kind_of: KindOf, *, text: str = "") -> Kind | None:
    """The kind of a condition of WHERE: BOOLEAN, NULL, or None where the kinds of attributes decide.

    Raises QueryMeaningError with the place of the smallest wrong part: E120 not a condition, E121 operands that do
    not compare, E122 no arithmetic with these, E123 LIKE on something else than text, E124 an IN list of mixed
    kinds, E125 a length of time against a plain number, E126 integer time against a timestamp.
    """
    return _Checker(kind_of, text).condition(expression)


def infer(expression: Expression, kind_of: KindOf, *, text: str = "") -> Kind | None:
    """The kind of any expression, checked like `check`, but it need not be a condition."""
    return _Checker(kind_of, text).kind(expression)


def comparable(left: Kind | None, right: Kind | None) -> bool:
    """Whether two kinds compare.

    >>> comparable(Kind.TICK_DIFFERENCE, Kind.DURATION), comparable(Kind.TEXT, Kind.INTEGER)
    (True, False)
    """
    if left is right or left in (None, Kind.NULL) or right in (None, Kind.NULL):
        return True
    pair = {left, right}
    if pair == {Kind.DURATION, Kind.TICK_DIFFERENCE}:
        return True
    return pair <= NUMBERS | _TICKS and pair != _TICKS


def arithmetic_kind(operator: ArithmeticOperator, left: Kind, right: Kind) -> Kind | None:
    """The kind of `left operator right` for kinds that are known; None if there is no such arithmetic.

    >>> arithmetic_kind(ArithmeticOperator.SUBTRACT, Kind.TIMESTAMP, Kind.TIMESTAMP)
    <Kind.DURATION: 'a duration'>
    """
    if {left, right} & {Kind.TEXT, Kind.BOOLEAN}:
        return None
    if Kind.NULL in (left, right):
        return Kind.NULL
    if {left, right} <= NUMBERS:
        return _number(operator, left, right)
    match operator:
        case ArithmeticOperator.ADD:
            return _sum(left, right)
        case ArithmeticOperator.SUBTRACT:
            return _difference(left, right)
        case ArithmeticOperator.MULTIPLY | ArithmeticOperator.DIVIDE | ArithmeticOperator.MODULO:
            return _scaled(operator, left, right)
        case _:
            assert_never(operator)


def _number(operator: ArithmeticOperator, left: Kind, right: Kind) -> Kind:
    if operator is ArithmeticOperator.DIVIDE or Kind.DOUBLE in (left, right):
        return Kind.DOUBLE
    return Kind.DECIMAL if Kind.DECIMAL in (left, right) else Kind.INTEGER


def _sum(left: Kind, right: Kind) -> Kind | None:
    """A time and a length is a time; two lengths are a length; beside ticks a number is a number of ticks."""
    pair = {left, right}
    for time in _TIMES & pair:
        (other,) = pair - {time} or {time}
        lengths = {Kind.DURATION} if time is Kind.TIMESTAMP else _LENGTHS | NUMBERS
        return time if other in lengths else None
    return _length(left, right)


def _difference(left: Kind, right: Kind) -> Kind | None:
    if left is right is Kind.TIMESTAMP:
        return Kind.DURATION
    if right is Kind.TICK:
        return Kind.TICK_DIFFERENCE if left in NUMBERS | {Kind.TICK} else None
    return _sum(left, right) if right is not Kind.TIMESTAMP else None


def _length(left: Kind, right: Kind) -> Kind | None:
    if left is right is Kind.DURATION:
        return Kind.DURATION
    return Kind.TICK_DIFFERENCE if Kind.TICK_DIFFERENCE in (left, right) else None


def _scaled(operator: ArithmeticOperator, left: Kind, right: Kind) -> Kind | None:
    """`*`, `/` and `%` with lengths of time; an integer time counts as its number."""
    left, right = (Kind.INTEGER if kind is Kind.TICK else kind for kind in (left, right))
    pair = {left, right}
    if Kind.TIMESTAMP in pair:
        return None
    if pair <= NUMBERS:
        return _number(operator, left, right)
    if pair <= _LENGTHS and operator is ArithmeticOperator.DIVIDE:
        return Kind.DOUBLE
    if pair <= _LENGTHS and operator is ArithmeticOperator.MODULO:
        return _length(left, right)
    if left in _LENGTHS and right in NUMBERS:
        by_rest = operator is ArithmeticOperator.MODULO and left is Kind.DURATION
        return None if by_rest else left
    if right in _LENGTHS and left in NUMBERS and operator is ArithmeticOperator.MULTIPLY:
        return right
    return Kind.DOUBLE if right is Kind.TICK_DIFFERENCE and operator is ArithmeticOperator.DIVIDE else None


class _Checker:
    """Walks one expression; holds what every step needs and nothing that changes."""

    def __init__(self, kind_of: KindOf, text: str) -> None:
        self.kind_of = kind_of
        self.text = text

    def condition(self, expression: Expression) -> Kind | None:
        kind = self.kind(expression)
        if kind not in (None, Kind.NULL, Kind.BOOLEAN):
            self._refuse(
                expression,
                f"{_shown(expression)} is {kind.value}, not a condition",
                "E120",
                "compare it with something, as in a.v > 0",
            )
        return kind

    def kind(self, expression: Expression) -> Kind | None:
        match expression:
            case Literal():
                return literal_kind(expression.value)
            case Attribute():
                return self.kind_of(expression)
            case Arithmetic():
                return self._arithmetic(expression)
            case Minus():
                return self._minus(expression)
            case Comparison():
                self._compare(expression, expression.left, expression.right)
            case Conjunction(parts) | Disjunction(parts):
                for part in parts:
                    self.condition(part)
            case Negation():
                self.condition(expression.operand)
            case InList():
                self._in_list(expression)
            case Between():
                self._compare(expression, expression.operand, expression.low)
                self._compare(expression, expression.operand, expression.high)
                self._compare(expression, expression.low, expression.high)
            case IsNull():
                self.kind(expression.operand)
            case Like():
                self._like(expression)
            case _:
                assert_never(expression)
        return Kind.BOOLEAN

    def _arithmetic(self, expression: Arithmetic) -> Kind | None:
        left, right = self.kind(expression.left), self.kind(expression.right)
        for operand, kind in ((expression.left, left), (expression.right, right)):
            if kind in (Kind.TEXT, Kind.BOOLEAN):
                self._refuse(
                    operand,
                    f"{_shown(operand)} is {kind.value}; {expression.operator.value!r} takes numbers and times",
                    "E122",
                    "arithmetic is for numbers, times and durations",
                )
        if left is None or right is None:
            return None
        kind = arithmetic_kind(expression.operator, left, right)
        if kind is None:
            self._refuse(
                expression,
                f"{left.value} {expression.operator.value} {right.value} has no meaning: "
                f"{_shown(expression.left)} and {_shown(expression.right)}",
                "E122",
                _arithmetic_hint(left, right),
            )
        return kind

    def _minus(self, expression: Minus) -> Kind | None:
        kind = self.kind(expression.operand)
        if kind in (Kind.TEXT, Kind.BOOLEAN, Kind.TIMESTAMP):
            self._refuse(
                expression, f"{_shown(expression.operand)} is {kind.value}; it has no negative", "E122", ""
            )
        return Kind.INTEGER if kind is Kind.TICK else kind

    def _compare(self, place: Expression, left: Expression, right: Expression) -> None:
        kinds = self.kind(left), self.kind(right)
        if not comparable(*kinds):
            known = [kind for kind in kinds if kind is not None]
            code, hint = _comparison_advice(set(known), (left, right))
            self._refuse(
                place,
                f"{_shown(left)} is {known[0].value}, {_shown(right)} is {known[1].value}: they do not compare",
                code,
                hint,
            )

    def _in_list(self, expression: InList) -> None:
        first, *others = expression.items
        for item in others:
            if not comparable(self.kind(first), self.kind(item)):
                self._refuse(
                    item,
                    f"the list of IN mixes kinds: {_shown(first)} and {_shown(item)}",
                    "E124",
                    "give values of one kind",
                )
        for item in expression.items:
            self._compare(expression, expression.operand, item)

    def _like(self, expression: Like) -> None:
        kind = self.kind(expression.operand)
        if kind not in (None, Kind.NULL, Kind.TEXT):
            self._refuse(
                expression,
                f"LIKE takes text; {_shown(expression.operand)} is {kind.value}",
                "E123",
                "compare with =, <, BETWEEN or IN",
            )

    def _refuse(self, place: Expression, message: str, code: str, hint: str) -> NoReturn:
        line, column = place.span or (1, 1)
        raise QueryMeaningError(message, code=code, hint=hint, line=line, column=column, text=self.text)


def _arithmetic_hint(left: Kind, right: Kind) -> str:
    if {left, right} <= _TIMES:
        return "the difference of two times of one kind is a duration; other arithmetic on two times has no meaning"
    return "make a number of a duration by dividing it by one, as in (NEXT(b).time - b.time) / 1 s"


def _comparison_advice(kinds: set[Kind], operands: tuple[Expression, ...]) -> tuple[str, str]:
    """The code and hint for kinds that do not compare."""
    if Kind.TIMESTAMP in kinds and kinds & (_TICKS | NUMBERS):
        literal = any(isinstance(o, Literal) and isinstance(o.value, Timestamp) for o in operands)
        if literal or Kind.TICK in kinds:
            return "E126", "integer time is a number in the stream's unit: compare it with a number"
        return "E121", "write a point in time as TIMESTAMP '2015-01-01 08:00'"
    if kinds & _LENGTHS and kinds & (NUMBERS | _TICKS):
        return "E125", "a duration has a unit, as in 5 min; times become durations by subtraction"
    if Kind.DURATION in kinds and Kind.TIMESTAMP in kinds:
        return "E125", "subtract two times to get a duration"
    if kinds == {Kind.TIMESTAMP, Kind.TEXT}:
        return "E121", "write a point in time as TIMESTAMP '2015-01-01 08:00'"
    if Kind.TEXT in kinds and kinds & NUMBERS:
        return "E121", "a number is written without quotes; if the column holds numbers as text, cast it"
    return "E121", "compare values of one kind"


def _shown(expression: Expression) -> str:
    """A short name of an operand for messages."""
    match expression:
        case Attribute(alias, name, following):
            return f"NEXT({alias}).{name}" if following else f"{alias}.{name}"
        case Literal(str() as value):
            return f"'{value}'"
        case Literal(None):
            return "NULL"
        case Literal(bool() as value):
            return str(value).upper()
        case Literal(Timestamp()):
            return "the timestamp"
        case Literal(value):
            return str(getattr(value, "microseconds", value)) + (
                " us" if hasattr(value, "microseconds") else ""
            )
        case _:
            return "the expression"
