"""Which steps bring a table of an older version to this one, decided from its columns and properties alone."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from hamlet_core.errors import HamletError
from resources import migrations, tables
from resources.migrations import (
    CONSTRAINT,
    MIGRATIONS,
    VERSION,
    Migration,
    Stored,
    pending,
    properties_of,
    refuse_newer,
    schema_version,
)
from resources.tables import Check, Column, Table

OLD = Table("t", "a table", (Column("a", pa.int64(), "it's a"),))
NEW = replace(
    OLD,
    columns=(*OLD.columns, Column("b", pa.int32(), "it's b"), Column("c", pa.string(), "c")),
    checks=(Check("a_counts", "a >= 0"), Check("b_counts", "b IS NULL OR b >= 0")),
)
FIRST = Migration(("b",), (NEW.checks[0],))
SECOND = Migration(("c",), (NEW.checks[1],))


@pytest.fixture(autouse=True)
def history(monkeypatch):
    monkeypatch.setattr(migrations, "MIGRATIONS", {**MIGRATIONS, "t": (FIRST, SECOND)})


def columns(*names: str) -> frozenset[str]:
    return frozenset(names)


def test_a_table_without_a_version_goes_all_the_way():
    steps = pending(NEW, Stored(columns("a"), {}))
    assert [step.sql for step in steps] == [
        "ADD COLUMNS (`b` int COMMENT 'it\\'s b')",
        "ADD CONSTRAINT `a_counts` CHECK (a >= 0)",
        "ADD COLUMNS (`c` string COMMENT 'c')",
        "ADD CONSTRAINT `b_counts` CHECK (b IS NULL OR b >= 0)",
        "SET TBLPROPERTIES ('hamlet.schemaVersion' = '3')",
    ]


def test_a_later_version_has_less_to_go_and_this_version_nothing():
    assert [step.what for step in pending(NEW, Stored(columns("a", "b"), {VERSION: "2"}))] == [
        "column c", "constraint b_counts", "version",
    ]  # fmt: skip
    assert pending(NEW, Stored(columns("a", "b", "c"), {VERSION: "3"})) == ()
    assert pending(replace(NEW, name="no history"), Stored(columns("a"), {})) == ()


def test_killed_between_any_two_steps_the_rest_is_done():
    stored = Stored(columns("a"), {"other": "x"})
    whole = pending(NEW, stored)
    for done, step in enumerate(whole):
        assert pending(NEW, stored) == whole[done:]
        stored = after(stored, step.what)
    assert pending(NEW, stored) == ()


def after(stored: Stored, what: str) -> Stored:
    kind, _, name = what.partition(" ")
    match kind:
        case "column":
            return replace(stored, columns=stored.columns | {name})
        case "constraint":
            return replace(stored, properties={**stored.properties, f"{CONSTRAINT}{name}": "..."})
    return replace(stored, properties={**stored.properties, VERSION: "3"})


def test_a_new_table_needs_no_migration():
    for table in (*tables.ALL, NEW):
        stored = Stored(frozenset(table.schema.names), dict(properties_of(table)))
        assert stored.version == schema_version(table.name)
        assert pending(table, stored) == ()


def test_every_constraint_and_every_step_of_the_tables_is_declared():
    for table in tables.ALL:
        # What is computed is looked at by the checks of the run, row by row, before it is published.
        assert table.checks or table is tables.COMPUTED, table.name
        steps = pending(table, Stored(frozenset(), {}))
        if table in (tables.STREAMS, tables.LATE):  # with constraints since there are such tables
            continue
        assert {f"constraint {check.name}" for check in table.checks} <= {step.what for step in steps}


@pytest.mark.parametrize("version", ["4", "beta"])
def test_a_newer_table_is_refused(version):
    refuse_newer("t", {VERSION: "3"})
    refuse_newer("t", {})
    with pytest.raises(HamletError, match=rf"E527.*table t has schema version {version}.*knows 3") as refused:
        refuse_newer("t", {VERSION: version})
    assert "upgrade HAMLET" in refused.value.hint
