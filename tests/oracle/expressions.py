"""Value of an expression of WHERE for given events, in three-valued logic; plain Python, slow and plain.

Values are None, bool, int, float, Decimal, str, `Timestamp`, `Duration` and `Ticks`; None is SQL's NULL.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hamlet_core.language.syntax import (
    Arithmetic,
    ArithmeticOperator,
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
    Timestamp,
)

Lookup = Callable[[Attribute], Any]


@dataclass(frozen=True, slots=True)
class Ticks:
    """An integer time, or a difference of such: a number, and a length of `count * unit` microseconds."""

    count: int | Fraction
    unit: int


_COMPARE = {
    ComparisonOperator.EQUAL: operator.eq,
    ComparisonOperator.UNEQUAL: operator.ne,
    ComparisonOperator.LESS: operator.lt,
    ComparisonOperator.AT_MOST: operator.le,
    ComparisonOperator.GREATER: operator.gt,
    ComparisonOperator.AT_LEAST: operator.ge,
}
_LARGEST = 2**63 - 1


def attributes(expression: Expression) -> tuple[Attribute, ...]:
    """Every attribute an expression reads, in reading order."""
    match expression:
        case Attribute():
            return (expression,)
        case Literal():
            return ()
        case Arithmetic(left=left, right=right) | Comparison(left=left, right=right):
            return attributes(left) + attributes(right)
        case (
            Minus(operand=operand)
            | Negation(operand=operand)
            | IsNull(operand=operand)
            | Like(operand=operand)
        ):
            return attributes(operand)
        case Conjunction(parts=parts) | Disjunction(parts=parts):
            return tuple(found for part in parts for found in attributes(part))
        case InList(operand=operand, items=items):
            return tuple(found for part in (operand, *items) for found in attributes(part))
        case Between(operand=operand, low=low, high=high):
            return tuple(found for part in (operand, low, high) for found in attributes(part))
    raise TypeError(expression)


def evaluate(expression: Expression, lookup: Lookup) -> Any:
    """The value of `expression`; a boolean one is True, False or None."""
    match expression:
        case Literal(value=value):
            return value
        case Attribute():
            return lookup(expression)
        case Minus(operand=operand):
            return _minus(evaluate(operand, lookup))
        case Arithmetic(operator=sign, left=left, right=right):
            return _arithmetic(sign, evaluate(left, lookup), evaluate(right, lookup))
        case Comparison(operator=sign, left=left, right=right):
            return _compare(sign, evaluate(left, lookup), evaluate(right, lookup))
        case Conjunction(parts=parts):
            return _all([evaluate(part, lookup) for part in parts])
        case Disjunction(parts=parts):
            return _not(_all([_not(evaluate(part, lookup)) for part in parts]))
        case Negation(operand=operand):
            return _not(evaluate(operand, lookup))
        case IsNull(operand=operand, negated=negated):
            return (evaluate(operand, lookup) is None) != negated
        case InList(operand=operand, items=items, negated=negated):
            value = evaluate(operand, lookup)
            hits = [_compare(ComparisonOperator.UNEQUAL, value, evaluate(item, lookup)) for item in items]
            absent = _all(hits)
            return absent if negated else _not(absent)
        case Between(operand=operand, low=low, high=high, negated=negated):
            value = evaluate(operand, lookup)
            above = _compare(ComparisonOperator.AT_LEAST, value, evaluate(low, lookup))
            below = _compare(ComparisonOperator.AT_MOST, value, evaluate(high, lookup))
            inside = _all([above, below])
            return _not(inside) if negated else inside
        case Like(operand=operand, pattern=pattern, negated=negated):
            value = evaluate(operand, lookup)
            if value is None:
                return None
            return _like(value, pattern) != negated
    raise TypeError(expression)


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _all(values: list[bool | None]) -> bool | None:
    if any(value is False for value in values):
        return False
    return None if any(value is None for value in values) else True


def _like(value: str, pattern: str) -> bool:
    parts = {"%": ".*", "_": "."}
    shape = "".join(parts.get(sign, re.escape(sign)) for sign in pattern)
    return re.fullmatch(shape, value, re.DOTALL) is not None


def _kind(value: Any) -> str:
    for kind in (bool, str, Timestamp, Duration, Ticks):
        if isinstance(value, kind):
            return kind.__name__
    return "number"


def _compare(sign: ComparisonOperator, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    left, right = _plain(left, right), _plain(right, left)
    if _kind(left) != _kind(right):
        raise TypeError(f"cannot compare {left!r} with {right!r}")
    return bool(_COMPARE[sign](left, right))


def _plain(value: Any, partner: Any) -> Any:
    """What stands for a value in a comparison with `partner`: numbers exactly, a decimal beside a double nearly."""
    match value:
        case Ticks():
            return Fraction(value.count * (value.unit if isinstance(partner, Duration) else 1))
        case Duration():
            return Fraction(value.microseconds)
        case Timestamp():
            return Fraction(value.microseconds) if isinstance(partner, Timestamp) else value
        case Decimal() if isinstance(partner, float):
            return Fraction(float(value))
        case bool() | str():
            return value
    return Fraction(value)


def _minus(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, Duration):
        return Duration(-value.microseconds)
    if isinstance(value, Ticks):
        return Ticks(-value.count, value.unit)
    return _bounded(-value)


def _bounded(value: Any) -> Any:
    """NULL for an integer that 64 bits do not hold and for a floating number that is not finite."""
    if isinstance(value, int):
        return value if -_LARGEST - 1 <= value <= _LARGEST else None
    if isinstance(value, float):
        return value if value - value == 0 else None
    return value


def _arithmetic(sign: ArithmeticOperator, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    kinds = (_kind(left), _kind(right))
    if kinds == ("number", "number"):
        return _numbers(sign, left, right)
    return _times(sign, left, right, kinds)


def _times(sign: ArithmeticOperator, left: Any, right: Any, kinds: tuple[str, str]) -> Any:
    add, subtract = sign is ArithmeticOperator.ADD, sign is ArithmeticOperator.SUBTRACT
    match kinds:
        case ("Timestamp", "Timestamp") if subtract:
            return Duration(left.microseconds - right.microseconds)
        case ("Timestamp", "Duration") if add or subtract:
            return Timestamp(left.microseconds + (right.microseconds if add else -right.microseconds))
        case ("Duration", "Timestamp") if add:
            return Timestamp(left.microseconds + right.microseconds)
        case ("Duration", "Duration") if add or subtract:
            return Duration(left.microseconds + (right.microseconds if add else -right.microseconds))
        case ("Ticks", _) | (_, "Ticks") if add or subtract:
            unit = left.unit if isinstance(left, Ticks) else right.unit
            here, there = _count(left, unit), _count(right, unit)
            return Ticks(here + there if add else here - there, unit)
    raise TypeError(f"{kinds[0]} {sign.value} {kinds[1]} has no meaning")


def _count(value: Any, unit: int) -> int | Fraction:
    if isinstance(value, Duration):
        return Fraction(value.microseconds, unit)
    return value.count if isinstance(value, Ticks) else value


def _numbers(sign: ArithmeticOperator, left: Any, right: Any) -> Any:
    """Exact on integers and decimals, floating otherwise; a quotient is always floating."""
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    elif isinstance(left, Decimal) or isinstance(right, Decimal):
        left, right = Fraction(left), Fraction(right)
    if sign in (ArithmeticOperator.DIVIDE, ArithmeticOperator.MODULO) and right == 0:
        return None
    match sign:
        case ArithmeticOperator.ADD:
            return _bounded(left + right)
        case ArithmeticOperator.SUBTRACT:
            return _bounded(left - right)
        case ArithmeticOperator.MULTIPLY:
            return _bounded(left * right)
        case ArithmeticOperator.DIVIDE:
            return _bounded(float(left) / float(right))
        case ArithmeticOperator.MODULO:
            return _remainder(left, right)
    raise TypeError(sign)


def _remainder(left: Any, right: Any) -> Any:
    """The remainder with the sign of the dividend, as SQL has it."""
    rest = abs(left) % abs(right)
    return rest if left >= 0 else -rest
