"""Assets of the execution: the aggregates as computed, before they are checked, and how queries shared."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import dagster as dg

from pipelines.assets.configuration import PipelineResource
from pipelines.assets.place import Place
from pipelines.assets.presenting import (
    computed_lineage,
    pictures,
    say,
    table_spec,
    telling,
    told_days,
    written,
)
from pipelines.assets.spark import SparkResource
from pipelines.showing.plots import sharing_picture
from pipelines.spans import Span
from pipelines.steps.execution.decisions import decisions_by_partition
from pipelines.steps.execution.execute import ExecuteReport, execute
from pipelines.steps.metrics import decision_metrics, execute_metrics
from pipelines.steps.slices import rows_by_partition
from resources import tables


def execute_assets(place: Place) -> dg.AssetsDefinition:
    """What one workload computes."""
    deps = (dg.AssetKey("events"), place.key(tables.PLAN.name))

    @dg.multi_asset(
        specs=[
            table_spec(place, table, group="execute", deps=deps, partitions=place.partitions)
            for table in (tables.COMPUTED, tables.DECISIONS)
        ],
        **place.operation("execute"),
    )
    def compute_aggregates(
        context: dg.AssetExecutionContext, pipeline: PipelineResource, spark: SparkResource
    ) -> Iterator[dg.MaterializeResult]:
        """Compute every query over the windows of the run, as Spark tasks that read the files of their buckets."""
        with telling(context, pipeline):
            settings = pipeline.settings(place.name, place.span(context))
            warehouse = pipeline.tables(settings.workload)
            report = execute(spark.session(), warehouse, settings, context.run.run_id)
            say(
                context,
                _summary(report),
                step="execute",
                rows=sum(report.rows.values()),
                tasks=len(report.tasks),
            )
            metrics = execute_metrics(report)
            computed = warehouse.dataset(tables.COMPUTED.name)
            rows = rows_by_partition(computed, settings.workload.name, settings.span)
            lineage = computed_lineage(place, settings.workload.plans, settings.event_schema.time)
            more = {"dagster/column_lineage": lineage, **told_days(report.days)}
            yield written(
                context, place, warehouse, tables.COMPUTED.name, rows=rows, metrics=metrics, more=more
            )
            draw = partial(sharing_picture, warehouse, settings.workload.name)
            shared = pictures(context, "sharing over time", draw)
            yield written(
                context,
                place,
                warehouse,
                tables.DECISIONS.name,
                rows=decisions_by_partition(warehouse, settings.workload.name, settings.span),
                metrics=decision_metrics(report.decided),
                more={"sharing over time": shared},
            )

    return compute_aggregates


def _summary(report: ExecuteReport) -> str:
    rows = sum(report.rows.values())
    kept = f"; {len(report.kept)} queries were computed already" if report.kept else ""
    decided = report.decided
    shared = f", {decided.shared:,} of {decided.bursts:,} bursts shared" if decided.bursts else ""
    days = f" over the days {_shown(report.days)} alone" if report.days else ""
    return f"execute: {rows:,} result rows from {len(report.tasks)} tasks{days}{shared}{kept}"


def _shown(days: Span) -> str:
    """The first and the last of whole days."""
    assert days.after is not None  # noqa: S101 - for mypy
    assert days.until is not None  # noqa: S101 - as above
    return f"{days.after.date()} to {days.until.date() - timedelta(days=1)}"
