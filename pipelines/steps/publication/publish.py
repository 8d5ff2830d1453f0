"""Publish: checked rows of `computed_aggregates` -> `trend_aggregates`."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pipelines.spans import Span
from pipelines.steps.slices import results_filter, results_of
from resources import tables
from resources.warehouse import Warehouse


def publish(spark: SparkSession, warehouse: Warehouse, workload: str, span: Span = Span()) -> int:
    """Replace the published rows of the workload's windows in the span by the computed ones, in one commit; their number."""
    where = results_of(workload, span)
    computed = warehouse.read(spark, tables.COMPUTED.name).where(where)
    warehouse.replace(computed.hint("rebalance", "day"), tables.PUBLISHED, where)
    published = warehouse.dataset(tables.PUBLISHED.name)
    return int(published.count_rows(filter=results_filter(workload, span)))
