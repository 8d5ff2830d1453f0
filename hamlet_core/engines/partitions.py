"""Rows of a stream sorted into partitions and windows, and the elements of windows added up into groups."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from hamlet_core.algebra.aggregates import Element, Shape
from hamlet_core.algebra.arithmetic import Arithmetic
from hamlet_core.engines.prepared import PreparedQuery
from hamlet_core.instants import iso
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.progress import UNWATCHED, Progress
from hamlet_core.table.encode import Stream
from hamlet_core.table.kinds import Kind
from hamlet_core.windows import WindowSpec

GroupKey: TypeAlias = str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an engine finds in one window of one partition."""

    elements: dict[frozenset[int], Element]
    """The element of all trends, by the sides of AND that they match: {0}, {1} or both; {0} for other patterns."""
    reached: frozenset[str] = frozenset()
    """Aliases at which some prefix of a trend ends (SEMANTICS 11); none where nobody asks."""
    disjoint: int = 0
    """How many trends follow one another, at the most; 0 where nobody asks."""


Evaluate: TypeAlias = Callable[[PreparedQuery, Sequence[int]], Outcome]
"""An engine: the query, and the rows of one window of one partition, sorted by time."""

EvaluateTogether: TypeAlias = Callable[[Sequence[int]], tuple[Outcome, ...]]
"""An engine over some queries: the rows of one window of one partition -> what it finds for each."""

Groups: TypeAlias = dict[tuple[int, GroupKey], Element]
"""(window index, group) -> element over all partitions of the group; only where there is something to report."""


@dataclass(frozen=True, slots=True)
class Partition:
    """The rows, sorted by time, that agree on the partition attributes; `group` is their GROUP-BY part."""

    group: GroupKey
    rows: tuple[int, ...]


def partitions(analysed: AnalysedQuery, stream: Stream, rows: Sequence[int]) -> Iterator[Partition]:
    """Rows by equivalence and GROUP-BY values; a NULL equivalence attribute belongs nowhere (SEMANTICS 6)."""
    group_columns = [stream.columns[name] for name in analysed.group_by]
    equivalence = [stream.columns[name].values for name in analysed.equivalence]
    grouping = [column.values for column in group_columns]
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row in rows:
        agreed = tuple(values[row] for values in equivalence)
        if None not in agreed:
            found[agreed + tuple(values[row] for values in grouping)].append(row)
    for members in found.values():
        values = {
            name: shown_value(column.values[members[0]], column.kind)
            for name, column in zip(analysed.group_by, group_columns, strict=True)
        }
        yield Partition(group_key(values), tuple(members))


def group_key(values: dict[str, Any]) -> GroupKey:
    """GROUP-BY values as the JSON object of a result row.

    >>> group_key({"b": None, "a": "é"})
    '{"a":"é","b":null}'
    """
    return json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def shown_value(value: Any, kind: Kind) -> Any:
    """A GROUP-BY value of a column of this kind as JSON has it."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    if kind is Kind.TIMESTAMP and value is not None:
        return iso(value)
    return value + 0.0 if kind is Kind.DOUBLE and value is not None else value  # -0.0 is 0.0


def windows(spec: WindowSpec, times: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """(index, first, last) of every window that holds a time; first:last slices the sorted times."""
    if not times:
        return
    ahead = spec.indices(times[0]).start
    for time in dict.fromkeys(times):
        indices = spec.indices(time)
        for index in range(max(indices.start, ahead), indices.stop):
            start, end = spec.bounds(index)
            yield index, bisect_left(times, start), bisect_left(times, end)
        ahead = max(ahead, indices.stop)


def alike(queries: Sequence[AnalysedQuery], specs: Sequence[WindowSpec]) -> tuple[tuple[int, ...], ...]:
    """The places of queries with the same partitions and windows, together, in the order of the first of each."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place, (query, spec) in enumerate(zip(queries, specs, strict=True)):
        found[frozenset(query.equivalence), frozenset(query.group_by), spec].append(place)
    return tuple(map(tuple, found.values()))


def fold_together(
    prepared: Sequence[PreparedQuery],
    spec: WindowSpec,
    shapes: Sequence[Shape],
    arithmetic: Arithmetic,
    evaluate: EvaluateTogether,
    progress: Progress = UNWATCHED,
    only: range | None = None,
) -> list[Groups]:
    """The groups of each of some queries that are `alike`, or of one; only in these windows (None: in all)."""
    stream = prepared[0].stream
    rows = rows_that_matter(prepared)
    asked = tuple(zip(prepared, shapes, (shape.closes for shape in shapes), strict=True))
    found: list[Groups] = [{} for _ in prepared]
    before = 0
    for partition in partitions(prepared[0].analysed, stream, rows):
        times = [stream.times[row] for row in partition.rows]
        for index, first, last in windows(spec, times):
            if only is not None and index not in only:
                continue
            progress.at((before + first) / len(rows))
            outcomes = evaluate(partition.rows[first:last])
            for (query, shape, closes), groups, outcome in zip(asked, found, outcomes, strict=True):
                element = total(query, outcome.elements, arithmetic)
                if closes:
                    element = shape.closed(element, outcome.reached, outcome.disjoint, arithmetic)
                if element is not None:
                    key = index, partition.group
                    known = groups.get(key)
                    groups[key] = element if known is None else shape.plus(known, element, arithmetic)
        before += len(partition.rows)
    progress.at(1.0)
    return found


def rows_that_matter(prepared: Sequence[PreparedQuery]) -> list[int]:
    """The rows that can change the answer to some query."""
    rows = range(len(prepared[0].stream.times))
    if len(prepared) == 1:
        return list(filter(prepared[0].matters, rows))
    return [row for row in rows if any(one.matters(row) for one in prepared)]


def total(
    prepared: PreparedQuery, elements: Mapping[frozenset[int], Element], arithmetic: Arithmetic
) -> Element | None:
    """The element of a window of a partition: of all trends, or of all pairs of an AND (SEMANTICS 5)."""
    if prepared.analysed.automaton.sides == 1:
        return elements.get(frozenset({0}))
    left, right, both = (
        elements[sides][0] if sides in elements else arithmetic.zero
        for sides in (frozenset({0}), frozenset({1}), frozenset({0, 1}))
    )
    products = ((left, right), (left, both), (right, both))
    pairs = arithmetic.choose_two(both)
    for one, other in products:
        pairs = arithmetic.add(pairs, arithmetic.multiply(one, other))
    return (pairs,) if arithmetic.positive(pairs) else None
