"""Sharable query sets of a workload: who may share a Kleene sub-pattern for which aggregate (HAMLET Def. 3.1, 3.2).

Two queries may share if they have a common Kleene sub-pattern, compatible aggregates, the same set of partition
attributes, the same origin and overlapping windows (SEMANTICS 9). The origin is one option of the plan, and window 0 of
every query begins there: windows of one workload always overlap, even where a slide longer than its window leaves holes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hamlet_core.language.syntax import Aggregate, AggregateFunction, Mode, Pattern, Plus
from hamlet_core.language.writer import write_pattern
from hamlet_core.pattern.automaton import Automaton
from hamlet_core.pattern.meaning import AnalysedQuery
from hamlet_core.template.kleene import KleeneBody, kleene_bodies
from hamlet_core.windows import Panes, WindowSpec


@dataclass(frozen=True, slots=True)
class Unit:
    """Aggregates that one computation serves: COUNT(*), COUNT(E), MIN(E.a), MAX(E.a), or SUM(E.a) with AVG(E.a).

    E is a type here, because aliases differ between queries; `places` are the atoms of the Kleene body that it binds
    (none: it stands outside), because members must agree on what an event of the body adds.
    """

    function: AggregateFunction
    type: str | None = None
    attribute: str | None = None
    places: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """As in RETURN, with the type for the alias."""
        return Aggregate(self.function, self.type, self.attribute).label


@dataclass(frozen=True, slots=True)
class Member:
    """One occurrence of the Kleene sub-pattern in one query; a query that has it twice is two members."""

    query: int
    """Place of the query in the workload."""
    name: str
    positions: tuple[int, ...]
    """Positions of the query's automaton, one for each atom of the body: those of two members correspond by place."""
    aggregates: tuple[int, ...]
    """Places in `Query.aggregates` of those that the unit serves."""


@dataclass(frozen=True, slots=True)
class SharableSet:
    """Two or more queries that may share one Kleene sub-pattern for one aggregate unit."""

    body: Pattern
    """The body P of the common P+, nameless and in normal form."""
    unit: Unit
    members: tuple[Member, ...]
    partition: tuple[str, ...]
    """Attributes, sorted."""
    pane: int
    """Microseconds: no window of a member begins or ends inside a pane."""
    types: tuple[str, ...]
    """Event types of the body, in the order of its atoms, each once."""
    others: frozenset[str]
    """Every other type that a member reads, positive or negated: its events end a burst of any type of the body."""

    @property
    def queries(self) -> tuple[int, ...]:
        """Places of the queries in the workload, ascending, each once."""
        return tuple(dict.fromkeys(member.query for member in self.members))

    @property
    def kleene(self) -> str:
        """The common sub-pattern as text.

        >>> from hamlet_core.language.syntax import Atom, Seq
        >>> unit = Unit(AggregateFunction.COUNT)
        >>> SharableSet(Seq((Atom("A", "A"), Atom("B", "B"))), unit, (), (), 1, ("A", "B"), frozenset()).kleene
        'SEQ(A, B)+'
        """
        return write_pattern(Plus(self.body))

    def ending(self, type_name: str) -> frozenset[str]:
        """The types whose matched events end a burst of `type_name`, a type of the body."""
        return self.others.union(self.types) - {type_name}


def partition_of(analysed: AnalysedQuery) -> tuple[str, ...]:
    """The set of partition attributes, sorted: equivalence and GROUP-BY attributes alike."""
    return tuple(sorted({*analysed.equivalence, *analysed.group_by}))


def window_of(analysed: AnalysedQuery) -> WindowSpec:
    """The windows of a query in microseconds, origin 0."""
    return WindowSpec(analysed.query.within.microseconds, analysed.query.slide.microseconds)


def folded_alone(analysed: AnalysedQuery) -> tuple[str, ...]:
    """What of a query no lanes fold: a matching mode, aggregates over trends and partitions."""
    mode = analysed.query.mode
    aggregates = (one.label for one in analysed.query.aggregates if _is_over_partitions(one))
    return (*([] if mode is Mode.ANY else [f"SEMANTICS {mode.value}"]), *aggregates)


def halves_of(analysed: AnalysedQuery) -> tuple[AnalysedQuery, AnalysedQuery] | None:
    """A query of skip-till-any-match as one that lanes fold and one with the other aggregates; None if it has no such two.

    Trends of this mode grow beyond all integers, which lanes can count; of the other modes there are few.
    """
    over = [_is_over_partitions(one) for one in analysed.query.aggregates]
    if analysed.query.mode is not Mode.ANY or all(over) or not any(over):
        return None
    return _returning(analysed, [not one for one in over]), _returning(analysed, over)


def _is_over_partitions(aggregate: Aggregate) -> bool:
    return aggregate.subject is not None or aggregate.function is AggregateFunction.REACH


def _returning(analysed: AnalysedQuery, chosen: Sequence[bool]) -> AnalysedQuery:
    """The query with some of its aggregates."""
    aggregates = analysed.query.aggregates
    query = replace(analysed.query, returns=tuple(itertools.compress(aggregates, chosen)))
    return replace(analysed, query=query, operands=tuple(itertools.compress(analysed.operands, chosen)))


