"""Two other ways to plan, for comparison: greedily, and by looking at every path.

Source: GLORIA (SIGMOD 2022), section 6, the greedy optimizer and the graph without pruning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf
from time import perf_counter

from hamlet_core.sharing.gloria import nodes
from hamlet_core.sharing.gloria.building import Pruning, build_graph
from hamlet_core.sharing.gloria.graph import Graph, graph_of
from hamlet_core.sharing.gloria.greedy import greedy_sets
from hamlet_core.sharing.gloria.planning import described
from hamlet_core.sharing.gloria.plans import Doubt, SharingPlan
from hamlet_core.sharing.gloria.pools import pools_of
from hamlet_core.sharing.gloria.workload import Workload


def plan_greedily(workload: Workload) -> SharingPlan:
    """One plan of each pool, the one to which the step is cheapest: sets go on, and those that go alone join or do not.

    On a tie they share. Raises InvariantError E942 for a workload that is no template.
    """
    begun = perf_counter()
    pools = pools_of(workload)
    chosen = greedy_sets(workload, pools)
    graph = graph_of(workload, pools, [[sets] for sets in chosen])
    return described(replace(graph, doubts=(*graph.doubts, Doubt.GREEDY)), [0] * len(chosen), begun)


def plan_by_enumeration(workload: Workload) -> SharingPlan:
    """The cheapest of all paths through the graph of all nodes. Takes time exponential in queries and transitions.

    Raises InvariantError E942 for a workload that is no template.
    """
    begun = perf_counter()
    graph = build_graph(workload, pruning=Pruning.NONE, limits=None)
    _, path = min(paths(graph), key=lambda found: found[0])
    return described(graph, path, begun)


def paths(graph: Graph) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Every path through a graph and its cost: a node of each pool, with an edge between all that are linked."""
    own = [
        [nodes.entry(graph.pools, pool, node.sets, graph.workload.frequencies) for node in found]
        for pool, found in enumerate(graph.nodes)
    ]
    path: list[int] = []

    def onwards(cost: float) -> Iterator[tuple[float, tuple[int, ...]]]:
        pool = len(path)
        if pool == len(own):
            yield cost, tuple(path)
            return
        for node, entry in enumerate(own[pool]):
            steps = (
                graph.weights[link.before, pool][path[link.before]][node] for link in graph.pools.into[pool]
            )
            further = cost + entry + sum(steps)
            if further < inf:
                path.append(node)
                yield from onwards(further)
                path.pop()

    return onwards(0.0)
