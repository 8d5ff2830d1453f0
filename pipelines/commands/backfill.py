"""`hamlet backfill`: partitions of a workload of a folder, computed in one run."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.commands.failures import DEBUG
from pipelines.commands.options import debug_option

EPILOG = """\b
Examples:
  hamlet backfill rides/ jams 2026-01-05 2026-01-14
  hamlet backfill rides/ totals
"""


@click.command(short_help="Partitions of a workload of a folder, in one run.", epilog=EPILOG)
@click.argument("folder", metavar="FOLDER", type=click.Path())
@click.argument("workload", metavar="WORKLOAD")
@click.argument("first", metavar="[FIRST", required=False)
@click.argument("last", metavar="LAST]", required=False)
@debug_option
def backfill(folder: str, workload: str, first: str | None, last: str | None) -> None:
    """Ingest the new files of FOLDER, then compute, check and publish its WORKLOAD for the partitions from FIRST to
    LAST (FIRST alone: that one; neither: a workload without partitions). Queries that are computed already and that
    no late event matters to are kept.
    """
    from pipelines.commands.main_run import fail_if_red, run_in, show_checks, show_steps
    from pipelines.folder import WorkloadFolder
    from pipelines.main_job import run_workload
    from resources.warehouse import Warehouse

    read = WorkloadFolder.read(Path(folder))
    read.settings(workload)
    wanted = (first, last or first) if first else None
    summary = run_in(
        read.warehouse,
        read.source.path,
        lambda instance, level: run_workload(Path(folder), workload, wanted, instance, log_level=level),
        debug=bool(click.get_current_context().meta.get(DEBUG)),
    )
    click.echo(f"Checks of run {summary.run_id}:")
    show_checks(summary)
    show_steps(summary)
    fail_if_red(summary)
    rows = sum(int(one.value) for one in summary.metrics if one.metric == "rows published")
    click.echo(
        f"{workload}: {rows:,} rows published in {Warehouse(read.warehouse).path_of('trend_aggregates')}"
    )
