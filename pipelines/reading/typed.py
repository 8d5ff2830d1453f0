"""A column of a chunk, as its format gives it, read as the type of the schema."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.table.arrow import of_texts
from hamlet_core.table.columns import filled
from pipelines.reading.declared import plain_type
from pipelines.reading.json_lines import Values
from pipelines.reading.parquet_files import scalar_text
from pipelines.reading.reasons import Reason
from pipelines.reading.times import ISO, Clock, of_clock, read_times
from pipelines.reading.values import TIMESTAMP, Codes, Column, code_of, no_codes, parse_texts, true_at

TEXT = pa.string()
_NATIVE: dict[str, set[type]] = {
    str(pa.int64()): {int},
    str(pa.float64()): {float, int},
    str(pa.bool_()): {bool},
    "string": {str},
}
_EXACT_DOUBLE = 2.0**63


def utf8_texts(values: pa.Array) -> pa.Array:
    """Binary values as strings; NULL where they are not UTF-8."""
    try:
        return pc.cast(values, TEXT)
    except pa.ArrowInvalid:
        fits = np.ones(len(values), dtype=np.bool_)
        for place in _beyond_ascii(values):
            fits[place] = _is_utf8(values[int(place)].as_py())
        return pc.cast(pc.if_else(pa.array(fits), values, pa.scalar(None, values.type)), TEXT)


def _beyond_ascii(values: pa.Array) -> np.ndarray:
    """Places of the values that hold any byte beyond ASCII: only those can fail to be UTF-8."""
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int32)[
        values.offset : values.offset + len(values) + 1
    ]
    content = np.frombuffer(values.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]]
    high = np.flatnonzero(content >= 0x80) + offsets[0]
    return np.unique(np.searchsorted(offsets, high, side="right") - 1)


def _is_utf8(value: bytes | None) -> bool:
    try:
        return value is None or value.decode("utf-8") is not None
    except UnicodeDecodeError:
        return False


def type_bytes(values: pa.Array, wanted: pa.DataType, clock: Clock = ISO) -> Column:
    """Bytes of a CSV column as `wanted`, or values that were parsed as such at once."""
    if values.type == wanted and not pa.types.is_binary(wanted):
        return Column(values)
    texts = utf8_texts(values)
    return _with_code(_parsed(texts, wanted, clock), _newly_null(values, texts), Reason.INVALID_UTF8)


def type_objects(values: Sequence[object] | Values, wanted: pa.DataType, clock: Clock = ISO) -> Column:
    """Parsed JSON values as `wanted`; nested ones as JSON text."""
    if isinstance(values, Values):
        column = _of_plain(values.array, wanted, clock)
        if column is None:
            return type_objects(values.objects(), wanted, clock)
        return _with(column, values.odd, wanted, clock) if values.odd else column
    kinds: set[type] = {type(value) for value in values} - {type(None)}
    if kinds <= _NATIVE.get(str(wanted), set()):
        try:
            array = pa.array(values, wanted)
        except (OverflowError, pa.ArrowInvalid):
            pass
        else:
            if not pa.types.is_float64(wanted) or pc.all(pc.is_finite(array)).as_py() is not False:
                return Column(array)
    return _parsed(pa.array([object_text(value) for value in values], TEXT), wanted, clock)


def _with(column: Column, odd: Mapping[int, object], wanted: pa.DataType, clock: Clock) -> Column:
    """Values with others, which stand at places where there are none."""
    others = type_objects(list(odd.values()), wanted, clock)
    places = np.fromiter(odd, dtype=np.int64)
    there = np.zeros(len(column.values), dtype=np.bool_)
    there[places] = True
    values = pc.replace_with_mask(column.values, pa.array(there), others.values)
    if column.codes is None and others.codes is None:
        return Column(values)
    codes = no_codes(len(values)) if column.codes is None else column.codes.copy()
    codes[places] = no_codes(len(places)) if others.codes is None else others.codes
    return Column(values, codes)


def _of_plain(values: pa.Array, wanted: pa.DataType, clock: Clock) -> Column | None:
    """Values of one plain type as `wanted`; None where it matters how they are written."""
    if pa.types.is_null(values.type):
        return Column(pa.nulls(len(values), wanted))
    if values.type == wanted:
        return Column(values)
    if pa.types.is_float64(values.type):
        return None
    if pa.types.is_int64(values.type) and pa.types.is_float64(wanted):
        try:
            return Column(pc.cast(values, wanted))
        except pa.ArrowInvalid:
            return None
    return _parsed(pc.cast(values, TEXT), wanted, clock)


def object_text(value: object) -> str | None:
    """A JSON value as a text: strings as they are, the others as JSON."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def type_declared(
    values: pa.Array, wanted: pa.DataType, clock: Clock = ISO, *, as_name: bool = False
) -> Column:
    """A Parquet column as `wanted`; `as_name` lets any value be the text of a type's name."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    given = plain_type(values.type)
    if pa.types.is_string(given):
        return _of_strings(values, wanted, clock)
    if pa.types.is_string(wanted) and as_name:
        return Column(_as_texts(values))
    if pa.types.is_timestamp(values.type) and pa.types.is_timestamp(wanted):
        return _timestamps(values, clock.zone)
    if not _compatible(given, wanted):
        return _with_code(
            Column(pa.nulls(len(values), wanted)), true_at(pc.is_valid(values)), Reason.TYPE_CONFLICT
        )
    return _cast(values, wanted)


def _parsed(texts: pa.Array, wanted: pa.DataType, clock: Clock) -> Column:
    return read_times(texts, clock) if pa.types.is_timestamp(wanted) else parse_texts(texts, wanted)


def _of_strings(values: pa.Array, wanted: pa.DataType, clock: Clock) -> Column:
    """Strings, and all that is kept as text."""
    kind = values.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        values = pc.cast(values, pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
    if pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        return type_bytes(pc.cast(values, pa.binary()), wanted, clock)
    return _parsed(_as_texts(values), wanted, clock)


def _as_texts(values: pa.Array) -> pa.Array:
    """Any values as texts; nested ones as JSON."""
    if pa.types.is_integer(values.type) or pa.types.is_boolean(values.type):
        return pc.cast(values, TEXT)
    return of_texts([scalar_text(value) for value in values])


def _compatible(given: pa.DataType, wanted: pa.DataType) -> bool:
    def number(kind: pa.DataType) -> bool:
        return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))

    if number(given) and number(wanted):
        return True
    return given == wanted or (pa.types.is_date(given) and pa.types.is_timestamp(wanted))


def _timestamps(values: pa.Array, zone: str) -> Column:
    """Microseconds in UTC: nanoseconds must not be lost, seconds must fit; without a zone they are of this one."""
    if values.type.tz is None and zone != ISO.zone:
        column = _timestamps(values, ISO.zone)
        shown = of_clock(pc.cast(column.values, pa.timestamp("us")), zone)
        twice = shown.codes if shown.codes is not None else no_codes(len(values))
        return _with_code(Column(shown.values, column.codes), twice != 0, Reason.NOT_ONE_INSTANT)
    instants = pc.cast(values, pa.timestamp(values.type.unit))
    if values.type.unit == "ns":
        nanoseconds = pc.cast(instants, pa.int64())
        # NumPy's remainder is the only one of the two that takes a vector; NULL stands as 0.
        fine = filled(nanoseconds) % 1000 != 0
        coarse = pc.cast(instants, TIMESTAMP, safe=False)
        return _with_code(Column(coarse), fine, Reason.TOO_FINE)
    try:
        return Column(pc.cast(instants, TIMESTAMP))
    except pa.ArrowInvalid:
        factor = {"s": 1_000_000, "ms": 1_000}[values.type.unit]
        ticks = filled(pc.cast(instants, pa.int64()))
        far = np.abs(ticks.astype(np.float64)) * factor >= _EXACT_DOUBLE
        near = pc.if_else(pa.array(far), pa.scalar(None, instants.type), instants)
        return _with_code(Column(pc.cast(near, TIMESTAMP)), far, Reason.OUT_OF_RANGE)


def _cast(values: pa.Array, wanted: pa.DataType) -> Column:
    """Numbers to numbers, days to times; value by value where one does not fit."""
    try:
        if pa.types.is_float64(wanted):
            return _finite(pc.cast(values, wanted, safe=False))
        return Column(pc.cast(values, wanted))
    except pa.ArrowInvalid:
        if pa.types.is_floating(values.type) and pa.types.is_int64(wanted):
            return _whole(pc.cast(values, pa.float64()))
        return parse_texts(_as_texts(values), wanted)


def _finite(values: pa.Array) -> Column:
    return _with_code(Column(values), true_at(pc.invert(pc.is_finite(values))), Reason.NOT_FINITE)


def _whole(values: pa.Array) -> Column:
    """Doubles as integers, where they are integers."""
    numbers = np.asarray(filled(values), dtype=np.float64)
    finite = np.isfinite(numbers)
    whole = finite & (np.floor(np.where(finite, numbers, 0.0)) == numbers)
    far = whole & (np.abs(numbers) >= _EXACT_DOUBLE)
    fits = whole & ~far & true_at(pc.is_valid(values))
    integers = pa.array(np.where(fits, numbers, 0.0).astype(np.int64), mask=~fits)
    column = _with_code(Column(integers), ~finite, Reason.NOT_FINITE)
    column = _with_code(column, finite & ~whole, Reason.NOT_AN_INTEGER)
    return _with_code(column, far, Reason.OUT_OF_RANGE)


def _newly_null(before: pa.Array, after: pa.Array) -> np.ndarray:
    if before.null_count == after.null_count:
        return np.zeros(len(before), dtype=np.bool_)
    return true_at(pc.is_valid(before)) & true_at(pc.is_null(after))


def _with_code(column: Column, where: np.ndarray, reason: Reason) -> Column:
    """The same values, with a reason where nothing was wrong so far."""
    if not where.any():
        return column
    codes: Codes = no_codes(len(column.values)) if column.codes is None else column.codes.copy()
    codes[where & (codes == 0)] = code_of(reason)
    return Column(column.values, codes)
