"""Arithmetic and comparison of whole columns of numbers, equal to `arithmetic` and Python's exact comparison.

What would be slow or inexact in machine numbers raises `Unsupported`: the caller then evaluates value by value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hamlet_core.language.syntax import ArithmeticOperator, ComparisonOperator
from hamlet_core.predicates.kinds import Kind

_LEAST, _MOST = -(2**63), 2**63 - 1
_EXACT_DOUBLES = 2**53
_POWERS_OF_TEN = 22
"""10**22 is the last power of ten that a double holds exactly."""

Mask: TypeAlias = npt.NDArray[np.bool_]
Array: TypeAlias = npt.NDArray[Any]


class Unsupported(Exception):  # noqa: N818 - no error: it says which way to take
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


# --- arithmetic ----------------------------------------------------------------------------------


def calculate(operator: ArithmeticOperator, left: Operand, right: Operand, kind: Kind) -> Operand:
    """`left operator right`, of this kind."""
    if Constant in (type(left), type(right)) and None in (_value(left), _value(right)):
        return Constant(kind, None)
    valid = both(_valid(left), _valid(right))
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
    least = operand.numbers == _LEAST
    with np.errstate(all="ignore"):
        negative = replace(operand, kind=kind, numbers=-operand.numbers)
    if not least.any():
        return negative
    if operand.form is Form.DECIMAL:
        raise Unsupported
    return replace(negative, valid=both(operand.valid, ~least))


_NONE = np.empty(0, np.int64)


def _value(operand: Operand) -> Any:
    return operand.value if isinstance(operand, Constant) else operand


def _valid(operand: Operand) -> Mask | None:
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
        if len(digits) + max(exponent, 0) > 18 or scale > 18:  # noqa: PLR2004 - the digits int64 surely holds
            raise Unsupported
        number = int("".join(map(str, digits))) * 10 ** max(exponent, 0) * (-1 if sign else 1)
    if not _LEAST <= number <= _MOST:
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


def _aligned(left: Vector, right: Vector) -> tuple[Array, Array, int]:
    """The numbers of both at the larger of their scales."""
    scale = max(left.scale, right.scale)
    return _rescaled(left, scale), _rescaled(right, scale), scale


def _rescaled(vector: Vector, scale: int) -> Array:
    factor = 10 ** (scale - vector.scale)
    if factor == 1:
        return vector.numbers
    if factor * max(_bound(vector.numbers), 1) > _MOST:
        raise Unsupported
    return vector.numbers * np.int64(factor)


def _decimal(operator: ArithmeticOperator, left: Vector, right: Vector, like: Vector) -> Vector:
    """Decimals whose results fit in int64, which then have far less than 38 digits."""
    if operator is ArithmeticOperator.MULTIPLY:
        x, y, scale = left.numbers, right.numbers, left.scale + right.scale
        most = _bound(x) * _bound(y)
    else:
        x, y, scale = _aligned(left, right)
        most = _bound(x) + _bound(y)
    if most > _MOST:
        raise Unsupported
    numbers, bad = _INTEGER[operator](x, y)
    return replace(like, numbers=numbers, scale=scale, valid=both(like.valid, None if bad is None else ~bad))


_Checked: TypeAlias = tuple[Array, Mask | None]


def _add(x: Array, y: Array) -> _Checked:
    total = x + y
    return total, _some(((x ^ total) & (y ^ total)) < 0)


def _subtract(x: Array, y: Array) -> _Checked:
    rest = x - y
    return rest, _some(((x ^ y) & (x ^ rest)) < 0)


def _multiply(x: Array, y: Array) -> _Checked:
    product = x * y
    if _bound(x) * _bound(y) <= _MOST:
        return product, None
    divisor = np.where((y == 0) | (y == -1), 1, y)  # the smallest int64 by -1 would trap
    wrong = np.where(y == -1, x == _LEAST, (y != 0) & (product // divisor != x))
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


# --- comparison ----------------------------------------------------------------------------------

COMPARE: dict[ComparisonOperator, Callable[[Any, Any], Any]] = {
    ComparisonOperator.EQUAL: np.equal,
    ComparisonOperator.UNEQUAL: np.not_equal,
    ComparisonOperator.LESS: np.less,
    ComparisonOperator.AT_MOST: np.less_equal,
    ComparisonOperator.GREATER: np.greater,
    ComparisonOperator.AT_LEAST: np.greater_equal,
}
_MIRRORED = {
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.AT_MOST: ComparisonOperator.AT_LEAST,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.AT_LEAST: ComparisonOperator.AT_MOST,
}


def compare(operator: ComparisonOperator, left: Operand, right: Operand) -> Mask:
    """Where `left operator right` holds exactly, for operands that are not NULL, at least one of them a vector.

    Rows that are NULL may hold or not.
    """
    if isinstance(left, Constant):
        return compare(_MIRRORED.get(operator, operator), right, left)
    if isinstance(right, Constant):
        place, hit = (below_double if left.form is Form.DOUBLE else below)(right.value, left.scale)
        return _with_place(operator, left.numbers, place, hit=hit)
    forms = left.form, right.form
    if Form.DOUBLE not in forms:
        x, y, _ = _aligned(left, right)
        return _mask(COMPARE[operator](x, y))
    if forms == (Form.DOUBLE, Form.DOUBLE):
        return _mask(COMPARE[operator](left.numbers, right.numbers))
    if Form.DECIMAL in forms:
        raise Unsupported
    if left.form is Form.DOUBLE:
        return compare(_MIRRORED.get(operator, operator), right, left)
    return _integer_with_double(operator, left.numbers, right.numbers)


def below(value: Any, scale: int = 0) -> tuple[int, bool]:
    """The largest integer that is not above `value * 10**scale`, and whether it is equal; clipped beyond int64.

    >>> below(Decimal("2.5")), below(Decimal("2.5"), 1), below(10**30)
    ((2, False), (25, True), (9223372036854775808, False))
    """
    if value > _MOST:
        return _MOST + 1, False
    if value < _LEAST:
        return _LEAST - 1, False
    if isinstance(value, Decimal) and value and value.adjusted() < -100:  # noqa: PLR2004 - far below any scale
        return (0 if value > 0 else -1), False
    scaled = Fraction(value) * 10**scale
    place = math.floor(scaled)
    if not _LEAST <= place <= _MOST:
        return min(max(place, _LEAST - 1), _MOST + 1), False
    return place, scaled == place


def below_double(value: Any, _scale: int = 0) -> tuple[float, bool]:
    """The largest double that is not above `value`, and whether it is equal; -inf where all are above.

    >>> below_double(2**53 + 1), below_double(0.5)
    ((9007199254740992.0, False), (0.5, True))
    """
    try:
        nearest = float(value)
    except OverflowError:
        nearest = math.inf if value > 0 else -math.inf
    if nearest == value:
        return nearest, True
    return (nearest if nearest < value else math.nextafter(nearest, -math.inf)), False


def _with_place(operator: ComparisonOperator, numbers: Array, place: float, *, hit: bool) -> Mask:
    """Compare with a constant between `place`, which is a number of the same form, and the next; or (hit) equal to it."""
    if numbers.dtype.kind != "f" and not _LEAST <= place <= _MOST:
        return np.full(numbers.shape, operator in (_OF_ABOVE if place > 0 else _OF_BELOW))
    if not hit:
        if operator in (ComparisonOperator.EQUAL, ComparisonOperator.UNEQUAL):
            return np.full(numbers.shape, operator is ComparisonOperator.UNEQUAL)
        operator = _PAST[operator]
    return _mask(COMPARE[operator](numbers, place))


_UPWARD = {ComparisonOperator.LESS, ComparisonOperator.AT_MOST}
_OF_ABOVE = {*_UPWARD, ComparisonOperator.UNEQUAL}
_OF_BELOW = {ComparisonOperator.GREATER, ComparisonOperator.AT_LEAST, ComparisonOperator.UNEQUAL}
"""What holds between every int64 and a constant above, or below, them all."""
_PAST = {
    ComparisonOperator.LESS: ComparisonOperator.AT_MOST,
    ComparisonOperator.AT_MOST: ComparisonOperator.AT_MOST,
    ComparisonOperator.GREATER: ComparisonOperator.GREATER,
    ComparisonOperator.AT_LEAST: ComparisonOperator.GREATER,
}
"""The comparison with the number just below a constant that says the same."""


def _integer_with_double(operator: ComparisonOperator, integers: Array, numbers: Array) -> Mask:
    """Exact where int64 and doubles do not hold each other's numbers."""
    upward = operator in (ComparisonOperator.LESS, ComparisonOperator.AT_LEAST)
    whole = np.ceil(numbers) if upward else np.floor(numbers)
    high, low = whole >= 2.0**63, whole < -(2.0**63)
    with np.errstate(all="ignore"):
        places = np.where(high | low, 0.0, whole).astype(np.int64)
    if operator in (ComparisonOperator.EQUAL, ComparisonOperator.UNEQUAL):
        equal = (integers == places) & (whole == numbers) & ~high & ~low
        return equal if operator is ComparisonOperator.EQUAL else ~equal
    smaller = operator in _UPWARD
    return _mask((COMPARE[operator](integers, places) & ~high & ~low) | (high if smaller else low))


def _mask(truth: Any) -> Mask:
    mask: Mask = truth
    return mask
