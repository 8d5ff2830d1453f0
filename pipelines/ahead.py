"""What a run needs later, begun beside what it does now: Spark starts while Dagster is imported, and what checks and
engines import is imported while Spark works. Whoever needs it waits for what is left, and sees what went wrong.
"""

from __future__ import annotations

import contextlib
import importlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.reading import SourceFile

MANY_BYTES = 1 << 20
"""Files of so many bytes take longer to read than an import is felt."""

_ENGINE = "hamlet_core.engines.hamlet.engine"
_LATER = ("matplotlib.figure", "pipelines.showing.template_picture")
"""What the plan after the ingest imports. Then comes Great Expectations, which has a way of its own, and the engine, which waits until
Spark has looked at all events.
"""


def start_spark(events: str, warehouse: Path | str, *, lasting: bool = False) -> None:
    """Start the session of this process, which will read these files and tables, and whatever comes after them if it is
    `lasting`; `spark_session` waits for it, and raises what keeps Spark from starting.
    """
    from resources.spark import begin_session

    if not lasting:
        expect_reading(events, warehouse)
    begin_session(lasting=lasting)


def expect_reading(events: str, warehouse: Path | str) -> None:
    """Say how much text there may be to read: the files, and the events that the warehouse has, counted where it is on this
    machine. Who reads them says what is wrong with their places.
    """
    from hamlet_core.errors import HamletError
    from pipelines.reading import MORE_TEXT, listing, text_bytes
    from resources.spark import expect
    from resources.storage import Location

    with contextlib.suppress(HamletError, OSError):
        folder = Location.of(warehouse).local
        if folder is None:
            return
        given = sum(text_bytes(file.name, file.size) for file in listing(events))
        stored = sum(file.stat().st_size for file in (folder / "events").rglob("*.parquet"))
        expect(given + stored * MORE_TEXT)


def load_engine(files: Sequence[SourceFile]) -> None:
    """Import the compiled engine, if there is much to read before it is needed."""
    if sum(file.size for file in files) >= MANY_BYTES:
        threading.Thread(target=_import_engine, name="imports", daemon=True).start()


def _import_engine() -> None:
    with contextlib.suppress(Exception):  # whoever needs it imports it again, and sees what is wrong
        importlib.import_module(_ENGINE)


def load_checks_and_engines() -> None:
    """Import what the steps after the ingest import."""
    # Here, for Dagster asks SQLAlchemy meanwhile, which then looks into its `orm` even where that is imported by half.
    with contextlib.suppress(ImportError):
        importlib.import_module("sqlalchemy.orm")
    threading.Thread(target=_load, name="imports", daemon=True).start()


def _load() -> None:
    # A module that cannot be imported says so where it is needed. Nor is it lost where the main thread changes, for all, which
    # warnings are errors: whoever needs it imports it again.
    with contextlib.suppress(Exception):
        for name in _LATER:
            importlib.import_module(name)
        from pipelines.checks.suites import load

        load()
        importlib.import_module(_ENGINE)
