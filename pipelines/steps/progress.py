"""Progress of long steps: how many tasks are done, about how many events that is, and how long the rest may take.

Lines go to the logger `hamlet.progress`, each with its numbers as `fields`, for people and programs alike.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

LOG = logging.getLogger("hamlet.progress")
LOG.setLevel(logging.INFO)
EVERY_SECONDS = 4.0
CANCEL_SECONDS = 10.0
_NO_JVM = (Py4JError, OSError)
"""What a call of a JVM raises that has ended; who waits for its answer tells it, once."""
_GROUP = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a step is; `events` is what it reads altogether."""

    step: str
    done: int
    tasks: int
    events: int
    seconds: float
    ended: float
    """How many seconds after the beginning the last of the tasks that are done was seen to be."""

    @property
    def left(self) -> float | None:
        """Seconds that the rest may take, at the pace up to the last task; None before the first, or if that should be over.

        >>> [Progress("execute", 2, 4, 0, seconds, 30.0).left for seconds in (30.0, 50.0, 70.0)]
        [30.0, 10.0, None]
        """
        if not self.done:
            return None
        rest = self.ended * (self.tasks - self.done) / self.done - (self.seconds - self.ended)
        return rest if rest >= 0 else None

    @property
    def line(self) -> str:
        """The progress in words.

        >>> Progress("execute", 3, 4, 4_000_000, 30.0, 30.0).line
        'execute: 3 of 4 tasks, about 3,000,000 of 4,000,000 events, 10 s left'
        """
        share = (
            f", about {self.events * self.done // self.tasks:,} of {self.events:,} events"
            if self.events
            else ""
        )
        left = "" if self.left is None else f", {self.left:.0f} s left"
        return f"{self.step}: {self.done} of {self.tasks} tasks{share}{left}"


@contextlib.contextmanager
def watched(spark: SparkSession, step: str, events: int = 0) -> Iterator[None]:
    """Tell every few seconds how far the Spark jobs of the block are; an exception out of it cancels them."""
    context, group = spark.sparkContext, f"hamlet {step} {uuid.uuid4()}"
    before = [context.getLocalProperty(name) for name in _GROUP]
    context.setJobGroup(group, f"hamlet: {step}", interruptOnCancel=True)
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(context, group, step, events, ended), daemon=True)
    watcher.start()
    try:
        yield
    except BaseException:
        # A Ctrl-C may have broken off a call of this thread, whose connection then gives answers to older questions.
        cancelling = threading.Thread(target=_cancel, args=(context, group), daemon=True)
        cancelling.start()
        cancelling.join(CANCEL_SECONDS)
        raise
    finally:
        ended.set()
        watcher.join()
        with contextlib.suppress(*_NO_JVM):
            for name, value in zip(_GROUP, before, strict=True):
                context.setLocalProperty(name, value)  # type: ignore[arg-type]  # None takes it away


def _cancel(context: SparkContext, group: str) -> None:
    with contextlib.suppress(*_NO_JVM):
        context.cancelJobGroup(group)


def _watch(context: SparkContext, group: str, step: str, events: int, ended: threading.Event) -> None:
    started, told, before, last_end = time.monotonic(), "", 0, 0.0
    while not ended.wait(EVERY_SECONDS):
        try:
            done, tasks = _tasks(context, group)
        except _NO_JVM:
            return
        seconds = time.monotonic() - started
        if done != before:
            before, last_end = done, seconds
        progress = Progress(step, done, tasks, events, seconds, last_end)
        if tasks and progress.line != told:
            told = progress.line
            fields = {
                "step": step,
                "tasks_done": done,
                "tasks": tasks,
                "events": events,
                "seconds_left": progress.left,
            }
            LOG.info(told, extra={"fields": fields})


def _tasks(context: SparkContext, group: str) -> tuple[int, int]:
    """Tasks that are done and all tasks, of the stages that Spark knows by now."""
    tracker = context.statusTracker()
    done = tasks = 0
    for job in tracker.getJobIdsForGroup(group):
        found = tracker.getJobInfo(job)
        for stage in found.stageIds if found else ():
            info = tracker.getStageInfo(stage)
            if info is not None:
                done, tasks = done + info.numCompletedTasks, tasks + info.numTasks
    return done, tasks
