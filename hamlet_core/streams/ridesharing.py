"""The ride-sharing stream: a description in, a table of events out (HAMLET, section 6: synthetic data set).

A trip is one driver with one rider: Request, then Cancel, or Pickup and one leg or several. A leg is a burst of
Travel events; a Pool event (a passenger joins) ends each leg but the last, a Dropoff the last. The paper gives the
attributes and the rate; the grammar of a trip, the rush hours and the skew are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.errors import StreamError

SCHEMA = pa.schema(
    [
        ("time", pa.timestamp("us", "UTC")),
        ("type", pa.string()),
        ("driver", pa.int64()),
        ("rider", pa.int64()),
        ("district", pa.string()),
        ("kind", pa.string()),
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

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]


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
        rates = (self.cancel_rate, self.tie_rate, self.crossing_rate, self.null_rate)
        least_one = (
            self.drivers,
            self.riders,
            self.districts,
            self.burst_length,
            self.longest_burst,
            self.legs,
        )
        if self.events < 0 or self.hours <= 0 or self.skew < 0 or min(least_one) < 1:
            raise StreamError("a ride-sharing stream needs positive numbers", code="E290")
        if not all(0 <= rate <= 1 for rate in rates):
            raise StreamError("rates of a ride-sharing stream lie between 0 and 1", code="E290")


@dataclass(frozen=True, slots=True)
class _Trips:
    """Columns of trips, in no order of time."""

    start: Whole
    driver: Whole
    rider: Whole
    district: Whole
    kind: Whole
    legs: Whole
    """0 if the trip is cancelled."""


@dataclass(frozen=True, slots=True)
class _Steps:
    """Columns of events, trip by trip."""

    trip: Whole
    type: Whole
    place: Whole
    """Place of the event in its trip, from 0."""


def generate(description: RideSharing) -> pa.Table:
    """The events of a stream: exactly `description.events` rows of `SCHEMA`, sorted by time."""
    random = np.random.default_rng(description.seed)
    trips = _trips(description, random)
    steps = _steps(description, trips, random)
    waits = _waits(description, steps, random)
    time = trips.start[steps.trip] + _running(waits.astype(np.float64), steps).astype(np.int64)
    order = np.argsort(time, kind="stable")
    kind = trips.kind[steps.trip]
    district = _district(description, trips, steps, random)
    travel = steps.type == TRAVEL
    start = description.start if description.start.tzinfo else description.start.replace(tzinfo=UTC)
    origin = int(start.timestamp()) * 1_000_000
    names = tuple(
        DISTRICTS[i] if i < len(DISTRICTS) else f"District {i + 1}" for i in range(description.districts)
    )
    price = _price(kind, waits, steps, random)
    speed = np.where(travel, _speed(steps, random), 0.0)
    columns = [
        pa.array(origin + time[order] * 1_000_000).cast(SCHEMA.field("time").type),
        _names(TYPES, steps.type[order]),
        pa.array(trips.driver[steps.trip][order]),
        pa.array(trips.rider[steps.trip][order]),
        _names(names, district[order]),
        _names(KINDS, kind[order]),
        pa.array(waits[order]),
        pa.array(price[order], mask=_lost(description, travel, random)[order]),
        pa.array(speed[order], mask=_lost(description, travel, random)[order]),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _trips(description: RideSharing, random: np.random.Generator) -> _Trips:
    """More trips than needed: a trip has two events at least."""
    count = description.events // 2 + 1
    kind = random.choice(len(KINDS), count, p=KIND_SHARES)
    legs = np.where(kind == KINDS.index("Pool"), random.integers(1, description.legs + 1, count), 1)
    return _Trips(
        start=_starts(description, count, random),
        driver=_skewed(description.drivers, description.skew / 4, count, random) + 1,
        rider=random.integers(1, description.riders + 1, count),
        district=_skewed(description.districts, description.skew, count, random),
        kind=kind,
        legs=np.where(random.random(count) < description.cancel_rate, 0, legs),
    )


def _starts(description: RideSharing, count: int, random: np.random.Generator) -> Whole:
    """Seconds after the start, more in the rush hours."""
    hours = int(np.ceil(description.hours))
    demand = np.resize(np.array(HOURLY_DEMAND, dtype=np.float64), hours)
    demand[-1] *= description.hours - (hours - 1)
    hour = random.choice(hours, count, p=demand / demand.sum())
    length = np.where(hour == hours - 1, description.hours - (hours - 1), 1.0)
    return ((hour + random.random(count) * length) * 3600).astype(np.int64)


def _skewed(size: int, skew: float, count: int, random: np.random.Generator) -> Whole:
    weights = 1.0 / np.arange(1, size + 1) ** skew
    return random.choice(size, count, p=weights / weights.sum())


def _steps(description: RideSharing, trips: _Trips, random: np.random.Generator) -> _Steps:
    """The events of the trips, cut off after the wanted number."""
    # Part 0 of a trip is Request and Pickup (or Cancel); each leg is another part.
    parts = trips.legs + 1
    trip_of = np.repeat(np.arange(len(parts)), parts)
    part = _places(parts)
    bursts = np.minimum(random.geometric(1 / description.burst_length, len(part)), description.longest_burst)
    sizes = np.where(part == 0, 2, bursts + 1)
    part_of = np.repeat(np.arange(len(sizes)), sizes)[: description.events]
    ends = _places(sizes)[: description.events] == sizes[part_of] - 1
    trip = trip_of[part_of]
    first_part, last_part = part[part_of] == 0, part[part_of] == trips.legs[trip]
    opening = np.where(ends, np.where(trips.legs[trip] == 0, CANCEL, PICKUP), REQUEST)
    leg = np.where(ends, np.where(last_part, DROPOFF, POOL), TRAVEL)
    firsts = np.flatnonzero(np.diff(trip, prepend=-1))
    place = _places(np.diff(np.append(firsts, len(trip))))
    return _Steps(trip, np.where(first_part, opening, leg), place)


def _places(sizes: Whole) -> Whole:
    """0 .. size-1 for each size, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - sizes, sizes)


