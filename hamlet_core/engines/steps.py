"""The positions of several queries as steps with common names: what optimizers of whole workloads are told of them.

Two positions may have one name if they have the same type and the same events may take them; an engine may ask for more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

from hamlet_core.engines.partitions import partitions, rows_that_matter, windows
from hamlet_core.engines.prepared import PreparedQuery
from hamlet_core.language.syntax import And, Atom, Not, Optional, Or, Pattern, Plus, Seq, Star
from hamlet_core.pattern.conditions import nameless
from hamlet_core.windows import WindowSpec

Names: TypeAlias = tuple[str, ...]
"""Position of a query -> its name."""
Key: TypeAlias = tuple[str, Hashable]
"""The type of a position, and what else has to be equal."""


def takers(prepared: PreparedQuery) -> tuple[Key, ...]:
    """Position -> its type and the rows that may take it."""
    rows: list[list[int]] = [[] for _ in prepared.root.automaton.positions]
    for row, positions in enumerate(prepared.root.bindable):
        for position in positions:
            rows[position].append(row)
    types = (position.type for position in prepared.root.automaton.positions)
    return tuple((type_, tuple(own)) for type_, own in zip(types, rows, strict=True))


def named(keys: Mapping[str, Sequence[Key]]) -> dict[str, Names]:
    """By query, a name for each position: equal where the keys are."""
    names: dict[Key, str] = {}
    return {
        query: tuple(names.setdefault(key, f"{key[0]}#{len(names)}") for key in own)
        for query, own in keys.items()
    }


def conditions(prepared: PreparedQuery) -> dict[tuple[int, int], Hashable]:
    """(source, target) of an edge -> its conditions on the two events, equal where they mean the same."""
    positions, analysed = prepared.root.automaton.positions, prepared.analysed
    found: dict[tuple[int, int], Hashable] = {}
    for edge in prepared.root.automaton.edges:
        pair = positions[edge.source].alias, positions[edge.target].alias
        own = [one.expression for one in analysed.adjacent if (one.left, one.right) == pair]
        if own:
            found[edge.source, edge.target] = frozenset(map(nameless, own))
    return found


def rates(
    queries: Mapping[str, PreparedQuery], names: Mapping[str, Names], spec: WindowSpec
) -> dict[str, float]:
    """Events that may take a step, per window of a partition that has any events; the queries have the same of both."""
    if not queries:
        return {}
    own = tuple(queries.values())
    stream = own[0].stream
    taken: Counter[str] = Counter(dict.fromkeys((one for steps in names.values() for one in steps), 0))
    number = 0
    for partition in partitions(own[0].analysed, stream, rows_that_matter(own)):
        number += sum(1 for _ in windows(spec, [stream.times[row] for row in partition.rows]))
        for row in partition.rows:
            steps = {
                names[query][position]
                for query, prepared in queries.items()
                for position in prepared.root.bindable[row]
            }
            taken.update(dict.fromkeys(steps, len(spec.indices(stream.times[row]))))
    return {step: count / max(number, 1) for step, count in taken.items()}


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
