"""Arithmetic of whole columns of numbers, equal to `arithmetic`, and what all that works on columns shares.

What would be slow or inexact in machine numbers raises `Unsupported`: the caller then evaluates value by value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hamlet_core.language.syntax import ArithmeticOperator
from hamlet_core.table.kinds import Kind

LEAST, MOST = -(2**63), 2**63 - 1
_EXACT_DOUBLES = 2**53
_POWERS_OF_TEN = 22
"""10**22 is the last power of ten that a double holds exactly."""

Mask: TypeAlias = npt.NDArray[np.bool_]
Array: TypeAlias = npt.NDArray[Any]


class Unsupported(Exception):
    """Machine numbers do not do this exactly."""


class Form(Enum):
    """How the numbers of a vector count."""

    INTEGER = "int64"
    """Exact; NULL beyond int64. Also times, lengths of time and Booleans (0 and 1)."""
    DECIMAL = "int64 with a scale"
    """Exact: the number is `numbers / 10**scale`."""
    DOUBLE = "float64"
    """Finite."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A number per row; `valid` is where it is not NULL (None: everywhere)."""

    kind: Kind
    form: Form
    numbers: Array
    valid: Mask | None = None
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Constant:
    """The same value in every row; None is NULL."""

    kind: Kind
    value: Any


Operand: TypeAlias = Vector | Constant


def both(left: Mask | None, right: Mask | None) -> Mask | None:
    """Where both masks hold; None is everywhere."""
    if left is None or right is None:
        return right if left is None else left
    return left & right


def calculate(operator: ArithmeticOperator, left: Operand, right: Operand, kind: Kind) -> Operand:
    """`left operator right`, of this kind."""
    if is_null(left) or is_null(right):
        return Constant(kind, None)
    valid = both(valid_of(left), valid_of(right))
    forms = {form_of(left), form_of(right)}
    with np.errstate(all="ignore"):
        if operator is ArithmeticOperator.DIVIDE and forms == {Form.INTEGER}:
            x, y = exact(left), exact(right)
            if max(_bound(x.numbers), _bound(y.numbers)) > _EXACT_DOUBLES:
                raise Unsupported
            return _finite(kind, x.numbers / y.numbers, valid)
        if operator is ArithmeticOperator.DIVIDE or Form.DOUBLE in forms:
            return _finite(kind, _DOUBLE[operator](doubles(left), doubles(right)), valid)
        if Form.DECIMAL in forms:
            return _decimal(operator, exact(left), exact(right), Vector(kind, Form.DECIMAL, _NONE, valid))
        numbers, bad = _INTEGER[operator](exact(left).numbers, exact(right).numbers)
    return Vector(kind, Form.INTEGER, numbers, both(valid, None if bad is None else ~bad))


def opposite(operand: Operand, kind: Kind) -> Operand:
    """`-operand`; the smallest int64 has none."""
    if isinstance(operand, Constant):
        return Constant(kind, None)
    if operand.form is Form.DOUBLE:
        return replace(operand, kind=kind, numbers=-operand.numbers)
    least = operand.numbers == LEAST
    with np.errstate(all="ignore"):
        negative = replace(operand, kind=kind, numbers=-operand.numbers)
    if not least.any():
        return negative
    if operand.form is Form.DECIMAL:
        raise Unsupported
    return replace(negative, valid=both(operand.valid, ~least))


_NONE = np.empty(0, np.int64)


def is_null(operand: object) -> bool:
    """Whether an operand is NULL in every row."""
    return isinstance(operand, Constant) and operand.value is None


def valid_of(operand: Operand) -> Mask | None:
    """Where an operand that is not NULL has values."""
    return operand.valid if isinstance(operand, Vector) else None


def form_of(operand: Operand) -> Form:
    """How an operand that is not NULL counts."""
    if isinstance(operand, Vector):
        return operand.form
    match operand.value:
        case float():
            return Form.DOUBLE
        case int():
            return Form.INTEGER
        case Decimal():
            return Form.DECIMAL
    raise Unsupported


def exact(operand: Operand) -> Vector:
    """An exact operand as a vector; a constant as one of a single number that goes with every row."""
    if isinstance(operand, Vector):
        return operand
    form, scale, number = form_of(operand), 0, operand.value
    if form is Form.DECIMAL:
        sign, digits, exponent = operand.value.as_tuple()
        scale = max(-exponent, 0)
        if len(digits) + max(exponent, 0) > 18 or scale > 18:
            raise Unsupported
        number = int("".join(map(str, digits))) * 10 ** max(exponent, 0) * (-1 if sign else 1)
    if not LEAST <= number <= MOST:
        raise Unsupported
    return Vector(operand.kind, form, np.asarray(number, np.int64), None, scale)


