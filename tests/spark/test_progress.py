"""Progress of long steps: lines with counts that only grow, numbers for programs, and jobs that end with their step."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark import InheritableThread
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.steps import progress
from pipelines.steps.packing import run_tasks
from pipelines.steps.progress import watched

ONE = pa.schema([("x", pa.int64())])


def slow(spark: SparkSession, tasks: int, seconds: float) -> int:
    def work(_: int) -> Iterator[pa.RecordBatch]:
        time.sleep(seconds)
        yield pa.RecordBatch.from_pydict({"x": [1]}, ONE)

    return run_tasks(spark, list(range(tasks)), work, from_arrow_schema(ONE)).count()


def test_long_steps_tell_how_far_they_are(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.3)
    with caplog.at_level(logging.INFO, "hamlet.progress"), watched(spark, "execute", 600):
        assert slow(spark, 6, 0.6) == 6
    told = [record.fields for record in caplog.records if record.name == "hamlet.progress"]  # type: ignore[attr-defined]
    assert len(told) >= 2
    done = [one["tasks_done"] for one in told]
    assert done == sorted(done)
    assert all(one["step"] == "execute" and one["events"] == 600 for one in told)
    assert any(one["seconds_left"] is not None for one in told)
    assert " tasks, about " in caplog.records[-1].getMessage()
    count = len(caplog.records)
    slow(spark, 1, 0.7)
    assert len(caplog.records) == count
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None


def test_an_interrupted_step_leaves_no_job_running(spark: SparkSession) -> None:
    cancelled = []

    def job() -> None:
        try:
            slow(spark, 1, 60)
        except Py4JJavaError as error:
            cancelled.append(str(error))

    def interrupted() -> None:
        with watched(spark, "execute"):
            running.start()
            while not spark.sparkContext.statusTracker().getActiveJobsIds():
                time.sleep(0.1)
            raise KeyboardInterrupt

    running = InheritableThread(job)
    with pytest.raises(KeyboardInterrupt):
        interrupted()
    running.join(30)
    assert "cancelled" in cancelled[0]
    assert list(spark.sparkContext.statusTracker().getActiveJobsIds()) == []


class Ended:
    """A Spark session whose JVM has ended in the middle of a block."""

    def __init__(self) -> None:
        self.sparkContext, self.ended, self.asked = self, False, threading.Event()

    def getLocalProperty(self, _: str) -> None:  # noqa: N802
        return None

    def setJobGroup(self, *_: object, **__: object) -> None:  # noqa: N802
        self.ended = True

    def __getattr__(self, name: str) -> object:
        self.asked.set()
        raise ConnectionRefusedError(111, "Connection refused")


def test_an_ended_jvm_is_told_by_what_waits_for_it_and_by_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "EVERY_SECONDS", 0.01)
    monkeypatch.setattr(threading, "excepthook", threading.__excepthook__)
    session = Ended()

    def failing() -> None:
        with watched(session, "ingest"):  # type: ignore[arg-type]
            assert session.asked.wait(30)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert capfd.readouterr().err == ""
