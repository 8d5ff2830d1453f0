"""Groups of positions that may share graphlets: found in the automata, before any event (HAMLET, Definitions 3.1, 3.2).

Members bind one type, follow themselves under one condition, and nothing else that their own type feeds enters them:
so what enters does not change while a burst lasts. They may differ in predicates, prefixes, suffixes and aggregates.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from hamlet_core.engines.hamlet.accumulators import Accumulator
from hamlet_core.engines.hamlet.equal_states import Place, equal_totals
from hamlet_core.engines.hamlet.jit.packed import rows, table
from hamlet_core.engines.hamlet.program.layout import COUNTS, ENDS_BURSTS, G_FIELDS, MOST_MEMBERS
from hamlet_core.engines.hamlet.program.negations import Folds
from hamlet_core.engines.hamlet.program.tables import NO_BIT, NO_GAP, Groups, masks_of
from hamlet_core.sharing.options import Sharing

SPARE = 8
"""Snapshot lanes beside one per input and two per member."""

Edge: TypeAlias = tuple[Place, Place, int, int]
"""(source, target, gap, condition or -1), between places that are counted apart."""

Component: TypeAlias = tuple[Place, int]
"""A number of an element."""


@dataclass(frozen=True, slots=True)
class Group:
    """Places that may share, and what they have in common."""

    code: int
    type: str
    condition: int
    places: tuple[Place, ...]
    queries: tuple[tuple[int, ...], ...]
    """By place: the queries whose total it is."""
    ending: frozenset[int]
    """Codes that end a burst, and `counting` those of them that are no negation."""
    counting: frozenset[int]
    types: int
    """Positive types of a query, at most."""
    columns: tuple[int, ...]
    """Attributes that an event adds, for one member or other."""
    factors: tuple[int, ...]
    """The attribute by which it multiplies, if any."""
    inputs: Mapping[Component, int]
    """Number of an element -> its input, numbered; absent: nothing ever enters from outside."""
    adds: Mapping[Component, int]
    """Number of an element -> the column that an event adds to it, from 1 on."""

    @property
    def unit(self) -> int:
        """Numbers of a lane."""
        return 1 + len(self.columns)

    @property
    def room(self) -> int:
        """The most lanes."""
        return len(set(self.inputs.values())) + 2 * len(self.places) + SPARE

    def may_gain(self, numbers: int) -> bool:
        """Whether a graphlet without disagreement has no more numbers than its members have."""
        lanes = 1 if self.condition < 0 else len(set(self.inputs.values()))
        return lanes * self.unit <= numbers


@dataclass(slots=True)
class Finder:
    """Mutable: what is known of places while groups are looked for."""

    accumulators: Sequence[Accumulator]
    numbers: Sequence[int]
    """The accumulators that are looked at."""
    folds: Folds
    same: Mapping[Place, Place]
    sharing: Sharing = Sharing()
    edges: dict[Edge, None] = field(default_factory=dict)
    barred: set[Place] = field(default_factory=set)
    owners: dict[Place, list[int]] = field(default_factory=lambda: defaultdict(list))
    """Place -> the accumulators whose total it is."""

    def groups(self, *, everywhere: bool) -> list[Group]:
        """Groups of two or more; `everywhere`: also where nothing can be gained."""
        self._read()
        beside: dict[Place, list[Edge]] = defaultdict(list)
        for edge in self.edges:
            for place in {*edge[:2]}:
                beside[place].append(edge)
        found: dict[Any, list[Place]] = defaultdict(list)
        for place in dict.fromkeys(self.same[one] for one in self.same):
            if (key := self._key(place, beside[place])) is not None:
                found[key].append(place)
        found = {key: places for key, places in found.items() if self._may_share(places)}
        if not found:
            return []
        around = (edge for places in found.values() for place in places for edge in beside[place])
        numbers = sorted({place[0] for edge in around for place in edge[:2]})
        inputs = _Inputs(self.accumulators, numbers, self.folds)
        ordered = ((key, sorted(places, key=self._bit)) for key, places in found.items())
        made = [
            self._group(key, own, inputs)
            for key, places in ordered
            for first in range(0, len(places), MOST_MEMBERS)
            if self._may_share(own := places[first : first + MOST_MEMBERS])
        ]
        return [one for one in made if everywhere or one.may_gain(self._numbers(one))]

    def _may_share(self, places: Sequence[Place]) -> bool:
        """Whether several queries have several places: what one query computes beside itself is no sharing."""
        queries = {self.accumulators[number].query for place in places for number in self.owners[place]}
        return min(len(places), len(queries)) > 1

    def _numbers(self, group: Group) -> int:
        """Numbers of all queries of a group, equal totals counted for each."""
        return sum(len(self.owners[place]) * self._width(place) for place in group.places)

    def _read(self) -> None:
        for number in self.numbers:
            accumulator = self.accumulators[number]
            automaton = accumulator.analysed.automaton
            negated = {name for negation in automaton.negations for name in negation.types()}
            for one in automaton.positions:
                place = self.same[number, one.index]
                self.owners[place].append(number)
                if one.type in negated:
                    self.barred.add(place)
            for source, target, gap, condition in self.folds.edges(accumulator.query, automaton):
                here, there = self.same[number, source], self.same[number, target]
                self.edges[here, there, gap, condition] = None
                self._bar_queue(here, gap)
            for end in automaton.ends:
                self._bar_queue(
                    self.same[number, end.position], self.folds.gap(accumulator.query, automaton, end.gap)
                )

    def _bar_queue(self, place: Place, gap: int) -> None:
        """What waits for a negated sequence is kept event by event, for each query."""
        if gap != NO_GAP and not self.folds.is_brief(gap):
            self.barred.add(place)

    def _key(self, place: Place, edges: Sequence[Edge]) -> tuple[Any, ...] | None:
        """What members of a group have in common, of a place and its edges; None: the place is in no group."""
        if place in self.barred:
            return None
        code = self._code(place)
        loops = [one[2:] for one in edges if one[0] == one[1]]
        beside = [one for one in edges if one[0] != one[1]]
        if len(loops) != 1 or loops[0][0] != NO_GAP:
            return None
        for source, target, _, condition in beside:
            if condition >= 0 or self._code(source) == self._code(target):
                return None
        accumulator = self.accumulators[place[0]]
        factor = accumulator.weight is not None and accumulator.weight.alias == self._alias(place)
        column = accumulator.weight.column if accumulator.weight and factor else None
        return code, loops[0][1], column, self.sharing.label(accumulator.analysed.query.name, place[1])

    def _group(self, key: tuple[Any, ...], places: Sequence[Place], inputs: _Inputs) -> Group:
        code, condition, factor, _ = key
        owners = {number for place in places for number in self.owners[place]}
        positive, negative, types = set(), set(), 0
        for number in owners:
            automaton = self.accumulators[number].analysed.automaton
            own = {self.folds.lookup.codes[position.type] for position in automaton.positions}
            types = max(types, len(own))
            positive |= own
            negative |= {
                self.folds.lookup.codes[name] for negation in automaton.negations for name in negation.types()
            }
        columns = dict.fromkeys(
            attribute_sum.column
            for place in places
            for attribute_sum in self.accumulators[place[0]].attribute_sums
            if attribute_sum.alias == self._alias(place)
        )
        first = self.accumulators[places[0][0]].analysed.automaton.positions[places[0][1]]
        return Group(
            code,
            first.type,
            condition,
            tuple(places),
            tuple(
                tuple(sorted({self.accumulators[number].query for number in self.owners[place]}))
                for place in places
            ),
            frozenset(positive | negative) - {code},
            frozenset(positive) - {code},
            types,
            tuple(columns),
            () if factor is None else (factor,),
            inputs.of(places, self.edges, self._width),
            {
                (place, component): list(columns).index(attribute_sum.column) + 1
                for place in places
                for component, attribute_sum in enumerate(self.accumulators[place[0]].attribute_sums, start=1)
                if attribute_sum.alias == self._alias(place)
            },
        )

    def _code(self, place: Place) -> int:
        return self.folds.lookup.codes[
            self.accumulators[place[0]].analysed.automaton.positions[place[1]].type
        ]

    def _alias(self, place: Place) -> str:
        return self.accumulators[place[0]].analysed.automaton.positions[place[1]].alias

    def _width(self, place: Place) -> int:
        return self.accumulators[place[0]].width

    def _bit(self, place: Place) -> int:
        return self.folds.lookup.bit(self.accumulators[place[0]].query, self._alias(place))


class _Inputs:
    """Which numbers of different elements get the same from outside, whatever the events are."""

    def __init__(
        self,
        accumulators: Sequence[Accumulator],
        numbers: Sequence[int],
        folds: Folds,
    ) -> None:
        self.starts: dict[Place, int] = {}
        labels: dict[Place, Any] = {}
        ways: dict[Place, list[tuple[Place, Any]]] = defaultdict(list)
        self.stride = max((accumulators[number].width for number in numbers), default=1)
        for number in numbers:
            accumulator = accumulators[number]
            automaton = accumulator.analysed.automaton
            edges = folds.edges(accumulator.query, automaton)
            for start in automaton.starts:
                self.starts[number, start.position] = folds.gap(accumulator.query, automaton, start.gap)
            for one in automaton.positions:
                binding = folds.lookup.codes[one.type], folds.lookup.bit(accumulator.query, one.alias)
                weighs = accumulator.weight is not None and accumulator.weight.alias == one.alias
                factor = accumulator.weight.column if accumulator.weight is not None and weighs else None
                place = number, one.index
                labels[self._scalar(place, 0)] = (*binding, self.starts.get(place), factor)
                for component, attribute_sum in enumerate(accumulator.attribute_sums, start=1):
                    adds = attribute_sum.column if attribute_sum.alias == one.alias else None
                    labels[self._scalar(place, component)] = (*binding, "adds", adds)
                    if adds is not None:
                        ways[self._scalar(place, component)].append((self._scalar(place, 0), (-1, -1)))
            for source, target, gap, condition in edges:
                for component in range(accumulator.width):
                    scalar = self._scalar((number, target), component)
                    ways[scalar].append((self._scalar((number, source), component), (gap, condition)))
        self.equal = equal_totals(labels, ways)
        self.something = _reached(labels, ways)

    def _scalar(self, place: Place, component: int) -> Place:
        return place[0], place[1] * self.stride + component

    def of(
        self, places: Sequence[Place], edges: Iterable[Edge], width: Callable[[Place], int]
    ) -> dict[Component, int]:
        """Numbers of elements at these places -> numbers of their inputs."""
        entering: dict[Place, list[tuple[Place, int]]] = defaultdict(list)
        for source, target, gap, _ in edges:
            if source != target:
                entering[target].append((source, gap))
        known: dict[Any, int] = {}
        found: dict[Component, int] = {}
        for place in places:
            for component in range(width(place)):
                scalars = ((self._scalar(source, component), gap) for source, gap in entering[place])
                key = tuple(sorted((self.equal[one], gap) for one, gap in scalars if one in self.something))
                start = self.starts.get(place) if component == 0 else None
                if key or start is not None:
                    found[place, component] = known.setdefault((key, start), len(known))
        return found


def _reached(labels: Mapping[Place, Any], ways: Mapping[Place, Any]) -> set[Place]:
    """Numbers that can be other than 0: counts, sums that some event adds to, and what these reach."""
    reached = {one for one, label in labels.items() if label[2] != "adds" or label[3] is not None}
    while True:
        more = {
            one
            for one, found in ways.items()
            if one not in reached and any(source in reached for source, _ in found)
        }
        if not more:
            return reached
        reached |= more


def group_tables(
    groups: Sequence[tuple[int, Group]],
    blocks: int,
    codes: int,
    place: Mapping[Place, tuple[int, int]],
    width: Callable[[Place], int],
    bit: Callable[[Place], int],
    value: Callable[[int], int],
    sums: Sequence[tuple[Place, int]],
    take: Callable[[int], int],
    lone: Collection[int],
    kinds: Sequence[int],
) -> Groups:
    """Tables of (block, group); `value` gives the address of an attribute, `take` room, `sums` are (place, address).

    Of the codes `lone` nothing but the group reads events.
    """
    of_block = np.full(blocks, -1, np.int64)
    about: list[tuple[int, ...]] = []
    touched = np.zeros((len(groups), codes), np.int64)
    members, numbers, columns, factors, summed, kept, runs, touches = ([] for _ in range(8))
    at = [0, 0, 0]
    for number, (block, group) in enumerate(groups):
        of_block[block] = number
        size, wide = sum(map(width, group.places)), (group.room * group.unit + 3) & -4  # whole vectors
        bits = [bit(one) for one in group.places]
        for code in group.ending:
            touched[number, code] |= ENDS_BURSTS
            touches.append((code, number))
        for code in group.counting:
            touched[number, code] |= COUNTS
        first_with: dict[int, int] = {}
        for member, one in enumerate(group.places):
            offset = place[one][1]
            members.append((number, offset, width(one), bits[member]))
            for component in range(width(one)):
                entering = group.inputs.get((one, component))
                source = -1 if entering is None else first_with.setdefault(entering, offset + component)
                numbers.append((number, member, offset, source, group.adds.get((one, component), 0)))
        columns += [(number, value(one)) for one in group.columns]
        factors += [(number, value(one)) for one in group.factors]
        order = {one: member for member, one in enumerate(group.places)}
        summed += [
            (number, order[one], address, place[one][1], width(one)) for one, address in sums if one in order
        ]
        kept += [(number, word, mask) for word, mask in masks_of(bits)]
        runs += [(number, *run) for run in _bit_runs(bits)]
        about.append(
            (
                *(block, group.code, size, group.unit, group.room, kinds[number], len(group.places)),
                *(sum(one == NO_BIT for one in bits), group.types),
                *(take(group.room * size), take(wide), take(wide)),
                *(take(size), int(group.code in lone), *at),
            )
        )
        at = [at[0] + len(group.places), at[1] + size, at[2] + group.room]
    count = len(groups)
    return Groups(
        of_block,
        table(about, G_FIELDS),
        touched,
        *(rows(count, members, 3), rows(count, numbers, 4), rows(count, columns, 1)),
        *(rows(count, factors, 1), rows(count, summed, 4), rows(count, kept, 2)),
        rows(count, runs, 5),
        rows(codes, touches, 1),
    )


def slots_of(
    blocks: Sequence[tuple[int, int]], sizes: Sequence[int], groups: Sequence[Group]
) -> tuple[Any, int]:
    """Where each block (code, group or -1) begins among those of its code, and the most numbers that a code takes.

    Behind the block of a group is room for the coefficients of an event.
    """
    ends: dict[int, int] = defaultdict(int)
    slots = np.zeros(len(blocks), np.int64)
    for block, (code, group) in enumerate(blocks):
        slots[block] = ends[code]
        ends[code] += sizes[block] + (groups[group].room * groups[group].unit if group >= 0 else 0)
    return slots, max(ends.values(), default=0)


def _bit_runs(bits: Sequence[int]) -> list[tuple[int, int, int, int, int]]:
    """Ascending bits of members as (word, shift, count, first member, 1 if all are the same bit).

    No run crosses a word of 64 bits or of 32 members.

    >>> _bit_runs([-1, 3, 4, 5, 5])
    [(-1, 0, 1, 0, 0), (0, 3, 3, 1, 0), (0, 5, 1, 4, 0)]
    """
    found: list[list[int]] = []
    for member, bit in enumerate(bits):
        word, shift = (-1, 0) if bit == NO_BIT else divmod(bit, 64)
        if found and member % 32:
            last = found[-1]
            repeats = last[:2] == [word, shift] and (last[4] or last[2] == 1)
            if repeats or (word == last[0] >= 0 and not last[4] and shift == last[1] + last[2]):
                last[2] += 1
                last[4] = int(repeats)
                continue
        found.append([word, shift, 1, member, 0])
    return [(word, shift, count, first, same) for word, shift, count, first, same in found]
