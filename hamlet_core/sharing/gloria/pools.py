"""A workload in, the pools of its GLORIA graph out: which transitions are planned as one, and which follow on which.

Source: GLORIA (SIGMOD 2022), sections 3 (pools of transitions) and 5 (a Kleene body is one unit).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from graphlib import CycleError, TopologicalSorter

from hamlet_core.errors import InvariantError
from hamlet_core.sharing.gloria.plans import Doubt
from hamlet_core.sharing.gloria.workload import Pair, Queries, Workload


class Kind(Enum):
    """What a pool plans."""

    TRANSITION = "transition"
    BODY = "Kleene body"
    END = "end"
    """One type that queries end with: nothing to choose."""


@dataclass(frozen=True, slots=True)
class Pool:
    """Transitions that take one plan, and who takes them."""

    kind: Kind
    transitions: tuple[Pair, ...]
    queries: Queries
    entries: tuple[str, ...]
    """Types at which queries come in."""
    exits: tuple[str, ...]
    """Types at which they leave."""


@dataclass(frozen=True, slots=True)
class Link:
    """A pool, one that follows it, the type between them and the queries that go on there."""

    before: int
    after: int
    type: str
    queries: frozenset[int]


@dataclass(frozen=True, slots=True)
class Junction:
    """Pools that are linked at one type: each of `before` with some of `after`."""

    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pools:
    """The pools of a workload, each after those that precede it, ends last."""

    pools: tuple[Pool, ...]
    into: tuple[tuple[Link, ...], ...]
    """Pool -> links from preceding pools."""
    out_of: tuple[tuple[Link, ...], ...]
    """Pool -> links to following pools."""
    starting: tuple[frozenset[int], ...]
    """Pool -> queries that start at a type at which it is entered, unless they start inside the body before it."""
    starts: tuple[tuple[str, ...], ...]
    """Pool -> the types at which queries start that are charged here, one for each query."""
    several_ways: tuple[frozenset[int], ...]
    """Pool -> queries that come in from several pools."""

    def charged_at(self, pool: int, queries: Iterable[int]) -> int:
        """The following pool that is charged for what a set of a pool has cost: the first of those it goes on to."""
        wanted = set(queries)
        return min(link.after for link in self.out_of[pool] if link.queries & wanted)

    @property
    def junctions(self) -> tuple[Junction, ...]:
        """All links, in groups of those that have pools in common at a type."""
        groups: list[tuple[str, set[int], set[int]]] = []
        for links in self.into:
            for type_ in dict.fromkeys(link.type for link in links):
                before = {link.before for link in links if link.type == type_}
                met = [one for one in groups if one[0] == type_ and one[1] & before]
                groups = [one for one in groups if one not in met]
                after = {links[0].after}.union(*(one[2] for one in met))
                groups.append((type_, before.union(*(one[1] for one in met)), after))
        return tuple(Junction(tuple(sorted(before)), tuple(sorted(after))) for _, before, after in groups)

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Why the shape of the template alone leaves unknown whether the path that is found is the cheapest."""
        everybody = frozenset(query for one in self.pools for query in one.queries)
        late = any(
            one.kind is Kind.BODY and (self.into[index] or self.starting[index] != everybody)
            for index, one in enumerate(self.pools)
        )
        return ((Doubt.DIAMOND,) if self.parting() else ()) + ((Doubt.KLEENE,) if late else ())

    def behind_partings(self) -> frozenset[int]:
        """The pools before which, on some way from the starts, a pool leads into several; ends do not count."""
        found: set[int] = set()
        for pool, links in enumerate(self.into):
            if any(link.before in found or len(self.following(link.before)) > 1 for link in links):
                found.add(pool)
        return frozenset(found)

    def following(self, pool: int) -> tuple[int, ...]:
        """The pools that queries go on to: all that follow but ends."""
        return tuple(link.after for link in self.out_of[pool] if self.pools[link.after].kind is not Kind.END)

    def parting(self) -> bool:
        """Whether two ways lead from one pool or start to another pool or end, against the arrows or along them."""
        joined = [{*one.before, *one.after} for one in self.junctions]
        for query in sorted(frozenset().union(*self.starting)):
            for type_ in sorted({name for one in self.pools for name in one.entries}):
                forking = {
                    index
                    for index, one in enumerate(self.pools)
                    if query in self.starting[index] and type_ in one.entries
                }
                if len(forking) > 1 and not any(forking <= known for known in joined):
                    joined.append(forking)
        return _has_cycle(len(self.pools), joined)


