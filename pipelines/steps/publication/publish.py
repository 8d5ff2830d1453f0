"""Publish: checked rows of `computed_aggregates` -> `trend_aggregates`."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pipelines.spans import Span
from pipelines.steps.slices import any_results, results_filter, results_of
from resources import tables
from resources.warehouse import Warehouse, values

MOST_HERE = 100_000
"""Rows that pass this process where they replace none, which takes less time than a write of Spark."""


def publish(spark: SparkSession, warehouse: Warehouse, workload: str, span: Span = Span()) -> int:
    """Replace the published rows of the workload's windows in the span by the computed ones, in one commit; their number."""
    where, mine = results_of(workload, span), results_filter(workload, span)
    computed = warehouse.dataset(tables.COMPUTED.name)
    few = computed.count_rows(filter=mine) <= MOST_HERE
    if few and not any_results(warehouse, tables.PUBLISHED, workload, span):
        warehouse.append(values(spark, computed.to_table(filter=mine)), tables.PUBLISHED, few=True)
    else:
        rows = warehouse.read(spark, tables.COMPUTED.name).where(where)
        warehouse.replace(rows.hint("rebalance", "day"), tables.PUBLISHED, where)
    return int(warehouse.dataset(tables.PUBLISHED.name).count_rows(filter=mine))
