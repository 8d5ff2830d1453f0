"""What a run did, counted while it goes on and as users see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Work:
    """Mutable: what a fold has done so far; see `Counters`."""

    matched_events: int = 0
    kernel_events: int = 0
    bursts: int = 0


@dataclass(frozen=True, slots=True)
class Counters:
    """What a run did."""

    events: int
    """Rows whose type some query reads."""
    matched_events: int
    """Of these, rows that can be bound (some local predicates hold), added over passes: greta and two_step pass over
    the events once per query, hamlet once per set of partition attributes and kind of fold.
    """
    result_rows: int
    kernel_events: int = 0
    """Rows that compiled kernels folded, added over passes; engine hamlet: all that matched."""
    bursts: int = 0
    """Runs of events of one type that were folded at once."""
