"""The windows of a fold in parts that threads take: none of them adds to a row of another, so that nothing depends on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from hamlet_core.engines.hamlet.input.frame import Jobs
from hamlet_core.progress import Progress
from hamlet_core.threads import Crew, Piece

ALONE = 1 << 15
"""Events, added over windows, that are worth a thread."""
EACH = 4
"""Parts for each thread: some take longer than others."""


def parts_of(jobs: Jobs, threads: int) -> list[Jobs]:
    """At most so many parts as threads may take, about equally long; the windows of a row keep their order."""
    sizes = jobs.last - jobs.first
    count = min(EACH * threads if threads > 1 else 1, int(sizes.sum()) // ALONE)
    if count <= 1:
        return [jobs]
    before = np.cumsum(np.bincount(jobs.row, sizes))
    part = np.searchsorted(before, before[-1] * np.arange(1, count) / count).searchsorted(jobs.row)
    return [Jobs(*(one[part == number] for one in jobs)) for number in range(count)]


def in_parts(fold: Callable[[Jobs], bool], parts: Sequence[Jobs], crew: Crew) -> bool:
    """Whether all parts could be folded."""
    pieces: list[Piece[bool]] = [Piece(partial(_folded, fold, one), 1 / len(parts)) for one in parts]
    done = list(crew.each(pieces))
    return all(done)


def _folded(fold: Callable[[Jobs], bool], jobs: Jobs, _: Progress) -> bool:
    return fold(jobs)
