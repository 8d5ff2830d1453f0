"""GLORIA: queries share expressions over snapshots, by a plan for the workload (Ma et al., SIGMOD 2022).

Queries with the same partitions and windows that return COUNT(*) alone share by a plan made before they are folded, from
the events of each type per window. A set of queries that shares on the way from one type to the next keeps one expression
for each event: a number per snapshot. An event of the snapshot type of a set is a snapshot: the expressions that reach it
are evaluated for each query, and what comes out is its value. All other queries are folded as GRETA does, each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from typing import TypeAlias

from hamlet_core.algebra.aggregates import Counting
from hamlet_core.algebra.arithmetic import Arithmetic, Number
from hamlet_core.engines import greta
from hamlet_core.engines.partitions import EvaluateTogether, Outcome
from hamlet_core.engines.prepared import Pair, PreparedQuery
from hamlet_core.engines.refusals import Refusal, in_clauses, in_pattern, refuse
from hamlet_core.engines.steps import rates, takers
from hamlet_core.language.syntax import And, Not, Optional, Or, Star
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.sharing.gloria.baselines import plan_greedily
from hamlet_core.sharing.gloria.planning import plan_sharing
from hamlet_core.sharing.gloria.plans import QuerySet, Sets, SharingPlan
from hamlet_core.sharing.gloria.workload import Workload
from hamlet_core.template.steps import Names, merged_template, named, with_preceding
from hamlet_core.windows import WindowSpec

Expression: TypeAlias = dict[int, Number]
"""Snapshot -> its coefficient; none: no trend."""
Values: TypeAlias = dict[int, Number]
"""Query -> number of its trends; a query that is not there has none."""

ONE = 0
"""The snapshot that is 1 for every query: the trend that begins here."""


@dataclass(frozen=True, slots=True)
class Way:
    """A transition into a step: from where, who shares on it, and on which condition on the two rows (None: none)."""

    source: str
    sets: Sets
    condition: Pair | None


@dataclass(frozen=True, slots=True)
class Step:
    """A type of the merged template with all that a plan says of it."""

    name: str
    starting: frozenset[int]
    ending: frozenset[int]
    into: tuple[Way, ...]
    carried: Sets
    """The sets of the transitions that leave it: each has an expression for an event here."""
    read_one_by_one: frozenset[QuerySet]
    """Those of a transition with a condition on its two events."""


class Expressions:
    """What is known in one window: the values of snapshots, and the expressions of events, added up by step and set."""

    def __init__(self, arithmetic: Arithmetic, queries: Sequence[int]) -> None:
        self.arithmetic = arithmetic
        self.snapshots: list[Values] = [dict.fromkeys(queries, arithmetic.one)]
        self.totals: dict[tuple[str, QuerySet], Expression] = {}
        self.events: dict[tuple[str, QuerySet], list[tuple[int, Expression]]] = {}
        """By step and set the rows and their expressions, where a condition asks for each."""
        self.trends: Values = {}

    def advance(self, events: Sequence[tuple[int, Sequence[Step]]]) -> None:
        """Fold all events of one time stamp, each (row, steps it may take): read what is older, then add."""
        arrived = [(row, step, *self.arriving(row, step)) for row, steps in events for step in steps]
        for row, step, carried, ended in arrived:
            for own, expression in carried.items():
                self.add(self.totals.setdefault((step.name, own), {}), expression)
                if own in step.read_one_by_one:
                    self.events.setdefault((step.name, own), []).append((row, expression))
            self.add(self.trends, ended)

    def arriving(self, row: int, step: Step) -> tuple[dict[QuerySet, Expression], Values]:
        """An event at a step: its expression by set, and how many trends end with it by query."""
        before = [
            (own, found) for way in step.into for own in way.sets if (found := self.before(way, own, row))
        ]
        carried: dict[QuerySet, Expression] = {}
        known: dict[int, Number | None] = {}

        def values(queries: Sequence[int]) -> Values:
            for query in queries:
                if query not in known:
                    known[query] = self.value(before, query, starting=query in step.starting)
            return {query: value for query in queries if (value := known[query]) is not None}

        for own in step.carried:
            if own.snapshot_type is None:
                (query,) = own.queries
                number = values(own.queries).get(query)
                expression = {} if number is None else {ONE: number}
            elif own.snapshot_type == step.name:
                expression = self.snapshot(values(own.queries))
            else:
                expression = self.handed_on(step, own, before)
            if expression:
                carried[own] = expression
        return carried, values(sorted(step.ending))

    def before(self, way: Way, own: QuerySet, row: int) -> Expression:
        """The expression of all older events from which one may come to the row in a set."""
        if way.condition is None:
            return self.totals.get((way.source, own), {})
        total: Expression = {}
        for earlier, expression in self.events.get((way.source, own), ()):
            if way.condition(earlier, row) is True:
                self.add(total, expression)
        return total

    def handed_on(
        self, step: Step, own: QuerySet, before: Sequence[tuple[QuerySet, Expression]]
    ) -> Expression:
        """An expression over the snapshots that reach the step. What is not the same for all of the set, because some
        come in another way or start here, becomes a snapshot of its own.
        """
        queries = set(own.queries)
        common = [found for its, found in before if queries.issubset(its.queries)]
        apart = [(its, found) for its, found in before if not queries.issubset(its.queries)]
        expression: Expression = {}
        for found in common:
            self.add(expression, found)
        starting = queries & step.starting
        if starting == queries:
            self.add(expression, {ONE: self.arithmetic.one})
            starting = set()
        values = {
            query: value
            for query in own.queries
            if (value := self.value(apart, query, starting=query in starting)) is not None
        }
        self.add(expression, self.snapshot(values))
        return expression

    def value(
        self, before: Sequence[tuple[QuerySet, Expression]], query: int, *, starting: bool
    ) -> Number | None:
        """Expressions evaluated for a query; None: it has no trend there."""
        terms = [self.arithmetic.one] if starting else []
        terms += [
            coefficient if snapshot == ONE else self.arithmetic.multiply(coefficient, own[query])
            for its, found in before
            if query in its.queries
            for snapshot, coefficient in found.items()
            if query in (own := self.snapshots[snapshot])
        ]
        return reduce(self.arithmetic.add, terms) if terms else None

    def snapshot(self, values: Values) -> Expression:
        """A new snapshot with these values, if there are any."""
        if not values:
            return {}
        self.snapshots.append(values)
        return {len(self.snapshots) - 1: self.arithmetic.one}

    def add(self, total: dict[int, Number], more: Mapping[int, Number]) -> None:
        for key, number in more.items():
            known = total.get(key)
            total[key] = number if known is None else self.arithmetic.add(known, number)


@dataclass(frozen=True, slots=True)
class Shared:
    """How some queries are folded: a plan, its steps, and which of them each event may take."""

    prepared: tuple[PreparedQuery, ...]
    arithmetic: Arithmetic
    counting: tuple[str, ...]
    """The queries that the plan knows, by its numbers."""
    plan: SharingPlan
    steps: tuple[tuple[Step, ...], ...]
    """By row."""

    def evaluate(self, rows: Sequence[int]) -> tuple[Outcome, ...]:
        """Fold the rows (sorted by time) of one window of one partition, for every query."""
        trends = self.folded(rows).trends
        counted = {
            name: Outcome({frozenset({0}): (trends[query],)} if query in trends else {})
            for query, name in enumerate(self.counting)
        }
        return tuple(
            counted.get(one.analysed.query.name) or greta.evaluate(one, rows) for one in self.prepared
        )

    def folded(self, rows: Sequence[int]) -> Expressions:
        """The expressions when all rows have come."""
        state = Expressions(self.arithmetic, range(len(self.counting)))
        for _, together in groupby(rows, key=self.prepared[0].stream.times.__getitem__):
            state.advance([(row, self.steps[row]) for row in together if self.steps[row]])
        return state


def together(
    prepared: Sequence[PreparedQuery], spec: WindowSpec, arithmetic: Arithmetic, *, greedily: bool = False
) -> EvaluateTogether:
    """The engine over queries with the same partitions and windows; `greedily`: by the greedy plan of the paper."""
    return planned(prepared, spec, arithmetic, plan_greedily if greedily else plan_sharing).evaluate


def planned(
    prepared: Sequence[PreparedQuery],
    spec: WindowSpec,
    arithmetic: Arithmetic,
    plan: Callable[[Workload], SharingPlan] = plan_sharing,
) -> Shared:
    """What the queries share, by the events of this stream."""
    counting = {one.analysed.query.name: one for one in prepared if isinstance(one.algebra, Counting)}
    names = named({query: with_preceding(one.analysed, takers(one)) for query, one in counting.items()})
    known = {query: one.analysed for query, one in counting.items()}
    workload, names = merged_template(known, names, rates(counting, names, spec))
    return with_plan(prepared, arithmetic, names, plan(workload))


def with_plan(
    prepared: Sequence[PreparedQuery], arithmetic: Arithmetic, names: Mapping[str, Names], plan: SharingPlan
) -> Shared:
    """How the queries are folded by a plan, which has them by their places in `names`."""
    counting = [one for one in prepared if one.analysed.query.name in names]
    own = [names[one.analysed.query.name] for one in counting]
    steps = _steps(counting, own, plan)
    taken: list[dict[str, Step]] = [{} for _ in prepared[0].stream.times]
    for one, its in zip(counting, own, strict=True):
        for row, positions in enumerate(one.root.bindable):
            taken[row].update({its[position]: steps[its[position]] for position in positions})
    return Shared(
        tuple(prepared),
        arithmetic,
        tuple(one.analysed.query.name for one in counting),
        plan,
        tuple(tuple(found.values()) for found in taken),
    )


def _steps(counting: Sequence[PreparedQuery], names: Sequence[Names], plan: SharingPlan) -> dict[str, Step]:
    """By name. Edges with one pair of names have the same condition in all queries."""
    pairs: dict[tuple[str, str], Pair | None] = {}
    starting: dict[str, set[int]] = {name: set() for own in names for name in own}
    ending: dict[str, set[int]] = {name: set() for name in starting}
    for query, (prepared, own) in enumerate(zip(counting, names, strict=True)):
        for target, edges in enumerate(prepared.root.incoming):
            pairs.update({(own[edge.source], own[target]): edge.condition for edge in edges})
        for position in prepared.root.starts:
            starting[own[position]].add(query)
        for position in prepared.root.ends:
            ending[own[position]].add(query)
    sets = {pair: plan.sets(*pair) for pair in pairs}

    def leaving(name: str, *, one_by_one: bool = False) -> Iterator[QuerySet]:
        for pair, condition in pairs.items():
            if pair[0] == name and (condition is not None or not one_by_one):
                yield from sets[pair]

    return {
        name: Step(
            name,
            frozenset(starting[name]),
            frozenset(ending[name]),
            tuple(Way(pair[0], sets[pair], own) for pair, own in pairs.items() if pair[1] == name),
            tuple(dict.fromkeys(leaving(name))),
            frozenset(leaving(name, one_by_one=True)),
        )
        for name in starting
    }


def check(analysed: AnalysedQuery, text: str) -> None:
    """Raise QueryMeaningError E302, with the place in `text`, for the first construct that GLORIA has no rule for."""
    refuse("gloria", "folds sequences and Kleene plus", _refused(analysed), analysed, text)


def answers(analysed: AnalysedQuery) -> bool:
    """Whether there is nothing in a query that the paper has no rule for."""
    return next(_refused(analysed), None) is None


def _refused(analysed: AnalysedQuery) -> Iterator[Refusal]:
    """What GLORIA does not take of a query."""
    pattern = analysed.query.pattern
    yield from in_pattern(pattern, {Star, Optional, Not, Or, And})
    yield from in_clauses(analysed)
    if analysed.ambiguous:
        yield "a pattern that one sequence of events may match in two ways", pattern.span
