"""One run of the main job for a command: progress on stderr while it runs, its outcome as a value."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pipelines.showing.levels import GOING_ON
from pipelines.showing.visible import visible

if TYPE_CHECKING:
    import dagster as dg

    from pipelines.main_job import RunSummary
    from pipelines.settings import JobSettings

PROGRESS = "hamlet"
"""The logger that the steps tell their progress."""
TELLING = (PROGRESS, "hamlet_core")
"""Loggers whose lines are shown: of the steps, and of the engine while it compiles kernels."""

AGAIN = "nothing is lost: run it again, and it goes on from what is there"
"""What somebody who stops a run should know."""

PATIENCE = 3.0
"""Seconds that a run has to end in order, as its Dagster instance should tell it."""

BEAT = 4.0
"""Seconds after which a run says what it is at, if it has said nothing else."""

LOG_FORMAT = "HAMLET_LOG_FORMAT"
"""Environment variable: `json` makes each line of progress a JSON object, for programs."""


class Progress(logging.Handler):
    """Each message as a line on stderr, with the seconds since the start: words, or a JSON object.

    Mutable: remembers what is going on (nothing, while a stream waits), and when it showed the last line.
    """

    def __init__(self) -> None:
        super().__init__(GOING_ON)
        self.started = self.shown = time.monotonic()
        self.going_on = "starting Dagster and Spark"

    def beat(self, ended: threading.Event) -> None:
        """Say what is going on wherever nothing else was said for a while, until the end."""
        while not ended.wait(BEAT / 20):
            if self.going_on and time.monotonic() - self.shown >= BEAT:
                fields = {"step": self.going_on}
                logging.getLogger(PROGRESS).info("%s: going on", self.going_on, extra={"fields": fields})

    def emit(self, record: logging.LogRecord) -> None:
        """Show one message; of what begins only keep its name."""
        if record.levelno < logging.INFO:
            self.going_on = record.getMessage()
            return
        self.shown = time.monotonic()
        seconds = time.monotonic() - self.started
        if os.environ.get(LOG_FORMAT) == "json":
            known = {
                "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
                "seconds": round(seconds, 3),
                "level": record.levelname.lower(),
                "message": record.getMessage(),
            }
            click.echo(json.dumps(known | getattr(record, "fields", {}), default=str), err=True)
        else:
            click.echo(f"[{seconds:5.1f} s] {visible(record.getMessage())}", err=True)


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """Show what the steps say while the block runs."""
    handler = Progress()
    before = [(logger, logger.level, logger.propagate) for logger in map(logging.getLogger, TELLING)]
    # What Py4J has to say of a call that a Ctrl-C breaks off is said by the command, in a line.
    logging.getLogger().addFilter(_not_of_py4j)
    for logger, _, _ in before:
        logger.addHandler(handler)
        logger.setLevel(GOING_ON)
        logger.propagate = False
    ended = threading.Event()
    beating = threading.Thread(target=handler.beat, args=(ended,), name="progress", daemon=True)
    beating.start()
    try:
        yield handler
    finally:
        ended.set()
        beating.join()
        logging.getLogger().removeFilter(_not_of_py4j)
        for logger, level, propagates in before:
            logger.removeHandler(handler)
            logger.setLevel(level)
            logger.propagate = propagates


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "while sending command" not in record.getMessage()


def run_job(settings: JobSettings, *, debug: bool) -> RunSummary:
    """Run the main job in the warehouse's Dagster instance.

    Raises the HamletError of the step that failed; a red check is in the summary.
    """

    def job(instance: dg.DagsterInstance, log_level: str) -> RunSummary:
        from pipelines.main_job import run_main_job

        return run_main_job(settings, instance, log_level=log_level)

    return run_in(settings.warehouse, settings.source.path, job, debug=debug)


def run_in(
    warehouse: Path | str,
    events: str,
    job: Callable[[dg.DagsterInstance, str], RunSummary],
    *,
    debug: bool,
) -> RunSummary:
    """A run over events in the warehouse's Dagster instance, with its progress on stderr; whatever Spark prints goes there, too."""
    with on_spark(warehouse, events, "starting Dagster and Spark"):
        from dagster import DagsterExecutionInterruptedError

        from pipelines.instance import dagster_instance, explain_lost_events
        from pipelines.live_runs import end_dead_runs
        from resources.failures import require_room
        from resources.storage import Location

        folder = Location.of(warehouse).local
        require_room(folder)
        try:
            with dagster_instance(warehouse) as instance:
                explain_lost_events(instance, folder)
                end_dead_runs(instance, logging.getLogger(PROGRESS).warning)
                return job(instance, "DEBUG" if debug else "CRITICAL")
        except DagsterExecutionInterruptedError:
            raise KeyboardInterrupt(AGAIN) from None


@contextlib.contextmanager
def on_spark(warehouse: Path | str, events: str, first: str, *, lasting: bool = False) -> Iterator[None]:
    """Work on Spark over events and a warehouse: progress on stderr, with `first` as its first line; failures explained;
    an end in order, and soon, when the command is told to end. What is `lasting` will read more than is there.
    """
    from pipelines.ending import patience
    from pipelines.showing.output import only_results

    with only_results(), progress() as shown, patience(PATIENCE, AGAIN, _silence_java):
        shown.going_on = first
        logging.getLogger(PROGRESS).info(first)
        from pipelines.ahead import start_spark

        start_spark(events, warehouse, lasting=lasting)
        from resources.failures import explained
        from resources.storage import Location

        try:
            yield
        except KeyboardInterrupt:
            raise KeyboardInterrupt(AGAIN) from None
        except Exception as failure:
            known = explained(failure, Location.of(warehouse).local)
            if known is None or known is failure:
                raise
            raise known from known.__cause__


def _silence_java() -> None:
    """What Spark has to say of tasks that end because the run does is no news."""
    if "resources.spark" in sys.modules:
        from resources.spark import silence

        silence()


def show_steps(summary: RunSummary) -> None:
    """What each step of a run did and how long it took, on stderr."""
    numbers = {(one.step, one.metric): one.value for one in summary.metrics if one.query is None}
    parts = []
    for step, what in (
        ("ingest", "events ingested"),
        ("execute", "events read by tasks"),
        ("publish", "rows published"),
    ):
        seconds, count = numbers.get((step, "seconds")), numbers.get((step, what))
        if seconds is not None and count is not None:
            parts.append(f"{step} {seconds:.1f} s ({int(count):,} {what})")
    if parts:
        click.echo(f"Steps: {', '.join(parts)}; {summary.seconds:.1f} s in all.", err=True)


def show_checks(summary: RunSummary) -> None:
    """The checks of a run, green or red; the rows behind a red one below it."""
    for check in summary.checks:
        mark = (
            click.style("green", fg="green")
            if check.passed
            else click.style("warns", fg="yellow")
            if check.warns
            else click.style("RED  ", fg="red", bold=True)
        )
        click.echo(f"  {mark}  {check.name} on {check.asset}: {visible(check.description)}")
        if not check.passed:
            click.echo(visible(check.page), err=True)


def fail_if_red(summary: RunSummary) -> None:
    """Exit code 1 for a run that a check has stopped."""
    if not summary.success:
        click.echo("Nothing was published: a check is red.", err=True)
        raise click.exceptions.Exit(1)
