"""Publish: checked rows of `computed_aggregates` -> `trend_aggregates`."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pipelines.spans import Span
from pipelines.steps.slices import results_filter, results_of
from resources import tables
from resources.warehouse import MOST_HERE, Warehouse, values


def publish(spark: SparkSession, warehouse: Warehouse, workload: str, span: Span = Span()) -> int:
    """Replace the published rows of the workload's windows in the span by the computed ones, in one commit; their number."""
    where, mine = results_of(workload, span), results_filter(workload, span)
    count = warehouse.count_where(tables.COMPUTED.name, mine)
    if count + warehouse.rows_beside(tables.PUBLISHED.name, mine) <= MOST_HERE:
        rows = values(spark, warehouse.rows(tables.COMPUTED.name, where=mine))
        warehouse.replace(rows, tables.PUBLISHED, where, here=mine)
    else:
        rows = warehouse.read(spark, tables.COMPUTED.name).where(where)
        warehouse.replace(rows.hint("rebalance", "day"), tables.PUBLISHED, where)
    return warehouse.count_where(tables.PUBLISHED.name, mine)
