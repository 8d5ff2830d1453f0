"""Streams by name, as `hamlet generate` offers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from hamlet_core.errors import StreamError
from hamlet_core.streams import bursty, ridesharing
from hamlet_core.streams.drawing import late_order


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of stream: the class of its descriptions, and what makes a table of one."""

    description: type
    generate: Callable[[Any], pa.Table]

    @property
    def knobs(self) -> tuple[str, ...]:
        """The names of what a description of this kind says, beside the number of events and the seed."""
        return tuple(field.name for field in fields(self.description) if field.name not in ("events", "seed"))


STREAMS: Mapping[str, Kind] = MappingProxyType(
    {
        "bursty": Kind(bursty.Bursty, bursty.generate),
        "ridesharing": Kind(ridesharing.RideSharing, ridesharing.generate),
    }
)
"""From a stream's name to its kind."""


def generate_stream(name: str, events: int, seed: int, *, late_rate: float = 0.0, **knobs: Any) -> pa.Table:
    """The named stream, sorted by time, but for the fraction `late_rate` of its rows that come too late.

    Raises `StreamError` E291 for an unknown name, E290 for a knob that this stream has not, or that is out of range.
    """
    if name not in STREAMS:
        raise StreamError(
            f"no stream is called {name!r}", code="E291", hint=f"streams are: {', '.join(sorted(STREAMS))}"
        )
    kind = STREAMS[name]
    for knob in knobs:
        if knob not in kind.knobs:
            raise StreamError(
                f"a stream of the kind {name} has no {knob}",
                code="E290",
                hint=f"it has {', '.join(kind.knobs)}",
            )
    table = kind.generate(kind.description(events=events, seed=seed, **knobs))
    return table.take(pa.array(late_order(events, late_rate, seed))) if late_rate else table
