"""`hamlet explain`: every stage of each query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from pipelines.commands.going_on import going_on, reading
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
    import pyarrow as pa

    from hamlet_core import EventSchema
    from pipelines.duration_estimate import Estimate
    from pipelines.reading import ColumnOptions

FEW = 100_000
"""Events of which nobody asks how tasks of Spark share them."""
UNFORESEEN = ("two_step", "shared_two_step")
"""They list trends, of which one more event may double the number: no beginning of a stream says how long the rest takes."""

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
@click.option(
    "--engine",
    metavar="E",
    help="hamlet, greta, two_step, shared_two_step, aseq, sharon or gloria.  [default: hamlet]",
)
@debug_option
def explain(
    *,
    workload: str,
    events: tuple[str, ...],
    columns: ColumnOptions,
    engine: str | None,
    sharing: Mapping[str, Any],
) -> None:
    """Show how each query of the file WORKLOAD will be evaluated, stage by stage, and what an event costs.

    With events it says how long a run takes, as measured on the first of them, and is then run, to show what was
    shared, why, and what that saved.
    """
    import hamlet_core
    from hamlet_core.describe.sharing import decided_lines
    from hamlet_core.engines.registry import DEFAULT_ENGINE
    from hamlet_core.progress import watching
    from hamlet_core.threads import Crew, threads_of
    from pipelines.reading import discover, read_all
    from pipelines.showing.rejected import left_empty, summary

    text = read_workload(workload).text
    plans = hamlet_core.plan(text)
    read = frozenset(name for query in plans for name in query.columns)
    numeric = {name for query in plans for name in query.numeric_columns}
    schema, engine = schema_of(columns), engine or DEFAULT_ENGINE
    with going_on() as gauge, Crew(threads_of()) as crew:
        begun = perf_counter()
        gauge.begin("looking for files")
        files = [file for path in events for file in discover(events_at(path))]
        with reading(gauge, files, "reading events"):
            rows = read_all(files, None, columns, read, numeric, crew) if files else None
        took, table = perf_counter() - begun, rows.good if rows else None
        if rows and rows.rejected.num_rows:
            click.echo(f"Left out {visible(summary(rows.rejected, rows.good.num_rows))}", err=True)
        if rows and rows.empty:
            click.echo(visible(left_empty(rows.empty)), err=True)
        gauge.begin("explaining")
        shown = hamlet_core.explain(text, schema=schema, table=table, engine=engine, **sharing)
        click.echo(visible(shown), nl=False)
        if table is None or not table.num_rows or engine in UNFORESEEN:
            return
        gauge.begin("measuring how long a run takes")
        compute = partial(hamlet_core.run, text, schema=schema, engine=engine, threads=None, **sharing)
        click.echo("\n" + _estimate(compute, text, table, schema).sentence(took))
        if table.num_rows > FEW:
            from pipelines.hot_keys import hot_keys

            for line in hot_keys(plans, table, schema, 2 * threads_of()):
                click.echo(visible(line))
        if engine == DEFAULT_ENGINE:
            gauge.begin("computing", "events", table.num_rows)
            with watching(gauge.told):
                execution = hamlet_core.execute(text, table, schema=schema, threads=None, log=True, **sharing)
            click.echo(visible("\n" + "\n".join(decided_lines(execution, sharing["cost_model"]))))


def _estimate(
    compute: Callable[[pa.Table], object], text: str, table: pa.Table, schema: EventSchema
) -> Estimate:
    """How long it takes to compute all events."""
    import numpy as np
    import pyarrow as pa

    from hamlet_core import plan
    from hamlet_core.table.schema import find_frame
    from pipelines.duration_estimate import estimated

    times = table.column(schema.time)
    if pa.types.is_date(times.type):
        times = times.cast(pa.timestamp("us"))
    longest = max(one.within for one in plan(text)) // find_frame(table.schema, schema).unit
    return estimated(compute, table, np.asarray(times.cast(pa.int64())), longest)
