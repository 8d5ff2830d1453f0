"""Streams by name, as `hamlet generate` offers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import pyarrow as pa

from hamlet_core.errors import StreamError
from hamlet_core.streams.ridesharing import RideSharing, generate

STREAMS: Mapping[str, Callable[[int, int], pa.Table]] = MappingProxyType(
    {"ridesharing": lambda events, seed: generate(RideSharing(events=events, seed=seed))}
)
"""From a stream's name to a function of (events, seed)."""


def generate_stream(name: str, events: int, seed: int) -> pa.Table:
    """The named stream, sorted by time; raises `StreamError` E291 for an unknown name."""
    if name not in STREAMS:
        raise StreamError(
            f"no stream is called {name!r}", code="E291", hint=f"streams are: {', '.join(sorted(STREAMS))}"
        )
    return STREAMS[name](events, seed)
