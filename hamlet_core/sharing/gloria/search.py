"""The cheapest path through a GLORIA graph: one plan from each pool, legal steps between all that are linked.

Source: GLORIA (SIGMOD 2022), section 4, path search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from math import inf, prod

import numpy as np
import numpy.typing as npt

from hamlet_core.sharing.gloria import nodes
from hamlet_core.sharing.gloria.graph import Graph
from hamlet_core.sharing.gloria.plans import Doubt
from hamlet_core.sharing.gloria.pools import Junction

Costs = npt.NDArray[np.float64]
"""By node of a pool."""
Path = tuple[int, ...]
"""Pool -> its node."""

MOST_AT_ONCE = 1 << 12
"""Ways to choose nodes of one side of a junction that are looked at together."""

MOST_WAYS = 1 << 15
"""That are looked at of one junction; of more those that are found by improving `STARTS` and one."""
STARTS = 8

MOST_TRIES = 5_000
"""Nodes that are looked at to complete the paths of a diamond template."""


def path_cost(graph: Graph, path: Sequence[int]) -> float:
    """What a path costs; infinite if a step of it is not legal."""
    frequencies = graph.workload.frequencies
    cost = sum(
        nodes.entry(graph.pools, pool, graph.nodes[pool][node].sets, frequencies)
        for pool, node in enumerate(path)
    )
    return cost + sum(rows[path[before]][path[after]] for (before, after), rows in graph.weights.items())


def cheapest_path(graph: Graph) -> Path:
    """The cheapest path; of a diamond template a good one.

    Where every pool leads into one, edge pruning has found it: it is followed back from the ends. Where every pool comes
    from one, edges are reversed, and it is followed on from the starts by the distance to the ends. Else distances are
    taken from all sides towards one end, and branches are completed by them.
    """
    if Doubt.DIAMOND in graph.doubts:
        return _of_diamonds(graph)
    if all(len(one) <= 1 for one in graph.pools.out_of):
        return followed_back(graph)
    if all(len(one) <= 1 for one in graph.pools.into):
        return followed_on(graph)
    return _of_trees(graph)


def followed_back(graph: Graph) -> Path:
    """From each end, which has one node, along the edges that edge pruning left; needs pools with one following pool."""
    path = [0] * len(graph.nodes)
    for pool in reversed(range(len(path))):
        nearest = graph.nodes[pool][path[pool]].nearest
        for link, node in zip(graph.pools.into[pool], nearest, strict=True):
            path[link.before] = node
    return tuple(path)


def followed_on(graph: Graph) -> Path:
    """From each first pool along the edges on which the ends are nearest; needs pools with one preceding pool."""
    distances = distance_to_end(graph)
    path: list[int] = []
    for pool, links in enumerate(graph.pools.into):
        on = _on_from(graph, distances, pool)
        if links:
            row = graph.weights[links[0].before, pool][path[links[0].before]]
            on = [weight + distance for weight, distance in zip(row, on, strict=True)]
        path.append(_least(on))
    return tuple(path)


def distance_to_end(graph: Graph) -> list[list[float]]:
    """By pool and node: the cheapest cost of everything after it, on to all ends."""
    distances: list[list[float]] = [[] for _ in graph.nodes]
    for pool in reversed(range(len(graph.nodes))):
        own = [0.0] * len(graph.nodes[pool])
        for link in graph.pools.out_of[pool]:
            on = _on_from(graph, distances, link.after)
            for index, row in enumerate(graph.weights[pool, link.after]):
                own[index] += min(map(sum, zip(row, on, strict=True)))
        distances[pool] = own
    return distances


def _on_from(graph: Graph, distances: Sequence[Sequence[float]], pool: int) -> list[float]:
    """By node: what it costs itself, and everything after it."""
    own = _entries(graph, pool)
    return [entry + distance for entry, distance in zip(own, distances[pool], strict=True)]


def _entries(graph: Graph, pool: int) -> list[float]:
    frequencies = graph.workload.frequencies
    return [nodes.entry(graph.pools, pool, node.sets, frequencies) for node in graph.nodes[pool]]


def _least(values: Sequence[float]) -> int:
    """The first of the smallest."""
    return min(range(len(values)), key=values.__getitem__)


def _of_trees(graph: Graph) -> Path:
    """For each pool, seen from one end of its tree: what its nodes cost with all that lies behind them, either way."""
    junctions = graph.pools.junctions
    beside: list[list[int]] = [[] for _ in graph.nodes]
    for number, junction in enumerate(junctions):
        for pool in (*junction.before, *junction.after):
            beside[pool].append(number)
    costs = [_entries(graph, pool) for pool in range(len(graph.nodes))]
    path = [-1] * len(graph.nodes)
    for root in reversed(range(len(path))):  # ends come last; one in each tree
        if path[root] >= 0:
            continue
        order = _outwards(root, junctions, beside)
        chosen: list[list[Mapping[int, int]]] = []
        for number, pool in reversed(order):
            completed = _completed(graph, junctions[number], costs, pool)
            costs[pool] = [own + cost for own, (cost, _) in zip(costs[pool], completed, strict=True)]
            chosen.append([choice for _, choice in completed])
        path[root] = _least(costs[root])
        for (_, pool), choices in zip(order, reversed(chosen), strict=True):
            for other, node in choices[path[pool]].items():
                path[other] = node
    return tuple(path)


def _outwards(
    root: int, junctions: Sequence[Junction], beside: Sequence[Sequence[int]]
) -> list[tuple[int, int]]:
    """The junctions of a tree with the pool through which each is seen from the root, nearer ones first."""
    order: list[tuple[int, int]] = []
    waiting, seen = [root], set()
    while waiting:
        pool = waiting.pop()
        for number in beside[pool]:
            if number not in seen:
                seen.add(number)
                order.append((number, pool))
                waiting += [
                    one for one in (*junctions[number].before, *junctions[number].after) if one != pool
                ]
    return order


def _completed(
    graph: Graph, junction: Junction, costs: Sequence[Sequence[float]], pool: int
) -> list[tuple[float, Mapping[int, int]]]:
    """By node of one pool of a junction: the cheapest nodes of all its other pools, and what they and the steps cost.

    The side with fewer pools is tried in every way, or, if those are too many, in some; given it, the pools of the other side do
    not mind each other.
    """
    few, many = sorted((junction.before, junction.after), key=len)
    own = {one: np.zeros(len(costs[one])) if one == pool else np.array(costs[one]) for one in (*few, *many)}
    best: list[tuple[float, Mapping[int, int]]] = [(inf, {})] * len(costs[pool])
    ways = _ways(graph, few, many, own, pool)
    while tried := list(islice(ways, MOST_AT_ONCE)):
        fixed = dict(zip(few, np.array(tried).T, strict=True))
        steps = {one: sum(_steps(graph, other, one)[at] for other, at in fixed.items()) for one in many}
        nearest = {one: own[one] + steps[one] for one in many if one != pool}
        total = sum(own[one][at] for one, at in fixed.items()) + sum(
            one.min(axis=1) for one in nearest.values()
        )
        for node, (least, _) in enumerate(best):
            found = (
                total + steps[pool][:, node] if pool in steps else np.where(fixed[pool] == node, total, inf)
            )
            way = int(found.argmin())
            if found[way] < least:
                chosen = {one: int(at[way]) for one, at in fixed.items()}
                chosen |= {one: int(found_[way].argmin()) for one, found_ in nearest.items()}
                best[node] = float(found[way]), chosen | {pool: node}
    return best


def is_wide(graph: Graph) -> bool:
    """Whether some junction has more ways than are tried."""
    return any(
        prod(len(graph.nodes[one]) for one in min(junction.before, junction.after, key=len)) > MOST_WAYS
        for junction in graph.pools.junctions
    )


def _ways(
    graph: Graph, few: Sequence[int], many: Sequence[int], own: Mapping[int, Costs], pool: int
) -> Iterator[tuple[int, ...]]:
    """The ways to choose a node of each of these pools: all, or those that are found by improving some by turns.

    Then each is taken with every node of the pool that is asked about, if it is among them.
    """
    if prod(len(own[one]) for one in few) <= MOST_WAYS:
        yield from product(*(range(len(own[one])) for one in few))
        return
    plain = [
        next(at for at, node in enumerate(graph.nodes[one]) if not any(its.shared for its in node.sets))
        for one in few
    ]
    most = max(len(own[one]) for one in few)
    found: dict[tuple[int, ...], None] = {}
    for start in (
        plain,
        *([min(rank, len(own[one]) - 1) for one in few] for rank in range(min(most, STARTS))),
    ):
        way = tuple(start)
        while way not in found:
            found[way] = None
            chosen = _nearest_given(graph, many, own, dict(zip(few, way, strict=True)))
            way = tuple(_nearest_given(graph, few, own, chosen).values())
    for way in found:
        for at in range(len(own[pool])) if pool in few else (0,):
            yield tuple(at if one == pool else its for one, its in zip(few, way, strict=True))


def _nearest_given(
    graph: Graph, others: Sequence[int], own: Mapping[int, Costs], fixed: Mapping[int, int]
) -> dict[int, int]:
    """The cheapest nodes of the pools on one side of a junction, each by itself, if those of the other side are fixed."""
    return {
        other: int((own[other] + sum(_steps(graph, one, other)[at] for one, at in fixed.items())).argmin())
        for other in others
    }


def _steps(graph: Graph, one: int, other: int) -> npt.NDArray[np.float64]:
    """[node of one pool, node of the other]: what steps between two sides of a junction cost, whichever comes first."""
    if (one, other) in graph.weights:
        return np.array(graph.weights[one, other])
    if (other, one) in graph.weights:
        return np.array(graph.weights[other, one]).T
    return np.zeros((len(graph.nodes[one]), len(graph.nodes[other])))


def _of_diamonds(graph: Graph) -> Path:
    """For each node of the last pool back through all others, nearest first, and the cheapest of these paths.

    A path has one plan of each pool, so a pool on two ways is chosen once, for both. Where that leads nowhere it is
    chosen anew; after `MOST_TRIES` the search ends. That nobody shares is always one of the paths.
    """
    best = tuple(
        next(index for index, node in enumerate(own) if not any(one.shared for one in node.sets))
        for own in graph.nodes
    )
    least = path_cost(graph, best)
    pools = graph.planned[::-1]
    tries = MOST_TRIES
    for last in _nearest_first(graph, pools[0], [0] * len(graph.nodes)) if pools else ():
        path, tries = _back_from(graph, pools, last, tries)
        if path is not None and path_cost(graph, path) < least:
            best, least = path, path_cost(graph, path)
    return best


def _back_from(graph: Graph, pools: Sequence[int], last: int, tries: int) -> tuple[Path | None, int]:
    """Depth first: the first legal path with this node of the first of the pools; and how many tries are left."""
    path = [0] * len(graph.nodes)
    waiting = [iter([last])]
    while waiting and tries:
        pool = pools[len(waiting) - 1]
        node = next(waiting[-1], None)
        tries -= 1
        if node is None:
            waiting.pop()
            continue
        path[pool] = node
        if len(waiting) == len(pools):
            return tuple(path), tries
        waiting.append(_nearest_first(graph, pools[len(waiting)], path))
    return None, tries


def _nearest_first(graph: Graph, pool: int, path: Sequence[int]) -> Iterator[int]:
    """The nodes of a pool with edges to those of the pools that follow on the path."""
    rows = [(graph.weights[pool, link.after], path[link.after]) for link in graph.pools.out_of[pool]]
    ways = [
        node.distance_from_start + sum(row[index][after] for row, after in rows)
        for index, node in enumerate(graph.nodes[pool])
    ]
    return iter(sorted((index for index, way in enumerate(ways) if way < inf), key=ways.__getitem__))
