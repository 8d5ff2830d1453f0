"""What most streams describe and draw alike: when events come, and of which types, burst by burst."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from hamlet_core.errors import StreamError
from hamlet_core.streams.drawing import (
    Codes,
    Whole,
    burst_lengths,
    check,
    microseconds,
    named,
    skewed,
    spread_times,
)

LONGEST = 4_000_000_000
"""Minutes that a stream can last."""


@dataclass(frozen=True, slots=True)
class Description:
    """What a stream looks like; equal descriptions give equal streams."""

    events: int = 200_000
    seed: int = 7
    start: datetime = datetime(2026, 1, 5, tzinfo=UTC)
    """Whole seconds; naive is UTC."""
    rate: float = 10_000.0
    """Events a minute."""
    types: int = 20
    type_skew: float = 0.0
    """Types of bursts are drawn with weight 1 / rank^type_skew, but never twice running."""
    burst_length: float = 20.0
    """Mean length of a burst of one type."""
    fixed_bursts: bool = False
    """Whether all bursts have that length; else it is geometric."""
    tie_rate: float = 0.05
    """Events that have the very time of the event before."""
    null_rate: float = 0.01
    """Events without the stream's measured value."""
    groups: int = 10
    skew: float = 0.5
    """Groups are drawn with weight 1 / rank^skew."""

    def __post_init__(self) -> None:
        check(
            f"a {self.name} stream",
            not_negative=(self.events, self.seed, self.type_skew, self.skew),
            positive=(self.rate, self.types, self.groups),
            rates=(self.tie_rate, self.null_rate),
            lengths=(self.burst_length,),
        )
        if self.events / self.rate > LONGEST:
            raise StreamError(f"a {self.name} stream ends before the year 9999", code="E290")

    @property
    def name(self) -> str:
        """The kind of stream, in words."""
        return re.sub("(?<=.)(?=[A-Z])", "-", type(self).__name__).lower()


@dataclass(frozen=True, slots=True)
class Outline:
    """Times (microseconds from the start) and type numbers of all events; `lengths` of the bursts in their order."""

    times: Whole
    types: Codes
    lengths: Whole


def draw_outline(description: Description, random: np.random.Generator) -> Outline:
    """The times and types that a description asks for."""
    lengths = burst_lengths(
        description.events, description.burst_length, random, fixed=description.fixed_bursts
    )
    types = _burst_types(description, len(lengths), random)
    times = spread_times(description.events, description.rate / 60, description.tie_rate, random)
    return Outline(times, np.repeat(types, lengths), lengths)


def frame(description: Description, outline: Outline, names: Sequence[str]) -> list[pa.Array]:
    """The columns `time` and `type`."""
    return [microseconds(outline.times, 1, description.start), named(outline.types, names)]


def type_names(count: int, known: Sequence[str], prefix: str) -> list[str]:
    """So many names: the known ones, then numbered ones.

    >>> type_names(3, ("Load", "Work"), "Reading")
    ['Load', 'Work', 'Reading2']
    """
    return [*known[:count], *(f"{prefix}{number}" for number in range(len(known), count))]


def _burst_types(description: Description, count: int, random: np.random.Generator) -> Codes:
    types = np.empty(0, np.int32)
    if description.types == 1:
        return np.zeros(count, np.int32)
    while len(types) < count:
        drawn = skewed(description.types, description.type_skew, 2 * count + 8, random)
        types = np.concatenate([types, drawn])
        types = types[np.diff(types, prepend=-1) != 0]
    return types[:count]
