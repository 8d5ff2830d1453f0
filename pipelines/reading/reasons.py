"""Why a row or a file was rejected: stable codes, and the table of rejected rows."""

from __future__ import annotations

from enum import StrEnum

import pyarrow as pa

REJECTED_SCHEMA = pa.schema(
    [
        pa.field("source_file", pa.string(), nullable=False),
        pa.field("row_number", pa.int64()),
        pa.field("raw", pa.string()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("code", pa.string(), nullable=False),
    ]
)
"""`row_number` counts data records from 1 (no header, no blank lines); NULL if a whole file is rejected."""

NO_SUCH_PATH = "E450"
"""The path does not exist, or holds no file that can be read."""

NO_SUCH_COLUMN = "E451"
"""An option names a column that no file has, or is itself wrong."""


class Reason(StrEnum):
    """The code of a rejected row; codes never change their meaning."""

    UNREADABLE_FILE = "E401"
    """The whole file: not text, wrong encoding, damaged Parquet, a header with two equal names."""
    TOO_MANY_FIELDS = "E402"
    """A CSV row with more fields than the header: a value of an unknown column."""
    TOO_FEW_FIELDS = "E403"
    """A CSV row with fewer fields than the header."""
    INVALID_UTF8 = "E404"
    """Bytes that are not UTF-8."""
    BROKEN_JSON = "E405"
    """A line that is not one JSON object."""
    UNCLOSED_QUOTE = "E406"
    """A CSV row whose quoted field never ends."""
    NOT_AN_INTEGER = "E410"
    """A value that is no integer in an integer column."""
    NOT_A_NUMBER = "E411"
    """A text in a column of numbers."""
    NOT_A_TIMESTAMP = "E412"
    """A value that is no ISO 8601 date and time in a timestamp column."""
    NOT_A_DATE = "E413"
    """A value that is no ISO 8601 date in a date column."""
    NOT_A_BOOLEAN = "E414"
    """A value that is neither true nor false in a boolean column."""
    NOT_FINITE = "E415"
    """NaN or infinity."""
    OUT_OF_RANGE = "E416"
    """A value beyond int64, double, the decimal's digits, or a time beyond 2^62 microseconds of the epoch."""
    TOO_FINE = "E417"
    """A timestamp finer than a microsecond."""
    TYPE_CONFLICT = "E418"
    """A column whose type in this file cannot be read as its type in the other files."""
    NOT_ONE_INSTANT = "E419"
    """A time without a zone that the clocks of the default zone showed twice or never."""
    MISSING_TIME = "E420"
    """No time."""
    MISSING_TYPE = "E421"
    """No type."""
    DUPLICATE = "E422"
    """An event whose key another event has."""
