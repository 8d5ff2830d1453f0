"""Values of one column: texts in, an array of the column's type out, and a code for each value that does not fit.

What reads as what (blanks around a value never matter, except in a text column; empty is NULL in all the others):
integer `12`, `+3`, `-3`, `007`, `12.00`; number also `1.5`, `.5`, `1e5`; boolean `true`, `FALSE`; date
`2015-01-31`; timestamp `2015-01-31`, `2015-01-31 08:00`, `2015-01-31T08:00:00.123456Z`, `...+02:00` (no zone: UTC).
Not numbers: `1_000`, `1,000`, `0x1F`, `NaN`, `inf`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.table.arrow import numbers_of, of_numbers, scalar_of
from pipelines.reading.reasons import Reason

TIMESTAMP = pa.timestamp("us", "UTC")
INTEGER_TEXT = r"^[+-]?[0-9]+$"
WHOLE_TEXT = r"^[+-]?[0-9]+(\.0*)?$"
NUMBER_TEXT = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
SPECIAL_TEXT = r"(?i)^[+-]?(nan|inf|infinity)$"
BOOLEAN_TEXT = r"(?i)^(true|false)$"
DATE_TEXT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
TIMESTAMP_TEXT = (
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}(:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?)?"
    r"( ?(Z|z|[+-][0-9]{2}(:?[0-9]{2})?))?)?$"
)
TOO_FINE_TEXT = r"\.[0-9]{6}[0-9]*[1-9][0-9]*"

FIRST = 64
"""Values that are tried before all are."""

Codes = npt.NDArray[np.uint8]
"""A code a value: 0 = fits, else 1 + the place of its reason in `Reason`."""

NOTHING: Mapping[str, pa.DataType] = MappingProxyType({})
"""No column is expected to have a type."""

_REASONS = tuple(Reason)


def code_of(reason: Reason) -> int:
    """The number that stands for a reason in `Codes`."""
    return _REASONS.index(reason) + 1


def reason_of(code: int) -> Reason:
    """The reason of a non-zero code."""
    return _REASONS[code - 1]


@dataclass(frozen=True, slots=True)
class Column:
    """Values of the wanted type (NULL where a value does not fit), and codes, or None if every value fits."""

    values: pa.Array
    codes: Codes | None = None


def no_codes(length: int) -> Codes:
    """Codes of values that all fit."""
    return np.zeros(length, dtype=np.uint8)


def true_at(mask: pa.Array) -> npt.NDArray[np.bool_]:
    """A boolean array as NumPy; NULL is False."""
    known = pc.fill_null(mask, scalar_of(False, pa.bool_())) if mask.null_count else mask
    return numbers_of(known)


def matches(texts: pa.Array, pattern: str) -> npt.NDArray[np.bool_]:
    """Where a text matches; False for NULL."""
    return true_at(pc.match_substring_regex(texts, pattern))


def parse_texts(texts: pa.Array, wanted: pa.DataType) -> Column:
    """Read string values as `wanted` (int64, double, decimal, timestamp[us, UTC], date32, bool or string)."""
    if pa.types.is_string(wanted):
        return Column(texts)
    fast = _whole_column(texts, wanted)
    return Column(fast) if fast is not None else _per_text(texts, wanted)


def trimmed(texts: pa.Array) -> pa.Array:
    """Texts without surrounding blanks; NULL where nothing is left."""
    bare = pc.utf8_trim_whitespace(texts)
    return pc.if_else(pc.equal(bare, scalar_of("", pa.string())), scalar_of(None, pa.string()), bare)


def _whole_column(texts: pa.Array, wanted: pa.DataType) -> pa.Array | None:
    """One cast of all values, or None where Arrow refuses one or would be more generous than we are."""
    if pa.types.is_boolean(wanted) or pa.types.is_decimal(wanted):
        return None
    try:
        if pa.types.is_timestamp(wanted):
            return _whole_timestamps(texts)
        values = pc.cast(texts, wanted)
    except pa.ArrowInvalid:
        return None
    if pa.types.is_int64(wanted) and has_hexadecimal(texts):
        return None
    return None if pa.types.is_float64(wanted) and not all_finite(values) else values


def all_finite(values: pa.Array | pa.ChunkedArray) -> bool:
    """Whether no double is NaN or infinite; NULL is neither."""
    return pc.all(pc.is_finite(values)).as_py() is not False


def _whole_timestamps(texts: pa.Array) -> pa.Array:
    """All naive, or all with a zone; raises `ArrowInvalid` if neither. The first ones tell, as Arrow is slow to give up."""
    try:
        pc.cast(texts[:FIRST], pa.timestamp("us"))
        return pc.cast(pc.cast(texts, pa.timestamp("us")), TIMESTAMP)
    except pa.ArrowInvalid:
        return pc.cast(texts, TIMESTAMP)


def has_hexadecimal(texts: pa.Array) -> bool:
    """Whether an `x` is in the texts: Arrow reads `0x1F` as an integer, people do not."""
    buffer = texts.buffers()[2]
    if buffer is None:
        return False
    content = np.frombuffer(buffer, dtype=np.uint8)
    offsets = np.frombuffer(texts.buffers()[1], dtype=np.int32)[texts.offset : texts.offset + len(texts) + 1]
    part = content[offsets[0] : offsets[-1]].tobytes()
    return b"x" in part or b"X" in part


def may_have_hexadecimal(data: bytes) -> bool:
    """Whether an `x` follows a zero anywhere."""
    if b"x" not in data and b"X" not in data:
        return False
    content = np.frombuffer(data, dtype=np.uint8)
    places = np.flatnonzero((content[1:] | 0x20) == ord("x"))
    return bool(np.any(content[places] == ord("0")))


def _per_text(texts: pa.Array, wanted: pa.DataType) -> Column:
    """Sort out each text once, where many are the same."""
    coded = texts.dictionary_encode()
    if 2 * len(coded.dictionary) > len(texts):
        return _per_value(texts, wanted)
    column = _per_value(coded.dictionary, wanted)
    codes = None
    if column.codes is not None:
        codes = np.append(column.codes, np.uint8(0))[numbers_of(coded.indices.fill_null(len(column.codes)))]
    return Column(column.values.take(coded.indices), codes)


def _per_value(texts: pa.Array, wanted: pa.DataType) -> Column:
    """Sort out the values that do not read as `wanted`, by pattern first and then one by one."""
    bare = trimmed(texts)
    pattern, reason = _grammar(wanted)
    codes = no_codes(len(bare))
    present = true_at(pc.is_valid(bare))
    codes[present & ~matches(bare, pattern)] = code_of(reason)
    if reason in (Reason.NOT_AN_INTEGER, Reason.NOT_A_NUMBER):
        codes[matches(bare, SPECIAL_TEXT)] = code_of(Reason.NOT_FINITE)
    if pa.types.is_timestamp(wanted):
        codes[(codes == 0) & matches(bare, TOO_FINE_TEXT)] = code_of(Reason.TOO_FINE)
    kept = pc.if_else(of_numbers(codes == 0), bare, scalar_of(None, pa.string()))
    values = cast_each(_written_for_arrow(kept, wanted), wanted)
    refused = true_at(pc.is_valid(kept)) & true_at(pc.is_null(values))
    codes[refused] = code_of(_refusal(wanted))
    return Column(values, codes if codes.any() else None)


def _grammar(wanted: pa.DataType) -> tuple[str, Reason]:
    """The pattern of a type's texts, and the reason for those that do not match."""
    if pa.types.is_int64(wanted):
        return WHOLE_TEXT, Reason.NOT_AN_INTEGER
    if pa.types.is_boolean(wanted):
        return BOOLEAN_TEXT, Reason.NOT_A_BOOLEAN
    if pa.types.is_date(wanted):
        return DATE_TEXT, Reason.NOT_A_DATE
    if pa.types.is_timestamp(wanted):
        return TIMESTAMP_TEXT, Reason.NOT_A_TIMESTAMP
    return NUMBER_TEXT, Reason.NOT_A_NUMBER


