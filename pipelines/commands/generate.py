"""`hamlet generate`: a seeded stream of events into a file."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.commands.options import debug_option

EPILOG = """\b
Example:
  hamlet generate ridesharing --events 10000 --seed 7 --out rides.csv
"""


@click.command(short_help="A seeded stream of events into a file.", epilog=EPILOG)
@click.argument("stream", metavar="STREAM")
@click.option(
    "--events", default=200_000, show_default=True, metavar="N", type=click.IntRange(min=0), help="Rows."
)
@click.option(
    "--seed", default=7, show_default=True, metavar="S", type=click.IntRange(min=0),
    help="Equal seeds give equal files.",
)  # fmt: skip
@click.option(
    "--out", required=True, metavar="FILE", type=click.Path(dir_okay=False), help=".csv, .jsonl or .parquet"
)
@debug_option
def generate(stream: str, events: int, seed: int, out: str) -> None:
    """Write N events of STREAM (ridesharing) to FILE, sorted by time."""
    from hamlet_core.streams import generate_stream, write_stream

    target = Path(out)
    if not target.absolute().parent.is_dir():
        raise click.UsageError(f"--out: there is no folder {target.absolute().parent}")
    table = generate_stream(stream, events, seed)
    write_stream(table, target)
    click.echo(f"{table.num_rows:,} events of {stream} (seed {seed}) in {out}", err=True)
