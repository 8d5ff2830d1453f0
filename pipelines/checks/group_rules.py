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


def grouped(rows: DataFrame) -> DataFrame:
    """One row per (query, window, group) with its aggregates as a map; one shuffle.

    `copies` is the most rows of one aggregate. NULL counts as a name, so that broken rows survive the grouping.
    """
    by_aggregate = (
        rows.withColumn("aggregate", coalesce("aggregate", lit("")))
        .repartition("query", "window_start", "group_key")
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
    asked = operands_of(plans)
    operands = sorted({(one.alias, one.attribute): one for one in sorted(asked)}.values())
    holes = {(one.alias, one.attribute) for one in asked if one not in complete}
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
            _all(_ordered(one) for one in operands),
        ),
        RowRule(
            "nothing is nothing",
            "MIN, MAX and AVG of the same attribute have a number all, or none has; then SUM is 0",
            _all(_same_presence(one) for one in operands),
        ),
        RowRule(
            "SUM = AVG * COUNT",
            "SUM is AVG times the number of values: COUNT of the alias, or less where the attribute has NULLs",
            _all(
                _sum_is_average_times_count(one, (one.alias, one.attribute) not in holes) for one in operands
            ),
        ),
        RowRule(
            "SUM between extremes",
            "SUM lies between the number of values times MIN and times MAX",
            _all(_sum_between(one) for one in operands),
        ),
    )


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


def _number(function: str, one: Operand) -> str:
    return f"try_element_at(numbers, {literal(f'{function}({one.alias}.{one.attribute})')})"


def _bound(one: Operand) -> str:
    """The largest absolute value among the events, as far as MIN and MAX tell."""
    low, high = _number("MIN", one), _number("MAX", one)
    return f"greatest(abs({low}.value), abs({high}.value))"


def _ordered(one: Operand) -> str:
    low, mean, high = (_number(name, one) for name in ("MIN", "AVG", "MAX"))
    slack = f"1e-9 * coalesce({_bound(one)}, abs({mean}.value))"
    pairs = ((low, mean, slack), (mean, high, slack), (low, high, "0"))
    return " AND ".join(f"coalesce({x}.value <= {y}.value + {by}, true)" for x, y, by in pairs)


def _nothing(number: str) -> str:
    return f"({number}.value IS NULL AND {number}.sign IS NULL AND {number}.log2 IS NULL)"


def _same_presence(one: Operand) -> str:
    numbers = [_number(name, one) for name in ("MIN", "AVG", "MAX")]
    absent = [f"({number} IS NULL OR {_nothing(number)})" for number in numbers]
    present = [f"({number} IS NULL OR NOT {_nothing(number)})" for number in numbers]
    total = _number("SUM", one)
    asked = " OR ".join(f"{number} IS NOT NULL" for number in numbers)
    return (
        f"({' AND '.join(present)}) OR ({' AND '.join(absent)}"
        f" AND (NOT ({asked}) OR {total} IS NULL OR coalesce({total}.value, 1) = 0))"
    )


def _sum_is_average_times_count(one: Operand, complete: bool) -> str:
    """In logarithms, which are there for numbers of any size; a sign withheld means that the sum has cancelled out."""
    total, mean = _number("SUM", one), _number("AVG", one)
    events = f"try_element_at(numbers, {literal(f'COUNT({one.alias})')})"
    factor = f"({total}.log2 - {mean}.log2)"
    slack = f"1e-8 * greatest(1, abs({total}.log2) * 1e-4)"
    fits = (
        f"abs({factor} - {events}.log2) <= {slack}"
        if complete
        else f"{factor} >= -{slack} AND {factor} <= {events}.log2 + {slack}"
    )
    return (
        f"{total} IS NULL OR {mean} IS NULL OR {events} IS NULL OR {total}.sign IS NULL OR {mean}.sign IS NULL"
        f" OR ({total}.sign = {mean}.sign AND ({total}.sign = 0 OR ({fits})))"
    )


def _sum_between(one: Operand) -> str:
    total, low, high = (f"{_number(name, one)}.value" for name in ("SUM", "MIN", "MAX"))
    events = f"try_element_at(numbers, {literal(f'COUNT({one.alias})')}).value"
    slack = f"1e-9 * {_bound(one)} * {events}"
    return (
        f"coalesce({total} <= greatest({high}, {high} * {events}) + {slack}"
        f" AND {total} >= least({low}, {low} * {events}) - {slack}, true)"
    )
