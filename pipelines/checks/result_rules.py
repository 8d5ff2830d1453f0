"""What must hold of result rows (SEMANTICS 6 to 8), whatever the events are: rules on single rows.

Rules on all rows of one (query, window, group) are in `group_rules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hamlet_core import QueryPlan
from pipelines.checks.rules import NotNullRule, RowRule, Rule
from resources.sql import literal

KEY = ("query", "window_start", "group_key", "aggregate")

_TINY = "(value = 0 AND log2 < -1074.9D)"
"""A number nearer to 0 than to any other double: its sign and log2 still say that it is none."""

_DENORMAL = "(abs(value) < 2.2250738585072014E-308D AND abs(abs(value) - pow(2, log2)) <= 4.9E-324D)"
"""Numbers this small are rounded to a multiple of the least one, whatever is left of their digits."""

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
        "a row is a trend",
        "COUNT(*) is at least 1: without a trend there is no row",
        "aggregate <> 'COUNT(*)' OR (coalesce(value, 1) >= 1 AND sign = 1 AND log2 >= 0)",
    ),
    RowRule(
        "counts are counts",
        "a COUNT is known and never negative",
        "NOT startswith(aggregate, 'COUNT(') OR (sign >= 0 AND coalesce(value, 0) >= 0)",
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


def result_rules(plans: Sequence[QueryPlan], origin: int, arithmetic: str) -> tuple[Rule, ...]:
    """The rules for rows of these queries; window 0 starts at `origin` microseconds from the epoch."""
    return (
        *_ALWAYS,
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
    )


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
    "every COUNT has its digits, without sign or fraction",
    "NOT startswith(aggregate, 'COUNT(') OR exact RLIKE '^[0-9]+$'",
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
        "a residue modulo 2^61 - 1 is none of a larger number, and every COUNT has one",
        "(fingerprint IS NULL AND NOT startswith(aggregate, 'COUNT('))"
        " OR fingerprint BETWEEN 0 AND 2305843009213693950L",
    ),
    RowRule(
        "residues fit counts",
        "a COUNT below 2^53 is its own residue",
        "NOT startswith(aggregate, 'COUNT(') OR coalesce(value, 1e300D) >= 9007199254740992D"
        " OR abs(value - fingerprint) <= 1e-9 * value",
    ),
)
