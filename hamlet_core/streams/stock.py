"""The stock stream: a description in, a table of ticks out (HAMLET, section 6: stock data set of eoddata.com).

A company is an event type. 220 companies, 4,500 ticks a minute and bursts of about 120 are the papers'; that a price
walks at random within a burst, and the distribution of volumes and levels, are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hamlet_core.streams.drawing import NAME_TYPE, TIME_TYPE, Codes, chance, skewed
from hamlet_core.streams.outline import Description, Outline, draw_outline, frame

SCHEMA = pa.schema(
    [
        ("time", TIME_TYPE),
        ("type", NAME_TYPE),
        ("open", pa.float64()),
        ("high", pa.float64()),
        ("low", pa.float64()),
        ("close", pa.float64()),
        ("vol", pa.int64()),
        ("open_level", pa.int64()),
    ]
)
"""Prices in cents' precision; vol: uniform over 0 .. 199, NULL at `null_rate`; open_level: the group, from 0."""


@dataclass(frozen=True, slots=True)
class Stock(Description):
    """What a stock stream looks like; types are companies, the frequent ones first; groups are opening levels."""

    rate: float = 4_500.0
    types: int = 220
    type_skew: float = 1.0
    burst_length: float = 120.0
    groups: int = 5


def generate(description: Stock) -> pa.Table:
    """The events of a stream: exactly `description.events` rows of `SCHEMA`, sorted by time."""
    random = np.random.default_rng(description.seed)
    outline = draw_outline(description, random)
    count = description.events
    close, open_ = _prices(outline, description.types, random)
    spread = random.integers(0, 16, count, dtype=np.int32)
    high = np.maximum(open_, close) + (spread >> 2)
    low = np.minimum(open_, close) - (spread & 3)
    columns = [
        *frame(description, outline, companies(description.types)),
        *(pa.array(cents / 100) for cents in (open_, high, low, close)),
        pa.array(random.integers(0, 200, count), mask=chance(description.null_rate, count, random)),
        pa.array(skewed(description.groups, description.skew, count, random).astype(np.int64)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def companies(count: int) -> list[str]:
    """The names of the types, the frequent ones first."""
    return [f"C{number:03}" for number in range(count)]


def _prices(outline: Outline, types: int, random: np.random.Generator) -> tuple[Codes, Codes]:
    """Closing and opening prices in cents: each burst walks from its company's price on."""
    steps = random.integers(-5, 6, len(outline.types), dtype=np.int32)
    walk = np.cumsum(steps, dtype=np.int32)
    first = np.cumsum(outline.lengths) - outline.lengths
    base = random.integers(10_000, 100_000, types, dtype=np.int32)
    walk += np.repeat(base[outline.types[first]] - walk[first], outline.lengths)
    floored = np.maximum(walk, 100)
    return floored, np.maximum(walk - steps, 100)
