"""How a table of an older version becomes one of this version: declared per table, done step by step.

Every step is one commit and leaves out what is there already, so that whatever was killed can be done again; the
version is written last. What a step names is declared in `tables`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql.pandas.types import from_arrow_type

from resources import tables
from resources.sql import literal, quoted
from resources.storage import Location, WarehouseError
from resources.tables import Check, Table

VERSION = "hamlet.schemaVersion"
"""Property with the version of a table's shape; a table without it has version 1."""

CONSTRAINT = "delta.constraints."
"""What Delta puts before the name of a constraint, as a property."""


@dataclass(frozen=True, slots=True)
class Migration:
    """What a table of the version before lacks: declared columns, by name, and declared constraints."""

    columns: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()


MIGRATIONS: Mapping[str, tuple[Migration, ...]] = {
    "events": (Migration(checks=tables.EVENT_CHECKS),),
    tables.LEDGER.name: (
        Migration(("days",), tables.LEDGER.checks),
        Migration(("size", "modified")),
        Migration(("replaces", "removed_days")),
        Migration(("faults",)),
    ),
    tables.PLAN.name: (
        Migration(("position",), tables.PLAN.checks[:3]),
        Migration(("mode",), tables.PLAN.checks[3:]),
    ),
    tables.DECISIONS.name: (
        Migration(checks=tables.DECISIONS.checks[:1]),
        Migration(
            (
                *("slot", "pane_start", "kleene", "bursts", "events", "candidates"),
                *("snapshots_created", "snapshots_carried"),
            ),
            tables.DECISIONS.checks[1:],
        ),
    ),
} | {
    table.name: (Migration(checks=table.checks),)
    for table in (
        tables.QUARANTINE,
        tables.COMPUTED,
        tables.COMPUTED_PARTITIONS,
        tables.PUBLISHED,
        tables.METRICS,
    )
}
"""The first leads from version 1 to version 2, and so on; the version of a table is one more than it has."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A table as it is: the names of its columns and its properties."""

    columns: frozenset[str]
    properties: Mapping[str, str]

    @property
    def version(self) -> int:
        """The version of its shape."""
        return int(self.properties.get(VERSION, "1"))


@dataclass(frozen=True, slots=True)
class Step:
    """One commit of a migration: what it does, and the SQL after `ALTER TABLE x`."""

    what: str
    sql: str


def schema_version(table: str) -> int:
    """The version that this code gives to the shape of a table.

    >>> schema_version("events"), schema_version("a table without history")
    (2, 1)
    """
    return 1 + len(MIGRATIONS.get(table, ()))


def properties_of(table: Table) -> tuple[tuple[str, str], ...]:
    """The properties of a new table: its own, its version, and its constraints, which Delta keeps as such."""
    checks = tuple((f"{CONSTRAINT}{check.name}", check.holds) for check in table.checks)
    return (*table.properties, (VERSION, str(schema_version(table.name))), *checks)


def refuse_newer(table: str, properties: Mapping[str, str]) -> None:
    """WarehouseError for a table that a later version of this package has written."""
    found, known = properties.get(VERSION, "1"), schema_version(table)
    if not found.isdecimal() or int(found) > known:
        raise WarehouseError(
            f"the table {table} has schema version {found}, and this version of HAMLET knows {known}",
            code="E527",
            hint="upgrade HAMLET, or use another --warehouse",
        )


def refuse_other(table: Table, place: Location, columns: Collection[str] | None) -> None:
    """WarehouseError where something else is in the place of a table: a Delta table without the columns that all its
    versions have, or, on this machine and with no `columns`, files without a log.
    """
    if columns is None:
        held = _held(place.local) if place.local is not None else ""
    else:
        added = {name for migration in MIGRATIONS.get(table.name, ()) for name in migration.columns}
        # Of `events`, the columns of a new source may be new.
        declared = next((one for one in tables.ALL if one.name == table.name), table)
        missing = {column.name for column in declared.columns} - added - set(columns)
        held = f"a Delta table without the column {', '.join(sorted(missing))}" if missing else ""
    if held:
        raise WarehouseError(
            f"{place.address} is where the table {table.name} belongs, and holds something else: {held}",
            code="E518",
            hint="move it away, or choose another --warehouse; where its _delta_log was deleted, bring that back from a copy",
        )


def _held(folder: Path) -> str:
    """What is in a folder, or a file in its place; nothing for one that a killed run has begun."""
    if folder.exists() and not folder.is_dir():
        return "a file"
    names = sorted(path.name for path in folder.glob("*") if path.name != "_delta_log")
    return f"{', '.join(names[:3])}{', ...' if len(names) > 3 else ''}, and no Delta table" if names else ""


def pending(table: Table, stored: Stored) -> tuple[Step, ...]:
    """The steps that are left to bring a table to this version, in their order; none where it is there."""
    version = schema_version(table.name)
    if stored.version >= version:
        return ()
    steps: list[Step] = []
    for migration in MIGRATIONS[table.name][stored.version - 1 :]:
        missing = [name for name in migration.columns if name not in stored.columns]
        steps += [_add_column(table, name) for name in missing]
        steps += [_add_check(check) for check in migration.checks if not _has(stored, check)]
    return (*steps, Step("version", f"SET TBLPROPERTIES ({literal(VERSION)} = {literal(str(version))})"))


def _has(stored: Stored, check: Check) -> bool:
    return f"{CONSTRAINT}{check.name}".lower() in {name.lower() for name in stored.properties}


def _add_column(table: Table, name: str) -> Step:
    (column,) = [one for one in table.columns if one.name == name]
    kind = from_arrow_type(column.type).simpleString()
    return Step(f"column {name}", f"ADD COLUMNS ({quoted(name)} {kind} COMMENT {literal(column.comment)})")


def _add_check(check: Check) -> Step:
    return Step(f"constraint {check.name}", f"ADD CONSTRAINT {quoted(check.name)} CHECK ({check.holds})")
