"""What must hold of aggregates over trends and partitions, all rows of a (query, window, group) together (SEMANTICS 11).

Rules are for rows of `group_rules.grouped`. What holds of a REACH follows from the automaton of its query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, permutations
from typing import TypeAlias

from hamlet_core import QueryPlan
from hamlet_core.language.syntax import Aggregate, AggregateFunction, Subject
from hamlet_core.pattern.automaton import Automaton
from hamlet_core.pattern.meaning import AnalysedQuery, analyse
from pipelines.checks.group_rules import nothing, number
from pipelines.checks.rules import RowRule, Rule
from resources.sql import literal

_TOTALS = (AggregateFunction.COUNT, AggregateFunction.SUM)
_COUNTED_TRENDS = ("COUNT(PARTITIONS)", "COUNT(DISJOINT)", "COUNT(*)")
"""None is larger than the next."""

_Conditions: TypeAlias = Callable[[AnalysedQuery], Iterable[str]]
"""What holds of the rows of one query, each a condition of Spark SQL; NULL where a row is missing."""


def trend_rules(plans: Sequence[QueryPlan]) -> tuple[Rule, ...]:
    """The rules for these queries; none if no query returns such an aggregate."""
    queries = [analyse(plan.query) for plan in plans]
    queries = [one for one in queries if any(map(over_trends, one.query.aggregates))]
    if not queries:
        return ()
    return (
        RowRule(
            "trends or none",
            "counts of trends, partitions and events that every trend has, and DURATION agree on whether there is a trend",
            _by_query(queries, _agreement),
        ),
        RowRule(
            "no trend, no numbers",
            "a row without a trend has a REACH; COUNT and SUM are 0 then, AVG, MIN and MAX nothing",
            _by_query(queries, _emptiness),
        ),
        RowRule(
            "PARTITIONS <= DISJOINT <= trends",
            "no partition with a trend is without one of the disjoint trends, which are trends",
            _by_query(queries, _counts_in_order),
        ),
        RowRule(
            "REACH never grows",
            "no more partitions reach an event than one that every path to it has before it",
            _by_query(queries, _reaches_in_order),
        ),
        RowRule(
            "COUNT(PARTITIONS) <= REACH",
            "a partition with a trend has reached every event that all trends have",
            _by_query(queries, _trends_have_reached),
        ),
    )


def over_trends(aggregate: Aggregate) -> bool:
    """Whether an aggregate is over trends or partitions, and not over events."""
    return aggregate.subject is not None or aggregate.function is AggregateFunction.REACH


def always_before(automaton: Automaton, alias: str) -> frozenset[str]:
    """The other aliases that every path from a start to an event of `alias` has before it."""
    others = automaton.aliases() - {alias}
    ends = {position.index for position in automaton.positions if position.alias == alias}
    return frozenset(other for other in others if not ends & _reached_without(automaton, other))


def in_every_trend(automaton: Automaton) -> frozenset[str]:
    """The aliases that every path from a start to an end has."""
    ends = {end.position for end in automaton.ends}
    return frozenset(alias for alias in automaton.aliases() if not ends & _reached_without(automaton, alias))


def _reached_without(automaton: Automaton, alias: str) -> set[int]:
    """The positions that a path from a start comes to without an event of this alias."""
    barred = {position.index for position in automaton.positions if position.alias == alias}
    waiting = [start.position for start in automaton.starts if start.position not in barred]
    found = set(waiting)
    while waiting:
        source = waiting.pop()
        targets = {edge.target for edge in automaton.edges if edge.source == source} - found - barred
        found |= targets
        waiting += targets
    return found


def _by_query(queries: Sequence[AnalysedQuery], conditions: _Conditions) -> str:
    cases = (
        (one.query.name, " AND ".join(f"coalesce({condition}, true)" for condition in conditions(one)))
        for one in queries
    )
    told = " ".join(f"WHEN {literal(name)} THEN {condition}" for name, condition in cases if condition)
    return f"CASE query {told} ELSE true END" if told else "true"


def _witnesses(one: AnalysedQuery) -> Iterator[str]:
    """Conditions, each true exactly where there is a trend."""
    everywhere = in_every_trend(one.automaton)
    for aggregate, operand in zip(one.query.aggregates, one.operands, strict=True):
        known = number(aggregate.label)
        if aggregate.subject is Subject.DURATION:
            if aggregate.function is not AggregateFunction.SUM:
                yield f"NOT {nothing(known)}"
        elif aggregate.function is AggregateFunction.COUNT and (operand is None or operand in everywhere):
            yield f"({known}.sign = 1)"


def _agreement(one: AnalysedQuery) -> Iterator[str]:
    return (f"{left} = {right}" for left, right in pairwise(_witnesses(one)))


def _emptiness(one: AnalysedQuery) -> Iterator[str]:
    """Of a query that returns a REACH: otherwise there is no row without a trend."""
    reaches = [number(label) for label, _ in _reaches(one)]
    trend = next(_witnesses(one), None)
    if not reaches or trend is None:
        return
    empty = [f"({' OR '.join(f'{reach}.sign = 1' for reach in reaches)})"]
    for aggregate in one.query.aggregates:
        known = number(aggregate.label)
        if aggregate.function in _TOTALS:
            empty.append(f"{known}.sign = 0")
        elif aggregate.function is not AggregateFunction.REACH:
            empty.append(nothing(known))
    yield f"({trend} OR ({' AND '.join(empty)}))"


def _counts_in_order(one: AnalysedQuery) -> Iterator[str]:
    returned = {
        aggregate.label for aggregate, operand in zip(one.query.aggregates, one.operands, strict=True) if operand is None
    }  # fmt: skip
    for less, more in pairwise(label for label in _COUNTED_TRENDS if label in returned):
        yield _at_most(less, more, "* (1 + 1e-9D)")


def _reaches(one: AnalysedQuery) -> Iterator[tuple[str, str]]:
    """(label, alias) of each REACH."""
    for aggregate, operand in zip(one.query.aggregates, one.operands, strict=True):
        if aggregate.function is AggregateFunction.REACH and operand is not None:
            yield aggregate.label, operand


def _reaches_in_order(one: AnalysedQuery) -> Iterator[str]:
    for (later, alias), (earlier, other) in permutations(_reaches(one), 2):
        if other == alias or other in always_before(one.automaton, alias):
            yield _at_most(later, earlier)


def _trends_have_reached(one: AnalysedQuery) -> Iterator[str]:
    partitions = Aggregate(AggregateFunction.COUNT, subject=Subject.PARTITIONS)
    if partitions not in one.query.aggregates:
        return
    everywhere = in_every_trend(one.automaton)
    for label, alias in _reaches(one):
        if alias in everywhere:
            yield _at_most(partitions.label, label)


def _at_most(less: str, more: str, slack: str = "") -> str:
    return f"{number(less)}.value <= {number(more)}.value {slack}".rstrip()
