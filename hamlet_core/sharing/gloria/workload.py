"""What GLORIA is told of a workload: who takes which transition, where queries start and end, how often types occur.

Source: the workload template of GLORIA (SIGMOD 2022, section 2). Nothing here knows queries by more than their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite

from hamlet_core.errors import InvariantError

Queries = tuple[int, ...]
"""Numbers of queries, ascending."""
Pair = tuple[str, str]
"""A type and one that may directly follow it."""


@dataclass(frozen=True, slots=True)
class Transition:
    """An event of `source` may directly precede one of `target` for these queries."""

    source: str
    target: str
    queries: Queries


@dataclass(frozen=True, slots=True)
class KleeneBody:
    """What a Kleene plus repeats, nested ones and the ways back included; each of these queries holds all of it."""

    transitions: tuple[Pair, ...]
    queries: Queries

    @property
    def types(self) -> tuple[str, ...]:
        """The types of the body, as its transitions name them first."""
        return tuple(dict.fromkeys(name for pair in self.transitions for name in pair))


@dataclass(frozen=True, slots=True)
class Workload:
    """A merged template with statistics. A query takes a pair of types once: as a transition, or inside a body.

    A type that a query repeats counts as two, of different names. Raises InvariantError E942 for what is no template.
    """

    transitions: tuple[Transition, ...]
    """Those outside Kleene bodies."""
    starts: tuple[tuple[str, ...], ...]
    """Query -> the types its trends start with."""
    ends: tuple[tuple[str, ...], ...]
    """Query -> the types its trends end with."""
    frequencies: Mapping[str, float]
    """Events of a type per window."""
    bodies: tuple[KleeneBody, ...] = ()

    def __post_init__(self) -> None:
        for complaint in _complaints(self):
            raise InvariantError(f"gloria: {complaint}", code="E942")

    @property
    def queries(self) -> Queries:
        """All of them."""
        return tuple(range(len(self.starts)))

    def pairs(self) -> Iterator[tuple[Pair, Queries]]:
        """Each pair of types with queries that take it, those of bodies last."""
        for one in self.transitions:
            yield (one.source, one.target), one.queries
        for body in self.bodies:
            for pair in body.transitions:
                yield pair, body.queries


def of_sequences(patterns: Sequence[Sequence[str]], frequencies: Mapping[str, float]) -> Workload:
    """The workload of plain sequences: a query for each, without Kleene.

    >>> of_sequences(["AB", "CAB"], {"A": 5, "B": 10, "C": 2}).transitions
    (Transition(source='A', target='B', queries=(0, 1)), Transition(source='C', target='A', queries=(1,)))
    """
    takers: dict[Pair, list[int]] = {}
    for query, pattern in enumerate(patterns):
        for source, target in pairwise(pattern):
            takers.setdefault((source, target), []).append(query)
    return Workload(
        tuple(Transition(*pair, tuple(queries)) for pair, queries in takers.items()),
        tuple((pattern[0],) for pattern in patterns),
        tuple((pattern[-1],) for pattern in patterns),
        frequencies,
    )


def _complaints(workload: Workload) -> Iterator[str]:
    if len(workload.starts) != len(workload.ends):
        yield f"{len(workload.starts)} queries start and {len(workload.ends)} end"
    types = {name for pair, _ in workload.pairs() for name in pair}
    types.update(name for ends in (*workload.starts, *workload.ends) for name in ends)
    for name in sorted(types):
        frequency = workload.frequencies.get(name)
        if frequency is None or not isfinite(frequency) or frequency < 0:
            yield f"type {name} has the frequency {frequency}"
    taken: set[tuple[int, Pair]] = set()
    for pair, queries in workload.pairs():
        if list(queries) != sorted(set(queries)) or not set(queries) <= set(workload.queries):
            yield f"{pair[0]} to {pair[1]} is taken by {queries}"
        for query in queries:
            if (query, pair) in taken:
                yield f"query {query} goes from {pair[0]} to {pair[1]} twice"
            taken.add((query, pair))
    yield from _lost(workload, taken)


def _lost(workload: Workload, taken: set[tuple[int, Pair]]) -> Iterator[str]:
    """Types that a query comes to from nowhere, or leaves for nowhere; two bodies of a query with a common type."""
    for query in workload.queries:
        own = [pair for taker, pair in sorted(taken) if taker == query]
        reached = {target for _, target in own} | set(workload.starts[query])
        left = {source for source, _ in own} | set(workload.ends[query])
        for name in sorted(reached ^ left):
            yield f"query {query} {'stops at' if name in reached else 'comes from nowhere to'} {name}"
        within = [name for body in workload.bodies if query in body.queries for name in body.types]
        if len(within) > len(set(within)):
            yield f"two bodies of query {query} have a type in common"
