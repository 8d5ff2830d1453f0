"""What kernels read of one event: its row in the stream, and which local predicates hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.input.frame import Events
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline


@compiled_inline
def row_of(events: Events, event: int) -> int:
    """The row of the stream of an event."""
    return event if events.row.shape[0] == 0 else events.row[event]


@compiled_inline
def bit_of(mask: Any, place: int) -> bool:
    """Whether a bit is set."""
    return bool((mask >> np.uint64(place)) & np.uint64(1))


@compiled_inline
def holds_bit(events: Events, event: int, bit: int) -> bool:
    """Whether a local predicate holds for an event; bit -1 always does."""
    return bit < 0 or bit_of(events.bits[event, bit >> 6], bit & 63)
