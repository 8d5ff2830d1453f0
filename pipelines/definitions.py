"""The code location: assets, checks, the main job and its resources, together only here."""

import dagster as dg

from pipelines.assets import checks, execute, ingest, plan, publish
from pipelines.assets.configuration import PipelineConfiguration
from resources.spark import SparkResource

MAIN_JOB = "trend_aggregates_job"


def definitions(configuration: PipelineConfiguration | None = None) -> dg.Definitions:
    """Everything Dagster runs; without a configuration, each run may set its own, and the example is the default."""
    return dg.Definitions(
        assets=[
            ingest.ingest_files,
            plan.plan_workload,
            execute.compute_aggregates,
            publish.publish_aggregates,
            publish.record_metrics,
        ],
        asset_checks=[checks.events_expectations, checks.results_expectations, checks.greta_comparison],
        jobs=[
            dg.define_asset_job(
                MAIN_JOB,
                selection=dg.AssetSelection.all(),
                description="Files of events and a workload of queries in; checked trend aggregates out.",
            )
        ],
        resources={
            "pipeline": configuration or PipelineConfiguration.configure_at_launch(),
            "spark": SparkResource(),
        },
        # One process, one Spark session: the multiprocess executor starts a JVM per step.
        executor=dg.in_process_executor,
    )


defs = definitions()
