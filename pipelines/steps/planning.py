"""Plan: the text of a workload -> Delta `workload_plan`, a row a query, and what people want to see of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import SparkSession

from hamlet_core import explain, write_query
from pipelines.settings import NamedWorkload
from pipelines.steps.ingestion.ingest import Needs
from resources import tables
from resources.sql import equal_values
from resources.warehouse import Warehouse


def needs_of(workloads: Sequence[NamedWorkload]) -> Needs:
    """What their queries want of the table of events."""
    plans = [query for one in workloads for query in one.plans]
    return Needs(
        frozenset[str]().union(*(one.numeric for one in workloads)),
        tuple(frozenset(query.equivalence + query.group_by) for query in plans),
        frozenset[str]().union(*(one.read for one in workloads)),
        frozenset(one.name for one in workloads),
    )


def plan_rows(workload: NamedWorkload, run_id: str) -> list[dict[str, object]]:
    """The rows of `workload_plan`, in the order of the text."""
    parsed, digest = workload.parsed, workload.hash
    return [
        {
            "workload": workload.name,
            "workload_hash": digest,
            "query": query.name,
            "text": write_query(query.query),
            "types": sorted(query.types),
            "columns": list(query.columns),
            "partition": [*query.equivalence, *query.group_by],
            "within_us": query.within,
            "slide_us": query.slide,
            "explanation": explain(replace(parsed, queries=(query.query,))),
            "run_id": run_id,
            "position": position,
            "mode": query.query.mode.value,
        }
        for position, query in enumerate(workload.plans)
    ]


def write_plan(
    spark: SparkSession, warehouse: Warehouse, workload: NamedWorkload, rows: list[dict[str, object]]
) -> None:
    """Replace the plan of this text of the workload; other texts stay, for results that were made of them."""
    where = equal_values(workload=workload.name, workload_hash=workload.hash)
    warehouse.replace_rows(spark, rows, tables.PLAN, where)


def plan_markdown(rows: list[dict[str, object]]) -> str:
    """The plan as a page: each query with its text and every stage."""
    return "\n\n".join(f"### {row['query']}\n\n~~~\n{row['explanation']}\n~~~" for row in rows)
