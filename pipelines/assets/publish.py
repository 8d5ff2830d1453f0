"""Assets that others read: the published aggregates, and the numbers of the run that made them."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import dagster as dg

from hamlet_core.describe.funnel import funnel_steps
from pipelines.assets.configuration import PipelineResource
from pipelines.assets.place import Place
from pipelines.assets.presenting import (
    copied_lineage,
    pictures,
    recorded_metrics,
    say,
    step_seconds,
    stored_schema,
    table_spec,
    telling,
    written,
)
from pipelines.assets.spark import SparkResource
from pipelines.showing.funnel_picture import published_funnels
from pipelines.showing.plots import results_pictures
from pipelines.steps.metrics import Metric, write_metrics
from pipelines.steps.publication.publish import publish
from pipelines.steps.publication.wide import publish_wide
from pipelines.steps.slices import rows_by_partition
from resources import tables
from resources.warehouse import Warehouse


def publish_assets(place: Place) -> tuple[dg.AssetsDefinition, ...]:
    """What of one workload others read."""

    @dg.multi_asset(
        specs=[
            table_spec(
                place,
                tables.PUBLISHED,
                group="publish",
                deps=(place.key(tables.COMPUTED.name),),
                partitions=place.partitions,
                freshness=place.freshness,
            )
        ],
        **place.operation("publish"),
    )
    def publish_aggregates(
        context: dg.AssetExecutionContext, pipeline: PipelineResource, spark: SparkResource
    ) -> dg.MaterializeResult:
        """Replace the published rows of the windows of the run by the checked ones, in one commit."""
        with telling(context, pipeline):
            settings = pipeline.settings(place.name, place.span(context))
            warehouse = pipeline.tables(settings.workload)
            rows = publish(spark.session(), warehouse, settings.workload.name, settings.span)
            wide = publish_wide(warehouse, settings, settings.span)
            say(
                context,
                f"publish: {rows:,} rows in {warehouse.path_of(tables.PUBLISHED.name)}",
                step="publish",
                rows=rows,
            )
            for table, count in wide.items():
                context.log_event(_wide_written(place, warehouse, table, count))
            metrics = (Metric("publish", "rows published", rows),)
            published = warehouse.dataset(tables.PUBLISHED.name)
            counts = rows_by_partition(published, settings.workload.name, settings.span)
            more = {
                "dagster/column_lineage": copied_lineage(place, tables.PUBLISHED, tables.COMPUTED),
                "results over time": pictures(
                    context,
                    "published results",
                    partial(results_pictures, warehouse, settings.workload.name),
                ),
                "wide tables": dg.MetadataValue.json(wide),
            }
            if any(funnel_steps(plan.query) for plan in settings.workload.plans):
                more["funnels"] = pictures(
                    context, "funnels", partial(published_funnels, warehouse, settings.workload)
                )
            return written(
                context, place, warehouse, tables.PUBLISHED.name, rows=counts, metrics=metrics, more=more
            )

    @dg.multi_asset(
        specs=[
            table_spec(
                place,
                tables.METRICS,
                group="publish",
                deps=(place.key(tables.PUBLISHED.name),),
                partitions=place.partitions,
            )
        ],
        **place.operation("measure"),
    )
    def record_metrics(
        context: dg.AssetExecutionContext, pipeline: PipelineResource, spark: SparkResource
    ) -> dg.MaterializeResult:
        """Keep what the steps of this run counted and how long they took."""
        with telling(context, pipeline):
            settings = pipeline.settings(place.name)
            warehouse = pipeline.tables(settings.workload)
            instance, run_id = context.instance, context.run.run_id
            metrics = (*recorded_metrics(instance, run_id), *step_seconds(instance, run_id))
            write_metrics(spark.session(), warehouse, settings.workload.name, run_id, metrics)
            return written(context, place, warehouse, tables.METRICS.name, rows=len(metrics))

    return publish_aggregates, record_metrics


def wide_specs(place: Place, names: Iterable[str]) -> tuple[dg.AssetSpec, ...]:
    """The wide tables in the lineage. The step that publishes writes them too, so none of them is run by itself."""
    return tuple(
        dg.AssetSpec(
            place.key(name),
            deps=[place.key(tables.PUBLISHED.name)],
            group_name=place.group("publish"),
            description=f"The wide table of a query, out of {tables.PUBLISHED.name}: a row per window and group.",
            kinds={"delta"},
            owners=list(place.settings.owners),
        )
        for name in names
    )


def _wide_written(place: Place, warehouse: Warehouse, table: str, rows: int) -> dg.AssetMaterialization:
    """What the pages show of a wide table after a run."""
    shown: dict[str, Any] = {
        "dagster/uri": warehouse.path_of(table),
        "dagster/row_count": rows,
        "dagster/column_schema": stored_schema(warehouse, table),
    }
    return dg.AssetMaterialization(place.key(table), metadata=shown)
