"""Trips of the ride-sharing stream: a description in, trips and their steps out, as columns in no order of time.

A trip is one driver with one rider: Request, then Cancel, or Pickup and one leg or several. A leg is a burst of
Travel events; a Pool event (a passenger joins) ends each leg but the last, a Dropoff the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt

from hamlet_core.errors import StreamError
from hamlet_core.streams.drawing import Codes, Whole, check, chosen, daily_times, rank_shares

TYPES = ("Request", "Cancel", "Pickup", "Travel", "Pool", "Dropoff")
REQUEST, CANCEL, PICKUP, TRAVEL, POOL, DROPOFF = range(len(TYPES))
KINDS = ("Economy", "Pool", "Premium")
KIND_SHARES = (0.5, 0.35, 0.15)
HOURLY_DEMAND = (2, 1, 1, 1, 2, 4, 7, 11, 12, 8, 6, 6, 7, 7, 6, 7, 9, 12, 13, 10, 8, 6, 5, 3)
"""Trips that start in each hour of a day, relative to one another."""

MOST_HOURS = 1_000_000


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
        if self.hours > MOST_HOURS:
            raise StreamError(f"a ride-sharing stream lasts {MOST_HOURS:,} hours at most", code="E290")


@dataclass(frozen=True, slots=True)
class Trips:
    """Columns of trips, in no order of time; a trip's events stand in a row, from `first` on."""

    start: Whole
    driver: Codes
    rider: Whole
    district: Codes
    kind: npt.NDArray[np.int8]
    first: Whole
    size: Whole


@dataclass(frozen=True, slots=True)
class Steps:
    """Columns of events, trip by trip."""

    trip: Codes
    type: npt.NDArray[np.int8]
    place: Codes
    """Place of the event in its trip, from 0."""


def mean_size(description: RideSharing) -> float:
    """Events of a trip, on average."""
    rest = 1 - 1 / description.burst_length
    leg = 1 + description.burst_length * (1 - rest**description.longest_burst)
    legs = 1 + KIND_SHARES[KINDS.index("Pool")] * (description.legs - 1) / 2
    return 2 + (1 - description.cancel_rate) * legs * leg


def draw_trips(
    description: RideSharing, count: int, share: tuple[int, int], random: np.random.Generator
) -> tuple[Trips, Steps]:
    """As many of `count` trips as the wanted number of events needs."""
    kind = chosen(KIND_SHARES, random.random(count))
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
    trips = Trips(
        start=daily_times(HOURLY_DEMAND, description.hours, hour, start[1][:used]),
        driver=chosen(rank_shares(description.drivers, description.skew / 4), driver[:used]).astype(np.int32)
        + 1,
        rider=rider[:used],
        district=chosen(rank_shares(description.districts, description.skew), district[:used]).astype(
            np.int32
        ),
        kind=kind[:used].astype(np.int8),
        first=first,
        size=size,
    )
    return trips, steps


def _steps(events: int, legs: Whole, bursts: Whole) -> tuple[Steps, Whole, Whole]:
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
        Steps(
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
