"""Instants as text, beyond the years that Python's own type knows, too."""

from __future__ import annotations

import numpy as np

_DIGITS = 4
"""Of a year, at least."""


def iso(microseconds: int) -> str:
    """ISO 8601 in UTC of microseconds from the epoch, with a fraction only where there is one.

    Years beyond 9999 have more digits and a sign, as years before 0 have (0 is the year before 1).

    >>> iso(0), iso(-1)
    ('1970-01-01T00:00:00Z', '1969-12-31T23:59:59.999999Z')
    >>> iso(2**62), iso(-62_167_219_200_000_001)
    ('+148108-07-06T14:00:27.387904Z', '-0001-12-31T23:59:59.999999Z')
    """
    text = str(np.datetime64(microseconds, "us")).removesuffix(".000000") + "Z"
    sign = "-" if text.startswith("-") else ""
    year, rest = text.removeprefix("-").split("-", 1)
    if len(year) > _DIGITS and not sign:
        sign = "+"
    return f"{sign}{year:0>{_DIGITS}}-{rest}"
