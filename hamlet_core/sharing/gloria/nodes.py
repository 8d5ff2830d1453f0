"""The candidate plans of a pool: what may become of the sets that come in, and what a step from one node to the next costs.

Source: GLORIA (SIGMOD 2022), section 4: reusing snapshots, local snapshots, merging, and no sharing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, product
from math import inf

import numpy as np
import numpy.typing as npt

from hamlet_core.sharing.gloria import costs
from hamlet_core.sharing.gloria.costs import Frequencies
from hamlet_core.sharing.gloria.plans import QuerySet, Sets
from hamlet_core.sharing.gloria.pools import Kind, Link, Pools

MOST_SETS = 5
"""Sets that come in and are joined in every way, if planning is limited: 52 ways for five, 203 for six."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """Queries that stay together at a type. `settled`: as one set of the preceding plans, or a single query alone."""

    own: QuerySet
    settled: bool = True


def incoming(pools: Pools, pool: int, before: Sequence[Sets]) -> tuple[Incoming, ...]:
    """The sets that come into a pool, if these are the plans of the preceding pools, in the order of its links.

    Sets of several pools that have queries in common stay together, and so do queries that share but start here, too:
    unless all say the same they need new snapshots.
    """
    queries = frozenset(pools.pools[pool].queries)
    starting = pools.starting[pool]
    parts: list[QuerySet] = [own for sets in before for one in sets if (own := one.within(queries))]
    met: dict[int, list[QuerySet]] = {}
    group_of: dict[int, int] = {}
    for number, part in enumerate(parts):
        touching = sorted({group_of[query] for query in part.queries if query in group_of})
        met[number] = [one for group in touching for one in met.pop(group)] + [part]
        group_of.update(dict.fromkeys((query for one in met[number] for query in one.queries), number))
    found = []
    for group in met.values():
        members = sorted({query for one in group for query in one.queries})
        own = QuerySet(tuple(members), group[0].snapshot_type)
        here = starting.intersection(members)
        agreed = not own.shared or len(here) in {0, len(members)}
        found.append(Incoming(own, all(one == own for one in group) and agreed))
    come = {query for one in parts for query in one.queries}
    found += [Incoming(QuerySet((query,))) for query in sorted(starting - come)]
    return tuple(sorted(found, key=lambda one: one.own.queries))


def going(sets: Sets, queries: frozenset[int]) -> Sets:
    """What is left of a plan among queries that go on."""
    return tuple(kept for own in sets if (kept := own.within(queries)))


def candidates(
    pools: Pools, pool: int, sets: Sequence[Incoming], frequencies: Frequencies, most_sets: int | None
) -> Iterator[Sets]:
    """The plans that may follow, each at least once: sharing ones before the one without."""
    one = pools.pools[pool]
    match one.kind:
        case Kind.END:
            yield ()
        case Kind.BODY:
            alone = all(own.settled and not own.own.shared for own in sets)
            if len(one.queries) > 1 or not alone:
                yield from ((QuerySet(one.queries, type_),) for type_ in one.entries)
            if alone:
                yield unshared(one.queries)
        case Kind.TRANSITION:
            for groups in joined(sets, most_sets):
                ways = [_ways(group, one.entries[0], frequencies) for group in groups]
                for chosen in product(*ways):
                    yield tuple(sorted(chosen))


def joined(sets: Sequence[Incoming], most_sets: int | None) -> Iterator[list[list[Incoming]]]:
    """The ways to join sets. All of them up to `most_sets`; of more, only: none, those that go alone, all."""
    if most_sets is None or len(sets) <= most_sets:
        yield from partitions(sets)
        return
    yield [list(sets)]
    alone = [own for own in sets if not own.own.shared]
    if 1 < len(alone) < len(sets):
        yield [alone, *([own] for own in sets if own.own.shared)]
    yield [[own] for own in sets]


def partitions(items: Sequence[Incoming]) -> Iterator[list[list[Incoming]]]:
    """All ways to put the items into groups, those with large groups first: as many as Bell's number says."""
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        for place in range(len(rest)):
            yield [*rest[:place], [items[0], *rest[place]], *rest[place + 1 :]]
        yield [[items[0]], *rest]


def bell(items: int) -> int:
    """The ways to put so many items into groups, by the triangle of Bell's numbers."""
    row = [1]
    for _ in range(items):
        row = list(accumulate(row, initial=row[-1]))
    return row[0]


def _ways(group: Sequence[Incoming], type_: str, frequencies: Frequencies) -> tuple[QuerySet, ...]:
    """What may become of sets that are joined, or of one that is not: kept, with local snapshots, merged."""
    queries = tuple(sorted(query for one in group for query in one.own.queries))
    fresh = QuerySet(queries, type_)
    if len(group) > 1 or not group[0].settled:
        return (fresh,)
    old = group[0].own.snapshot_type
    if old is not None and frequencies[type_] < frequencies[old]:
        return (group[0].own, fresh)
    return (group[0].own,)


