"""`hamlet run`: a workload over files, in this process, without Spark."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import IO, TYPE_CHECKING, Any

import click

from pipelines.commands.going_on import going_on, reading
from pipelines.commands.inputs import events_at, events_option
from pipelines.commands.options import (
    bad_rows_option,
    column_options,
    debug_option,
    evaluation_options,
    format_option,
    schema_of,
    workload_argument,
)
from pipelines.commands.workloads import read_workload
from pipelines.showing.visible import visible

if TYPE_CHECKING:
    import pyarrow as pa

    from hamlet_core import EventSchema, Workload
    from hamlet_core.threads import Crew
    from pipelines.reading import AllRows, ColumnOptions, SourceFile
    from pipelines.showing.gauge import Gauge

FEW = 500
"""Events that the reference engine takes in less time than kernels take to compile, whatever the query."""

EPILOG = """\b
Examples:
  hamlet run my.hamlet --events trips.csv --time at --type kind
  hamlet run my.hamlet --events days/ --time date --type-value Day --arithmetic exact --format json
  hamlet run my.hamlet --events trips.csv --query jams --wide --format csv --out jams.csv
  hamlet run clicks.hamlet --events clicks.csv --plot funnel.svg
  zcat trips.csv.gz | hamlet run my.hamlet --events -
  hamlet run my.hamlet --events trips.csv --why '{"district":"Harbour"}' 2026-03-02T08:00
