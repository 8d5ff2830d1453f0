"""The best plan of a workload: a reduced graph, then all plans that are left, level by level (SHARON, ICDE 2018)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from itertools import combinations, groupby
from time import perf_counter

from hamlet_core.sharing.sharon.candidates import Candidate, Expansion, Types, benefit, expanded, mined
from hamlet_core.sharing.sharon.conflicts import ConflictGraph, Vertices, conflict_graph, greedy_plan


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a search goes."""

    seconds: float = 1.0
    """For the plans that are left after the reduction; beyond them the greedy plan is taken. 0 or less: it is taken anyway."""
    options: int = 100
    """Candidates and what they are expanded to, together; 0 or less: nothing is expanded."""


class Found(Enum):
    """Which plan it is."""

    BEST = "the best plan"
    GREEDY = "the greedy plan, because time was up"
    UNSEARCHED = "the greedy plan, because no other was looked for"


@dataclass(frozen=True, slots=True)
class Reduction:
    """What is left of a graph once it is known of some vertices whether they are in a best plan."""

    free: Vertices
    """In every best plan: nothing that is left is in conflict with them."""
    pruned: Vertices
    """In no best plan: with them no plan saves what the greedy plan does at least."""
    left: Vertices


@dataclass(frozen=True, slots=True)
class Search:
    """The best plan of a graph, and what it took to find it."""

    plan: Vertices
    score: float
    """What the plan saves, in the unit of the weights."""
    found: Found
    reduction: Reduction
    plans: int
    """Those that are not empty, valid or not: 2^vertices - 1."""
    reduced_plans: int
    """Of these, those that the reduction has ruled out or settled."""
    valid_plans: int
    """Of the others, those that were built: all that are valid, unless time was up. Invalid plans are never built."""


@dataclass(frozen=True, slots=True)
class SharonPlan:
    """Which parts of their sequences the queries of a workload share, and how that was found."""

    shared: tuple[Candidate, ...]
    """No query holds two of them at places that intersect."""
    score: float
    """What the plan saves: counts that are updated or combined per window, if rates are per window."""
    mined: int
    """Candidates that several queries have in common."""
    useless: int
    """Of these, those without benefit."""
    options_left_out: int
    """Options of candidates in conflict that were not looked at, for want of room (`Limits.options`)."""
    graph: ConflictGraph
    search: Search
    seconds: float
    """That planning took."""


def sharon_plan(
    patterns: Mapping[str, Types],
    rates: Mapping[str, float],
    limits: Limits = Limits(),
    clock: Callable[[], float] = perf_counter,
) -> SharonPlan:
    """What the queries share, given the types of each in order and the events of each type per window.

    Raises InvariantError E941 if a type has no rate.

    >>> patterns = {"q1": ("A", "B", "C", "D"), "q2": ("A", "B", "C", "E"), "q3": ("A", "B", "C", "F")}
    >>> plan = sharon_plan(patterns, {"A": 10, "B": 10, "C": 10, "D": 1, "E": 1, "F": 1})
    >>> [str(one) for one in plan.shared], plan.score
    (['A, B, C of q1, q2, q3'], 597)
    """
    began = clock()
    found = mined(patterns)
    useful = tuple(one for one in found if benefit(one, patterns, rates) > 0)
    wider = expanded(useful, patterns, most=limits.options) if limits.options > 0 else Expansion(useful, 0)
    graph = conflict_graph({one: benefit(one, patterns, rates) for one in wider.candidates}, patterns)
    search = best_plan(graph, limits.seconds, clock)
    shared = tuple(graph.candidates[one] for one in search.plan)
    useless = len(found) - len(useful)
    return SharonPlan(
        shared, search.score, len(found), useless, wider.left_out, graph, search, clock() - began
    )


def best_plan(graph: ConflictGraph, seconds: float, clock: Callable[[], float] = perf_counter) -> Search:
    """A plan that saves the most; if the search takes longer than `seconds`, or has none, the greedy plan."""
    reduction = reduced(graph)
    end = clock() + seconds
    best: Vertices = ()
    most, valid = 0.0, 0
    found = Found.BEST if seconds > 0 else Found.UNSEARCHED
    for plan, score in _plans(graph, reduction.left) if seconds > 0 else ():
        if clock() > end:
            found = Found.GREEDY
            break
        valid += 1
        if score > most:
            best, most = plan, score
    chosen = tuple(sorted((*best, *reduction.free))) if found is Found.BEST else greedy_plan(graph)
    whole, left = 2 ** len(graph.candidates) - 1, 2 ** len(reduction.left) - 1
    return Search(chosen, graph.score(chosen), found, reduction, whole, whole - left, valid)


def reduced(graph: ConflictGraph) -> Reduction:
    """Set vertices without conflicts free and prune those that are in no best plan, until nothing changes.

    The most that a plan with a vertex can save is the weight of all that are not in conflict with it, those that were
    set free included: the paper leaves the free ones out, and so prunes the best plan in its own example.
    """
    guarantee = graph.guarantee * (1 - ROUNDING)
    left, free, pruned = set(graph.vertices), set[int](), set[int]()
    while True:
        alone = {one for one in left if not graph.conflicts[one] & left}
        free, left = free | alone, left - alone
        hopeless = {one for one in left if score_max(graph, one, left | free) < guarantee}
        if not alone and not hopeless:
            return Reduction(tuple(sorted(free)), tuple(sorted(pruned)), tuple(sorted(left)))
        pruned, left = pruned | hopeless, left - hopeless


ROUNDING = 1e-9
"""Sums of doubles may be off by less than this; a vertex this close to the guarantee is kept."""


def score_max(graph: ConflictGraph, vertex: int, others: set[int]) -> float:
    """The most that a plan with the vertex saves, if it takes from `others` whatever is not in conflict with it."""
    return graph.score(others - graph.conflicts[vertex])


def _plans(graph: ConflictGraph, vertices: Vertices) -> Iterator[tuple[Vertices, float]]:
    """Every valid plan once, with its score: those of one vertex, then of two...; one level is kept at a time.

    Two plans that differ in their last vertex only make one of the next level if these are not in conflict.
    """
    level: list[tuple[Vertices, float]] = [((one,), graph.weights[one]) for one in vertices]
    yield from level
    while level:
        longer: list[tuple[Vertices, float]] = []
        for _, alike in groupby(level, key=lambda plan: plan[0][:-1]):
            for (one, score), (other, _) in combinations(alike, 2):
                if other[-1] not in graph.conflicts[one[-1]]:
                    longer.append(((*one, other[-1]), score + graph.weights[other[-1]]))
                    yield longer[-1]
        level = longer
