"""Syntax in, meaning out: the automaton of a query with its predicates, or a `QueryMeaningError` that says why not.

Everything that needs no table is decided here; column types are checked when events or a schema are known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from hamlet_core.errors import QueryMeaningError
from hamlet_core.language import syntax
from hamlet_core.pattern.ambiguity import ambiguous_aliases, ambiguous_pairs, reachable_sets
from hamlet_core.pattern.automaton import Automaton
from hamlet_core.pattern.conditions import (
    KINDS,
    Adjacent,
    Local,
    Unclassified,
    attributes,
    bare_word,
    classify,
    kindless,
    split,
)
from hamlet_core.pattern.construction import construct
from hamlet_core.predicates.typing import check

STATE_LIMIT = 2000
"""The most sets of positions a determinised pattern may have."""


@dataclass(frozen=True, slots=True)
class AnalysedQuery:
    """A query and what it means: one automaton, its predicates by kind, and the attributes of its partitions."""

    query: syntax.Query
    automaton: Automaton
    local: tuple[Local, ...]
    adjacent: tuple[Adjacent, ...]
    equivalence: tuple[str, ...]
    group_by: tuple[str, ...]
    ambiguous: bool
    """Whether paths and trends differ, so that engines must count over sets of positions."""
    operands: tuple[str | None, ...]
    """The alias each aggregate reads (a type name is replaced by its alias), None for those that read none."""

    def conditions(self) -> tuple[syntax.Expression, ...]:
        """Every local and adjacent condition, in the order of their kinds."""
        local = tuple(condition.expression for condition in self.local)
        return local + tuple(condition.expression for condition in self.adjacent)


def analyse(query: syntax.Query, text: str = "") -> AnalysedQuery:
    """The meaning of one query; raises `QueryMeaningError` (codes E102 to E135) with the place in `text`."""
    return _Analysis(query, text).run()


def analyse_workload(workload: syntax.Workload) -> tuple[AnalysedQuery, ...]:
    """The meaning of every query of a workload, in order; raises as `analyse`, and E140 for a label used twice."""
    labels = Counter(query.name for query in workload.queries)
    for query in workload.queries:
        if labels[query.name] > 1:
            line, column = query.span or (1, 1)
            raise QueryMeaningError(
                f"two queries have the label {query.name}",
                code="E140",
                hint="give each query a label of its own",
                line=line,
                column=column,
                text=workload.text,
            )
    return tuple(analyse(query, workload.text) for query in workload.queries)


class _Analysis:
    def __init__(self, query: syntax.Query, text: str) -> None:
        self.query = query
        self.text = text
        self.negated = frozenset(alias for alias, _ in _bindings(query.pattern, negated=True))

    def refuse(self, code: str, message: str, hint: str = "", culprit: object = None) -> QueryMeaningError:
        line, column = getattr(culprit, "span", None) or self.query.span or (1, 1)
        message = f"query {self.query.name}: {message}"
        return QueryMeaningError(message, code=code, hint=hint, line=line, column=column, text=self.text)

    def run(self) -> AnalysedQuery:
        self.check_aliases(self.query.pattern)
        automaton = construct(self.query.pattern, self.refuse)
        self.types = dict(_bindings(self.query.pattern))
        self.positive = automaton.aliases()
        local, adjacent, equivalence = self.conjuncts()
        self.check_edges(automaton, adjacent)
        self.check_returns()
        found = ambiguous_pairs(automaton)
        analysed = AnalysedQuery(
            self.query,
            automaton,
            local,
            adjacent,
            equivalence,
            tuple(dict.fromkeys(self.group_name(item) for item in self.query.group_by)),
            bool(found),
            tuple(self.operand(aggregate, automaton) for aggregate in self.query.aggregates),
        )
        if found:
            self.check_ambiguity(analysed, ambiguous_aliases(automaton, found))
        return analysed

    # --- aliases ------------------------------------------------------------------------------

    def check_aliases(self, pattern: syntax.Pattern) -> dict[str, syntax.Atom]:
        match pattern:
            case syntax.Atom():
                return {pattern.alias: pattern}
            case syntax.Plus(body) | syntax.Star(body) | syntax.Optional(body) | syntax.Not(body):
                return self.check_aliases(body)
            case syntax.Seq(parts):
                return self.merge_aliases(parts, exclusive=True)
            case syntax.Or(branches):
                return self.merge_aliases(branches, exclusive=False)
            case syntax.And(left, right):
                return self.merge_aliases((left, right), exclusive=False)

    def merge_aliases(self, parts: tuple[syntax.Pattern, ...], *, exclusive: bool) -> dict[str, syntax.Atom]:
        seen: dict[str, syntax.Atom] = {}
        for part in parts:
            for alias, atom in self.check_aliases(part).items():
                other = seen.setdefault(alias, atom)
                if other.type != atom.type:
                    message = f"alias {alias} stands for type {other.type} and for type {atom.type}"
                    raise self.refuse("E104", message, "give each its own alias", atom)
                if other is not atom and exclusive:
                    message = f"alias {alias} is used twice in one sequence"
                    hint = (
                        f"give each occurrence its own alias, like {atom.type} {alias}1, {atom.type} {alias}2"
                    )
                    raise self.refuse("E103", message, hint, atom)
        return seen

    # --- WHERE --------------------------------------------------------------------------------

    def conjuncts(self) -> tuple[tuple[Local, ...], tuple[Adjacent, ...], tuple[str, ...]]:
        local: list[Local] = []
        adjacent: list[Adjacent] = []
        equivalence: dict[str, None] = {}
        for conjunct in self.query.where:
            if isinstance(conjunct, syntax.Equivalence):
                equivalence.update(dict.fromkeys(conjunct.attributes))
                continue
            for part in split(conjunct):
                match self.classified(part):
                    case Local() as condition:
                        local.append(condition)
                    case Adjacent() as condition:
                        adjacent.append(condition)
        return tuple(local), tuple(adjacent), tuple(equivalence)

    def classified(self, conjunct: syntax.Expression) -> Local | Adjacent:
        for attribute in attributes(conjunct):
            if attribute.alias not in self.types:
                raise self.unknown_alias(attribute.alias, attribute)
        condition = classify(conjunct)
        if isinstance(condition, Unclassified):
            hint = _hint_for_word(bare_word(conjunct))
            raise self.refuse("E117", f"this condition {kindless(conjunct)}", hint, conjunct)
        check(conjunct, _unknown_kind, text=self.text)
        return condition

    def unknown_alias(self, alias: str, culprit: object) -> QueryMeaningError:
        of_type = sorted(known for known, type_name in self.types.items() if type_name == alias)
        if of_type:
            hint = f"{alias} is a type; its alias here is {' or '.join(of_type)}"
        else:
            hint = f"the pattern binds {', '.join(sorted(self.types))}"
            if isinstance(culprit, syntax.Aggregate):
                hint += _meant(alias)
        return self.refuse("E102", f"unknown alias {alias}", hint, culprit)

    def check_edges(self, automaton: Automaton, adjacent: tuple[Adjacent, ...]) -> None:
        edges = {(source.alias, target.alias) for source, target in automaton.all_edges()}
        for condition in adjacent:
            if (condition.left, condition.right) in edges:
                continue
            pair = f"{condition.left} -> NEXT({condition.right})"
            crossing = {condition.left, condition.right} & self.negated
            if crossing and {condition.left, condition.right} & self.positive:
                message = f"{pair} reaches into a negated pattern from outside"
                hint = "both aliases must stand in the negated pattern, or both outside; an equivalence [a] holds for both"
                raise self.refuse("E116", message, hint, condition.expression)
            steps = ", ".join(sorted(f"{left} -> {right}" for left, right in edges))
            hint = f"its edges are {steps}" if steps else "it has no edge: a step needs SEQ, + or *"
            message = (
                f"{pair} is no edge of the pattern: no {condition.right} follows {condition.left} directly"
            )
            raise self.refuse("E115", message, hint, condition.expression)

    # --- RETURN and GROUP-BY ------------------------------------------------------------------

    def check_returns(self) -> None:
        if not self.query.aggregates:
            message = "RETURN names attributes only, and no aggregate"
            names = [item.name for item in self.query.returns if isinstance(item, syntax.GroupAttribute)]
            hint = "add one, like COUNT(*)" + next(filter(None, map(_meant, names)), "")
            raise self.refuse("E131", message, hint, self.query.returns[0])
        grouped = {self.group_name(item) for item in self.query.group_by}
        seen: Counter[str] = Counter()
        for item in self.query.returns:
            name = item.label if isinstance(item, syntax.Aggregate) else self.group_name(item)
            seen[name] += 1
            if seen[name] > 1:
                raise self.refuse("E118", f"{name} stands twice in RETURN", "leave one out", item)
            if isinstance(item, syntax.GroupAttribute) and name not in grouped:
                hint = f"add GROUP-BY {name}, or aggregate it"
                raise self.refuse("E119", f"RETURN names {name}, which is not in GROUP-BY", hint, item)

    def group_name(self, item: syntax.GroupAttribute) -> str:
        if item.alias is not None:
            self.resolve(item.alias, item, "E133", "GROUP-BY and RETURN attributes")
        return item.name

    def resolve(self, name: str, culprit: object, code: str, what: str) -> str:
        """The alias a name stands for: itself, or the only alias of the type of that name."""
        alias = name
        if name not in self.types:
            of_type = [known for known, type_name in self.types.items() if type_name == name]
            occurrences = sum(1 for _, type_name in _bindings(self.query.pattern) if type_name == name)
            if not of_type:
                raise self.unknown_alias(name, culprit)
            if occurrences > 1:
                hint = f"name one of {', '.join(sorted(of_type))}"
                message = f"type {name} occurs more than once, so it names no single alias"
                raise self.refuse("E134", message, hint, culprit)
            alias = of_type[0]
        if alias in self.negated:
            message = (
                f"{what} cannot read {name}: it is bound in a negated pattern, whose events no trend holds"
            )
            free = ", ".join(sorted(self.positive - self.negated))
            hint = (
                f"the aliases outside NOT are {free}"
                if free
                else "give the alias outside NOT a name of its own"
            )
            raise self.refuse(code, message, hint, culprit)
        return alias

    def operand(self, aggregate: syntax.Aggregate, automaton: Automaton) -> str | None:
        if aggregate.alias is None and aggregate.subject is None:
            return None
        if automaton.sides > 1:
            message = f"AND of patterns returns COUNT(*) only, not {aggregate.label}"
            hint = "ask each side in a query of its own, where every aggregate has a meaning"
            raise self.refuse("E112", message, hint, aggregate)
        if aggregate.alias is None:
            return None
        return self.resolve(aggregate.alias, aggregate, "E113", "an aggregate")

    # --- ambiguity ----------------------------------------------------------------------------

    def check_ambiguity(self, analysed: AnalysedQuery, aliases: frozenset[str]) -> None:
        for aggregate, operand in zip(self.query.aggregates, analysed.operands, strict=True):
            if operand in aliases and aggregate.function is not syntax.AggregateFunction.REACH:
                message = (
                    f"{aggregate.label} has no single value: the pattern can bind the same events to {operand} "
                    f"or to another alias"
                )
                hint = f"ambiguous aliases: {', '.join(sorted(aliases))}; aggregate another, or give types of their own"
                raise self.refuse("E114", message, hint, aggregate)
        if position_sets(analysed) is None:
            repeated = Counter(position.type for position in analysed.automaton.positions)
            names = ", ".join(sorted(name for name, times in repeated.items() if times > 1))
            message = f"the pattern is too ambiguous: type {names} gives more than {STATE_LIMIT:,} states"
            raise self.refuse(
                "E132",
                message,
                "let the type occur fewer times, or drop local conditions on its aliases",
                self.query.pattern,
            )


def position_sets(analysed: AnalysedQuery) -> frozenset[tuple[int, ...]] | None:
    """The sets of positions that a sequence may stand in; None if there are more than `STATE_LIMIT`."""
    aliases = [position.alias for position in analysed.automaton.positions]
    filtered = {condition.alias for condition in analysed.local}
    compared = {(condition.left, condition.right) for condition in analysed.adjacent}
    return reachable_sets(
        analysed.automaton,
        lambda position: aliases[position] in filtered,
        lambda source, target: (aliases[source], aliases[target]) in compared,
        STATE_LIMIT,
    )


def _hint_for_word(word: str | None) -> str:
    if word is None:
        return KINDS
    if word.upper() == syntax.Subject.DURATION.value:
        return (
            "DURATION stands in RETURN only, as in AVG(DURATION); "
            "WITHIN bounds a trend, and NEXT(a).time - a.time < 5 min a step"
        )
    return f"{word} is text here: an attribute is written with its alias, like a.x"


def _meant(word: str) -> str:
    """The aggregate over partitions or trends that a word which is no alias comes near, as the end of a hint."""
    near = get_close_matches(word.upper(), [subject.value for subject in syntax.Subject], n=1, cutoff=0.8)
    if not near:
        return ""
    if near[0] == syntax.Subject.DURATION.value:
        return f"; how long trends last is SUM({near[0]}), or AVG, MIN and MAX"
    return f"; did you mean COUNT({near[0]})?"


def _unknown_kind(_: syntax.Attribute) -> None:
    """No table is known yet."""


def _bindings(
    pattern: syntax.Pattern, *, negated: bool = False, inside: bool = False
) -> Iterator[tuple[str, str]]:
    """(alias, type) of every atom; with `negated`, only of those inside a NOT."""
    match pattern:
        case syntax.Atom(type_name, alias):
            if inside or not negated:
                yield alias, type_name
        case syntax.Not(body):
            yield from _bindings(body, negated=negated, inside=True)
        case syntax.Plus(body) | syntax.Star(body) | syntax.Optional(body):
            yield from _bindings(body, negated=negated, inside=inside)
        case syntax.Seq(parts) | syntax.Or(parts):
            for part in parts:
                yield from _bindings(part, negated=negated, inside=inside)
        case syntax.And(left, right):
            yield from _bindings(left, negated=negated, inside=inside)
            yield from _bindings(right, negated=negated, inside=inside)
