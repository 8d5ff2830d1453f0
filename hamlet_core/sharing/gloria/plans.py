"""The answer of GLORIA's optimizer: for each transition who shares what, what that costs, and how it was found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from hamlet_core.sharing.gloria.workload import Pair, Queries


@dataclass(frozen=True, slots=True, order=True)
class QuerySet:
    """Queries that carry one expression over snapshots of a type, or a single query that carries numbers.

    A set that was shared stays one, even where only one of its queries goes on.
    """

    queries: Queries
    snapshot_type: str | None = None
    """None: not shared."""

    @property
    def shared(self) -> bool:
        """Whether an expression is carried."""
        return self.snapshot_type is not None

    def within(self, queries: Iterable[int]) -> QuerySet | None:
        """What is left of the set among these queries; None: nothing."""
        kept = tuple(query for query in self.queries if query in queries)
        return QuerySet(kept, self.snapshot_type) if kept else None

    def __str__(self) -> str:
        return f"({','.join(map(str, self.queries))})" + (f"^{self.snapshot_type}" if self.shared else "")


Sets = tuple[QuerySet, ...]
"""Disjoint, by their first queries."""


def written(sets: Sets) -> str:
    """The notation of the paper, queries numbered from 0.

    >>> written((QuerySet((0, 1), "A"), QuerySet((2,))))
    '(0,1)^A (2)'
    """
    return " ".join(map(str, sets))


@dataclass(frozen=True, slots=True)
class TransitionPlan:
    """Who shares on the way from one type to the next; all transitions of a Kleene body have the same sets."""

    source: str
    target: str
    sets: Sets


@dataclass(frozen=True, slots=True)
class PrunedNode:
    """A candidate of a pool that was dropped: another with the same sets has no snapshot type that is more frequent."""

    transitions: tuple[Pair, ...]
    """Of the pool: one, or those of a body."""
    sets: Sets
    distance_from_start: float
    by: Sets
    """The node that stayed in its place, with `distance_of_other`, which is not larger."""
    distance_of_other: float


class Doubt(Enum):
    """Why a plan need not be the cheapest."""

    DIAMOND = "paths part and meet again"
    """Their common beginning is in the distance from the starts twice."""
    KLEENE = "not every query begins with the Kleene body"
    """All of its queries share, or none."""
    MANY_SETS = "more sets or plans than are looked at in every way"
    OLDER = "nodes were chosen by older statistics"
    CHANGED = "a plan was changed, not made anew"
    GREEDY = "each step was the cheapest by itself"


@dataclass(frozen=True, slots=True)
class SharingPlan:
    """The plan of a workload. Costs are those of the paper, in events and expressions that are read per window."""

    transitions: tuple[TransitionPlan, ...]
    """From the starts to the ends."""
    cost: float
    nodes: int
    """Candidates that were built, those that were pruned included, starts and ends not."""
    pruned: tuple[PrunedNode, ...]
    edges: int
    """Legal steps between nodes that stayed, those to ends included."""
    edges_kept: int
    """Those of them that are the cheapest from their preceding pool."""
    doubts: tuple[Doubt, ...]
    seconds: float = field(compare=False)
    """Time that planning took."""

    @property
    def optimal(self) -> bool:
        """True: no plan is cheaper. False: that is unknown."""
        return not self.doubts

    def sets(self, source: str, target: str) -> Sets:
        """Who shares between two types, all entries of this pair together; empty: nobody goes there."""
        found = (one.sets for one in self.transitions if (one.source, one.target) == (source, target))
        return tuple(sorted(own for sets in found for own in sets))
