"""`hamlet stream`: windows are published as soon as they are final, while files of events arrive."""

from __future__ import annotations

import gc
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from pipelines.commands.main_run import PROGRESS, on_spark
from pipelines.commands.options import (
    column_options,
    debug_option,
    evaluation_options,
    warehouse_option,
    workload_argument,
)
from pipelines.commands.pipeline import execute_options, read_settings, require_columns
from pipelines.ending import heard
from pipelines.showing.levels import GOING_ON

if TYPE_CHECKING:
    from pipelines.reading import ColumnOptions
    from pipelines.settings import JobSettings
    from pipelines.streaming import MicroBatch

EPILOG = """\b
Examples:
  hamlet stream my.hamlet --source inbox/ --warehouse warehouse --lateness "5 min"
  hamlet stream my.hamlet --source inbox/ --warehouse warehouse --once
"""

LOG = logging.getLogger(PROGRESS)

PATIENCE = 86_400.0
"""Seconds that it waits for another run of the warehouse."""

WAITS = frozenset({"E455", "E457", "E522", "E523"})
"""Codes of errors that a broker or a schema registry does not answer, that all files are still being written, or changed, or that
none had a readable row yet.
"""

TRIES = 5
"""Micro-batches in a row that a failure of Spark can stop, before it ends the stream."""

TRIED = frozenset({"E511", "E513"})
"""Codes of failures of Spark that may pass: a killed worker, and what nobody has a name for."""


@click.command(short_help="Windows as they become final, while files arrive.", epilog=EPILOG)
@workload_argument
@click.option(
    "--source",
    required=True,
    metavar="DIR|FILE|URI",
    type=click.Path(),
    help="Where events arrive: a folder of files, a file that grows at its end, a pattern in quotes, a Delta table to which "
    "they are appended, or a topic, as kafka://HOST:PORT/TOPIC; as --events of `hamlet pipeline`.",
)
@warehouse_option
@click.option(
    "--once",
    is_flag=True,
    help="Read what is there, publish what is final, and end; for a schedule of your own.",
)
@click.option(
    "--lateness",
    default="0 s",
    show_default=True,
    metavar="D",
    help="How late events may come: a window is published when an event so much later than its end was seen.",
)
@click.option(
    "--trigger", default="10 s", show_default=True, metavar="D", help="How often to look for new files."
)
@click.option(
    "--max-files",
    type=click.IntRange(min=1),
    metavar="N",
    help="Read so many new files in a micro-batch, the oldest first; the next one follows at once.  [default: all]",
)
@column_options
@evaluation_options
@debug_option
def stream(
    *,
    workload: str,
    source: str,
    warehouse: str,
    once: bool,
    lateness: str,
    trigger: str,
    max_files: int | None,
    columns: ColumnOptions,
    engine: str | None,
    sharing: Mapping[str, Any],
    arithmetic: str,
) -> None:
    """Read files of events as they arrive, compute the queries of the file WORKLOAD on Spark, and publish each window
    once it is final, checked, in the table trend_aggregates.

    The file WORKLOAD is read again for every micro-batch: queries that are new answer from the next windows on. Events
    that come too late are in the table events_late, and `hamlet pipeline` over the same warehouse computes their windows anew.
    """
    # Whatever can be refused is refused before Spark starts.
    execute = execute_options(engine, sharing, arithmetic)
    wait, every = _length("--lateness", lateness), _length("--trigger", trigger)
    settings = read_settings(workload, source, columns, warehouse, execute)
    changing = _Changing(settings, workload)
    from pipelines.ahead import load_checks_and_engines
    from pipelines.reading import awaited

    if not awaited(source):
        require_columns(settings)
    with on_spark(settings.warehouse, source, "starting Spark", lasting=not once):
        load_checks_and_engines()
        rows, seconds, trying = Counter[str](), 0.0, Trying(warehouse, once=once)
        while True:
            begun = time.monotonic()
            found = trying.one(partial(_micro_batch, settings, wait, max_files, once=once))
            if found is not None and once:
                rows.update(found.rows)
                seconds += found.seconds
            if found is None or not found.left:
                if once:
                    break
                LOG.log(GOING_ON, "")  # nothing is going on
                time.sleep(max(0.0, every.total_seconds() - (time.monotonic() - begun)))
            forget_cycles()
            settings = changing.look()
    assert found is not None  # noqa: S101 - what keeps the only micro-batch from beginning raises
    for plan in settings.workload.plans:
        click.echo(f"{plan.name}: {rows[plan.name]:,} rows")
    click.echo(f"{found.up_to} in {warehouse.rstrip('/')}/trend_aggregates after {seconds:.1f} s.")