def doubles(operand: Operand) -> Array:
    """The nearest doubles."""
    if isinstance(operand, Constant):
        try:
            return np.asarray(float(operand.value))
        except OverflowError:
            raise Unsupported from None
    if operand.form is Form.DECIMAL and operand.scale:
        if _bound(operand.numbers) > _EXACT_DOUBLES or operand.scale > _POWERS_OF_TEN:
            raise Unsupported
        return operand.numbers / 10.0**operand.scale  # both exact, so the quotient is the nearest double
    return operand.numbers.astype(np.float64, copy=False)


def _bound(numbers: Array) -> int:
    """The largest absolute value."""
    return max(abs(int(numbers.min())), abs(int(numbers.max()))) if numbers.size else 0


def _finite(kind: Kind, numbers: Array, valid: Mask | None) -> Vector:
    finite = np.isfinite(numbers)
    if finite.all():
        return Vector(kind, Form.DOUBLE, numbers, valid)
    return Vector(kind, Form.DOUBLE, np.where(finite, numbers, 0.0), both(valid, finite))


def aligned(left: Vector, right: Vector) -> tuple[Array, Array, int]:
    """The numbers of both at the larger of their scales."""
    scale = max(left.scale, right.scale)
    return _rescaled(left, scale), _rescaled(right, scale), scale


def _rescaled(vector: Vector, scale: int) -> Array:
    factor = 10 ** (scale - vector.scale)
    if factor == 1:
        return vector.numbers
    if factor * max(_bound(vector.numbers), 1) > MOST:
        raise Unsupported
    return vector.numbers * np.int64(factor)


def _decimal(operator: ArithmeticOperator, left: Vector, right: Vector, like: Vector) -> Vector:
    """Decimals whose results fit in int64, which then have far less than 38 digits."""
    if operator is ArithmeticOperator.MULTIPLY:
        x, y, scale = left.numbers, right.numbers, left.scale + right.scale
        most = _bound(x) * _bound(y)
    else:
        x, y, scale = aligned(left, right)
        most = _bound(x) + _bound(y)
    if most > MOST:
        raise Unsupported
    numbers, bad = _INTEGER[operator](x, y)
    return replace(like, numbers=numbers, scale=scale, valid=both(like.valid, None if bad is None else ~bad))


_Checked: TypeAlias = tuple[Array, Mask | None]


def _add(x: Array, y: Array) -> _Checked:
    total = x + y
    if _bound(x) + _bound(y) <= MOST:
        return total, None
    return total, _some(((x ^ total) & (y ^ total)) < 0)


def _subtract(x: Array, y: Array) -> _Checked:
    rest = x - y
    if _bound(x) + _bound(y) <= MOST:
        return rest, None
    return rest, _some(((x ^ y) & (x ^ rest)) < 0)


def _multiply(x: Array, y: Array) -> _Checked:
    product = x * y
    if _bound(x) * _bound(y) <= MOST:
        return product, None
    divisor = np.where((y == 0) | (y == -1), 1, y)  # the smallest int64 by -1 would trap
    wrong = np.where(y == -1, x == LEAST, (y != 0) & (product // divisor != x))
    return product, _some(wrong)


def _modulo(x: Array, y: Array) -> _Checked:
    rest = np.fmod(x, np.where((y == 0) | (y == -1), 1, y))
    return rest, _some(np.broadcast_to(y == 0, rest.shape))


def _some(bad: Mask) -> Mask | None:
    return bad if bad.any() else None


_INTEGER: dict[ArithmeticOperator, Callable[[Array, Array], _Checked]] = {
    ArithmeticOperator.ADD: _add,
    ArithmeticOperator.SUBTRACT: _subtract,
    ArithmeticOperator.MULTIPLY: _multiply,
    ArithmeticOperator.MODULO: _modulo,
}
"""The results in int64, and where they are wrong: overflow, or a rest by zero."""
_DOUBLE: dict[ArithmeticOperator, Callable[[Array, Array], Array]] = {
    ArithmeticOperator.ADD: np.add,
    ArithmeticOperator.SUBTRACT: np.subtract,
    ArithmeticOperator.MULTIPLY: np.multiply,
    ArithmeticOperator.DIVIDE: np.divide,
    ArithmeticOperator.MODULO: np.fmod,
}
