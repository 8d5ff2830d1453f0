"""Columns as vectors: Arrow arrays in, machine numbers and words out."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.predicates.distinct import combinations
from hamlet_core.predicates.truths import Texts
from hamlet_core.predicates.vectors import Array, Constant, Form, Mask, Unsupported, Vector, doubles
from hamlet_core.table.columns import filled, frozen, validity
from hamlet_core.table.kinds import Kind
from hamlet_core.table.stream import Column

Value: TypeAlias = Vector | Constant | Texts


def opened(column: Column) -> Value:
    """The values of a column for every row; NULL where it has none at all."""
    array = column.array
    if column.kind is Kind.NULL or (len(array) and array.null_count == len(array)):
        return Constant(column.kind, None)
    if column.kind is not Kind.TEXT:
        return _vector(column)
    words = array.dictionary.to_pylist()
    return Texts(filled(array.indices, len(words)), words, validity(array))


def _vector(column: Column) -> Vector:
    array, valid = column.array, validity(column.array)
    match column.kind:
        case Kind.BOOLEAN:
            return Vector(column.kind, Form.INTEGER, filled(array, null=False).view(np.int8), valid)
        case Kind.DECIMAL:
            return Vector(column.kind, Form.DECIMAL, _unscaled(array, valid), valid, array.type.scale)
        case Kind.DOUBLE:
            return Vector(column.kind, Form.DOUBLE, filled(array), valid)
        case Kind.TEXT | Kind.NULL:
            raise Unsupported
    return Vector(column.kind, Form.INTEGER, filled(array), valid)


def _unscaled(array: Any, valid: Mask | None) -> Array:
    """The numbers of a decimal array without the point, if int64 holds them."""
    if not pa.types.is_decimal128(array.type) or array.type.scale < 0:
        raise Unsupported
    if not len(array):
        return np.zeros(0, np.int64)
    halves = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + len(array))]
    low, high = halves[0::2], halves[1::2]
    fits = high == low >> 63
    numbers = low if valid is None else np.where(valid, low, 0)
    if not (fits if valid is None else fits | ~valid).all():
        raise Unsupported
    return np.ascontiguousarray(numbers)


def values_of(column: Column) -> tuple[npt.NDArray[np.float64], Mask | None]:
    """A column of numbers as the nearest doubles, 0 for NULL, and where it has values (None: everywhere).

    >>> numbers, valid = values_of(Column("v", Kind.INTEGER, 0, [3, None]))
    >>> numbers.tolist(), valid.tolist()
    ([3.0, 0.0], [True, False])
    """
    rows = len(column.data)
    if column.kind is Kind.NULL or column.array.null_count == rows:
        return frozen(np.zeros(rows)), np.zeros(rows, np.bool_) if rows else None
    valid = validity(column.array)
    try:
        vector = _vector(column)
        return frozen(doubles(vector)), valid
    except Unsupported:
        codes, few = combinations({column.name: column}, [column.name])
        values = few[column.name].values
        return frozen(np.array([0.0 if value is None else float(value) for value in values])[codes]), valid
