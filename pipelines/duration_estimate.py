"""How long a run over events will take, from runs over the first of them: measured, and scaled by what was measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import log

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipelines.showing.durations import about

LONG_ENOUGH = 0.5
"""Seconds that the last measurement takes, if there are events for that."""
SMALLEST = 1 << 8
STEEPEST = 3.0
FILLED = 2
"""After so many of the longest windows each event costs what the one before it did."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds that all events take, and what that was measured on."""

    seconds: float
    measured: int
    of: int
    took: float

    def sentence(self, reading: float) -> str:
        """How long a run takes, and how that is known; `reading` are the seconds that it took to read the events."""
        if reading + self.seconds < 1:
            return "a run takes less than 1 s"
        on = f"all {self.of:,}" if self.measured == self.of else f"the first {self.measured:,} of {self.of:,}"
        parts = f"{about(reading)} to read, {about(self.seconds)} to compute"
        return f"a run takes about {about(reading + self.seconds)}: {parts}, as measured on {on} events"


def estimated(
    compute: Callable[[pa.Table], object],
    events: pa.Table,
    ticks: npt.NDArray[np.int64],
    longest: int,
    now: Callable[[], float] = time.perf_counter,
) -> Estimate:
    """Compute ever longer beginnings of the stream until that takes a while; `ticks` are the times of events.

    Until the longest window (in ticks) is full, an event may cost more than the one before it: the growth that was
    measured goes on until then, and not after. Kernels are compiled before anything is measured.
    """
    compute(events.slice(0, 0))
    before: tuple[int, float] | None = None
    size = SMALLEST
    while True:
        size = min(size, events.num_rows)
        beginning, reached = _beginning(events, ticks, size)
        start = now()
        compute(beginning)
        took = max(now() - start, 1e-9)
        count = beginning.num_rows
        if count == events.num_rows or took >= LONG_ENOUGH:
            span = reached - int(ticks.min()) + 1 if count else 1
            full = FILLED * longest * count / span
            return Estimate(
                took * _growth(before, (count, took), full, events.num_rows), count, events.num_rows, took
            )
        before = count, took
        size = 2 * size if took < LONG_ENOUGH / 4 else size + size // 2


def _beginning(events: pa.Table, ticks: npt.NDArray[np.int64], size: int) -> tuple[pa.Table, int]:
    """The events until the time of the one that is `size`-th in order of time, and that time."""
    if not size:
        return events, 0
    until = int(np.partition(ticks, size - 1)[size - 1])
    return (events if size == len(ticks) else events.filter(pa.array(ticks <= until))), until


def _growth(before: tuple[int, float] | None, last: tuple[int, float], full: float, events: int) -> float:
    """How many times as long as the last measurement all events take."""
    count, took = last
    if not count:
        return 1.0
    power = 1.0
    if before is not None and count > before[0]:
        power = min(max(log(took / before[1]) / log(count / before[0]), 1.0), STEEPEST)
    steep = min(max(full, count), events)
    return float((steep / count) ** power * events / steep)
