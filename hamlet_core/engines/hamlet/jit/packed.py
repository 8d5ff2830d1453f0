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

from hamlet_core.engines.hamlet.jit.decorators import compiled_inline

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


@compiled_inline
def get(tables: Packed, table: int, place: Any) -> Any:
    """An entry of one of the tables."""
    return tables[tables[table] + place]


@compiled_inline
def put(tables: Packed, table: int, place: Any, value: Any) -> None:
    """Write an entry of one of the tables."""
    tables[tables[table] + place] = value
