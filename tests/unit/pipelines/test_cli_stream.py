"""What stops a micro-batch of `hamlet stream`, and what ends the stream."""

from __future__ import annotations

import contextlib
import gc
import logging
import weakref
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.errors import PySparkException

from hamlet_core.errors import HamletError, StreamError
from pipelines.commands import stream as command
from pipelines.commands.stream import TRIES, Trying
from pipelines.streaming import MicroBatch

KILLED = "[E511] a Python worker of Spark was killed in the middle of a task"
DONE = MicroBatch("run", None, None, None, {}, 0, 0.0)


class Failing:
    """Micro-batches that fail so; mutable: takes the next each time."""

    def __init__(self, *failures: Exception | None) -> None:
        self.left = list(failures)

    def __call__(self) -> MicroBatch:
        if (failure := self.left.pop(0)) is not None:
            raise failure
        return DONE


WAYS = (
    ("Python worker exited unexpectedly (crashed)", KILLED),
    ("EOFException occurred while reading the port number from pyspark.daemon's stdout.", KILLED),
    ("EOFException occurred while reading the port number from resources.python_worker's stdout.", KILLED),
    ("java.io.EOFException", "[E513] Spark failed: Job aborted: java.io.EOFException"),
)
"""How Spark tells that a worker, or who starts them, is gone; and what a stream says of it."""


def killed(number: int = 0) -> Exception:
    """In one way or another."""
    return PySparkException(f"Job aborted: {WAYS[number % len(WAYS)][0]}")


def test_a_killed_worker_ends_no_stream_unless_it_is_killed_again_and_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trying = Trying(str(tmp_path), once=False)
    batches = Failing(*map(killed, range(TRIES - 1)), None, *map(killed, range(TRIES)))
    with caplog.at_level(logging.WARNING, "hamlet.progress"):
        assert [trying.one(batches) for _ in range(TRIES)] == [None] * (TRIES - 1) + [DONE]
    assert [record.getMessage() for record in caplog.records] == [
        f"{WAYS[number % len(WAYS)][1]}; it is tried again, {number + 2} of {TRIES}"
        for number in range(TRIES - 1)
    ]
    assert [trying.one(batches) for _ in range(TRIES - 1)] == [None] * (TRIES - 1)
    with pytest.raises(PySparkException):
        trying.one(batches)
    assert not batches.left


def test_a_broker_that_does_not_answer_is_waited_for_as_long_as_it_takes(tmp_path: Path) -> None:
    trying = Trying(str(tmp_path), once=False)
    silent = Failing(*[StreamError("no answer", code="E455") for _ in range(3 * TRIES)], None)
    assert [trying.one(silent) for _ in range(3 * TRIES + 1)] == [None] * 3 * TRIES + [DONE]


@pytest.mark.parametrize("failure", [killed(), StreamError("no answer", code="E455")])
def test_what_is_to_run_once_says_what_stopped_it(tmp_path: Path, failure: Exception) -> None:
    with pytest.raises(type(failure)):
        Trying(str(tmp_path), once=True).one(Failing(failure))


def test_what_nobody_can_wait_for_ends_a_stream_at_once(tmp_path: Path) -> None:
    trying = Trying(str(tmp_path), once=False)
    for failure in (HamletError("red", code="E552"), ZeroDivisionError()):
        with pytest.raises(type(failure)):
            trying.one(Failing(failure))


def test_what_fails_because_the_stream_is_told_to_end_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.commands.stream.heard", lambda: True)
    with pytest.raises(PySparkException):
        Trying(str(tmp_path), once=False).one(Failing(killed()))


class Cycle:
    """Refers to itself, as what belongs to one expectation or plan does in the end."""

    def __init__(self) -> None:
        self.itself = self


def test_what_micro_batches_leave_behind_is_freed_after_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java keeps a plan as long as Python has a word of it."""
    left: list[weakref.ref[Cycle]] = []
    alive: list[int] = []

    def micro_batch(*_: object, **__: object) -> MicroBatch:
        alive.append(sum(one() is not None for one in left))
        if len(alive) == 4:
            raise SystemExit
        left.append(weakref.ref(Cycle()))
        return DONE

    monkeypatch.setattr(command, "_micro_batch", micro_batch)
    monkeypatch.setattr(command, "on_spark", lambda *_, **__: contextlib.nullcontext())
    monkeypatch.setattr("pipelines.ahead.load_checks_and_engines", lambda: None)
    (tmp_path / "q.hamlet").write_text("RETURN COUNT(*) PATTERN A+ WITHIN 1 min")
    (tmp_path / "a.csv").write_text("time,type\n1,A\n")
    arguments = [f"{tmp_path}/q.hamlet", "--source", f"{tmp_path}/a.csv", "--warehouse", f"{tmp_path}/w"]
    gc.disable()
    try:
        CliRunner().invoke(command.stream, [*arguments, "--trigger", "0 s"], catch_exceptions=False)
    finally:
        gc.enable()
        gc.unfreeze()
    assert alive == [0, 0, 0, 0]
