"""`hamlet query`: SQL over the tables of a warehouse."""

from __future__ import annotations

import click

from pipelines.commands.options import debug_option, format_option, warehouse_option

EPILOG = """\b
Examples:
  hamlet query "FROM hamlet_tables"
  hamlet query "FROM ride_sharing__slowing_down ORDER BY count DESC LIMIT 5"
  hamlet query "SELECT group_key, value FROM trend_aggregates ORDER BY value DESC LIMIT 5"
  hamlet query "FROM events_quarantine" --warehouse warehouse --format csv
"""


@click.command(short_help="SQL over the Delta tables.", epilog=EPILOG)
@click.argument("sql", metavar="SQL")
@warehouse_option
@format_option
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False), help="Write to FILE, not to stdout.")
@click.option(
    "--limit", default=50, show_default=True, metavar="N", type=click.IntRange(min=0),
    help="Most rows of a table shown; 0 for all.",
)  # fmt: skip
@debug_option
def query(sql: str, warehouse: str, format_: str, out: str | None, limit: int) -> None:
    """Run one SELECT of DuckDB's SQL over the Delta tables of a warehouse, read-only, each table a view.

    Two more views say what the tables and columns mean: hamlet_tables and hamlet_columns.
    """
    from pipelines import querying
    from pipelines.showing.output import check_output, write
    from pipelines.showing.people import show_any
    from resources.storage import place_of

    check_output(format_, out)
    write(querying.query(sql, place_of(warehouse)), format_, out, show_any, limit)
