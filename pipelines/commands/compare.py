"""`hamlet compare`: what each engine takes for a workload, in turns, with every answer checked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands.going_on import going_on
from pipelines.commands.inputs import events_at, events_option
from pipelines.commands.options import (
    arithmetic_option,
    bad_rows_option,
    column_options,
    debug_option,
    schema_of,
    workload_argument,
)
from pipelines.commands.run import read_events
from pipelines.commands.workloads import read_workload

if TYPE_CHECKING:
    from pipelines.reading import ColumnOptions

EPILOG = """\b
Examples:
  hamlet compare my.hamlet --events trips.csv --time at --type kind
  hamlet compare my.hamlet --events trips.csv --engines hamlet,greta,gloria --limit "10 s" --out compared
"""


class Length(click.ParamType):
    """A length of time such as `90 s`, in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """As in WITHIN; fails for what is no length of time, or none at all."""
        from hamlet_core.language.literals import length

        microseconds = length(str(value))
        if not microseconds:
            self.fail(f"{value!r} is no length of time: write, for example, 90 s or 5 min.", param, ctx)
        return microseconds / 1e6


@click.command(short_help="What each engine takes for a workload, answers checked.", epilog=EPILOG)
@workload_argument
@events_option
@column_options
@click.option("--engines", metavar="E,...", help="Some of them, separated by commas.  [default: all]")
@arithmetic_option
@click.option(
    "--limit", default="60 s", show_default=True, metavar="D", type=Length(),
    help="The longest a run may take; an engine that takes longer is stopped.",
)  # fmt: skip
@click.option(
    "--rounds",
    default=3,
    show_default=True,
    metavar="N",
    type=click.IntRange(min=1),
    help="Runs of each engine.",
)
@click.option(
    "--threads", default=1, show_default=True, metavar="N", type=click.IntRange(min=1),
    help="How many threads compute in the compiled engine; all others have one.",
)  # fmt: skip
@bad_rows_option
@click.option(
    "--out", metavar="DIR", type=click.Path(file_okay=False),
    help="Write comparison.csv, .json and .svg into this folder as well.",
)  # fmt: skip
@debug_option
def compare(
    *,
    workload: str,
    events: str,
    columns: ColumnOptions,
    engines: str | None,
    arithmetic: str,
    limit: float,
    rounds: int,
    threads: int,
    on_bad_rows: str,
    out: str | None,
) -> None:
    """Run the queries of the file WORKLOAD over files of events with every engine, and with each policy of the compiled
    one: in turns, each run in a process of its own. Print events per second, time, memory and time of planning of those
    that answer, and why the others do not. Exit code 1 if two answers differ.
    """
    import hamlet_core
    from hamlet_core.engines.registry import ENGINES, Options
    from hamlet_core.threads import Crew, threads_of
    from pipelines.comparing.members import members
    from pipelines.comparing.runs import Comparison, check_outcomes
    from pipelines.comparing.runs import compare as run_in_turns
    from pipelines.reading import discover
    from pipelines.showing.comparison import show, write
    from pipelines.showing.pictures import styled

    chosen = members(ENGINES if engines is None else [name.strip() for name in engines.split(",")])
    Options(arithmetic=arithmetic)
    if out is not None:
        with styled():  # where nothing can be drawn, this says so before any work is done
            pass
    schema = schema_of(columns)
    asked = hamlet_core.parse(read_workload(workload).text)
    with going_on() as gauge:
        with Crew(threads_of()) as crew:
            gauge.begin("looking for files")
            table = read_events(asked, discover(events_at(events)), columns, schema, on_bad_rows, gauge, crew)
        if table is None:
            raise click.UsageError("there is nothing to compare without events.")
        comparison = Comparison(asked, table, schema, arithmetic, limit, rounds, threads)
        outcomes = run_in_turns(comparison, chosen, gauge.begin)
    show(outcomes, sys.stdout)
    if out is not None:
        write(outcomes, Path(out))
    check_outcomes(outcomes)
