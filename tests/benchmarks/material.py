"""The streams and workloads that are measured: W50 and its stream, and what is made of them.

That is a tie, a NULL and a non-matching event in each burst; queries of five NEXT conditions and three windows; and
values in phases, in which queries agree on every event and then on few. And the clicks of users in a shop.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from hamlet_core.streams.bursty import Bursty, generate
from hamlet_core.streams.w50 import w50
from tests.benchmarks.funnels import DAY

__all__ = ["clicks", "disturbed", "guarded", "in_phases", "of_five_classes", "stream", "w50"]

EVENTS = 2_000_000
WITHIN = 10_000
TOO_LARGE = 1_000
"""A value of `v` for which `v < 100` is false."""
FIVE = ("b.x < NEXT(b).x", "b.x > NEXT(b).x", "b.v < NEXT(b).v", "b.v >= NEXT(b).v", "b.x <= NEXT(b).x")
"""Conditions between successive events, no two of which two queries can share."""
STAY = 0.02
"""Of the v at the end of a calm phase: sharing is worth about nothing there."""
LEAST = 10
"""`b.v < 10` is the narrowest condition of `w50(local=True)`."""

CLICKS = {
    "View": 0.4,
    "Search": 0.2,
    "Cart": 0.12,
    "Checkout": 0.06,
    "Login": 0.06,
    "Purchase": 0.04,
    "Wishlist": 0.04,
    "Review": 0.03,
    "Share": 0.03,
    "Help": 0.02,
}
"""Types of clicks, and how often they are."""
DEVICES = ["phone", "tablet", "desktop"]


def stream(events: int = EVENTS, *, seed: int = 7, **knobs: Any) -> pa.Table:
    """The bursty stream: no ties, no NULLs, unless `knobs` of `Bursty` say so."""
    return generate(Bursty(events=events, seed=seed, **knobs))


def guarded(text: str) -> str:
    """The same queries where each event must have `v < 100`, which every v of the stream fulfils."""
    lines = []
    for line in text.splitlines():
        aliases = ["p", "b", *(["s"] if ", S" in line else [])]
        condition = " AND ".join(f"{alias}.v < 100" for alias in aliases)
        lines.append(line.replace(" WITHIN", f" WHERE {condition} WITHIN"))
    return "\n".join(lines)


def disturbed(table: pa.Table, *, seed: int = 7) -> pa.Table:
    """The same stream where each burst of 3 or more has an event that ties with the one before, one whose v is NULL
    and one whose v is too large. Types and bursts stay, times move up by the ties.
    """
    codes = table["type"].combine_chunks().indices.to_numpy()
    first = np.flatnonzero(np.diff(codes, prepend=-1))
    length = np.diff(first, append=len(codes))
    first, length = first[length >= 3], length[length >= 3]
    offset = np.random.default_rng(seed).integers(0, length)
    tied = np.zeros(len(codes), bool)
    tied[first + np.maximum(offset, 1)] = True
    lost = np.zeros(len(codes), bool)
    lost[first + (offset + length // 3) % length] = True
    v = table["v"].combine_chunks().to_numpy().copy()
    v[first + (offset + 2 * (length // 3)) % length] = TOO_LARGE
    times = table["time"].combine_chunks().to_numpy()
    changed = {"time": pa.array(times - np.cumsum(tied)), "v": pa.array(v, mask=lost)}
    for name, column in changed.items():
        table = table.set_column(table.schema.get_field_index(name), name, column)
    return table


def of_five_classes(text: str, within: int) -> str:
    """The queries of `w50(adjacent=True)`, each with the next of the conditions `FIVE`; five queries each have windows of
    `within` seconds, of a half, of a quarter, and again.

    >>> print(of_five_classes(w50(queries=12, types=1, within=20, adjacent=True), 20).splitlines()[6])
    q7: RETURN COUNT(*) PATTERN SEQ(P0 p, B b+) WHERE b.x > NEXT(b).x WITHIN 10 s
    """
    lines = []
    for query, line in enumerate(text.splitlines()):
        head = line[: line.index(" WHERE ")]
        window = within >> query // len(FIVE) % 3
        lines.append(f"{head} WHERE {FIVE[query % len(FIVE)]} WITHIN {window} s")
    return "\n".join(lines)


def in_phases(table: pa.Table, ticks: int, *, seed: int = 7) -> pa.Table:
    """The same stream where the v are below `LEAST` in every other phase of so many ticks, the first one included.

    All queries of `w50(local=True)` match every B of such a calm phase; in the other phases they disagree on most.
    The change is announced: in the second half of a calm phase ever more of the v stay as they are, in the end `STAY`.
    """
    time, v = table["time"].to_numpy(), table["v"].to_numpy()
    late = np.maximum(time % ticks / ticks - 0.5, 0.0) * 2
    stay = np.random.default_rng(seed).random(len(v)) < STAY * late
    values = pa.array(np.where((time // ticks % 2 == 0) & ~stay, v % LEAST, v))
    return table.set_column(table.schema.get_field_index("v"), "v", values)


def clicks(events: int, users: int, *, seed: int = 7) -> pa.Table:
    """A day of clicks of many users, in order of time: `time`, `type`, `user`, `product`, `price` and `device`.

    Times are whole milliseconds, no two of them equal; types and users are drawn for each event alone.
    """
    random = np.random.default_rng(seed)
    time = np.sort(random.integers(0, 86_400_000 - events, events)) + np.arange(events)
    drawn = random.choice(len(CLICKS), events, p=[*CLICKS.values()]).astype(np.int32)
    device = random.integers(0, len(DEVICES), events, dtype=np.int32)
    names = ((drawn, [*CLICKS]), (device, DEVICES))
    kind, device = (pa.DictionaryArray.from_arrays(one, known).cast(pa.string()) for one, known in names)
    return pa.table(
        {
            "time": pa.array((DAY * 1_000 + time) * 1_000).cast(pa.timestamp("us", "UTC")),
            "type": kind,
            "user": random.integers(0, users, events),
            "product": random.integers(0, 10_000, events),
            "price": random.integers(1, 50_000, events),
            "device": device,
        }
    )