def _refusal(wanted: pa.DataType) -> Reason:
    """Why a value of the right form is refused: no such day, or no such number."""
    if pa.types.is_date(wanted):
        return Reason.NOT_A_DATE
    return Reason.NOT_A_TIMESTAMP if pa.types.is_timestamp(wanted) else Reason.OUT_OF_RANGE


def _written_for_arrow(texts: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The same values in the one form that Arrow's own casts read."""
    if pa.types.is_int64(wanted):
        return pc.replace_substring_regex(pc.replace_substring_regex(texts, r"^\+", ""), r"\..*$", "")
    if pa.types.is_boolean(wanted):
        return pc.utf8_lower(texts)
    if pa.types.is_timestamp(wanted):
        return _zoned(texts)
    return texts


def _zoned(texts: pa.Array) -> pa.Array:
    """Timestamps with six digits of a second at most and a zone; a bare date or naive time is UTC."""
    short = pc.replace_substring_regex(texts, r"(\.[0-9]{6})0+", r"\1")
    dated = pc.if_else(pc.match_substring_regex(short, DATE_TEXT), _joined(short, " 00:00"), short)
    timed = pc.replace_substring_regex(dated, r"^(.{10}[ T][0-9]{2})($| ?[Zz+-])", r"\1:00\2")
    zoned = pc.replace_substring_regex(timed, r" ?([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$", r"\1")
    capital = pc.replace_substring(zoned, "z", "Z")
    # A date ends like a zone (`-31`); here every value has a clock time, so only a zone follows a colon part.
    has_zone = pc.match_substring_regex(capital, r":[0-9.]+(Z|[+-][0-9]{2}(:?[0-9]{2})?)$")
    return pc.if_else(has_zone, capital, _joined(capital, "Z"))


def _joined(texts: pa.Array, ending: str) -> pa.Array:
    return pc.binary_join_element_wise(texts, pa.scalar(ending), "")


def cast_each(texts: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Cast what can be cast, NULL for the rest: halve the array until the culprits are alone."""
    if pa.types.is_decimal(wanted):
        return pa.array([_decimal(text, wanted) for text in texts.to_pylist()], wanted)
    try:
        values = pc.cast(texts, wanted)
    except pa.ArrowInvalid:
        if len(texts) == 1:
            return pa.nulls(1, wanted)
        middle = len(texts) // 2
        halves = [cast_each(texts[:middle], wanted), cast_each(texts[middle:], wanted)]
        return pa.concat_arrays(halves)
    if pa.types.is_float64(wanted):
        return pc.if_else(pc.is_finite(values), values, pa.scalar(None, wanted))
    return values


def _decimal(text: str | None, wanted: pa.DataType) -> Decimal | None:
    """The text as a decimal of this type, if it is one: Arrow's own cast wraps around where there are too many digits."""
    if text is None:
        return None
    exactly = Context(prec=wanted.precision, traps=[InvalidOperation, Inexact])
    try:
        return Decimal(text).quantize(Decimal(1).scaleb(-wanted.scale), context=exactly)
    except (InvalidOperation, Inexact):
        return None
