"""`hamlet warm`: what the first run would wait for, made ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipelines.commands.inputs import events_at
from pipelines.commands.options import arithmetic_option, column_options, debug_option, schema_of
from pipelines.commands.workloads import read_workload

if TYPE_CHECKING:
    from pipelines.reading import ColumnOptions

EPILOG = """\b
Examples:
  hamlet warm
  hamlet warm my.hamlet --events trips.csv --time at --type kind --arithmetic exact
"""


@click.command(short_help="Compile kernels and load Spark's classes ahead of a run.", epilog=EPILOG)
@click.argument("workload", required=False)
@click.option(
    "--events",
    metavar="FILE|DIR|URI|-",
    type=click.Path(),
    help="Files with the columns that WORKLOAD reads, as for `hamlet run`.",
)
@column_options
@arithmetic_option
@click.option("--kernels", is_flag=True, help="Only the kernels, which need no Java.")
@debug_option
def warm(
    *,
    workload: str | None,
    events: str | None,
    columns: ColumnOptions,
    arithmetic: str,
    kernels: bool,
) -> None:
    """Compile the kernels of the shipped example, and archive Spark's classes, so that runs wait for neither; or the
    kernels alone that the queries of the file WORKLOAD need over such events.

    Set-up does it. What is there already is not done again; what changes (Java, the JARs, this package) makes it anew.
    """
    from hamlet_core import plan
    from pipelines.compiling import compile_kernels
    from pipelines.reading import discover, infer_columns
    from pipelines.warming import warm as get_ready

    if (workload is None) != (events is None):
        raise click.UsageError("name a WORKLOAD and --events with its columns, or neither of them.")
    if workload is None or events is None:
        get_ready(lambda line: click.echo(f"      {line}", err=True), only_kernels=kernels)
        return
    text = read_workload(workload).text
    types = infer_columns(
        discover(events_at(events)), columns, {name for query in plan(text) for name in query.numeric_columns}
    )
    if not types.names:
        raise click.UsageError(f"{events} has no columns yet.")
    compile_kernels(text, types, schema_of(columns), arithmetic)
