"""The ride-sharing stream: a description in, a table of events out (HAMLET, section 6: synthetic data set).

The paper gives the attributes and the rate; the grammar of a trip (`trips.py`), the rush hours and the skew are ours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.streams.drawing import (
    NAME_TYPE,
    Truth,
    Whole,
    chance,
    microseconds,
    named,
    pieces,
    time_order,
)
from hamlet_core.streams.trips import KINDS, TRAVEL, TYPES, RideSharing, Steps, Trips, draw_trips, mean_size

SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us", "UTC")),
        ("type", NAME_TYPE),
        ("driver", pa.int64()),
        ("rider", pa.int64()),
        ("district", NAME_TYPE),
        ("kind", NAME_TYPE),
        ("duration", pa.int64()),
        ("price", pa.float64()),
        ("speed", pa.float64()),
    ]
)
"""duration: seconds since the trip's event before; price: the fare so far, in cents' precision; speed: km/h."""

KIND_FARES = (0.02, 0.015, 0.05)
"""Fare per second of each kind."""

DISTRICTS = ("Centre", "Harbour", "Airport", "University", "Old Town", "Hillside", "Riverside", "Station")
BLOCK = 250_000
"""Events that are drawn at a time."""


def generate(description: RideSharing) -> pa.Table:
    """The events of a stream: exactly `description.events` rows of `SCHEMA`, sorted by time.

    A large stream is drawn in blocks that fit a processor's cache, each with its share of the time.
    """
    count = max(-(-description.events // BLOCK), 1)
    blocks = [_block(description, number, count) for number in range(count)]

    def column(name: str) -> Any:
        """All of a column, which its blocks then no longer hold."""
        return np.concatenate([block.pop(name) for block in blocks])

    times, order = time_order(column("time"))
    names = [
        DISTRICTS[i] if i < len(DISTRICTS) else f"District {i + 1}" for i in range(description.districts)
    ]
    columns = [
        microseconds(times, 1_000_000, description.start),
        named(column("type")[order], TYPES),
        pa.array(column("driver")[order].astype(np.int64)),
        pa.array(column("rider")[order]),
        named(column("district")[order], names),
        named(column("kind")[order], KINDS),
        pa.array(column("wait")[order].astype(np.int64)),
        pa.array(column("cents")[order] / 100, mask=column("no_price")[order]),
        pa.array(column("tenths")[order] / 10, mask=column("no_speed")[order]),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _block(whole: RideSharing, number: int, of: int) -> dict[str, npt.NDArray[Any]]:
    """Columns of one of the blocks, trip by trip: trips that start in its share of the time, the last one cut off."""
    random = np.random.default_rng(whole.seed if of == 1 else [whole.seed, number])
    description = replace(whole, events=min(whole.events - number * BLOCK, BLOCK))
    # A trip has two events at least. Most of these trips are never looked at: where one block is all, they keep
    # the stream what it was in every version.
    count = description.events // 2 + 1
    if of > 1:
        count = min(count, int(description.events / mean_size(description) * 1.2) + 1_000)
    trips, steps = draw_trips(description, count, (number, of), random)
    wait = _waits(description, steps, random)
    crossing = random.random(count) < description.crossing_rate
    border = np.where(crossing, random.integers(3, 8, count), np.iinfo(np.int32).max)
    district = trips.district[steps.trip] + (steps.place >= border[steps.trip])
    return {
        "time": _times(trips, wait),
        "type": steps.type,
        "driver": trips.driver[steps.trip],
        "rider": trips.rider[steps.trip],
        "district": district % np.int32(description.districts),
        "kind": trips.kind[steps.trip],
        "wait": wait,
        "cents": _cents(trips, steps, wait, random),
        "tenths": _tenths(steps, random),
        "no_price": _lost(description, steps, random),
        "no_speed": _lost(description, steps, random),
    }


def _waits(description: RideSharing, steps: Steps, random: np.random.Generator) -> npt.NDArray[np.int16]:
    """Seconds since the trip's event before; 0 for its first event and for ties."""
    short, long = np.array([[0, 20, 60, 10, 20, 10], [1, 240, 480, 45, 60, 60]])
    waits = np.empty(len(steps.type), np.int16)
    for piece in pieces(len(waits)):
        waits[piece] = random.integers(short[steps.type[piece]], long[steps.type[piece]])
    waits[chance(description.tie_rate, len(waits), random)] = 0
    waits[steps.place == 0] = 0
    return waits


def _times(trips: Trips, waits: npt.NDArray[np.int16]) -> Whole:
    """Seconds from the start of the stream, trip by trip."""
    times = np.cumsum(waits, dtype=np.int64)
    times += np.repeat(trips.start - times[trips.first], trips.size)
    return times


def _cents(
    trips: Trips, steps: Steps, waits: npt.NDArray[np.int16], random: np.random.Generator
) -> npt.NDArray[np.int32]:
    """A base fare, and so much a second; in hundredths."""
    base = 2.5 + np.round(random.random(len(trips.first)) * 2, 2)
    fares = np.repeat(np.array(KIND_FARES)[trips.kind], trips.size)
    fares *= waits
    fares[steps.type < TRAVEL] = 0.0
    totals = np.cumsum(fares, out=fares)
    totals -= np.repeat(totals[trips.first], trips.size)
    totals += np.repeat(base, trips.size)
    totals *= 100
    return np.asarray(np.rint(totals, out=totals).astype(np.int32))


def _tenths(steps: Steps, random: np.random.Generator) -> npt.NDArray[np.int16]:
    """Speeds in tenths of km/h: a walk about 35 that is pulled back; 0 where the trip does not travel."""
    longest = int(steps.place.max(initial=0)) + 1
    waves = 35.0 + 12.0 * np.sin((np.arange(longest) * 0.9)[:, None] + np.arange(7))
    tenths = np.empty(len(steps.trip), np.int16)
    for piece in pieces(len(tenths)):
        wave = waves.ravel()[steps.place[piece] * 7 + steps.trip[piece] % 7]
        speed = np.clip(wave + random.normal(0.0, 7.0, len(wave)), 0.0, 90.0)
        tenths[piece] = np.rint(speed * 10) * (steps.type[piece] == TRAVEL)
    return tenths


def _lost(description: RideSharing, steps: Steps, random: np.random.Generator) -> Truth:
    lost = chance(description.null_rate, len(steps.type), random)
    lost &= steps.type == TRAVEL
    return lost
