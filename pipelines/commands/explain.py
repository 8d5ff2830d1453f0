"""`hamlet explain`: every stage of each query."""

from __future__ import annotations

import click

from pipelines.commands.options import column_options, columns_of, debug_option, schema_of, workload_argument
from pipelines.commands.workloads import read_workload

EPILOG = """\b
Examples:
  hamlet explain examples/ride_sharing.hamlet
  hamlet explain my.hamlet --events trips.csv --time at --type kind
"""


@click.command(short_help="Every stage of a workload, and its costs.", epilog=EPILOG)
@workload_argument
@click.option(
    "--events",
    multiple=True,
    metavar="FILE",
    type=click.Path(),
    help="Files of events, to check columns and types too; may be repeated.",
)
@column_options
@click.option("--engine", metavar="E", help="hamlet, greta or two_step.  [default: hamlet]")
@debug_option
def explain(
    *,
    workload: str,
    events: tuple[str, ...],
    time: str | None,
    type_: str | None,
    type_value: str | None,
    time_unit: str,
    engine: str | None,
) -> None:
    """Show how each query of the file WORKLOAD will be evaluated, stage by stage, and what an event costs."""
    import hamlet_core
    from hamlet_core.engines.registry import DEFAULT_ENGINE
    from pipelines.reading import discover, read_all
    from pipelines.showing.rejected import summary

    text = read_workload(workload).text
    columns = columns_of(time, type_, type_value, time_unit)
    numeric = frozenset(name for query in hamlet_core.plan(text) for name in query.numeric_columns)
    files = [file for path in events for file in discover(path)]
    table, rejected = read_all(files, None, columns, numeric) if files else (None, None)
    if table is not None and rejected is not None and rejected.num_rows:
        click.echo(f"Left out {summary(rejected, table.num_rows)}", err=True)
    shown = hamlet_core.explain(text, schema=schema_of(columns), table=table, engine=engine or DEFAULT_ENGINE)
    click.echo(shown, nl=False)
