"""`hamlet calibrate`: the constants of the cost model, measured on this machine, into the file that runs read."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.commands.options import debug_option

if TYPE_CHECKING:
    from hamlet_core.bench.calibrate import Calibration

EPILOG = """\b
Examples:
  hamlet calibrate
  hamlet calibrate --dry-run
  hamlet calibrate --out cost_model.json
"""


@click.command(short_help="Fit the cost model to this machine.", epilog=EPILOG)
@click.option(
    "--out", metavar="FILE", type=click.Path(dir_okay=False),
    help="Write to FILE; runs read it if HAMLET_COST_MODEL names it.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Measure and show, write nothing.")
@debug_option
def calibrate(*, out: str | None, dry_run: bool) -> None:
    """Measure what the steps of the event kernel cost on this machine, and write it down for later runs.

    The constants price sharing for the cost model `measured`. They change what a run costs, never its answer.
    Takes half a minute, on a machine that does nothing else.
    """
    from hamlet_core.bench import calibrate as measuring
    from hamlet_core.sharing.calibration import constants_file, write_constants

    path = Path(out) if out is not None else constants_file()
    if path is None and not dry_run:
        raise click.UsageError("there is no configuration folder on this machine: give --out FILE.")
    _warn_if_busy()
    measured = measuring.calibrate(_progress)
    for line in _lines(measured):
        click.echo(line)
    if dry_run or path is None:
        return
    notes = {"machine": platform.machine(), "processor": platform.processor(), "hamlet": _version()}
    write_constants(path, measured.constants, notes)
    read = (
        "later runs read it" if path == constants_file() else f"HAMLET_COST_MODEL={path} makes runs read it"
    )
    click.echo(f"Written to {path}: {read}.", err=True)


def _lines(measured: Calibration) -> list[str]:
    """A row for each constant, in nanoseconds: measured, its range over batches, shipped, and what it is."""
    from dataclasses import fields

    from hamlet_core.sharing.costs import Constants

    shipped = Constants()
    rows = [("", "ns", "from", "to", "shipped", "")]
    for one in fields(Constants):
        numbers = (
            getattr(each, one.name) for each in (measured.constants, measured.low, measured.high, shipped)
        )
        rows.append((one.name, *(f"{number:.3g}" for number in numbers), one.metadata["means"]))
    widths = [max(len(row[place]) for row in rows) for place in range(5)]
    return [
        "  ".join(
            (f"{row[0]:{widths[0]}}", *(f"{row[at]:>{widths[at]}}" for at in range(1, 5)), row[5])
        ).rstrip()
        for row in rows
    ]


def _warn_if_busy() -> None:
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    if load > cores / 2:
        click.echo(
            f"Warning: other programs keep this machine busy (load {load:.1f} on {cores} cores); "
            "measure again when it is quiet.",
            err=True,
        )


def _progress(done: int, of: int) -> None:
    if 4 * done // of > 4 * (done - 1) // of:
        click.echo(f"{100 * done // of} % measured", err=True)


def _version() -> str:
    from importlib.metadata import version

    return version("hamlet-on-spark")
