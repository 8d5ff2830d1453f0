"""The `hamlet` command: its commands, and one place that turns every failure into lines and an exit code.

0 done, 1 failure or a red check, 2 wrong usage, bad query or bad option, 128 + a signal that ended it. stdout carries results
only. Heavy packages are imported inside the commands, so that `hamlet --help` answers at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence

import click

from pipelines.commands import (
    backfill,
    bench,
    calibrate,
    check,
    compare,
    demo,
    doctor,
    explain,
    failures,
    generate,
    init,
    pipeline,
    query,
    run,
    stream,
    test,
    ui,
    warm,
)
from pipelines.commands.options import debug_option
from pipelines.ending import end, end_children, hear_signals, heard

COMMANDS: tuple[click.Command, ...] = (
    demo.demo,
    init.init,
    doctor.doctor,
    check.check,
    explain.explain,
    run.run,
    pipeline.pipeline,
    stream.stream,
    backfill.backfill,
    test.test,
    query.query,
    generate.generate,
    ui.ui,
    compare.compare,
    bench.bench,
    calibrate.calibrate,
    warm.warm,
)

EPILOG = """\b
Examples:
  hamlet demo
  hamlet init rides
  hamlet check examples/ride_sharing.hamlet
  hamlet run my.hamlet --events trips.csv --time at --type kind
  hamlet query "SELECT * FROM trend_aggregates LIMIT 5" --warehouse warehouse
"""


class InOrder(click.Group):
    """A group that lists its commands in the order of `COMMANDS`: that of a first visit."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """The names, first things first."""
        return list(self.commands)


def _print_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"hamlet {version('hamlet-on-spark')}")
        context.exit()


@click.group(
    cls=InOrder,
    commands={command.name or "": command for command in COMMANDS},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version.",
)
@debug_option
def hamlet() -> None:
    """COUNT, SUM, AVG, MIN and MAX over all event trends that match a pattern, for workloads of queries."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. No failure of a user shows a traceback, unless `--debug` is given."""
    if arguments is None and sys.argv[1:2] in (["run"], ["pipeline"], ["demo"], ["backfill"], ["stream"]):
        # The process is ours: at its end Python need not search what ends with it for cycles, 0.2 s of a small run and
        # a second of a pipeline, nor all the while among what it imports, which takes a tenth of the time of imports.
        # (DuckDB, which `query` uses, would report what it then finds left over.)
        atexit.register(gc.freeze)
        gc.set_threshold(100_000, 20, 100)
        # Nor must Linux make huge pages for arrays, which live for a moment: where memory is in pieces, that took a third of a run.
        os.environ.setdefault("NUMPY_MADVISE_HUGEPAGE", "0")
        os.environ.setdefault("MIMALLOC_ALLOW_THP", "0")  # Arrow's
    ours = arguments is None and "ui" not in sys.argv[1:3]
    if ours:
        hear_signals()
    context: click.Context | None = None
    try:
        context = hamlet.make_context("hamlet", list(sys.argv[1:] if arguments is None else arguments))
        with context:
            hamlet.invoke(context)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as failure:  # noqa: BLE001 - the last place that can explain it
        if ours and heard():
            end_children()
        code = failures.report(failure, context.meta if context else {})
        if ours and heard():
            end(code)
        return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
