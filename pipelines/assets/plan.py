"""Asset of the plan: what the planner understood of the workload, a row a query."""

import dagster as dg

from pipelines.assets.configuration import PipelineConfiguration
from pipelines.assets.presenting import say, table_spec, written
from pipelines.steps.planning import plan_markdown, plan_rows, write_plan
from resources import tables
from resources.spark import SparkResource


@dg.multi_asset(specs=[table_spec(tables.PLAN, group="plan")], name="plan")
def plan_workload(
    context: dg.AssetExecutionContext, pipeline: PipelineConfiguration, spark: SparkResource
) -> dg.MaterializeResult:
    """Parse and analyse the workload; needs no events."""
    settings, warehouse = pipeline.settings(), pipeline.tables()
    rows = plan_rows(settings.workload, context.run.run_id)
    write_plan(spark.session(), warehouse, settings.workload, rows)
    say(context, f"plan: {len(rows)} queries in workload {settings.workload.name}")
    page = dg.MetadataValue.md(plan_markdown(rows))
    return written(warehouse, tables.PLAN.name, rows=len(rows), more={"plan": page})
