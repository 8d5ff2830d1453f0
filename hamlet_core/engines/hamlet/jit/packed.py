"""Tables one behind the other in one array of integers, which begins with where each of them begins.

One array costs a compiled function a fraction of what dozens cost, to compile and to call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import types
from numba.extending import intrinsic

Packed: TypeAlias = npt.NDArray[np.int64]
"""Such an array; `tables[TABLE]` is where a table begins.

Of a table of `Rows` first comes where the rows of each i begin: `range(get(tables, TABLE, i), get(tables, TABLE, i + 1), width)`
are the places of those that belong to i.
"""


class Rows(NamedTuple):
    """`item[start[i]:start[i + 1]]` are the rows that belong to i."""

    start: Any
    item: Any

    def of(self, number: int) -> Any:
        """The rows that belong to a number."""
        return self.item[self.start[number] : self.start[number + 1]]


def table(items: Iterable[Sequence[int]], width: int) -> Any:
    """Tuples as an array of two dimensions, also where there are none."""
    listed = items if isinstance(items, list) else list(items)
    return np.array(listed, np.int64) if listed else np.zeros((0, width), np.int64)


def rows(size: int, items: Iterable[tuple[int, ...]], width: int) -> Rows:
    """Tuples (i, ...) sorted by i (stable) into `Rows`, without the i."""
    ordered = sorted(items, key=itemgetter(0))
    counts = [0] * size
    for item in ordered:
        counts[item[0]] += 1
    start = np.array(list(accumulate(counts, initial=0)), np.int64)
    return Rows(start, table([item[1:] for item in ordered], width))


def rows_by(lists: Sequence[Sequence[Sequence[int]]], width: int) -> Rows:
    """The rows that belong to each i, as they are listed."""
    start = np.array(list(accumulate(map(len, lists), initial=0)), np.int64)
    return Rows(start, table([item for own in lists for item in own], width))


def joined(counts: Sequence[int], tables: Sequence[npt.NDArray[np.int64] | Rows]) -> Packed:
    """Counts, then where each table begins, then the tables; read-only."""
    top, parts, heads = len(counts) + len(tables), [], []
    for one in tables:
        heads.append(top)
        if isinstance(one, Rows):
            first = top + len(one.start)
            parts += [first + one.start * one.item.shape[1], one.item.ravel()]
            top = first + one.item.size
        else:
            parts.append(one.ravel())
            top += one.size
    whole = np.concatenate([np.array([*counts, *heads], np.int64), *parts])
    whole.flags.writeable = False
    return whole


@intrinsic
def get(context: Any, tables: Any, table: Any, place: Any) -> Any:  # noqa: ARG001 - numba's protocol
    """An entry of one of the tables: `tables[tables[table] + place]`."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_entry(context, builder, signature.args[0], arguments))

    return tables.dtype(tables, types.int64, types.int64), code


@intrinsic
def put(context: Any, tables: Any, table: Any, place: Any, value: Any) -> Any:  # noqa: ARG001 - as above
    """Write an entry of one of the tables."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *where, value = arguments
        builder.store(value, _entry(context, builder, signature.args[0], where))
        return context.get_dummy_value()

    return types.void(tables, types.int64, types.int64, tables.dtype), code


def _entry(context: Any, builder: Any, kind: Any, where: Any) -> Any:
    """The address of an entry. Less code, and sooner compiled, than a call of a function that does the same."""
    tables, table, place = where
    data = context.data_model_manager[kind].get(builder, tables, "data")
    first = builder.load(builder.gep(data, [table]))
    return builder.gep(data, [builder.add(first, place)])
