"""`hamlet backfill`: partitions of a workload of a folder, computed in one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands.failures import DEBUG
from pipelines.commands.options import debug_option
from pipelines.showing.visible import visible

if TYPE_CHECKING:
    from pipelines.foreseen import Foreseen

SHOWN_FILES = 5
"""Whose names are told by a dry run."""

EPILOG = """\b
Examples:
  hamlet backfill rides/ jams 2026-01-05 2026-01-14
  hamlet backfill rides/ jams 2026-01-05 2026-01-14 --dry-run
  hamlet backfill rides/ totals
"""


@click.command(short_help="Partitions of a workload of a folder, in one run.", epilog=EPILOG)
@click.argument("folder", metavar="FOLDER", type=click.Path())
@click.argument("workload", metavar="WORKLOAD")
@click.argument("first", metavar="[FIRST", required=False)
@click.argument("last", metavar="LAST]", required=False)
@click.option("--dry-run", is_flag=True, help="Say what would be read and computed, and why, and do nothing.")
@debug_option
def backfill(folder: str, workload: str, first: str | None, last: str | None, *, dry_run: bool) -> None:
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
    if dry_run:
        from pipelines.foreseen import foresee

        _show(foresee(Path(folder), workload, wanted))
        return
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


def _show(foreseen: Foreseen) -> None:
    """Files first, for what they bring may make more partitions stale."""
    if files := foreseen.files:
        more = f" and {len(files) - SHOWN_FILES} more" if len(files) > SHOWN_FILES else ""
        what = (
            "1 file would be read first, and what it brings"
            if len(files) == 1
            else (f"{len(files)} files would be read first, and what they bring")
        )
        click.echo(f"{what} counts, too: {visible(', '.join(files[:SHOWN_FILES]))}{more}")
    for partition, reasons in foreseen.reasons.items():
        for query, reason in reasons.items():
            if reason is not None:
                click.echo(f"{partition}  {query}: {reason}")
        if kept := sum(reason is None for reason in reasons.values()):
            click.echo(f"{partition}  {kept} of {len(reasons)} queries would be kept")
