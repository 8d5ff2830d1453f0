"""EVENTS of a command line in, the place of files out; events on stdin become a file for as long as the command runs."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import click

from pipelines.commands.failures import WORKLOAD

STDIN = "-"
_PACKED = (
    (b"\x1f\x8b", ".gz"),
    (b"\x28\xb5\x2f\xfd", ".zst"),
    (b"BZh", ".bz2"),
    (b"\x04\x22\x4d\x18", ".lz4"),
)
"""How packed files begin."""

events_option = click.option(
    "--events",
    required=True,
    metavar="FILE|DIR|URI|-",
    type=click.Path(),
    help="CSV, JSON lines or Parquet, also packed (.csv.gz, .zst), or a Delta table; a folder means all such files below it, a pattern "
    "in quotes those that it matches, - those on stdin; here or in s3://, abfss://, gs://, hdfs://; kafka://HOST:PORT/TOPIC.",
)


def events_at(given: str) -> str:
    """Where the events are: as given, or for `-` in a file of what stands on stdin, until the command ends."""
    if given != STDIN:
        return given
    context = click.get_current_context()
    if context.meta.get(WORKLOAD) == "stdin":
        raise click.UsageError("WORKLOAD and --events cannot both be -: stdin is one of them.")
    folder = Path(context.with_resource(tempfile.TemporaryDirectory(prefix="hamlet-stdin-")))
    received = folder / "stdin"
    with received.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    return str(received.rename(folder / f"stdin{_suffix(received)}"))


def _suffix(file: Path) -> str:
    """What the name of a file would end in, from its first bytes."""
    from pipelines.reading.decoding import open_text

    with file.open("rb") as content:
        start = content.read(4)
    if start == b"PAR1":
        return ".parquet"
    packing = next((suffix for mark, suffix in _PACKED if start.startswith(mark)), "")
    named = file.with_suffix(packing)
    file.rename(named)
    try:
        with open_text(str(named)) as text:
            first = text.read(1 << 16).lstrip(b"\xef\xbb\xbf \t\r\n")
    except OSError:  # who reads it says what is wrong with it
        first = b""
    finally:
        named.rename(file)
    return (".jsonl" if first.startswith(b"{") else ".csv") + packing
