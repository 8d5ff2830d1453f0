"""WORKLOAD of a command line in, text and name out."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import click

from pipelines.commands.failures import WORKLOAD

_QUERY = re.compile(r"\b(RETURN|PATTERN|FUNNEL)\b", re.IGNORECASE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class WorkloadText:
    """The text of a workload; `name` is that of its file, without folder and suffix, fit for a table."""

    name: str
    text: str


def read_workload(given: str) -> WorkloadText:
    """The workload in the file `given`, or on stdin for `-`. Raises click.UsageError if it cannot be read."""
    _remember("stdin" if given == "-" else given)
    content = sys.stdin.buffer.read() if given == "-" else _content(given)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{given} is not UTF-8 text (byte {error.start}).") from None
    return WorkloadText(_name(given), text)


def _content(given: str) -> bytes:
    try:
        return Path(given).read_bytes()
    except (OSError, ValueError) as error:
        raise click.UsageError(_why_not(given, error)) from None


def _why_not(given: str, error: OSError | ValueError) -> str:
    if _QUERY.search(given):
        return (
            "WORKLOAD is a file, and this is the text of a query.\n"
            "  hint: save it to a file, or give - and the text on stdin: echo 'RETURN ...' | hamlet check -"
        )
    if isinstance(error, FileNotFoundError):
        return f"no such workload file: {given}"
    return f"{given} cannot be read: {getattr(error, 'strerror', None) or error}"


def _name(given: str) -> str:
    stem = "stdin" if given == "-" else Path(given).stem
    return _NOT_IN_A_NAME.sub("_", stem).lstrip("_.-")[:100] or "workload"


def _remember(name: str) -> None:
    """Errors in the text name its file."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[WORKLOAD] = name
