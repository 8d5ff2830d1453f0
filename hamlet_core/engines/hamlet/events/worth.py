"""Whether the groups of a fold are worth trying: what they might gain, as pieces of the stream tell before anything is folded."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.events.spans import Spans
from hamlet_core.engines.hamlet.events.turns import TRIAL
from hamlet_core.engines.hamlet.graphlets.settings import ASKING, ASKING_TO_GO_ON
from hamlet_core.engines.hamlet.program.groups import Group
from hamlet_core.engines.hamlet.program.layout import BY_SCAN, BY_TOTAL, BY_TREE
from hamlet_core.engines.hamlet.program.moves import access_of
from hamlet_core.predicates.pair_tables import PairTables
from hamlet_core.sharing.burst import Access, Storage
from hamlet_core.sharing.costs import Constants, Measured

LOOKED_AT, PIECES = 512, 8
"""Events in a row, and how often."""

ACCESS = {BY_TOTAL: Access.TOTAL, BY_TREE: Access.TREE, BY_SCAN: Access.SCAN}


def most_gained(
    groups: Sequence[Group],
    accumulators: Sequence[Accumulator],
    code: npt.NDArray[np.int32],
    pairs: PairTables,
    spans: Spans,
    constants: Constants,
) -> float | None:
    """Nanoseconds that an event costs less, whatever its type, if all groups share whatever gains; None where one trial has all
    spans.

    No more than `LONGER_WAY`: then no group is tried.
    """
    sizes = spans.last - spans.first
    if int(sizes.sum()) <= TRIAL:
        return None
    looked, longest, gained = Pieces(code, spans), int(sizes.max()), 0.0
    for group in groups:
        numbers = sum(accumulators[accumulator].width for accumulator, _ in group.places)
        access = ACCESS[access_of(pairs, group.condition)]
        gained += max(_most_gained(group, numbers, Storage(access, stored=longest), looked, constants), 0.0)
    return gained / max(int(np.count_nonzero(looked.code >= 0)), 1)


def _most_gained(group: Group, numbers: int, storage: Storage, looked: Pieces, constants: Constants) -> float:
    """Nanoseconds that the events of the pieces cost less if all members share what gains, and none ever differs."""
    total = storage.access is Access.TOTAL
    lanes = 1 if total else len(set(group.inputs.values()))
    saved = Measured(constants).step(storage) * max(numbers - lanes * group.unit, 0)
    window, events = looked.bursts(group.code, group.ending)
    if total:  # asked at each burst
        gained = events * (constants.apart + saved) - constants.graphlet
        return float(np.maximum(gained, 0.0).sum()) - ASKING * len(events)
    of_window = np.bincount(window, events, len(looked.share))
    bursts = np.bincount(window, minlength=len(looked.share))
    gained = of_window * (constants.apart + saved) - bursts * (constants.graphlet + ASKING_TO_GO_ON)
    return float(np.maximum(gained, 0.0).sum() - ASKING * looked.share[of_window > 0].sum())


class Pieces:
    """`PIECES` times `LOOKED_AT` events, or all that there are, as they are folded, span by span."""

    def __init__(self, code: npt.NDArray[np.int32], spans: Spans) -> None:
        sizes = spans.last - spans.first
        ends = np.cumsum(sizes)
        length = min(LOOKED_AT, int(ends[-1]))
        begins = np.arange(PIECES) * (int(ends[-1]) - length) // (PIECES - 1)
        place = (begins[:, None] + np.arange(length)).ravel()
        window = ends.searchsorted(place, "right")
        self.code = code[spans.last[window] - (ends[window] - place)]
        other = np.ones(len(place), np.bool_)
        other[1:] = (window[1:] != window[:-1]) | (place[1:] != place[:-1] + 1)
        self.window = np.cumsum(other) - 1
        """By event: its window, or the part of one that a piece has, numbered."""
        self.share = np.bincount(self.window) / sizes[window[other]]
        """By these numbers: how much of the window it is."""

    def bursts(
        self, own: int, ending: Collection[int]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """By burst of events with the code `own`, which those with others end: its window, and its events."""
        kind = np.zeros(max(int(self.code.max(initial=0)), own, *ending) + 2, np.int8)
        kind[[own, *ending]] = 1  # the last one is that of events whose code is -1
        here = np.flatnonzero(kind[self.code])
        is_own, window = self.code[here] == own, self.window[here]
        begins = is_own.copy()
        begins[1:] &= ~is_own[:-1] | (window[1:] != window[:-1])
        return window[begins], np.bincount(np.cumsum(begins)[is_own])[1:]
