"""What a command says while it works: how far it is, how long it still takes, and beforehand how long it will take."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hamlet_core
from pipelines.cli import main
from pipelines.commands import going_on as beating
from pipelines.commands.going_on import going_on, reading
from pipelines.duration_estimate import SMALLEST, Estimate, estimated
from pipelines.reading import Position, discover, infer_columns
from pipelines.showing.gauge import Gauge


class Clock:
    """A clock that stands until somebody moves it."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def gauge_at(*told: tuple[float, int], now: float) -> Gauge:
    """A gauge of 1,000 events that was told so many are done, at these seconds."""
    clock = Clock()
    gauge = Gauge(clock)
    gauge.begin("computing", "events", 1000)
    for clock.time, done in told:
        gauge.told(done, 1000)
    clock.time = now
    return gauge


@pytest.mark.parametrize(
    ("told", "now", "line"),
    [
        ([], 4.0, "[  4.0 s] computing: 0 of 1,000 events"),
        ([(0.0, 0)], 30.0, "[ 30.0 s] computing: 0 of 1,000 events"),
        ([(1.0, 0), (5.0, 100)], 5.0, "[  5.0 s] computing: 100 of 1,000 events, about 45 s left"),
        # Kernels were compiled for 30 s before anything was done.
        ([(0.0, 0), (30.0, 10), (40.0, 110)], 40.0, "[ 40.0 s] computing: 110 of 1,000 events, about 89 s left"),
        ([(0.0, 0), (5.0, 900), (4.0, 100)], 5.0, "[  5.0 s] computing: 900 of 1,000 events, about 1 s left"),
        ([(0.0, 0), (5.0, 900), (6.0, 1000)], 9.0, "[  9.0 s] computing: 1,000 of 1,000 events, finishing"),
    ],
)  # fmt: skip
def test_a_line_says_what_is_done_and_what_is_left(
    told: list[tuple[float, int]], now: float, line: str
) -> None:
    assert gauge_at(*told, now=now).line() == line


def test_what_is_done_once_says_nothing_about_the_pace() -> None:
    clock, compiling = Clock(), Clock()
    gauge = Gauge(clock, compiling)
    gauge.begin("computing", "events", 1000)
    for clock.time, compiling.time, done in ((1.0, 0.5, 100), (31.0, 29.5, 200)):
        gauge.told(done, 1000)
    assert gauge.left == pytest.approx(8.0)
    clock.time, compiling.time = 41.0, 39.5
    assert gauge.left == pytest.approx(8.0)
    assert gauge.line() == "[ 41.0 s] computing: 200 of 1,000 events, about 8 s left"


def test_what_is_left_is_not_nothing_however_long_nobody_tells() -> None:
    left = [gauge_at((1.0, 500), (10.0, 999), now=now).left for now in (10.0, 20.0, 200.0)]
    assert all(one is not None for one in left)
    assert left == sorted(left, key=float)
    lines = [gauge_at((1.0, 500), (10.0, 999), now=now).line() for now in (10.0, 40.0)]
    assert all(line.endswith("about 1 s left") for line in lines)


def test_a_long_work_is_warned_of_once_with_what_that_was_measured_on() -> None:
    gauge = gauge_at((1.0, 10), (11.0, 20), now=11.0)
    assert gauge.warning() == (
        "computing will take about 16 min, as measured on the first 20 of 1,000 events"
    )
    assert gauge.warning() is None
    assert gauge_at((1.0, 500), (11.0, 700), now=11.0).warning() is None
    assert gauge_at((1.0, 0), now=500.0).warning() is None
    assert gauge_at((40.0, 10), now=41.0).warning() is None


def test_bytes_are_counted_file_by_file_also_packed(tmp_path: Path) -> None:
    text = b"time,type\n" + b"".join(b"%d,A\n" % number for number in range(5000))
    (tmp_path / "a.csv").write_bytes(text)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text))
    files = discover(tmp_path)
    sizes = {file.path: file.size for file in files}
    position = Position(sizes)
    seen = []
    with position.watching():
        seen.append(position.bytes())
        for file in files:
            infer_columns([file])
            seen.append(position.bytes())
    assert seen == [0, files[0].size, files[0].size + files[1].size]
    infer_columns(files)
    assert position.bytes() == sum(sizes.values())


