"""What becomes of a plan when queries come and go or statistics change, and whether a new plan is worth the move.

Source: GLORIA (SIGMOD 2022), section 5, on changes of workload and statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, chain
from time import perf_counter

from hamlet_core.errors import InvariantError
from hamlet_core.sharing.gloria import costs, nodes
from hamlet_core.sharing.gloria.costs import Frequencies
from hamlet_core.sharing.gloria.graph import Graph, graph_of, reweighed
from hamlet_core.sharing.gloria.planning import described, plan_of
from hamlet_core.sharing.gloria.plans import Doubt, QuerySet, Sets, SharingPlan
from hamlet_core.sharing.gloria.pools import Pools, pools_of
from hamlet_core.sharing.gloria.workload import KleeneBody, Pair, Transition, Workload


@dataclass(frozen=True, slots=True)
class Migration:
    """What a move from one plan to another brings in each window, and what it costs once."""

    saving: float
    cost: float

    @property
    def worth(self) -> bool:
        """Whether it pays within a window."""
        return self.saving > self.cost


def with_queries(workload: Workload, *new: Workload) -> Workload:
    """All workloads as one; the queries of each are numbered after all before it, and its frequencies hold where given."""
    every = (workload, *new)
    shifts = accumulate((len(one.starts) for one in new), initial=len(workload.starts))
    takers: dict[Pair, list[int]] = {}
    rounds: dict[tuple[Pair, ...], list[int]] = {}
    for one, added in zip(every, (0, *shifts), strict=False):
        for transition in one.transitions:
            pair = transition.source, transition.target
            takers.setdefault(pair, []).extend(query + added for query in transition.queries)
        for body in one.bodies:
            known = next((own for own in rounds if set(own) == set(body.transitions)), body.transitions)
            rounds.setdefault(known, []).extend(query + added for query in body.queries)
    return Workload(
        tuple(Transition(*pair, tuple(sorted(queries))) for pair, queries in takers.items()),
        tuple(chain.from_iterable(one.starts for one in every)),
        tuple(chain.from_iterable(one.ends for one in every)),
        {name: frequency for one in every for name, frequency in one.frequencies.items()},
        tuple(KleeneBody(pairs, tuple(sorted(queries))) for pairs, queries in rounds.items()),
    )


def without_query(workload: Workload, query: int) -> Workload:
    """The workload without a query; all others keep their numbers."""
    return replace(
        workload,
        transitions=tuple(
            replace(one, queries=tuple(own for own in one.queries if own != query))
            for one in workload.transitions
            if one.queries != (query,)
        ),
        bodies=tuple(
            replace(one, queries=tuple(own for own in one.queries if own != query))
            for one in workload.bodies
            if one.queries != (query,)
        ),
        starts=tuple(() if own == query else types for own, types in enumerate(workload.starts)),
        ends=tuple(() if own == query else types for own, types in enumerate(workload.ends)),
    )


def plan_with(workload: Workload, plan: SharingPlan) -> SharingPlan:
    """The plan for a workload that has more queries than it was made for: each new one shares with nobody."""
    pools = pools_of(workload)
    known = _by_pair(plan)
    chosen: list[Sets] = []
    for pool in pools.pools:
        if not pool.transitions:
            chosen.append(())
            continue
        own = [own for own in known.get(pool.transitions[0], ()) if set(own.queries) <= set(pool.queries)]
        new = set(pool.queries).difference(*(one.queries for one in own))
        chosen.append(tuple(sorted([*own, *nodes.unshared(new)])))
    return _changed(workload, pools, chosen)


def plan_without(workload: Workload, plan: SharingPlan) -> SharingPlan:
    """The plan for a workload that has fewer queries than it was made for: they leave their sets.

    Who is left alone in a set from its beginning goes unshared from there on.
    """
    pools = pools_of(workload)
    known = _by_pair(plan)
    chosen: list[Sets] = []
    for pool, one in enumerate(pools.pools):
        kept = () if not one.transitions else nodes.going(known[one.transitions[0]], frozenset(one.queries))
        before = [own for link in pools.into[pool] for own in nodes.going(chosen[link.before], link.queries)]
        sharing = {query for own in before if own.shared for query in own.queries}
        chosen.append(
            tuple(
                QuerySet(own.queries)
                if len(own.queries) == 1 and not sharing.intersection(own.queries)
                else own
                for own in kept
            )
        )
    return _changed(workload, pools, chosen)


def plan_again(graph: Graph, frequencies: Frequencies) -> SharingPlan:
    """The plan under new statistics, from the nodes that the graph kept: O(nodes + edges), nothing is built."""
    begun = perf_counter()
    return plan_of(reweighed(graph, frequencies), begun=begun)


def plan_cost(workload: Workload, plan: SharingPlan) -> float:
    """What a plan costs under the statistics of a workload; raises InvariantError E943 if it is none for it."""
    pools = pools_of(workload)
    known = _by_pair(plan)
    chosen = [
        nodes.going(known.get(one.transitions[0], ()), frozenset(one.queries)) if one.transitions else ()
        for one in pools.pools
    ]
    return _changed(workload, pools, chosen).cost


def migration(workload: Workload, old: SharingPlan, new: SharingPlan) -> Migration:
    """What a move brings under the statistics of a workload that both are plans of.

    Expressions of the old plan are evaluated once for each query, on the first transitions on its way where the new
    plan wants something else: numbers, or expressions over other snapshots or with other queries.
    """
    frequencies, pools = workload.frequencies, pools_of(workload)
    before, after = _by_pair(old), _by_pair(new)
    cost = 0.0
    moved: list[frozenset[int]] = []
    for pool, one in enumerate(pools.pools):
        past = frozenset(query for link in pools.into[pool] for query in moved[link.before] & link.queries)
        differing = set(past)
        for pair in one.transitions:
            goal = {query: own for own in after[pair] for query in own.queries}
            for own in before[pair]:
                leaving = [query for query in own.queries if query in one.queries and goal[query] != own]
                differing.update(leaving)
                if own.snapshot_type is not None:
                    terms = costs.length(frequencies, pair[0], own.snapshot_type)
                    cost += len(set(leaving) - past) * frequencies[pair[0]] * terms
        moved.append(frozenset(differing))
    return Migration(plan_cost(workload, old) - plan_cost(workload, new), cost)


def _by_pair(plan: SharingPlan) -> Mapping[Pair, Sets]:
    pairs = dict.fromkeys((one.source, one.target) for one in plan.transitions)
    return {pair: plan.sets(*pair) for pair in pairs}


def _changed(workload: Workload, pools: Pools, chosen: list[Sets]) -> SharingPlan:
    begun = perf_counter()
    for one, sets in zip(pools.pools, chosen, strict=True):
        if one.transitions and sorted(query for own in sets for query in own.queries) != list(one.queries):
            raise InvariantError(f"gloria: {one.transitions} has no plan for {one.queries}", code="E943")
    graph = graph_of(workload, pools, [[sets] for sets in chosen])
    for (before, after), rows in graph.weights.items():
        if rows[0][0] == float("inf"):
            names = pools.pools[before].transitions, pools.pools[after].transitions
            raise InvariantError(f"gloria: no legal step from {names[0]} to {names[1]}", code="E943")
    return described(replace(graph, doubts=(*graph.doubts, Doubt.CHANGED)), [0] * len(chosen), begun)
