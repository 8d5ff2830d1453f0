"""Streams by name, as `hamlet generate` offers them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from hamlet_core.errors import StreamError
from hamlet_core.streams import (
    bursty,
    clickstream,
    ecommerce,
    linear_road,
    ridesharing,
    smart_home,
    stock,
    taxi,
)
from hamlet_core.streams.drawing import late_order
from hamlet_core.streams.knobs import check_knobs
from hamlet_core.streams.sessions import Clickstream
from hamlet_core.streams.trips import RideSharing


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of stream: the class of its descriptions, and what makes a table of one."""

    description: type
    generate: Callable[[Any], pa.Table]
    synonyms: Mapping[str, str] = field(default_factory=dict)
    """From a knob's common name to this kind's own."""


STREAMS: Mapping[str, Kind] = MappingProxyType(
    {
        "bursty": Kind(bursty.Bursty, bursty.generate),
        "clickstream": Kind(Clickstream, clickstream.generate, {"groups": "countries"}),
        "ecommerce": Kind(ecommerce.Ecommerce, ecommerce.generate),
        "linear_road": Kind(linear_road.LinearRoad, linear_road.generate),
        "ridesharing": Kind(RideSharing, ridesharing.generate, {"groups": "districts"}),
        "smart_home": Kind(smart_home.SmartHome, smart_home.generate),
        "stock": Kind(stock.Stock, stock.generate),
        "taxi": Kind(taxi.Taxi, taxi.generate),
    }
)
"""From a stream's name to its kind."""


def find_kind(name: str) -> Kind:
    """The kind of stream that has this name; raises `StreamError` E291 for an unknown one."""
    if name not in STREAMS:
        raise StreamError(
            f"no stream is called {name!r}", code="E291", hint=f"streams are: {', '.join(sorted(STREAMS))}"
        )
    return STREAMS[name]


def generate_stream(name: str, events: int, seed: int, *, late_rate: float = 0.0, **knobs: Any) -> pa.Table:
    """The named stream, sorted by time, but for the fraction `late_rate` of its rows that come too late.

    The knobs are the fields of the stream's description. Raises `StreamError` E291 for an unknown name, E290 for a
    knob that this stream has not, or that is out of range.

    >>> generate_stream("stock", 3, 7, types=1)["type"].to_pylist()
    ['C000', 'C000', 'C000']
    """
    kind = find_kind(name)
    own = {kind.synonyms.get(knob, knob): value for knob, value in knobs.items()}
    own |= {"events": events, "seed": seed}
    check_knobs(f"the stream {name}", kind.description, own, tuple(kind.synonyms))
    table = kind.generate(kind.description(**own))
    return table.take(pa.array(late_order(events, late_rate, seed))) if late_rate else table
