"""A stream cut into chunks of time: what a fold makes of events and results then fits in bounded memory.

A chunk answers for the windows that begin in it and reads all their events, so that windows are whole and each is
folded in one chunk; events that windows of two chunks hold are read twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hamlet_core.table.columns import within_int64
from hamlet_core.table.encode import Stream
from hamlet_core.windows import Wanted, WindowSpec


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a chunk may hold; its windows may need more."""

    bytes: int = 1 << 26
    """Made of the events."""
    rows: int = 40_000
    """Windows of all queries, without groups."""
    events: int = 1 << 22
    """Also where nothing is made of them: a chunk is what a thread folds."""
    overlap: int = 4
    """A chunk is so many times as long as the longest window where windows overlap: few events are read twice."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """The events of some windows; by specification the numbers of those windows (None: all)."""

    stream: Stream
    windows: Wanted | None = None
    until: int = 0
    """Events of the whole stream that are done with this chunk, and with those before it."""


def chunks(
    stream: Stream,
    specs: Sequence[WindowSpec],
    bytes_per_event: int,
    limits: Limits,
    only: Wanted | None = None,
) -> Iterator[Chunk]:
    """The stream in chunks, in order of time; `specs` has one entry per query, `only` the windows to answer for."""
    cuts = list(_cuts(stream, specs, bytes_per_event, limits))
    if not cuts:
        yield Chunk(stream, only, len(stream))
        return
    first, last = int(stream.time[0]), int(stream.time[-1])
    for low, high in zip([None, *cuts], [*cuts, None], strict=True):
        windows = {
            spec: range(
                spec.indices(first).start if low is None else _from(spec, low),
                spec.indices(last).stop if high is None else _from(spec, high),
            )
            for spec in dict.fromkeys(specs)
        }
        if only is not None:
            windows = {spec: _both(own, only[spec]) for spec, own in windows.items()}
        bounds = [spec.bounds(index) for spec, own in windows.items() if own for index in (own[0], own[-1])]
        if bounds:
            begin, end = np.searchsorted(
                stream.time, within_int64(min(start for start, _ in bounds), max(stop for _, stop in bounds))
            )
            until = len(stream) if high is None else int(np.searchsorted(stream.time, high))
            yield Chunk(stream.between(int(begin), int(end)), windows, until)


def _cuts(stream: Stream, specs: Sequence[WindowSpec], bytes_per_event: int, limits: Limits) -> Iterator[int]:
    """Times at which a new chunk begins."""
    time = stream.time
    if not len(time) or not specs:
        return
    last = int(time[-1])
    room = _even(
        len(time), min(limits.events, limits.bytes // bytes_per_event if bytes_per_event else len(time))
    )
    ticks = _even(last - int(time[0]) + 1, int(limits.rows / sum(1 / spec.slide for spec in specs)))
    few = int(limits.rows / sum(spec.within / spec.slide + 1 for spec in specs))
    longest = max(spec.within for spec in specs)
    tumbling = len(set(specs)) == 1 and specs[0].slide >= longest
    least = max(longest if tumbling else limits.overlap * longest, 1)

    def after(place: int) -> int:
        return int(time[place]) if place < len(time) else last + 1

    place = 0
    while place < len(time):
        begin = int(time[place])  # windows that begin before it are those of the chunk before
        by_rows = max(
            begin + ticks, after(place + few)
        )  # few events are in few windows, however long it takes
        cut = max(min(after(place + room), by_rows), begin + least)
        if cut > last:
            return
        yield cut
        place = int(np.searchsorted(time, cut))


def _even(whole: int, most: int) -> int:
    """Events or ticks of each of an even number of chunks, which two threads then share equally; all, if one chunk has room for
    them.
    """
    if whole <= most:
        return whole
    count = -(-whole // max(most, 1))
    return -(-whole // (count + count % 2))


def _both(one: range, other: range) -> range:
    return range(max(one.start, other.start), min(one.stop, other.stop))


def _from(spec: WindowSpec, time: int) -> int:
    """The first window that begins at a time or later."""
    return -((spec.origin - time) // spec.slide)