def forget_cycles() -> None:
    """Free what a micro-batch has left behind, and what Java keeps for it: expectations and plans refer to one another, and Python
    would look for such things the more rarely, the more it has loaded. What was there at the first time is never looked at again.
    """
    gc.collect()
    if not gc.get_freeze_count():
        gc.freeze()


@dataclass(slots=True)
class _Changing:
    """The settings of a stream whose workload may be edited; mutable: `told` is what was last said of the file."""

    settings: JobSettings
    workload: str
    told: str = ""

    def look(self) -> JobSettings:
        """The settings with the workload as its file has it by now; as before, where nobody can read that."""
        from hamlet_core.errors import HamletError

        if self.workload == "-":
            return self.settings
        before, source = self.settings, self.settings.source
        try:
            self.settings = read_settings(
                self.workload, source.path, source.options, str(before.warehouse), before.execute
            )
        except (HamletError, click.UsageError) as failure:
            self._tell(logging.WARNING, f"cannot be used, and its last text stays: {failure}")
        else:
            if self.settings.workload.text != before.workload.text:
                self._tell(logging.INFO, "has changed: its queries are those of the next micro-batch")
            self.told = ""
        return self.settings

    def _tell(self, level: int, what: str) -> None:
        if what != self.told:
            LOG.log(level, "%s %s", self.workload, what)
        self.told = what


@dataclass(slots=True)
class Trying:
    """What may stop a micro-batch without ending its stream; mutable: `failed` counts those in a row that failed."""

    warehouse: str
    once: bool
    failed: int = 0

    def one(self, micro_batch: Callable[[], MicroBatch]) -> MicroBatch | None:
        """A micro-batch; None where it is to be tried again, as what stopped it may pass. Else raises what stopped it."""
        from resources.failures import explained
        from resources.storage import Location

        try:
            found = micro_batch()
        except Exception as failure:
            known = explained(failure, Location.of(self.warehouse).local)
            if self.once or heard() or known is None or not self._passes(known.code):
                raise
            again = f"; it is tried again, {self.failed + 1} of {TRIES}" if self.failed else ""
            LOG.warning("%s", f"[{known.code}] {known.message}{again}" if again else known)
            return None
        self.failed = 0
        return found

    def _passes(self, code: str) -> bool:
        self.failed = self.failed + 1 if code in TRIED else 0
        return code in WAITS or 0 < self.failed < TRIES


def _micro_batch(
    settings: JobSettings, lateness: timedelta, max_files: int | None, *, once: bool
) -> MicroBatch:
    """One micro-batch, alone in the warehouse."""
    from pipelines.steps.ingestion.ingest import UNBOUNDED
    from pipelines.streaming import advance
    from resources.failures import require_room
    from resources.spark import spark_session
    from resources.storage import Location
    from resources.warehouse_lock import exclusive

    spark = spark_session()
    LOG.log(GOING_ON, "looking for files")
    with exclusive(settings.warehouse, wait_seconds=0.0 if once else PATIENCE):
        require_room(Location.of(settings.warehouse).local)
        found = advance(spark, settings, lateness, at_most=max_files or UNBOUNDED)
    _tell(found)
    return found


def _tell(found: MicroBatch) -> None:
    """What a micro-batch did, if it did anything, as a line of progress."""
    if not found.idle:
        rows = sum(found.rows.values())
        fields = {"step": "stream", "rows": rows, "late": found.late, "watermark": found.watermark}
        LOG.info("%s", found.line, extra={"fields": fields})


def _length(option: str, text: str) -> timedelta:
    from pipelines.settings import read_length

    try:
        return read_length(text)
    except ValueError as wrong:
        raise click.UsageError(f"{option} {wrong}.") from None
