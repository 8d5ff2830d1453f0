"""Great Expectations on the results whose windows end in a span."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from pipelines.checks.events import SuiteReport, days_read, slice_of_events
from pipelines.checks.group_rules import Operand, complete_operands, group_rules, grouped, operands_of
from pipelines.checks.result_rules import result_rules
from pipelines.checks.rules import Outcome
from pipelines.checks.suites import run_rules
from pipelines.settings import JobSettings
from pipelines.spans import Span
from pipelines.steps.slices import results_filter, results_of
from resources import tables
from resources.warehouse import Warehouse


def check_results(
    spark: SparkSession, warehouse: Warehouse, settings: JobSettings, span: Span = Span()
) -> SuiteReport:
    """Validate the computed rows of a workload, each by itself and all of one (query, window, group) together."""
    rows = warehouse.read(spark, tables.COMPUTED.name).where(results_of(settings.workload.name, span))
    plans = settings.workload.plans
    counted = frozenset(one for one in operands_of(plans) if _is_counted(settings, one))
    complete = complete_operands(slice_of_events(spark, warehouse, days_read(settings, span)), counted)
    stored = warehouse.dataset(tables.COMPUTED.name)
    count = stored.count_rows(filter=results_filter(settings.workload.name, span))
    return SuiteReport(count, outcomes_of(rows, settings, complete))


def outcomes_of(rows: DataFrame, settings: JobSettings, complete: frozenset[Operand]) -> tuple[Outcome, ...]:
    """The rules over result rows; attributes in `complete` have a value in every event."""
    plans = settings.workload.plans
    groups = grouped(rows).persist()
    try:
        return (
            *run_rules(rows, "results", result_rules(plans, settings.origin, settings.execute.arithmetic)),
            *run_rules(groups, "groups", group_rules(plans, complete)),
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