class Steps:
    """Weights of the edges between two pools.

    Where a type leads into several pools its transition is charged in the first, evaluations in each: a query that ends
    there and goes on with new snapshots is evaluated for both.
    """

    def __init__(self, pools: Pools, link: Link, frequencies: Frequencies) -> None:
        self._pools, self._link, self._frequencies = pools, link, frequencies

    def weights(self, before: Sequence[Sets], after: Sequence[Sets]) -> tuple[tuple[float, ...], ...]:
        """What going from each node to each of the next pool costs; infinite where they have no edge.

        A set may be kept, kept with new snapshots, or merged; it is never split. Nodes have most sets in common, so what
        becomes of a set is looked at once.
        """
        place: dict[QuerySet | None, int] = {None: 0}
        for own in (own for sets in after for own in sets):
            place.setdefault(own, len(place))
        goes_on: dict[QuerySet, QuerySet] = {}
        charged: dict[QuerySet, float] = {}
        for own in dict.fromkeys(own for sets in before for own in sets):
            cost, left = self._left(own)
            if left is not None:
                goes_on[own], charged[own] = left, cost
        looked_up = {left.queries[0] for left in goes_on.values()}
        where: dict[int, npt.NDArray[np.intp]] = {query: np.zeros(len(after), np.intp) for query in looked_up}
        for node, sets in enumerate(after):
            for own in sets:
                for query in looked_up.intersection(own.queries):
                    where[query][node] = place[own]
        changes = {
            own: np.array([self._changed(left, new) for new in place])[where[left.queries[0]]]
            for own, left in goes_on.items()
        }
        rows = []
        for sets in before:
            leaving = [own for own in sets if own in goes_on]
            total = np.zeros(len(after))
            for own in leaving:
                total += changes[own]
            rows.append(tuple((total + sum(charged[own] for own in leaving)).tolist()))
        return tuple(rows)

    def _left(self, own: QuerySet) -> tuple[float, QuerySet | None]:
        """What the transition has cost a set, if that is charged here, and the queries of it that go on."""
        source, left = self._pools.pools[self._link.before], own.within(self._link.queries)
        if left is None or source.kind is not Kind.TRANSITION:
            return 0.0, left
        here = self._pools.charged_at(self._link.before, own.queries) == self._link.after
        return (costs.computed(self._frequencies, source.transitions[0], own) if here else 0.0), left

    def _changed(self, left: QuerySet, new: QuerySet | None) -> float:
        """What queries pay that go on in a set of the next node, or end (None)."""
        pools, link = self._pools, self._link
        if new is None:
            new_type = link.type if pools.pools[link.before].kind is Kind.BODY else None
            evaluated_at = link.type
        else:
            if not set(left.queries) <= set(new.queries) or not _legal(pools, link, left, new):
                return inf
            new_type = new.snapshot_type
            into_body = pools.pools[link.after].kind is Kind.BODY
            evaluated_at = new_type if into_body and new_type is not None else link.type
        if left.snapshot_type is None or left.snapshot_type == new_type:
            return 0.0
        return costs.evaluated(self._frequencies, len(left.queries), evaluated_at, left.snapshot_type)


def _legal(pools: Pools, link: Link, left: QuerySet, new: QuerySet) -> bool:
    """Whether queries that go on together may become part of a set of the following pool."""
    if not new.shared:
        return not left.shared
    if new.snapshot_type in pools.pools[link.after].entries:
        if left.shared or len(new.queries) > 1:
            return True
        return new.queries[0] in pools.several_ways[link.after]
    starting = pools.starting[link.after].intersection(new.queries)
    return left == new and len(starting) in {0, len(new.queries)}


def entry(pools: Pools, pool: int, sets: Sets, frequencies: Frequencies) -> float:
    """What a node costs by itself: queries that start, and the rounds of a Kleene body."""
    one = pools.pools[pool]
    cost = sum(costs.start(frequencies, type_) for type_ in pools.starts[pool])
    if one.kind is Kind.BODY:
        cost += sum(costs.repeated(frequencies, one.transitions, own) for own in sets)
    return cost


def endings(pools: Pools, pool: int, found: Sequence[Sets], frequencies: Frequencies) -> list[float]:
    """What queries cost that end after a pool, by the plan that it has."""
    costs_ = [0.0] * len(found)
    for link in pools.out_of[pool]:
        if pools.pools[link.after].kind is Kind.END:
            for node, (weight,) in enumerate(Steps(pools, link, frequencies).weights(found, [()])):
                costs_[node] += weight
    return costs_


def dearer_later(pools: Pools, pool: int, one: Sets, other: Sets, frequencies: Frequencies) -> float:
    """What queries pay more with one plan than with another of the same sets, at the next step and at most.

    Given that no snapshot type of the other plan is rarer. It gains where its snapshots are new: their expressions have
    one term in a transition, and where a body is left at their type, values are known.
    """
    own = pools.pools[pool]
    if own.kind is Kind.TRANSITION:
        pair = own.transitions[0]
        prices = [sum(costs.computed(frequencies, pair, part) for part in sets) for sets in (one, other)]
        return prices[0] - prices[1]
    more = 0.0
    for link in pools.out_of[pool]:
        for part, its in zip(going(one, link.queries), going(other, link.queries), strict=True):
            if part.snapshot_type is not None and link.type == its.snapshot_type != part.snapshot_type:
                more += costs.evaluated(frequencies, len(part.queries), link.type, part.snapshot_type)
    return more


def unshared(queries: Iterable[int]) -> Sets:
    """Each query alone."""
    return tuple(QuerySet((query,)) for query in queries)
