"""What the values of one column read as: counts of integers, reals, times, texts, ..."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.table.arrow import numbers_of
from pipelines.reading.json_lines import Values
from pipelines.reading.values import (
    BOOLEAN_TEXT,
    DATE_TEXT,
    FIRST,
    INTEGER_TEXT,
    NUMBER_TEXT,
    SPECIAL_TEXT,
    TIMESTAMP_TEXT,
    has_hexadecimal,
    matches,
    trimmed,
    true_at,
)

INT64_LIMIT = 2**63
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ColumnEvidence:
    """How many non-empty values of a column read as what (text files), and the declared types (Parquet)."""

    name: str
    integers: int = 0
    """Integers that fit 64 bits."""
    huge: int = 0
    """Integers that do not."""
    reals: int = 0
    """Numbers with a point or an exponent."""
    specials: int = 0
    """NaN and infinities."""
    booleans: int = 0
    """true and false."""
    dates: int = 0
    """ISO dates."""
    timestamps: int = 0
    """ISO dates with a time."""
    texts: int = 0
    """Everything else."""
    declared: tuple[tuple[str, int], ...] = ()
    """(type, rows) of Parquet files."""

    @property
    def present(self) -> bool:
        """Whether anything is known of the values."""
        return self != ColumnEvidence(self.name)

    def plus(self, other: ColumnEvidence) -> ColumnEvidence:
        """Evidence of both."""
        summed = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
            if field.name not in ("name", "declared")
        }
        return replace(self, **summed, declared=self.declared + other.declared)


def of_texts(name: str, texts: pa.Array) -> ColumnEvidence:
    """Evidence of string values."""
    present = len(texts) - texts.null_count
    if not present:
        return ColumnEvidence(name)
    if _casts(texts, pa.int64()) and not has_hexadecimal(texts):
        return ColumnEvidence(name, integers=present)
    bare, counts = _different(texts)
    whole = matches(bare, INTEGER_TEXT)
    number = matches(bare, NUMBER_TEXT)
    special = matches(bare, SPECIAL_TEXT)
    boolean = matches(bare, BOOLEAN_TEXT)
    date = matches(bare, DATE_TEXT)
    time = matches(bare, TIMESTAMP_TEXT)
    huge = _huge(bare, whole)
    masks = {
        "integers": whole & ~huge,
        "huge": huge,
        "reals": number & ~whole,
        "specials": special,
        "booleans": boolean,
        "dates": date,
        "timestamps": time & ~date,
        "texts": ~(number | special | boolean | time),
    }
    found: dict[str, Any] = {kind: int(counts[mask].sum()) for kind, mask in masks.items()}
    return ColumnEvidence(name, **found)


def _times_among(name: str, texts: pa.Array) -> ColumnEvidence:
    """Evidence of strings that are no numbers, whatever is written in them."""
    if len(texts) == texts.null_count:
        return ColumnEvidence(name)
    bare, counts = _different(texts)
    date, time = matches(bare, DATE_TEXT), matches(bare, TIMESTAMP_TEXT)
    dates, timestamps = int(counts[date].sum()), int(counts[time & ~date].sum())
    return ColumnEvidence(
        name, dates=dates, timestamps=timestamps, texts=int(counts.sum()) - dates - timestamps
    )


def _different(texts: pa.Array) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """The different strings without blanks around them, and how many there are of each; those of blanks alone are none."""
    counted = pc.value_counts(pc.drop_null(texts))
    bare, counts = trimmed(counted.field("values")), numbers_of(counted.field("counts"))
    if bare.null_count:
        counts, bare = counts[true_at(pc.is_valid(bare))], pc.drop_null(bare)
    return bare, counts


def _huge(bare: pa.Array, whole: Mask) -> Mask:
    """Where integers are beyond 64 bits; only long ones can be."""
    huge = np.zeros(len(bare), dtype=np.bool_)
    for place in np.flatnonzero(whole & (numbers_of(pc.utf8_length(bare)) > 18)):
        # Decimal, as `int` refuses thousands of digits.
        huge[place] = not -INT64_LIMIT <= Decimal(bare[int(place)].as_py()) < INT64_LIMIT
    return huge


def _casts(texts: pa.Array, kind: pa.DataType) -> bool:
    """Whether all values cast; a few first, as Arrow is slow to give up."""
    try:
        pc.cast(texts[:FIRST], kind)
        pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return False
    return True


def of_objects(name: str, values: Sequence[object] | Values, *, written: bool) -> ColumnEvidence:
    """Evidence of parsed JSON values; strings are looked into for times, and for numbers if those may be `written`.

    Of `Values` that are doubles all count as reals: one of them is.
    """
    if isinstance(values, Values):
        strings = pa.types.is_string(values.array.type)
        found = (_times_among if strings and not written else of_plain)(name, values.array)
        return (
            found.plus(of_objects(name, list(values.odd.values()), written=written)) if values.odd else found
        )
    texts = pa.array([value for value in values if type(value) is str], pa.string())
    strings = (of_texts if written else _times_among)(name, texts)
    whole = [value for value in values if type(value) is int]
    huge = sum(1 for value in whole if not -INT64_LIMIT <= value < INT64_LIMIT)
    real = [value for value in values if type(value) is float]
    odd = sum(1 for value in real if not np.isfinite(value))
    native = ColumnEvidence(
        name,
        integers=len(whole) - huge,
        huge=huge,
        reals=len(real) - odd,
        specials=odd,
        booleans=sum(1 for value in values if type(value) is bool),
        texts=sum(1 for value in values if isinstance(value, (dict, list))),
    )
    return strings.plus(native)


def of_plain(name: str, values: pa.Array) -> ColumnEvidence:
    """Evidence of values of one type."""
    if pa.types.is_string(values.type):
        return of_texts(name, values)
    present = len(values) - values.null_count
    return ColumnEvidence(
        name,
        integers=present * pa.types.is_int64(values.type),
        reals=present * pa.types.is_float64(values.type),
        booleans=present * pa.types.is_boolean(values.type),
    )


def of_times(name: str, times: pa.Array) -> ColumnEvidence:
    """Evidence of texts that all read as these times: dates among time stamps count as such, too."""
    present = len(times) - times.null_count
    if pa.types.is_date(times.type):
        return ColumnEvidence(name, dates=present)
    return ColumnEvidence(name, timestamps=present)
