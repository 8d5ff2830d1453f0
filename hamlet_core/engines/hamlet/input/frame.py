"""The events of one class of queries as the kernels read them: partition by partition, in order of time, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hamlet_core.table.columns import frozen
from hamlet_core.windows import WindowSpec

Whole = npt.NDArray[np.int64]
DEAD = -1
"""The type code of an event that no query of the class can bind."""
NO_ROWS = np.zeros(0, np.int64)
"""Instead of rows of the stream: an event is its own."""


class Events(NamedTuple):
    """One entry per event of the class, partition after partition, sorted by time in each."""

    time: Any
    """int64, ticks."""
    code: Any
    """int32 code of the event's type, or `DEAD`."""
    bits: Any
    """uint64[event, word]: bit k of the words says whether local predicate k of the class holds."""
    row: Any
    """int64: the row of the stream, which values and pair tables are read by; empty where it is the event itself."""


def side_by_side(events: Events, values: Any) -> tuple[Events, Any]:
    """The events with the values in their order: a kernel that reads every value once need not look for it.

    `values` is a tuple of arrays [column, row of the stream]; those that come back are [column, event].
    """
    if not len(events.row):
        return events, values
    return events._replace(row=frozen(NO_ROWS)), type(values)(
        *(np.take(one, events.row, axis=1) if len(one) else one for one in values)
    )


class Jobs(NamedTuple):
    """Windows that hold at least one event: `first:last` slices the events; rows of results are numbered from 0."""

    first: Any
    last: Any
    row: Any


@dataclass(frozen=True, slots=True)
class Predicates:
    """Which bit of `Events.bits` belongs to which alias of which query; aliases without one always hold."""

    bit: dict[tuple[int, str], int]
    """(query, alias) -> bit; absent: the alias has no local predicate."""
    words: int


def windows_of(time: Whole, bounds: Whole, spec: WindowSpec) -> tuple[Whole, Whole, Whole, Whole]:
    """(partition, index, first, last) of every window that holds an event, by partition and index."""
    from hamlet_core.engines.hamlet.input.windows import slice_windows

    return slice_windows(time, bounds, spec.within, spec.slide, spec.origin)  # type: ignore[no-any-return]
