"""Queries of one mode and window in, the tables of their common fold out."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from hamlet_core.algebra.aggregates import COUNTED, Component, Role
from hamlet_core.engines.hamlet.input.frame import Predicates
from hamlet_core.engines.hamlet.prefixes.lanes.tables import (
    HEAP,
    L_LATEST,
    L_OFFSETS,
    LAST,
    LIST,
    PILE,
    Steps,
)
from hamlet_core.engines.hamlet.prefixes.program import (
    DOUBLES,
    LEAST,
    SUMS,
    TIMED,
    Columns,
    Layout,
    reaches,
)
from hamlet_core.language.syntax import ComparisonOperator, Mode
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.predicates.pairs import Ordered, PairTables
from hamlet_core.template.prefixes import counts

_FALLING = {
    ComparisonOperator.LESS: False,
    ComparisonOperator.AT_MOST: False,
    ComparisonOperator.GREATER: True,
    ComparisonOperator.AT_LEAST: True,
}
"""Whether the older events with the largest keys are those that such a comparison takes first."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions on pairs of events of a class, as `PairConditions` and `compile_pairs` have them."""

    of_edges: Mapping[tuple[int, str, str], int]
    pairs: PairTables
    ordered: Sequence[tuple[Ordered, ...] | None]

    def order(self, condition: int) -> tuple[int, bool] | None:
        """(column of keys, whether the largest go first) of the older events; None where no order says who is taken."""
        found = self.ordered[condition]
        if found is None or len(found) != 1 or found[0].operator not in _FALLING:
            return None
        column = int(self.pairs.code[self.pairs.starts[condition], 1])
        return column, _FALLING[found[0].operator]


@dataclass(frozen=True, slots=True)
class Member:
    """A query that is folded with others: its place in its class, and what its elements have."""

    place: int
    analysed: AnalysedQuery
    parts: Sequence[Component]


@dataclass(frozen=True, slots=True)
class Shape:
    """What the elements of all members have, and where a member finds its own."""

    layouts: tuple[Layout, ...]
    reached: tuple[range, ...]
    """The numbers of the reaches of each member, in the order of `reaches`."""
    least: tuple[bool, ...]
    doubles: int
    times: tuple[int, ...]
    """See `tables.L_LATEST`."""


def places_of(
    members: Sequence[Member], columns: Columns
) -> tuple[tuple[Component, tuple[int, int]], ...] | None:
    """See `Columns.place`, of each component that members gather; None where 64 bits cannot hold one."""
    different = dict.fromkeys(part for member in members for part in _gathered(member))
    placed = [(part, place) for part in different if (place := columns.place(part))]
    return tuple(placed) if len(placed) == len(different) else None


def shape_of(members: Sequence[Member], columns: Columns) -> Shape:
    """What members have that 64 bits can hold; see `places_of`."""
    known = [_kinds(member, columns) for member in members]
    sums, leasts, doubles = (max(kind[which] for kind in known) for which in (SUMS, LEAST, DOUBLES))
    roles = {part.role for member in members for part in member.parts}
    timed = bool(roles & TIMED)
    lasting = Role.LASTING in roles
    wanted = (timed, timed, lasting, lasting, Role.SHORTEST in roles, Role.LONGEST in roles)
    counting = any(counts(member.analysed) for member in members)
    least = [not counting, *[False] * sums, *[True] * leasts]
    times = []
    for asked, smallest in zip(wanted, (True, True, False, False, True, True), strict=True):
        times.append(len(least) if asked else -1)
        least += [smallest] if asked else []
    layouts = tuple(_layout(member, columns, 1 + sums, tuple(least), doubles, times) for member in members)
    firsts = np.cumsum([0, *(len(reaches(member.analysed)) for member in members)]).tolist()
    reached = tuple(range(first, last) for first, last in pairwise(firsts))
    return Shape(layouts, reached, tuple(least), doubles, tuple(times))


def _gathered(member: Member) -> Iterator[Component]:
    return (part for part in member.parts if part.role not in COUNTED and part.role not in TIMED)


