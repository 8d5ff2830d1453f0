"""A plan in one pass from the starts: of each pool the one to which the step is cheapest.

Source: GLORIA (SIGMOD 2022), section 6, the greedy optimizer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hamlet_core.sharing.gloria import nodes
from hamlet_core.sharing.gloria.costs import Frequencies
from hamlet_core.sharing.gloria.nodes import Incoming
from hamlet_core.sharing.gloria.plans import QuerySet, Sets
from hamlet_core.sharing.gloria.pools import Kind, Pools
from hamlet_core.sharing.gloria.workload import Workload


def greedy_sets(workload: Workload, pools: Pools) -> list[Sets]:
    """By pool. Sets go on as they are; those that go alone join or do not, whatever is cheaper there, and join on a tie."""
    chosen: list[Sets] = []
    for pool, links in enumerate(pools.into):
        before = [nodes.going(chosen[link.before], link.queries) for link in links]
        incoming = nodes.incoming(pools, pool, before)
        options = list(_shared_or_not(pools, pool, incoming, workload.frequencies))
        weights = [_weight(pools, pool, chosen, after, workload.frequencies) for after in options]
        chosen.append(options[weights.index(min(weights))])
    return chosen


def _shared_or_not(
    pools: Pools, pool: int, sets: Sequence[Incoming], frequencies: Frequencies
) -> Iterator[Sets]:
    one = pools.pools[pool]
    if one.kind is not Kind.TRANSITION:
        yield from nodes.candidates(pools, pool, sets, frequencies, None)
        return
    fresh = one.entries[0]
    kept = [own.own if own.settled else QuerySet(own.own.queries, fresh) for own in sets]
    alone = [own for own in kept if not own.shared]
    if len(alone) > 1:
        together = QuerySet(tuple(sorted(query for own in alone for query in own.queries)), fresh)
        yield tuple(sorted([together, *(own for own in kept if own.shared)]))
    yield tuple(sorted(kept))


def _weight(pools: Pools, pool: int, chosen: Sequence[Sets], after: Sets, frequencies: Frequencies) -> float:
    """Of the edges into a node, and of what it costs itself."""
    cost = nodes.entry(pools, pool, after, frequencies)
    for link in pools.into[pool]:
        cost += nodes.Steps(pools, link, frequencies).weights([chosen[link.before]], [after])[0][0]
    return cost
