"""Great Expectations on the results whose windows end in a span."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from hamlet_core.table.encode import TIME_UNITS
from pipelines.checks.events import SuiteReport, days_read
from pipelines.checks.group_rules import Operand, complete_operands, group_rules, grouped, operands_of
from pipelines.checks.result_rules import SECOND, result_rules
from pipelines.checks.rows import Rows, computed_of, events_of
from pipelines.checks.rules import Outcome
from pipelines.checks.suites import run_rules
from pipelines.checks.trend_rules import trend_rules
from pipelines.settings import JobSettings
from pipelines.spans import Span
from resources.warehouse import Warehouse


def check_results(
    spark: SparkSession, warehouse: Warehouse, settings: JobSettings, span: Span = Span()
) -> SuiteReport:
    """Validate the computed rows of a workload, each by itself and all of one (query, window, group) together."""
    rows, count = computed_of(spark, warehouse, settings.workload.name, span)
    plans = settings.workload.plans
    counted = frozenset(one for one in operands_of(plans) if _is_counted(settings, one))
    events = events_of(spark, warehouse, days_read(settings, span)).frame
    complete = complete_operands(events, counted)
    unit = duration_unit(warehouse.schema("events"), settings)
    return SuiteReport(count, outcomes_of(rows, settings, complete, unit))


def duration_unit(events: pa.Schema, settings: JobSettings) -> int:
    """Microseconds in what DURATION counts: the unit of an integer time column, or seconds."""
    schema = settings.event_schema
    return TIME_UNITS[schema.time_unit] if pa.types.is_integer(events.field(schema.time).type) else SECOND


def outcomes_of(
    rows: Rows,
    settings: JobSettings,
    complete: frozenset[Operand],
    unit: int = SECOND,
) -> tuple[Outcome, ...]:
    """The rules over result rows; attributes in `complete` have a value in every event, DURATION counts `unit`
    microseconds.
    """
    plans, arithmetic = settings.workload.plans, settings.execute.arithmetic
    results = result_rules(plans, settings.origin, arithmetic, unit)
    together = (*group_rules(plans, complete), *trend_rules(plans))
    if rows.few:
        groups = grouped(rows.frame.coalesce(1))
    else:
        groups = grouped(rows.frame.repartition("query", "window_start", "group_key")).persist()
    try:
        return (
            *run_rules(rows.frame, "results", results, few=rows.few),
            *run_rules(groups, "groups", together, few=rows.few),
        )
    finally:
        groups.unpersist()


def _is_counted(settings: JobSettings, operand: Operand) -> bool:
    """Whether a query returns all that relates SUM and AVG to the number of events."""
    over = f"{operand.alias}.{operand.attribute}"
    wanted = {f"SUM({over})", f"AVG({over})", f"COUNT({operand.alias})"}
    return any(
        wanted <= {aggregate.label for aggregate in plan.query.aggregates} for plan in settings.workload.plans
    )
