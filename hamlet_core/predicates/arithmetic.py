"""Arithmetic on values as SQL has it: what has no answer is NULL (None), never a failure and never inf.

Integers: exact within int64, NULL beyond. Doubles: IEEE, NULL where the result would be infinite or NaN. Decimals:
exact, NULL where more than 38 digits would be needed. A decimal with a double is a double. `/` always gives a
double (as in DuckDB, and for integers in Spark), `%` has the sign of the dividend; both give NULL by zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from typing import TypeAlias

from hamlet_core.language.syntax import ArithmeticOperator

Number: TypeAlias = int | float | Decimal | Fraction

_MOST = 2**63 - 1
_DECIMAL = Context(prec=38, traps=[Inexact, Overflow, InvalidOperation, DivisionByZero])


def operation(operator: ArithmeticOperator) -> Callable[[Number, Number], Number | None]:
    """The function of an operator on two numbers that are not NULL.

    >>> operation(ArithmeticOperator.MODULO)(-7, 3), operation(ArithmeticOperator.DIVIDE)(7, 0)
    (-1, None)
    """
    return _OPERATIONS[operator]


def minus(value: Number) -> Number | None:
    """`-value`; the smallest int64 has no opposite.

    >>> minus(5), minus(-2**63)
    (-5, None)
    """
    match value:
        case int():
            return _integer(-value)
        case Decimal():
            return value.copy_negate()
        case _:
            return -value


def add(left: Number, right: Number) -> Number | None:
    """`left + right`."""
    if type(left) is int and type(right) is int:
        return _integer(left + right)
    match _alike(left, right):
        case Decimal() as x, Decimal() as y:
            return _decimal(_DECIMAL.add, x, y)
        case float() as x, float() as y:
            return _finite(x + y)
        case x, y:
            return Fraction(x) + Fraction(y)


def subtract(left: Number, right: Number) -> Number | None:
    """`left - right`."""
    if type(left) is int and type(right) is int:
        return _integer(left - right)
    match _alike(left, right):
        case Decimal() as x, Decimal() as y:
            return _decimal(_DECIMAL.subtract, x, y)
        case float() as x, float() as y:
            return _finite(x - y)
        case x, y:
            return Fraction(x) - Fraction(y)


def multiply(left: Number, right: Number) -> Number | None:
    """`left * right`."""
    if type(left) is int and type(right) is int:
        return _integer(left * right)
    match _alike(left, right):
        case Decimal() as x, Decimal() as y:
            return _decimal(_DECIMAL.multiply, x, y)
        case float() as x, float() as y:
            return _finite(x * y)
        case x, y:
            return Fraction(x) * Fraction(y)


def divide(left: Number, right: Number) -> Number | None:
    """`left / right` as a double; by zero NULL."""
    try:
        if isinstance(left, int) and isinstance(right, int):
            return left / right
        return _finite(float(left) / float(right))
    except (ZeroDivisionError, OverflowError):
        return None


def modulo(left: Number, right: Number) -> Number | None:
    """The rest of `left / right`, with the sign of `left`; by zero NULL."""
    if not right:
        return None
    match _alike(left, right):
        case int() as x, int() as y:
            rest = abs(x) % abs(y)
            return _integer(-rest if x < 0 else rest)
        case Decimal() as x, Decimal() as y:
            return _decimal(_DECIMAL.remainder, x, y)
        case float() as x, float() as y:
            return _rest(x, y)
        case x, y:
            return Fraction(math.copysign(1, x)) * (abs(Fraction(x)) % abs(Fraction(y)))


def _rest(left: float, right: float) -> float | None:
    try:
        return math.fmod(left, right)
    except ValueError:  # an operand beyond the double range
        return None


def to_double(value: Number) -> float:
    """The nearest double; infinite beyond the range, which compares as it should."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _alike(left: Number, right: Number) -> tuple[Number, Number]:
    """Both of one class: double wins over fraction over decimal over integer."""
    if type(left) is type(right):
        return left, right
    if isinstance(left, float) or isinstance(right, float):
        return to_double(left), to_double(right)
    if isinstance(left, Fraction) or isinstance(right, Fraction):
        return Fraction(left), Fraction(right)
    return Decimal(left), Decimal(right)


def _integer(value: int) -> int | None:
    return value if -_MOST - 1 <= value <= _MOST else None


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _decimal(operate: Callable[[Decimal, Decimal], Decimal], left: Decimal, right: Decimal) -> Decimal | None:
    try:
        return operate(left, right)
    except (Inexact, Overflow, InvalidOperation, DivisionByZero):
        return None


_OPERATIONS: dict[ArithmeticOperator, Callable[[Number, Number], Number | None]] = {
    ArithmeticOperator.ADD: add,
    ArithmeticOperator.SUBTRACT: subtract,
    ArithmeticOperator.MULTIPLY: multiply,
    ArithmeticOperator.DIVIDE: divide,
    ArithmeticOperator.MODULO: modulo,
}
