"""The kinds of values an expression can have; Arrow's many types are mapped to these few."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum
from typing import assert_never

from hamlet_core.language.syntax import Duration, LiteralValue, Timestamp


class Kind(Enum):
    """What a value is, as far as operators care; the value is the word used in messages."""

    INTEGER = "an integer"
    """int64."""
    DOUBLE = "a double"
    """A finite float64."""
    DECIMAL = "a decimal"
    """An exact decimal number; also every literal with a point or an exponent."""
    TEXT = "text"
    """Unicode text, ordered by code points."""
    BOOLEAN = "a boolean"
    """TRUE or FALSE."""
    TIMESTAMP = "a timestamp"
    """A point in time, microseconds since the epoch, UTC."""
    TICK = "an integer time"
    """The integer time column: a number in the stream's unit, and a point in time."""
    TICK_DIFFERENCE = "a difference of integer times"
    """TICK - TICK: a number in the stream's unit that compares with durations and with plain numbers."""
    DURATION = "a duration"
    """A length of time in microseconds."""
    NULL = "NULL"
    """The NULL literal, or a column without any value."""


NUMBERS = frozenset({Kind.INTEGER, Kind.DOUBLE, Kind.DECIMAL})


def literal_kind(value: LiteralValue) -> Kind:  # noqa: PLR0911 - a line per class of a closed family
    """The kind of a literal.

    >>> literal_kind(Decimal("0.5")), literal_kind(True)
    (<Kind.DECIMAL: 'a decimal'>, <Kind.BOOLEAN: 'a boolean'>)
    """
    match value:
        case None:
            return Kind.NULL
        case bool():
            return Kind.BOOLEAN
        case int():
            return Kind.INTEGER
        case Decimal():
            return Kind.DECIMAL
        case str():
            return Kind.TEXT
        case Timestamp():
            return Kind.TIMESTAMP
        case Duration():
            return Kind.DURATION
        case _:
            assert_never(value)
