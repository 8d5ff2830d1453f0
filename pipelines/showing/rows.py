"""The rows of an Arrow table as dicts, for those who write or show them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa

from hamlet_core.instants import iso

_AT_ONCE = 10_000
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - UTC that does not say so


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Every row; instants as datetimes in UTC that do not say so, as texts in ISO 8601 beyond the years of Python.

    Arrow imports pandas, which takes a while, to make one that names its zone.
    """
    columns = [column.cast(_plain(column.type)) for column in table.columns]
    plain = pa.Table.from_arrays(columns, names=table.column_names)
    for batch in plain.to_batches(max_chunksize=_AT_ONCE):
        columns = [_values(column) for column in batch.columns]
        for row in zip(*columns, strict=True):
            yield dict(zip(table.column_names, row, strict=True))


def _values(column: pa.Array) -> list[Any]:
    try:
        return list(column.to_pylist())
    except OverflowError:
        if not (pa.types.is_timestamp(column.type) and column.type.unit == "us"):
            raise
        return [_instant(ticks) for ticks in column.cast(pa.int64()).to_pylist()]


def _instant(microseconds: int | None) -> datetime | str | None:
    if microseconds is None:
        return None
    try:
        return _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return iso(microseconds)


def _plain(kind: pa.DataType) -> pa.DataType:
    """The same type; without its zone, if it is an instant in microseconds."""
    return pa.timestamp("us") if pa.types.is_timestamp(kind) and kind.unit == "us" else kind
