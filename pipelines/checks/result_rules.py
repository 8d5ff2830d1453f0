"""What must hold of result rows (SEMANTICS 6 to 8, 11), whatever the events are: rules on single rows.

Rules on all rows of one (query, window, group) are in `group_rules` and `trend_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hamlet_core import QueryPlan
from hamlet_core.language.syntax import Aggregate, AggregateFunction, Subject
from pipelines.checks.rules import NotNullRule, RowRule, Rule
from resources.sql import literal

KEY = ("query", "window_start", "group_key", "aggregate")

_TINY = "(value = 0 AND log2 < -1074.9D)"
"""A number nearer to 0 than to any other double: its sign and log2 still say that it is none."""

_DENORMAL = "(abs(value) < 2.2250738585072014E-308D AND abs(abs(value) - pow(2, log2)) <= 4.9E-324D)"
"""Numbers this small are rounded to a multiple of the least one, whatever is left of their digits."""

_COUNTS = "(startswith(aggregate, 'COUNT(') OR startswith(aggregate, 'REACH('))"

_DURATIONS = "aggregate IN ('SUM(DURATION)', 'AVG(DURATION)', 'MIN(DURATION)', 'MAX(DURATION)')"

SECOND = 1_000_000
"""Microseconds."""

_ALWAYS: tuple[Rule, ...] = (
    *(NotNullRule(name) for name in ("query", "window_start", "window_end", "group_key", "aggregate")),
    RowRule(
        "windows have a length", "a window ends after it starts", "coalesce(window_end > window_start, true)"
    ),
    RowRule(
        "day fits window",
        "the day of a row is the UTC day of its window's last microsecond",
        "window_end IS NULL OR day = to_date(window_end - INTERVAL 0.000001 SECOND)",
    ),
    RowRule(
        "counts are counts",
        "a COUNT or REACH is known, and 0 or at least 1",
        f"NOT {_COUNTS} OR (sign = 0 AND value = 0) OR (sign = 1 AND coalesce(value, 1) >= 1)",
    ),
    RowRule(
        "numbers are finite",
        "value and log2 are never NaN or infinite",
        "(value IS NULL OR abs(value) < double('infinity')) AND (log2 IS NULL OR abs(log2) < double('infinity'))",
    ),
    RowRule(
        "sign fits value",
        "sign is that of value, or of a number too small for a double; only a cancelled SUM or AVG may withhold it",
        f"value IS NULL OR sign = signum(value) OR ({_TINY} AND abs(sign) = 1)"
        " OR (sign IS NULL AND (startswith(aggregate, 'SUM(') OR startswith(aggregate, 'AVG(')))",
    ),
    RowRule(
        "log2 fits value",
        "log2 is log2 of |value|, as far as a double can hold it, and NULL exactly for 0",
        f"value IS NULL OR (value = 0 AND log2 IS NULL) OR ({_TINY} AND coalesce(sign, 1) <> 0)"
        " OR (value <> 0 AND abs(log2 - log2(abs(value))) <= 1e-9 * greatest(1, abs(log2)))"
        f" OR (value <> 0 AND {_DENORMAL})",
    ),
    RowRule(
        "nothing or too large",
        "without a value there is no sign and log2 either, or the number is beyond the double range",
        "value IS NOT NULL OR (sign IS NULL AND log2 IS NULL)"
        " OR (abs(sign) = 1 AND (log2 >= 1023.99 OR log2 <= -1021.99))",
    ),
)

_LOG10_2 = "0.30102999566398119521D"
_NEAR = "1e-9 * greatest(1, abs(log2))"
"""How far the logarithms of a value and of its digits may lie apart."""


def result_rules(
    plans: Sequence[QueryPlan], origin: int, arithmetic: str, unit: int = SECOND
) -> tuple[Rule, ...]:
    """The rules for rows of these queries; window 0 starts at `origin` microseconds from the epoch.

    `unit` is what DURATION counts, in microseconds.
    """
    return (
        *_ALWAYS,
        RowRule(
            "a row is a trend",
            "without a trend there is no row, unless the query returns a REACH: counts of trends are at least 1",
            f"NOT {_is_one(plans, _is_positive)} OR (coalesce(value, 1) >= 1 AND sign = 1 AND log2 >= 0)",
        ),
        RowRule(
            "query is the workload's",
            "rows are of a query of the workload, and of an aggregate that it returns",
            f"query IS NULL OR aggregate IS NULL OR array_contains({aggregates_of(plans)}, aggregate)",
        ),
        RowRule(
            "window is the query's",
            "windows are as long as the query says, and start at a multiple of its slide from the origin",
            "coalesce(unix_micros(window_end) - unix_micros(window_start)"
            f" = {_by_query(plans, [plan.within for plan in plans])}"
            f" AND pmod(unix_micros(window_start) - {origin}L, {_by_query(plans, [plan.slide for plan in plans])}) = 0"
            ", true)",
        ),
        *_digits(arithmetic),
        *_of_partitions(plans),
        *_of_durations(plans, arithmetic, unit),
    )


_Chosen = Callable[[QueryPlan, Aggregate], bool]


def _is_one(plans: Sequence[QueryPlan], chosen: _Chosen) -> str:
    """Whether the aggregate of a row is one of those of its query that are chosen; never NULL."""
    labels = [[one.label for one in plan.query.aggregates if chosen(plan, one)] for plan in plans]
    found = [
        (plan, f"array({', '.join(map(literal, own))})")
        for plan, own in zip(plans, labels, strict=True)
        if own
    ]
    if not found:
        return "false"
    return f"coalesce(array_contains({_by_query(*zip(*found, strict=True))}, aggregate), false)"


def _is_positive(plan: QueryPlan, aggregate: Aggregate) -> bool:
    reaches = any(one.function is AggregateFunction.REACH for one in plan.query.aggregates)
    counts = aggregate.function is AggregateFunction.COUNT and aggregate.alias is None
    return counts and not reaches


def _is_of_partitions(_: QueryPlan, aggregate: Aggregate) -> bool:
    """Whether an aggregate never exceeds the number of events."""
    counted = aggregate.subject in (Subject.PARTITIONS, Subject.DISJOINT)
    return counted or aggregate.function is AggregateFunction.REACH


def _is_of_one_partition(plan: QueryPlan, aggregate: Aggregate) -> bool:
    counts = _is_of_partitions(plan, aggregate) and aggregate.subject is not Subject.DISJOINT
    return counts and set(plan.equivalence) <= set(plan.group_by)


def _of_partitions(plans: Sequence[QueryPlan]) -> tuple[Rule, ...]:
    """What holds of REACH, COUNT(PARTITIONS) and COUNT(DISJOINT); nothing if no query returns one."""
    if (one := _is_one(plans, _is_of_partitions)) == "false":
        return ()
    return (
        RowRule(
            "whole numbers",
            "REACH, COUNT(PARTITIONS) and COUNT(DISJOINT) are whole, and the same in every arithmetic",
            f"NOT {one} OR (value = floor(value) AND (exact IS NULL OR try_cast(exact AS DOUBLE) = value)"
            " AND (fingerprint IS NULL OR fingerprint = value))",
        ),
        RowRule(
            "a partition a group",
            "REACH and COUNT(PARTITIONS) are 1 or 0 where groups are partitions",
            f"NOT {_is_one(plans, _is_of_one_partition)} OR value IN (0, 1)",
        ),
    )


def _of_durations(plans: Sequence[QueryPlan], arithmetic: str, unit: int) -> tuple[Rule, ...]:
    """What holds of DURATION, which counts so many microseconds; nothing if no query returns one."""
    if not any(one.subject is Subject.DURATION for plan in plans for one in plan.query.aggregates):
        return ()
    length = "(unix_micros(window_end) - unix_micros(window_start))"
    rounded = f"({length} > {2**50}L OR startswith(aggregate, 'AVG('))"
    rules = [
        RowRule(
            "durations fit windows",
            "a DURATION is never negative, and of one trend shorter than the window",
            f"NOT {_DURATIONS} OR (coalesce(sign, 0) >= 0 AND coalesce(value, 0) >= 0"
            " AND (aggregate <> 'SUM(DURATION)' OR sign IS NOT NULL)"
            f" AND (startswith(aggregate, 'SUM(') OR coalesce(value * {unit}D < {length}"
            f" OR ({rounded} AND value * {unit}D <= {length} * (1 + 1e-9D)), true)))",
        )
    ]
    if arithmetic == "exact":
        rules.append(
            RowRule(
                "durations have digits",
                "every DURATION that there is has its digits, without a sign or zeros at the end",
                f"NOT {_DURATIONS} OR (sign IS NULL AND exact IS NULL)"
                " OR exact RLIKE '^[0-9]+([.][0-9]*[1-9]|/[0-9]+)?$'",
            )
        )
    return tuple(rules)


def aggregates_of(plans: Sequence[QueryPlan]) -> str:
    """The labels of a row's query in Spark SQL, sorted; NULL for a query of another workload."""
    arrays = []
    for plan in plans:
        labels = sorted(aggregate.label for aggregate in plan.query.aggregates)
        arrays.append(f"array({', '.join(literal(label) for label in labels)})")
    return _by_query(plans, arrays)


