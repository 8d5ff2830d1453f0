"""The numbers of a run: what each step counted, and the table that keeps them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from pipelines.steps.execution.decisions import Decided
from pipelines.steps.execution.execute import ExecuteReport
from pipelines.steps.ingestion.ingest import IngestReport
from resources import tables
from resources.sql import equal_values
from resources.warehouse import Warehouse


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a run; `query` is None where it is of the whole step."""

    step: str
    metric: str
    value: float
    query: str | None = None

    @property
    def label(self) -> str:
        """A name that tells the numbers of one step apart."""
        return f"{self.metric} of {self.query}" if self.query else self.metric

    def as_json(self) -> dict[str, Any]:
        """The metric as plain values."""
        return asdict(self)


def metrics_of(entries: Iterable[Any]) -> tuple[Metric, ...]:
    """The metrics that `as_json` made these values of."""
    return tuple(Metric(**entry) for entry in entries)


def ingest_metrics(report: IngestReport) -> tuple[Metric, ...]:
    """What an ingest counted."""
    return (
        Metric("ingest", "files", len(report.files)),
        Metric("ingest", "files skipped", len(report.skipped)),
        Metric("ingest", "events ingested", report.rows),
        Metric("ingest", "rows rejected", report.rejected),
        Metric("ingest", "values left empty", sum(report.empty.values())),
    )


def execute_metrics(report: ExecuteReport) -> tuple[Metric, ...]:
    """What an execution counted."""
    whole = (
        Metric("execute", "tasks", len(report.tasks)),
        Metric("execute", "events read by tasks", sum(task.events for task in report.tasks)),
        Metric("execute", "partial rows", sum(task.rows for task in report.tasks)),
        Metric("execute", "task seconds", round(sum(task.seconds for task in report.tasks), 3)),
    )
    return (*whole, *(Metric("execute", "result rows", rows, query) for query, rows in report.rows.items()))


def decision_metrics(decided: Decided) -> tuple[Metric, ...]:
    """What an execution decided burst by burst."""
    return (
        Metric("execute", "bursts decided", decided.bursts),
        Metric("execute", "bursts shared", decided.shared),
        Metric("execute", "snapshots created", decided.snapshots_created),
        Metric("execute", "snapshots carried", decided.snapshots_carried),
    )


def write_metrics(
    spark: SparkSession, warehouse: Warehouse, workload: str, run_id: str, metrics: Iterable[Metric]
) -> None:
    """Replace the numbers of this run."""
    now = datetime.now(UTC)
    rows: list[dict[str, object]] = [
        {
            **one.as_json(),
            "run_id": run_id,
            "workload": workload,
            "value": float(one.value),
            "measured_at": now,
        }
        for one in metrics
    ]
    warehouse.replace_rows(spark, rows, tables.METRICS, equal_values(run_id=run_id))