"""


@click.command(short_help="A workload over files, in this process.", epilog=EPILOG)
@workload_argument
@events_option
@column_options
@evaluation_options
@click.option(
    "--query", "queries", multiple=True, metavar="NAME", help="Only this query of WORKLOAD; may be repeated."
)
@click.option(
    "--wide",
    is_flag=True,
    help="One row per window and group, a column per aggregate; to json, csv or parquet of one query at a time.",
)
@format_option
@click.option(
    "--threads", metavar="N", type=click.IntRange(min=1),
    help="How many threads compute; changes no answer.  [default: HAMLET_THREADS, or all cores]",
)  # fmt: skip
@click.option(
    "--plot", metavar="FILE", type=click.Path(dir_okay=False),
    help="Draw the results into FILE, a .png or .svg: funnels step by step, other queries over time.",
)  # fmt: skip
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False), help="Write to FILE, not to stdout.")
@click.option(
    "--limit", default=50, show_default=True, metavar="N", type=click.IntRange(min=0),
    help="Most rows of a table (the largest of each query), or trends of --why, shown; 0 for all.",
)  # fmt: skip
@bad_rows_option
@click.option(
    "--why",
    nargs=2,
    metavar="GROUP WINDOW",
    help="List the trends of one group (its group_key) and window (its start) instead.",
)
@debug_option
def run(
    *,
    workload: str,
    events: str,
    columns: ColumnOptions,
    engine: str | None,
    sharing: Mapping[str, Any],
    arithmetic: str,
    queries: tuple[str, ...],
    wide: bool,
    format_: str,
    threads: int | None,
    plot: str | None,
    out: str | None,
    limit: int,
    on_bad_rows: str,
    why: tuple[str, str] | None,
) -> None:
    """Run the queries of the file WORKLOAD over files of events and print one row per query, window, group
    and aggregate.
    """
    import hamlet_core
    from hamlet_core.describe.warnings import advice
    from hamlet_core.engines.registry import DEFAULT_ENGINE
    from hamlet_core.progress import watching
    from hamlet_core.threads import Crew, threads_of
    from pipelines.ahead import load_engine
    from pipelines.compiling import from_the_other_end
    from pipelines.reading import discover
    from pipelines.showing.output import check_output, write

    schema = schema_of(columns)
    asked = _chosen(hamlet_core.parse(read_workload(workload).text), queries)
    check_output(format_, out)
    if wide:
        _check_wide(asked, format_, why)
    if plot is not None:
        _check_plot(plot, why)
    with going_on() as gauge, Crew(threads_of(threads)) as crew:
        gauge.begin("looking for files")
        files = discover(events_at(events))
        if engine in (None, DEFAULT_ENGINE):
            load_engine(files)
        table = read_events(asked, files, columns, schema, on_bad_rows, gauge, crew, only_read=why is None)
        if why is not None:
            gauge.begin("listing trends")
            _why(asked, table, schema, why, format_, limit)
            return
        if table is None:
            results = hamlet_core.result_schema(_no_time()).empty_table()
        else:
            for line in advice(hamlet_core.plan(asked), table, schema):
                click.echo(f"Warning: {visible(line)}", err=True)
            chosen = engine or _engine(table.num_rows)
            options = {"engine": chosen, "arithmetic": arithmetic, **sharing}
            gauge.begin("computing", "events", table.num_rows)
            with watching(gauge.told), from_the_other_end(asked, table.schema, schema, arithmetic):
                done = hamlet_core.execute(asked, table, schema=schema, threads=threads, log=False, **options)
            results = done.results
            for change in done.plan_changes:
                click.echo(visible(str(change)), err=True)
        if plot is not None:
            gauge.begin("drawing results")
            _plot(plot, asked, results)
        gauge.begin("writing results")
        if wide and format_ != "table":
            results = _turned(results, asked, table, schema, exact=arithmetic == "exact")
        write(results, format_, out, partial(_show, workload=asked, wide=wide), limit)


def _engine(events: int) -> str:
    """The engine for so many events: without compiled kernels the reference engine answers sooner, if they are few."""
    from hamlet_core.engines.registry import DEFAULT_ENGINE

    if events > FEW:
        return DEFAULT_ENGINE
    from hamlet_core.engines.hamlet.jit.cache import any_kernels

    if any_kernels():
        return DEFAULT_ENGINE
    click.echo(
        "No kernels are compiled yet, and the events are few: the reference engine answers (`hamlet warm` compiles).",
        err=True,
    )
    return "greta"


def _chosen(workload: Workload, names: tuple[str, ...]) -> Workload:
    """The queries of these names, in the order of the text; all, if none is named."""
    known = _names(workload)
    for name in names:
        if name not in known:
            raise click.UsageError(f"WORKLOAD has no query {name!r}, only {', '.join(known)}.")
    return replace(workload, queries=tuple(one for one in workload.queries if not names or one.name in names))


def read_events(
    workload: Workload,
    files: Sequence[SourceFile],
    columns: ColumnOptions,
    schema: EventSchema,
    on_bad_rows: str,
    gauge: Gauge,
    crew: Crew,
    *,
    only_read: bool = True,
) -> pa.Table | None:
    """All good rows of the files, with the columns that queries read (or all); None if no file has even a header. Bad ones end the
    command or are counted on stderr.
    """
    import hamlet_core
    from pipelines.reading import FirstReading, about_texts, decide, explained

    plans = hamlet_core.plan(workload)
    numbers = {name for query in plans for name in query.numeric_columns}
    wanted = frozenset(name for query in plans for name in query.columns)
    with reading(gauge, files, "reading events"):
        first = FirstReading.of(files, columns, wanted, crew, only_read=only_read)
    types = decide(first.found, columns, numbers)
    if types.names:
        with explained(about_texts(first.found, types, numbers)):
            hamlet_core.check_columns(workload, types, schema)
    with reading(gauge, files, "reading events"):
        rows = first.rows(types)
    _judge(rows, on_bad_rows)
    if not types.names:
        click.echo("No columns and no rows in the files.", err=True)
        return None
    return rows.good


def _judge(rows: AllRows, on_bad_rows: str) -> None:
    """Bad rows end the command, or are counted on stderr, as values that are left out."""
    from pipelines.showing.rejected import BadRows, left_empty, summary

    rejected, good = rows.rejected, rows.good.num_rows
    if rejected.num_rows and on_bad_rows == "error":
        raise BadRows.among(rejected, good)
    if rejected.num_rows:
        click.echo(f"Skipped {visible(summary(rejected, good))}", err=True)
    if rows.empty:
        click.echo(visible(left_empty(rows.empty)), err=True)


def _why(
    workload: Workload,
    table: pa.Table | None,
    schema: EventSchema,
    place: tuple[str, str],
    format_: str,
    limit: int,
) -> None:
    import hamlet_core
    from pipelines.showing.trends import group_given, show_trends, trends_json, window_given

    if format_ not in ("table", "json"):
        raise click.UsageError("--why lists trends as text or json: give --format table or json.")
    if table is None:
        return
    group, window = group_given(place[0]), window_given(place[1])
    found = hamlet_core.why(
        workload, table, group=group, window_start=window, schema=schema, limit=limit or None
    )
    if format_ == "json":
        click.echo(visible(trends_json(found)))
    else:
        show_trends(found, sys.stdout)


def _check_wide(workload: Workload, format_: str, why: tuple[str, str] | None) -> None:
    """Refuse what has no wide form, before any work is done."""
    if why is not None:
        raise click.UsageError("--why lists trends, which have no --wide form: give one of them.")
    if format_ != "table" and len(names := _names(workload)) > 1:
        raise click.UsageError(
            f"--wide --format {format_} holds one table, and each query has its own: give --query, one of {', '.join(names)}."
        )


def _turned(
    results: pa.Table, workload: Workload, events: pa.Table | None, schema: EventSchema, *, exact: bool
) -> pa.Table:
    """The results of the one query as the wide table that a pipeline would publish, without where they come from."""
    import pyarrow as pa

    import hamlet_core
    from pipelines.wide import group_types, wide_shape, widened
    from resources.tables import Table

    (plan,) = hamlet_core.plan(workload)
    unknown = {name: pa.string() for name in plan.group_by}
    groups = unknown if events is None else group_types(plan, events.schema, schema)
    table = Table(plan.name, f"Query {plan.name}: one row per window and group.", ())
    time_type = results.schema.field("window_start").type
    return widened(results, wide_shape(plan, table, groups, time_type, exact=exact))


def _check_plot(path: str, why: tuple[str, str] | None) -> None:
    """Refuse what cannot be drawn, before any work is done."""
    from pipelines.showing.plot_file import check_plot

    if why is not None:
        raise click.UsageError("--why lists trends, which have no --plot: give one of them.")
    check_plot(path)


def _plot(path: str, workload: Workload, results: pa.Table) -> None:
    from pipelines.showing.plot_file import plot

    drawn, all_ = plot(path, workload, results), len(set(results.column("query").to_pylist()))
    if drawn < all_:
        click.echo(f"{visible(path)} shows {drawn} of {all_} queries; --query chooses.", err=True)


def _show(results: pa.Table, out: IO[str], limit: int, workload: Workload, *, wide: bool) -> None:
    """Results as one table, or as one per query, and the conversion of each funnel in a line."""
    from pipelines.showing.funnels import funnels, sentence
    from pipelines.showing.people import (  # only who wants a table waits for what draws it
        show_results,
        show_wide,
    )

    if wide:
        show_wide(results, out, limit, _names(workload))
    else:
        show_results(results, out, limit)
    for funnel in funnels(workload, results).values():
        print(visible(sentence(funnel)), file=out)


def _names(workload: Workload) -> list[str]:
    return [query.name for query in workload.queries]


def _no_time() -> pa.DataType:
    import pyarrow as pa

    return pa.int64()
