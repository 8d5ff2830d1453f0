"""Assets of the execution: the aggregates as computed, before they are checked, and how queries shared."""

from collections.abc import Iterator

import dagster as dg

from pipelines.assets.configuration import PipelineConfiguration
from pipelines.assets.presenting import say, table_spec, written
from pipelines.steps.decisions import write_decisions
from pipelines.steps.execute import execute
from pipelines.steps.metrics import execute_metrics
from resources import tables
from resources.spark import SparkResource

_DEPS = ("events", tables.PLAN.name)


@dg.multi_asset(
    specs=[
        table_spec(tables.COMPUTED, group="execute", deps=_DEPS),
        table_spec(tables.DECISIONS, group="execute", deps=_DEPS),
    ],
    name="execute",
)
def compute_aggregates(
    context: dg.AssetExecutionContext, pipeline: PipelineConfiguration, spark: SparkResource
) -> Iterator[dg.MaterializeResult]:
    """Compute every query over all events, as Spark tasks that read the files of their buckets themselves."""
    settings, warehouse, session = pipeline.settings(), pipeline.tables(), spark.session()
    report = execute(session, warehouse, settings, context.run.run_id)
    decisions = write_decisions(session, warehouse, settings.workload, context.run.run_id)
    rows = sum(report.rows.values())
    say(context, f"execute: {rows:,} result rows from {len(report.tasks)} tasks")
    yield written(warehouse, tables.COMPUTED.name, rows=rows, metrics=execute_metrics(report))
    yield written(warehouse, tables.DECISIONS.name, rows=decisions)
