"""The benchmark stream: a description in, a table of events out; bursts of B, and bursts of P0, P1, ..., S0, S1, ... between.

Times are ticks from 0, one event a tick unless it ties with the one before. `v` is uniform over 0 .. 99, so that
`b.v < k` holds for k percent of the events; `x` is uniform over all 64-bit integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hamlet_core.streams.drawing import (
    NAME_TYPE,
    Truth,
    Whole,
    burst_lengths,
    chance,
    check,
    named,
    running_ticks,
    skewed,
)

SCHEMA = pa.schema(
    [("time", pa.int64()), ("type", NAME_TYPE), ("key", pa.int64()), ("v", pa.int64()), ("x", pa.int64())]
)


@dataclass(frozen=True, slots=True)
class Bursty:
    """What a bursty stream looks like; equal descriptions give equal streams."""

    events: int = 200_000
    seed: int = 7
    types: int = 10
    """As many types P, and as many S; with B and, inside bursts, the foreign type F."""
    burst_length: float = 120.0
    """Mean length of a burst."""
    fixed_bursts: bool = False
    """Whether all bursts have that length; else it is geometric."""
    tie_rate: float = 0.0
    """Events that have the very time of the event before."""
    null_rate: float = 0.0
    """Events without `v`."""
    foreign_rate: float = 0.0
    """Events of the type F, of which no query knows, in the place of one of the burst."""
    disturbed: bool = False
    """Whether each burst of 3 events or more has a tie, a NULL and a foreign event, beside those of the rates."""
    groups: int = 1
    """Number of keys."""
    skew: float = 0.0
    """Keys are drawn with weight 1 / rank^skew."""
    bursts_per_key: int = 1
    """Successive bursts that have one key; 0: each event draws its own."""
    active: int = 0
    """With `bursts_per_key` 0: keys that events draw from at a time, one set after the other till each had its turn;
    0: all of them. The bursts of a time are then bursts of each of its keys."""

    def __post_init__(self) -> None:
        check(
            "a bursty stream",
            not_negative=(self.events, self.seed, self.skew, self.bursts_per_key, self.active),
            positive=(self.types, self.groups),
            rates=(self.tie_rate, self.null_rate, self.foreign_rate),
            lengths=(self.burst_length,),
        )


def generate(description: Bursty) -> pa.Table:
    """The events of a stream: exactly `description.events` rows of `SCHEMA`, sorted by time."""
    random = np.random.default_rng(description.seed)
    count, types = description.events, description.types
    lengths = burst_lengths(count, description.burst_length, random, fixed=description.fixed_bursts)
    # Types stand in the order P0.., S0.., B, F; a burst of B follows each of the others.
    burst_types = random.integers(0, 2 * types, len(lengths), dtype=np.int32)
    burst_types[1::2] = 2 * types
    code = np.repeat(burst_types, lengths)
    key = _keys(description, lengths, random)
    tied, lost, foreign = (
        chance(rate, count, random)
        for rate in (description.tie_rate, description.null_rate, description.foreign_rate)
    )
    if description.disturbed:
        _disturb(lengths, tied, lost, foreign, random)
    code[foreign] = 2 * types + 1
    names = [*(f"P{i}" for i in range(types)), *(f"S{i}" for i in range(types)), "B", "F"]
    value = random.integers(0, 100, count, dtype=np.uint8).astype(np.int64)
    bounds = np.iinfo(np.int64)
    columns = [
        pa.array(running_ticks(tied)),
        named(code, names),
        pa.array(key),
        pa.array(value, mask=lost if lost.any() else None),
        pa.array(random.integers(bounds.min, bounds.max, count, endpoint=True)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _keys(description: Bursty, lengths: Whole, random: np.random.Generator) -> Whole:
    if description.bursts_per_key == 0:
        active = min(description.active or description.groups, description.groups)
        key = skewed(active, description.skew, description.events, random).astype(np.int64)
        sets = -(-description.groups // active)
        key += np.arange(description.events) * sets // max(description.events, 1) * active
        return np.minimum(key, description.groups - 1, out=key)
    stretches = len(lengths) // description.bursts_per_key + 1
    drawn = skewed(description.groups, description.skew, stretches, random).astype(np.int64)
    return np.repeat(np.repeat(drawn, description.bursts_per_key)[: len(lengths)], lengths)


def _disturb(lengths: Whole, tied: Truth, lost: Truth, foreign: Truth, random: np.random.Generator) -> None:
    """Mark an event of each burst as tied, another as lost, a third as foreign."""
    long = lengths >= 3
    first, length = (np.cumsum(lengths) - lengths)[long], lengths[long]
    offset = random.integers(0, length)
    # The first event of a burst would tie with another burst.
    tied[first + np.maximum(offset, 1)] = True
    lost[first + (offset + length // 3) % length] = True
    foreign[first + (offset + 2 * (length // 3)) % length] = True
