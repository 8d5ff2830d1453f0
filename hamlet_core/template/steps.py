"""The positions of several queries as steps with common names, and the template they make: what optimizers of whole workloads
are told. Who gives positions one name says when they are alike; what is merged here are the names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

from hamlet_core.language.syntax import And, Atom, Not, Optional, Or, Pattern, Plus, Seq, Star
from hamlet_core.pattern.conditions import nameless
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.sharing.gloria.change import with_queries
from hamlet_core.sharing.gloria.pools import has_order
from hamlet_core.sharing.gloria.workload import KleeneBody, Transition, Workload

Names: TypeAlias = tuple[str, ...]
"""Position of a query -> its name."""
Key: TypeAlias = tuple[str, Hashable]
"""The type of a position, and what else has to be equal."""


def named(keys: Mapping[str, Sequence[Key]]) -> dict[str, Names]:
    """By query, a name for each position: equal where the keys are."""
    names: dict[Key, str] = {}
    return {
        query: tuple(names.setdefault(key, f"{key[0]}#{len(names)}") for key in own)
        for query, own in keys.items()
    }


def repeated(keys: Sequence[Key]) -> list[Key]:
    """The keys of a query's positions, of which those that are equal are told apart by which of them they are."""
    seen: Counter[Key] = Counter()
    found: list[Key] = []
    for key in keys:
        found.append((key[0], (key[1], seen[key])))
        seen[key] += 1
    return found


def conditions(analysed: AnalysedQuery) -> dict[tuple[int, int], Hashable]:
    """(source, target) of an edge -> its conditions on the two events, equal where they mean the same."""
    positions = analysed.automaton.positions
    found: dict[tuple[int, int], Hashable] = {}
    for edge in analysed.automaton.edges:
        pair = positions[edge.source].alias, positions[edge.target].alias
        own = [one.expression for one in analysed.adjacent if (one.left, one.right) == pair]
        if own:
            found[edge.source, edge.target] = frozenset(map(nameless, own))
    return found


def with_preceding(analysed: AnalysedQuery, keys: Sequence[Key]) -> list[Key]:
    """The keys of a query's positions, told apart by the conditions on what precedes them, too."""
    own = repeated(keys)
    preceding: list[set[Hashable]] = [set() for _ in own]
    for (source, target), condition in conditions(analysed).items():
        preceding[target].add((own[source], condition))
    return [(key[0], (key, frozenset(before))) for key, before in zip(own, preceding, strict=True)]


def merged_template(
    queries: Mapping[str, AnalysedQuery], names: Mapping[str, Names], frequencies: Mapping[str, float]
) -> tuple[Workload, dict[str, Names]]:
    """The queries as GLORIA knows them, and the names of their steps there; `frequencies`: events of a step per window.

    A query that would close a cycle has steps of its own: it shares nothing.
    """
    frequencies = dict(frequencies)
    alone = (
        _template(one, names[query], {name: frequencies[name] for name in names[query]})
        for query, one in queries.items()
    )
    whole = with_queries(Workload((), (), (), frequencies), *alone)
    if has_order(whole):
        return whole, {query: names[query] for query in queries}
    merged, found = Workload((), (), (), frequencies), {}
    for query, analysed in queries.items():
        own = names[query]
        both = with_queries(merged, _template(analysed, own, frequencies))
        if not has_order(both):
            frequencies |= {f"{name}@{query}": frequencies[name] for name in own}
            own = tuple(f"{name}@{query}" for name in own)
            both = with_queries(merged, _template(analysed, own, frequencies))
        merged, found[query] = both, own
    return merged, found


def _template(analysed: AnalysedQuery, names: Names, frequencies: Mapping[str, float]) -> Workload:
    """One query: its transitions, those of each outermost Kleene plus as a body."""
    automaton = analysed.automaton
    edges = [(edge.source, edge.target) for edge in automaton.edges]
    spans = [
        range(first, end) for part, first, end in parts(analysed.query.pattern) if isinstance(part, Plus)
    ]
    inside = [[edge for edge in edges if edge[0] in span and edge[1] in span] for span in spans]
    outside = [edge for edge in edges if not any(edge in one for one in inside)]
    return Workload(
        tuple(Transition(names[source], names[target], (0,)) for source, target in outside),
        (tuple(names[one.position] for one in automaton.starts),),
        (tuple(names[one.position] for one in automaton.ends),),
        frequencies,
        tuple(
            KleeneBody(tuple((names[source], names[target]) for source, target in one), (0,))
            for one in inside
        ),
    )


def parts(pattern: Pattern, first: int = 0) -> Iterator[tuple[Pattern, int, int]]:
    """The parts of a sequence, sequences in it taken apart: each with its first position and the one behind its last."""
    if not isinstance(pattern, Seq):
        yield pattern, first, first + _size(pattern)
        return
    for part in pattern.parts:
        yield from parts(part, first)
        first += _size(part)


def _size(pattern: Pattern) -> int:
    """Positions: atoms outside NOT."""
    match pattern:
        case Atom():
            return 1
        case Not():
            return 0
        case Plus(body) | Star(body) | Optional(body):
            return _size(body)
        case Seq(inner) | Or(inner):
            return sum(map(_size, inner))
        case And(left, right):
            return _size(left) + _size(right)
