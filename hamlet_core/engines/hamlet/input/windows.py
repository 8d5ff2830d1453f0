"""Windows as slices of sorted events, compiled: two pointers that only move forward."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.jit.decorators import compiled_allocating


@compiled_allocating
def _skip(time: Any, event: int, stop: int, border: int) -> int:
    """The first event from `event` on whose time is at or past a border: in ever larger strides, then by halves."""
    stride = 1
    while event + stride < stop and time[event + stride] < border:
        event += stride
        stride *= 2
    end = min(event + stride, stop)
    while event < end:
        middle = (event + end) // 2
        if time[middle] < border:
            event = middle + 1
        else:
            end = middle
    return event


@compiled_allocating
def _count(time: Any, bounds: Any, within: int, slide: int, origin: int) -> int:
    total = 0
    for partition in range(bounds.shape[0] - 1):
        event, stop = bounds[partition], bounds[partition + 1]
        if event == stop:
            continue
        ahead = (time[event] - origin - within) // slide + 1
        while event < stop:
            age = time[event] - origin
            begin, end = max((age - within) // slide + 1, ahead), age // slide + 1
            if end > begin:
                total += end - begin
                ahead = end
            border = origin + max(ahead, end) * slide  # the next window begins there
            event = _skip(time, event + 1, stop, border)
    return total


@compiled_allocating
def slice_windows(time: Any, bounds: Any, within: int, slide: int, origin: int) -> Any:
    """(partition, index, first, last) of every window that holds an event; see `frame.windows_of`."""
    total = _count(time, bounds, within, slide, origin)
    partitions, indices = np.empty(total, np.int64), np.empty(total, np.int64)
    firsts, lasts = np.empty(total, np.int64), np.empty(total, np.int64)
    job = 0
    for partition in range(bounds.shape[0] - 1):
        event, stop = bounds[partition], bounds[partition + 1]
        if event == stop:
            continue
        closing = job
        ahead = (time[event] - origin - within) // slide + 1
        while event < stop:
            age = time[event] - origin
            while closing < job and origin + indices[closing] * slide + within <= time[event]:
                lasts[closing] = event
                closing += 1
            for index in range(max((age - within) // slide + 1, ahead), age // slide + 1):
                partitions[job], indices[job], firsts[job] = partition, index, event
                job += 1
            ahead = max(ahead, age // slide + 1)
            border = origin + ahead * slide
            if closing < job:
                border = min(border, origin + indices[closing] * slide + within)
            event = _skip(time, event + 1, stop, border)
        while closing < job:
            lasts[closing] = stop
            closing += 1
    return partitions, indices, firsts, lasts