def pools_of(workload: Workload) -> Pools:
    """The pools of a workload; raises InvariantError E942 if types lie on a cycle that is in no body."""
    pools = _ordered(_unordered(workload))
    links = [link for after in range(len(pools)) for link in _links(pools, after)]
    into = tuple(tuple(link for link in links if link.after == index) for index in range(len(pools)))
    starting = tuple(
        frozenset(
            query
            for query in one.queries
            if any(type_ in one.entries for type_ in workload.starts[query])
            and not any(
                pools[link.before].kind is Kind.BODY and query in link.queries for link in into[index]
            )
        )
        for index, one in enumerate(pools)
    )
    return Pools(
        pools,
        into,
        tuple(tuple(link for link in links if link.before == index) for index in range(len(pools))),
        starting,
        _charged_starts(workload, pools),
        tuple(
            frozenset(
                query for query in one.queries if sum(query in link.queries for link in into[index]) > 1
            )
            for index, one in enumerate(pools)
        ),
    )


def _links(pools: Sequence[Pool], after: int) -> list[Link]:
    """From each pool that leaves at a type at which this one is entered, for queries of both."""
    links = []
    for before, one in enumerate(pools):
        queries = frozenset(one.queries) & frozenset(pools[after].queries)
        if before != after and queries:
            links += [
                Link(before, after, type_, queries) for type_ in one.exits if type_ in pools[after].entries
            ]
    return links


def _unordered(workload: Workload) -> list[Pool]:
    found = [
        Pool(Kind.TRANSITION, ((one.source, one.target),), one.queries, (one.source,), (one.target,))
        for one in workload.transitions
        if one.queries
    ]
    found += [
        Pool(Kind.BODY, body.transitions, body.queries, body.types, body.types)
        for body in workload.bodies
        if body.queries
    ]
    for type_ in dict.fromkeys(name for ends in workload.ends for name in ends):
        ending = tuple(query for query in workload.queries if type_ in workload.ends[query])
        found.append(Pool(Kind.END, (), ending, (type_,), ()))
    return found


def has_order(workload: Workload) -> bool:
    """Whether a workload has pools: no types lie on a cycle that is in no body."""
    try:
        _sorter(_unordered(workload)).prepare()
    except CycleError:
        return False
    return True


def _sorter(found: Sequence[Pool]) -> TopologicalSorter[int]:
    return TopologicalSorter(
        {
            index: {link.before for link in _links(found, index)}
            for index, one in enumerate(found)
            if one.kind is not Kind.END
        }
    )


def _ordered(found: list[Pool]) -> tuple[Pool, ...]:
    try:
        order = list(_sorter(found).static_order())
    except CycleError as error:
        names = " ".join(dict.fromkeys(found[index].entries[0] for index in error.args[1]))
        raise InvariantError(f"gloria: no Kleene body holds the cycle of {names}", code="E942") from error
    return (*(found[index] for index in order), *(one for one in found if one.kind is Kind.END))


def _charged_starts(workload: Workload, pools: Sequence[Pool]) -> tuple[tuple[str, ...], ...]:
    """A start is charged once, where the query first goes on, or ends at once."""
    charged: list[list[str]] = [[] for _ in pools]
    for query in workload.queries:
        for type_ in workload.starts[query]:
            first = next(
                index for index, one in enumerate(pools) if query in one.queries and type_ in one.entries
            )
            charged[first].append(type_)
    return tuple(map(tuple, charged))


def _has_cycle(pools: int, joined: Sequence[set[int]]) -> bool:
    """Whether the graph of pools, and of groups of pools that are joined, has a cycle."""
    root = list(range(pools))

    def found(pool: int) -> int:
        while root[pool] != pool:
            pool = root[pool]
        return pool

    for members in joined:
        roots = {found(pool) for pool in members}
        if len(roots) < len(members):
            return True
        for one in roots:
            root[one] = min(roots)
    return False
