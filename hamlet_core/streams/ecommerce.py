"""The e-commerce stream: a description in, a table of purchases out (SHARON, section 8: synthetic data set).

An item is an event type. 50 items, 20 customers and 3,000 purchases a second are the paper's; prices, discounts and
the bursts are ours.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hamlet_core.streams.drawing import NAME_TYPE, TIME_TYPE, chance, named, skewed
from hamlet_core.streams.outline import Description, draw_outline, frame, type_names

SCHEMA = pa.schema(
    [
        ("time", TIME_TYPE),
        ("type", NAME_TYPE),
        ("customer", pa.int64()),
        ("price", pa.float64()),
        ("discount", pa.int64()),
        ("channel", NAME_TYPE),
    ]
)
"""customer: the group, from 1; price in cents' precision; discount: percent, uniform over 0 .. 99, NULL at `null_rate`."""

ITEMS = ("Laptop", "Phone", "Tablet", "Case", "Adapter", "Keyboard", "Mouse", "Monitor", "Headset", "Cable")
CHANNELS = ("Web", "App", "Shop")


@dataclass(frozen=True, slots=True)
class Ecommerce(Description):
    """What an e-commerce stream looks like; types are items, groups are customers."""

    rate: float = 180_000.0
    types: int = 50
    type_skew: float = 0.5
    burst_length: float = 10.0
    groups: int = 20


def generate(description: Ecommerce) -> pa.Table:
    """The events of a stream: exactly `description.events` rows of `SCHEMA`, sorted by time."""
    random = np.random.default_rng(description.seed)
    outline = draw_outline(description, random)
    count = description.events
    list_prices = random.integers(500, 200_000, description.types, dtype=np.int32)
    discount = random.integers(0, 100, count, dtype=np.int32)
    price = list_prices[outline.types] // 100 * (100 - discount)
    columns = [
        *frame(description, outline, item_names(description.types)),
        pa.array(skewed(description.groups, description.skew, count, random).astype(np.int64) + 1),
        pa.array(price / 100),
        pa.array(discount.astype(np.int64), mask=chance(description.null_rate, count, random)),
        named(skewed(len(CHANNELS), 0.7, count, random), CHANNELS),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def item_names(count: int) -> list[str]:
    """The names of the types, items."""
    return type_names(count, ITEMS, "Item")
