"""The linear-road stream: a description in, a table of reports out (Linear Road benchmark; SHARON, GRETA).

Each car reports every 30 seconds, and the reports of three hours grow from few to 4,000 a second; both are the
benchmark's, as are its four kinds of requests. Times finer than its seconds, and the distributions, are ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from hamlet_core.streams.drawing import NAME_TYPE, TIME_TYPE, Whole, chance, check, skewed
from hamlet_core.streams.outline import Description, draw_outline, frame, type_names

SCHEMA = pa.schema(
    [
        ("time", TIME_TYPE),
        ("type", NAME_TYPE),
        ("vid", pa.int64()),
        ("speed", pa.int64()),
        ("xway", pa.int64()),
        ("lane", pa.int64()),
        ("dir", pa.int64()),
        ("seg", pa.int64()),
        ("pos", pa.int64()),
    ]
)
"""speed: uniform over 0 .. 99, NULL at `null_rate`; xway: the group, from 0; lane 0 .. 4; seg 0 .. 99; pos in feet."""

TYPES = ("Report", "Balance", "Expenditure", "TravelTime")
ROAD = 528_000
"""Feet of an expressway; a segment is a hundredth of it."""


@dataclass(frozen=True, slots=True)
class LinearRoad(Description):
    """What a linear-road stream looks like; types are kinds of requests, groups are expressways."""

    rate: float = 120_000.0
    """Events a minute, on average."""
    types: int = 4
    type_skew: float = 1.5
    burst_length: float = 40.0
    groups: int = 10
    growth: float = 50.0
    """How many times the rate of the beginning is that of the end; 1: the rate is constant."""

    def __post_init__(self) -> None:
        Description.__post_init__(self)
        check(f"a {self.name} stream", lengths=(self.growth,))


def generate(description: LinearRoad) -> pa.Table:
    """The events of a stream: exactly `description.events` rows of `SCHEMA`, sorted by time."""
    random = np.random.default_rng(description.seed)
    outline = draw_outline(description, random)
    outline = replace(outline, times=_growing(outline.times, description.growth))
    count = description.events
    cars = max(int(description.rate / 2), 1)
    # As many cars as report in 30 seconds, one after the other.
    vid = np.arange(count, dtype=np.int32) % np.int32(cars)
    xway = skewed(description.groups, description.skew, cars, random)
    feet = random.integers(40, 110, cars)[vid] * (outline.times // 1_000_000)
    feet += random.integers(0, ROAD, cars)[vid]
    feet %= ROAD
    columns = [
        *frame(description, outline, request_names(description.types)),
        pa.array(vid.astype(np.int64)),
        pa.array(random.integers(0, 100, count), mask=chance(description.null_rate, count, random)),
        pa.array(xway[vid].astype(np.int64)),
        pa.array(random.integers(0, 5, count)),
        pa.array((vid & 1).astype(np.int64)),
        pa.array(feet // (ROAD // 100)),
        pa.array(feet),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _growing(times: Whole, growth: float) -> Whole:
    """Times of a constant rate, moved so that the rate grows evenly; the last stays where it is, ties stay ties."""
    if growth == 1 or not len(times) or not times[-1]:
        return times
    share = times / times[-1]
    slope = growth - 1
    # The share s of the events has come when t + slope t^2 / 2 = s (1 + slope / 2), for t from 0 to 1.
    moved = (np.sqrt(1 + share * (slope * (2 + slope))) - 1) / slope
    return np.asarray((moved * times[-1]).astype(np.int64))


def request_names(count: int) -> list[str]:
    """The names of the types, kinds of requests."""
    return type_names(count, TYPES, "Request")