def _kinds(member: Member, columns: Columns) -> Counter[int]:
    """How many components of each kind a member has."""
    places = (columns.place(part) for part in _gathered(member))
    return Counter(place[0] for place in places if place)


def _layout(
    member: Member,
    columns: Columns,
    leasts: int,
    least: tuple[bool, ...],
    doubles: int,
    times: Sequence[int],
) -> Layout:
    """Where a member has its components; the integers whose least is kept begin at `leasts`."""
    following = {SUMS: 1, LEAST: leasts, DOUBLES: 0}
    places: dict[Component, tuple[bool, int]] = {}
    for part in _gathered(member):
        if place := columns.place(part):
            places[part] = place[0] == DOUBLES, following[place[0]]
            following[place[0]] += 1
    for role, time in zip((Role.LASTING, Role.SHORTEST, Role.LONGEST), times[3:], strict=True):
        if any(part.role is role for part in member.parts):
            places[Component(role)] = False, time
    return Layout(places, least, doubles, tuple(times))


_Follower: TypeAlias = tuple[str, int, int]
"""(type, local predicate, condition) of an event that may come next, under a condition."""
_Step: TypeAlias = tuple[str, int, frozenset[_Follower], int]
"""(type, local predicate, who may come next under a condition, number among the positions of a query that have these)."""


