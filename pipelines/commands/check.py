"""`hamlet check`: parse and analyse, and say what was understood."""

from __future__ import annotations

import click

from pipelines.commands.options import debug_option, workload_argument
from pipelines.commands.workloads import read_workload

EPILOG = """\b
Examples:
  hamlet check examples/ride_sharing.hamlet
  echo 'RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s' | hamlet check -
"""


@click.command(short_help="Parse and analyse a workload.", epilog=EPILOG)
@workload_argument
@debug_option
def check(workload: str) -> None:
    """Parse and analyse the queries of the file WORKLOAD (- is stdin).

    A bad query is shown with its line, column, a pointer and a hint; the exit code is then 2.
    """
    from hamlet_core import plan
    from hamlet_core.describe.warnings import window_advice
    from hamlet_core.language.syntax import Mode
    from pipelines.showing.durations import duration
    from pipelines.showing.visible import visible

    plans = plan(read_workload(workload).text)
    for query in plans:
        mode = query.query.mode
        others = " and the times of all others" if query.every_type else ""
        partition = ", ".join(dict.fromkeys((*query.equivalence, *query.group_by)))
        click.echo(
            f"{query.name}: reads {', '.join(sorted(query.types))}{others}; "
            f"{'' if mode is Mode.ANY else f'mode {mode.value}; '}"
            f"{f'partitions by {partition}' if partition else 'one partition'}; "
            f"windows of {duration(query.within)} every {duration(query.slide)}"
        )
    for line in window_advice(plans):
        click.echo(f"Warning: {visible(line)}", err=True)
    click.echo(f"{len(plans)} {'query is' if len(plans) == 1 else 'queries are'} well-formed.")
