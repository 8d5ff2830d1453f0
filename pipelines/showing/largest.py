"""Result rows in, the windows and groups with the largest first aggregate out: what is shown where not all is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.table.arrow import numbers_of, of_numbers, whole
from hamlet_core.table.columns import filled

_PLACE = ("query", "window_start", "group_key")
_NO_NUMBER = -2

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Ranking:
    """The windows and groups of result rows that are in order, by the size of their first aggregate."""

    first: Places
    """The first row of each window and group, in the order of the rows."""
    length: Places
    """How many rows each has."""
    query: Places
    """The number of its query, in the order of the rows."""
    order: Places
    """Windows and groups, query by query, the largest first; those of equal size as they stand."""


def ranked(results: pa.Table) -> Ranking:
    """Rows of one window and group must stand together, the first aggregate first.

    Sizes are compared by sign, and by `log2` where that is one: values beyond the doubles are ordered, too.
    """
    keys = [_numbered(results.column(name)) for name in _PLACE]
    begins = np.ones(results.num_rows, np.bool_)
    begins[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    first = np.flatnonzero(begins)
    signs, values = (whole(results.column(name)) for name in ("sign", "value"))
    about_0 = np.where(numbers_of(values.is_valid()), 0, _NO_NUMBER)  # where a sum has cancelled out
    sign = np.where(numbers_of(signs.is_valid()), filled(signs.cast(pa.int64())), about_0)[first]
    log2 = _filled(results.column("log2"), 0.0)[first]
    size = np.where(np.abs(sign) == 1, sign * log2, 0.0)
    query = keys[0][first]
    length = np.diff(np.append(first, results.num_rows))
    return Ranking(first, length, query, np.lexsort((-size, -sign, query)))


def largest(results: pa.Table, limit: int, *, wide: bool = False) -> pa.Table:
    """At most `limit` rows (0: all) in their order: queries take turns, each with its largest window and group left.

    Windows and groups are whole, except for one that is larger than the limit; `wide` counts each as one row.
    """
    if not limit or results.num_rows <= limit:
        return results
    ranking = ranked(results)
    query = ranking.query[ranking.order]
    turn = np.arange(len(query)) - np.searchsorted(query, query)
    chosen = ranking.order[np.lexsort((query, turn))]
    whole = limit if wide else int((ranking.length[chosen].cumsum() <= limit).sum())
    if not whole:
        return results.slice(ranking.first[chosen[0]], limit)
    rows = [
        np.arange(ranking.first[one], ranking.first[one] + ranking.length[one])
        for one in np.sort(chosen[:whole])
    ]
    return results.take(of_numbers(np.concatenate(rows)))


def has_sizes(results: pa.Table) -> bool:
    """Whether any number has a size: fingerprints have none."""
    return results.column("sign").null_count < results.num_rows


def _numbered(column: pa.ChunkedArray) -> Places:
    """The values as integers, equal where they are; texts in the order in which they are met."""
    values = whole(column)
    if not (pa.types.is_integer(values.type) or pa.types.is_timestamp(values.type)):
        values = values.dictionary_encode().indices
    return numbers_of(values.cast(pa.int64()))


def _filled(column: pa.ChunkedArray, nothing: float) -> npt.NDArray[np.float64]:
    return filled(whole(column).cast(pa.float64()), nothing)
