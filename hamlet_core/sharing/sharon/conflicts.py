"""The graph of SHARON (Poppe et al., ICDE 2018): candidates with their weights, and an edge where not both can be shared.

A plan is an independent set, its score the sum of the weights: the best plan is a maximum weight independent set.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hamlet_core.sharing.sharon.candidates import Candidate, Types, clashes

Vertices = tuple[int, ...]
"""Places in `ConflictGraph.candidates`, in ascending order."""


@dataclass(frozen=True, slots=True)
class ConflictGraph:
    """Vertices by place. Their order settles ties, and nothing else."""

    candidates: tuple[Candidate, ...]
    weights: tuple[float, ...]
    """What each saves, above zero."""
    conflicts: tuple[frozenset[int], ...]
    """By vertex: those that it cannot be shared with."""

    @property
    def vertices(self) -> Vertices:
        """All of them."""
        return tuple(range(len(self.candidates)))

    @property
    def edges(self) -> int:
        """How many conflicts there are."""
        return sum(map(len, self.conflicts)) // 2

    @property
    def guarantee(self) -> float:
        """What the greedy plan saves at least: the sum of weight / (degree + 1) (GWMIN, Sakai et al. 2003)."""
        return sum(
            weight / (len(conflicts) + 1)
            for weight, conflicts in zip(self.weights, self.conflicts, strict=True)
        )

    def score(self, plan: Iterable[int]) -> float:
        """What a plan saves."""
        return sum(self.weights[one] for one in plan)


def conflict_graph(weights: Mapping[Candidate, float], patterns: Mapping[str, Types]) -> ConflictGraph:
    """The graph of candidates whose weights are known; those that save nothing are no vertices.

    Options of one part that have a query in common are in conflict, as all that intersect in a query.
    """
    kept = {one: weight for one, weight in weights.items() if weight > 0}
    candidates = tuple(kept)
    clashing = clashes(candidates, patterns)
    conflicts = tuple(
        frozenset(
            place
            for place, other in enumerate(candidates)
            if other != one
            and not clashing[one.types, other.types].intersection(one.queries).isdisjoint(other.queries)
        )
        for one in candidates
    )
    return ConflictGraph(candidates, tuple(kept.values()), conflicts)


def greedy_plan(graph: ConflictGraph) -> Vertices:
    """Again and again the vertex with the largest weight / (degree + 1), without its neighbours (GWMIN)."""
    left, chosen = set(graph.vertices), list[int]()
    while left:
        best = max(left, key=lambda one: (graph.weights[one] / (len(graph.conflicts[one] & left) + 1), -one))
        chosen.append(best)
        left -= {best, *graph.conflicts[best]}
    return tuple(sorted(chosen))
