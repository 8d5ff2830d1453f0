"""`hamlet stream`: windows are published as soon as they are final, while files of events arrive."""

from __future__ import annotations

import logging
import time
from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

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

WAITS = frozenset({"E455", "E522", "E523"})
"""Codes of errors that a broker does not answer, that all files are still being written, or changed, or that none had a readable
row yet.
"""


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
    policy: str,
    cost_model: str,
    choice: str,
    arithmetic: str,
) -> None:
    """Read files of events as they arrive, compute the queries of the file WORKLOAD on Spark, and publish each window
    once it is final, checked, in the table trend_aggregates.

    The file WORKLOAD is read again for every micro-batch: queries that are new answer from the next windows on. Events
    that come too late are in the table events_late, and `hamlet pipeline` over the same warehouse computes their windows anew.
    """
    # Whatever can be refused is refused before Spark starts.
    execute = execute_options(engine, policy, cost_model, choice, arithmetic)
    wait, every = _length("--lateness", lateness), _length("--trigger", trigger)
    settings = read_settings(workload, source, columns, warehouse, execute)
    changing = _Changing(settings, workload)
    from pipelines.ahead import load_checks_and_engines
    from pipelines.reading import awaited

    if not awaited(source):
        require_columns(settings)
    with on_spark(settings.warehouse, source, "starting Spark"):
        load_checks_and_engines()
        rows, seconds = Counter[str](), 0.0
        while True:
            begun = time.monotonic()
            found = _micro_batch(settings, wait, max_files, once=once)
            if found is not None and once:
                rows.update(found.rows)
                seconds += found.seconds
            if found is None or not found.left:
                if once:
                    break
                LOG.log(GOING_ON, "")  # nothing is going on
                time.sleep(max(0.0, every.total_seconds() - (time.monotonic() - begun)))
            settings = changing.look()
    assert found is not None  # noqa: S101 - what keeps the only micro-batch from beginning raises
    for plan in settings.workload.plans:
        click.echo(f"{plan.name}: {rows[plan.name]:,} rows")
    click.echo(f"{found.up_to} in {warehouse.rstrip('/')}/trend_aggregates after {seconds:.1f} s.")


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


def _micro_batch(
    settings: JobSettings, lateness: timedelta, max_files: int | None, *, once: bool
) -> MicroBatch | None:
    """One micro-batch, alone in the warehouse; None where nothing could be read yet."""
    from hamlet_core.errors import HamletError
    from pipelines.steps.ingestion.ingest import UNBOUNDED
    from pipelines.streaming import advance
    from resources.failures import require_room
    from resources.spark import spark_session
    from resources.storage import Location
    from resources.warehouse_lock import exclusive

    spark = spark_session()
    LOG.log(GOING_ON, "looking for files")
    try:
        with exclusive(settings.warehouse, wait_seconds=0.0 if once else PATIENCE):
            require_room(Location.of(settings.warehouse).local)
            found = advance(spark, settings, lateness, at_most=max_files or UNBOUNDED)
    except HamletError as failure:
        if once or failure.code not in WAITS:
            raise
        LOG.warning("%s", failure)
        return None
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
