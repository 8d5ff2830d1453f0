"""Any exception in, lines on stderr and an exit code out."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pipelines.ending import heard, told
from pipelines.showing.visible import visible

if TYPE_CHECKING:
    from hamlet_core.errors import HamletError

FAILED, WRONG_USAGE = 1, 2

WRONG_OPTIONS = frozenset(
    {
        *("E201", "E207", "E210", "E216", "E217", "E219", "E290", "E291", "E292", "E450", "E451"),
        *("E509", "E524", "E530", "E531", "E532", "E533", "E534", "E540", "E541", "E542"),
    }
)
"""Codes of errors that are neither in a query nor in the data, but in what was typed."""

OF_THE_PIPELINE = frozenset(
    {
        *("dagster", "dagster_webserver", "delta", "deltalake", "duckdb", "great_expectations", "matplotlib"),
        *("pandas", "pydantic", "pyspark", "yaml"),
    }
)
"""Modules that come with the extra `pipeline` of this package."""
_WITH_PIPELINE = "pip install 'hamlet-on-spark[pipeline]'"

DEBUG = "hamlet.debug"
WORKLOAD = "hamlet.workload"
"""Keys of click's `Context.meta`: was --debug given, and the name of the workload's file."""


def report(failure: BaseException, meta: Mapping[str, Any]) -> int:
    """Say on stderr what went wrong, and return the exit code."""
    if isinstance(failure, click.exceptions.Exit):
        return failure.exit_code
    if isinstance(failure, BrokenPipeError):
        return _reader_gone()
    if meta.get(DEBUG):
        import traceback

        traceback.print_exception(failure)
    if isinstance(failure, click.ClickException) and not heard():
        said = io.StringIO()
        failure.show(said)
        print(visible(said.getvalue()), end="", file=sys.stderr, flush=True)
        return failure.exit_code
    lines, code = told() if heard() else _told(failure, meta)
    print(visible(lines), file=sys.stderr, flush=True)
    return code


def _told(failure: BaseException, meta: Mapping[str, Any]) -> tuple[str, int]:
    """The words for a failure, and its exit code."""
    # Not above: `hamlet --help` answers without the core.
    from hamlet_core.errors import HamletError, InvariantError

    name = type(failure).__name__
    match failure:
        case KeyboardInterrupt() | click.Abort():
            return told(str(failure))
        case HamletError() if not isinstance(failure, InvariantError):
            return _refused(failure, meta)
        case InvariantError():
            said = f"this is a bug of ours: {failure}"
        case ModuleNotFoundError() if (failure.name or "").partition(".")[0] in OF_THE_PIPELINE:
            said = f"[E502] {failure.name} is not installed, and this needs it\n  hint: {_WITH_PIPELINE}"
        case OSError():
            where = f": {failure.filename}" if failure.filename else ""
            said = f"{failure.strerror or failure}{where}"
        case MemoryError():
            said = "out of memory"
        case _:
            said = f"this is a bug of ours: {name}: {failure}\n  hint: --debug shows where"
    return f"Error: {said}", FAILED


def _refused(failure: HamletError, meta: Mapping[str, Any]) -> tuple[str, int]:
    from hamlet_core.errors import QueryMeaningError, QuerySyntaxError

    in_query = isinstance(failure, QuerySyntaxError | QueryMeaningError)
    place = f"{meta[WORKLOAD]}: " if in_query and WORKLOAD in meta else ""
    code = WRONG_USAGE if in_query or failure.code in WRONG_OPTIONS else FAILED
    return f"Error: {place}{failure}", code


def _reader_gone() -> int:
    """Whoever read stdout has left (`| head`): nothing to say, and nothing more to flush."""
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    return FAILED