def sharable_sets(workload: Sequence[AnalysedQuery]) -> tuple[SharableSet, ...]:
    """Every sharable set with two or more queries, in the order in which the workload names them.

    Sets overlap: a query is in one for each Kleene sub-pattern and unit it has in common with another query, and
    COUNT(E) is in the set of each SUM(E.a) it goes with.
    """
    groups: dict[tuple[Pattern, tuple[str, ...], Unit], list[Member]] = {}
    for index, analysed in enumerate(workload):
        for body in sharable_bodies(analysed):
            for unit, aggregates in _units(analysed, body).items():
                member = Member(index, analysed.query.name, body.positions, aggregates)
                groups.setdefault((body.body, partition_of(analysed), unit), []).append(member)
    _join_counts(groups)
    return tuple(
        _set(workload, *key, members)
        for key, members in groups.items()
        if len({member.query for member in members}) > 1
    )


def sharable_bodies(analysed: AnalysedQuery) -> tuple[KleeneBody, ...]:
    """The Kleene sub-patterns that a query may share; see `refusals` for those it may not."""
    if _whole_refusal(analysed):
        return ()
    return tuple(
        body for body in kleene_bodies(analysed.query.pattern) if not _refusal(analysed.automaton, body)
    )


def refusals(analysed: AnalysedQuery) -> tuple[str, ...]:
    """Why the query, or a Kleene sub-pattern of it, can be in no sharable set; empty if nothing stands against it."""
    if whole := _whole_refusal(analysed):
        return (whole,)
    found = (_refusal(analysed.automaton, body) for body in kleene_bodies(analysed.query.pattern))
    return tuple(dict.fromkeys(why for why in found if why))


def _whole_refusal(analysed: AnalysedQuery) -> str:
    if alone := folded_alone(analysed):
        return ", ".join(alone)
    if analysed.automaton.sides > 1:
        return "AND of patterns"
    if not kleene_bodies(analysed.query.pattern):
        return "no Kleene sub-pattern"
    return "an ambiguous pattern" if analysed.ambiguous else ""


def _refusal(automaton: Automaton, body: KleeneBody) -> str:
    """Why what enters or leaves the body would change while a burst of its types lasts; empty where it cannot."""
    inside = set(body.positions)
    kleene = write_pattern(Plus(body.body))
    types = {automaton.positions[index].type for index in inside}
    if negated := types & {name for negation in automaton.negations for name in negation.types()}:
        return f"{kleene}: {', '.join(sorted(negated))} is negated, too"
    for edge in automaton.edges:
        if (edge.source in inside) != (edge.target in inside):
            beside = automaton.positions[edge.source if edge.target in inside else edge.target].type
            if beside in types:
                return f"{kleene}: another {beside} stands beside it"
    return ""


def _units(analysed: AnalysedQuery, body: KleeneBody) -> dict[Unit, tuple[int, ...]]:
    """The units of a query for one body -> places of the aggregates each serves."""
    units: dict[Unit, tuple[int, ...]] = {}
    for place, (aggregate, operand) in enumerate(
        zip(analysed.query.aggregates, analysed.operands, strict=True)
    ):
        unit = _unit(analysed.automaton, aggregate, operand, body)
        units[unit] = (*units.get(unit, ()), place)
    return units


def _unit(automaton: Automaton, aggregate: Aggregate, operand: str | None, body: KleeneBody) -> Unit:
    if operand is None:
        return Unit(AggregateFunction.COUNT)
    function = aggregate.function
    places = tuple(
        place for place, index in enumerate(body.positions) if automaton.positions[index].alias == operand
    )
    return Unit(
        AggregateFunction.SUM if function is AggregateFunction.AVG else function,
        next(position.type for position in automaton.positions if position.alias == operand),
        aggregate.attribute,
        places,
    )


def _join_counts(groups: dict[tuple[Pattern, tuple[str, ...], Unit], list[Member]]) -> None:
    """COUNT(E) goes with SUM(E.a) and AVG(E.a): its queries enter their sets, and leave a set that adds nothing."""
    for (body, partition, unit), members in list(groups.items()):
        if unit.function is not AggregateFunction.COUNT or unit.type is None:
            continue
        sums = [
            key
            for key in groups
            if key[:2] == (body, partition)
            and replace(key[2], attribute=None) == replace(unit, function=AggregateFunction.SUM)
        ]
        for key in sums:
            groups[key] = list(_joined(groups[key], members))
        if sums:
            del groups[body, partition, unit]


def _joined(members: Sequence[Member], counting: Sequence[Member]) -> Iterator[Member]:
    """Both lists in the order of the workload, a member of both with the aggregates of both."""
    merged: dict[tuple[int, tuple[int, ...]], Member] = {}
    for member in (*members, *counting):
        key = member.query, member.positions
        known = merged.get(key)
        aggregates = member.aggregates if known is None else (*known.aggregates, *member.aggregates)
        merged[key] = replace(member, aggregates=tuple(sorted(aggregates)))
    yield from (merged[key] for key in sorted(merged))


def _set(
    workload: Sequence[AnalysedQuery],
    body: Pattern,
    partition: tuple[str, ...],
    unit: Unit,
    members: Sequence[Member],
) -> SharableSet:
    queries = [workload[member.query] for member in members]
    first = queries[0].automaton.positions
    types = tuple(dict.fromkeys(first[index].type for index in members[0].positions))
    read = frozenset(name for query in queries for name in query.automaton.types())
    pane = Panes.of(map(window_of, queries)).length
    return SharableSet(body, unit, tuple(members), partition, pane, types, read.difference(types))
