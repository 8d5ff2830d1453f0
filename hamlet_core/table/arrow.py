"""From NumPy and Python to Arrow and back, without pandas.

The first call of `pa.array`, `pa.scalar`, `to_numpy`, or of anything that calls them (`np.asarray(array)`,
`array.fill_null(0)`, `pc.equal(texts, "a")`) imports pandas, whatever it is given: a tenth of a small run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]

_LONGEST = 2**31 - 1
"""Bytes that the texts of a string array may have together."""


def of_numbers(numbers: npt.NDArray[Any], *, null: Mask | None = None) -> Any:
    """Numbers or Booleans as an Arrow array of their type, NULL where `null` says so; a view where it can be.

    >>> of_numbers(np.array([1, 2]), null=np.array([False, True])).to_pylist()
    [1, None]
    """
    stored = _bits(numbers) if numbers.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(pa.from_numpy_dtype(numbers.dtype), len(numbers), [_valid(null), stored])


def of_texts(texts: Sequence[str | None], kind: Any = None) -> Any:
    """Texts as an Arrow array of type string (None) or large_string; None is NULL.

    >>> of_texts(["a", None]).to_pylist()
    ['a', None]
    """
    kind = kind or pa.string()
    known = [text or "" for text in texts]
    joined = "".join(known)
    content = joined.encode()
    if len(content) > _LONGEST and kind == pa.string():
        return pa.array(texts, kind)  # in chunks
    lengths = map(len, known) if len(content) == len(joined) else (len(text.encode()) for text in known)
    offsets = np.zeros(len(known) + 1, np.int32 if kind == pa.string() else np.int64)
    np.cumsum(np.fromiter(lengths, np.int64, len(known)), out=offsets[1:])
    null = np.fromiter((text is None for text in texts), np.bool_, len(texts)) if None in texts else None
    return pa.Array.from_buffers(
        kind, len(known), [_valid(null), pa.py_buffer(offsets), pa.py_buffer(content)]
    )


def of_list(values: Sequence[Any], kind: Any) -> Any:
    """Plain values of an Arrow type as an array; None is NULL. Times are whole numbers of their unit.

    >>> of_list([1, None], pa.int8()).to_pylist()
    [1, None]
    """
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return of_texts(values, kind)
    null = np.fromiter((value is None for value in values), np.bool_, len(values)) if None in values else None
    if pa.types.is_binary(kind) and sum(map(len, known := [value or b"" for value in values])) <= _LONGEST:
        offsets = np.zeros(len(known) + 1, np.int32)
        np.cumsum(np.fromiter(map(len, known), np.int64, len(known)), out=offsets[1:])
        content = pa.py_buffer(b"".join(known))
        return pa.Array.from_buffers(kind, len(known), [_valid(null), pa.py_buffer(offsets), content])
    timed = pa.types.is_timestamp(kind) or pa.types.is_duration(kind)
    if not (timed or pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
        return pa.array(values, kind)
    stored = np.dtype(np.int64) if timed else np.dtype(kind.to_pandas_dtype())
    numbers = np.fromiter((0 if value is None else value for value in values), stored, len(values))
    return of_numbers(numbers, null=null).view(kind)


def scalar_of(value: float | str | None, kind: Any) -> Any:
    """One value as an Arrow scalar of a type that is numeric, Boolean or text; NULL of any type.

    >>> scalar_of(0, pa.int32())
    <pyarrow.Int32Scalar: 0>
    """
    if value is None:
        return pa.nulls(1, kind)[0]
    return (of_texts([value]) if isinstance(value, str) else of_numbers(np.array([value])))[0].cast(kind)


def whole(column: Any) -> Any:
    """A column of a table as one array."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)


def numbers_of(array: Any) -> npt.NDArray[Any]:
    """An array of numbers or Booleans without NULL as NumPy; of numbers a read-only view.

    >>> numbers_of(pa.array([7, 8, 9])[1:])
    array([8, 9])
    """
    first, end = array.offset, array.offset + len(array)
    if pa.types.is_boolean(array.type):
        whole = first - first % 8  # of a part only its own bytes are unpacked
        bits = np.frombuffer(array.buffers()[1] or b"", np.uint8)[whole // 8 :]
        return np.unpackbits(bits, count=end - whole, bitorder="little")[first - whole :].view(np.bool_)
    return np.frombuffer(array.buffers()[1] or b"", array.type.to_pandas_dtype(), end)[first:]


def _valid(null: Mask | None) -> Any:
    return None if null is None or not null.any() else _bits(~null)


def _bits(truths: Mask) -> Any:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))
