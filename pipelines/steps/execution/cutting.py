"""Files of one hot key or bucket, cut in time: spans of window ends that read about the same number of events each."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hamlet_core import QueryPlan
from pipelines.spans import Partition, Span, microseconds, moment
from resources.warehouse import DataFile


def cut(
    files: Sequence[DataFile], plans: Sequence[QueryPlan], span: Span, origin: int, share: int
) -> tuple[Span, ...]:
    """The span in as many spans as there are shares of `share` events in the files, in order of time.

    Cuts lie where windows of the longest kind end, so that tumbling windows read no event twice; none is shorter than
    the longest window, or sliding windows would read most events many times.
    """
    rows = sum(file.rows for file in files)
    if rows <= share or any(file.first is None or file.last is None for file in files):
        return (span,)
    longest = max(plans, key=lambda plan: plan.within)
    times, until = _cumulated(files)
    pieces = min(-(-rows // share), int(times[-1] - times[0]) // longest.within)
    wanted = np.interp(np.arange(1, pieces) / pieces * until[-1], until, times)
    end = origin + longest.within
    ends = end + (wanted.astype(np.int64) - end + longest.slide // 2) // longest.slide * longest.slide
    inner = [moment(int(tick)) for tick in np.unique(ends)]
    inner = [
        when
        for when in inner
        if (span.after is None or when > span.after) and (span.until is None or when < span.until)
    ]
    bounds = [span.after, *inner, span.until]
    return tuple(
        Span((Partition(f"piece {number}", after, until),))
        for number, (after, until) in enumerate(pairwise(bounds), 1)
    )


def files_read(
    files: Sequence[DataFile], plans: Sequence[QueryPlan], span: Span, origin: int
) -> tuple[DataFile, ...]:
    """The files that may hold events which windows of the span read."""
    start, end = span.reads([(plan.within, plan.slide) for plan in plans], origin)
    return tuple(
        file
        for file in files
        if (start is None or file.last is None or file.last >= start)
        and (end is None or file.first is None or file.first < end)
    )


def events_between(files: Sequence[DataFile], span: Span) -> int:
    """About how many events of the files lie in the span."""
    if any(file.first is None or file.last is None for file in files):
        return sum(file.rows for file in files)
    times, until = _cumulated(files)
    after = until[0] if span.after is None else np.interp(microseconds(span.after), times, until)
    before = until[-1] if span.until is None else np.interp(microseconds(span.until), times, until)
    return int(before - after)


def _cumulated(files: Sequence[DataFile]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Times, and how many events there are up to each, as if those of a file came evenly."""
    first = np.array([microseconds(file.first) for file in files if file.first is not None], np.int64)
    last = np.array([microseconds(file.last) for file in files if file.last is not None], np.int64)
    rows = np.array([file.rows for file in files], np.float64)
    times = np.unique(np.concatenate([first, last + 1]))
    shares = np.clip((times[:, None] - first) / (last + 1 - first), 0.0, 1.0)
    return times, shares @ rows
