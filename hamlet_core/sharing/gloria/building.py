"""A workload in, its GLORIA graph out: pool by pool from the starts, without nodes to which another is as good.

Source: GLORIA (SIGMOD 2022), section 4: node generation and node pruning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import product
from math import prod, sqrt

from hamlet_core.sharing.gloria import nodes
from hamlet_core.sharing.gloria.costs import Frequencies
from hamlet_core.sharing.gloria.graph import Graph, Node, Weights, reached, weights_into
from hamlet_core.sharing.gloria.nodes import Incoming
from hamlet_core.sharing.gloria.plans import Doubt, PrunedNode, Sets
from hamlet_core.sharing.gloria.pools import Kind, Pools, pools_of
from hamlet_core.sharing.gloria.workload import Workload

FEWEST = 8
"""Nodes of a pool that stay however large a template is."""


class Pruning(Enum):
    """Which nodes are dropped."""

    NONE = "none"
    PAPER = "paper"
    """Those that are no nearer to the starts, and have no rarer snapshot type, than another node with the same sets."""
    GUARDED = "guarded"
    """Of those the ones that are no nearer after the next step, either: the proof of the paper overlooks that new
    snapshots have expressions of one term there. And none where ways have parted before: what is nearer on this one
    may be dear on the other.
    """


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a graph stops to be whole, so that planning many queries ends. A plan that was cut says so."""

    candidates: int = 500
    """Of a pool, as far as can be foreseen: of more, sets are joined in fewer ways."""
    nodes: int = 100
    """Of a pool that stay: of more, those in which nobody or everybody shares, and the nearest others."""
    steps: int = 12_000_000
    """Of queries between nodes, about: where a template has more, each pool has fewer nodes and candidates."""

    def of(self, pools: Pools) -> Limits:
        """Those of a template, whose steps are the nodes times the candidates, for each query that goes on."""
        most = sum(len(link.queries) for links in pools.into for link in links)
        nodes_ = int(sqrt(self.steps * self.nodes / (self.candidates * max(most, 1))))
        if nodes_ >= self.nodes:
            return self
        nodes_ = max(nodes_, FEWEST)
        return replace(self, nodes=nodes_, candidates=self.candidates * nodes_ // self.nodes)


def build_graph(
    workload: Workload, *, pruning: Pruning = Pruning.GUARDED, limits: Limits | None = Limits()
) -> Graph:
    """The graph of a workload; without limits, sets are joined in every way, however many those are.

    Raises InvariantError E942 for a workload that is no template.
    """
    pools = pools_of(workload)
    limits = limits and limits.of(pools)
    frequencies = workload.frequencies
    built: list[tuple[Node, ...]] = []
    weights: dict[tuple[int, int], Weights] = {}
    pruned: list[PrunedNode] = []
    cut = False
    behind = pools.behind_partings()
    for pool in range(len(pools.pools)):
        found, fewer = _candidates(pools, pool, built, frequencies, limits)
        links = weights_into(pools, pool, built, found, frequencies)
        made = reached(pools, pool, built, found, links, frequencies)
        kept = list(range(len(made)))
        if pruning is Pruning.PAPER or (pruning is Pruning.GUARDED and pool not in behind):
            lost = _dominated(pools, pool, made, frequencies, pruning)
            kept = [index for index in kept if index not in lost]
            pruned += [
                PrunedNode(
                    pools.pools[pool].transitions,
                    made[index].sets,
                    made[index].distance_from_start,
                    made[by].sets,
                    made[by].distance_from_start,
                )
                for index, by in lost.items()
            ]
        if limits is not None and len(kept) > limits.nodes:
            fewer = True
            kept = _nearest(made, kept, limits.nodes)
        cut = cut or fewer
        built.append(tuple(made[index] for index in kept))
        for link, rows in zip(pools.into[pool], links, strict=True):
            weights[link.before, link.after] = tuple(tuple(row[index] for index in kept) for row in rows)
    doubts = pools.doubts + ((Doubt.MANY_SETS,) if cut else ())
    return Graph(workload, pools, tuple(built), weights, tuple(pruned), doubts)


def _candidates(
    pools: Pools, pool: int, built: Sequence[Sequence[Node]], frequencies: Frequencies, limits: Limits | None
) -> tuple[list[Sets], bool]:
    """The different plans of a pool by age; and whether ways to join or combine were left out."""
    if pools.pools[pool].kind is Kind.END:
        return [()], False
    parts = [
        list(dict.fromkeys(nodes.going(node.sets, link.queries) for node in built[link.before]))
        for link in pools.into[pool]
    ]
    fewer = limits is not None and prod(map(len, parts)) > limits.candidates
    combined = _some_combinations(parts) if fewer else product(*parts)
    incoming = list(dict.fromkeys(nodes.incoming(pools, pool, before) for before in combined))
    most = None
    if limits is not None and pools.pools[pool].kind is Kind.TRANSITION:
        most = _joined_in_every_way(incoming, limits)
        fewer = fewer or any(len(sets) > most for sets in incoming)
    found: dict[Sets, None] = {}
    for sets in incoming:
        found.update(dict.fromkeys(nodes.candidates(pools, pool, sets, frequencies, most)))
    if limits is not None and len(found) > limits.candidates:
        return [*filter(_plain, found), *(sets for sets in found if not _plain(sets))][
            : limits.candidates
        ], True
    return list(found), fewer


def _joined_in_every_way(incoming: Iterable[Sequence[Incoming]], limits: Limits) -> int:
    """Up to how many sets are joined in every way: as many as keep all candidates within the limits."""
    sizes = [len(sets) for sets in incoming]
    for most in range(nodes.MOST_SETS, 2, -1):
        if sum(nodes.bell(size) if size <= most else 3 for size in sizes) <= limits.candidates:
            return most
    return 2


def _some_combinations(parts: Sequence[Sequence[Sets]]) -> list[tuple[Sets, ...]]:
    """Of too many combinations those in which all preceding pools but one say what their first node does, or do not share."""
    alone = [next(part for part in one if not any(own.shared for own in part)) for one in parts]
    found: dict[tuple[Sets, ...], None] = {}
    for usual in ([one[0] for one in parts], alone):
        for index, one in enumerate(parts):
            for part in one:
                found[(*usual[:index], part, *usual[index + 1 :])] = None
    return list(found)


def _nearest(made: Sequence[Node], kept: Sequence[int], most: int) -> list[int]:
    """Those in which nobody shares, which lead to all ends, or everybody; then the nearest of each kind of sets."""
    rank: dict[tuple[object, ...], int] = {}
    order = []
    for index in sorted(kept, key=lambda index: made[index].behind):
        sets = made[index].sets
        kind = _kind(sets)
        rank[kind] = rank.get(kind, -1) + 1
        order.append((not _plain(sets), rank[kind], made[index].behind, index))
    return sorted(index for *_, index in sorted(order)[:most])


def _plain(sets: Sets) -> bool:
    """Whether everybody shares, or nobody."""
    return len(sets) == 1 or not any(own.shared for own in sets)


def _kind(sets: Sets) -> tuple[object, ...]:
    """Two nodes are compared if these are equal."""
    return tuple((own.queries, own.shared) for own in sets)


def _dominated(
    pools: Pools, pool: int, made: Sequence[Node], frequencies: Frequencies, pruning: Pruning
) -> dict[int, int]:
    """Node pruning: the nodes that go, and for each the nearest of those that it loses to."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for index, node in enumerate(made):
        alike.setdefault(_kind(node.sets), []).append(index)
    lost: dict[int, int] = {}
    for group in alike.values():
        for index in group:
            better = [
                other
                for other in group
                if _dominates(made[other], made[index], frequencies)
                and (
                    pruning is Pruning.PAPER
                    or _stays_ahead(pools, pool, made[other], made[index], frequencies)
                )
            ]
            if better:
                lost[index] = min(better, key=lambda other: made[other].distance_from_start)
    return dict(sorted(lost.items()))


def _dominates(one: Node, other: Node, frequencies: Frequencies) -> bool:
    """Whether the other node of the same sets has no rarer snapshot type and is no nearer, and is worse in one."""
    types = [
        (frequencies[own.snapshot_type], frequencies[its.snapshot_type])
        for own, its in zip(one.sets, other.sets, strict=True)
        if own.snapshot_type is not None and its.snapshot_type is not None
    ]
    compared = [(one.distance_from_start, other.distance_from_start), *types]
    return all(mine <= its for mine, its in compared) and any(mine < its for mine, its in compared)


def _stays_ahead(pools: Pools, pool: int, one: Node, other: Node, frequencies: Frequencies) -> bool:
    """Whether a node that dominates another is no dearer after the next step, queries that have ended included."""
    return one.behind + nodes.dearer_later(pools, pool, one.sets, other.sets, frequencies) <= other.behind
