"""Lanes per window or pane maps: which of them folds the sliding windows of a specification for less.

A burst moves a lane per position, number and open window, or one per row of the pane's map; pane maps must also be
joined, about twice per pane. Prices were measured on one core of an AMD EPYC with 512-bit vectors; on other machines
both sides of the scale change.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.equal_states import Place
from hamlet_core.engines.hamlet.input.frame import DEAD
from hamlet_core.engines.hamlet.input.query_class import ClassEvents
from hamlet_core.engines.hamlet.panes.maps import Outline, bases_of, outline


class Prices(NamedTuple):
    """Costs in nanoseconds."""

    lane: float
    """Of a lane that a burst moves."""
    number: float
    """Of each number of a step over numbers side by side."""
    step: float = 17.0
    """Of a step, beside its numbers."""
    block: float = 60.0
    """Of a block of lanes that a burst moves."""
    window: float = 3.0
    """Of a number that a window begins and ends with."""


PRICES = Prices(lane=1.25, number=0.4)
"""Of scaled numbers, which are vector code."""

RESIDUES = Prices(lane=6.6, number=3.3, step=10.0)
"""Of residues; more primes cost more of everything."""

BURST = 120.0
"""What finding a burst costs, beside its lanes; paid again where both ways are needed."""
SAMPLE = 100_000
"""Events that are looked at, in `PIECES`."""
PIECES = 8


@dataclass(frozen=True, slots=True)
class Bursts:
    """How often the state of a type moves, estimated from a sample."""

    changes: dict[str, float]
    """By type: bursts where no window begins or ends."""
    share: dict[str, float]
    """By type: of all events."""

    def of(self, name: str, borders: int) -> float:
        """Bursts of a type when they are cut at so many borders."""
        return self.changes.get(name, 0.0) + borders * self.share.get(name, 0.0)


def sample_bursts(events: ClassEvents) -> Bursts:
    """Look at type changes in a few chunks of the events."""
    code = events.events.code
    length = len(code) if len(code) <= SAMPLE else SAMPLE // PIECES
    begins = np.linspace(0, len(code) - length, 1 if len(code) <= SAMPLE else PIECES).astype(np.int64)
    size = len(events.codes)
    changes, seen, looked = np.zeros(size), np.zeros(size), 0
    for begin in begins.tolist():
        piece = code[begin : begin + length]
        piece = piece[piece != DEAD]
        starts = piece[1:][piece[1:] != piece[:-1]]
        changes += np.bincount(starts, minlength=size)
        seen += np.bincount(piece, minlength=size)
        looked += length
    scale = len(code) / max(looked, 1)
    return Bursts(
        {name: float(changes[number] * scale) for name, number in events.codes.items()},
        {name: float(seen[number] / max(looked, 1)) for name, number in events.codes.items()},
    )


def panes_cost_less(
    accumulators: Sequence[Accumulator],
    found: Bursts,
    borders: int,
    windows: int,
    slots: int,
    prices: Prices,
    *,
    alone: bool,
    equal: Callable[[Sequence[Accumulator]], Mapping[Place, Place]],
) -> bool:
    """Whether pane maps cost less than lanes in so many slots, for accumulators of one specification that have maps.

    Both ways cut bursts where a window begins or ends, which is where one of so many panes does.
    `alone` says whether no other accumulator of the pass keeps its lanes, `equal` which positions share theirs: that is
    found out only where it matters, for shared lanes cost no more than lanes of one's own.
    """
    joined = borders * join_cost([outline(accumulator) for accumulator in accumulators], prices)
    joined += 0.0 if alone else sum(found.of(name, borders) for name in found.share) * BURST

    def by_lanes(equal: Callable[[Sequence[Accumulator]], Mapping[Place, Place]]) -> float:
        lanes = _Lanes.of(accumulators, slots, equal)
        return lanes.cost(found, borders, prices) + windows * lanes.numbers * prices.window

    if joined >= by_lanes(each_its_own):
        return False
    bases = [basis for accumulator in accumulators for basis in bases_of(accumulator)]
    return joined + _Lanes.of(bases, 1, equal).cost(found, borders, prices) < by_lanes(equal)


def each_its_own(accumulators: Sequence[Accumulator]) -> dict[Place, Place]:
    """Position of an accumulator -> itself: nothing is shared."""
    places = (
        (number, one.index) for number, own in enumerate(accumulators) for one in own.automaton.positions
    )
    return {place: place for place in places}


@dataclass(frozen=True, slots=True)
class _Lanes:
    """What a burst moves, by its type."""

    lanes: dict[str, int]
    blocks: dict[str, int]
    numbers: int
    """What begins anew with each window."""

    @classmethod
    def of(
        cls,
        accumulators: Sequence[Accumulator],
        slots: int,
        equal: Callable[[Sequence[Accumulator]], Mapping[Place, Place]],
    ) -> _Lanes:
        lanes: Counter[str] = Counter()
        forms: dict[str, set[tuple[int, int]]] = defaultdict(set)
        for number, index in set(equal(accumulators).values()):
            accumulator = accumulators[number]
            name = accumulator.automaton.positions[index].type
            lanes[name] += accumulator.width * slots
            forms[name].add((accumulator.width, _sources(accumulator, index)))
        return cls(lanes, {name: len(own) for name, own in forms.items()}, sum(lanes.values()) // slots)

    def cost(self, found: Bursts, borders: int, prices: Prices) -> float:
        return sum(
            found.of(name, borders) * (prices.block * self.blocks[name] + prices.lane * count)
            for name, count in self.lanes.items()
        )


def _sources(accumulator: Accumulator, position: int) -> int:
    return sum(edge.target == position for edge in accumulator.automaton.edges)


def join_cost(outlines: Sequence[Outline], prices: Prices) -> float:
    """What a pane costs beside its bursts: its matrix is gathered, joined twice, and windows are read."""
    cost = 0.0
    for own, count in Counter(outlines).items():
        entries = {entry for entry, _ in own.entries}
        goals = Counter(inlet for inlet, _ in {(inlet, end) for inlet, end, _ in entries})
        products = sum(goals[middle] for _, middle, _ in entries)
        summands = sum(len(summands) for _, summands in own.entries)
        steps = 2 * (2 * len(entries) + products) + 4 * own.width * (1 + len(own.bases)) + summands
        cost += steps * (prices.step + prices.number * count)
    return cost
