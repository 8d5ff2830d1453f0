"""Seeded draws that the streams are made of, each of a whole column at once: bursts, ties, skewed groups, late rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hamlet_core.errors import StreamError

Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]
Truth = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]

TIME_TYPE = pa.timestamp("us", "UTC")
NAME_TYPE = pa.dictionary(pa.int32(), pa.string())
"""Columns of names: each text once, a number per event."""

_MOST = 2**31 - 1
_PIECE = 1 << 15
_TABLE = 1 << 16
"""Entries of the table by which skewed groups are drawn: shares are multiples of 1/65,536."""


def check(
    name: str,
    *,
    not_negative: Sequence[float] = (),
    positive: Sequence[float] = (),
    rates: Sequence[float] = (),
    lengths: Sequence[float] = (),
) -> None:
    """Raise `StreamError` E290 unless these are 0 or more, these above 0, these between 0 and 1, these 1 or more.

    What is positive, or a length, fits 31 bits, as the numbers of types and groups do.
    """
    if not all(0 <= number < np.inf for number in not_negative):
        raise StreamError(f"{name} has no negative numbers", code="E290")
    if not all(0 < number < _MOST for number in positive):
        raise StreamError(f"{name} needs positive numbers below {_MOST:,}", code="E290")
    if not all(0 <= rate <= 1 for rate in rates):
        raise StreamError(f"rates of {name} lie between 0 and 1", code="E290")
    if not all(1 <= length < _MOST for length in lengths):
        raise StreamError(f"lengths of {name} are 1 or more, and below {_MOST:,}", code="E290")


def burst_lengths(events: int, mean: float, random: np.random.Generator, *, fixed: bool = False) -> Whole:
    """Lengths of bursts that hold `events` events together, the last one cut off: geometric, or all as the mean."""
    if fixed:
        lengths = np.full(-(-events // round(mean)), round(mean))
    else:
        lengths = np.empty(0, np.int64)
        while (missing := events - int(lengths.sum())) > 0:
            drawn = random.geometric(1 / mean, int(missing / mean * 1.05) + 8)
            lengths = np.concatenate([lengths, np.minimum(drawn, events)])
    ends = np.minimum(np.cumsum(lengths), events)
    return np.asarray(np.diff(ends[: np.searchsorted(ends, events) + 1], prepend=0), np.int64)


def pieces(count: int) -> Iterator[slice]:
    """Slices of a column that fit a processor's cache, one after the other; draws by pieces are those of the whole."""
    for first in range(0, count, _PIECE):
        yield slice(first, min(first + _PIECE, count))


def chance(rate: float, count: int, random: np.random.Generator) -> Truth:
    """True for the fraction `rate` of `count` events."""
    hits = np.empty(count, np.bool_)
    for piece in pieces(count):
        np.less(random.random(piece.stop - piece.start), rate, out=hits[piece])
    return hits


def running_ticks(tied: Truth) -> Whole:
    """Times from 0, a tick from event to event, none where an event ties with the one before."""
    steps = ~tied
    steps[:1] = False
    return np.cumsum(steps, dtype=np.int64)


def spread_times(events: int, per_second: float, tie_rate: float, random: np.random.Generator) -> Whole:
    """Sorted microseconds from 0 at a mean rate; gaps are uniform from nothing to twice the mean.

    A tie has the very time of the event before; the other gaps are the longer, so that the rate stays.
    """
    longest = max(int(2e6 / per_second / max(1 - tie_rate, 1e-3)), 1)
    gaps = random.integers(1, longest + 1, events, dtype=np.uint32 if longest < 2**32 - 1 else np.uint64)
    gaps[:1] = 0
    gaps[chance(tie_rate, events, random)] = 0
    return np.cumsum(gaps, dtype=np.int64)


def skewed(size: int, skew: float, count: int, random: np.random.Generator) -> Codes:
    """Group numbers from 0, drawn with weight 1 / rank^skew; 0 draws them evenly."""
    if skew <= 0:
        return random.integers(0, size, count, dtype=np.int32)
    weights = rank_weights(size, skew)
    borders = np.cumsum(weights) / weights.sum()
    if size > _TABLE // 16:
        return np.searchsorted(borders[:-1], random.random(count), side="right").astype(np.int32)
    table = np.searchsorted(borders[:-1], (np.arange(_TABLE) + 0.5) / _TABLE, side="right").astype(np.int32)
    return np.asarray(table[random.integers(0, _TABLE, count, dtype=np.uint16)])


def rank_weights(size: int, skew: float) -> Real:
    """1 / rank^skew for each rank."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / np.arange(1, size + 1) ** skew)


def rank_shares(size: int, skew: float) -> Real:
    """The share of each rank, by weight 1 / rank^skew."""
    weights = rank_weights(size, skew)
    return np.asarray(weights / weights.sum())


def chosen(weights: Sequence[float] | Real, drawn: Real) -> Whole:
    """Numbers from 0, as often as their weights say, for draws that are uniform between 0 and 1."""
    borders = np.cumsum(weights)
    return np.searchsorted(borders / borders[-1], drawn, side="right")


def daily_times(demand: Sequence[float], hours: float, hours_drawn: Real, seconds_drawn: Real) -> Whole:
    """Seconds from a midnight on, in so many hours, for draws that are uniform between 0 and 1.

    `demand` has the weight of each hour of a day.
    """
    count = int(np.ceil(hours))
    weights = np.resize(np.array(demand, dtype=np.float64), count)
    weights[-1] *= hours - (count - 1)
    hour = chosen(weights / weights.sum(), hours_drawn)
    length = np.where(hour == count - 1, hours - (count - 1), 1.0)
    return np.asarray(((hour + seconds_drawn * length) * 3600).astype(np.int64))


def named(codes: npt.NDArray[np.integer], names: Sequence[str]) -> pa.DictionaryArray:
    """A column of names from their numbers."""
    return pa.DictionaryArray.from_arrays(
        pa.array(codes.astype(np.int32, copy=False)), pa.array(names, pa.string())
    )


def time_order(times: Whole) -> tuple[Whole, Whole]:
    """The times sorted, and the order of the events that sorts them; events of one time keep theirs."""
    bits = len(times).bit_length()
    lowest = int(times.min(initial=0))
    if (int(times.max(initial=0)) - lowest).bit_length() + bits > 62:
        order = np.argsort(times, kind="stable")
        return times[order], order
    # One sort of plain integers, time above and place below, costs a fraction of an indirect one.
    keys = times - lowest
    keys <<= bits
    keys |= np.arange(len(times))
    keys.sort()
    ordered = keys >> bits
    ordered += lowest
    keys &= (1 << bits) - 1
    return ordered, keys


def microseconds(times: Whole, tick: int, start: datetime) -> pa.Array:
    """A column of timestamps, from ticks of so many microseconds after a start of whole seconds (naive is UTC)."""
    start = start if start.tzinfo else start.replace(tzinfo=UTC)
    stamps = times * tick
    stamps += int(start.timestamp()) * 1_000_000
    return pa.array(stamps).view(TIME_TYPE)


def late_order(events: int, rate: float, seed: int, furthest: int = 1_000) -> Whole:
    """An order of rows in which the fraction `rate` comes up to `furthest` rows too late, the others in their order."""
    check("late rows", rates=(rate,), lengths=(furthest,))
    random = np.random.default_rng([seed, 1])
    late = np.flatnonzero(chance(rate, events, random))
    places = np.arange(events)
    places[late] += random.integers(1, furthest + 1, len(late))
    return np.argsort(places, kind="stable")
