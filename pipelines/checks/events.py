"""Great Expectations on events: all of them, or those of the days that the windows of a span read."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pipelines.checks.event_rules import event_rules
from pipelines.checks.ledger_rules import CONTENT_RULES, CONTENTS, FILES, contents, file_rules, files_of
from pipelines.checks.rules import Outcome
from pipelines.checks.suites import run_rules
from pipelines.expectations import Expectations
from pipelines.settings import JobSettings
from pipelines.spans import Span
from pipelines.steps.slices import first_day, last_day
from resources import tables
from resources.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """How the rules of a suite came out, and how many rows they looked at."""

    rows: int
    outcomes: tuple[Outcome, ...]


Days = tuple[date | None, date | None]
"""The first and the last UTC day; None is without a bound."""


def check_events(
    spark: SparkSession,
    warehouse: Warehouse,
    expectations: Expectations = Expectations(),
    days: Days = (None, None),
) -> SuiteReport:
    """Validate the events of these days, and all of the ledger.

    Raises ExpectationError for declared expectations that do not fit the table.
    """
    rules = event_rules(warehouse.schema("events"), warehouse.properties("events"), expectations)
    ledger = warehouse.rows(tables.LEDGER.name).to_pylist()
    events = slice_of_events(spark, warehouse, days)
    with ThreadPoolExecutor(1) as beside:
        counted = beside.submit(contents, events, ledger, *days)
        outcomes = run_rules(events, "events", rules)
        found = counted.result()
    return SuiteReport(
        sum(row["rows"] for row in found),
        (
            *outcomes,
            *run_rules(_frame(spark, found, CONTENTS), "contents", CONTENT_RULES),
            *run_rules(_frame(spark, files_of(ledger), FILES), "files", file_rules(expectations)),
        ),
    )


def slice_of_events(spark: SparkSession, warehouse: Warehouse, days: Days) -> DataFrame:
    """The events of these days."""
    events = warehouse.read(spark, "events")
    first, last = days
    if first is not None:
        events = events.where(f"day >= DATE'{first}'")
    if last is not None:
        events = events.where(f"day <= DATE'{last}'")
    return events


def days_read(settings: JobSettings, span: Span) -> Days:
    """The days with events that matter to the windows of a span."""
    windows = [(plan.within, plan.slide) for plan in settings.workload.plans]
    start, end = span.reads(windows, settings.origin)
    return None if start is None else first_day(start), None if end is None else last_day(end)


def last_days(warehouse: Warehouse) -> Days:
    """The days of the events that the last ingest brought; all days where the ledger does not tell."""
    ledger = warehouse.rows(tables.LEDGER.name, ["ingested_at", "days"]).to_pylist()
    latest = max((file["ingested_at"] for file in ledger), default=None)
    brought = [file["days"] for file in ledger if file["ingested_at"] == latest]
    days = [one["day"] for days in brought for one in days or ()]
    return (min(days), max(days)) if days and None not in brought else (None, None)


def _frame(spark: SparkSession, rows: list[dict[str, Any]], schema: pa.Schema) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))