@dataclass(slots=True)
class StepBuilder:
    """Mutable: the steps, edges and effects of queries whose path is by prefixes, and the lanes that have each.

    Positions of two queries are one step where equal events stand there, and what takes them under a condition is equal: then
    one event takes a prefix in all of its lanes, or in none.
    """

    columns: Columns
    codes: Mapping[str, int]
    predicates: Predicates
    conditions: Conditions
    steps: dict[_Step, int] = field(default_factory=dict)
    lanes: dict[object, int] = field(default_factory=dict)
    """What a lane has of all the following -> its number."""
    starts: Counter[Any] = field(default_factory=Counter)
    ends: Counter[Any] = field(default_factory=Counter)
    edges: Counter[Any] = field(default_factory=Counter)
    """By (target, source, condition)."""
    effects: Counter[Any] = field(default_factory=Counter)
    """By (step, part, column, kind)."""
    reached: list[tuple[int, int, int]] = field(default_factory=list)
    """(number of the reach, step, lane)"""

    def add(self, member: Member, layout: Layout, reached: range) -> int:
        """The lane of a query, which it has in common with those whose totals are equal."""
        automaton = member.analysed.automaton
        names = [position.alias for position in automaton.positions]
        conditions = {
            (edge.source, edge.target): self.conditions.of_edges.get(
                (member.place, names[edge.source], names[edge.target]), -1
            )
            for edge in automaton.edges
        }
        steps = self._steps(member, conditions)
        starts = frozenset(steps[border.position] for border in automaton.starts)
        ends = frozenset(steps[border.position] for border in automaton.ends)
        edges = frozenset(
            (steps[target], steps[source], condition) for (source, target), condition in conditions.items()
        )
        effects = frozenset(
            (steps[position.index], place, found[1], found[0])
            for part, (_, place) in layout.places.items()
            for position in automaton.positions
            if part.alias == position.alias and (found := self.columns.place(part)) is not None
        )
        lane = self.lanes.setdefault((starts, ends, edges, effects), len(self.lanes))
        for counted, some in (
            (self.starts, starts),
            (self.ends, ends),
            (self.edges, edges),
            (self.effects, effects),
        ):
            for one in some:
                counted[one] |= 1 << lane
        for number, alias in zip(reached, reaches(member.analysed), strict=True):
            self.reached += [(number, steps[at], lane) for at, name in enumerate(names) if name == alias]
        return lane

    def _steps(self, member: Member, edges: Mapping[tuple[int, int], int]) -> list[int]:
        """The step of each position."""
        positions = member.analysed.automaton.positions
        looks = [
            (position.type, self.predicates.bit.get((member.place, position.alias), -1))
            for position in positions
        ]
        following: list[set[_Follower]] = [set() for _ in positions]
        for (source, target), condition in edges.items():
            if condition >= 0:
                following[source].add((*looks[target], condition))
        found, seen = [], Counter[Any]()
        for look, followers in zip(looks, following, strict=True):
            same = (*look, frozenset(followers))
            found.append(self.steps.setdefault((*same, seen[same]), len(self.steps)))
            seen[same] += 1
        return found

    def tables(self, shape: Shape, mode: Mode) -> Steps:
        """Of all queries that have been added."""
        size, effects, lanes = len(self.steps), sorted(self.effects), len(self.lanes)
        by_code = sorted((self.codes[key[0]] + 1, step) for key, step in self.steps.items())
        kinds = [self.kind(step, mode) for step in range(size)]
        piles = [kind == PILE for kind, _, _ in kinds]
        edges = sorted(self.edges, key=lambda edge: (edge[0], piles[edge[1]], *edge[1:]))
        places = [(target, piles[source]) for target, source, _ in edges]
        starts, ends = [self.starts[step] for step in range(size)], [self.ends[step] for step in range(size)]
        edge_lanes, effect_lanes = [self.edges[one] for one in edges], [self.effects[one] for one in effects]
        return Steps(
            mode is Mode.CONTIGUOUS,
            mode is Mode.ANY,
            _whole(kind for kind, _, _ in kinds),
            np.searchsorted([code for code, _ in by_code], np.arange(len(self.codes) + 2)).astype(np.int64),
            _whole(step for _, step in by_code),
            _whole(key[1] for key in self.steps),
            np.array(starts, np.uint64),
            _booleans(starts, lanes),
            np.array(ends, np.uint64),
            _booleans(ends, lanes),
            np.searchsorted([edge[0] for edge in edges], np.arange(size + 1)).astype(np.int64),
            _whole(bisect_left(places, (step, True)) for step in range(size)),
            _whole(edge[1] for edge in edges),
            _whole(edge[2] for edge in edges),
            np.array(edge_lanes, np.uint64),
            _booleans(edge_lanes, lanes),
            _whole(key for _, key, _ in kinds),
            np.array([falling for _, _, falling in kinds], np.bool_),
            np.array([pile and self._counts(step, shape) for step, pile in enumerate(piles)], np.bool_),
            np.searchsorted([effect[0] for effect in effects], np.arange(size + 1)).astype(np.int64),
            _whole(effect[1] for effect in effects),
            _whole(effect[2] for effect in effects),
            _whole(effect[3] for effect in effects),
            _booleans(effect_lanes, lanes),
            np.array(shape.least, np.bool_),
            _whole(shape.times),
            _whole(number for number, _, _ in self.reached),
            _whole(step for _, step, _ in self.reached),
            _whole(lane for _, _, lane in self.reached),
        )

    def _counts(self, step: int, shape: Shape) -> bool:
        """Whether the number of events that stand at a step is all that is known of what waits in its pile."""
        types = [key[0] for key in self.steps]
        return (
            all(target != step for target, _, _ in self.edges)
            and all(source != step or types[target] != types[step] for target, source, _ in self.edges)
            and all(at != step for at, _, _, _ in self.effects)
            and not self.ends[step]
            and max(shape.times[L_LATEST], shape.times[L_OFFSETS]) < 0
        )

    def kind(self, step: int, mode: Mode) -> tuple[int, int, bool]:
        """How prefixes wait at a step, and of a heap the column of keys and whether the largest go first."""
        conditions = [condition for (_, source, condition) in self.edges if source == step]
        asked = {condition for condition in conditions if condition >= 0}
        if not asked:
            return PILE if conditions else LAST, 0, False
        orders = {self.conditions.order(condition) for condition in asked}
        order = orders.pop()
        if mode is Mode.CONTIGUOUS or orders or order is None:
            return LIST, 0, False
        return HEAP, *order


def _whole(numbers: Iterable[int]) -> Any:
    return np.array(list(numbers), np.int64)


def _booleans(masks: Sequence[int], lanes: int) -> Any:
    """Boolean[mask, lane] of the bits of masks."""
    return np.array([[bool(mask >> lane & 1) for lane in range(lanes)] for mask in masks], np.bool_).reshape(
        -1, lanes
    )
