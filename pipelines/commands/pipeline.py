"""`hamlet pipeline`: the main job on files, into a warehouse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from pipelines.commands.failures import DEBUG
from pipelines.commands.options import (
    column_options,
    debug_option,
    evaluation_options,
    warehouse_option,
    workload_argument,
)
from pipelines.commands.workloads import read_workload

if TYPE_CHECKING:
    from pipelines.reading import ColumnOptions
    from pipelines.settings import ExecuteOptions, JobSettings

EPILOG = """\b
Example:
  hamlet pipeline my.hamlet --events days/ --time date --type-value Day --warehouse warehouse
"""


@click.command(short_help="A workload over files, on Spark, into Delta tables.", epilog=EPILOG)
@workload_argument
@click.option(
    "--events",
    required=True,
    metavar="FILE|DIR|URI",
    type=click.Path(),
    help="CSV, JSON lines or Parquet, also packed (.csv.gz, .zst), or a Delta table; a folder means all such files below it, a pattern "
    "in quotes those that it matches; here or in s3://, abfss://, gs://, hdfs://.",
)
@warehouse_option
@column_options
@evaluation_options
@click.option(
    "--flush/--no-flush",
    default=True,
    show_default=True,
    help="Publish windows that end after the last complete day, too.",
)
@debug_option
def pipeline(
    *,
    workload: str,
    events: str,
    warehouse: str,
    columns: ColumnOptions,
    engine: str | None,
    sharing: Mapping[str, Any],
    arithmetic: str,
    flush: bool,
) -> None:
    """Ingest files of events into Delta tables, compute the queries of the file WORKLOAD on Spark, check the
    results and publish them as the table trend_aggregates.

    Files that are in already are not read again, and results of the same workload are replaced.
    """
    from pipelines.commands.main_run import fail_if_red, run_job, show_checks, show_steps

    # Whatever can be refused is refused before Spark starts.
    execute = execute_options(engine, sharing, arithmetic, flush=flush)
    settings = read_settings(workload, events, columns, warehouse, execute)
    queries = [query.name for query in settings.workload.plans]
    require_columns(settings)
    summary = run_job(settings, debug=bool(click.get_current_context().meta.get(DEBUG)))
    click.echo(f"Checks of run {summary.run_id}:")
    show_checks(summary)
    show_steps(summary)
    fail_if_red(summary)
    rows = {one.query: int(one.value) for one in summary.metrics if one.query and one.metric == "result rows"}
    for name in queries:
        click.echo(f"{name}: {rows.get(name, 0):,} rows")
    click.echo(f"Published in {warehouse.rstrip('/')}/trend_aggregates after {summary.seconds:.1f} s.")


def execute_options(
    engine: str | None,
    sharing: Mapping[str, Any],
    arithmetic: str,
    *,
    flush: bool = True,
) -> ExecuteOptions:
    """The options of `evaluation_options` as a run takes them; raises what the core raises for those that cannot be."""
    from hamlet_core.engines.registry import DEFAULT_ENGINE, Options
    from pipelines.settings import ExecuteOptions

    engine = engine or DEFAULT_ENGINE
    Options(engine, arithmetic=arithmetic, **sharing)
    return ExecuteOptions(engine, arithmetic=arithmetic, flush=flush, **sharing)


def read_settings(
    workload: str, events: str, columns: ColumnOptions, warehouse: str, execute: ExecuteOptions
) -> JobSettings:
    """What is to be done with the workload in a file; raises what the core raises for one that the engine cannot answer."""
    from hamlet_core.execution import check_engine
    from pipelines.settings import JobSettings, NamedWorkload, Source
    from resources.storage import place_of

    given = read_workload(workload)
    named = NamedWorkload(given.name, given.text)
    check_engine(named.text, execute.engine)  # reads it, too
    return JobSettings(named, Source(events, columns), place_of(warehouse), execute)


def require_columns(settings: JobSettings) -> None:
    """Raise what a run would raise for files, options and names of columns that are not there."""
    import pyarrow as pa

    from hamlet_core.table.schema import table_kinds
    from pipelines.reading import check_names, discover
    from resources.storage import Location
    from resources.table_logs import is_table, opened

    options, schema = settings.source.options, settings.event_schema
    # Not by a Warehouse: what it needs takes a second to import, while Java could start.
    place = Location.of(settings.warehouse).below("events")
    known = [field.name for field in opened(place).schema().fields] if is_table(place) else ()
    attributes = {name for plan in settings.workload.plans for name in plan.columns}
    # These mean the schema's, unless there are columns of these names.
    own = {"time", "type"} - {options.time_column, options.type_column}
    names = check_names(discover(settings.source.path), options, attributes - own, known)
    if names is not None:
        kinds = {options.time_column: pa.timestamp("us", "UTC"), options.type_column: pa.string()}
        found = pa.schema([(name, kinds.get(name, pa.null())) for name in names])
        table_kinds(found, schema, sorted(attributes))
