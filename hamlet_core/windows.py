"""Window and pane arithmetic on integer time (SEMANTICS 6): which windows and which pane contain a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import gcd
from typing import TypeAlias

from hamlet_core.errors import InvariantError


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """Window i (any integer) covers [origin + i*slide, origin + i*slide + within); all in ticks.

    >>> spec = WindowSpec(within=10, slide=4)
    >>> list(spec.indices(9)), spec.bounds(2)
    ([0, 1, 2], (8, 18))
    """

    within: int
    slide: int
    origin: int = 0

    def __post_init__(self) -> None:
        if self.within <= 0 or self.slide <= 0:
            raise InvariantError(
                f"windows: within and slide must be positive, got {self.within} and {self.slide}", code="E910"
            )

    def indices(self, time: int) -> range:
        """The windows that contain `time`, ascending; empty in the holes that slide > within leaves.

        >>> WindowSpec(within=2, slide=5).indices(3)
        range(1, 1)
        """
        age = time - self.origin
        return range((age - self.within) // self.slide + 1, age // self.slide + 1)

    def bounds(self, index: int) -> tuple[int, int]:
        """The (start, end) of a window; the end is not in it."""
        start = self.origin + index * self.slide
        return start, start + self.within


Wanted: TypeAlias = Mapping[WindowSpec, range]
"""By specification the numbers of the windows that somebody asks for."""


@dataclass(frozen=True, slots=True)
class Panes:
    """Time cut so finely that no window of a set begins or ends inside a pane; pane 0 starts at the origin."""

    length: int
    origin: int = 0

    @classmethod
    def of(cls, specs: Iterable[WindowSpec]) -> Panes:
        """The coarsest panes for these windows: gcd of every within and slide, at their common origin.

        >>> Panes.of([WindowSpec(30, 10), WindowSpec(25, 25)])
        Panes(length=5, origin=0)
        """
        windows = tuple(specs)
        origins = {window.origin for window in windows}
        if len(origins) != 1:
            raise InvariantError(f"panes: windows need one origin, got {sorted(origins)}", code="E911")
        length = gcd(*(size for window in windows for size in (window.within, window.slide)))
        return cls(length, origins.pop())

    def pane_of(self, time: int) -> int:
        """The index of the pane that contains `time`.

        >>> Panes(5).pane_of(-1), Panes(5).pane_of(0), Panes(5).pane_of(5)
        (-1, 0, 1)
        """
        return (time - self.origin) // self.length

    def bounds(self, index: int) -> tuple[int, int]:
        """The (start, end) of a pane; the end is not in it."""
        start = self.origin + index * self.length
        return start, start + self.length

    def of_window(self, window: WindowSpec, index: int) -> range:
        """The panes that make up a window.

        >>> Panes(5).of_window(WindowSpec(within=10, slide=5), 3)
        range(3, 5)
        """
        start, end = window.bounds(index)
        return range(self.pane_of(start), self.pane_of(end))
