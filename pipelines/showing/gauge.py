"""How far a piece of work is and when it was told, in; what a person wants to know meanwhile, out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from pipelines.showing.durations import about

LONG = 120.0
"""Seconds that are worth a warning."""


@dataclass(slots=True)
class Gauge:
    """Mutable: what is worked at, what is done of it, and since when."""

    now: Callable[[], float] = time.monotonic
    apart: Callable[[], float] = lambda: 0.0
    """Seconds that went so far into what is done once, not for each event, as compiling kernels: the pace is without them."""
    what: str = "starting"
    unit: str = ""
    of: int = 0
    done: int = 0
    look: Callable[[], int] | None = None
    """Asked for what is done, where nobody tells it."""
    warned: bool = False
    started: float = field(init=False)
    begun: float = field(init=False)
    _first: tuple[float, int] | None = None

    def __post_init__(self) -> None:
        self.started, self.begun = self.now(), self._worked()

    def begin(self, what: str, unit: str = "", of: int = 0, look: Callable[[], int] | None = None) -> None:
        """Another piece of work."""
        self.what, self.unit, self.of, self.look = what, unit, of, look
        self.done, self._first, self.begun = 0, None, self._worked()

    def told(self, done: int, of: int) -> None:
        """So much is done; it never falls."""
        self.done, self.of = max(self.done, done), of
        if self._first is None and done:
            self._first = self._worked(), done

    def _worked(self) -> float:
        return self.now() - self.apart()

    @property
    def left(self) -> float | None:
        """Seconds that the rest takes at the pace since the first word of something done; None before that.

        Silence counts: while nothing is told the pace falls, and the rest never comes to nothing before the work.
        """
        if self._first is None:
            return None
        since, before = self._first if self.done > self._first[1] else (self.begun, 0)
        return (self.of - self.done) * (self._worked() - since) / (self.done - before)

    def line(self) -> str:
        """What is going on, how far it is, and how long it still takes."""
        if self.look is not None:
            self.told(min(self.look(), self.of), self.of)
        place = f"[{self.now() - self.started:5.1f} s] {self.what}"
        if not self.of:
            return f"{place}: going on"
        left = self.left
        rest = "" if left is None else f", about {about(left)} left" if self.done < self.of else ", finishing"
        return f"{place}: {self.done:,} of {self.of:,} {self.unit}{rest}"

    def warning(self) -> str | None:
        """Once, as soon as it is known: that the work takes long, and how that is known.

        A first word says too little: what came before it may have been work that is done once.
        """
        left, sure = self.left, self._first is not None and self.done > self._first[1]
        if self.warned or self.look is not None or not sure or left is None or left < LONG:
            return None
        self.warned = True
        return f"{self.what} will take about {about(left)}, as measured on the first {self.done:,} of {self.of:,} {self.unit}"
