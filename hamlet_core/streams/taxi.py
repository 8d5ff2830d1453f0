"""The taxi stream: a description in, a table of trips out (records of the New York taxi commission; HAMLET, GLORIA).

A pickup zone is an event type (GLORIA: 217), and 200 trips come a minute (HAMLET); the distributions are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hamlet_core.streams.drawing import NAME_TYPE, TIME_TYPE, chance, microseconds, named, skewed
from hamlet_core.streams.outline import Description, draw_outline, frame

SCHEMA = pa.schema(
    [
        ("time", TIME_TYPE),
        ("type", NAME_TYPE),
        ("dropoff_time", TIME_TYPE),
        ("vendor", pa.int64()),
        ("passengers", pa.int64()),
        ("minutes", pa.int64()),
        ("distance", pa.float64()),
        ("dropoff_zone", NAME_TYPE),
        ("payment", NAME_TYPE),
        ("fare", pa.float64()),
        ("tip", pa.float64()),
        ("tolls", pa.float64()),
        ("total", pa.float64()),
    ]
)
"""time: of the pickup; vendor: the group, from 1; minutes: how long the trip takes, uniform over 1 .. 100; distance
in miles, NULL at `null_rate`; the amounts in cents' precision."""

PAYMENTS = ("Card", "Cash", "Free", "Disputed")


@dataclass(frozen=True, slots=True)
class Taxi(Description):
    """What a taxi stream looks like; types are pickup zones, groups are vendors."""

    rate: float = 200.0
    types: int = 217
    type_skew: float = 0.7
    burst_length: float = 5.0
    groups: int = 4


def generate(description: Taxi) -> pa.Table:
    """The events of a stream: exactly `description.events` rows of `SCHEMA`, sorted by time."""
    random = np.random.default_rng(description.seed)
    outline = draw_outline(description, random)
    count = description.events
    names = zones(description.types)
    minutes = random.integers(1, 101, count, dtype=np.int32)
    tenths = minutes * random.integers(1, 5, count, dtype=np.int32)
    fare = 250 + 50 * minutes + 10 * tenths
    card = skewed(len(PAYMENTS), 1.5, count, random)
    tip = np.where(card == 0, fare // 5, 0)
    toll = np.where(random.integers(0, 16, count, dtype=np.int32) == 0, 655, 0)
    columns = [
        *frame(description, outline, names),
        microseconds(outline.times + minutes.astype(np.int64) * 60_000_000, 1, description.start),
        pa.array(skewed(description.groups, description.skew, count, random).astype(np.int64) + 1),
        pa.array(random.integers(1, 7, count)),
        pa.array(minutes.astype(np.int64)),
        pa.array(tenths / 10, mask=chance(description.null_rate, count, random)),
        named(skewed(description.types, description.type_skew, count, random), names),
        named(card, PAYMENTS),
        *(pa.array(cents / 100) for cents in (fare, tip, toll, fare + tip + toll)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def zones(count: int) -> list[str]:
    """The names of the types, the frequent ones first."""
    return [f"Z{zone:03}" for zone in range(1, count + 1)]
