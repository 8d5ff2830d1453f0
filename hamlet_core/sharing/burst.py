"""What the optimizer knows of a burst, and what it says (HAMLET, SIGMOD 2021, sections 4.1 and 4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from hamlet_core.errors import InvariantError
from hamlet_core.sharing.reasons import Reason

QuerySet = tuple[int, ...]
"""Queries in ascending order."""


@dataclass(frozen=True, slots=True)
class OpenGraphlet:
    """A shared graphlet that older bursts left open."""

    queries: QuerySet
    snapshots: int
    """Those that its expressions may contain."""
    events: int
    """Before the burst in hand."""


class Access(Enum):
    """How an event finds the sum of the older events that it may follow."""

    TOTAL = "a running total"
    TREE = "an ordered tree"
    SCAN = "a scan"


@dataclass(frozen=True, slots=True)
class Storage:
    """What the measured cost model knows of the state that queries of a group keep, beside the burst."""

    access: Access = Access.TOTAL
    stored: int = 0
    """Events that a tree or scan of this window holds in the end."""
    fed: int = 0
    """Those that the open graphlet has put there."""
    numbers: tuple[int, ...] | None = None
    """By query: numbers of its element, sums included (None: one each)."""
    lane_numbers: int = 1
    """Numbers of a snapshot lane."""
    inputs: tuple[tuple[int, ...], ...] | None = None
    """By query: its different inputs. A tree keeps a lane for each, not one per graphlet (None: all are one)."""
    later_events: int = 0
    """Events that will read what this burst leaves in a tree or scan, and `later_differing` those of them on which
    queries differ.
    """
    later_differing: int = 0
    later_bursts: float = 0.0
    """Bursts in which the later events come, about."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Statistics of one burst of one event type for the queries that may share it.

    `signatures[i]` are those of query i, one per event: equal on an event for two queries if it matches both or
    neither and the same older events of the graphlet may precede it. Events on which all agree may be left out.
    """

    burst_events: int
    window_events: int
    """Events that the queries have matched in their longest open window, this burst included."""
    types_per_query: int
    signatures: tuple[tuple[int, ...], ...]
    open: tuple[OpenGraphlet, ...] = ()
    graphlet_events: int | None = None
    """Of the graphlet that a set other than the open one would get (None: those of the burst)."""
    begun: bool = True
    """Whether a burst came before that no queries shared."""
    storage: Storage = Storage()

    def __post_init__(self) -> None:
        lengths = {len(signature) for signature in self.signatures}
        if len(lengths) > 1:
            raise InvariantError(f"sharing: signatures of different lengths, {sorted(lengths)}", code="E940")
        if lengths and max(lengths) > self.burst_events:
            raise InvariantError(
                f"sharing: {max(lengths)} signatures for {self.burst_events} events", code="E940"
            )

    @property
    def queries(self) -> QuerySet:
        """All of them."""
        return tuple(range(len(self.signatures)))

    def continues(self, sets: Sequence[QuerySet]) -> bool:
        """Whether a plan leaves the open graphlets as they are."""
        return bool(self.open) and tuple(sets) == tuple(one.queries for one in self.open)

    def opened(self, queries: QuerySet) -> OpenGraphlet | None:
        """The open graphlet of exactly these queries."""
        return next((one for one in self.open if one.queries == queries), None)

    def disagreements(self, queries: Iterable[int]) -> int:
        """Events on which members of a set have two or more signatures."""
        return sum(
            len(set(event)) > 1 for event in zip(*(self.signatures[one] for one in queries), strict=True)
        )

    def snapshots(self, queries: QuerySet, *, continuing: bool) -> tuple[int, int]:
        """(snapshots_created, snapshots_carried) if a set shares the burst; `continuing`: in its open graphlet."""
        own = self.disagreements(queries)
        known = self.opened(queries) if continuing else None
        if known is not None:
            return own, known.snapshots + own
        opening = self._inputs(queries)
        return opening + own, opening + own

    def events_of_graphlet(self, queries: QuerySet, *, continuing: bool) -> int:
        """Events of the set's graphlet once the burst is in it."""
        known = self.opened(queries) if continuing else None
        if known is not None:
            return known.events + self.burst_events
        return self.burst_events if self.graphlet_events is None else self.graphlet_events

    def numbers(self, queries: QuerySet) -> int:
        """Numbers that the queries keep, each by itself."""
        return (
            len(queries)
            if self.storage.numbers is None
            else sum(self.storage.numbers[one] for one in queries)
        )

    def _inputs(self, queries: QuerySet) -> int:
        if self.storage.inputs is None:
            return 1
        return len({one for query in queries for one in self.storage.inputs[query]})

    def classes(self) -> list[QuerySet]:
        """Queries with equal signatures; the largest class, or the one with the first query, is the first."""
        members = Counter(self.signatures)
        classes = [
            tuple(query for query in self.queries if self.signatures[query] == signature)
            for signature in members
        ]
        return sorted(classes, key=lambda one: (-len(one), one[0]))


class Outcome(Enum):
    """What a decision does to the graphlets; the value is its name in the decision log."""

    OPEN = "open"
    """Nothing was shared or begun, now a graphlet is."""
    CONTINUE = "continue"
    """The open graphlet takes the burst."""
    SPLIT = "split"
    """The open graphlet closes: its snapshots are replaced by their values."""
    MERGE = "merge"
    """Queries that went alone share again: one snapshot takes up what they have come to."""
    APART = "apart"
    """Each query goes on by itself."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Which queries share a burst, and why."""

    sets: tuple[QuerySet, ...]
    """The sets that share, each of two or more queries."""
    outcome: Outcome
    cost: float
    """Of the plan that was chosen."""
    cost_alone: float
    """If every query goes by itself."""
    cost_shared: float
    """If queries share: of the plan that was chosen or, where nobody shares, of the cheapest other one looked at."""
    reason: Reason
