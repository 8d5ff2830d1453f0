"""`hamlet explain`: every stage of each query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pipelines.commands.inputs import events_at
from pipelines.commands.options import (
    column_options,
    debug_option,
    schema_of,
    sharing_options,
    workload_argument,
)
from pipelines.commands.workloads import read_workload
from pipelines.showing.visible import visible

if TYPE_CHECKING:
    from pipelines.reading import ColumnOptions

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
    metavar="FILE|DIR|URI|-",
    type=click.Path(),
    help="Files of events: columns and types are checked, and what is shared in a run is shown; may be repeated.",
)
@column_options
@sharing_options
@click.option("--engine", metavar="E", help="hamlet, greta or two_step.  [default: hamlet]")
@debug_option
def explain(
    *,
    workload: str,
    events: tuple[str, ...],
    columns: ColumnOptions,
    engine: str | None,
    policy: str,
    cost_model: str,
    choice: str,
) -> None:
    """Show how each query of the file WORKLOAD will be evaluated, stage by stage, and what an event costs.

    With events it is also run, to show what was shared, why, and what that saved.
    """
    import hamlet_core
    from hamlet_core.describe.sharing import decided_lines
    from hamlet_core.engines.registry import DEFAULT_ENGINE
    from pipelines.reading import discover, read_all
    from pipelines.showing.rejected import left_empty, summary

    text = read_workload(workload).text
    plans = hamlet_core.plan(text)
    read = frozenset(name for query in plans for name in query.columns)
    numeric = {name for query in plans for name in query.numeric_columns}
    files = [file for path in events for file in discover(events_at(path))]
    rows = read_all(files, None, columns, read, numeric) if files else None
    table = rows.good if rows else None
    if rows and rows.rejected.num_rows:
        click.echo(f"Left out {visible(summary(rows.rejected, rows.good.num_rows))}", err=True)
    if rows and rows.empty:
        click.echo(visible(left_empty(rows.empty)), err=True)
    schema, engine = schema_of(columns), engine or DEFAULT_ENGINE
    sharing = {"policy": policy, "cost_model": cost_model, "choice": choice}
    shown = hamlet_core.explain(text, schema=schema, table=table, engine=engine, **sharing)
    click.echo(visible(shown), nl=False)
    if table is not None and table.num_rows and engine == DEFAULT_ENGINE:
        execution = hamlet_core.execute(text, table, schema=schema, **sharing)
        click.echo(visible("\n" + "\n".join(decided_lines(execution, cost_model))))
