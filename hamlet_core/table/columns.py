"""Arrow arrays in, arrays of few kinds out: integers, doubles, text, times in microseconds.

A value that does not fit its kind exactly (NaN, too large, finer than a microsecond) is marked, never changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.table.arrow import Mask, numbers_of, of_numbers, scalar_of
from hamlet_core.table.kinds import Kind

INT64_MAX = 2**63 - 1
_DAY = 86_400_000_000
_MICROSECONDS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def within_int64(*times: int) -> npt.NDArray[np.int64]:
    """Times that may lie beyond 64 bits, such as bounds of windows, as the nearest that do not."""
    return np.array([min(max(time, -INT64_MAX - 1), INT64_MAX) for time in times], np.int64)


@dataclass(frozen=True, slots=True)
class Normalised:
    """An array of one kind; `bad` marks the values that do not fit (None: all fit), `reason` says why."""

    array: Any
    bad: Mask | None = None
    reason: str = ""


def plain_type(data_type: Any) -> Any:
    """The type of the values: dictionary, run-end and extension types unwrapped."""
    if isinstance(data_type, pa.BaseExtensionType):
        return plain_type(data_type.storage_type)
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        return plain_type(data_type.value_type)
    return data_type


def column_kind(data_type: Any) -> tuple[Kind, int] | None:
    """The kind and decimal scale of a column of this Arrow type; None if no predicate can use it.

    >>> column_kind(pa.decimal128(10, 2))
    (<Kind.DECIMAL: 'a decimal'>, 2)
    """
    plain = plain_type(data_type)
    if pa.types.is_decimal(plain):
        return Kind.DECIMAL, max(plain.scale, 0)
    for fits, kind in _KINDS:
        if fits(plain):
            return kind, 0
    return None


def is_text(data_type: Any) -> bool:
    """Whether an Arrow type holds text itself, without a dictionary."""
    types = pa.types
    return bool(
        types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type)
    )


_KINDS = (
    (pa.types.is_integer, Kind.INTEGER),
    (pa.types.is_floating, Kind.DOUBLE),
    (is_text, Kind.TEXT),
    (pa.types.is_boolean, Kind.BOOLEAN),
    (pa.types.is_timestamp, Kind.TIMESTAMP),
    (pa.types.is_date, Kind.TIMESTAMP),
    (pa.types.is_duration, Kind.DURATION),
    (pa.types.is_null, Kind.NULL),
)


def decoded(array: Any) -> Any:
    """The same values without dictionary, run-end or extension wrapping."""
    while array.type != (plain := plain_type(array.type)):
        if isinstance(array.type, pa.BaseExtensionType):
            array = array.storage
        elif pa.types.is_run_end_encoded(array.type):
            import pyarrow.compute as pc

            array = pc.run_end_decode(array)
        else:
            array = array.dictionary_decode() if array.type.value_type == plain else decoded_dictionary(array)
    return array


def decoded_dictionary(array: Any) -> Any:
    """A dictionary array whose values are wrapped themselves."""
    return decoded(array.dictionary).take(array.indices)


def selected(array: Any, keep: Any) -> Any:
    """The values where the Boolean array `keep` is true, for every type that `column_kind` knows."""
    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())  # Arrow has no filter for views, nor for run ends
    elif not pa.types.is_dictionary(array.type):
        array = decoded(array)
    return array.filter(keep)


def normalise(array: Any) -> Normalised:  # noqa: PLR0911 - a line per family of types
    """One array (not chunked) of a usable type, in its kind's storage: int64, double, large string, ..."""
    plain = decoded(array)
    data_type = plain.type
    if pa.types.is_uint64(data_type):
        return _checked_cast(plain, filled(plain) > INT64_MAX, "beyond the range of int64")
    if pa.types.is_integer(data_type):
        return Normalised(plain.cast(pa.int64()))
    if pa.types.is_floating(data_type):
        doubles = plain.cast(pa.float64())
        return Normalised(doubles, ~np.isfinite(filled(doubles)), "NaN or infinite")
    if is_text(data_type):
        return Normalised(plain.cast(pa.large_string()))
    if pa.types.is_temporal(data_type):
        return _microseconds(plain)
    if pa.types.is_decimal(data_type) and data_type.bit_width < 128:
        return Normalised(plain.cast(pa.decimal128(data_type.precision, data_type.scale)))
    return Normalised(plain)


def _checked_cast(array: Any, bad: Mask, reason: str) -> Normalised:
    return Normalised(array.cast(pa.int64(), safe=False), bad, reason)


def _microseconds(array: Any) -> Normalised:
    """Timestamps, dates and durations of any unit as int64 microseconds."""
    if pa.types.is_date32(array.type):
        return _scaled(array.cast(pa.int32()).cast(pa.int64()), _DAY)
    if pa.types.is_date64(array.type):
        return _scaled(array.cast(pa.int64()), _MICROSECONDS["ms"])
    counts = array.cast(pa.int64())
    if array.type.unit != "ns":
        return _scaled(counts, _MICROSECONDS[array.type.unit])
    numbers = filled(counts)
    return Normalised(_restored(numbers // 1000, counts), numbers % 1000 != 0, "finer than a microsecond")


def _scaled(counts: Any, factor: int) -> Normalised:
    if factor == 1:
        return Normalised(counts)
    numbers = filled(counts)
    bad = (numbers > INT64_MAX // factor) | (numbers < -(INT64_MAX // factor))
    return Normalised(_restored(numbers * factor, counts), bad, "beyond the range of microseconds in int64")


def _restored(numbers: npt.NDArray[Any], like: Any) -> Any:
    """An int64 array of these numbers with the NULLs of `like`."""
    return of_numbers(numbers, null=numbers_of(like.is_null()) if like.null_count else None)


def filled(array: Any, null: float = 0) -> npt.NDArray[Any]:
    """The numbers or Booleans of an array as NumPy, with `null` for NULL; a read-only view where it can be."""
    known = array.fill_null(scalar_of(null, array.type)) if array.null_count else array
    return frozen(numbers_of(known))


def frozen(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array read-only, contiguous and aligned, whatever it was made from: compiled code sees one type."""
    plain = np.require(numbers, requirements=["C", "A"])
    plain.flags.writeable = False
    return plain


def validity(array: Any) -> Mask | None:
    """Where an array has values; None if it has one everywhere."""
    return numbers_of(array.is_valid()) if array.null_count else None


def coded(array: Any) -> Any:
    """Text of any Arrow type as a dictionary of int32 codes and different large_string values."""
    if pa.types.is_dictionary(array.type) and is_text(array.type.value_type):
        words = array.dictionary.cast(pa.large_string())
        import pyarrow.compute as pc

        if words.null_count == 0 and len(pc.unique(words)) == len(words):
            return pa.DictionaryArray.from_arrays(array.indices.cast(pa.int32()), words, safe=False)
    return decoded(array).cast(pa.large_string()).dictionary_encode()