def _by_query(plans: Sequence[QueryPlan], values: Iterable[object]) -> str:
    pairs = (
        f"{literal(plan.name)}, {value}" + ("L" if isinstance(value, int) else "")
        for plan, value in zip(plans, values, strict=True)
    )
    return f"try_element_at(map({', '.join(pairs)}), coalesce(query, ''))"


def _digits(arithmetic: str) -> tuple[Rule, ...]:
    """What the two columns hold that only one arithmetic each fills."""
    no_digits = RowRule("no digits", f"{arithmetic} arithmetic gives no digits", "exact IS NULL")
    no_residue = RowRule("no residues", f"{arithmetic} arithmetic gives no residues", "fingerprint IS NULL")
    match arithmetic:
        case "exact":
            return (_DIGITS_THERE, _DIGITS_FIT, no_residue)
        case "modular":
            return (no_digits, *_RESIDUES)
    return (no_digits, no_residue)


_DIGITS_THERE = RowRule(
    "counts have digits",
    "every COUNT and REACH has its digits, without sign or fraction",
    f"NOT {_COUNTS} OR exact RLIKE '^[0-9]+$'",
)


def _log10(digits: str) -> str:
    """log10 of a text of decimal digits of any length: 15 leading ones say enough."""
    whole = f"ltrim('0', split_part({digits}, '.', 1))"
    leading = f"try_cast(left({whole}, 15) AS DOUBLE)"
    return (
        f"CASE WHEN length({whole}) > 15 THEN log10({leading}) + length({whole}) - 15"
        f" ELSE log10(try_cast({digits} AS DOUBLE)) END"
    )


