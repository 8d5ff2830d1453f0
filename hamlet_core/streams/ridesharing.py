"""The ride-sharing stream: a description in, a table of events out (HAMLET, section 6: synthetic data set).

A trip is one driver with one rider: Request, then Cancel, or Pickup and one leg or several. A leg is a burst of
Travel events; a Pool event (a passenger joins) ends each leg but the last, a Dropoff the last. The paper gives the
attributes and the rate; the grammar of a trip, the rush hours and the skew are ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.streams.drawing import (
    NAME_TYPE,
    Codes,
    Real,
    Truth,
    Whole,
    chance,
    check,
    microseconds,
    named,
    pieces,
    time_order,
)

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

TYPES = ("Request", "Cancel", "Pickup", "Travel", "Pool", "Dropoff")
REQUEST, CANCEL, PICKUP, TRAVEL, POOL, DROPOFF = range(len(TYPES))
KINDS = ("Economy", "Pool", "Premium")
KIND_SHARES = (0.5, 0.35, 0.15)
KIND_FARES = (0.02, 0.015, 0.05)
"""Fare per second of each kind."""

DISTRICTS = ("Centre", "Harbour", "Airport", "University", "Old Town", "Hillside", "Riverside", "Station")
HOURLY_DEMAND = (2, 1, 1, 1, 2, 4, 7, 11, 12, 8, 6, 6, 7, 7, 6, 7, 9, 12, 13, 10, 8, 6, 5, 3)
"""Trips that start in each hour of a day, relative to one another."""

BLOCK = 250_000
"""Events that are drawn at a time."""


@dataclass(frozen=True, slots=True)
class RideSharing:
    """What a ride-sharing stream looks like; equal descriptions give equal streams."""

    events: int = 200_000
    seed: int = 7
    start: datetime = datetime(2026, 1, 5, tzinfo=UTC)
    """Whole seconds; naive is UTC."""
    hours: float = 24.0
    """Time in which trips start; the last ones end a little later."""
    drivers: int = 1_000
    riders: int = 3_000
    districts: int = 8
    burst_length: float = 4.0
    """Mean number of Travel events of a leg (geometric)."""
    longest_burst: int = 10
    """No leg has more: a leg of n Travel events holds 2^n - 1 trends of Travel+."""
    legs: int = 3
    """Most legs that a trip of the kind Pool has; other trips have one."""
    cancel_rate: float = 0.1
    """Trips cancelled before the pickup."""
    tie_rate: float = 0.05
    """Events that have the very time of their trip's event before."""
    crossing_rate: float = 0.1
    """Trips that end in another district than they began in."""
    null_rate: float = 0.01
    """Travel events without a speed, and as many without a price."""
    skew: float = 1.0
    """Districts are drawn with weight 1 / rank^skew, drivers with its fourth root; 0 draws them evenly."""

    def __post_init__(self) -> None:
        check(
            "a ride-sharing stream",
            not_negative=(self.events, self.seed, self.skew),
            positive=(self.hours, self.drivers, self.riders, self.districts, self.legs),
            rates=(self.cancel_rate, self.tie_rate, self.crossing_rate, self.null_rate),
            lengths=(self.burst_length, self.longest_burst),
        )


@dataclass(frozen=True, slots=True)
class _Trips:
    """Columns of trips, in no order of time; a trip's events stand in a row, from `first` on."""

    start: Whole
    driver: Codes
    rider: Whole
    district: Codes
    kind: npt.NDArray[np.int8]
    first: Whole
    size: Whole


@dataclass(frozen=True, slots=True)
class _Steps:
    """Columns of events, trip by trip."""

    trip: Codes
    type: npt.NDArray[np.int8]
    place: Codes
    """Place of the event in its trip, from 0."""


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
        count = min(count, int(description.events / _mean_size(description) * 1.2) + 1_000)
    trips, steps = _trips(description, count, (number, of), random)
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


def _mean_size(description: RideSharing) -> float:
    """Events of a trip, on average."""
    rest = 1 - 1 / description.burst_length
    leg = 1 + description.burst_length * (1 - rest**description.longest_burst)
    legs = 1 + KIND_SHARES[KINDS.index("Pool")] * (description.legs - 1) / 2
    return 2 + (1 - description.cancel_rate) * legs * leg


def _trips(
    description: RideSharing, count: int, share: tuple[int, int], random: np.random.Generator
) -> tuple[_Trips, _Steps]:
    """As many of `count` trips as the wanted number of events needs."""
    kind = _chosen(KIND_SHARES, random.random(count))
    legs = np.where(kind == KINDS.index("Pool"), random.integers(1, description.legs + 1, count), 1)
    start = random.random(count), random.random(count)
    driver = random.random(count)
    rider = random.integers(1, description.riders + 1, count)
    district = random.random(count)
    legs[random.random(count) < description.cancel_rate] = 0
    # Part 0 of a trip is Request and Pickup (or Cancel); each leg is another part.
    bursts = random.geometric(1 / description.burst_length, int(legs.sum()) + count)
    steps, first, size = _steps(description.events, legs, np.minimum(bursts, description.longest_burst))
    used = len(first)
    hour = (start[0][:used] + share[0]) / share[1]
    trips = _Trips(
        start=_starts(description, hour, start[1][:used]),
        driver=_chosen(_weights(description.drivers, description.skew / 4), driver[:used]).astype(np.int32)
        + 1,
        rider=rider[:used],
        district=_chosen(_weights(description.districts, description.skew), district[:used]).astype(np.int32),
        kind=kind[:used].astype(np.int8),
        first=first,
        size=size,
    )
    return trips, steps


