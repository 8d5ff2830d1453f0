"""A query in, the tables of its kernel out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hamlet_core.algebra.aggregates import COUNTED, LATTICE, Component, Role
from hamlet_core.engines.hamlet.input.frame import Predicates
from hamlet_core.engines.hamlet.numbers.columns import Keys, doubles, keys, present, whole
from hamlet_core.engines.hamlet.prefixes.tables import ANY, CONTIGUOUS, MOST, NEXT, Program
from hamlet_core.language.syntax import AggregateFunction, Mode, Subject
from hamlet_core.pattern.automaton import Automaton, Border, Edge
from hamlet_core.pattern.meaning import AnalysedQuery, position_sets
from hamlet_core.table.columns import validity
from hamlet_core.table.encode import Column
from hamlet_core.table.kinds import Kind
from hamlet_core.template.prefixes import counts

_MODES = {Mode.ANY: ANY, Mode.NEXT: NEXT, Mode.CONTIGUOUS: CONTIGUOUS}
SUMS, LEAST, DOUBLES = range(3)
"""Kinds of effects: see `tables.Program.effect_kind`."""
TIMED = frozenset({Role.LASTING, Role.SHORTEST, Role.LONGEST, Role.DISJOINT})


@dataclass(slots=True)
class Columns:
    """Mutable: columns of values by row of the stream, each once, and where the components of elements are."""

    of_stream: Mapping[str, Column]
    exact: bool
    integers: list[npt.NDArray[np.int64]] = field(default_factory=list)
    doubles: list[npt.NDArray[np.float64]] = field(default_factory=list)
    keys: dict[tuple[str, Role], Keys] = field(default_factory=dict)
    places: dict[tuple[str, Role], tuple[int, int]] = field(default_factory=dict)

    def place(self, part: Component) -> tuple[int, int] | None:
        """(kind of effect, column) of what events add to a component; None where 64 bits cannot hold it."""
        if part.attribute is None:
            return SUMS, -1
        key = part.attribute, part.role
        if key not in self.places:
            made = self._made(part.role, self.of_stream[part.attribute], key)
            if made is None:
                return None
            self.places[key] = made
        return self.places[key]

    def _made(self, role: Role, column: Column, key: tuple[str, Role]) -> tuple[int, int] | None:
        if role in LATTICE:
            self.keys[key] = keys(column, descending=role is Role.MAXIMUM)
            return LEAST, self._put(self.keys[key].keys)
        if role is Role.PRESENT:
            everywhere = validity(column.array) is None
            return SUMS, -1 if everywhere else self._put(present(column).astype(np.int64))
        if column.kind is Kind.DOUBLE:
            values = doubles(column)
            self.doubles.append(np.abs(values) if role is Role.MAGNITUDE else values)
            return None if self.exact else (DOUBLES, len(self.doubles) - 1)
        parts = whole(column)
        numbers = parts.significands[0]
        if len(parts.significands) > 1 or numbers.min(initial=0) <= -MOST or numbers.max(initial=0) >= MOST:
            return None
        return SUMS, self._put(np.abs(numbers) if role is Role.MAGNITUDE else numbers)

    def _put(self, numbers: npt.NDArray[np.int64]) -> int:
        self.integers.append(np.ascontiguousarray(numbers, np.int64))
        return len(self.integers) - 1


@dataclass(frozen=True, slots=True)
class Layout:
    """Where an element has the components of a query: (whether among the doubles, place), by component."""

    places: Mapping[Component, tuple[bool, int]]
    least: tuple[bool, ...]
    doubles: int
    times: tuple[int, ...]
    """See `tables.T_LATEST`."""

    @classmethod
    def of(cls, parts: Sequence[Component], columns: Columns) -> Layout | None:
        """None where 64 bits cannot hold a component."""
        places: dict[Component, tuple[bool, int]] = {}
        least, many = [False], 0
        for part in parts:
            if part.role in COUNTED or part.role in TIMED:
                continue
            found = columns.place(part)
            if found is None:
                return None
            if found[0] == DOUBLES:
                places[part], many = (True, many), many + 1
            else:
                places[part] = False, len(least)
                least.append(found[0] == LEAST)
        times = [-1] * 7
        roles = {part.role for part in parts}
        if roles & TIMED:
            wanted = [True, True, Role.LASTING in roles, True, *(_role in roles for _role in _SHOWN)]
            for time, there in enumerate(wanted):
                if there:
                    times[time] = len(least)
                    least.append(time in (0, 1, 5, 6))
            for time, role in enumerate(_SHOWN, 4):
                if role in roles:
                    places[Component(role)] = False, times[time]
        return cls(places, tuple(least), many, tuple(times))


_SHOWN = (Role.LASTING, Role.SHORTEST, Role.LONGEST)


def program_of(
    query: int,
    analysed: AnalysedQuery,
    layout: Layout,
    columns: Columns,
    codes: Mapping[str, int],
    predicates: Predicates,
    conditions: Mapping[tuple[int, str, str], int],
) -> Program:
    """The tables of a query whose path is by prefixes; `query` is its place in its class."""
    automaton, aggregates = analysed.automaton, analysed.query.aggregates
    size = len(automaton.positions)
    edges = sorted(automaton.edges, key=lambda edge: (edge.target, edge.source))
    names = [position.alias for position in automaton.positions]
    adjacent = [conditions.get((query, names[edge.source], names[edge.target]), -1) for edge in edges]
    effects = [
        (position.index, place[1], *found)
        for position in automaton.positions
        for part, place in layout.places.items()
        if part.alias == position.alias and (found := columns.place(part)) is not None
    ]
    negated = _Negated.of(automaton.negations)
    return Program(
        _MODES[analysed.query.mode],
        not any(edge.gap for edge in edges) and max(adjacent, default=-1) < 0,
        counts(analysed),
        any(one.subject is Subject.DISJOINT for one in aggregates),
        any(border.gap for border in automaton.ends),
        _by_code(codes, ((position.type, position.index) for position in automaton.positions)),
        _bits(query, names, predicates),
        _masks([[border.position for border in automaton.starts]]),
        _gaps(size, automaton.starts),
        _masks([[border.position for border in automaton.ends]]),
        _gaps(size, automaton.ends),
        _before(size, edges),
        np.searchsorted([edge.target for edge in edges], np.arange(size + 1)).astype(np.int64),
        np.array([edge.source for edge in edges], np.int64),
        _masks([edge.gap for edge in edges]),
        np.array(adjacent, np.int64),
        _masks([[position.index for position in automaton.positions if position.side]]),
        _by_code(codes, negated.types),
        _bits(query, negated.aliases, predicates),
        _masks([negated.starts]),
        _before(len(negated.aliases), negated.edges),
        _masks(negated.ends),
        _masks([[place for place, name in enumerate(names) if name == alias] for alias in reaches(analysed)]),
        np.searchsorted([one[0] for one in effects], np.arange(size + 1)).astype(np.int64),
        np.array([one[1] for one in effects], np.int64),
        np.array([one[3] for one in effects], np.int64),
        np.array([one[2] for one in effects], np.int64),
        np.array(layout.least, np.bool_),
        np.array(layout.times, np.int64),
    )


def reaches(analysed: AnalysedQuery) -> tuple[str, ...]:
    """The aliases whose reach is asked for, each once."""
    pairs = zip(analysed.query.aggregates, analysed.operands, strict=True)
    return tuple(dict.fromkeys(str(alias) for one, alias in pairs if one.function is AggregateFunction.REACH))


def slots_of(analysed: AnalysedQuery, parts: Iterable[Component]) -> int:
    """Elements of a prefix: one for each position where what it has gathered depends on that, else one."""
    gathers = any(part.alias and part.role not in COUNTED for part in parts)
    sets = position_sets(analysed) if gathers else ()
    several = sets is None or any(len(members) > 1 for members in sets)
    return len(analysed.automaton.positions) if gathers and several else 1


@dataclass(frozen=True, slots=True)
class _Negated:
    """All negated patterns, their positions numbered through."""

    types: tuple[tuple[str, int], ...]
    aliases: tuple[str, ...]
    starts: tuple[int, ...]
    edges: tuple[Edge, ...]
    ends: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, negations: Sequence[Automaton]) -> _Negated:
        types: list[tuple[str, int]] = []
        aliases: list[str] = []
        starts: list[int] = []
        edges: list[Edge] = []
        ends = []
        for negation in negations:
            first = len(aliases)
            types += [(position.type, first + position.index) for position in negation.positions]
            aliases += [position.alias for position in negation.positions]
            starts += [first + border.position for border in negation.starts]
            edges += [Edge(first + edge.source, first + edge.target, edge.gap) for edge in negation.edges]
            ends.append(tuple(first + border.position for border in negation.ends))
        return cls(tuple(types), tuple(aliases), tuple(starts), tuple(edges), tuple(ends))


def _masks(sets: Iterable[Iterable[int]]) -> Any:
    """uint64: the numbers of each set as bits."""
    return np.array([sum(1 << number for number in members) for members in sets], np.uint64)


def _by_code(codes: Mapping[str, int], types: Iterable[tuple[str, int]]) -> Any:
    """uint64[code + 1]: the positions of each type as bits; none for dead events."""
    found = [0] * (len(codes) + 1)
    for name, position in types:
        found[codes[name] + 1] |= 1 << position
    return np.array(found, np.uint64)


def _bits(query: int, aliases: Sequence[str], predicates: Predicates) -> Any:
    return np.array([predicates.bit.get((query, alias), -1) for alias in aliases], np.int64)


def _gaps(size: int, borders: Iterable[Border]) -> Any:
    gaps: list[Iterable[int]] = [()] * size
    for border in borders:
        gaps[border.position] = border.gap
    return _masks(gaps)


def _before(size: int, edges: Iterable[Edge]) -> Any:
    sources: list[list[int]] = [[] for _ in range(size)]
    for edge in edges:
        sources[edge.target].append(edge.source)
    return _masks(sources)
