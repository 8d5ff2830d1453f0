"""A workload in, its sharing plan out: build the graph, prune it, take the cheapest path.

Source: GLORIA (SIGMOD 2022), sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isfinite, prod
from time import perf_counter

from hamlet_core.sharing.gloria import nodes
from hamlet_core.sharing.gloria.building import build_graph
from hamlet_core.sharing.gloria.graph import Graph, graph_of
from hamlet_core.sharing.gloria.greedy import greedy_sets
from hamlet_core.sharing.gloria.plans import Doubt, SharingPlan, TransitionPlan
from hamlet_core.sharing.gloria.search import cheapest_path, is_wide, path_cost
from hamlet_core.sharing.gloria.workload import Workload


def plan_sharing(workload: Workload) -> SharingPlan:
    """The plan of a workload, never dearer than the greedy one; raises InvariantError E942 for a workload that is no template.

    >>> from hamlet_core.sharing.gloria.workload import of_sequences
    >>> plan = plan_sharing(of_sequences(["FABC", "ABC"], {"A": 5, "B": 10, "C": 12, "F": 10}))
    >>> [(one.source, one.target, " ".join(map(str, one.sets))) for one in plan.transitions]
    [('F', 'A', '(0)'), ('A', 'B', '(0,1)^A'), ('B', 'C', '(0,1)^A')]
    >>> plan.cost, plan.optimal
    (240.0, True)
    """
    begun = perf_counter()
    graph = build_graph(workload)
    if is_wide(graph) and Doubt.MANY_SETS not in graph.doubts:
        graph = replace(graph, doubts=(*graph.doubts, Doubt.MANY_SETS))
    path = cheapest_path(graph)
    if graph.doubts:
        greedy = graph_of(workload, graph.pools, [[sets] for sets in greedy_sets(workload, graph.pools)])
        straight = [0] * len(path)
        if path_cost(greedy, straight) < path_cost(graph, path):
            greedy = replace(greedy, pruned=graph.pruned, doubts=(*graph.doubts, Doubt.GREEDY))
            return described(greedy, straight, begun)
    return described(graph, path, begun)


def search_space(workload: Workload) -> int:
    """How many ways there are to put the queries of each transition into sets, whatever snapshots they carry.

    >>> from hamlet_core.sharing.gloria.workload import of_sequences
    >>> search_space(of_sequences(["ABC", "ABC", "AB"], {"A": 1, "B": 1, "C": 1}))
    10
    """
    return prod(nodes.bell(len(queries)) for _, queries in workload.pairs())


def plan_of(graph: Graph, *, begun: float | None = None) -> SharingPlan:
    """The plan that the cheapest path through a graph is; `begun`: reading of `perf_counter` when planning began."""
    begun = perf_counter() if begun is None else begun
    return described(graph, cheapest_path(graph), begun)


def described(graph: Graph, path: Sequence[int], begun: float) -> SharingPlan:
    """A path as the plan of the workload."""
    weights = [weight for rows in graph.weights.values() for row in rows for weight in row]
    return SharingPlan(
        tuple(
            TransitionPlan(*pair, graph.nodes[pool][path[pool]].sets)
            for pool in graph.planned
            for pair in graph.pools.pools[pool].transitions
        ),
        path_cost(graph, path),
        sum(len(graph.nodes[pool]) for pool in graph.planned) + len(graph.pruned),
        graph.pruned,
        sum(map(isfinite, weights)),
        sum(len(node.nearest) for own in graph.nodes for node in own),
        graph.doubts,
        perf_counter() - begun,
    )
