"""Delta's exceptions in, errors that say what to do out; Spark gives some of them raw, out of the JVM."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from delta import exceptions
from deltalake.exceptions import CommitFailedError, DeltaError
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from resources.storage import WarehouseError
from resources.tables import Check

# Delta's classes have no common one of their own.
_OVERTAKEN = (
    exceptions.ConcurrentAppendException,
    exceptions.ConcurrentDeleteDeleteException,
    exceptions.ConcurrentDeleteReadException,
    exceptions.ConcurrentTransactionException,
    exceptions.ConcurrentWriteException,
    exceptions.DeltaConcurrentModificationException,
    exceptions.MetadataChangedException,
    exceptions.ProtocolChangedException,
)
_BROKEN_ROW = ("DELTA_VIOLATE_CONSTRAINT_WITH_VALUES", "DELTA_NOT_NULL_CONSTRAINT_VIOLATED")
_BROKEN_TABLE = "DELTA_NEW_CHECK_CONSTRAINT_VIOLATION"


def explained(failure: Exception, table: str) -> WarehouseError | None:
    """The error that stands for a failed write to `table`, or None if it is none that we know."""
    if isinstance(failure, _OVERTAKEN):
        return overtaken(table)
    condition, words = _said(failure)
    if condition in _BROKEN_ROW:
        return _refused_row(table, words)
    if condition == _BROKEN_TABLE:
        return WarehouseError(
            f"the table {table} has rows that this version does not allow: {words}",
            code="E519",
            hint="delete or correct these rows, or ingest and compute anew into another --warehouse",
        )
    return None


def explained_by_delta_rs(failure: DeltaError, table: str, checks: Iterable[Check]) -> WarehouseError | None:
    """As `explained`, for a write without Spark: delta-rs shows the rows, and does not say which constraint."""
    if isinstance(failure, CommitFailedError):
        return overtaken(table)
    _, mark, rows = str(failure).partition("failed validation check.")
    if not mark:
        return None
    names = "; ".join(f"{check.name} ({check.holds})" for check in checks)
    return _refused_row(table, f"one of its CHECK constraints {names} is violated by\n{rows.strip()}")


def refused_row(table: str, check: Check, row: Mapping[str, object]) -> WarehouseError:
    """The error for a row that is against a constraint, found before it is written."""
    values = "\n".join(f" - {name} : {value}" for name, value in row.items() if name in check.holds)
    return _refused_row(
        table, f"CHECK constraint {check.name} ({check.holds}) violated by row with values:\n{values}"
    )


def _refused_row(table: str, words: str) -> WarehouseError:
    return WarehouseError(
        f"a row that the table {table} does not allow: {words}",
        code="E519",
        hint="nothing of this write is in the table; correct what made the row, or report it as a bug",
    )


def overtaken(table: str) -> WarehouseError:
    """The error for a write that another one to the same table came before."""
    return WarehouseError(
        f"another process changed the table {table} at the same time: this write was not done",
        code="E528",
        hint="one run at a time: run again when the other one has ended",
    )


def _said(failure: Exception) -> tuple[str, str]:
    """The condition that Spark or Delta names, and its message without it."""
    if isinstance(failure, PySparkException):
        return _found_in(str(failure).partition("\n\nJVM stacktrace")[0])
    cause: Any = failure.java_exception if isinstance(failure, Py4JJavaError) else None
    while cause is not None:
        condition, words = _found_in(cause.getMessage() or "")
        if condition:
            return condition, words
        cause = cause.getCause()
    return "", ""


def _found_in(message: str) -> tuple[str, str]:
    """The condition and the words after it, also where another message is around them.

    What `replaceWhere` asks is, to Delta, an unnamed constraint: a row against that is a mistake of the caller.
    """
    for condition in (*_BROKEN_ROW, _BROKEN_TABLE):
        _, mark, words = message.partition(f"[{condition}]")
        if mark and not words.strip().startswith("CHECK constraint EXPRESSION"):
            return condition, words.partition(" SQLSTATE:")[0].strip()
    return "", ""
