"""`hamlet bench`: the benchmarks of the source tree, in a process of their own on one core."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click

from pipelines.commands.options import debug_option

ROOT = Path(__file__).resolve().parents[2]

EPILOG = """\b
Examples:
  hamlet bench --quick --out bench
  hamlet bench --only a,d --out bench
  hamlet bench --only g --out pictures
"""


@click.command(short_help="Benchmarks, with every timed answer checked.", epilog=EPILOG)
@click.option("--only", metavar="LETTERS", help="Some of them, as in a,d.")
@click.option("--quick", is_flag=True, help="Small streams: answers are checked, times mean nothing.")
@click.option(
    "--out", default="bench", show_default=True, metavar="DIR", type=click.Path(file_okay=False),
    help="Folder of the JSON, the Markdown table and pictures.",
)  # fmt: skip
@click.pass_context
@debug_option
def bench(context: click.Context, only: str | None, quick: bool, out: str) -> None:
    """Measure this machine against baselines and bounds; ten minutes for all, needs the source tree."""
    if not (ROOT / "tests" / "benchmarks").is_dir():
        raise click.UsageError("the benchmarks are in the source tree, and this is an installed package")
    command = [sys.executable, "-m", "tests.benchmarks", "--out", str(Path(out).absolute())]
    command += ["--only", only] if only else []
    command += ["--quick"] if quick else []
    context.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)
