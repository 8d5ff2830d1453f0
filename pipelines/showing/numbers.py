"""One result row in, its number as a person reads it out."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, log10
from typing import Any

LONGEST = 30
"""Digits that are shown in full."""

_WHOLE_BELOW = 2.0**53
_PLAIN = (1e-4, 1e15)


def number(row: Mapping[str, Any]) -> str:
    """All digits where they are known and fit, else a rounded number of any magnitude; `-` where there is none.

    Where a sum has cancelled out (its sign is withheld), what is left of it is rounding: `~0`.

    >>> number({"exact": "93939", "value": 93939.0, "sign": 1, "log2": 16.5})
    '93,939'
    >>> number({"exact": None, "value": None, "sign": 1, "log2": 50000.0})
    '3.1607e15051'
    >>> number({"exact": None, "value": 3.7e-05, "sign": None, "log2": -14.7})
    '~0'
    """
    exact, value = row["exact"], row["value"]
    if exact is not None and len(exact) <= LONGEST:
        return _grouped(exact) + (f" = {plain(value)}" if "/" in exact and value is not None else "")
    if value is not None and row["sign"] is None:
        return "~0"
    if value is not None:
        return plain(value) + _length(exact)
    if row["log2"] is not None:
        return _huge(row["log2"], row["sign"]) + _length(exact)
    return "-"


def plain(value: float) -> str:
    """A double in at most about twenty characters.

    >>> plain(93939.0), plain(0.125), plain(1e300)
    ('93,939', '0.125', '1e300')
    """
    if value == 0:
        return "0"
    if value.is_integer() and abs(value) < _WHOLE_BELOW:
        return f"{int(value):,}"
    if _PLAIN[0] <= abs(value) < _PLAIN[1]:
        return f"{value:,.4f}".rstrip("0").rstrip(".")
    return f"{value:.6g}".replace("e+", "e")


def _grouped(digits: str) -> str:
    """Thousands separated, in the whole part of each number of `37/2`, `-1250.50`."""
    return "/".join(_grouped_one(part) for part in digits.split("/"))


def _grouped_one(digits: str) -> str:
    whole, point, rest = digits.partition(".")
    return f"{int(whole):,}{point}{rest}" if whole.lstrip("-").isdecimal() else digits


def _length(exact: str | None) -> str:
    if exact is None or "/" in exact:
        return ""
    return f" ({sum(map(str.isdecimal, exact)):,} digits)"


def _huge(log2: float, sign: int | None) -> str:
    """A number beyond the doubles, from its logarithm."""
    decimal = log2 * log10(2)
    exponent = floor(decimal)
    digits = f"{10 ** (decimal - exponent):.4f}"
    if digits == "10.0000":
        digits, exponent = "1.0000", exponent + 1
    return f"{'-' if sign == -1 else ''}{digits}e{exponent}"
