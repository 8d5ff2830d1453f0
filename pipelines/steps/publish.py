"""Publish: checked rows of `computed_aggregates` -> `trend_aggregates`, and the numbers of the run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit

from pipelines.steps.execute import ExecuteReport
from pipelines.steps.ingest import IngestReport
from resources import tables
from resources.warehouse import Warehouse, frame_of


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a run; `query` is None where it is of the whole step."""

    step: str
    metric: str
    value: float
    query: str | None = None


def publish(spark: SparkSession, warehouse: Warehouse, workload: str) -> int:
    """Replace the published rows of the workload by the computed ones, in one commit; their number."""
    computed = warehouse.read(spark, tables.COMPUTED.name).where(col("workload") == lit(workload))
    warehouse.replace(computed.hint("rebalance", "day"), tables.PUBLISHED, column="workload", value=workload)
    return warehouse.count(tables.PUBLISHED.name, "workload", workload)


def ingest_metrics(report: IngestReport) -> tuple[Metric, ...]:
    """What an ingest counted."""
    return (
        Metric("ingest", "files", len(report.files)),
        Metric("ingest", "files skipped", len(report.skipped)),
        Metric("ingest", "events", report.rows),
        Metric("ingest", "rejected rows", report.rejected),
    )


def execute_metrics(report: ExecuteReport) -> tuple[Metric, ...]:
    """What an execution counted."""
    whole = (
        Metric("execute", "tasks", len(report.tasks)),
        Metric("execute", "events read by tasks", sum(task.events for task in report.tasks)),
        Metric("execute", "partial rows", sum(task.rows for task in report.tasks)),
        Metric("execute", "task seconds", sum(task.seconds for task in report.tasks)),
    )
    return (*whole, *(Metric("execute", "result rows", rows, query) for query, rows in report.rows.items()))


def write_metrics(
    spark: SparkSession, warehouse: Warehouse, workload: str, run_id: str, metrics: Iterable[Metric]
) -> None:
    """Replace the numbers of this run."""
    now = datetime.now(UTC)
    rows: list[dict[str, object]] = [
        {
            "run_id": run_id,
            "workload": workload,
            "step": one.step,
            "metric": one.metric,
            "query": one.query,
            "value": float(one.value),
            "measured_at": now,
        }
        for one in metrics
    ]
    warehouse.replace(frame_of(spark, rows, tables.METRICS), tables.METRICS, column="run_id", value=run_id)
