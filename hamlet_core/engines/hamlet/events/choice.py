"""How the windows of a fold are folded: each by itself, or as lanes of spans, by what costs less.

A span takes an event once for all its lanes, whose numbers are vector code; for each window apart the event finds its way again.
Spans cost more where numbers are dear beside that way, and so do more lanes than windows overlap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

import numpy as np

from hamlet_core.engines.hamlet.events.spans import APART, Layout, Whole, Windows, in_order, sizes_of
from hamlet_core.engines.hamlet.events.worth import ACCESS
from hamlet_core.engines.hamlet.program.builder import Builder
from hamlet_core.engines.hamlet.program.moves import access_of
from hamlet_core.engines.hamlet.program.tables import NO_GAP
from hamlet_core.predicates.pair_tables import PairTables
from hamlet_core.sharing.burst import Access, Storage
from hamlet_core.sharing.costs import Constants, Measured

EVENT = 60.0
"""Nanoseconds that an event costs beside its numbers, about."""

SHARED = 0.6
"""How much of that an event costs in a burst that queries share."""

WIDE = 0.6
"""What a number costs that lies beside many others, in single ones; about."""

CLEARLY = 1.5
"""So many times must lanes be cheaper than windows apart whose queries share: what sharing saves is not foreseen so well."""

PLAIN, LATTICE, SCALED, RESIDUE = 1.0, 1.5, 8.0, 2.0
"""What a number costs, in plain ones; a residue for each prime."""

LANES = (1, 2, 4, 8, 16, 32, 64)
"""Those that are looked at."""
MOST_BYTES = 1 << 26
"""Of numbers that a span keeps of its events, about: more are not in the caches."""


def lanes_of(
    builder: Builder,
    pairs: PairTables,
    windows: Windows,
    layout: Layout,
    price: float,
    constants: Constants,
    saved: float = 0.0,
) -> int:
    """The most lanes of a span, or `APART`, which windows of several specifications never are.

    `price`: of a number, in plain ones. `saved`: nanoseconds of an event if windows are apart and queries share what gains.
    """
    several, order = len(layout.rows) > 1, in_order(windows, layout)
    first, last = (one if order is None else one[order] for one in (windows.first, windows.last))
    overlapping = overlap(first, last)
    if any(one.analysed.ambiguous for one in builder.accumulators) or not (several or overlapping):
        return APART
    costs = _Costs(first, last, _numbers(builder, pairs), price, Measured(constants))
    best, least = (1, inf) if several else (APART, costs.apart(saved))
    for lanes in LANES if overlapping else ():
        cost = costs.together(lanes)
        if cost > 2 * least:
            break
        if cost < least:
            best, least = lanes, cost
    return best


def saved_by(
    lanes: int,
    builder: Builder,
    pairs: PairTables,
    windows: Windows,
    price: float,
    constants: Constants,
) -> float:
    """Nanoseconds that an event of windows of one specification costs less in spans of so many lanes than in windows apart of
    which no queries share.
    """
    costs = _Costs(windows.first, windows.last, _numbers(builder, pairs), price, Measured(constants))
    events = float(sizes_of(windows.first, windows.last, APART).sum())
    return (costs.apart(0.0) - costs.together(lanes)) / events


def overlap(first: Whole, last: Whole) -> bool:
    """Whether an event is in several of these windows, in order of their first and last events, that are not the same."""
    other = (first[1:] != first[:-1]) | (last[1:] != last[:-1])
    return bool(np.any(other & (first[1:] < np.maximum.accumulate(last)[:-1])))


@dataclass(frozen=True, slots=True)
class _Costs:
    """Of a fold of windows in order of their first and last events, in nanoseconds."""

    first: Whole
    last: Whole
    numbers: Mapping[Access, int]
    price: float
    model: Measured

    def apart(self, saved: float) -> float:
        """Each window by itself; each event costs so much less if its queries share."""
        sizes = sizes_of(self.first, self.last, APART)
        step = self.price * self._step(sizes)
        if saved == 0.0:
            return float(sizes.sum()) * (EVENT + step)
        return float(sizes.sum()) * (SHARED * EVENT + max(step - saved, 0.0)) / CLEARLY

    def together(self, lanes: int) -> float:
        """Spans of so many lanes."""
        sizes = sizes_of(self.first, self.last, lanes)
        if int(sizes.max()) * lanes * sum(self.numbers.values()) * 8 * self.price > MOST_BYTES:
            return inf
        numbers = WIDE * lanes if lanes > 1 else 1.0
        return float(sizes.sum()) * (EVENT + self.price * numbers * self._step(sizes))

    def _step(self, sizes: Whole) -> float:
        """What an event pays for the numbers of a lane."""
        stored = int((sizes.astype(np.float64) ** 2).sum() / sizes.sum())
        return sum(
            count * self.model.step(Storage(access, stored=stored)) for access, count in self.numbers.items()
        )


def _numbers(builder: Builder, pairs: PairTables) -> dict[Access, int]:
    """Numbers that an event moves, by how older events are found; about, as if it were bound to all positions."""
    found: dict[Access, int] = {}
    seen: set[object] = set()
    for accumulator in builder.paths():
        own = builder.accumulators[accumulator]
        for source, target, gap, condition in builder.folds.edges(own.query, own.analysed.automaton):
            edge = builder.same[accumulator, source], builder.same[accumulator, target], gap, condition
            if edge in seen:
                continue
            seen.add(edge)
            access = Access.SCAN if condition >= 0 and gap != NO_GAP else ACCESS[access_of(pairs, condition)]
            found[access] = found.get(access, 0) + own.width
    return found
