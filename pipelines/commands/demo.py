"""`hamlet demo`: the main job on generated ride-sharing events, and what came out, in words."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands.failures import DEBUG
from pipelines.commands.options import debug_option, warehouse_option

if TYPE_CHECKING:
    import pyarrow as pa

    from pipelines.main_job import RunSummary

NUMBERS = ("query", "window_start", "window_end", "group_key", "aggregate", "value", "sign", "log2")


@click.command(short_help="The main job on generated events, explained.")
@warehouse_option
@debug_option
def demo(warehouse: str) -> None:
    """Run the main job on a generated day of ride-sharing: 200,000 events, some of them broken, seven queries.

    The events are generated once; a second run ingests nothing twice and finds the same numbers.
    """
    from pipelines.commands.main_run import fail_if_red, run_job, show_checks
    from pipelines.example import example_events, example_workload
    from pipelines.reading import ColumnOptions
    from pipelines.settings import JobSettings, Source
    from pipelines.showing.story import tell
    from resources.doctor import require_healthy
    from resources.storage import place_of

    root = place_of(warehouse)
    require_healthy(root)
    workload = example_workload()
    before = published(root, workload.name)
    events = example_events(root)
    click.echo(f"Events: {events}", err=True)
    settings = JobSettings(workload, Source(str(events), ColumnOptions()), root)
    summary = run_job(settings, debug=bool(click.get_current_context().meta.get(DEBUG)))
    results = published(root, workload.name)
    if summary.success and results is not None:
        labels = [(one.name, tuple(a.label for a in one.query.aggregates)) for one in workload.plans]
        tell(results, workload.text, labels, sys.stdout)
    click.echo("\nChecks")
    show_checks(summary)
    fail_if_red(summary)
    for line in (*_ingested(summary), *_compared(before, results), *_timings(summary), *_next_steps(root)):
        click.echo(line)


def published(warehouse: Path | str, workload: str) -> pa.Table | None:
    """The published rows of a workload; None if there is no such table yet."""
    import pyarrow.compute as pc

    from resources.warehouse import Warehouse

    tables = Warehouse(warehouse)
    if not tables.exists("trend_aggregates"):
        return None
    return tables.dataset("trend_aggregates").to_table(filter=pc.field("workload") == workload)


def digest(results: pa.Table) -> str:
    """A fingerprint of the numbers, whatever the order of the rows and the run that made them."""
    rows = sorted(repr(tuple(row.values())) for row in results.select(NUMBERS).to_pylist())
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def _ingested(summary: RunSummary) -> list[str]:
    numbers = {one.metric: int(one.value) for one in summary.metrics if one.step == "ingest"}
    if not numbers.get("files"):
        return ["\nIngest: nothing new; the events were in already, and none was ingested twice."]
    return [
        (
            f"\nIngest: {numbers['events ingested']:,} events; {numbers['rows rejected']:,} broken rows "
            "are in events_quarantine, each with its reason."
        )
    ]


def _compared(before: pa.Table | None, now: pa.Table | None) -> list[str]:
    if before is None or now is None or not before.num_rows:
        return []
    same = digest(before) == digest(now)
    return [
        f"Results: {now.num_rows:,} rows, "
        + ("the same numbers as before." if same else "not those of before.")
    ]


def _timings(summary: RunSummary) -> list[str]:
    return [f"Time: {summary.seconds:.1f} s from the start of the job to the last table."]


def _next_steps(warehouse: Path | str) -> list[str]:
    hamlet = command_name()
    place = "" if str(warehouse) == "warehouse" else f" --warehouse {warehouse}"
    return [
        "",
        "What now:",
        f"  {hamlet} ui{place}",
        f'  {hamlet} query "SHOW TABLES"{place}',
        f'  {hamlet} query "SELECT * FROM trend_aggregates ORDER BY log2 DESC LIMIT 5"{place}',  # noqa: S608 - for people to type
        f'  {hamlet} query "SELECT code, count(*) FROM events_quarantine GROUP BY code"{place}',  # noqa: S608
        f"The first shows assets, runs and checks in the browser. The tables are Delta tables in {warehouse}/:",
        "read them with Spark, DuckDB, Polars or pandas.",
    ]


def command_name() -> str:
    """What to type for `hamlet` here: its name, or its path where the PATH does not lead to it."""
    if shutil.which("hamlet"):
        return "hamlet"
    return os.path.relpath(Path(sys.executable).parent / "hamlet")
