"""Small streams, workloads and settings for the tests of the pipeline."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from hamlet_core import run
from pipelines.reading import ColumnOptions, discover, infer_columns, read_all
from pipelines.settings import ExecuteOptions, JobSettings, NamedWorkload, SampleOptions, Source
from resources.warehouse import Warehouse

WORKLOAD = """
rising: RETURN g, COUNT(*), SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.v)
        PATTERN SEQ(A a, B b+) WHERE [k] AND b.v < NEXT(b).v GROUP-BY g WITHIN 40 s SLIDE 20 s
pairs:  RETURN COUNT(*), COUNT(b) PATTERN SEQ(A a, B b) WHERE [k] AND b.v > 10 WITHIN 1 min
all:    RETURN COUNT(*), SUM(b.w) PATTERN SEQ(C c, B b+) WITHIN 10 s
"""
RESULT_COLUMNS = (
    "query", "window_start", "window_end", "group_key", "aggregate", "value", "sign", "log2", "exact", "fingerprint",
)  # fmt: skip


class Killed(BaseException):
    """Stands for the end of the process."""


def stream(rows: int = 400, seed: int = 1, days: int = 2) -> pa.Table:
    """Events in integer seconds: crowds of 40 within a minute, around the epoch, midnights and noons."""
    draw = random.Random(seed)
    crowds = -(-rows // 40)
    starts = [86_400 * days * crowd // crowds - 30 for crowd in range(crowds)]
    return pa.table(
        {
            "time": pa.array(
                sorted(starts[row // 40] + draw.randrange(60) for row in range(rows)), pa.int64()
            ),
            "type": [draw.choice("AABBBBC") for _ in range(rows)],
            "k": [draw.choice(["x", "y", "z", None]) for _ in range(rows)],
            "g": [draw.choice(["north", 'so"uth', "é"]) for _ in range(rows)],
            "v": pa.array([draw.choice([None, *range(20)]) for _ in range(rows)], pa.int64()),
            "w": pa.array([draw.choice([0.5, -1.25, 3.0]) for _ in range(rows)], pa.float64()),
        }
    )


def write_csv(table: pa.Table, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pa_csv.write_csv(table, path)
    return path


def settings_for(
    events: Path,
    warehouse: Path,
    *,
    text: str = WORKLOAD,
    options: ColumnOptions = ColumnOptions(),
    **execute: object,
) -> JobSettings:
    chosen = replace(ExecuteOptions(arithmetic="exact"), **execute)
    sample = SampleOptions(size=40, everything_up_to=100_000)
    return JobSettings(NamedWorkload("test", text), Source(str(events), options), warehouse, chosen, sample)


def expected_rows(settings: JobSettings) -> list[dict[str, object]]:
    """What `hamlet run` gives for the same files, windows as in the tables."""
    files = discover(settings.source.path)
    columns = infer_columns(files, settings.source.options, settings.workload.numeric)
    events, _, _ = read_all(files, columns, settings.source.options, settings.workload.read)
    found = run(
        settings.workload.text,
        events,
        schema=settings.event_schema,
        engine=settings.execute.engine,
        arithmetic=settings.execute.arithmetic,
    )
    for name in ("window_start", "window_end"):
        bounds = found.column(name)
        if pa.types.is_integer(bounds.type):
            unit = settings.source.options.microseconds_per_unit
            bounds = pc.multiply(bounds, unit).cast(pa.timestamp("us", "UTC"))
        found = found.set_column(found.column_names.index(name), name, bounds)
    return sorted_rows(found.to_pylist(), RESULT_COLUMNS)


def table_rows(
    warehouse: Warehouse, table: str, columns: Iterable[str] = RESULT_COLUMNS
) -> list[dict[str, object]]:
    """The rows of a table in these columns, in an order of their own."""
    columns = tuple(columns)
    return sorted_rows(warehouse.rows(table, columns).to_pylist(), columns)


def sorted_rows(rows: Iterable[dict[str, object]], columns: Iterable[str]) -> list[dict[str, object]]:
    columns = tuple(columns)
    return sorted(
        ({name: row[name] for name in columns} for row in rows),
        key=lambda row: [str(row[name]) for name in columns],
    )
