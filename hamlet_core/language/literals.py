"""Numbers, lengths of time and time stamps: text to value and back, exactly."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Context, Decimal

MAX_DIGITS = 400
"""Most digits a number may have, written out in full, before and after the point together."""

MAX_MICROSECONDS = 2**62
"""A length of time must be shorter than this (146,000 years), so that sums of times fit 64 bits."""

UNITS: dict[str, int] = {
    "ms": 1_000,
    "s": 1_000_000,
    "sec": 1_000_000,
    "second": 1_000_000,
    "seconds": 1_000_000,
    "min": 60_000_000,
    "minute": 60_000_000,
    "minutes": 60_000_000,
    "h": 3_600_000_000,
    "hour": 3_600_000_000,
    "hours": 3_600_000_000,
    "d": 86_400_000_000,
    "day": 86_400_000_000,
    "days": 86_400_000_000,
}
"""Every spelling of a unit of time, in microseconds."""

_CANONICAL_UNITS = ("d", "h", "min", "s", "ms")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LENGTH = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]+)")
_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII
)


def number(text: str) -> int | Decimal | None:
    """The exact value of a number as written, or None if it has more than `MAX_DIGITS` digits.

    >>> number("42"), number("1.50"), number("1e999999999")
    (42, Decimal('1.50'), None)
    """
    if len(text) > 2 * MAX_DIGITS or len(text.lower().partition("e")[2]) > len("+400"):
        return None
    value = Decimal(text)
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int) or max(len(digits) + max(exponent, 0), -exponent) > MAX_DIGITS:
        return None
    return int(text) if text.isdigit() else value


def number_text(value: int | Decimal) -> str:
    """A number as it stands in a text; a decimal keeps a point or an exponent, so that it stays a decimal."""
    if isinstance(value, int):
        return str(value)
    text = str(value)
    return text if "." in text or "E" in text else f"{text}.0"


def duration(amount: int | Decimal, unit: str) -> int | None:
    """Microseconds of `amount` units (a key of `UNITS`), or None if not whole or not below the limit."""
    exact = Decimal(amount) if isinstance(amount, int) else amount
    product = Context(prec=2 * MAX_DIGITS + 20).multiply(exact, Decimal(UNITS[unit]))
    if product != product.to_integral_value() or product.copy_abs() >= MAX_MICROSECONDS:
        return None
    return int(product)


def length(text: str) -> int | None:
    """Microseconds of a length of time as written, or None if it is none.

    >>> length("1.5 h"), length("90"), length("3 weeks")
    (5400000000, None, None)
    """
    match = _LENGTH.fullmatch(text.strip())
    amount = number(match[1]) if match else None
    if match is None or amount is None or match[2].lower() not in UNITS:
        return None
    return duration(amount, match[2].lower())


def duration_text(microseconds: int) -> str:
    """The length in the largest unit that gives a whole number, else in decimal milliseconds.

    >>> duration_text(5400_000_000), duration_text(1500)
    ('90 min', '1.5 ms')
    """
    for unit in _CANONICAL_UNITS:
        if microseconds and microseconds % UNITS[unit] == 0:
            return f"{microseconds // UNITS[unit]} {unit}"
    if microseconds == 0:
        return "0 s"
    sign = "-" if microseconds < 0 else ""
    whole, rest = divmod(abs(microseconds), 1_000)
    return f"{sign}{whole}.{rest:03}".rstrip("0") + " ms"


def timestamp(text: str) -> int | None:
    """Microseconds since the epoch of an ISO 8601 date or time (naive = UTC), or None if it is none.

    >>> timestamp("1970-01-01 00:01"), timestamp("1970-01-01T01:00+01:00"), timestamp("2015-02-30")
    (60000000, 0, None)
    """
    match = _ISO.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0),
            int((fraction or "").ljust(6, "0")), tzinfo=_zone(zone),
        )  # fmt: skip
    except ValueError:
        return None
    return (moment - _EPOCH) // timedelta(microseconds=1)


def timestamp_text(microseconds: int) -> str:
    """ISO 8601 in UTC without a zone; raises OverflowError outside the years 1 to 9999."""
    return (_EPOCH + timedelta(microseconds=microseconds)).replace(tzinfo=None).isoformat(" ")


def _zone(text: str | None) -> timezone:
    if text is None or text == "Z":
        return UTC
    hours, minutes = int(text[1:3]), int(text[-2:])
    if minutes > 59:
        raise ValueError(text)
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if text[0] == "-" else offset)
