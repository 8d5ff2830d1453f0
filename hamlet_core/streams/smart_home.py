"""The smart-home stream: a description in, a table of readings out (DEBS grand challenge 2014, HAMLET section 6).

2,125 plugs in 40 houses and 20,000 readings a minute are the papers', as are the readings Load (watts now) and Work
(energy so far); that a plug also reports On and Off, and all distributions, are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hamlet_core.streams.drawing import NAME_TYPE, TIME_TYPE, chance, check, skewed
from hamlet_core.streams.outline import Description, draw_outline, frame, type_names

SCHEMA = pa.schema(
    [
        ("time", TIME_TYPE),
        ("type", NAME_TYPE),
        ("id", pa.int64()),
        ("value", pa.float64()),
        ("property", pa.int64()),
        ("plug", pa.int64()),
        ("household", pa.int64()),
        ("house", pa.int64()),
        ("room", NAME_TYPE),
    ]
)
"""value: uniform over 0.0, 0.1, ..., 99.9, NULL at `null_rate`; property: 1 for Load, else 0; house: the group, from 0.

Plugs are numbered over all houses.
"""

TYPES = ("Load", "Work", "On", "Off")
ROOMS = ("Kitchen", "Living room", "Bedroom", "Bathroom", "Office")


@dataclass(frozen=True, slots=True)
class SmartHome(Description):
    """What a smart-home stream looks like; types are kinds of readings, groups are houses."""

    rate: float = 20_000.0
    types: int = 4
    type_skew: float = 1.0
    burst_length: float = 30.0
    groups: int = 40
    plugs: int = 2_125

    def __post_init__(self) -> None:
        Description.__post_init__(self)
        check(f"a {self.name} stream", positive=(self.plugs,))


def generate(description: SmartHome) -> pa.Table:
    """The events of a stream: exactly `description.events` rows of `SCHEMA`, sorted by time."""
    random = np.random.default_rng(description.seed)
    outline = draw_outline(description, random)
    count, houses = description.events, description.groups
    house = skewed(houses, description.skew, count, random)
    # A house has every plug of its number modulo the houses.
    plug = house + houses * random.integers(0, max(description.plugs // houses, 1), count, dtype=np.int32)
    value = random.integers(0, 1_000, count, dtype=np.int32) / 10
    columns = [
        *frame(description, outline, reading_names(description.types)),
        pa.array(np.arange(count)),
        pa.array(value, mask=chance(description.null_rate, count, random)),
        pa.array((outline.types == 0).astype(np.int64)),
        pa.array(plug.astype(np.int64)),
        pa.array((plug // houses % 4).astype(np.int64)),
        pa.array(house.astype(np.int64)),
        pa.DictionaryArray.from_arrays(pa.array(plug % len(ROOMS)), pa.array(ROOMS)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def reading_names(count: int) -> list[str]:
    """The names of the types, kinds of readings."""
    return type_names(count, TYPES, "Reading")
