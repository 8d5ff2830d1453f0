"""Rows that are no events, for people: how many, the first of them, and why."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from hamlet_core.errors import HamletError

SHOWN = 5
"""Bad rows that are shown."""


class BadRows(HamletError, ValueError):
    """Rows of the files could not be read as events."""

    @classmethod
    def among(cls, rejected: pa.Table, good: int) -> BadRows:
        """The error for `rejected` (REJECTED_SCHEMA) beside so many good rows."""
        hint = "--on-bad-rows skip leaves such rows out; `hamlet pipeline` keeps them in events_quarantine"
        return cls(summary(rejected, good), code="E452", hint=hint)


def summary(rejected: pa.Table, good: int) -> str:
    """The count, and a line for each of the first rows."""
    rows = rejected.num_rows
    shown = rejected.slice(0, SHOWN).to_pylist()
    lines = [
        f"\n  {row['source_file']}{_place(row['row_number'])}: {row['reason']} [{row['code']}]"
        for row in shown
    ]
    more = f"\n  and {rows - SHOWN:,} more" if rows > SHOWN else ""
    return f"{rows:,} bad {'row' if rows == 1 else 'rows'} of {rows + good:,}:" + "".join(lines) + more


def left_empty(values: Mapping[str, int]) -> str:
    """How many values of which columns are NULL because they do not fit.

    >>> left_empty({"price": 3, "note": 1})
    'Left empty: 1 of note, 3 of price: values that do not fit, in columns that no query reads (--strict rejects their rows).'
    """
    counts = ", ".join(f"{many:,} of {name}" for name, many in sorted(values.items()))
    why = "values that do not fit, in columns that no query reads (--strict rejects their rows)"
    return f"Left empty: {counts}: {why}."


def _place(row_number: int | None) -> str:
    return "" if row_number is None else f", row {row_number:,}"
