"""Result rows of one query -> rows of its wide table: aggregates side by side, group keys as types."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.table.arrow import numbers_of, of_list, of_numbers, scalar_of, whole
from pipelines.wide.shape import Grouped, Kept, Measured, Origin, WideShape

_DAY = 86_400_000_000


def widened(rows: pa.Table, shape: WideShape) -> pa.Table:
    """One row per window and group, sorted; rows of groups by other attributes than the query's are left out."""
    rows, keys, groups = _of_this_grouping(rows, shape.group_by)
    place, first = _places(rows, keys)
    arrays = []
    for column, origin in zip(shape.table.columns, shape.origins, strict=True):
        arrays.append(_array(rows, (place, first), keys, groups, origin, column.type))
    return pa.table(arrays, schema=shape.table.schema)


Keys = npt.NDArray[np.int64]
"""For each row, the place of its group key in a list of them."""


def _of_this_grouping(
    rows: pa.Table, group_by: frozenset[str]
) -> tuple[pa.Table, Keys, list[dict[str, Any]]]:
    """The rows whose group key has these attributes, the place of each one's key, and the keys as values."""
    encoded = whole(rows.column("group_key")).dictionary_encode()
    groups = [json.loads(text) for text in encoded.dictionary.to_pylist()]
    keys = numbers_of(encoded.indices.cast(pa.int64()))
    fits = np.array([group.keys() == group_by for group in groups], np.bool_)
    if fits.all():
        return rows, keys, groups
    kept = fits[keys]
    return rows.filter(of_numbers(kept)), keys[kept], groups


def _places(rows: pa.Table, keys: Keys) -> tuple[Keys, Keys]:
    """For each row, the place of its window and group among the rows to make; for each of those, a row of it."""
    bounds = [
        numbers_of(whole(rows.column(name)).cast(pa.int64())) for name in ("window_start", "window_end")
    ]
    order = np.lexsort((keys, *reversed(bounds)))
    columns = [column[order] for column in (*bounds, keys)]
    begins = np.ones(len(order), np.bool_)
    begins[1:] = np.any([column[1:] != column[:-1] for column in columns], axis=0)
    place = np.empty(len(order), np.int64)
    place[order] = np.cumsum(begins) - 1
    return place, order[begins]


def _array(
    rows: pa.Table,
    places: tuple[Keys, Keys],
    keys: Keys,
    groups: Sequence[dict[str, Any]],
    origin: Origin,
    kind: pa.DataType,
) -> pa.Array:
    place, first = places
    match origin:
        case Kept(name):
            return whole(rows.column(name)).take(of_numbers(first))
        case Grouped(attribute):
            values = typed([group.get(attribute) for group in groups], kind)
            return values.take(of_numbers(keys[first]))
        case Measured(aggregate, field):
            named = pc.equal(whole(rows.column("aggregate")), scalar_of(aggregate, pa.string()))
            found = np.flatnonzero(numbers_of(named))
            source = np.full(len(first), -1, np.int64)
            source[place[found]] = found
            return whole(rows.column(field)).take(of_numbers(source, null=source < 0))
        case _:
            assert_never(origin)


def typed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """GROUP-BY values as JSON has them, in the type of their column: nothing is lost, NULL stays NULL.

    >>> typed(["1969-12-31T23:59:59.999999Z", None], pa.timestamp("us", "UTC")).cast(pa.int64()).to_pylist()
    [-1, None]
    >>> typed(["0.10", None], pa.decimal128(5, 2)).to_pylist()
    [Decimal('0.10'), None]
    """
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        ticks = [None if value is None else _microseconds(value) for value in values]
        if pa.types.is_timestamp(kind):
            return (
                of_list(ticks, pa.int64())
                .cast(pa.timestamp("us"))
                .cast(pa.timestamp("us", kind.tz))
                .cast(kind)
            )
        return of_list([None if tick is None else tick // _DAY for tick in ticks], pa.int32()).cast(kind)
    if pa.types.is_decimal(kind):
        return pa.array([None if value is None else Decimal(value) for value in values], kind)
    return of_list(values, kind)


def _microseconds(text: str) -> int:
    """ISO 8601 in UTC as microseconds from the epoch; Python's own times end in the year 9999."""
    return int(np.datetime64(text.removesuffix("Z"), "us").astype(np.int64))
