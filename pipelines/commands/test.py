"""`hamlet test`: the cases that stand beside the workloads of a folder."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.commands.options import debug_option
from pipelines.showing.visible import visible

EPILOG = """\b
Examples:
  hamlet test rides/
  hamlet test rides/ jams
"""


@click.command(short_help="Cases beside workloads: events in, rows expected.", epilog=EPILOG)
@click.argument("folder", metavar="FOLDER", type=click.Path())
@click.argument("workload", metavar="[WORKLOAD]", required=False)
@debug_option
def test(folder: str, workload: str | None) -> None:
    """Run the cases in NAME.cases.yaml beside each NAME.hamlet of FOLDER, or those of WORKLOAD; exit code 1 if one is red."""
    from pipelines.cases import judge
    from pipelines.folder import WorkloadFolder

    read = WorkloadFolder.read(Path(folder))
    names = [workload] if workload else [one.name for one in read.workloads]
    red = total = 0
    for name in names:
        for verdict in judge(read, name):
            total += 1
            red += bool(verdict.problems)
            mark = (
                click.style("RED  ", fg="red", bold=True)
                if verdict.problems
                else click.style("green", fg="green")
            )
            click.echo(f"  {mark}  {visible(f'{name}: {verdict.case}')}")
            for problem in verdict.problems:
                click.echo(f"         {visible(problem)}")
    click.echo(f"{total - red} of {total} cases hold" if total else f"{folder} has no cases", err=not total)
    if red:
        raise click.exceptions.Exit(1)
