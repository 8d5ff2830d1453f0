"""The plan of a whole workload: classes of queries by partition, and how each query is evaluated in the one pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from hamlet_core.language.writer import write_expression
from hamlet_core.pattern.automaton import Automaton
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.template.access import Step, access_paths
from hamlet_core.template.merged import MergedTemplate, merge
from hamlet_core.template.prefixes import folds, why_by_itself
from hamlet_core.template.sharable import (
    SharableSet,
    folded_alone,
    halves_of,
    partition_of,
    refusals,
    sharable_sets,
    window_of,
)
from hamlet_core.windows import Panes, WindowSpec


class Path(Enum):
    """How the events of a query are folded."""

    BURSTS = "bursts"
    """Runs of equal-type events at once: a path is a trend, and no step asks for the pair of events."""
    EVENTS = "events"
    """Event by event: ordered trees, scans, sets of positions, nested negation."""
    PREFIXES = "prefixes"
    """Prefix by prefix: matching modes, and what is counted of trends and partitions."""
    REFERENCE = "reference"
    """The same where a negated pattern has conditions on pairs or another negation, without kernels."""


LANES = frozenset({Path.BURSTS, Path.EVENTS})
"""Paths on which all queries of a workload go together."""
MOST_POSITIONS = 63
"""That a set of positions may have among the bits of a prefix."""


@dataclass(frozen=True, slots=True)
class PlannedQuery:
    """One query of the workload: its way through the engine, and what that costs."""

    name: str
    partition_class: int
    """Place in `WorkloadPlan.classes`."""
    path: Path
    reasons: tuple[str, ...]
    """Why not `bursts`; empty for `bursts`."""
    steps: tuple[Step, ...]
    """The access path of each edge of its automaton."""
    halved: bool
    """Whether lanes fold its aggregates of events and trends."""
    beside: tuple[str, ...]
    """The queries whose prefixes are folded in one fold with its own, itself among them; empty for other paths."""
    by_itself: str
    """Why its prefixes go with those of no other query; empty if they may, and for other paths."""
    alone: tuple[str, ...]
    """Why it, or a Kleene sub-pattern of it, is in no sharable set; empty if nothing was refused."""


@dataclass(frozen=True, slots=True)
class PartitionClass:
    """Queries with one set of partition attributes: the events are cut into the same partitions for all of them.

    The set counts, not which clause names an attribute. Yet results differ: they are reported by GROUP-BY values and
    merged over the others, and a partition with NULL in an attribute holds only queries that have it in GROUP-BY alone.
    """

    partition: tuple[str, ...]
    """Attributes, sorted; none: all events are one partition."""
    queries: tuple[int, ...]
    """Places in the workload, ascending."""
    template: MergedTemplate
    sets: tuple[SharableSet, ...]
    windows: tuple[WindowSpec, ...]
    """Distinct windows in microseconds, in the order of the queries; origin 0."""
    pane: int
    """Microseconds: no window of the class begins or ends inside a pane."""


@dataclass(frozen=True, slots=True)
class WorkloadPlan:
    """All classes and all queries, in the order of the workload; a plain value that pickles."""

    queries: tuple[PlannedQuery, ...]
    classes: tuple[PartitionClass, ...]

    @property
    def sets(self) -> tuple[SharableSet, ...]:
        """The sharable sets of all classes."""
        return tuple(one for each in self.classes for one in each.sets)


def plan_workload(workload: Sequence[AnalysedQuery]) -> WorkloadPlan:
    """Classes, templates, sharable sets, panes and paths of a workload; needs no table, reads no event."""
    members: dict[tuple[str, ...], list[int]] = {}
    for index, analysed in enumerate(workload):
        members.setdefault(partition_of(analysed), []).append(index)
    sets = sharable_sets(workload)
    classes = tuple(_class(workload, partition, queries, sets) for partition, queries in members.items())
    place = {index: number for number, one in enumerate(classes) for index in one.queries}
    shared = frozenset(index for one in sets for index in one.queries)
    by_prefixes = {index: one for index, one in enumerate(workload) if path_of(one) is Path.PREFIXES}
    beside = {
        index: tuple(workload[other].query.name for other in together)
        for together in folds(by_prefixes)
        for index in together
    }
    return WorkloadPlan(
        tuple(
            _planned(analysed, place[index], beside.get(index, ()), shared=index in shared)
            for index, analysed in enumerate(workload)
        ),
        classes,
    )


def _class(
    workload: Sequence[AnalysedQuery],
    partition: tuple[str, ...],
    queries: Sequence[int],
    sets: Sequence[SharableSet],
) -> PartitionClass:
    members = [workload[index] for index in queries]
    windows = tuple(dict.fromkeys(map(window_of, members)))
    return PartitionClass(
        partition,
        tuple(queries),
        merge(members),
        tuple(one for one in sets if one.partition == partition),
        windows,
        Panes.of(windows).length,
    )


def path_of(analysed: AnalysedQuery) -> Path:
    """How a run folds a query."""
    if not folded_alone(analysed):
        return Path.EVENTS if any(_reasons(analysed)) else Path.BURSTS
    automaton = analysed.automaton
    inside = {alias for negation in automaton.negations for alias in _all_aliases(negation)}
    simple = not any(negation.negations for negation in automaton.negations)
    simple = simple and not any(condition.left in inside for condition in analysed.adjacent)
    negated = sum(len(negation.positions) for negation in automaton.negations)
    fits = max(len(automaton.positions), negated) <= MOST_POSITIONS
    return Path.PREFIXES if simple and fits else Path.REFERENCE


def _planned(analysed: AnalysedQuery, place: int, beside: tuple[str, ...], *, shared: bool) -> PlannedQuery:
    reasons = folded_alone(analysed) or tuple(_reasons(analysed))
    alone = refusals(analysed)
    if not alone and not shared:
        alone = (
            "no other query of its partition has a Kleene sub-pattern and an aggregate in common with it",
        )
    return PlannedQuery(
        analysed.query.name,
        place,
        path_of(analysed),
        reasons,
        access_paths(analysed),
        halves_of(analysed) is not None,
        beside,
        why_by_itself(analysed) if beside else "",
        alone,
    )


def _reasons(analysed: AnalysedQuery) -> Iterator[str]:
    """What keeps a query from being folded burst by burst."""
    if analysed.ambiguous:
        yield "an ambiguous pattern"
    negated = frozenset(
        alias for negation in analysed.automaton.negations for alias in _all_aliases(negation)
    )
    for condition in analysed.adjacent:
        where = " inside NOT" if {condition.left, condition.right} <= negated else ""
        yield f"{write_expression(condition.expression)}{where}"
    if any(negation.negations for negation in analysed.automaton.negations):
        yield "NOT inside a negated pattern"


def _all_aliases(automaton: Automaton) -> Iterator[str]:
    yield from automaton.aliases()
    for negation in automaton.negations:
        yield from _all_aliases(negation)