def _waits(description: RideSharing, steps: _Steps, random: np.random.Generator) -> Whole:
    """Seconds since the trip's event before; 0 for its first event and for ties."""
    short, long = np.array([[0, 20, 60, 10, 20, 10], [1, 240, 480, 45, 60, 60]])
    waits = random.integers(short[steps.type], long[steps.type])
    tied = random.random(len(waits)) < description.tie_rate
    return np.where((steps.place == 0) | tied, 0, waits)


def _running(amounts: Real, steps: _Steps) -> Real:
    """Running totals that begin anew with each trip."""
    totals = np.cumsum(amounts)
    firsts = np.flatnonzero(steps.place == 0)
    sizes = np.diff(np.append(firsts, len(totals)))
    before: Real = np.repeat(totals[firsts] - amounts[firsts], sizes)
    return np.asarray(totals - before, dtype=np.float64)


def _district(description: RideSharing, trips: _Trips, steps: _Steps, random: np.random.Generator) -> Whole:
    """The trip's district; a crossing trip goes on to the next district from some event on."""
    crossing = random.random(len(trips.legs)) < description.crossing_rate
    border = random.integers(3, 8, len(trips.legs))
    moved = crossing[steps.trip] & (steps.place >= border[steps.trip])
    return (trips.district[steps.trip] + moved) % description.districts


def _price(kind: Whole, waits: Whole, steps: _Steps, random: np.random.Generator) -> Real:
    """A base fare, and so much a second."""
    base = 2.5 + np.round(random.random(int(steps.trip[-1]) + 1 if len(steps.trip) else 0) * 2, 2)
    fare = _running(np.where(steps.type >= TRAVEL, waits * np.array(KIND_FARES)[kind], 0.0), steps)
    return np.asarray(np.round(base[steps.trip] + fare, 2), dtype=np.float64)


def _speed(steps: _Steps, random: np.random.Generator) -> Real:
    """A walk about 35 km/h that is pulled back, one decimal."""
    noise = random.normal(0.0, 7.0, len(steps.trip))
    wave = 12.0 * np.sin(steps.place * 0.9 + steps.trip % 7)
    return np.asarray(np.round(np.clip(35.0 + wave + noise, 0.0, 90.0), 1), dtype=np.float64)


def _lost(
    description: RideSharing, travel: npt.NDArray[np.bool_], random: np.random.Generator
) -> npt.NDArray[np.bool_]:
    return travel & (random.random(len(travel)) < description.null_rate)


def _names(names: tuple[str, ...], codes: Whole) -> pa.Array:
    return pa.DictionaryArray.from_arrays(
        pa.array(codes.astype(np.int32)), pa.array(names)
    ).dictionary_decode()
