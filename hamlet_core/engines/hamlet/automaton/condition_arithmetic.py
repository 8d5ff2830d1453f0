"""Arithmetic of two numbers as `predicates.arithmetic` has it, compiled: int64 and doubles, exact between them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.jit.decorators import compiled

_LEAST, _MOST = -(2**63), 2**63 - 1
_BEYOND = 2.0**63
_EXACT = 2**53


@compiled
def compared(comparison: int, x: Any, y: Any) -> bool:
    """Whether two numbers of one class compare so; `comparison` is a place in `pair_tables.COMPARISONS`."""
    if comparison == 2:
        return bool(x < y)
    if comparison == 4:
        return bool(x > y)
    if comparison == 0:
        return bool(x == y)
    if comparison == 3:
        return bool(x <= y)
    if comparison == 5:
        return bool(x >= y)
    return bool(x != y)


@compiled
def order_with_double(integer: int, double: float) -> int:
    """-1, 0 or 1 as the integer is less than the double (not NaN), equal or greater; exact."""
    if double >= _BEYOND:
        return -1
    if double < -_BEYOND:
        return 1
    floor = np.int64(math.floor(double))
    if integer != floor:
        return -1 if integer < floor else 1
    return -1 if double > math.floor(double) else 0


@compiled
def sum_fits(x: int, y: int) -> bool:
    """Whether `x + y` stays in int64; asked before, since the compiler may take it that no sum overflows."""
    return x <= _MOST - y if y > 0 else x >= _LEAST - y


@compiled
def difference_fits(x: int, y: int) -> bool:
    """Whether `x - y` stays in int64."""
    return x >= _LEAST + y if y > 0 else x <= _MOST + y


@compiled
def product_fits(x: int, y: int) -> bool:
    """Whether `x * y` stays in int64."""
    if y == 0:
        return True
    limit = np.uint64(2**63) if (x < 0) != (y < 0) else np.uint64(2**63 - 1)
    return bool(_size(x) <= limit // _size(y))


@compiled
def _size(x: int) -> Any:
    """`|x|`, which for the least int64 only fits uint64."""
    return np.uint64(0) - np.uint64(x) if x < 0 else np.uint64(x)


@compiled
def rest(x: int, y: int) -> int:
    """The rest of `x / y` with the sign of `x`; 0 where y is 0."""
    if y in (0, -1):
        return 0
    found = x % y
    return found - y if found != 0 and (found < 0) != (x < 0) else found


@compiled
def rest_of_doubles(u: float, v: float) -> float:
    """The rest of `u / v` with the sign of `u`; NaN where there is none."""
    if v == 0.0 or math.isinf(u):
        return math.nan
    return float(np.fmod(u, v))


@compiled
def divided(x: int, y: int) -> float:
    """The nearest double of the exact quotient; NaN where y is 0."""
    if y == 0:
        return math.nan
    if -_EXACT <= x <= _EXACT and -_EXACT <= y <= _EXACT:
        return x / y
    upper, lower = _size(x), _size(y)
    whole, left, shift = upper // lower, upper % lower, 0
    while left != 0 and whole < np.uint64(2**54):  # until what is left can only break a tie
        left = left << np.uint64(1)
        whole = whole << np.uint64(1)
        shift -= 1
        if left >= lower:
            left -= lower
            whole |= np.uint64(1)
    if left != 0:
        whole |= np.uint64(1)
    quotient = math.ldexp(float(whole), shift)
    return -quotient if (x < 0) != (y < 0) else quotient
