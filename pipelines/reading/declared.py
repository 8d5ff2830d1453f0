"""Declared types (Parquet): each as one of the few types we keep, and one type for several files."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from pipelines.reading.values import TIMESTAMP

PLAIN = {
    str(kind): kind for kind in (pa.int64(), pa.float64(), TIMESTAMP, pa.date32(), pa.bool_(), pa.string())
}


def plain_type(kind: pa.DataType) -> pa.DataType:  # noqa: PLR0911 - a table, read from top to bottom
    """The type we keep a declared type as: int64, double, decimal128, timestamp[us, UTC], date32, bool or string."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_floating(kind):
        return pa.float64()
    if pa.types.is_decimal(kind):
        return pa.decimal128(min(kind.precision, 38), min(kind.scale, 38))
    if pa.types.is_timestamp(kind):
        return TIMESTAMP
    if pa.types.is_boolean(kind):
        return kind
    return pa.date32() if pa.types.is_date(kind) else pa.string()


def unified(declared: Sequence[tuple[str, int]]) -> pa.DataType:
    """One type for (type, rows) of several files: the family with most rows wins, the first if two have as many."""
    rows: dict[str, int] = {}
    members: dict[str, list[pa.DataType]] = {}
    for name, count in declared:
        kind = _of_name(name)
        family = _family(kind)
        rows[family] = rows.get(family, 0) + count
        members.setdefault(family, []).append(kind)
    family = max(rows, key=lambda name: rows[name])
    return _widest(members[family])


def _of_name(name: str) -> pa.DataType:
    if name in PLAIN:
        return PLAIN[name]
    precision, scale = name.partition("(")[2].rstrip(")").split(",")
    return pa.decimal128(int(precision), int(scale))


def _family(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "time" if pa.types.is_temporal(kind) else str(kind)


def _widest(kinds: list[pa.DataType]) -> pa.DataType:
    """The type of one family that holds the others."""
    if len(set(kinds)) == 1:
        return kinds[0]
    if TIMESTAMP in kinds:
        return TIMESTAMP
    decimals = [kind for kind in kinds if pa.types.is_decimal(kind)]
    if pa.float64() in kinds or not decimals:
        return pa.float64()
    scale = max(kind.scale for kind in decimals)
    whole = max(kind.precision - kind.scale for kind in decimals)
    if pa.int64() in kinds:
        whole = max(whole, 19)
    return pa.decimal128(min(whole + scale, 38), scale)
