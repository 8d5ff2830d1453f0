"""What must hold of all result rows of one (query, window, group) together (SEMANTICS 7)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.functions import (
    coalesce,
    col,
    collect_list,
    count,
    expr,
    first,
    lit,
    map_from_entries,
    struct,
)
from pyspark.sql.functions import max as largest

from hamlet_core import QueryPlan
from hamlet_core.language import syntax
from pipelines.checks.result_rules import aggregates_of
from pipelines.checks.rules import RowRule, Rule
from resources.sql import literal, quoted


@dataclass(frozen=True, slots=True, order=True)
class Operand:
    """What aggregates are over: an attribute of the events of a type, under an alias."""

    alias: str
    attribute: str
    type: str


@dataclass(frozen=True, slots=True)
class _Values:
    """The values that SUM, AVG, MIN and MAX are over, and the COUNT of what has one, or may have none."""

    over: str
    """In the parentheses of the four."""
    counted: str
    complete: bool
    not_in: tuple[str, ...] = ()
    """Queries in which the label `counted` means something else."""

    def of(self, function: str) -> str:
        """The number of one of the four."""
        return number(f"{function}({self.over})")

    @property
    def count(self) -> str:
        """The number of what is counted."""
        if not self.not_in:
            return number(self.counted)
        return f"(CASE WHEN query IN ({', '.join(map(literal, self.not_in))}) THEN NULL ELSE {number(self.counted)} END)"


def grouped(rows: DataFrame) -> DataFrame:
    """One row per (query, window, group) with its aggregates as a map; without a shuffle if no group is in two partitions.

    `copies` is the most rows of one aggregate. NULL counts as a name, so that broken rows survive the grouping.
    """
    by_aggregate = (
        rows.withColumn("aggregate", coalesce("aggregate", lit("")))
        .groupBy("query", "window_start", "group_key", "aggregate")
        .agg(
            count("*").alias("copies"),
            largest("window_end").alias("window_end"),
            first(struct("value", "sign", "log2")).alias("number"),
        )
    )
    return by_aggregate.groupBy("query", "window_start", "group_key").agg(
        largest("window_end").alias("window_end"),
        largest("copies").alias("copies"),
        map_from_entries(collect_list(struct(col("aggregate"), col("number")))).alias("numbers"),
    )


def group_rules(plans: Sequence[QueryPlan], complete: Collection[Operand] = ()) -> tuple[Rule, ...]:
    """The rules for rows of `grouped`; operands in `complete` have a value in every event of their type."""
    values = tuple(_values(plans, complete))
    return (
        RowRule("one row a key", "one row per query, window, group and aggregate", "copies = 1"),
        RowRule(
            "complete",
            "each window and group has every aggregate that its query returns",
            f"array_sort(map_keys(numbers)) = {aggregates_of(plans)}",
        ),
        RowRule(
            "MIN <= AVG <= MAX",
            "the average lies between the extremes of the same attribute, and these in order",
            _all(map(_ordered, values)),
        ),
        RowRule(
            "nothing is nothing",
            "MIN, MAX and AVG of the same attribute have a number all, or none has; then SUM is 0",
            _all(map(_same_presence, values)),
        ),
        RowRule(
            "SUM = AVG * COUNT",
            "SUM is AVG times the number of values: COUNT of the alias, or less where the attribute has NULLs",
            _all(map(_sum_is_average_times_count, values)),
        ),
        RowRule(
            "SUM between extremes",
            "SUM lies between the number of values times MIN and times MAX",
            _all(map(_sum_between, values)),
        ),
    )


def _values(plans: Sequence[QueryPlan], complete: Collection[Operand]) -> Iterator[_Values]:
    asked = operands_of(plans)
    holes = {(one.alias, one.attribute) for one in asked if one not in complete}
    for alias, attribute in sorted({(one.alias, one.attribute) for one in asked}):
        counted = f"COUNT({alias})"
        others = tuple(plan.name for plan in plans if _has_subject(plan, counted))
        yield _Values(f"{alias}.{attribute}", counted, (alias, attribute) not in holes, others)
    if any(one.subject is syntax.Subject.DURATION for plan in plans for one in plan.query.aggregates):
        yield _Values(syntax.Subject.DURATION.value, "COUNT(*)", complete=True)


def _has_subject(plan: QueryPlan, label: str) -> bool:
    """Whether a label is of an aggregate over trends or partitions, and not over an alias that is called so."""
    return any(one.subject is not None and one.label == label for one in plan.query.aggregates)


def operands_of(plans: Sequence[QueryPlan]) -> frozenset[Operand]:
    """What the queries aggregate besides events themselves."""
    return frozenset(
        Operand(aggregate.alias, aggregate.attribute, type_)
        for plan in plans
        for aggregate in plan.query.aggregates
        if aggregate.alias is not None and aggregate.attribute is not None
        for type_ in _types(plan.query.pattern, aggregate.alias)
    )


def complete_operands(events: DataFrame, operands: Collection[Operand]) -> frozenset[Operand]:
    """Those of the operands that have a value in every event of their type; one pass over their columns."""
    asked = sorted(one for one in operands if one.attribute in events.columns)
    if not asked:
        return frozenset()
    holes = (
        expr(f"count_if(event_type = {literal(one.type)} AND {quoted(one.attribute)} IS NULL)")
        for one in asked
    )
    found = events.agg(*holes).first()
    return frozenset(one for place, one in enumerate(asked) if found is not None and not found[place])


def _types(pattern: syntax.Pattern, alias: str) -> Iterator[str]:
    """The type that an alias, or a type name in its place, stands for."""
    match pattern:
        case syntax.Atom(type_, name):
            if alias in (name, type_):
                yield type_
        case syntax.Plus(body) | syntax.Star(body) | syntax.Optional(body) | syntax.Not(body):
            yield from _types(body, alias)
        case syntax.Seq(parts) | syntax.Or(parts):
            for part in parts:
                yield from _types(part, alias)
        case syntax.And(left, right):
            yield from _types(left, alias)
            yield from _types(right, alias)


def _all(conditions: Iterator[str]) -> str:
    return " AND ".join(f"({condition})" for condition in conditions) or "true"


def number(label: str) -> str:
    """What a group has of an aggregate: a struct of value, sign and log2; NULL if it has no row of it."""
    return f"try_element_at(numbers, {literal(label)})"


def nothing(known: str) -> str:
    """Whether a number is that of nothing, as an average of no values is."""
    return f"({known}.value IS NULL AND {known}.sign IS NULL AND {known}.log2 IS NULL)"


def _bound(one: _Values) -> str:
    """The largest absolute value, as far as MIN and MAX tell."""
    low, high = one.of("MIN"), one.of("MAX")
    return f"greatest(abs({low}.value), abs({high}.value))"


def _ordered(one: _Values) -> str:
    low, mean, high = map(one.of, ("MIN", "AVG", "MAX"))
    slack = f"1e-9 * coalesce({_bound(one)}, abs({mean}.value))"
    pairs = ((low, mean, slack), (mean, high, slack), (low, high, "0"))
    return " AND ".join(f"coalesce({x}.value <= {y}.value + {by}, true)" for x, y, by in pairs)


def _same_presence(one: _Values) -> str:
    numbers = [one.of(name) for name in ("MIN", "AVG", "MAX")]
    absent = [f"({known} IS NULL OR {nothing(known)})" for known in numbers]
    present = [f"({known} IS NULL OR NOT {nothing(known)})" for known in numbers]
    total = one.of("SUM")
    asked = " OR ".join(f"{known} IS NOT NULL" for known in numbers)
    return (
        f"({' AND '.join(present)}) OR ({' AND '.join(absent)}"
        f" AND (NOT ({asked}) OR {total} IS NULL OR coalesce({total}.value, 1) = 0))"
    )


def _sum_is_average_times_count(one: _Values) -> str:
    """In logarithms, which are there for numbers of any size; a sign withheld means that the sum has cancelled out."""
    total, mean, events = one.of("SUM"), one.of("AVG"), one.count
    factor = f"({total}.log2 - {mean}.log2)"
    slack = f"1e-8 * greatest(1, abs({total}.log2) * 1e-4)"
    fits = (
        f"abs({factor} - {events}.log2) <= {slack}"
        if one.complete
        else f"{factor} >= -{slack} AND {factor} <= {events}.log2 + {slack}"
    )
    return (
        f"{total} IS NULL OR {mean} IS NULL OR {events} IS NULL OR {total}.sign IS NULL OR {mean}.sign IS NULL"
        f" OR ({total}.sign = {mean}.sign AND ({total}.sign = 0 OR ({fits})))"
    )


def _sum_between(one: _Values) -> str:
    total, low, high = (f"{one.of(name)}.value" for name in ("SUM", "MIN", "MAX"))
    events = f"{one.count}.value"
    slack = f"1e-9 * {_bound(one)} * {events}"
    return (
        f"coalesce({total} <= greatest({high}, {high} * {events}) + {slack}"
        f" AND {total} >= least({low}, {low} * {events}) - {slack}, true)"
    )
