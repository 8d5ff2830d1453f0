"""`hamlet generate`: a seeded stream of events, or a workload for one, into a file."""

from __future__ import annotations

from pathlib import Path

import click

from pipelines.commands.options import debug_option

EPILOG = """\b
Examples:
  hamlet generate ridesharing --events 10000 --seed 7 --out rides.csv
  hamlet generate stock --events 5000000 --burst 200 --ties 0.1 --late 0.01 --out ticks.parquet
  hamlet generate clickstream --events 1000000 --set users=50000 --out clicks.parquet
  hamlet generate stock --queries 50 --out ticks.hamlet

\b
Streams: bursty, clickstream, ecommerce, linear_road, ridesharing, smart_home, stock, taxi.
"""

EVENTS = 200_000


def _knobs(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> dict[str, int | float | bool]:
    """NAME=VALUE as names and numbers."""
    found: dict[str, int | float | bool] = {}
    for text in given:
        name, _, value = text.partition("=")
        try:
            found[name] = _number(value)
        except ValueError:
            raise click.BadParameter(f"{text!r} is not NAME=NUMBER") from None
    return found


def _number(text: str) -> int | float | bool:
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        return float(text)


@click.command(short_help="A seeded stream of events into a file.", epilog=EPILOG)
@click.argument("stream", metavar="STREAM")
@click.option("--events", metavar="N", type=click.IntRange(min=0), help=f"Rows.  [default: {EVENTS}]")
@click.option(
    "--seed", default=7, show_default=True, metavar="S", type=click.IntRange(min=0),
    help="Equal seeds give equal files.",
)  # fmt: skip
@click.option(
    "--out",
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help=".csv, .jsonl or .parquet; any with --queries",
)
@click.option("--types", metavar="N", type=int, help="Event types.")
@click.option("--rate", metavar="R", type=float, help="Events a minute.")
@click.option("--burst", "burst_length", metavar="L", type=float, help="Mean length of a burst of one type.")
@click.option(
    "--ties", "tie_rate", metavar="F", type=float, help="Fraction of events at the time of the one before."
)
@click.option("--nulls", "null_rate", metavar="F", type=float, help="Fraction of events without a value.")
@click.option(
    "--groups", metavar="N", type=int, help="Groups: houses, vendors, districts, keys and the like."
)
@click.option("--skew", metavar="S", type=float, help="Groups come with weight 1 / rank^S; 0: evenly.")
@click.option(
    "--set", "further", metavar="NAME=V", multiple=True, callback=_knobs, help="Any other knob of the stream."
)
@click.option("--late", metavar="F", type=float, help="Fraction of rows that stand too late in the file.")
@click.option("--broken", metavar="N", type=click.IntRange(min=0), help="Damaged rows of a CSV file.")
@click.option(
    "--queries", metavar="N", type=click.IntRange(min=1), help="Write a workload of N queries, not events."
)
@debug_option
def generate(
    stream: str,
    events: int | None,
    seed: int,
    out: str,
    further: dict[str, int | float | bool],
    late: float | None,
    broken: int | None,
    queries: int | None,
    **common: float | None,
) -> None:
    """Write events of STREAM to FILE, sorted by time, or a workload of queries that fit STREAM.

    Knobs that are not given have the values of the papers, where they say one. The queries of a workload share Kleene sub-patterns; of the
    knobs it takes --types and those of --set.
    """
    target = Path(out)
    if not target.absolute().parent.is_dir():
        raise click.UsageError(f"--out: there is no folder {target.absolute().parent}")
    knobs = {name: value for name, value in common.items() if value is not None} | further
    if queries is not None:
        if events is not None or late is not None or broken is not None:
            raise click.UsageError("--queries writes no events: leave out --events, --late and --broken.")
        _write_workload(stream, queries, seed, target, knobs)
        return
    if broken and target.suffix.lower() != ".csv":
        raise click.UsageError("--broken damages rows of a .csv file only.")
    _write_events(stream, EVENTS if events is None else events, seed, target, knobs, late or 0.0, broken or 0)


def _write_events(
    stream: str, events: int, seed: int, target: Path, knobs: dict[str, float], late: float, broken: int
) -> None:
    from hamlet_core.streams import generate_stream, write_csv, write_stream

    table = generate_stream(stream, events, seed, late_rate=late, **knobs)
    if broken:
        broken = write_csv(table, target, broken, seed)
    else:
        write_stream(table, target)
    damaged = f", {broken:,} of them broken," if broken else ""
    click.echo(f"{table.num_rows:,} events of {stream} (seed {seed}){damaged} in {target}", err=True)


def _write_workload(stream: str, queries: int, seed: int, target: Path, knobs: dict[str, float]) -> None:
    from hamlet_core.streams import generate_workload

    target.write_text(generate_workload(stream, queries, seed, **knobs), encoding="utf-8")
    click.echo(f"{queries:,} queries over {stream} (seed {seed}) in {target}", err=True)
