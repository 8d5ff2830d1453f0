"""Two steps with common parts: trends of what several queries have in common are listed once, then aggregated by query.

As MCEP (Kolchinsky and Schuster, SIGMOD 2019) and SPASS (Ray et al., SIGMOD 2016): a pattern is covered by parts, those in
common where that saves most. The trends of each part are kept, and joined into those of a query; each of these is aggregated
as `two_step` does it. A query that has nothing in common with another, or is more than a sequence of parts that have to be
there, goes by itself. Past `two_step.TREND_LIMIT` sequences in a window it raises.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from hamlet_core.algebra.arithmetic import Arithmetic
from hamlet_core.engines import two_step
from hamlet_core.engines.partitions import EvaluateTogether, Outcome
from hamlet_core.engines.prepared import Node, PreparedQuery
from hamlet_core.engines.refusals import in_pattern
from hamlet_core.engines.steps import takers
from hamlet_core.engines.two_step import Listing, Trend, aggregated, check_number
from hamlet_core.language.syntax import AggregateFunction, And, Atom, Mode, Not, Optional, Star
from hamlet_core.pattern.automaton import CLEAN, Automaton, Border, Edge
from hamlet_core.template.steps import Key, conditions, parts
from hamlet_core.windows import WindowSpec

NAME = "shared_two_step"


@dataclass(frozen=True, slots=True)
class Run:
    """Parts of a query, one after the other: places of parts, and positions, each from `first` to before `end`."""

    query: str
    parts: range
    positions: range
    single: bool
    """Whether it is one event."""
    alike: Hashable
    """Equal for runs that have the same trends, whatever the aliases."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The trends of a run in one window, by (first row, its position), the earliest first; and the times of these rows."""

    trends: tuple[tuple[tuple[int, int], tuple[Trend, ...]], ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, trends: Iterable[Trend], times: Sequence[int]) -> Listed:
        """Trends in any order."""
        found: dict[tuple[int, int], list[Trend]] = defaultdict(list)
        for trend in trends:
            found[trend.rows[0], trend.bindings[0][0]].append(trend)
        ordered = sorted(found, key=lambda start: (times[start[0]], start))
        return cls(
            tuple((start, tuple(found[start])) for start in ordered),
            tuple(times[row] for row, _ in ordered),
        )

    def after(self, time: int | None) -> Sequence[tuple[tuple[int, int], tuple[Trend, ...]]]:
        """Those that start later; None: all."""
        return self.trends if time is None else self.trends[bisect_right(self.starts, time) :]


@dataclass(frozen=True, slots=True)
class Shared:
    """How some queries are folded: the automata of runs, and who is covered by which."""

    prepared: tuple[PreparedQuery, ...]
    nodes: tuple[Node, ...]
    covers: Mapping[str, tuple[tuple[int, int], ...]]
    """Query that shares -> its runs in order, each as (place in `nodes`, first position)."""

    def evaluate(self, rows: Sequence[int]) -> tuple[Outcome, ...]:
        """List and aggregate the rows (sorted by time) of one window of one partition, for every query."""
        listed = self.listed(rows)
        return tuple(
            aggregated(one, self.joined(one, listed))
            if one.analysed.query.name in self.covers
            else two_step.evaluate(one, rows, NAME)
            for one in self.prepared
        )

    def listed(self, rows: Sequence[int]) -> list[Listed]:
        """The trends of each run, constructed once."""
        times = self.prepared[0].stream.times
        found, seen = [], 0
        for node in self.nodes:
            listing = Listing(node, times, rows, engine=NAME)
            found.append(Listed.of(listing.trends(), times))
            seen += listing.seen
            check_number(seen, NAME)
        return found

    def joined(self, prepared: PreparedQuery, listed: Sequence[Listed]) -> Iterator[Trend]:
        """The trends of a query: one of each run, each beginning after the one before has ended. Depth first."""
        cover, times = self.covers[prepared.analysed.query.name], prepared.stream.times
        waiting: list[tuple[tuple[int, ...], tuple[int, ...], int]] = [((), (), 0)]
        seen = 0
        while waiting:
            rows, binding, place = waiting.pop()
            if place == len(cover):
                yield Trend(rows, (binding,))
                continue
            node, first = cover[place]
            for (row, position), trends in listed[node].after(times[rows[-1]] if rows else None):
                if rows and not _follows(prepared, (binding[-1], rows[-1]), (first + position, row)):
                    continue
                for trend in trends:
                    own = tuple(first + one for one in trend.bindings[0])
                    waiting.append((rows + trend.rows, binding + own, place + 1))
                    seen += 1
                    check_number(seen, NAME)


def _follows(prepared: PreparedQuery, earlier: tuple[int, int], later: tuple[int, int]) -> bool:
    """Whether (position, row) may directly follow another."""
    return any(
        edge.source == earlier[0] and edge.holds(earlier[1], later[1])
        for edge in prepared.root.incoming[later[0]]
    )


def together(
    prepared: Sequence[PreparedQuery],
    spec: WindowSpec,  # noqa: ARG001 - as all engines that take queries together
    arithmetic: Arithmetic,  # noqa: ARG001
    *,
    greedily: bool = False,  # noqa: ARG001
) -> EvaluateTogether:
    """The engine over queries with the same partitions and windows; its plan is a greedy one anyway."""
    return planned(prepared).evaluate


