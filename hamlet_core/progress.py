"""How far a run is, told to whoever asks: events done, of how many, and how long kernels were compiled meanwhile.

Nothing here knows who shows that, or where.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TypeAlias

Told: TypeAlias = Callable[[int, int], None]
"""Called with the events that are done, and with all there are."""

_TOLD: ContextVar[Told | None] = ContextVar("hamlet_core_progress", default=None)


@contextmanager
def watching(told: Told) -> Iterator[None]:
    """While the block runs, `run` and its kin tell how far they are, if they are called in the same thread.

    They tell it between calls of kernels, in numbers that never fall; when all events are done, the last time.

    >>> import pyarrow as pa
    >>> from hamlet_core import run
    >>> from hamlet_core.progress import watching
    >>> found = []
    >>> with watching(lambda done, of: found.append((done, of))):
    ...     table = run("RETURN COUNT(*) PATTERN A+ WITHIN 9 s", pa.table({"time": [1, 2], "type": ["A", "A"]}), engine="greta")
    >>> found[-1]
    (2, 2)
    """
    token = _TOLD.set(told)
    try:
        yield
    finally:
        _TOLD.reset(token)


@dataclass(frozen=True, slots=True)
class Progress:
    """A part of the work on so many events: `low` to `high` of all of it. Nobody asks where there is no `told`."""

    told: Told | None = None
    events: int = 0
    low: float = 0.0
    high: float = 1.0

    @classmethod
    def over(cls, events: int) -> Progress:
        """All the work on so many events, for whoever watches now."""
        return cls(_TOLD.get() if events else None, events)

    def between(self, low: float, high: float) -> Progress:
        """The part from one share of this one to another."""
        length = self.high - self.low
        return replace(self, low=self.low + low * length, high=self.low + high * length)

    def part(self, place: int, of: int) -> Progress:
        """One of equal parts."""
        return self.between(place / of, (place + 1) / of)

    def at(self, share: float) -> None:
        """Tell that so much of this part is done, and all before it."""
        if self.told is not None:
            self.told(round(self.events * (self.low + share * (self.high - self.low))), self.events)


UNWATCHED = Progress()


@dataclass(slots=True)
class Stopwatch:
    """Mutable: how long something went on so far, however often it began and ended; what begins inside of it is part of it."""

    now: Callable[[], float] = time.monotonic
    at_first: Callable[[], object] | None = None
    """Called when it begins next, and not again."""
    _going_on: int = 0
    _since: float = 0.0
    _before: float = 0.0

    def begin(self) -> None:
        """It goes on from now."""
        if not self._going_on:
            self._since = self.now()
        self._going_on += 1
        if call := self.at_first:
            self.at_first = None
            call()

    def end(self) -> None:
        """What began last has ended."""
        self._going_on -= 1
        if not self._going_on:
            self._before += self.now() - self._since

    @property
    def seconds(self) -> float:
        """All of it until now."""
        return self._before + (self.now() - self._since if self._going_on else 0.0)


COMPILE_TIME = Stopwatch()
"""How long this process has compiled kernels: time that says nothing about how fast events are done."""


@contextmanager
def before_compiling(call: Callable[[], object]) -> Iterator[None]:
    """While the block runs, `call` is called once, when this process begins to compile a kernel; never if it need not."""
    COMPILE_TIME.at_first = call
    try:
        yield
    finally:
        COMPILE_TIME.at_first = None
