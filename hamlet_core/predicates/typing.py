"""Which kinds go together (SEMANTICS 2): the kind of an expression, or a `QueryMeaningError` at its place.

An unknown kind (None: there is no table yet) goes with everything. NULL goes with everything too.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
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
    Duration,
    Expression,
    InList,
    IsNull,
    Like,
    Literal,
    Minus,
    Negation,
    Timestamp,
)
from hamlet_core.table.kinds import NUMBERS, Kind, literal_kind

KindOf: TypeAlias = Callable[[Attribute], Kind | None]
_Operand: TypeAlias = tuple[Expression, Kind | None]

_TICKS = frozenset({Kind.TICK, Kind.TICK_DIFFERENCE})
_LENGTHS = frozenset({Kind.DURATION, Kind.TICK_DIFFERENCE})
_TIMES = frozenset({Kind.TIMESTAMP, Kind.TICK})
_NO_ARITHMETIC = frozenset({Kind.TEXT, Kind.BOOLEAN})


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
    if {left, right} & _NO_ARITHMETIC:
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
    """`*`, `/` and `%` where a time or a length stands; an integer time counts as its number."""
    left, right = (Kind.INTEGER if kind is Kind.TICK else kind for kind in (left, right))
    if {left, right} <= NUMBERS:
        return _number(operator, left, right)
    number = Kind.INTEGER
    key = (number if left in NUMBERS else left, number if right in NUMBERS else right)
    return _LENGTHS_SCALED[operator].get(key)


_LENGTHS_SCALED = {
    ArithmeticOperator.MULTIPLY: {
        (Kind.DURATION, Kind.INTEGER): Kind.DURATION,
        (Kind.INTEGER, Kind.DURATION): Kind.DURATION,
        (Kind.TICK_DIFFERENCE, Kind.INTEGER): Kind.TICK_DIFFERENCE,
        (Kind.INTEGER, Kind.TICK_DIFFERENCE): Kind.TICK_DIFFERENCE,
    },
    ArithmeticOperator.DIVIDE: {
        (Kind.DURATION, Kind.INTEGER): Kind.DURATION,
        (Kind.TICK_DIFFERENCE, Kind.INTEGER): Kind.TICK_DIFFERENCE,
        (Kind.INTEGER, Kind.TICK_DIFFERENCE): Kind.DOUBLE,
        **{(left, right): Kind.DOUBLE for left in _LENGTHS for right in _LENGTHS},
    },
    ArithmeticOperator.MODULO: {
        (Kind.TICK_DIFFERENCE, Kind.INTEGER): Kind.TICK_DIFFERENCE,
        **{(left, right): Kind.TICK_DIFFERENCE for left in _LENGTHS for right in _LENGTHS},
        (Kind.DURATION, Kind.DURATION): Kind.DURATION,
    },
}
"""What scaling lengths of time gives; INTEGER stands for any number. Other pairs have no meaning."""


class _Checker:
    """Walks one expression; holds what every step needs and nothing that changes."""

    def __init__(self, kind_of: KindOf, text: str) -> None:
        self.kind_of = kind_of
        self.text = text

    def condition(self, expression: Expression) -> Kind | None:
        kind = self.kind(expression)
        if kind is None and isinstance(expression, Arithmetic | Minus):
            message = "this calculation gives a value, not a condition"
            self._refuse(expression, message, "E120", "compare it with something, as in a.v + 1 > 0")
        if kind not in (None, Kind.NULL, Kind.BOOLEAN):
            self._refuse(
                expression,
                f"{_described((expression, kind))}, not a condition",
                "E120",
                "compare it with something, as in a.v > 0",
            )
        return kind

    def kind(self, expression: Expression) -> Kind | None:  # noqa: C901, PLR0912 - a line per class of a closed family
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
                self._compare(expression, self._operand(expression.left), self._operand(expression.right))
            case Conjunction(parts) | Disjunction(parts):
                for part in parts:
                    self.condition(part)
            case Negation():
                self.condition(expression.operand)
            case InList():
                self._in_list(expression)
            case Between():
                operand, low, high = map(self._operand, (expression.operand, expression.low, expression.high))
                self._compare(expression, operand, low)
                self._compare(expression, operand, high)
                self._compare(expression, low, high)
            case IsNull():
                self.kind(expression.operand)
            case Like():
                self._like(expression)
            case _:
                assert_never(expression)
        return Kind.BOOLEAN

    def _arithmetic(self, expression: Arithmetic) -> Kind | None:
        left, right = self._operand(expression.left), self._operand(expression.right)
        for operand in (left, right):
            if operand[1] in _NO_ARITHMETIC:
                self._refuse(
                    operand[0],
                    f"{_described(operand)}: {expression.operator.value!r} has no meaning for it",
                    "E122",
                    "arithmetic is for numbers, times and durations",
                )
        if left[1] is None or right[1] is None:
            return None
        kind = arithmetic_kind(expression.operator, left[1], right[1])
        if kind is None:
            self._refuse(
                expression,
                f"{_described(left)}, {_described(right)}: "
                f"{expression.operator.value!r} has no meaning between them",
                "E122",
                _arithmetic_hint({left[1], right[1]}),
            )
        return kind

    def _minus(self, expression: Minus) -> Kind | None:
        operand = self._operand(expression.operand)
        if operand[1] in _NO_ARITHMETIC | {Kind.TIMESTAMP}:
            self._refuse(
                expression,
                f"{_described(operand)}: it has no negative",
                "E122",
                "arithmetic is for numbers, times and durations",
            )
        return Kind.INTEGER if operand[1] is Kind.TICK else operand[1]

    def _operand(self, expression: Expression) -> _Operand:
        return expression, self.kind(expression)

    def _compare(self, place: Expression, left: _Operand, right: _Operand) -> None:
        if not comparable(left[1], right[1]):
            code, hint = _comparison_advice(left, right)
            self._refuse(place, f"{_described(left)}, {_described(right)}: they do not compare", code, hint)

    def _in_list(self, expression: InList) -> None:
        operand = self._operand(expression.operand)
        first, *others = map(self._operand, expression.items)
        for item in others:
            if not comparable(first[1], item[1]):
                self._refuse(
                    item[0],
                    f"the list of IN mixes kinds: {_described(first)}, {_described(item)}",
                    "E124",
                    "give values of one kind",
                )
        for item in (first, *others):
            self._compare(expression, operand, item)

    def _like(self, expression: Like) -> None:
        operand = self._operand(expression.operand)
        if operand[1] not in (None, Kind.NULL, Kind.TEXT):
            self._refuse(
                expression,
                f"{_described(operand)}: LIKE takes text",
                "E123",
                "compare with =, <, BETWEEN or IN",
            )

    def _refuse(self, place: Expression, message: str, code: str, hint: str) -> NoReturn:
        line, column = place.span or (1, 1)
        raise QueryMeaningError(message, code=code, hint=hint, line=line, column=column, text=self.text)


def _arithmetic_hint(kinds: set[Kind]) -> str:
    if kinds <= _TIMES:
        return "two times of one kind can be subtracted, which gives a duration"
    return "a duration divided by one is a number, as in (NEXT(b).time - b.time) / 1 s"


def _comparison_advice(left: _Operand, right: _Operand) -> tuple[str, str]:
    """The code and the hint for two operands that do not compare."""
    kinds = frozenset(kind for _, kind in (left, right) if kind is not None)
    if Kind.TIMESTAMP in kinds and kinds & _TICKS:
        return "E126", "integer time is a number in the stream's unit: compare it with a number"
    if kinds & _LENGTHS and kinds & (NUMBERS | _TIMES):
        return "E125", "a duration has a unit, as in 5 min, and compares with the difference of two times"
    return "E121", next((hint for group, hint in _HINTS if kinds & group), "compare values of one kind")


_HINTS = (
    (frozenset({Kind.TIMESTAMP}), "write a point in time as TIMESTAMP '2015-01-01 08:00'"),
    (frozenset({Kind.BOOLEAN}), "write a boolean as TRUE or FALSE"),
    (NUMBERS | _TICKS, "numbers stand without quotes; a column that holds numbers as text must be cast"),
)


def _described(operand: _Operand) -> str:  # noqa: PLR0911 - a line per form
    """An operand and its kind, for messages.

    >>> _described((Attribute("a", "v"), Kind.DOUBLE))
    'a.v is a double'
    """
    expression, kind = operand
    is_kind = "is of unknown kind" if kind is None else f"is {kind.value}"
    match expression:
        case Literal(str() as value):
            return f"'{value}' {is_kind}"
        case Literal(bool() as value):
            return f"{str(value).upper()} {is_kind}"
        case Literal(int() | Decimal() as value):
            return f"{value} {is_kind}"
        case Literal(Timestamp()):
            return "TIMESTAMP '...' " + is_kind
        case Literal(Duration()):
            return "the literal " + is_kind
        case Attribute(alias, name, following):
            return f"NEXT({alias}).{name} {is_kind}" if following else f"{alias}.{name} {is_kind}"
        case _:
            return "one side " + is_kind
