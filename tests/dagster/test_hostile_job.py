"""Hostile values, types and names through one whole job: the rows of `run`, and a table of its own for each query."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.main_job import run_main_job
from pipelines.querying import query
from pipelines.steps.publication.wide import wide_tables
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import expected_rows, settings_for, table_rows

pytestmark = pytest.mark.usefixtures("spark")

VALUES = (
    "a\0b", "\0", "a\nb", "a\r\nb", "../../etc/passwd", "..", "%2F", "%252F", "a/b", "\u202egnp.exe",
    "\u200f\u05e9\u05dc\u05d5\u05dd", "\u2028", "\x1b[31mred", "\ufeff", "e\u0301", "é", "\U0010ffff", " ", "g=1",
)  # fmt: skip
NAMES = (
    "Q", "q", "SELECT", "select", "trend_aggregates", "events", "events ", "hamlet_tables", "../x", "a/b", "%2F", "a\nb",
    "\u202eq", "1", "é", "e\u0301", "q__q", "None",
)  # fmt: skip
START = datetime(2026, 3, 29, tzinfo=UTC)


def events(first: int, times: pa.DataType) -> pa.Table:
    """An A and two B a value: of decimals, unsigned integers, lists and structs."""
    rows = [(kind, value) for kind in "ABB" for value in VALUES]
    moments = [START + timedelta(minutes=20 * first, seconds=number) for number in range(len(rows))]
    numbers = range(len(rows))
    return pa.table(
        {
            "time": pa.array(moments, times),
            "type": [kind for kind, _ in rows],
            "g": [value for _, value in rows],
            "price": pa.array([Decimal(number) / 8 for number in numbers], pa.decimal256(50, 3)),
            "u": pa.array([2**62 + number for number in numbers], pa.uint64()),
            "h": pa.array([number / 2 for number in numbers], pa.float32()),
            "z": [-0.0 if number % 2 else 0.0 for number in numbers],
            "l": [[number, None] for number in numbers],
            "s": [{"x": value} for _, value in rows],
        }
    )


def queries() -> str:
    """A query a name, each over windows of its own length."""
    clauses = (
        ("g", "COUNT(*), SUM(b.price), MAX(b.u)"),
        ("s", "COUNT(*), AVG(b.h)"),
        ("z", "COUNT(b), MIN(b.z)"),
    )
    return "\n".join(
        f'"{name}": RETURN {group}, {aggregates} PATTERN SEQ(A a, B b+) GROUP-BY {group} WITHIN {10 + number} min'
        for number, name in enumerate(NAMES)
        for group, aggregates in (clauses[number % len(clauses)],)
    )


def test_hostile_values_types_and_names_come_out_of_a_job_as_out_of_run(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    zoned = events(0, pa.timestamp("ns", "Asia/Kolkata"))
    pq.write_table(zoned, inbox / "nanoseconds of Kolkata.parquet")
    old = events(1, pa.timestamp("us", "UTC"))
    pq.write_table(old, inbox / "%2F int96.parquet", use_deprecated_int96_timestamps=True)
    settings = settings_for(inbox, tmp_path / "warehouse", text=queries())
    summary = run_main_job(settings)
    assert [check for check in summary.checks if not check.passed] == []
    warehouse = Warehouse(settings.warehouse)
    rows = table_rows(warehouse, "trend_aggregates")
    assert rows == expected_rows(settings)
    assert {row["query"] for row in rows} == set(NAMES)
    assert warehouse.count("events") == 2 * 3 * len(VALUES)

    wide = wide_tables(warehouse, "test")
    assert set(wide) == set(NAMES)
    assert len({name.casefold() for name in wide.values()}) == len(NAMES)
    assert {Path(warehouse.path_of(name)).parent for name in wide.values()} == {settings.warehouse}
    first = query(
        f"SELECT g, count, sum_b_price AS total FROM {wide['Q']} ORDER BY window_start", warehouse.root
    )
    assert sorted(first["g"].to_pylist()) == sorted(2 * VALUES)
    assert set(first["count"].to_pylist()) == {3}
