"""What the burst kernel remembers from burst to burst beside its numbers: negated matches, and the open windows."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hamlet_core.engines.hamlet.bursts.tables import GAP_BUCKETS, BurstProgram

NEVER = np.int64(-(2**63))
"""The latest start of a negated pattern that has not matched."""


class Negations(NamedTuple):
    """Mutable: what the negated patterns of the current partition have matched."""

    latest: Any
    """By position of a negated pattern: the latest start of a match so far that stands there."""
    fresh: Any
    """The same for the time stamp in hand, not yet committed."""
    since: Any
    """By pattern: the latest start of a whole match."""
    bound: Any
    """[gap, bucket]: what waits in a bucket came at this time or later, and before the next bucket's."""
    buckets: Any
    """By gap: how many of its buckets are in use; the last takes what comes."""
    bounds: Any
    """Room for the bounds of one gap."""


class Windows(NamedTuple):
    """Mutable: which windows of each specification are open, in slots that are taken round robin."""

    opened: Any
    """[specification, slot]: the time of the first event of the windows in a slot."""
    opening: Any
    """By specification: the next job to open, and `closing` the next to close."""
    closing: Any
    head: Any
    """By specification: the slot that opens next, and `tail` the one that closes next."""
    tail: Any
    present: Any
    """Room for the types of one time stamp."""


def negations_of(program: BurstProgram) -> Negations:
    """The state of a partition's negations, before the first event."""
    gaps = len(program.gap)
    most = int(program.gap[:, GAP_BUCKETS].max(initial=1))
    return Negations(
        np.full(program.positions, NEVER, np.int64),
        np.full(program.positions, NEVER, np.int64),
        np.full(program.patterns, NEVER, np.int64),
        np.full((gaps, most), NEVER, np.int64),
        np.ones(gaps, np.int64),
        np.full(most, NEVER, np.int64),
    )


def windows_of(program: BurstProgram) -> Windows:
    """No window is open."""
    count = len(program.slots)
    opened = np.full((count, int(program.slots.max(initial=1))), 2**63 - 1, np.int64)
    opening, closing, head, tail = (np.zeros(count, np.int64) for _ in range(4))
    return Windows(opened, opening, closing, head, tail, np.zeros(len(program.kind), np.int64))
