"""Rows of a stream in, arrays out: the same partitions as `partitions`, for engines that fold arrays (SEMANTICS 6)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.engines.partitions import GroupKey, shown_value
from hamlet_core.table.arrow import of_numbers
from hamlet_core.table.columns import filled, validity
from hamlet_core.table.encode import Column, Stream
from hamlet_core.table.kinds import Kind
from hamlet_core.table.stream import to_list

Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_SMALL = 1 << 16
"""So many counters cost nothing, however few the rows are."""

_NO_MASK: Mask = np.empty(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Partitioning:
    """Rows by partition: partition `i` is `order[bounds[i]:bounds[i + 1]]`, none is empty."""

    order: Integers | None
    """Rows of the stream, partition by partition, in order of time within each; None: all rows are one partition."""
    bounds: Integers
    """One entry more than there are partitions; it begins with 0."""
    group: Integers
    """Partition -> place of its group in `groups`."""
    groups: tuple[GroupKey, ...]
    """The GROUP-BY values of each group, as result rows show them."""


@dataclass(frozen=True, slots=True)
class _Codes:
    """Equal integers where values are equal, all in `low <= code < low + size`."""

    values: Integers
    low: int
    size: int


def partition(
    stream: Stream, equivalence: Sequence[str], group_by: Sequence[str], keep: Mask | None
) -> Partitioning:
    """Rows by equivalence and GROUP-BY values; `keep` (None: all) says which rows matter.

    A row whose equivalence attribute is NULL belongs nowhere; NULL in GROUP-BY is a value of its own. Partitions
    stand in any order. Costs a few passes over the rows, and no sort where all rows are one partition.
    """
    count = len(stream)
    factors: list[_Codes] = []
    for name in dict.fromkeys([*equivalence, *group_by]):
        codes, valid = _factorised(stream.columns[name], fill=name not in equivalence)
        factors.append(codes)
        if valid is not None and name in equivalence:
            keep = valid if keep is None else keep & valid
    order, bounds = _ordered(reduce(_combined, factors) if factors else None, keep, count)
    firsts = bounds[:-1] if order is None else order[bounds[:-1]]
    group, heads = _groups(stream, equivalence, group_by, firsts)
    return Partitioning(order, bounds, group, _group_keys(stream, group_by, firsts[heads]))


def coarser(
    stream: Stream, partitioning: Partitioning, group_by: Sequence[str]
) -> tuple[Integers, tuple[GroupKey, ...]]:
    """By group of a partitioning its place among the groups that some of its attributes make; and these, as shown."""
    _, partitions = np.unique(partitioning.group, return_index=True)
    first = np.asarray(partitioning.bounds)[partitions]
    rows = first if partitioning.order is None else np.asarray(partitioning.order)[first]
    group, heads = _groups_of_rows(stream, group_by, rows)
    return group, _group_keys(stream, group_by, rows[heads])


def partition_texts(
    stream: Stream, attributes: Sequence[str], partitioning: Partitioning, numbers: Integers
) -> tuple[str, ...]:
    """The values of the attributes in these partitions, each written as a group key."""
    first = np.asarray(partitioning.bounds)[numbers]
    rows = first if partitioning.order is None else np.asarray(partitioning.order)[first]
    return _group_keys(stream, attributes, rows)


def _ordered(codes: _Codes | None, keep: Mask | None, count: int) -> tuple[Integers | None, Integers]:
    """The kept rows in order of their codes, and where each code begins."""
    if codes is None:
        order = None if keep is None or keep.all() else np.flatnonzero(keep)
        kept = count if order is None else len(order)
        return order, np.array([0, kept] if kept else [0], np.int64)
    from hamlet_core.engines.hamlet.input.sorting import count_codes, order_codes

    mask = _NO_MASK if keep is None else keep
    if count == 0:
        return None, np.zeros(1, np.int64)
    counts = count_codes(codes.values, codes.low, codes.size, mask)
    used = counts[counts > 0]
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(used)])
    if len(used) == 1 and used[0] == count:
        return None, bounds
    return order_codes(codes.values, codes.low, counts, mask), bounds


def _groups(
    stream: Stream, equivalence: Sequence[str], group_by: Sequence[str], firsts: Integers
) -> tuple[Integers, Integers]:
    """The group of each partition, and a partition of each group; `firsts` is a row of each partition."""
    if set(equivalence) <= set(group_by):
        everyone = np.arange(len(firsts))
        return everyone, everyone
    return _groups_of_rows(stream, group_by, firsts)


def _groups_of_rows(stream: Stream, group_by: Sequence[str], rows: Integers) -> tuple[Integers, Integers]:
    """The group of each of these rows, and the place of a row of each group."""
    if not group_by:
        return np.zeros(len(rows), np.int64), np.arange(min(len(rows), 1))
    taken = of_numbers(rows)
    factors = [
        _factorised(stream.columns[name], fill=True, rows=taken)[0] for name in dict.fromkeys(group_by)
    ]
    codes = reduce(_combined, factors)
    _, heads, group = np.unique(codes.values, return_index=True, return_inverse=True)
    return group, heads


def _group_keys(stream: Stream, group_by: Sequence[str], rows: Integers) -> tuple[GroupKey, ...]:
    """`partitions.group_key` of the values in these rows, column by column."""
    if not group_by:
        return ("{}",) * len(rows)
    first, *others = sorted(set(group_by))
    texts = _shown(stream.columns[first], rows, "{")
    for name in others:
        texts = list(map(add, texts, _shown(stream.columns[name], rows, ",")))
    return tuple([text + "}" for text in texts])


def _shown(column: Column, rows: Integers, before: str) -> list[str]:
    """By row the name and the value as JSON."""
    head = f"{before}{_json(column.name)}:"
    values, of_row = _distinct(column.array.take(of_numbers(rows)))
    if column.kind is Kind.INTEGER:
        shown = [head + ("null" if value is None else repr(value)) for value in values]
    else:
        shown = [head + _json(shown_value(value, column.kind)) for value in values]
    return [shown[number] for number in of_row]


_json = json.JSONEncoder(ensure_ascii=False).encode


def _distinct(array: Any) -> tuple[list[Any], list[int]]:
    """The different values, NULL among them, and which of them each row has."""
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    used, of_row = np.unique(filled(encoded.indices, -1), return_inverse=True)
    null = len(used) > 0 and used[0] < 0
    values = to_list(encoded.dictionary.take(of_numbers(used[int(null) :])))
    return [*([None] if null else []), *values], of_row.tolist()


def _factorised(column: Column, *, fill: bool, rows: Any = None) -> tuple[_Codes, Mask | None]:
    """Codes of the column's values and where it has one (None: everywhere); `fill` gives NULL a code of its own."""
    array = column.array if rows is None else column.array.take(rows)
    valid = validity(array)
    codes = _codes(array)
    if valid is None or not fill:
        return codes, valid
    values = np.where(valid, codes.values - codes.low, codes.size)
    return _Codes(values, 0, codes.size + 1), valid


