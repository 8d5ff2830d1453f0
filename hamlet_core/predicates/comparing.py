"""Comparison of whole columns of numbers, exact like Python's: no number is rounded to be compared."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from hamlet_core.language.syntax import ComparisonOperator
from hamlet_core.predicates.vectors import (
    LEAST,
    MOST,
    Array,
    Constant,
    Form,
    Mask,
    Operand,
    Unsupported,
    Vector,
    aligned,
)

_FEW = 8
"""Values that are sooner compared one by one than looked up."""

COMPARISONS: dict[ComparisonOperator, Callable[[Any, Any], Any]] = {
    ComparisonOperator.EQUAL: operator.eq,
    ComparisonOperator.UNEQUAL: operator.ne,
    ComparisonOperator.LESS: operator.lt,
    ComparisonOperator.AT_MOST: operator.le,
    ComparisonOperator.GREATER: operator.gt,
    ComparisonOperator.AT_LEAST: operator.ge,
}
_MIRRORED = {
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.AT_MOST: ComparisonOperator.AT_LEAST,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.AT_LEAST: ComparisonOperator.AT_MOST,
}


def compare(sign: ComparisonOperator, left: Operand, right: Operand) -> Mask:
    """Where `left sign right` holds exactly, for operands that are not NULL, at least one of them a vector.

    Rows that are NULL may hold or not.
    """
    if isinstance(left, Constant):
        return compare(_MIRRORED.get(sign, sign), right, left)
    if isinstance(right, Constant):
        place, hit = (below_double if left.form is Form.DOUBLE else below)(right.value, left.scale)
        return _with_place(sign, left.numbers, place, hit=hit)
    forms = left.form, right.form
    if Form.DOUBLE not in forms:
        x, y, _ = aligned(left, right)
        return _mask(COMPARISONS[sign](x, y))
    if forms == (Form.DOUBLE, Form.DOUBLE):
        return _mask(COMPARISONS[sign](left.numbers, right.numbers))
    if Form.DECIMAL in forms:
        raise Unsupported
    if left.form is Form.DOUBLE:
        return compare(_MIRRORED.get(sign, sign), right, left)
    return _integer_with_double(sign, left.numbers, right.numbers)


def members(vector: Vector, values: list[Any]) -> Mask:
    """Where the number is exactly one of the values."""
    place = below_double if vector.form is Form.DOUBLE else below
    found = [place(value, vector.scale) for value in values]
    known = [number for number, hit in found if hit]
    if len(known) > _FEW:
        return np.isin(vector.numbers, np.array(known, vector.numbers.dtype))
    yes = np.zeros(vector.numbers.shape, np.bool_)
    for number in known:
        yes |= vector.numbers == number
    return yes


def below(value: Any, scale: int = 0) -> tuple[int, bool]:
    """The largest integer that is not above `value * 10**scale`, and whether it is equal; clipped beyond int64.

    >>> below(Decimal("2.5")), below(Decimal("2.5"), 1), below(10**30)
    ((2, False), (25, True), (9223372036854775808, False))
    """
    if value > MOST:
        return MOST + 1, False
    if value < LEAST:
        return LEAST - 1, False
    if isinstance(value, Decimal) and value and value.adjusted() < -100:
        return (0 if value > 0 else -1), False
    scaled = Fraction(value) * 10**scale
    place = math.floor(scaled)
    if not LEAST <= place <= MOST:
        return min(max(place, LEAST - 1), MOST + 1), False
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


def _with_place(sign: ComparisonOperator, numbers: Array, place: float, *, hit: bool) -> Mask:
    """Compare with a constant between `place`, which is a number of the same form, and the next; or (hit) equal to it."""
    if numbers.dtype.kind != "f" and not LEAST <= place <= MOST:
        return np.full(numbers.shape, sign in (_OF_ABOVE if place > 0 else _OF_BELOW))
    if not hit:
        if sign in (ComparisonOperator.EQUAL, ComparisonOperator.UNEQUAL):
            return np.full(numbers.shape, sign is ComparisonOperator.UNEQUAL)
        sign = _PAST[sign]
    return _mask(COMPARISONS[sign](numbers, place))


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


def _integer_with_double(sign: ComparisonOperator, integers: Array, numbers: Array) -> Mask:
    """Exact where int64 and doubles do not hold each other's numbers."""
    upward = sign in (ComparisonOperator.LESS, ComparisonOperator.AT_LEAST)
    whole = np.ceil(numbers) if upward else np.floor(numbers)
    high, low = whole >= 2.0**63, whole < -(2.0**63)
    with np.errstate(all="ignore"):
        places = np.where(high | low, 0.0, whole).astype(np.int64)
    if sign in (ComparisonOperator.EQUAL, ComparisonOperator.UNEQUAL):
        equal = (integers == places) & (whole == numbers) & ~high & ~low
        return _mask(equal if sign is ComparisonOperator.EQUAL else ~equal)
    smaller = sign in _UPWARD
    return _mask((COMPARISONS[sign](integers, places) & ~high & ~low) | (high if smaller else low))


def _mask(truth: Any) -> Mask:
    """What NumPy is not known to give."""
    mask: Mask = truth
    return mask
