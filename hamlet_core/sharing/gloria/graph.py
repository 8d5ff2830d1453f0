"""The GLORIA graph: plans as nodes, pool by pool, legal steps as edges with what they cost, distances from the starts.

Source: GLORIA (SIGMOD 2022), sections 3 and 4: graph, weights and edge pruning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hamlet_core.sharing.gloria import nodes
from hamlet_core.sharing.gloria.costs import Frequencies
from hamlet_core.sharing.gloria.plans import Doubt, PrunedNode, Sets
from hamlet_core.sharing.gloria.pools import Kind, Pools
from hamlet_core.sharing.gloria.workload import Workload

Weights = tuple[tuple[float, ...], ...]
"""Node of the preceding pool, node of the following one -> weight of the edge; infinite: there is none."""


@dataclass(frozen=True, slots=True)
class Node:
    """A plan of a pool, and the cheapest cost of everything before it, as far as one preceding pool knows."""

    sets: Sets
    distance_from_start: float
    behind: float
    """The same with what queries cost that have ended on the way."""
    ending: float
    """What queries cost that end after it."""
    nearest: tuple[int, ...]
    """By link into the pool: the node before it on the edge that edge pruning leaves."""


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes and edges that are left for the path search."""

    workload: Workload
    pools: Pools
    nodes: tuple[tuple[Node, ...], ...]
    """By pool; an end has one node."""
    weights: Mapping[tuple[int, int], Weights]
    """By preceding and following pool."""
    pruned: tuple[PrunedNode, ...]
    doubts: tuple[Doubt, ...]

    @property
    def planned(self) -> list[int]:
        """The pools that have something to plan: all but ends."""
        return [index for index, one in enumerate(self.pools.pools) if one.kind is not Kind.END]


def reweighed(graph: Graph, frequencies: Frequencies) -> Graph:
    """The same nodes under new statistics: distances and weights anew, in one pass over nodes and edges.

    Nodes that were pruned stay away: a plan that is found is the cheapest of those that the graph has kept.
    """
    workload = replace(graph.workload, frequencies=frequencies)
    doubts = graph.doubts
    if workload != graph.workload and Doubt.OLDER not in doubts:
        doubts = (*doubts, Doubt.OLDER)
    sets = [[node.sets for node in own] for own in graph.nodes]
    return replace(graph_of(workload, graph.pools, sets), pruned=graph.pruned, doubts=doubts)


def graph_of(workload: Workload, pools: Pools, sets: Sequence[Sequence[Sets]]) -> Graph:
    """The graph that has these plans of each pool as its nodes."""
    built: list[tuple[Node, ...]] = []
    weights: dict[tuple[int, int], Weights] = {}
    for pool, found in enumerate(sets):
        links = weights_into(pools, pool, built, found, workload.frequencies)
        built.append(tuple(reached(pools, pool, built, found, links, workload.frequencies)))
        for link, rows in zip(pools.into[pool], links, strict=True):
            weights[link.before, link.after] = rows
    return Graph(workload, pools, tuple(built), weights, (), pools.doubts)


def weights_into(
    pools: Pools,
    pool: int,
    built: Sequence[Sequence[Node]],
    found: Sequence[Sets],
    frequencies: Frequencies,
) -> list[Weights]:
    """By link into the pool."""
    return [
        nodes.Steps(pools, link, frequencies).weights([node.sets for node in built[link.before]], found)
        for link in pools.into[pool]
    ]


def reached(
    pools: Pools,
    pool: int,
    built: Sequence[Sequence[Node]],
    found: Sequence[Sets],
    links: Sequence[Weights],
    frequencies: Frequencies,
) -> list[Node]:
    """Edge pruning: per preceding pool only the edge that adds least to the distance, of equals that of the older node."""
    distance = np.array([nodes.entry(pools, pool, sets, frequencies) for sets in found])
    behind, nearest = distance.copy(), []
    for link, rows in zip(pools.into[pool], links, strict=True):
        steps = np.array(rows)
        ways = np.array([node.distance_from_start for node in built[link.before]])[:, None] + steps
        nearest.append(ways.argmin(axis=0).tolist())
        distance = distance + ways.min(axis=0)
        left = np.array([node.behind + node.ending for node in built[link.before]])
        behind = behind + (left[:, None] + steps).min(axis=0)
    of_nodes = list(zip(*nearest, strict=True)) or [()] * len(found)
    ending = nodes.endings(pools, pool, found, frequencies)
    return [
        Node(*about)
        for about in zip(found, distance.tolist(), behind.tolist(), ending, of_nodes, strict=True)
    ]
