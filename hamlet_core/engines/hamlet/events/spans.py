"""Spans: windows that one fold over their events serves, however much they overlap and wherever they end.

Windows that begin at one event have a lane: their totals are the same, read at several ends. Lanes of windows that overlap lie
side by side, in the nodes of one tree too, so that an event finds its place once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.jit.decorators import compiled
from hamlet_core.table.columns import frozen

Whole = npt.NDArray[np.int64]


class Windows(NamedTuple):
    """Windows that hold at least one event, of one specification after the other."""

    first: Any
    """`first:last` slices the events."""
    last: Any
    row: Any
    """Rows of results, numbered through all specifications."""
    spec: Any
    """Which specification, from 0 on."""


class Spans(NamedTuple):
    """`first:last` slices the events of a span; of lanes and reads, where those of each span begin, and where the last end."""

    first: Any
    last: Any
    lanes: Any
    reads: Any
    opens: Any
    """By lane, in order: the event at which it begins."""
    close: Any
    """By read, in order: the event before which it happens."""
    begin: Any
    """The accumulators that are read: from this one on, ..."""
    end: Any
    """... up to this one."""
    address: Any
    """Where their numbers are added to."""
    window: Any
    """Which of the windows it is."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where accumulators stand that are copied for each lane, and the rows of their results: by specification."""

    rows: Sequence[int]
    """How many."""
    accumulators: Sequence[int]
    widths: Sequence[int]
    """Numbers of a row."""

    @property
    def room(self) -> int:
        """Numbers of all results."""
        return sum(rows * width for rows, width in zip(self.rows, self.widths, strict=True))

    def slices(self) -> list[tuple[int, int, int]]:
        """By specification: where its results begin, rows, and numbers of each."""
        found, first = [], 0
        for rows, width in zip(self.rows, self.widths, strict=True):
            found.append((first, rows, width))
            first += rows * width
        return found


APART = 0
"""Instead of a number of lanes: each window is folded by itself."""


def spans_of(windows: Windows, layout: Layout, most: int) -> Spans:
    """Spans of at most so many lanes; equal windows are one in any case."""
    order = in_order(windows, layout)
    first, last, row, spec = (one if order is None else one[order] for one in windows)
    opened, new, events = _borders(first, last, most)
    if order is None and new.all():
        return _alone(windows, layout)
    lane, span = np.cumsum(opened) - 1, np.cumsum(new) - 1
    begins = np.flatnonzero(new)
    lanes = lane[begins]
    if len(layout.rows) > 1:
        by_end = np.lexsort((spec, lane, last, span))
        order, row, spec, lane, span = order[by_end], row[by_end], spec[by_end], lane[by_end], span[by_end]
    copy = (lane - lanes[span]) if len(span) else lane
    heads = np.cumsum([0, *layout.accumulators])
    begin = copy * heads[-1] + heads[spec]
    return Spans(
        first[begins],
        first[begins] + events,
        np.append(lanes, opened.sum()),
        np.append(begins, len(first)),
        first[opened],
        last if order is None else windows.last[order],
        begin,
        begin + np.array(layout.accumulators, np.int64)[spec],
        _addresses(layout, row, spec),
        np.arange(len(first)) if order is None else order,
    )


def _alone(windows: Windows, layout: Layout) -> Spans:
    """Each window, of one specification, is a span."""
    places, nothing = np.arange(len(windows.first) + 1), np.zeros(len(windows.first), np.int64)
    first, last, row, _ = windows
    return Spans(
        *(first, last, places, places, first, last),
        *(nothing, nothing + layout.accumulators[0], row * layout.widths[0], places[:-1]),
    )


def in_order(windows: Windows, layout: Layout) -> Any:
    """The windows in order of their first and last events; None: as they are, for those of one specification are so."""
    if len(layout.rows) == 1:
        return None
    return np.lexsort((windows.spec, windows.last, windows.first))


def sizes_of(first: Whole, last: Whole, most: int) -> Whole:
    """Events of spans of at most so many lanes, over windows in that order."""
    return _borders(first, last, most)[2]


def _borders(
    first: Whole, last: Whole, most: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], Whole]:
    """By window, in order of their first and last events: whether it opens a lane, and whether it begins a span; and by span its
    events.
    """
    opened, new = np.empty((2, len(first)), np.bool_)
    events = np.empty(len(first), np.int64)
    count = _marked(frozen(first.view()), frozen(last.view()), most, opened, new, events)
    return opened, new, events[:count]


@compiled
def _marked(first: Any, last: Any, most: int, opened: Any, new: Any, events: Any) -> int:
    """Fill what `_borders` returns; how many spans there are."""
    spans, lanes, reach, begin = 0, 0, 0, 0
    for window in range(first.shape[0]):
        before = max(window - 1, 0)
        opens = window == 0 or first[window] != first[before]
        begins = window == 0 or first[window] >= reach  # nothing before it is open
        if most == APART:
            opens |= last[window] != last[before]
            begins = opens
        elif opens:
            begins |= lanes == most
            lanes = 1 if begins else lanes + 1
        opened[window], new[window] = opens, begins
        if begins:
            begin = first[window]
            events[spans] = 0
            spans += 1
        events[spans - 1] = max(events[spans - 1], last[window] - begin)
        reach = max(reach, last[window])
    return spans


def _addresses(layout: Layout, row: Whole, spec: Whole) -> Any:
    firsts = np.array([first for first, _, _ in layout.slices()], np.int64)
    before = np.cumsum([0, *layout.rows])[:-1]
    return firsts[spec] + (row - before[spec]) * np.array(layout.widths, np.int64)[spec]
