"""Can the pattern bind one sequence of events in two ways? Decided on event types alone (SEMANTICS 3).

Two positions are an *ambiguous pair* if some sequence of types is accepted by two paths that differ there. Without such a
pair a path is a trend, and counting paths is counting trends. Otherwise the engines determinise over sets of positions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

from hamlet_core.pattern.automaton import Automaton

Pair: TypeAlias = tuple[int, int]
PositionSet: TypeAlias = tuple[int, ...]


def successors(automaton: Automaton) -> dict[int, tuple[int, ...]]:
    """Position -> the positions that may directly follow it."""
    following: dict[int, list[int]] = defaultdict(list)
    for edge in automaton.edges:
        following[edge.source].append(edge.target)
    return {index: tuple(following[index]) for index in range(len(automaton.positions))}


def predecessors(automaton: Automaton) -> dict[int, tuple[int, ...]]:
    """Position -> the positions that may directly precede it."""
    preceding: dict[int, list[int]] = defaultdict(list)
    for edge in automaton.edges:
        preceding[edge.target].append(edge.source)
    return {index: tuple(preceding[index]) for index in range(len(automaton.positions))}


def _closure(automaton: Automaton, seeds: Iterable[int], step: dict[int, tuple[int, ...]]) -> set[Pair]:
    """Pairs of equal type reachable in lockstep from pairs of seeds."""
    positions = automaton.positions

    def pairs(left: Iterable[int], right: Iterable[int]) -> Iterator[Pair]:
        others = tuple(right)
        return ((p, q) for p in left for q in others if positions[p].type == positions[q].type)

    seeds = tuple(seeds)
    found: set[Pair] = set()
    waiting = list(pairs(seeds, seeds))
    while waiting:
        pair = waiting.pop()
        if pair not in found:
            found.add(pair)
            waiting.extend(pairs(step[pair[0]], step[pair[1]]))
    return found


def ambiguous_pairs(automaton: Automaton) -> frozenset[Pair]:
    """Pairs of different positions at which two paths of one accepted sequence of types stand."""
    forward = _closure(automaton, (start.position for start in automaton.starts), successors(automaton))
    backward = _closure(automaton, (end.position for end in automaton.ends), predecessors(automaton))
    return frozenset(pair for pair in forward & backward if pair[0] != pair[1])


def ambiguous_aliases(automaton: Automaton, found: frozenset[Pair]) -> frozenset[str]:
    """Aliases that one of two paths of the same sequence binds to an event, and the other does not."""
    aliases = [position.alias for position in automaton.positions]
    return frozenset(aliases[p] for p, q in found if aliases[p] != aliases[q])


def reachable_sets(
    automaton: Automaton,
    uncertain: Callable[[int], bool],
    uncertain_edge: Callable[[int, int], bool],
    limit: int,
) -> frozenset[PositionSet] | None:
    """The sets of positions a sequence may stand in; None if there are more than `limit`.

    `uncertain(position)` and `uncertain_edge(source, target)` say what a predicate may take away at run time.
    """
    found: set[PositionSet] = set()
    reach = {border.position: not border.gap for border in automaton.starts}
    waiting: list[PositionSet] = []
    while True:
        for members in _sets(automaton, reach, uncertain, limit):
            if members not in found:
                found.add(members)
                waiting.append(members)
            if len(found) > limit:
                return None
        if not waiting:
            return frozenset(found)
        reach = _reach(automaton, waiting.pop(), uncertain_edge)


def _reach(
    automaton: Automaton, members: PositionSet, uncertain_edge: Callable[[int, int], bool]
) -> dict[int, bool]:
    """Positions that may follow a set, and whether they surely do where their own conditions hold."""
    reach: dict[int, bool] = {}
    for edge in automaton.edges:
        if edge.source in members:
            sure = not edge.gap and not uncertain_edge(edge.source, edge.target)
            reach[edge.target] = reach.get(edge.target, False) or sure
    return reach


def _sets(
    automaton: Automaton, reach: dict[int, bool], uncertain: Callable[[int], bool], limit: int
) -> Iterator[PositionSet]:
    """Every set that one more event may lead to: sure positions always, unsure ones in any combination."""
    by_type: dict[str, list[int]] = defaultdict(list)
    for position in sorted(reach):
        by_type[automaton.positions[position].type].append(position)
    for members in by_type.values():
        sure = [p for p in members if reach[p] and not uncertain(p)]
        unsure = [p for p in members if p not in sure]
        for bits in range(min(1 << len(unsure), 2 * limit + 2)):
            chosen = [p for place, p in enumerate(unsure) if bits >> place & 1]
            if sure or chosen:
                yield tuple(sorted(sure + chosen))