def _codes(array: Any) -> _Codes:
    """Codes of the values that are not NULL; the others have any code in the range."""
    if pa.types.is_null(array.type):
        return _Codes(np.zeros(len(array), np.int64), 0, 1)
    if pa.types.is_int64(array.type):
        import pyarrow.compute as pc

        ends = pc.min_max(array)
        low, high = ends["min"].as_py() or 0, ends["max"].as_py() or 0
        values = filled(array, low)
        if high - low < max(len(array), _SMALL):
            return _Codes(values, low, high - low + 1)
        return _dense(values)
    if pa.types.is_float64(array.type):
        numbers = filled(array)
        return _dense((numbers + 0.0).view(np.int64))  # -0.0 is 0.0
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    indices = encoded.indices
    numbers = filled(indices).astype(np.int64)
    size = max(len(encoded.dictionary), 1)
    return _Codes(numbers, 0, size) if size <= max(len(array), _SMALL) else _dense(numbers)


def _combined(left: _Codes, right: _Codes) -> _Codes:
    """Codes of pairs: equal where both are."""
    values = (left.values - left.low) * right.size + (right.values - right.low)
    size = left.size * right.size
    return _Codes(values, 0, size) if size <= max(len(values), _SMALL) else _dense(values)


def _dense(values: Integers) -> _Codes:
    from hamlet_core.engines.hamlet.input.sorting import dense_codes

    codes, size = dense_codes(values)
    return _Codes(codes, 0, max(size, 1))
