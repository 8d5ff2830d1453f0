"""Great Expectations on events: all of them, or those of the days that the windows of a span read."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pipelines.checks.event_rules import event_rules
from pipelines.checks.ledger_rules import CONTENT_RULES, ENTRIES, contents, file_rules, files_of
from pipelines.checks.rows import ALL_DAYS, Days, Rows, events_of
from pipelines.checks.rules import Outcome
from pipelines.checks.suites import run_rules
from pipelines.expectations import Expectations
from pipelines.settings import JobSettings
from pipelines.spans import Span
from pipelines.steps.ingestion.ledger import parts_of
from pipelines.steps.slices import first_day, last_day
from resources import tables
from resources.warehouse import Warehouse, values


@dataclass(frozen=True, slots=True)
class SuiteReport:
    """How the rules of a suite came out, and how many rows they looked at."""

    rows: int
    outcomes: tuple[Outcome, ...]


def check_events(
    spark: SparkSession,
    warehouse: Warehouse,
    expectations: Expectations = Expectations(),
    days: Days = ALL_DAYS,
) -> SuiteReport:
    """Validate the events of these days, and all of the ledger.

    Raises ExpectationError for declared expectations that do not fit the table.
    """
    return _check(spark, warehouse, expectations, events_of(spark, warehouse, days), None, days)


def check_new_events(
    spark: SparkSession, warehouse: Warehouse, expectations: Expectations, since: datetime | None
) -> SuiteReport:
    """Validate the events that came in after an ingest, and what the ledger says of their files; None: all of them.

    Raises as `check_events`.
    """
    return _check(spark, warehouse, expectations, events_of(spark, warehouse, since=since), since, ALL_DAYS)


def _check(
    spark: SparkSession,
    warehouse: Warehouse,
    expectations: Expectations,
    events: Rows,
    since: datetime | None,
    days: Days,
) -> SuiteReport:
    """Validate these events of these days, which must be those that the ledger tells of, from an ingest on."""
    later = None if since is None else pc.field("ingested_at") > pa.scalar(since, tables.TIMESTAMP)
    ledger = warehouse.rows(tables.LEDGER.name, where=later).to_pylist()
    files = files_of(ledger, parts_of(warehouse))
    rules = event_rules(warehouse.schema("events"), warehouse.properties("events"), expectations)
    with ThreadPoolExecutor(1) as beside:
        counted = beside.submit(contents, events.frame, ledger, *days)
        outcomes = run_rules(events.frame, "events", rules, few=events.few)
        found = counted.result()
    entries = values(spark, pa.Table.from_pylist([*found, *files], schema=ENTRIES))
    return SuiteReport(
        sum(row["rows"] for row in found),
        (
            *outcomes,
            *run_rules(entries, "ledger", (*CONTENT_RULES, *file_rules(expectations)), few=True),
        ),
    )


def days_read(settings: JobSettings, span: Span) -> Days:
    """The days with events that matter to the windows of a span."""
    windows = [(plan.within, plan.slide) for plan in settings.workload.plans]
    start, end = span.reads(windows, settings.origin)
    return None if start is None else first_day(start), None if end is None else last_day(end)


def last_days(warehouse: Warehouse) -> Days:
    """The days of the events that the last ingest brought; all days where the ledger does not tell."""
    ledger = warehouse.rows(tables.LEDGER.name, ["ingested_at"]).column(0).to_pylist()
    return _days_of(
        warehouse, pc.field("ingested_at") == pa.scalar(max(ledger, default=None), tables.TIMESTAMP)
    )


def days_since(warehouse: Warehouse, ingest: datetime) -> Days:
    """The days of the events that came in after an ingest; all days where the ledger does not tell."""
    return _days_of(warehouse, pc.field("ingested_at") > pa.scalar(ingest, tables.TIMESTAMP))


def _days_of(warehouse: Warehouse, files: pc.Expression) -> Days:
    brought = warehouse.rows(tables.LEDGER.name, ["days"], where=files).column(0).to_pylist()
    days = [one["day"] for days in brought for one in days or ()]
    return (min(days), max(days)) if days and None not in brought else ALL_DAYS


def all_of(several: Iterable[Days]) -> Days:
    """From the first of some days to the last."""
    firsts, lasts = zip(*several, strict=True)
    return None if None in firsts else min(firsts), None if None in lasts else max(lasts)
