"""Runs in turns: every contender once a round, so that a slow moment of the machine hits all; every answer checked.

Each round has another order: nobody is always the one that comes after the largest, with its memory and caches.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Contender:
    """Something to time: `call` answers, `check` raises `WrongAnswer` if the answer is not the one."""

    name: str
    events: int
    call: Callable[[], Any]
    check: Callable[[Any], None]


@dataclass(frozen=True)
class Timing:
    """Seconds of each round of a contender."""

    name: str
    events: int
    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def per_event(self) -> float:
        """Seconds per event; contenders with fewer events are compared by it."""
        return self.median / self.events

    @property
    def rate(self) -> float:
        """Million events a second."""
        return 1e-6 / self.per_event


def interleaved(contenders: Sequence[Contender], rounds: int) -> dict[str, Timing]:
    """Time all contenders; a first round, checked like the others, warms up and is not counted."""
    seconds: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    draw = Random(1)
    for turn in range(rounds + 1):
        for contender in draw.sample(contenders, len(contenders)):
            gc.collect()
            begin = time.perf_counter()
            answer = contender.call()
            taken = time.perf_counter() - begin
            contender.check(answer)
            if turn:
                seconds[contender.name].append(taken)
    return {one.name: Timing(one.name, one.events, tuple(seconds[one.name])) for one in contenders}


def speed_up(fast: Timing, slow: Timing) -> float:
    """How many times as fast per event."""
    return slow.per_event / fast.per_event
