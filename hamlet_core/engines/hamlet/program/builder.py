"""Accumulators in, the tables of the event kernel out: addresses for every total, and what each type of event moves.

Positions of one type lie side by side in a *block*, in one order for totals, inputs and pair classes, so that most
moves join into long runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator, AttributeSum
from hamlet_core.engines.hamlet.equal_states import Place
from hamlet_core.engines.hamlet.input.frame import Predicates
from hamlet_core.engines.hamlet.jit.packed import Rows, rows, table
from hamlet_core.engines.hamlet.program.equal_states import equal_places
from hamlet_core.engines.hamlet.program.groups import Finder, Group, group_tables, slots_of
from hamlet_core.engines.hamlet.program.moves import access_of, key_columns, kinds, lone_codes, ranges, runs
from hamlet_core.engines.hamlet.program.negations import Conditions, Folds, Lookup
from hamlet_core.engines.hamlet.program.sets import set_numbers, set_tables
from hamlet_core.engines.hamlet.program.tables import (
    NO_BIT,
    NO_GAP,
    EventProgram,
    Groups,
    Paths,
    merged,
    ordered,
    steady,
)
from hamlet_core.predicates.pair_tables import PairTables
from hamlet_core.sharing.options import Sharing

Total: TypeAlias = tuple[Place, int]
"""(place, gap): what the place came to, or what of it waits at a gap."""

ClassKey: TypeAlias = tuple[int, int, int, int, int]
"""(kind, condition, gap, code, group or -1): the events of a code, as others ask for them."""


def event_program(
    found: Builder, pairs: PairTables, resting: Collection[int] = ()
) -> tuple[EventProgram, tuple[Group, ...]]:
    """The program of the accumulators of one class, of which `sharing_builder` has found what may be shared.

    Returned second are the groups of positions that may share graphlets, without those that are `resting`, whose positions
    go apart.
    """
    builder = found.without(resting)
    builder.arrange()
    builder.collect(pairs)
    return builder.program(pairs), tuple(builder.groups)


def sharing_builder(
    accumulators: Sequence[Accumulator],
    codes: Mapping[str, int],
    predicates: Predicates,
    conditions: Conditions,
    first_free: int,
    sharing: Sharing,
    *,
    groups: bool = True,
) -> Builder:
    """What the accumulators of one class may share; their state begins at `first_free`, behind the rows of results.

    `codes` are those of `Events.code`; types that are not among them never come. `sharing` says whether equal totals
    are one, and which groups of positions may share graphlets, if there may be any `groups`.
    """
    builder = builder_of(accumulators, codes, predicates, conditions, first_free)
    builder.find_equals(sharing)
    if groups:
        builder.find_groups(sharing)
    return builder


def grouped_accumulators(
    accumulators: Sequence[Accumulator],
    codes: Mapping[str, int],
    predicates: Predicates,
    conditions: Conditions,
    sharing: Sharing,
) -> set[int]:
    """The accumulators of which some position is in a group."""
    builder = sharing_builder(accumulators, codes, predicates, conditions, 0, sharing)
    grouped = {place for group in builder.groups for place in group.places}
    return {place[0] for place, first in builder.same.items() if first in grouped}


def different_totals(
    accumulators: Sequence[Accumulator],
    codes: Mapping[str, int],
    predicates: Predicates,
    conditions: Conditions,
) -> int:
    """How many totals the accumulators have that differ."""
    builder = builder_of(accumulators, codes, predicates, conditions, 0)
    builder.find_equals(Sharing())
    return len(set(builder.same.values()))


def builder_of(
    accumulators: Sequence[Accumulator],
    codes: Mapping[str, int],
    predicates: Predicates,
    conditions: Conditions,
    first_free: int,
) -> Builder:
    """The tables of a class before anything is known of them; types that never come get codes, too."""
    known = dict(codes)
    for accumulator in accumulators:
        for name in sorted(accumulator.analysed.automaton.types()):
            known.setdefault(name, max(known.values(), default=-1) + 1)
    folds = Folds(Lookup(known, predicates, conditions))
    return Builder(accumulators, folds, max(known.values(), default=-1) + 1, first_free)


@dataclass(slots=True)
class Builder:
    """Mutable: the tables of one class while they grow."""

    accumulators: Sequence[Accumulator]
    folds: Folds
    size: int
    """Codes."""
    top: int
    """The first address that is free."""
    same: dict[Place, Place] = field(default_factory=dict)
    """Every position of an accumulator -> the one whose totals it has; the rest of the tables knows the latter alone."""
    groups: list[Group] = field(default_factory=list)
    made: dict[Any, tuple[Any, tuple[Group, ...]]] = field(default_factory=dict)
    """By the groups that rest, and what tests the conditions on pairs: the program, packed, and the other groups."""
    blocks: list[tuple[int, int]] = field(default_factory=list)
    """(code, group or -1)"""
    place: dict[Place, tuple[int, int]] = field(default_factory=dict)
    """-> (block, offset in it)"""
    edges: dict[tuple[Total, Place], None] = field(default_factory=dict)
    """Edges without a condition."""
    asks: dict[ClassKey, dict[tuple[Place, Place], None]] = field(default_factory=lambda: defaultdict(dict))
    """Edges with one, by what answers them."""
    starts: dict[tuple[Total, int], None] = field(default_factory=dict)
    """(total, lane)"""
    ends: list[tuple[int, int, Total]] = field(default_factory=list)
    """(accumulator, side, total)"""
    totals: dict[Total, int] = field(default_factory=dict)
    """-> address"""
    values: dict[int, int] = field(default_factory=dict)
    """Column -> address of the attribute of the event in hand."""
    queues: dict[Total, int] = field(default_factory=dict)
    """Totals at gaps that a match may end in part -> number"""

    def without(self, resting: Collection[int]) -> Builder:
        """The same before anything has a place, without some of the groups."""
        groups = [group for number, group in enumerate(self.groups) if number not in resting]
        return Builder(self.accumulators, self.folds, self.size, self.top, self.same, groups)

    def take(self, count: int) -> int:
        """Room for so many numbers."""
        self.top += count
        return self.top - count

    def width(self, place: Place) -> int:
        """Numbers of an element."""
        return self.accumulators[place[0]].width

    def alias(self, place: Place) -> str:
        """The alias of a position."""
        return self.accumulators[place[0]].analysed.automaton.positions[place[1]].alias

    def paths(self) -> list[int]:
        """The accumulators whose paths are trends, like beside like."""

        def codes(accumulator: int) -> list[int]:
            positions = self.accumulators[accumulator].analysed.automaton.positions
            return [self.folds.lookup.codes[position.type] for position in positions]

        return sorted(
            (
                place
                for place, accumulator in enumerate(self.accumulators)
                if not accumulator.analysed.ambiguous
            ),
            key=codes,
        )

    def find_equals(self, sharing: Sharing) -> None:
        """Which positions have equal totals; each has its own if nothing is shared."""
        self.same = equal_places(self.accumulators, self.paths(), self.folds, sharing)

    def find_groups(self, sharing: Sharing) -> None:
        """Which positions may share graphlets."""
        if sharing.graphlets and len(self.paths()) > 1:
            finder = Finder(self.accumulators, self.paths(), self.folds, self.same, sharing)
            self.groups = finder.groups(everywhere=sharing.everywhere)

    def arrange(self) -> None:
        """Give every position a place in a block: of its group, or of all others of its code.

        Of the others those that come first in their accumulators are the first.
        """
        for number, group in enumerate(self.groups):
            offsets = accumulate(map(self.width, group.places), initial=0)
            for place, offset in zip(group.places, offsets, strict=False):
                self.place[place] = len(self.blocks), offset
            self.blocks.append((group.code, number))
        columns: dict[int, list[list[Place]]] = defaultdict(list)
        for accumulator in self.paths():
            seen: dict[int, int] = defaultdict(int)
            for position in self.accumulators[accumulator].analysed.automaton.positions:
                place = accumulator, position.index
                if self.same[place] != place or place in self.place:
                    continue
                code = self.folds.lookup.codes[position.type]
                if seen[code] == len(columns[code]):
                    columns[code].append([])
                columns[code][seen[code]].append(place)
                seen[code] += 1
        for code, nth in columns.items():
            places = [place for column in nth for place in column]
            for place, offset in zip(places, accumulate(map(self.width, places), initial=0), strict=False):
                self.place[place] = len(self.blocks), offset
            self.blocks.append((code, -1))

    def collect(self, pairs: PairTables) -> None:
        """Sort edges and borders by what serves them; number the totals."""
        for accumulator in self.paths():
            query, automaton = (
                self.accumulators[accumulator].query,
                self.accumulators[accumulator].analysed.automaton,
            )
            for source, target, gap, condition in self.folds.edges(query, automaton):
                here, there = self.same[accumulator, source], self.same[accumulator, target]
                if condition < 0:
                    self.edges[(here, gap), there] = None
                    continue
                for kind in kinds(pairs, condition, gap):
                    self.asks[kind, condition, gap, *self.blocks[self.place[here][0]]][here, there] = None
            for one in automaton.starts:
                total = self.same[accumulator, one.position], self.folds.gap(query, automaton, one.gap)
                self.starts[total, self.accumulators[accumulator].lane] = None
            for one in automaton.ends:
                total = self.same[accumulator, one.position], self.folds.gap(query, automaton, one.gap)
                self.ends.append((accumulator, automaton.positions[one.position].side, total))
        needed = {total for total, _ in self.edges} | {total for _, _, total in self.ends}
        for total in sorted(needed, key=lambda total: (total[1], self.place[total[0]])):
            self.totals[total] = -1
            if total[1] != NO_GAP and not self.folds.is_brief(total[1]):
                self.queues[total] = len(self.queues)

    def program(self, pairs: PairTables) -> EventProgram:
        """All tables."""
        state = self.top
        for total in self.totals:
            self.totals[total] = self.take(self.width(total[0]))
        paths = self._paths()
        sets = set_tables(self.accumulators, self.folds, self.size, self.take(1))
        classes = table(
            (
                (kind, condition, gap, self._lanes(asks), *key_columns(pairs, condition), code, group)
                for (kind, condition, gap, code, group), asks in self.asks.items()
            ),
            8,
        )
        lone = lone_codes(self.blocks, self.folds, self.accumulators)
        queues = (
            (self.blocks[self.place[total[0]][0]][0], self.width(total[0]), self.totals[total])
            for total in self.queues
        )
        width = sum(accumulator.width for accumulator in self.accumulators)
        result, scratch = self.take(width), self.take(4)  # four numbers for AND
        return EventProgram(
            paths,
            steady(paths, self.blocks, lone),
            ordered(paths, classes, self.blocks, lone),
            self._gaps(),
            sets,
            self._groups(pairs),
            classes,
            table(queues, 3),
            self._accumulators(),
            rows(
                len(self.accumulators),
                ((accumulator, side, self.totals[total]) for accumulator, side, total in self.ends),
                2,
            ),
            np.array([state, result, scratch, self.top], np.int64),
        )

    def _accumulators(self) -> Any:
        offsets = accumulate((accumulator.width for accumulator in self.accumulators), initial=0)
        by_sets = set_numbers(self.accumulators)
        return table(
            (
                (offset, accumulator.width, accumulator.analysed.automaton.sides, by_sets.get(place, -1))
                for place, (accumulator, offset) in enumerate(zip(self.accumulators, offsets, strict=False))
            ),
            4,
        )

    def _gaps(self) -> Any:
        codes = [(gap, self.place[place][0]) for (place, gap), _ in self.starts]
        codes += [(gap, self.place[target][0]) for (_, gap), target in self.edges]
        return self.folds.tables(
            self.size,
            codes,
            (
                (total[1], address, self.width(total[0]), self.queues.get(total, -1))
                for total, address in self.totals.items()
                if total[1] != NO_GAP
            ),
        )

    def _groups(self, pairs: PairTables) -> Groups:
        return group_tables(
            [(block, self.groups[group]) for block, (_, group) in enumerate(self.blocks) if group >= 0],
            len(self.blocks),
            self.size,
            self.place,
            self.width,
            self._bit,
            self.value,
            [(place, address) for (place, _), address in self.totals.items()],
            self.take,
            lone_codes(self.blocks, self.folds, self.accumulators),
            [access_of(pairs, group.condition) for group in self.groups],
        )

    def _bit(self, place: Place) -> int:
        return self.folds.lookup.bit(self.accumulators[place[0]].query, self.alias(place))

    def value(self, column: int) -> int:
        """The address at which an attribute of the event in hand is put."""
        if column not in self.values:
            self.values[column] = self.take(1)
        return self.values[column]

    def _paths(self) -> Paths:
        count, at = len(self.blocks), self.place
        sizes, always = np.zeros(count, np.int64), np.zeros(count, np.int64)
        masks: list[tuple[int, int, int, int]] = []
        for place, (block, offset) in at.items():
            bit = self._bit(place)
            sizes[block] += self.width(place)
            always[block] |= bit == NO_BIT
            masks += [(block, offset, self.width(place), bit)] if bit != NO_BIT else []
        readers = {(at[total[0]][0], at[target][0]) for total, target in self.edges}
        totals = (
            (at[place][0], address, at[place][1], self.width(place))
            for (place, _), address in self.totals.items()
        )
        slots, stride = slots_of(self.blocks, sizes.tolist(), self.groups)
        return Paths(
            rows(self.size, ((code, block) for block, (code, _) in enumerate(self.blocks)), 1),
            stride,
            1 + max((one.lane for one in self.accumulators), default=0),
            sizes,
            slots,
            np.array([self.take(int(size)) for size in sizes], np.int64),
            always,
            rows(count, masks, 3),
            rows(count, ((*at[place], gap, lane) for (place, gap), lane in self.starts), 3),
            self._moves(own=False),
            self._moves(own=True),
            runs(count, totals),
            rows(count, sorted((block, reader) for block, reader in readers if block != reader), 1),
            *self._effects(),
            rows(
                count, ((at[place][0], queue, at[place][1]) for (place, _), queue in self.queues.items()), 2
            ),
            *self._classes(),
        )

    def _moves(self, own: bool) -> Rows:
        """What arrives over edges without a condition, from the type itself or from others."""
        at = self.place
        return runs(
            len(self.blocks),
            (
                (at[target][0], self.totals[total], at[target][1], self.width(target))
                for total, target in self.edges
                if (at[total[0]][0] == at[target][0]) is own
            ),
        )

    def _effects(self) -> tuple[Rows, Rows, Rows]:
        """What binding an event does to the elements in a block: loads, attribute sums and weights."""
        loads: set[tuple[int, int, int]] = set()
        attribute_sums: list[tuple[int, ...]] = []
        weights: list[tuple[int, ...]] = []

        def value(block: int, attribute_sum: AttributeSum) -> int:
            loads.add((block, attribute_sum.column, self.value(attribute_sum.column)))
            return self.value(attribute_sum.column)

        for place, (block, offset) in self.place.items():
            accumulator = self.accumulators[place[0]]
            for component, attribute_sum in enumerate(accumulator.attribute_sums, start=1):
                if attribute_sum.alias == self.alias(place):
                    attribute_sums.append((block, offset + component, offset, value(block, attribute_sum)))
            if accumulator.weight is not None and accumulator.weight.alias == self.alias(place):
                weights.append((block, offset, value(block, accumulator.weight)))
        count = len(self.blocks)
        return rows(count, sorted(loads), 2), rows(count, attribute_sums, 3), rows(count, weights, 2)

    def _lanes(self, asks: Iterable[tuple[Place, Place]]) -> int:
        return sum(self.width(place) for place in {source for source, _ in asks})

    def _classes(self) -> tuple[Rows, Any, Rows, Any]:
        """Who asks pair classes, and what feeds them."""
        asked: list[tuple[int, ...]] = []
        fed: list[tuple[int, ...]] = []
        asked_runs: list[tuple[int, int, int]] = []
        fed_runs: list[tuple[int, int, int]] = []
        for number, asks in enumerate(self.asks.values()):
            sources = sorted({source for source, _ in asks}, key=self.place.__getitem__)
            lanes = dict(zip(sources, accumulate(map(self.width, sources), initial=0), strict=False))
            fed_runs += merged((lanes[one], self.place[one][1], self.width(one)) for one in sources)
            fed += [(block, number, len(fed_runs)) for block in {self.place[one][0] for one in sources}]
            for target in sorted({self.place[target][0] for _, target in asks}):
                asked_runs += merged(
                    (lanes[source], self.place[there][1], self.width(there))
                    for source, there in asks
                    if self.place[there][0] == target
                )
                asked.append((target, number, len(asked_runs)))
        return (
            rows(len(self.blocks), ranges(asked), 3),
            table(asked_runs, 3),
            rows(len(self.blocks), ranges(fed), 3),
            table(fed_runs, 3),
        )
