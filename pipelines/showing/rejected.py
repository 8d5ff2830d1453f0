"""Rows that are no events, for people: how many, the first of them, and why."""

from __future__ import annotations

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


def _place(row_number: int | None) -> str:
    return "" if row_number is None else f", row {row_number:,}"
