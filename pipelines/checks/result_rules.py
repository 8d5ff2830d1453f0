"""What must hold of result rows (SEMANTICS 7 and 8), whatever the events are."""

from __future__ import annotations

from pipelines.checks.rules import NotNullRule, RowRule, Rule, UniqueRule

KEY = ("query", "window_start", "group_key", "aggregate")

RESULT_RULES: tuple[Rule, ...] = (
    *(NotNullRule(name) for name in ("query", "window_start", "window_end", "group_key", "aggregate")),
    UniqueRule("one row a key", "one row per query, window, group and aggregate", KEY),
    RowRule("windows have a length", "a window ends after it starts", "window_end > window_start"),
    RowRule(
        "day fits window",
        "the day of a row is the UTC day of its window's last microsecond",
        "day = to_date(window_end - INTERVAL 0.000001 SECOND)",
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
        "sign is that of value; only a cancelled SUM or AVG may withhold it",
        "value IS NULL OR sign = signum(value)"
        " OR (sign IS NULL AND (startswith(aggregate, 'SUM(') OR startswith(aggregate, 'AVG(')))",
    ),
    RowRule(
        "log2 fits value",
        "log2 is log2 of |value|, and NULL exactly for 0",
        "value IS NULL OR (value = 0 AND log2 IS NULL)"
        " OR (value <> 0 AND abs(log2 - log2(abs(value))) <= 1e-9 * greatest(1, abs(log2)))",
    ),
    RowRule(
        "nothing or too large",
        "without a value there is no sign and log2 either, or the number is beyond the double range",
        "value IS NOT NULL OR (sign IS NULL AND log2 IS NULL)"
        " OR (abs(sign) = 1 AND (log2 >= 1023.99 OR log2 <= -1021.99))",
    ),
    RowRule(
        "MIN <= AVG <= MAX",
        "the average lies between the extremes of the same attribute",
        "NOT startswith(aggregate, 'AVG(') OR value IS NULL OR ("
        "coalesce({low}, value) <= value + 1e-9 * abs(value)"
        " AND coalesce({high}, value) >= value - 1e-9 * abs(value))".format(
            **{
                name: f"max(CASE WHEN startswith(aggregate, '{function}(') THEN value END)"
                " OVER (PARTITION BY query, window_start, group_key, substr(aggregate, 4))"
                for name, function in (("low", "MIN"), ("high", "MAX"))
            }
        ),
    ),
)
