"""Which windows a call of the kernel folds, and which groups rest meanwhile: to ask must not cost more than it gains.

A group whose queries go apart all the time costs time: somebody asks who shares each burst, and each event goes a longer way
than in a program that knows of no group. So groups are tried on some windows; those that have lost there rest, four times as
long each time they are tried and lose again, up to some 400,000 events. What rests changes what a run costs, never what it
answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.events.spans import Spans

BATCH = 1 << 21
"""Events, added over windows, in one call of the kernel, which takes about a second: between calls Python hears signals."""

FIRST = 1 << 16
"""In the first call; each has twice as many as the one before it, so that whoever waits soon knows how long."""

TRIAL = 1 << 11
"""Events, added over windows, on which groups are tried; a window is never cut."""

SHORTEST_REST, LONGEST_REST, GROWTH = 4, 192, 4
"""Trials that a rest is as long as: first, at most, and how many times as long if a trial finds what the last one found.
Of windows so large that a trial has more events, it is no longer than this in events, or else the shortest.
"""

GOING_ON = 2
"""How many times as long as groups would rest all go on if none has lost."""

LONGER_WAY = 8.0
"""Nanoseconds that an event takes longer in a program with groups, whether it is theirs or not; about."""

MOST_SETS = 8
"""Different sets of groups that rest, for each has a program; after these only groups rest that have rested together."""

NONE: frozenset[int] = frozenset()


class Turns:
    """(first span, end, groups that rest) for one call of the kernel after the other.

    Events of large spans count for more: they may read many older ones.
    """

    def __init__(
        self, spans: Spans, gain: npt.NDArray[np.float64], *, rests: bool, worth: float = LONGER_WAY
    ) -> None:
        """`gain`: by group, what it has gained so far, which the kernel writes while none rests; all rest if they gain less
        than `worth` nanoseconds of an event.
        """
        sizes = spans.last - spans.first
        self.done = np.cumsum(sizes * (1 + (sizes >> 10)))
        self.folded = np.cumsum(sizes)
        self.gain = gain
        self.worth = worth
        self.rests = rests and len(gain) > 0

    def share(self, end: int) -> float:
        """How much of all events, so counted, the spans before `end` have."""
        return float(self.done[end - 1] / self.done[-1]) if end else 1.0

    def __iter__(self) -> Iterator[tuple[int, int, frozenset[int]]]:
        if not self.rests:
            yield from ((first, end, NONE) for first, end in self._all())
        elif len(self.done) == 0:  # both kinds of programs, for kernels to be compiled
            yield from ((0, 0, NONE), (0, 0, frozenset(range(len(self.gain)))))
        else:
            yield from self._tried()

    def _all(self) -> Iterator[tuple[int, int]]:
        first, last, size = 0, len(self.done), min(FIRST, BATCH)
        while True:
            end = self._end(first, size)
            yield first, end
            if end == last:
                return
            first, size = end, min(2 * size, BATCH)

    def _tried(self) -> Iterator[tuple[int, int, frozenset[int]]]:
        """All groups are tried, and those rest for a while that have lost; if none has, going on is the next trial."""
        first, last, size, length, lost = 0, len(self.done), TRIAL, SHORTEST_REST, NONE
        known = [NONE]
        while True:
            end, before = self._end(first, size), self.gain.copy()
            yield first, end, NONE
            if end == last:
                return
            resting = self._losers((self.gain - before).tolist(), first, end)
            length = min(GROWTH * length, LONGEST_REST) if resting == lost else SHORTEST_REST
            trial = max(self._events(first, self._end(first, TRIAL)), TRIAL)
            size = min(length * trial, max(LONGEST_REST * TRIAL, SHORTEST_REST * trial))
            first, lost = end, resting
            if not resting:
                size *= GOING_ON
                continue
            end = self._end(first, size)
            if resting not in known and len(known) < MOST_SETS:
                known.append(resting)
            yield first, end, max((one for one in known if one <= resting), key=len)
            if end == last:
                return
            first, size = end, TRIAL

    def _losers(self, gained: Sequence[float], first: int, end: int) -> frozenset[int]:
        """Groups that have gained nothing in these spans; all, if what the others gained is not worth it."""
        folded = self.folded[end - 1] - (self.folded[first - 1] if first else 0)
        enough = sum(one for one in gained if one > 0) > self.worth * folded
        return frozenset(group for group, one in enumerate(gained) if one <= 0 or not enough)

    def _events(self, first: int, end: int) -> int:
        """Events of these spans."""
        return int(self.done[end - 1]) - (int(self.done[first - 1]) if first else 0) if end else 0

    def _end(self, first: int, size: int) -> int:
        """Where so many events from a span on end, or a span later."""
        return min(int(self.done.searchsorted(self._events(0, first) + size)) + 1, len(self.done))
