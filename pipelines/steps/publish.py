"""Publish: checked rows of `computed_aggregates` -> `trend_aggregates`."""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit

from resources import tables
from resources.warehouse import Warehouse, equal


def publish(spark: SparkSession, warehouse: Warehouse, workload: str) -> int:
    """Replace the published rows of the workload by the computed ones, in one commit; their number."""
    computed = warehouse.read(spark, tables.COMPUTED.name).where(col("workload") == lit(workload))
    by_day = computed.hint("rebalance", "day")
    warehouse.replace(by_day, tables.PUBLISHED, equal(workload=workload))
    return warehouse.count(tables.PUBLISHED.name, workload=workload)
