"""A query bound to a stream: which positions each event may take, which pairs may be adjacent, what an event adds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hamlet_core.algebra.aggregates import Algebra
from hamlet_core.language.syntax import AggregateFunction, Mode, Subject
from hamlet_core.pattern.automaton import Automaton, Gap
from hamlet_core.pattern.conditions import Adjacent
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.predicates.evaluate import compile_adjacent, compile_local
from hamlet_core.table.encode import Stream

Pair: TypeAlias = Callable[[int, int], bool | None]
"""(row of the earlier event, row of the later event) -> may they be adjacent?"""

Element: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Incoming:
    """An edge into a position: where from, over which gap, under which condition (None: none) on the two rows."""

    source: int
    gap: Gap
    condition: Pair | None

    def holds(self, earlier: int, later: int) -> bool:
        """Whether the adjacent condition is TRUE for this pair of rows."""
        return self.condition is None or self.condition(earlier, later) is True


@dataclass(frozen=True, slots=True)
class Node:
    """One automaton, compiled against a stream; `negations` are compiled likewise."""

    automaton: Automaton
    bindable: tuple[tuple[int, ...], ...]
    """Row -> positions the event may take (type and local predicates)."""
    starts: Mapping[int, Gap]
    incoming: tuple[tuple[Incoming, ...], ...]
    ends: Mapping[int, Gap]
    negations: tuple[Node, ...]
    continued: frozenset[int] = field(init=False)
    """Positions with an edge out of them."""
    conditional: tuple[bool, ...] = field(init=False)
    """Position -> whether some edge out of it has a condition on the pair of events."""
    gaps: frozenset[tuple[int, Gap]] = field(init=False)
    """(position, gap) of what may follow over a gap, or end behind one, without a condition on a pair of events."""

    def __post_init__(self) -> None:
        edges = [edge for edges in self.incoming for edge in edges]
        scanned = {edge.source for edge in edges if edge.condition}
        over = {(edge.source, edge.gap) for edge in edges if not edge.condition} | set(self.ends.items())
        conditional = tuple(position in scanned for position in range(len(self.incoming)))
        object.__setattr__(self, "continued", frozenset(edge.source for edge in edges))
        object.__setattr__(self, "conditional", conditional)
        object.__setattr__(self, "gaps", frozenset(pair for pair in over if pair[1]))

    def binds(self, row: int) -> bool:
        """Whether the event matters to this automaton or to one it negates."""
        return bool(self.bindable[row]) or any(negation.binds(row) for negation in self.negations)


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """All that an engine needs to evaluate windows of one query over one stream."""

    analysed: AnalysedQuery
    stream: Stream
    root: Node
    algebra: Algebra
    mode: Mode = field(init=False)
    """The matching mode of the query."""
    chains: bool = field(init=False)
    """Whether it is asked how many trends follow one another."""
    reaches: bool = field(init=False)
    """Whether it is asked which steps prefixes of trends reach."""

    def __post_init__(self) -> None:
        query = self.analysed.query
        known = {
            "mode": query.mode,
            "chains": any(one.subject is Subject.DISJOINT for one in query.aggregates),
            "reaches": any(one.function is AggregateFunction.REACH for one in query.aggregates),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def matters(self, row: int) -> bool:
        """Whether an event can change the answer: under contiguous each does, by its time."""
        return self.mode is Mode.CONTIGUOUS or self.root.binds(row)

    def aliases(self, positions: Iterable[int]) -> frozenset[str]:
        """What events at these positions are bound to; nothing where nobody asks which steps are reached."""
        if not self.reaches:
            return frozenset()
        return frozenset(self.root.automaton.positions[position].alias for position in positions)


def prepare(analysed: AnalysedQuery, stream: Stream, algebra: Algebra, text: str = "") -> PreparedQuery:
    """Compile predicates and evaluate the local ones once for every row; `text` is for errors."""
    local = defaultdict(list)
    for condition in analysed.local:
        test = compile_local(condition.expression, stream.columns, unit=stream.unit, text=text)
        local[condition.alias].append(test)
    pairs = defaultdict(list)
    for adjacent in analysed.adjacent:
        pairs[adjacent.left, adjacent.right].append(_pair(adjacent, stream, text))
    return PreparedQuery(analysed, stream, _node(analysed.automaton, stream, local, pairs), algebra)


def _pair(condition: Adjacent, stream: Stream, text: str) -> Pair:
    return compile_adjacent(condition.expression, stream.columns, unit=stream.unit, text=text)


def _all(conditions: list[Pair]) -> Pair | None:
    """One condition that is TRUE where all are."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return lambda earlier, later: all(condition(earlier, later) for condition in conditions)


def _node(
    automaton: Automaton,
    stream: Stream,
    local: Mapping[str, list[Callable[[int], bool | None]]],
    pairs: Mapping[tuple[str, str], list[Pair]],
) -> Node:
    positions = automaton.positions
    incoming: list[list[Incoming]] = [[] for _ in positions]
    for edge in automaton.edges:
        names = positions[edge.source].alias, positions[edge.target].alias
        incoming[edge.target].append(Incoming(edge.source, edge.gap, _all(pairs.get(names, []))))
    return Node(
        automaton,
        tuple(_bindable(automaton, stream, local)),
        {border.position: border.gap for border in automaton.starts},
        tuple(map(tuple, incoming)),
        {border.position: border.gap for border in automaton.ends},
        tuple(_node(negation, stream, local, pairs) for negation in automaton.negations),
    )


def _bindable(
    automaton: Automaton, stream: Stream, local: Mapping[str, list[Callable[[int], bool | None]]]
) -> Iterator[tuple[int, ...]]:
    by_type = defaultdict(list)
    for position in automaton.positions:
        by_type[position.type].append((position.index, tuple(local.get(position.alias, ()))))
    for row, type_name in enumerate(stream.types):
        candidates = by_type.get(type_name)
        if candidates is None:
            yield ()
        else:
            yield tuple(index for index, tests in candidates if all(test(row) for test in tests))


def needs_scan(node: Node) -> bool:
    """Whether a determinised step depends on the pair of events: adjacent conditions, or gaps between events."""
    return any(edge.condition or edge.gap for edges in node.incoming for edge in edges)
