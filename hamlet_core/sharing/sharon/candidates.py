"""Event types of queries in, candidates out: what several queries have in common, and what each gains if it is shared.

The sharable patterns, the benefit model and the options that resolve conflicts are those of SHARON (Poppe et al., ICDE
2018). A query stands for its types in order; nothing here knows of events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, combinations
from math import comb
from typing import TypeAlias

from hamlet_core.errors import InvariantError

Types: TypeAlias = tuple[str, ...]
"""Event types in the order of a sequence."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A part of a sequence, and the queries that would count it together: two or more, in the order of the workload."""

    types: Types
    queries: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.types)} of {', '.join(self.queries)}"


@dataclass(frozen=True, slots=True)
class Expansion:
    """Candidates with what remains of them without queries that cause conflicts."""

    candidates: tuple[Candidate, ...]
    """Those that were expanded first; then options, those that drop the fewest queries first."""
    left_out: int
    """Options for which there was no room."""


def mined(patterns: Mapping[str, Types]) -> tuple[Candidate, ...]:
    """All parts of two types or more that stand in two queries or more, in the order in which they are met.

    A query that holds a part more than once does not share it: it would have no one prefix and suffix. Costs
    O(queries * length^2).

    >>> [str(one) for one in mined({"q1": ("A", "B", "C"), "q2": ("A", "B", "D"), "q3": ("B", "C")})]
    ['A, B of q1, q2', 'B, C of q1, q3']
    """
    found: dict[Types, dict[str, int]] = {}
    for query, types in patterns.items():
        for first, last in combinations(range(len(types) + 1), 2):
            if last - first > 1:
                times = found.setdefault(types[first:last], {})
                times[query] = times.get(query, 0) + 1
    holders = {
        part: tuple(name for name, count in times.items() if count == 1) for part, times in found.items()
    }
    return tuple(Candidate(part, queries) for part, queries in holders.items() if len(queries) > 1)


def place(part: Types, types: Types) -> int:
    """Where a query holds a part that it holds once; raises InvariantError E941 if it does not."""
    places = [at for at in range(len(types) - len(part) + 1) if types[at : at + len(part)] == part]
    if len(places) != 1:
        raise InvariantError(
            f"sharing: {', '.join(part)} stands {len(places)} times in {', '.join(types)}", code="E941"
        )
    return places[0]


def benefit(candidate: Candidate, patterns: Mapping[str, Types], rates: Mapping[str, float]) -> float:
    """What is saved if the queries of a candidate count its part together: the weight of a vertex.

    `rates` are events of a type per window, or any multiple of it; the benefit is in counts that are updated or
    combined per window. An event updates one count for each live START event, so a sequence costs the rate of its first
    type times the rate of all its types. Sharing pays the part once; each query pays its prefix and its suffix, and for
    every three of their START events one product. The paper is silent on a query that is nothing but the part: it
    pays no product. Raises InvariantError E941 where a query does not hold the part once, or a type has no rate.

    >>> rates = {"A": 2, "B": 3, "C": 1, "D": 4}
    >>> benefit(Candidate(("A", "B"), ("p", "q")), {"p": ("C", "A", "B"), "q": ("A", "B", "D")}, rates)
    -13
    """
    part = candidate.types
    alone = sum(_updates(patterns[query], rates) for query in candidate.queries)
    extra = sum(_extra(part, patterns[query], rates) for query in candidate.queries)
    return alone - _updates(part, rates) - extra


def expanded(candidates: tuple[Candidate, ...], patterns: Mapping[str, Types], *, most: int) -> Expansion:
    """Candidates and their options: the same part for those queries that are left, two or more, when some of those that
    cause a conflict are dropped (conflict resolution).

    Dropping goes on as long as a conflict is left, so every choice of causing queries is an option: their number doubles
    with each. `most` bounds options and candidates together; candidates are never left out.
    """
    causing = tuple(_causing(candidates, patterns))
    room = max(most - len(candidates), 0)
    longest = max(map(len, causing), default=0)
    dropping = chain.from_iterable(
        _without(one, queries, number)
        for number in range(1, longest + 1)
        for one, queries in zip(candidates, causing, strict=True)
    )
    options = tuple(option for option, _ in zip(dropping, range(room), strict=False))
    there = sum(
        comb(len(queries), number)
        for one, queries in zip(candidates, causing, strict=True)
        for number in range(1, min(len(queries), len(one.queries) - 2) + 1)
    )
    return Expansion((*candidates, *options), there - len(options))


def clashes(
    candidates: tuple[Candidate, ...], patterns: Mapping[str, Types]
) -> dict[tuple[Types, Types], frozenset[str]]:
    """For every two parts the queries that hold both at places that intersect: why not both can be shared.

    The paper compares only the end of one with the beginning of the other, and so misses a part inside of another.
    """
    holders: dict[Types, dict[str, int]] = {}
    for one in candidates:
        known = holders.setdefault(one.types, {})
        known.update({query: place(one.types, patterns[query]) for query in one.queries})
    return {
        (one, other): frozenset(
            query
            for query, first in places.items()
            if query in others and first < others[query] + len(other) and others[query] < first + len(one)
        )
        for one, places in holders.items()
        for other, others in holders.items()
    }


def _causing(candidates: tuple[Candidate, ...], patterns: Mapping[str, Types]) -> Iterator[tuple[str, ...]]:
    """By candidate, its queries that cause some conflict."""
    clashing = clashes(candidates, patterns)
    for one in candidates:
        found = {
            query
            for other in candidates
            if other != one
            for query in clashing[one.types, other.types].intersection(other.queries)
        }
        yield tuple(query for query in one.queries if query in found)


def _without(one: Candidate, causing: tuple[str, ...], number: int) -> Iterator[Candidate]:
    """What remains of a candidate without so many of the queries, in every way."""
    if len(one.queries) - number < 2:
        return
    for dropped in combinations(causing, number):
        yield Candidate(one.types, tuple(query for query in one.queries if query not in dropped))


def _updates(types: Types, rates: Mapping[str, float]) -> float:
    """Counts that are updated for a sequence by itself; none for an empty one."""
    missing = [name for name in types if name not in rates]
    if missing:
        raise InvariantError(f"sharing: no rate of {', '.join(missing)}", code="E941")
    return rates[types[0]] * sum(rates[name] for name in types) if types else 0


def _extra(part: Types, types: Types, rates: Mapping[str, float]) -> float:
    """What a query pays beside the part that it shares."""
    first = place(part, types)
    prefix, suffix = types[:first], types[first + len(part) :]
    if not prefix and not suffix:
        return 0
    combined = (rates[prefix[0]] if prefix else 1) * rates[part[0]] * (rates[suffix[0]] if suffix else 1)
    return _updates(prefix, rates) + _updates(suffix, rates) + combined
