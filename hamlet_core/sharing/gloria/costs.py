"""What GLORIA's cost model charges at a type, in events and terms of expressions that are read per window.

Source: GLORIA (SIGMOD 2022), section 3: start, unshared and shared computation, evaluation of snapshots.
"""

from __future__ import annotations

from collections.abc import Mapping

from hamlet_core.sharing.gloria.plans import QuerySet
from hamlet_core.sharing.gloria.workload import Pair

Frequencies = Mapping[str, float]
"""Events of a type per window."""


def start(frequencies: Frequencies, type_: str) -> float:
    """A query starts with the type: each event once."""
    return frequencies[type_]


def length(frequencies: Frequencies, source: str, snapshot_type: str) -> float:
    """Terms of the expression that an event of `source` carries: its own snapshot, or one for each older snapshot."""
    return 1 if source == snapshot_type else frequencies[snapshot_type]


def computed(frequencies: Frequencies, pair: Pair, own: QuerySet) -> float:
    """A set goes from one type to the next: shared, or (a single query) each event reads each of its predecessors."""
    source, target = pair
    if own.snapshot_type is None:
        return len(own.queries) * frequencies[source] * frequencies[target]
    return frequencies[source] * length(frequencies, source, own.snapshot_type)


def evaluated(frequencies: Frequencies, queries: int, type_: str, snapshot_type: str) -> float:
    """Events of the type get their values for so many queries: snapshots put into each expression."""
    return queries * frequencies[type_] * frequencies[snapshot_type]


def repeated(frequencies: Frequencies, transitions: tuple[Pair, ...], own: QuerySet) -> float:
    """A set goes round a Kleene body: all its transitions, and new snapshots in each round if it is shared."""
    cost = sum(computed(frequencies, pair, own) for pair in transitions)
    if own.snapshot_type is not None:
        cost += evaluated(frequencies, len(own.queries), own.snapshot_type, own.snapshot_type)
    return cost