def _chosen(weights: Sequence[float] | Real, drawn: Real) -> Whole:
    """Numbers from 0, as often as their weights say, for draws that are uniform between 0 and 1."""
    borders = np.cumsum(weights)
    return np.searchsorted(borders / borders[-1], drawn, side="right")


def _weights(size: int, skew: float) -> Real:
    weights = 1.0 / np.arange(1, size + 1) ** skew
    return np.asarray(weights / weights.sum())


def _starts(description: RideSharing, hours_drawn: Real, seconds_drawn: Real) -> Whole:
    """Seconds after the start, more in the rush hours."""
    hours = int(np.ceil(description.hours))
    demand = np.resize(np.array(HOURLY_DEMAND, dtype=np.float64), hours)
    demand[-1] *= description.hours - (hours - 1)
    hour = _chosen(demand / demand.sum(), hours_drawn)
    length = np.where(hour == hours - 1, description.hours - (hours - 1), 1.0)
    return np.asarray(((hour + seconds_drawn * length) * 3600).astype(np.int64))


def _steps(events: int, legs: Whole, bursts: Whole) -> tuple[_Steps, Whole, Whole]:
    """The events of the trips, cut off after the wanted number; where each trip begins, and how many it has."""
    parts = legs + 1
    # Every part has two events or more.
    opening = np.cumsum(parts) - parts
    opening = opening[: np.searchsorted(opening, events // 2 + 1)]
    sizes = bursts[: events // 2 + 1] + 1
    opening = opening[: np.searchsorted(opening, len(sizes))]
    sizes[opening] = 2
    begins = np.cumsum(sizes) - sizes
    first = begins[opening]
    first = first[: np.searchsorted(first, events)]
    size = np.diff(first, append=events)
    used = len(first)
    return (
        _Steps(
            trip=np.repeat(np.arange(used, dtype=np.int32), size),
            type=_types(events, legs[:used], begins + sizes - 1, opening[:used], first),
            place=np.arange(events, dtype=np.int32) - np.repeat(first.astype(np.int32), size),
        ),
        first,
        size,
    )


def _types(events: int, legs: Whole, ends: Whole, opening: Whole, first: Whole) -> npt.NDArray[np.int8]:
    """Travel, but for the ends of parts and the beginnings of trips; the last trip is cut off."""
    types = np.full(events + 2, TRAVEL, np.int8)
    types[ends[ends < events]] = POOL
    last = ends[np.minimum(opening + legs, len(ends) - 1)]
    types[np.minimum(last, events)] = DROPOFF
    types[first] = REQUEST
    types[first + 1] = np.where(legs == 0, CANCEL, PICKUP)
    return types[:events]


def _waits(description: RideSharing, steps: _Steps, random: np.random.Generator) -> npt.NDArray[np.int16]:
    """Seconds since the trip's event before; 0 for its first event and for ties."""
    short, long = np.array([[0, 20, 60, 10, 20, 10], [1, 240, 480, 45, 60, 60]])
    waits = np.empty(len(steps.type), np.int16)
    for piece in pieces(len(waits)):
        waits[piece] = random.integers(short[steps.type[piece]], long[steps.type[piece]])
    waits[chance(description.tie_rate, len(waits), random)] = 0
    waits[steps.place == 0] = 0
    return waits


def _times(trips: _Trips, waits: npt.NDArray[np.int16]) -> Whole:
    """Seconds from the start of the stream, trip by trip."""
    times = np.cumsum(waits, dtype=np.int64)
    times += np.repeat(trips.start - times[trips.first], trips.size)
    return times


def _cents(
    trips: _Trips, steps: _Steps, waits: npt.NDArray[np.int16], random: np.random.Generator
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


def _tenths(steps: _Steps, random: np.random.Generator) -> npt.NDArray[np.int16]:
    """Speeds in tenths of km/h: a walk about 35 that is pulled back; 0 where the trip does not travel."""
    longest = int(steps.place.max(initial=0)) + 1
    waves = 35.0 + 12.0 * np.sin((np.arange(longest) * 0.9)[:, None] + np.arange(7))
    tenths = np.empty(len(steps.trip), np.int16)
    for piece in pieces(len(tenths)):
        wave = waves.ravel()[steps.place[piece] * 7 + steps.trip[piece] % 7]
        speed = np.clip(wave + random.normal(0.0, 7.0, len(wave)), 0.0, 90.0)
        tenths[piece] = np.rint(speed * 10) * (steps.type[piece] == TRAVEL)
    return tenths


def _lost(description: RideSharing, steps: _Steps, random: np.random.Generator) -> Truth:
    lost = chance(description.null_rate, len(steps.type), random)
    lost &= steps.type == TRAVEL
    return lost
