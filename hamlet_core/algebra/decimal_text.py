"""Whole numbers of any size in decimal digits, in less than quadratic time."""

from __future__ import annotations

from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact
from functools import cache

_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
_SHORT = 2048
"""So many bits are turned into digits directly."""


def decimal_text(number: int) -> str:
    """The digits of a whole number that is not negative; an integer's own text has a limit on digits,
    the same for all threads.

    >>> decimal_text(2**64)
    '18446744073709551616'
    """
    bits = _SHORT
    while bits < number.bit_length():
        bits *= 2
    return str(_decimal(number, bits))


def _decimal(number: int, bits: int) -> Decimal:
    """A number of at most `bits` bits, from its two halves."""
    if number.bit_length() <= _SHORT:
        return Decimal(number)
    half = bits // 2
    upper = number >> half
    return _EXACT.fma(_decimal(upper, half), _power(half), _decimal(number - (upper << half), half))


@cache
def _power(bits: int) -> Decimal:
    return _decimal(1 << bits, 2 * bits) if bits < _SHORT else _EXACT.power(Decimal(2), bits)
