"""The clickstream of a web shop: a description in, a table of events out.

No paper has it; the grammar of a session (`sessions.py`), the shares of users that leave at each step, the hours of the day
and the latencies are ours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.streams.drawing import (
    NAME_TYPE,
    TIME_TYPE,
    Truth,
    Whole,
    chance,
    microseconds,
    named,
    pieces,
    time_order,
)
from hamlet_core.streams.outline import type_names
from hamlet_core.streams.sessions import (
    CAMPAIGNS,
    CART,
    CHECKOUT,
    DEVICES,
    ERROR,
    FAILED,
    PURCHASE,
    TYPES,
    VIEW,
    Clickstream,
    Sessions,
    Steps,
    Users,
    draw_sessions,
    draw_users,
)

SCHEMA = pa.schema(
    [
        ("time", TIME_TYPE),
        ("type", NAME_TYPE),
        ("user", pa.int64()),
        ("session", pa.int64()),
        ("country", NAME_TYPE),
        ("device", NAME_TYPE),
        ("campaign", NAME_TYPE),
        ("amount", pa.float64()),
        ("latency_ms", pa.int64()),
        ("status", pa.int64()),
    ]
)
"""user and session: from 1; a user has one country (the group) and one device, a session one campaign; amount: the price
of the item, uniform over 5.00 .. 204.99, or of all items in the cart from Checkout on, NULL for other types and, of View,
at `null_rate`; latency_ms: log-normal, and longer with each further failure; status: of HTTP."""

COUNTRIES = ("US", "DE", "FR", "GB", "JP", "BR", "IN", "PL")
BLOCK = 250_000
"""Events that are drawn at a time."""

# By type: seconds since the session's event before, from the one to the other, and the median latency.
_SHORTEST = np.array([1, 3, 5, 5, 10, 10, 10, 20, 1, 5, 5], np.int32) * 1_000
_LONGEST = np.array([2, 20, 60, 40, 60, 45, 45, 120, 15, 30, 60], np.int32) * 1_000
_LATENCY = np.array([120, 180, 80, 90, 150, 400, 500, 100, 3_000, 600, 50], np.float64)
_GROWTH = 1.5
"""How many times the latency of a failed payment is that of the one before in its session."""
_OK, _PAYMENT_REQUIRED, _SERVER_ERRORS = 200, 402, (500, 502, 503, 504)


def generate(description: Clickstream) -> pa.Table:
    """The events of a stream: exactly `description.events` rows of `SCHEMA`, sorted by time.

    A large stream is drawn in blocks that fit a processor's cache, each with its share of the time.
    """
    users = draw_users(description)
    count = max(-(-description.events // BLOCK), 1)
    blocks = []
    begun = 0
    for number in range(count):
        blocks.append(_block(description, users, begun, (number, count)))
        begun = int(blocks[-1]["session"].max(initial=0))

    def column(name: str) -> Any:
        """All of a column, which its blocks then no longer hold."""
        return np.concatenate([block.pop(name) for block in blocks])

    times, order = time_order(column("time"))
    user = column("user")[order]
    columns = [
        microseconds(times, 1_000, description.start),
        named(column("type")[order], TYPES),
        pa.array(user.astype(np.int64) + 1),
        pa.array(column("session")[order].astype(np.int64)),
        named(users.country[user], type_names(description.countries, COUNTRIES, "Country")),
        named(users.device[user], DEVICES),
        named(column("campaign")[order], CAMPAIGNS),
        pa.array(column("cents")[order] / 100, mask=column("no_amount")[order]),
        pa.array(column("latency")[order].astype(np.int64)),
        pa.array(column("status")[order].astype(np.int64)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _block(
    whole: Clickstream, users: Users, begun: int, share: tuple[int, int]
) -> dict[str, npt.NDArray[Any]]:
    """Columns of one of the blocks, session by session: sessions that start in its share of the time."""
    number, of = share
    random = np.random.default_rng(whole.seed if of == 1 else [whole.seed, number])
    description = replace(whole, events=min(whole.events - number * BLOCK, BLOCK))
    sessions, steps = draw_sessions(description, users, share, random)
    cents = _cents(sessions, steps, random)
    return {
        "time": _times(description, sessions, steps, random),
        "type": steps.type,
        "user": sessions.user[steps.session],
        "session": steps.session + np.int32(begun + 1),
        "campaign": sessions.campaign[steps.session].astype(np.int8),
        "cents": cents,
        "no_amount": (cents == 0) | _lost(description, steps, random),
        "latency": _latencies(sessions, steps, random),
        "status": _statuses(steps, random),
    }


def _times(description: Clickstream, sessions: Sessions, steps: Steps, random: np.random.Generator) -> Whole:
    """Milliseconds from the start of the stream, session by session."""
    waits = np.empty(len(steps.type), np.int64)
    for piece in pieces(len(waits)):
        waits[piece] = random.integers(_SHORTEST[steps.type[piece]], _LONGEST[steps.type[piece]])
    waits[chance(description.tie_rate, len(waits), random)] = 0
    times = np.cumsum(waits)
    begin = sessions.start * 1_000 + random.integers(0, 1_000, len(sessions.start))
    times += np.repeat(begin - times[sessions.first], sessions.size)
    return times


def _cents(sessions: Sessions, steps: Steps, random: np.random.Generator) -> npt.NDArray[np.int32]:
    """The price of what is viewed or put into the cart, or all of the cart; 0 where there is no amount."""
    cents = random.integers(500, 20_500, len(steps.type), dtype=np.int32)
    carts = np.cumsum(np.where(steps.type == CART, cents, 0), dtype=np.int64)
    carts -= np.repeat(carts[sessions.first], sessions.size)
    total = np.isin(steps.type, (CHECKOUT, FAILED, PURCHASE))
    cents[total] = carts[total]
    cents[~total & (steps.type != VIEW) & (steps.type != CART)] = 0
    return cents


def _lost(description: Clickstream, steps: Steps, random: np.random.Generator) -> Truth:
    lost = chance(description.null_rate, len(steps.type), random)
    lost &= steps.type == VIEW
    return lost


def _latencies(sessions: Sessions, steps: Steps, random: np.random.Generator) -> npt.NDArray[np.int32]:
    """Milliseconds, 1 or more; each further failure of a session takes longer."""
    failed = steps.type == FAILED
    failures = np.cumsum(failed, dtype=np.int32)
    failures -= np.repeat(failures[sessions.first], sessions.size)
    latencies = np.empty(len(steps.type), np.int32)
    for piece in pieces(len(latencies)):
        median = _LATENCY[steps.type[piece]] * _GROWTH ** np.where(
            failed[piece], np.minimum(failures[piece], 20) - 1, 0
        )
        latencies[piece] = np.maximum(median * np.exp(random.normal(0.0, 0.3, len(median))), 1)
    return latencies


def _statuses(steps: Steps, random: np.random.Generator) -> npt.NDArray[np.int16]:
    statuses = np.full(len(steps.type), _OK, np.int16)
    statuses[steps.type == FAILED] = _PAYMENT_REQUIRED
    errors = steps.type == ERROR
    statuses[errors] = np.array(_SERVER_ERRORS, np.int16)[random.integers(0, 4, int(errors.sum()))]
    return statuses
