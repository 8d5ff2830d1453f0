"""Where results go: stdout or a file, and nothing else into either."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import click
import pyarrow as pa

from pipelines.ending import unfinished
from pipelines.showing.formats import WRITERS
from pipelines.showing.visible import visible

People = Callable[[pa.Table, IO[str], int], None]
"""How people see a table: (table, where to, most rows)."""


def check_output(format_: str, out: str | None) -> None:
    """Refuse Parquet on a terminal and a file in no folder, before any work is done."""
    if format_ == "parquet" and out is None and sys.stdout.isatty():
        raise click.UsageError("parquet is binary: give --out FILE, or redirect stdout.")
    if out is not None and not Path(out).absolute().parent.is_dir():
        raise click.UsageError(f"--out: there is no folder {Path(out).absolute().parent}")


def write(table: pa.Table, format_: str, out: str | None, people: People, limit: int) -> None:
    """The table to stdout, or to the file `out`: whole or not at all; what a terminal gets is made visible."""
    with _opened(out) as target:
        if format_ == "table":
            text = sys.stdout if out is None else _text(target)
            people(table, text, limit)
            text.flush()
        else:
            WRITERS[format_](table, _Seen(target) if out is None and sys.stdout.isatty() else target)


@contextlib.contextmanager
def only_results() -> Iterator[None]:
    """Whatever this process and its children (Spark's JVM) print to stdout meanwhile goes to stderr."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


@contextlib.contextmanager
def _opened(out: str | None) -> Iterator[IO[bytes]]:
    if out is None:
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    part = Path(f"{out}.part")
    with unfinished(part):
        with part.open("wb") as file:
            yield file
        part.replace(out)


class _Seen(io.BytesIO):
    """Lines of text on their way to a terminal."""

    def __init__(self, terminal: IO[bytes]) -> None:
        super().__init__()
        self.terminal = terminal

    def write(self, text: Any) -> int:
        """Whole characters come in, those that would steer the terminal go out escaped."""
        return self.terminal.write(visible(bytes(text).decode()).encode())


def _text(target: IO[bytes]) -> IO[str]:
    return open(target.fileno(), "w", encoding="utf-8", closefd=False)