def planned(prepared: Sequence[PreparedQuery]) -> Shared:
    """What the queries share: again and again the run that most steps are listed less for, while two queries hold one."""
    by_name = {one.analysed.query.name: one for one in prepared if _is_sequence(one)}
    runs = [run for one in by_name.values() for run in _runs(one)]
    chosen: dict[str, list[Run]] = {name: [] for name in by_name}
    while held := max(_held(runs, chosen), key=_saving, default=[]):
        for run in held:
            chosen[run.query].append(run)
    numbers: dict[Hashable, int] = {}
    nodes: list[Node] = []
    covers: dict[str, tuple[tuple[int, int], ...]] = {}
    for name, own in chosen.items():
        if not own:
            continue
        rest = _rest([run for run in runs if run.query == name], own)
        cover = sorted([*own, *rest], key=lambda run: run.parts.start)
        for run in cover:
            if numbers.setdefault(run.alike, len(nodes)) == len(nodes):
                nodes.append(_node(by_name[name], run.positions))
        covers[name] = tuple((numbers[run.alike], run.positions.start) for run in cover)
    return Shared(tuple(prepared), tuple(nodes), covers)


def _is_sequence(prepared: PreparedQuery) -> bool:
    """Whether each trend of a query is one trend of each of its parts in turn, and each prefix of it is one of them."""
    analysed = prepared.analysed
    return (
        prepared.mode is Mode.ANY
        and not analysed.ambiguous
        and not any(one.function is AggregateFunction.REACH for one in analysed.query.aggregates)
        and not list(in_pattern(analysed.query.pattern, {Star, Optional, Not, And}))
    )


def _runs(prepared: PreparedQuery) -> Iterator[Run]:
    """All runs of parts of a query, a single event included."""
    own = list(parts(prepared.analysed.query.pattern))
    keys, conditional = takers(prepared), conditions(prepared.analysed)
    for first in range(len(own)):
        for last in range(first, len(own)):
            positions = range(own[first][1], own[last][2])
            alike = _alike(prepared, positions, keys, conditional)
            single = first == last and isinstance(own[first][0], Atom)
            yield Run(prepared.analysed.query.name, range(first, last + 1), positions, single, alike)


def _alike(
    prepared: PreparedQuery,
    positions: range,
    keys: Sequence[Key],
    conditional: Mapping[tuple[int, int], Hashable],
) -> Hashable:
    """All that decides which trends a run has."""
    first, automaton = positions.start, prepared.root.automaton
    edges = frozenset(
        (edge.source - first, edge.target - first, conditional.get((edge.source, edge.target)))
        for edge in automaton.edges
        if edge.source in positions and edge.target in positions
    )
    borders = tuple(
        frozenset(one - first for one in border)
        for border in (_starts(automaton, positions), _ends(automaton, positions))
    )
    return tuple(keys[position] for position in positions), edges, borders


def _starts(automaton: Automaton, positions: range) -> set[int]:
    """Where a run is entered."""
    entered = {edge.target for edge in automaton.edges if edge.source not in positions}
    return (entered | {one.position for one in automaton.starts}).intersection(positions)


def _ends(automaton: Automaton, positions: range) -> set[int]:
    """Where a run is left."""
    left = {edge.source for edge in automaton.edges if edge.target not in positions}
    return (left | {one.position for one in automaton.ends}).intersection(positions)


def _held(runs: Sequence[Run], chosen: Mapping[str, Sequence[Run]]) -> Iterator[list[Run]]:
    """Runs that two queries or more hold, one of each query, where it is not covered yet; not a single event."""
    found: dict[Hashable, dict[str, Run]] = defaultdict(dict)
    for run in runs:
        covered = any(set(run.parts).intersection(one.parts) for one in chosen[run.query])
        if not covered and not run.single:
            found[run.alike].setdefault(run.query, run)
    yield from (list(own.values()) for own in found.values() if len(own) > 1)


def _saving(held: Sequence[Run]) -> int:
    return (len(held) - 1) * len(held[0].positions)


def _rest(runs: Sequence[Run], chosen: Sequence[Run]) -> Iterator[Run]:
    """The longest runs that cover what is left of a query."""
    by_parts = {(run.parts.start, run.parts.stop): run for run in runs}
    taken = {part for run in chosen for part in run.parts}
    left = [part for part in range(max(run.parts.stop for run in runs)) if part not in taken]
    for _, group in groupby(enumerate(left), key=lambda pair: pair[1] - pair[0]):
        own = [part for _, part in group]
        yield by_parts[own[0], own[-1] + 1]


def _node(prepared: PreparedQuery, positions: range) -> Node:
    """The automaton of a run, its positions counted from 0."""
    root, first = prepared.root, positions.start
    automaton = Automaton(
        tuple(replace(root.automaton.positions[one], index=one - first) for one in positions),
        tuple(Border(one - first, CLEAN) for one in sorted(_starts(root.automaton, positions))),
        tuple(
            Edge(edge.source - first, edge.target - first, CLEAN)
            for edge in root.automaton.edges
            if edge.source in positions and edge.target in positions
        ),
        tuple(Border(one - first, CLEAN) for one in sorted(_ends(root.automaton, positions))),
    )
    return Node(
        automaton,
        tuple(tuple(one - first for one in own if one in positions) for own in root.bindable),
        {one.position: one.gap for one in automaton.starts},
        tuple(
            tuple(
                replace(edge, source=edge.source - first)
                for edge in root.incoming[one]
                if edge.source in positions
            )
            for one in positions
        ),
        {one.position: one.gap for one in automaton.ends},
        (),
    )
