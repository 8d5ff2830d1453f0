"""Which queries are folded prefix by prefix together: what happens to prefixes is then done once for all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hamlet_core.language.syntax import Aggregate, AggregateFunction, Mode, Subject
from hamlet_core.pattern.meaning import AnalysedQuery, position_sets
from hamlet_core.template.sharable import halves_of, window_of


def why_by_itself(analysed: AnalysedQuery) -> str:
    """Why the prefixes of a query go with those of no other; empty if they may."""
    asked, automaton = _asked(analysed), analysed.automaton
    if asked.query.mode is Mode.ANY and counts(asked):
        return f"sums over trends under {Mode.ANY.value}, which may be many"
    if automaton.sides > 1:
        return "AND"
    if automaton.negations:
        return "NOT"
    if len({position.type for position in automaton.positions}) == len(automaton.positions):
        return ""
    sets = position_sets(analysed)
    if sets is None or any(len(members) > 1 for members in sets):
        return "a sequence may stand in several places of its pattern"
    return ""


def counts(analysed: AnalysedQuery) -> bool:
    """Whether an aggregate of a query needs the number of trends."""
    return analysed.automaton.sides > 1 or any(map(_needs_count, analysed.query.aggregates))


def folds(queries: Mapping[int, AnalysedQuery] | Sequence[AnalysedQuery]) -> list[tuple[int, ...]]:
    """The places of queries whose prefixes are folded together, by mode, partitions, groups and window."""
    alike: dict[object, list[int]] = {}
    items = queries.items() if isinstance(queries, Mapping) else enumerate(queries)
    for place, one in items:
        key: object = (one.query.mode, reads(one), window_of(one)) if not why_by_itself(one) else place
        alike.setdefault(key, []).append(place)
    return [tuple(places) for places in alike.values()]


def reads(analysed: AnalysedQuery) -> tuple[frozenset[str], frozenset[str]]:
    """What is equal for queries whose events are sorted and cut into windows once: partition and GROUP-BY attributes."""
    return frozenset(analysed.equivalence), frozenset(analysed.group_by)


def _asked(analysed: AnalysedQuery) -> AnalysedQuery:
    """The query with what is asked of its prefixes: the rest of one under any is left to lanes of bursts."""
    halves = halves_of(analysed)
    return halves[1] if halves else analysed


def _needs_count(aggregate: Aggregate) -> bool:
    if aggregate.subject in (Subject.PARTITIONS, Subject.DISJOINT):
        return False
    return aggregate.function in (AggregateFunction.COUNT, AggregateFunction.SUM, AggregateFunction.AVG)
