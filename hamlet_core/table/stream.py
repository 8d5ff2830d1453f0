"""The events of a stream, column by column: arrays for compiled code, and the same as lists, made when asked for."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.table.arrow import of_list, of_texts
from hamlet_core.table.columns import coded, filled, frozen
from hamlet_core.table.kinds import Kind

_STORAGE = {
    Kind.DOUBLE: pa.float64(),
    Kind.TEXT: pa.large_string(),
    Kind.BOOLEAN: pa.bool_(),
    Kind.NULL: pa.null(),
}
"""The Arrow type of a kind's values; of kinds that are not here it is int64."""


@dataclass(frozen=True, eq=False)
class Column:
    """One attribute of all events of a stream, as an Arrow array and, made when asked for, as a list.

    `array` is int64 (times and durations in microseconds, TICK in the stream's unit), float64, bool, null, a decimal
    type, or for text a dictionary of int32 codes and different large_string values, some of which may never occur.
    `values` are Python's int, float, str, bool and `decimal.Decimal`; None is NULL. `data` is one of the two.
    `scale` is the number of digits after the point of a decimal column, else 0.

    >>> Column("v", Kind.INTEGER, 0, [3, None]).array.null_count
    1
    """

    name: str
    kind: Kind
    scale: int
    data: Any

    @cached_property
    def array(self) -> Any:
        """The values as one Arrow array."""
        return from_list(self.data, self.kind, self.scale) if isinstance(self.data, list) else self.data

    @cached_property
    def values(self) -> list[Any]:
        """The values as a list."""
        return self.data if isinstance(self.data, list) else to_list(self.data)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column):
            return NotImplemented
        head = self.name, self.kind, self.scale
        return head == (other.name, other.kind, other.scale) and self.values == other.values

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle one form of the values, not both."""
        return Column, (self.name, self.kind, self.scale, self.data)


@dataclass(frozen=True, eq=False)
class Stream:
    """Events in order of time, column by column; all arrays have one entry per event and are read-only.

    `time` (int64) and `origin` are in ticks of `unit` microseconds (timestamps: microseconds since the epoch,
    unit 1). The type of an event is `type_names[type_codes[row]]` (int32); names differ, and some may never occur.
    `row_numbers` (int64) are those of the input, from 0. `time_type` is int64, or timestamp[us, UTC] for timestamps
    and dates: the type of window bounds in results. `times`, `types` and `rows` are the same as lists, made when
    asked for. `selection` is None where the row numbers just count, from `offset` on.
    """

    time: npt.NDArray[np.int64]
    type_codes: npt.NDArray[np.int32]
    type_names: tuple[str, ...]
    selection: npt.NDArray[np.int64] | None
    columns: dict[str, Column]
    time_type: Any
    unit: int
    origin: int
    offset: int = 0

    def __len__(self) -> int:
        return len(self.time)

    @cached_property
    def row_numbers(self) -> npt.NDArray[np.int64]:
        """Where each event stood in the input, from 0."""
        if self.selection is not None:
            return frozen(self.selection)
        return frozen(np.arange(self.offset, self.offset + len(self.time)))

    @cached_property
    def times(self) -> list[int]:
        """`time` as a list."""
        times: list[int] = self.time.tolist()
        return times

    @cached_property
    def tied(self) -> bool:
        """Whether two events, which stand in the order of their times, have one time."""
        return bool((self.time[1:] == self.time[:-1]).any())

    @cached_property
    def types(self) -> list[str]:
        """The type of each event, one string object per type."""
        names = self.type_names
        return [names[code] for code in self.type_codes.tolist()]

    @cached_property
    def rows(self) -> list[int]:
        """`row_numbers` as a list."""
        rows: list[int] = self.row_numbers.tolist()
        return rows

    def between(self, first: int, last: int) -> Stream:
        """The events `first:last`, without a copy of their columns."""
        columns = {
            name: replace(column, data=column.array.slice(first, last - first))
            for name, column in self.columns.items()
        }
        return replace(
            self,
            time=frozen(self.time[first:last]),
            type_codes=frozen(self.type_codes[first:last]),
            selection=None if self.selection is None else self.selection[first:last],
            columns=columns,
            offset=self.offset + first,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Pickle no list that can be made again."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


def from_list(values: list[Any], kind: Kind, scale: int = 0) -> Any:
    """Plain values as the Arrow array of their kind."""
    stored = _STORAGE.get(kind, pa.int64())
    if kind is Kind.TEXT:
        return coded(of_texts(values, pa.large_string()))
    if all(value is None for value in values):
        return pa.nulls(len(values), pa.decimal128(38, scale) if kind is Kind.DECIMAL else stored)
    return pa.array(values) if kind is Kind.DECIMAL else of_list(values, stored)


def to_list(array: Any) -> list[Any]:
    """An Arrow array of a column as plain values; equal texts are one object."""
    if pa.types.is_dictionary(array.type):
        names = [*array.dictionary.to_pylist(), None]
        return [names[code] for code in filled(array.indices, -1).tolist()]
    plain = array.null_count == 0 and (pa.types.is_int64(array.type) or pa.types.is_float64(array.type))
    values: list[Any] = filled(array).tolist() if plain else array.to_pylist()
    return values
