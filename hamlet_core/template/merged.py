"""The merged template of several queries: one automaton whose transitions say which queries take them.

Source: the merged query template of HAMLET (SIGMOD 2021, section 3), there with one state per event type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hamlet_core.language.syntax import Atom
from hamlet_core.language.writer import write_pattern
from hamlet_core.pattern.automaton import Automaton, Gap
from hamlet_core.pattern.construction import negated_patterns
from hamlet_core.pattern.meaning import AnalysedQuery


@dataclass(frozen=True, slots=True)
class State:
    """Positions of one event type; `occurrence` 1 holds the first position of that type in each query, and so on.

    So a query has at most one of its positions in a state, and a type that no query repeats has one state.
    """

    index: int
    type: str
    occurrence: int

    @property
    def name(self) -> str:
        """`B`, or `B (2)` for a second occurrence."""
        type_name = write_pattern(Atom(self.type, self.type))
        return type_name if self.occurrence == 1 else f"{type_name} ({self.occurrence})"


@dataclass(frozen=True, slots=True)
class Label:
    """A query that takes a transition, and the negated patterns of it that must be absent there."""

    query: int
    """Place of the query in the template."""
    gap: Gap


@dataclass(frozen=True, slots=True)
class Transition:
    """A step between two states; a start has no source, an end no target."""

    source: int | None
    target: int | None
    labels: tuple[Label, ...]
    """By query, ascending, each once."""


@dataclass(frozen=True, slots=True)
class MergedTemplate:
    """All queries of a set in one automaton; each is found in it again by its labels (see `of_query`)."""

    queries: tuple[str, ...]
    """Names, in the order of the workload."""
    states: tuple[State, ...]
    places: tuple[tuple[int, ...], ...]
    """Query -> position -> state."""
    starts: tuple[Transition, ...]
    steps: tuple[Transition, ...]
    ends: tuple[Transition, ...]
    negated: tuple[tuple[str, ...], ...]
    """Query -> its negated patterns as text, in the order that gaps number them."""

    @property
    def transitions(self) -> tuple[Transition, ...]:
        """Starts, steps and ends."""
        return self.starts + self.steps + self.ends

    def of_query(self, query: int) -> frozenset[tuple[int | None, int | None, Gap]]:
        """The starts, edges and ends of one query, between positions of its own automaton."""
        position: dict[int | None, int | None] = {
            state: index for index, state in enumerate(self.places[query])
        }
        position[None] = None
        return frozenset(
            (position[transition.source], position[transition.target], label.gap)
            for transition in self.transitions
            for label in transition.labels
            if label.query == query
        )


def merge(workload: Sequence[AnalysedQuery]) -> MergedTemplate:
    """The merged template of these queries, whatever they have in common."""
    occurrences = [_occurrences(analysed.automaton) for analysed in workload]
    keys = list(dict.fromkeys(key for query in occurrences for key in query))
    number = {key: index for index, key in enumerate(keys)}
    places = tuple(tuple(number[key] for key in query) for query in occurrences)
    found: dict[tuple[int | None, int | None], list[Label]] = {}
    for query, analysed in enumerate(workload):
        for source, target, gap in _arrows(analysed.automaton, places[query]):
            found.setdefault((source, target), []).append(Label(query, gap))
    transitions = [Transition(*ends, tuple(labels)) for ends, labels in found.items()]
    return MergedTemplate(
        tuple(analysed.query.name for analysed in workload),
        tuple(State(index, *key) for index, key in enumerate(keys)),
        places,
        _sorted(one for one in transitions if one.source is None),
        _sorted(one for one in transitions if one.source is not None and one.target is not None),
        _sorted(one for one in transitions if one.target is None),
        tuple(tuple(map(write_pattern, negated_patterns(one.query.pattern))) for one in workload),
    )


def _occurrences(automaton: Automaton) -> tuple[tuple[str, int], ...]:
    """(type, occurrence) of each position."""
    seen: Counter[str] = Counter()
    keys = []
    for position in automaton.positions:
        seen[position.type] += 1
        keys.append((position.type, seen[position.type]))
    return tuple(keys)


def _arrows(automaton: Automaton, places: Sequence[int]) -> Iterator[tuple[int | None, int | None, Gap]]:
    for start in automaton.starts:
        yield None, places[start.position], start.gap
    for edge in automaton.edges:
        yield places[edge.source], places[edge.target], edge.gap
    for end in automaton.ends:
        yield places[end.position], None, end.gap


def _sorted(transitions: Iterable[Transition]) -> tuple[Transition, ...]:
    return tuple(sorted(transitions, key=lambda one: (one.source or 0, one.target or 0)))
