"""Assets that others read: the published aggregates, and the numbers of the run that made them."""

from collections.abc import Iterator

import dagster as dg

from pipelines.assets.configuration import PipelineConfiguration
from pipelines.assets.presenting import recorded_metrics, say, table_spec, written
from pipelines.steps.metrics import Metric, write_metrics
from pipelines.steps.publish import publish
from resources import tables
from resources.spark import SparkResource


@dg.multi_asset(
    specs=[table_spec(tables.PUBLISHED, group="publish", deps=(tables.COMPUTED.name,))], name="publish"
)
def publish_aggregates(
    context: dg.AssetExecutionContext, pipeline: PipelineConfiguration, spark: SparkResource
) -> dg.MaterializeResult:
    """Replace the published rows of the workload by the checked ones, in one commit."""
    settings, warehouse = pipeline.settings(), pipeline.tables()
    rows = publish(spark.session(), warehouse, settings.workload.name, settings.span)
    say(context, f"publish: {rows:,} rows in {warehouse.path_of(tables.PUBLISHED.name)}")
    metrics = (Metric("publish", "rows published", rows),)
    return written(warehouse, tables.PUBLISHED.name, rows=rows, metrics=metrics)


@dg.multi_asset(
    specs=[table_spec(tables.METRICS, group="publish", deps=(tables.PUBLISHED.name,))], name="measure"
)
def record_metrics(
    context: dg.AssetExecutionContext, pipeline: PipelineConfiguration, spark: SparkResource
) -> dg.MaterializeResult:
    """Keep what the steps of this run counted and how long they took."""
    settings, warehouse = pipeline.settings(), pipeline.tables()
    instance, run_id = context.instance, context.run.run_id
    metrics = (*recorded_metrics(instance, run_id), *_seconds(instance, run_id))
    write_metrics(spark.session(), warehouse, settings.workload.name, run_id, metrics)
    return written(warehouse, tables.METRICS.name, rows=len(metrics))


def _seconds(instance: dg.DagsterInstance, run_id: str) -> Iterator[Metric]:
    """How long the finished steps of a run took."""
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.STEP_SUCCESS):
        event = entry.dagster_event
        if event is not None:
            yield Metric(event.step_key or "", "seconds", event.step_success_data.duration_ms / 1000)
