"""What a run did, counted while it goes on and as users see it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from hamlet_core.sharing.adapting import PlanChange


@dataclass(slots=True)
class Work:
    """Mutable: what a fold has done so far; see `Counters`."""

    matched_events: int = 0
    kernel_events: int = 0
    bursts: int = 0
    decided_bursts: int = 0
    shared_bursts: int = 0
    snapshots: int = 0
    lanes: int = 0
    splits: int = 0
    merges: int = 0
    decision_seconds: float = 0.0
    planning_seconds: float = 0.0
    undecided_events: int = 0
    decisions: list[pa.Table] = field(default_factory=list)
    """Parts of the decision log."""
    plan_changes: list[PlanChange] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Counters:
    """What a run did."""

    events: int
    """Rows whose type some query reads."""
    matched_events: int
    """Of these, rows that can be bound (some local predicates hold), added over passes: greta and two_step pass over
    the events once per query, hamlet once per set of partition attributes and kind of fold. Where it folds windows, not bursts,
    it passes over the events of each window, or once over those of windows that go together.
    """
    result_rows: int
    kernel_events: int = 0
    """Rows that compiled kernels folded, added over passes; engine hamlet: all that matched."""
    bursts: int = 0
    """Runs of events of one type that were folded at once."""
    decided_bursts: int = 0
    """Bursts for which it was decided at run time who shares them; one in several windows may be decided in each."""
    shared_bursts: int = 0
    """Those of them that some queries shared."""
    snapshots: int = 0
    """Snapshot lanes that the kernels made."""
    lanes: int = 0
    """Snapshot lanes that shared bursts moved, added over the bursts."""
    splits: int = 0
    """Shared graphlets that closed because queries go apart."""
    merges: int = 0
    """Shared graphlets that opened for queries that had gone apart."""
    decision_seconds: float = 0.0
    """Time that deciding took, inside of the kernels."""
    planning_seconds: float = 0.0
    """Time that an engine took to plan what queries share, statistics of the events included, before it folded any."""
    undecided_events: int = 0
    """Events, added over windows, that were folded while some groups of queries rested: nobody asked who shares their
    bursts, because asking had cost more than sharing gained. What is not asked is in no other count and not in the log.
    """
