"""Lengths of time in, words out."""

from __future__ import annotations

_UNITS = (
    ("day", 86_400_000_000),
    ("h", 3_600_000_000),
    ("min", 60_000_000),
    ("s", 1_000_000),
    ("ms", 1_000),
    ("us", 1),
)


def duration(microseconds: int) -> str:
    """A duration in the largest unit that divides it.

    >>> duration(1_800_000_000), duration(86_400_000_000), duration(28 * 86_400_000_000)
    ('30 min', '1 day', '28 days')
    """
    name, size = next((name, size) for name, size in _UNITS if microseconds % size == 0)
    count = microseconds // size
    return f"{count:,} {name}{'s' if name == 'day' and count != 1 else ''}"


def about(seconds: float) -> str:
    """An estimate as a person says it: no more digits than are known, and never nothing.

    >>> about(0.2), about(41.7), about(200), about(20_000)
    ('1 s', '42 s', '3 min', '5.6 h')
    """
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:,.1f} h"
