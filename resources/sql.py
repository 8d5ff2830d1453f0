"""Values and names as Spark SQL means them: nothing of a user's stands in SQL without one of these."""

from __future__ import annotations

from datetime import UTC, datetime


def equal(**values: str) -> str:
    """The SQL condition that columns have these texts.

    >>> equal(workload="rides", run_id="1")
    "workload = 'rides' AND run_id = '1'"
    """
    return " AND ".join(f"{name} = {literal(value)}" for name, value in values.items())


def literal(text: str) -> str:
    r"""A Spark SQL string literal that means exactly this text; Spark would fill a `${variable}` in before it parses.

    >>> print(literal("it's ${env:HOME}"))
    'it\'s \u0024{env:HOME}'
    """
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024") + "'"


def quoted(name: str) -> str:
    """A name as Spark wants it where it stands for itself.

    >>> quoted("a`b")
    '`a``b`'
    """
    return "`" + name.replace("`", "``") + "`"


def moment(when: datetime) -> str:
    """A time as delta-rs reads it between quotes.

    >>> moment(datetime(2026, 1, 5, 1, tzinfo=UTC))
    '2026-01-05T01:00:00.000000Z'
    """
    return when.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def equal_values(**values: str) -> str:
    """The same condition as `equal`, as delta-rs reads it.

    >>> equal_values(workload="rides", run_id="1")
    "workload = 'rides' AND run_id = '1'"
    """
    return " AND ".join(f"{name} = {standard_literal(value)}" for name, value in values.items())


def standard_literal(text: str) -> str:
    """A string literal of standard SQL, as delta-rs reads it, that means exactly this text.

    >>> print(standard_literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"
