"""Asset of the plan: what the planner understood of the workload, a row a query."""

from functools import partial

import dagster as dg

from pipelines.assets.configuration import PipelineResource
from pipelines.assets.place import Place
from pipelines.assets.presenting import picture, say, table_spec, telling, written
from pipelines.assets.spark import SparkResource
from pipelines.showing.template_picture import template_picture
from pipelines.steps.planning import plan_markdown, plan_rows, write_plan
from resources import tables


def plan_asset(place: Place) -> dg.AssetsDefinition:
    """The plan of one workload; needs no events."""

    @dg.multi_asset(
        # Partitioned like the results, though each partition has the same plan: so that a backfill is one run.
        specs=[table_spec(place, tables.PLAN, group="plan", partitions=place.partitions)],
        **place.operation("plan"),
    )
    def plan_workload(
        context: dg.AssetExecutionContext, pipeline: PipelineResource, spark: SparkResource
    ) -> dg.MaterializeResult:
        """Parse and analyse the workload; needs no events."""
        with telling(context, pipeline):
            workload = pipeline.settings(place.name).workload
            warehouse = pipeline.tables(workload)
            rows = plan_rows(workload, context.run.run_id)
            write_plan(spark.session(), warehouse, workload, rows)
            say(
                context,
                f"plan: {len(rows)} queries in workload {workload.name}",
                step="plan",
                queries=len(rows),
            )
            more = {
                "template": picture(
                    context, "merged templates, and who may share", partial(template_picture, workload)
                ),
                "plan": dg.MetadataValue.md(plan_markdown(rows)),
            }
            return written(context, place, warehouse, tables.PLAN.name, rows=len(rows), more=more)

    return plan_workload
