"""Sharing decisions -> Delta `sharing_decisions`; engines that share nothing leave their slice empty."""

from __future__ import annotations

from pyspark.sql import SparkSession

from pipelines.settings import NamedWorkload
from resources import tables
from resources.sql import equal_values
from resources.warehouse import Warehouse


def write_decisions(
    spark: SparkSession,
    warehouse: Warehouse,
    workload: NamedWorkload,
    run_id: str,
    decisions: tuple[dict[str, object], ...] = (),
) -> int:
    """Replace the decisions of the workload; how many there are."""
    labels = {"workload": workload.name, "workload_hash": workload.hash, "run_id": run_id}
    rows = [{**decision, **labels} for decision in decisions]
    warehouse.replace_rows(spark, rows, tables.DECISIONS, equal_values(workload=workload.name))
    return len(rows)
