"""What prefixes have gathered: cleared, copied, and added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.input.reading import bit_of
from hamlet_core.engines.hamlet.jit.decorators import compiled_inline
from hamlet_core.engines.hamlet.prefixes.lanes.tables import Prefixes, Steps
from hamlet_core.engines.hamlet.prefixes.tables import DONE, LOST, MOST, NEUTRAL


@compiled_inline
def clear(steps: Steps, of: Any, one: int) -> None:
    """Let the elements of a prefix be those of no lane."""
    for part in range(of.integers.shape[1]):
        neutral = NEUTRAL if steps.least[part] else 0
        for lane in range(of.integers.shape[2]):
            of.integers[one, part, lane] = neutral
    for part in range(of.doubles.shape[1]):
        for lane in range(of.doubles.shape[2]):
            of.doubles[one, part, lane] = 0.0


@compiled_inline
def beyond(number: Any) -> Any:
    """A mask whose highest bit says that a number of 64 bits is not within MOST of 0; one instruction for several."""
    return np.uint64(number) + np.uint64(MOST)


@compiled_inline
def is_within(mask: Any) -> bool:
    """Whether no number was beyond, of the masks joined by or."""
    return not bit_of(mask, 63)


@compiled_inline
def add_all(steps: Steps, into: Any, one: int, of: Any, other: int) -> bool:
    """Add the elements of a prefix to those of another, in all lanes; False where a number is too large."""
    mask = np.uint64(0)
    for part in range(into.integers.shape[1]):
        if steps.least[part]:
            for lane in range(into.integers.shape[2]):
                into.integers[one, part, lane] = min(
                    into.integers[one, part, lane], of.integers[other, part, lane]
                )
        else:
            for lane in range(into.integers.shape[2]):
                total = into.integers[one, part, lane] + of.integers[other, part, lane]
                mask |= beyond(total)
                into.integers[one, part, lane] = total
    for part in range(into.doubles.shape[1]):
        for lane in range(into.doubles.shape[2]):
            into.doubles[one, part, lane] += of.doubles[other, part, lane]
    return bool(is_within(mask))


@compiled_inline
def add_some(steps: Steps, into: Any, one: int, of: Any, other: int, has: Any) -> bool:
    """The same in the lanes of `has`."""
    mask = np.uint64(0)
    for part in range(into.integers.shape[1]):
        if steps.least[part]:
            for lane in range(into.integers.shape[2]):
                if has[lane]:
                    into.integers[one, part, lane] = min(
                        into.integers[one, part, lane], of.integers[other, part, lane]
                    )
        else:
            for lane in range(into.integers.shape[2]):
                total = into.integers[one, part, lane] + (of.integers[other, part, lane] if has[lane] else 0)
                mask |= beyond(total)
                into.integers[one, part, lane] = total
    for part in range(into.doubles.shape[1]):
        for lane in range(into.doubles.shape[2]):
            if has[lane]:
                into.doubles[one, part, lane] += of.doubles[other, part, lane]
    return bool(is_within(mask))


@compiled_inline
def copy_all(into: Any, one: int, of: Any, other: int) -> None:
    """Let a prefix have the elements of another."""
    for part in range(of.integers.shape[1]):
        for lane in range(of.integers.shape[2]):
            into.integers[one, part, lane] = of.integers[other, part, lane]
    for part in range(of.doubles.shape[1]):
        for lane in range(of.doubles.shape[2]):
            into.doubles[one, part, lane] = of.doubles[other, part, lane]


@compiled_inline
def leave(steps: Steps, waiting: Prefixes, slot: int, lanes: Any) -> None:
    """Let a prefix stand in some lanes no more."""
    waiting.alive[slot] &= ~lanes
    if not waiting.alive[slot]:
        return
    for lane in range(waiting.integers.shape[2]):
        if bit_of(lanes, lane):
            for part in range(waiting.integers.shape[1]):
                waiting.integers[slot, part, lane] = NEUTRAL if steps.least[part] else 0
            for part in range(waiting.doubles.shape[1]):
                waiting.doubles[slot, part, lane] = 0.0


@compiled_inline
def put(steps: Steps, waiting: Prefixes, slot: int, fresh: Prefixes, new: int) -> int:
    """Add a fresh prefix to what waits in a slot."""
    if waiting.alive[slot]:
        fits = add_all(steps, waiting, slot, fresh, new)
        waiting.alive[slot] |= fresh.alive[new]
        return DONE if fits else LOST
    waiting.alive[slot] = fresh.alive[new]
    copy_all(waiting, slot, fresh, new)
    return DONE
