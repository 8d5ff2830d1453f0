"""The different combinations of values that columns have: what must be worked out once for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.table.columns import filled
from hamlet_core.table.kinds import Kind
from hamlet_core.table.stream import Column, to_list

Codes: TypeAlias = npt.NDArray[np.int64]


def combinations(columns: Mapping[str, Column], names: Sequence[str]) -> tuple[Codes, dict[str, Column]]:
    """For each row the number of its combination, and these columns with one row per combination that occurs.

    >>> codes, few = combinations({"v": Column("v", Kind.INTEGER, 0, [7, None, 7])}, ["v"])
    >>> codes.tolist(), few["v"].values
    ([0, 1, 0], [7, None])
    """
    encoded = {name: _encoded(columns[name]) for name in names}
    numbers = np.zeros(0, np.int64)
    for place, (codes, values) in enumerate(encoded.values()):
        mixed = numbers * len(values) + codes if place else codes
        import pyarrow.compute as pc

        found = pc.dictionary_encode(pa.array(mixed))
        numbers = filled(found.indices).astype(np.int64)
    some_row = np.zeros(int(numbers.max(initial=-1)) + 1, np.int64)
    some_row[numbers] = np.arange(len(numbers))
    few = {
        name: [values[code] for code in codes[some_row].tolist()] for name, (codes, values) in encoded.items()
    }
    return numbers, {
        name: Column(name, columns[name].kind, columns[name].scale, few[name]) for name in encoded
    }


def _encoded(column: Column) -> tuple[Codes, list[Any]]:
    """A code for each row and the value of each code."""
    array = column.array
    if column.kind is Kind.NULL or array.null_count == len(array):
        return np.zeros(len(array), np.int64), [None]
    import pyarrow.compute as pc

    words = array if pa.types.is_dictionary(array.type) else pc.dictionary_encode(array)
    values = to_list(words.dictionary)
    if words.null_count:
        values.append(None)
    return filled(words.indices, len(values) - 1).astype(np.int64), values
