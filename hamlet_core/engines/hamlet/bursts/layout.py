"""Where the numbers of accumulators stand: addresses, cells, blocks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.bursts.tables import NO_BIT, UNBOUND
from hamlet_core.engines.hamlet.equal_states import Place, equal_totals
from hamlet_core.engines.hamlet.input.frame import Predicates
from hamlet_core.pattern.automaton import Automaton, Gap
from hamlet_core.sharing.options import Sharing


@dataclass(frozen=True, slots=True)
class Operation:
    """A position of an accumulator."""

    accumulator: int
    position: int
    gaps: tuple[Gap, ...]
    """The gaps behind which its total waits."""


def equal_positions(
    accumulators: Sequence[Accumulator],
    windows: Sequence[int],
    type_codes: Mapping[str, int],
    predicates: Predicates,
    sharing: Sharing,
) -> dict[Place, Place]:
    """Position of an accumulator -> the first whose totals are equal and that may share with it; behind and before NOT every
    accumulator has its own.
    """
    labels: dict[Place, Any] = {}
    for number, accumulator in enumerate(accumulators):
        automaton = accumulator.automaton
        gaps: set[int] = set()
        if automaton.negations:
            gaps |= {one.position for one in (*automaton.starts, *automaton.ends) if one.gap}
            gaps |= {
                position for edge in automaton.edges if edge.gap for position in (edge.source, edge.target)
            }
        starts = {one.position for one in automaton.starts}
        for one in automaton.positions:
            place = number, one.index
            labels[place] = (
                windows[number],
                type_codes[one.type],
                predicates.bit.get((accumulator.query, one.alias), NO_BIT),
                one.index in starts,
                accumulator.added(one.alias),
                place if one.index in gaps else None,
                sharing.label(accumulator.analysed.query.name, one.index),
            )
    ways: dict[Place, list[tuple[Place, int]]] = {place: [] for place in labels}
    for number, accumulator in enumerate(accumulators):
        for edge in accumulator.automaton.edges:
            ways[number, edge.target].append(((number, edge.source), 0))
    return equal_totals(labels, ways)


class Layout:
    """Gives every number its address; mutable while it does."""

    def __init__(
        self,
        accumulators: Sequence[Accumulator],
        windows: Sequence[int],
        slots: Sequence[int],
        type_codes: dict[str, int],
        predicates: Predicates,
        *,
        sharing: Sharing,
    ) -> None:
        self.accumulators = accumulators
        self.windows = windows
        self.slots = slots
        self.codes = type_codes
        self.predicates = predicates
        self.size = 1
        self.nothing = 0  # the number at this address stays 0
        self.clear: list[list[int]] = [[] for _ in slots]
        self.clean_start = [self.vector(window) for window in range(len(slots))]
        self.pattern_of: dict[tuple[int, int], int] = {}
        self.position_of: dict[tuple[int, int, int], int] = {}
        for place, accumulator in enumerate(accumulators):
            for index, negation in enumerate(accumulator.automaton.negations):
                self.pattern_of[place, index] = len(self.pattern_of)
                for position in negation.positions:
                    self.position_of[place, index, position.index] = len(self.position_of)
        self.gap_of: dict[tuple[int, Gap], int] = {}
        self.gap_rows: list[tuple[int, int, int]] = []
        for place, accumulator in enumerate(accumulators):
            self.number_gaps(place, accumulator.automaton)
        self.total_of: dict[tuple[int, int, int], int] = {}
        self.waiting_of: dict[tuple[int, int, Gap, int, int], int] = {}
        self.wait_rows: list[tuple[int, int, int]] = []
        self.gap_cells: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        self.same = (
            equal_positions(accumulators, windows, type_codes, predicates, sharing) if sharing.equals else {}
        )

    # --- addresses ----------------------------------------------------------------------------

    def take(self, count: int) -> int:
        base, self.size = self.size, self.size + count
        return base

    def vector(self, window: int) -> int:
        """A number of every slot, cleared when its window closes."""
        base = self.take(self.slots[window])
        self.clear[window].append(base)
        return base

    def number_gaps(self, place: int, automaton: Automaton) -> None:
        gaps = [edge.gap for edge in automaton.edges] + [start.gap for start in automaton.starts]
        gaps += [end.gap for end in automaton.ends]
        named = dict.fromkeys(gap for gap in gaps if gap)
        for gap in named:
            self.gap_of[place, gap] = len(self.gap_rows)
            starts = any(border.gap == gap for border in automaton.starts)
            start = self.vector(self.windows[place]) if starts else -1
            self.gap_rows.append((1 + len(self.going_on(place, gap)), start, self.windows[place]))

    def going_on(self, place: int, gap: Gap) -> list[int]:
        """Positions of the gap's patterns that a match can go on from: their latest starts cut what waits."""
        negations = self.accumulators[place].automaton.negations
        return [
            self.position_of[place, index, position]
            for index in sorted(gap)
            for position in sorted({edge.source for edge in negations[index].edges})
        ]

    # --- blocks -------------------------------------------------------------------------------

    def bit(self, place: int, alias: str) -> int:
        return self.predicates.bit.get((self.accumulators[place].query, alias), NO_BIT)

    def operations(self) -> dict[tuple[Any, ...], list[Operation]]:
        """Positions by the form of their block."""
        found: dict[tuple[Any, ...], list[Operation]] = defaultdict(list)
        for place, accumulator in enumerate(self.accumulators):
            automaton = accumulator.automaton
            for position in automaton.positions:
                if self.same.get((place, position.index), (place, position.index)) != (place, position.index):
                    continue
                waits = [edge.gap for edge in automaton.edges if edge.source == position.index and edge.gap]
                waits += [end.gap for end in automaton.ends if end.position == position.index and end.gap]
                gaps = tuple(dict.fromkeys(waits))
                buckets = max((self.gap_rows[self.gap_of[place, gap]][0] for gap in gaps), default=1)
                columns = tuple(
                    attribute_sum.column if attribute_sum.alias == position.alias else UNBOUND
                    for attribute_sum in accumulator.attribute_sums
                )
                weight = UNBOUND
                if accumulator.weight is not None and accumulator.weight.alias == position.alias:
                    weight = accumulator.weight.column
                form = (
                    self.codes[position.type],
                    self.bit(place, position.alias),
                    any(e.source == e.target == position.index for e in automaton.edges),
                    columns,
                    weight,
                    self.number_of_sources(place, position.index),
                    len(gaps),
                    (place, position.index) if buckets > 1 else None,
                )
                found[form].append(Operation(place, position.index, gaps))
        return found

    def ways(self, place: int, target: int) -> list[tuple[int | None, Gap]]:
        """(source position, or None for a start; gap) of everything that flows into a position but itself."""
        automaton = self.accumulators[place].automaton
        starts: list[tuple[int | None, Gap]] = [
            (None, start.gap) for start in automaton.starts if start.position == target
        ]
        return starts + [
            (edge.source, edge.gap)
            for edge in automaton.edges
            if edge.target == target and edge.source != target
        ]

    def buckets(self, place: int, gap: Gap) -> int:
        return self.gap_rows[self.gap_of[place, gap]][0] if gap else 1

    def number_of_sources(self, place: int, target: int) -> int:
        return sum(
            1 if source is None else self.buckets(place, gap) for source, gap in self.ways(place, target)
        )

    def addresses(self, place: int, source: int | None, gap: Gap, component: int) -> list[int]:
        """First slots of the numbers that a way reads."""
        if source is None:
            if component:
                return [self.nothing]
            return [
                self.gap_rows[self.gap_of[place, gap]][1] if gap else self.clean_start[self.windows[place]]
            ]
        if not gap:
            return [self.total_of[*self.same.get((place, source), (place, source)), component]]
        buckets = range(self.buckets(place, gap))
        return [self.waiting_of[place, source, gap, bucket, component] for bucket in buckets]

    def lay_out(self, forms: Iterable[tuple[tuple[Any, ...], list[Operation]]]) -> list[list[int]]:
        """Give every cell its addresses; the blocks, their sources, attribute sums and growth not yet filled in."""
        blocks = []
        for _, operations in forms:
            width = self.accumulators[operations[0].accumulator].width
            lanes = [self.slots[self.windows[operation.accumulator]] for operation in operations]
            size = sum(lanes)
            total, delta = self.take(size * width), self.take(size * width)
            offsets = np.cumsum([0, *lanes]).tolist()
            for operation, offset in zip(operations, offsets, strict=False):
                for component in range(width):
                    base = total + component * size + offset
                    self.total_of[operation.accumulator, operation.position, component] = base
                    self.clear[self.windows[operation.accumulator]].append(base)
            first_wait = len(self.wait_rows)
            for place, _ in enumerate(operations[0].gaps):
                buckets = self.buckets(operations[0].accumulator, operations[0].gaps[place])
                base = self.take(size * width * buckets)
                self.lay_out_waiting(operations, place, base, (size, width, buckets), offsets)
            waits = len(operations[0].gaps)
            blocks.append([size, width, total, delta, 0, 0, 0, 0, waits, first_wait, 0, 0])
        return blocks

    def lay_out_waiting(
        self,
        operations: list[Operation],
        place: int,
        base: int,
        shape: tuple[int, int, int],
        offsets: list[int],
    ) -> None:
        size, width, buckets = shape
        # All operations of a block with several buckets are one; with one bucket the gap does not matter here.
        gap = self.gap_of[operations[0].accumulator, operations[0].gaps[place]]
        self.wait_rows.append((base, gap if buckets > 1 else -1, size * width))
        for operation, offset in zip(operations, offsets, strict=False):
            accumulator, own = operation.accumulator, operation.gaps[place]
            for bucket in range(buckets):
                for component in range(width):
                    address = base + (bucket * width + component) * size + offset
                    self.waiting_of[accumulator, operation.position, own, bucket, component] = address
                    self.clear[self.windows[accumulator]].append(address)
                    if bucket == 0:
                        cell = (address, self.slots[self.windows[accumulator]], size * width)
                        self.gap_cells[self.gap_of[accumulator, own]].append(cell)
