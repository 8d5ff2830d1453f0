"""The job that keeps a warehouse small and fast to read."""

import dagster as dg
from pydantic import Field

from pipelines.assets.configuration import PipelineResource
from pipelines.assets.presenting import say, telling
from pipelines.assets.spark import SparkResource
from pipelines.steps.maintenance import WEEK, Maintained, Maintenance, maintain

MAINTENANCE_JOB = "maintenance_job"


class MaintenanceConfiguration(dg.Config):
    """How long old versions stay."""

    retention_hours: float = Field(
        default=WEEK, description="Versions of the tables stay readable for so many hours; at least 24"
    )


@dg.op
def maintain_tables(
    context: dg.OpExecutionContext,
    config: MaintenanceConfiguration,
    pipeline: PipelineResource,
    spark: SparkResource,
) -> None:
    """Put small files together, and delete files that no version within the retention needs."""
    with telling(context, pipeline):
        done = maintain(spark.session(), pipeline.tables(), Maintenance(config.retention_hours))
    for one in done:
        say(context, _line(one), step="maintenance", table=one.table)
    context.add_output_metadata({"tables": dg.MetadataValue.md(report(done))})


@dg.job(
    name=MAINTENANCE_JOB,
    description="Compacts the tables of the warehouse and deletes what is older than the retention.",
)
def maintenance_job() -> None:
    """One step: all tables of the warehouse, which the run has alone."""
    maintain_tables()


def report(done: tuple[Maintained, ...]) -> str:
    """What was done, as a table in Markdown."""
    head = "| table | files | bytes | stored files | stored bytes |\n|---|---|---|---|---|\n"
    return head + "\n".join(
        f"| {one.table} | {one.before.files} → {one.after.files} | {one.before.bytes:,} → {one.after.bytes:,} "
        f"| {one.before.stored_files} → {one.after.stored_files} "
        f"| {one.before.stored_bytes:,} → {one.after.stored_bytes:,} |"
        for one in done
    )


def _line(one: Maintained) -> str:
    return (
        f"maintenance of {one.table}: {one.before.files} files became {one.after.files}, "
        f"{one.before.stored_bytes:,} bytes stored became {one.after.stored_bytes:,}"
    )