@pytest.fixture
def beats(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lines are said one after the other, and by nobody when the work has ended."""
    monkeypatch.setattr(beating, "BEAT", 0.0001)
    yield
    assert "progress" not in {thread.name for thread in threading.enumerate()}


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "hamlet"]


def wait_for(words: str, caplog: pytest.LogCaptureFixture) -> None:
    deadline = time.monotonic() + 60
    while not any(words in line for line in said(caplog)):
        assert time.monotonic() < deadline, f"nobody said {words!r}"
        time.sleep(0.001)


@pytest.mark.usefixtures("beats")
def test_lines_are_said_until_the_work_ends(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.csv").write_text("time,type\n1,A\n")
    with going_on() as gauge:
        with reading(gauge, discover(tmp_path), "reading events"):
            wait_for("reading events: 0 of 14 bytes", caplog)
        gauge.begin("computing", "events", 7)
        wait_for("computing: 0 of 7 events", caplog)


@pytest.mark.usefixtures("beats")
def test_a_run_says_how_far_it_is_and_writes_results_alone_to_stdout(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "a.csv").write_text("time,type\n1,A\n2,A\n3,B\n")
    (tmp_path / "q.hamlet").write_text("RETURN COUNT(*) PATTERN A+ WITHIN 9 s")
    computed = hamlet_core.execute

    def waited_for(*arguments: object, **options: object) -> pa.Table:
        found = computed(*arguments, **options)  # type: ignore[arg-type]
        wait_for("computing: 2 of 2 events, finishing", caplog)
        return found

    monkeypatch.setattr(hamlet_core, "execute", waited_for)
    files = [str(tmp_path / "q.hamlet"), "--events", str(tmp_path / "a.csv")]
    assert main(["run", *files, "--engine", "greta", "--format", "csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_short_run_says_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.csv").write_text("time,type\n1,A\n")
    (tmp_path / "q.hamlet").write_text("RETURN COUNT(*) PATTERN A+ WITHIN 9 s")
    files = [str(tmp_path / "q.hamlet"), "--events", str(tmp_path / "a.csv")]
    assert main(["run", *files, "--engine", "greta"]) == 0
    assert said(caplog) == []


ALL = 1024 * SMALLEST


@pytest.mark.parametrize(
    ("longest", "power", "seconds"),
    [
        # Each event costs the same, whatever the windows.
        (10, 1.0, ALL * 1e-5),
        (ALL, 1.0, ALL * 1e-5),
        # One window of all events, in which each reads those before it.
        (ALL, 2.0, 1e-9 * ALL**2),
        # Two windows are full after a quarter of the events; from there on each event costs the same.
        (ALL // 8, 2.0, 4 * 1e-9 * (ALL // 4) ** 2),
    ],
)
def test_what_a_run_takes_is_scaled_from_what_was_measured(
    longest: int, power: float, seconds: float
) -> None:
    clock, rate = Clock(), 1e-5 if power == 1.0 else 1e-9
    sizes = []

    def compute(events: pa.Table) -> None:
        sizes.append(events.num_rows)
        clock.time += rate * events.num_rows**power

    ticks = np.random.default_rng(1).permutation(ALL)
    found = estimated(compute, pa.table({"time": ticks}), ticks, longest, clock)
    assert found.seconds == pytest.approx(seconds, rel=0.01)
    assert sizes[0] == 0
    assert sizes == sorted(sizes)
    assert (found.measured, found.of) == (sizes[-1], ALL)
    assert found.measured < ALL
    assert found.took >= 0.5


def test_how_long_a_run_takes_is_said_with_what_is_known_and_how() -> None:
    assert Estimate(0.3, 10, 10, 0.3).sentence(0.5) == "a run takes less than 1 s"
    assert Estimate(2.4, 10, 10, 2.4).sentence(0.2) == (
        "a run takes about 3 s: 1 s to read, 2 s to compute, as measured on all 10 events"
    )
    assert Estimate(300.0, 5_000, 1_000_000, 0.6).sentence(30.0) == (
        "a run takes about 6 min: 30 s to read, 5 min to compute, as measured on the first 5,000 of 1,000,000 events"
    )


def test_few_events_are_measured_whole_and_none_take_no_time() -> None:
    clock = Clock()

    def compute(events: pa.Table) -> None:
        clock.time += 1e-3 * events.num_rows

    ticks = np.array([5, 1, 9])
    found = estimated(compute, pa.table({"time": ticks}), ticks, 100, clock)
    assert (found.seconds, found.measured) == (pytest.approx(3e-3), 3)
    assert estimated(compute, pa.table({"time": ticks[:0]}), ticks[:0], 100, clock).measured == 0