_UNSIGNED = "ltrim('-', exact)"
_LOG10_EXACT = (
    f"({_log10(f'split_part({_UNSIGNED}, chr(47), 1)')})"
    f" - (CASE WHEN contains(exact, '/') THEN {_log10(f'split_part({_UNSIGNED}, chr(47), 2)')} ELSE 0 END)"
)
_DIGITS_FIT = RowRule(
    "digits fit value",
    "the digits are of the number that value, sign and log2 say",
    "exact IS NULL OR (value = 0 AND try_cast(exact AS DOUBLE) = 0)"
    " OR (startswith(exact, '-') = (sign < 0)"
    f" AND abs(log2 * {_LOG10_2} - ({_LOG10_EXACT})) <= {_NEAR})",
)

_RESIDUES: tuple[Rule, ...] = (
    RowRule(
        "residues in range",
        "a residue modulo 2^61 - 1 is none of a larger number, and every COUNT, REACH and sum of DURATION has one",
        f"(fingerprint IS NULL AND NOT {_COUNTS} AND aggregate <> 'SUM(DURATION)')"
        " OR fingerprint BETWEEN 0 AND 2305843009213693950L",
    ),
    RowRule(
        "residues fit counts",
        "a COUNT or REACH below 2^53 is its own residue",
        f"NOT {_COUNTS} OR coalesce(value, 1e300D) >= 9007199254740992D"
        " OR abs(value - fingerprint) <= 1e-9 * value",
    ),
)
