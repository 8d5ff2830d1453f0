"""The rows of an Arrow table as dicts, for those who write or show them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

_AT_ONCE = 10_000


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Every row; instants as datetimes in UTC that do not say so.

    Arrow imports pandas, which takes a while, to make one that names its zone.
    """
    columns = [column.cast(_plain(column.type)) for column in table.columns]
    plain = pa.Table.from_arrays(columns, names=table.column_names)
    for batch in plain.to_batches(max_chunksize=_AT_ONCE):
        yield from batch.to_pylist()


def _plain(kind: pa.DataType) -> pa.DataType:
    """The same type; without its zone, if it is an instant in microseconds."""
    return pa.timestamp("us") if pa.types.is_timestamp(kind) and kind.unit == "us" else kind
