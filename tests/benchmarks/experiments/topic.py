"""q. A topic that is filled in real time, `hamlet stream` beside Spark's own: delay, cost of an event, memory, two cores in all."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core import EventSchema, run
from resources.warehouse import Warehouse
from tests.benchmarks.answers import WrongAnswer, require_same_rows
from tests.benchmarks.experiments.cores import all_cores
from tests.benchmarks.machine import ROOT, say
from tests.benchmarks.report import Claim, Finding
from tests.benchmarks.scale import Scale
from tests.benchmarks.subject import Subject
from tests.benchmarks.topic_sender import PARTITIONS, events

TEXT = """\
q0: RETURN k, COUNT(*) PATTERN SEQ(A a, B b+) GROUP-BY k WITHIN 1 min
q1: RETURN k, SUM(b.x) PATTERN SEQ(A a, B b+) GROUP-BY k WITHIN 1 min
q2: RETURN k, AVG(b.x) PATTERN SEQ(C c, B b+) GROUP-BY k WITHIN 1 min
q3: RETURN k, MIN(b.x) PATTERN SEQ(C c, B b+) GROUP-BY k WITHIN 1 min
q4: RETURN k, MAX(b.y) PATTERN SEQ(A a, B b+) GROUP-BY k WITHIN 1 min
q5: RETURN k, COUNT(*) PATTERN SEQ(A a, NOT C c, B b+) GROUP-BY k WITHIN 1 min
q6: RETURN k, COUNT(b) PATTERN SEQ(A a+, B b+) GROUP-BY k WITHIN 1 min
q7: RETURN k, SUM(b.y) PATTERN SEQ(C c, B b+) WHERE b.x > 50 GROUP-BY k WITHIN 1 min
q8: RETURN k, COUNT(*) PATTERN B b+ WHERE b.x < 10 GROUP-BY k WITHIN 1 min
q9: RETURN k, COUNT(*), SUM(b.x) PATTERN SEQ(A a, B b+, C c) GROUP-BY k WITHIN 1 min
"""
MINUTE = 60_000_000
STARTING = 60
"""Seconds in which a stream starts, compiles, and catches up: they are not measured."""
ENDING = 20
"""Seconds after the last event in which what is final is published."""
EVERY = 5.0
"""Seconds between two looks at the processes."""
CHECKED = 3
"""Windows whose rows are those of `run`."""
DELAY, COST, GROWTH = 10.0, 2.0, 0.1


@dataclass(slots=True)
class Watched:
    """Mutable: what a process and its descendants used, by seconds of the clock: processor seconds and bytes."""

    seconds: list[float] = field(default_factory=list)
    used: list[int] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)

    def look(self, process: int) -> None:
        command = ["ps", "-eo", "pid=,ppid=,cputimes=,rss="]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        rows = [tuple(map(int, line.split())) for line in told.splitlines()]
        family, grown = {process}, 0
        while len(family) > grown:
            grown = len(family)
            family |= {pid for pid, parent, _, _ in rows if parent in family}
        self.seconds.append(time.time())
        self.used.append(sum(used for pid, _, used, _ in rows if pid in family))
        self.resident.append(1024 * sum(kept for pid, _, _, kept in rows if pid in family))

    def after(self, moment: float) -> tuple[float, np.ndarray, np.ndarray]:
        """Processor seconds from a moment on, and the memory since, with its seconds."""
        late = np.array(self.seconds) >= moment
        used = np.array(self.used)[late]
        return float(used[-1] - used[0]), np.array(self.seconds)[late], np.array(self.resident)[late]


@dataclass(frozen=True, slots=True)
class Sent:
    """What was sent: the time of the first event in microseconds, events, seconds of the clock at the end."""

    first: int
    events: int
    behind: float
    rate: int

    @property
    def measured_from(self) -> float:
        return self.first / 1e6 + STARTING

    @property
    def minutes(self) -> list[tuple[int, int]]:
        """Whole windows that ended in what is measured, in microseconds."""
        end = self.first + self.events * (1_000_000 // self.rate)
        bounds = range(-(-(self.first + STARTING * 1_000_000) // MINUTE) * MINUTE, end, MINUTE)
        return list(pairwise(bounds))


def measure(scale: Scale, _: Subject) -> Finding:
    """One after the other over a topic of its own, each with the broker and the sender beside it; every count is checked."""
    from tests.spark.kafka_broker import Broker

    rate, seconds, shorter = scale.of((100_000, 600, 180), (2_000, 130, 130))
    with tempfile.TemporaryDirectory(prefix="hamlet-bench-") as place:
        folder = Path(place)
        broker = Broker(folder / "broker")
        broker.start()
        try:
            sent, watched = streamed(broker, "ours", our_stream(broker, folder), rate, seconds)
            delays, batches = delays_of(folder / "warehouse", sent), batches_of(folder / "warehouse")
            check_ours(folder / "warehouse", sent)
            base, base_watched = streamed(broker, "base", _base(broker, folder), rate, shorter)
            _check_base(folder / "counts", base)
        finally:
            broker.kill()
    cost, resident = _cost(sent, watched), watched.after(sent.measured_from)
    base_cost = _cost(base, base_watched)
    claims = (
        Claim("delay from the end of a window to its rows, 95th percentile", _percentile(delays, 95), at_most=DELAY, unit="s"),
        Claim("delay, median", _percentile(delays, 50), unit="s"),
        Claim("late events", batches["late events"], at_most=0, unit="events"),
        Claim("cost of an event / that of Spark's counting", cost / base_cost, at_most=COST),
        Claim("cost of an event", cost, unit="us of a processor"),
        Claim("cost of an event, Spark's counting", base_cost, unit="us of a processor"),
        Claim("growth of memory / memory", growth_of(*resident[1:]), at_most=GROWTH),
        Claim("memory, mean", float(resident[2].mean()) / 1e6, unit="MB"),
        Claim("micro-batches", batches["batches"], unit=""),
        Claim("micro-batch, median", batches["seconds"], unit="s"),
        Claim("sender behind at most", max(sent.behind, base.behind), unit="s"),
    )  # fmt: skip
    if scale.quick:  # times mean nothing
        claims = tuple(Claim(one.name, one.value, unit=one.unit) for one in claims)
    return Finding(
        "q",
        f"A topic with {rate:,} events a second for {seconds} s, 10 queries, windows of a minute, 1,000 keys",
        claims=claims,
    )


def our_stream(broker, folder: Path) -> list[str]:
    """The command of a stream over the topic `ours` into folder/warehouse."""
    text = folder / "ten.hamlet"
    text.write_text(TEXT, "utf-8")
    command = [sys.executable, "-m", "pipelines.cli", "stream", str(text)]
    command += ["--source", f"kafka://{broker.servers}/ours", "--warehouse", str(folder / "warehouse")]
    return [*command, "--time-unit", "us", "--lateness", "500 ms", "--trigger", "1 s"]


def _base(broker, folder: Path) -> list[str]:
    return [sys.executable, "-m", "tests.benchmarks.topic_baseline", broker.servers, "base", str(folder)]


def streamed(broker, topic: str, command: list[str], rate: int, seconds: int) -> tuple[Sent, Watched]:
    """Run a stream while its topic is filled."""
    broker.create(topic, PARTITIONS)
    time.sleep(2)
    say(f"q: {topic}, {STARTING + seconds} s")
    arguments = [broker.servers, topic, str(rate), str(STARTING + seconds)]
    with all_cores(), _running(command) as process, _looking(process) as watched:
        sender = subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.topic_sender", *arguments],
            cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        ended = len(watched.seconds)
        time.sleep(ENDING)
    for told in (watched.seconds, watched.used, watched.resident):
        del told[ended:]
    first, number, behind = sender.stdout.split()
    return Sent(int(first), int(number), float(behind), rate), watched


@contextmanager
def _running(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said) as process,
    ):
        try:
            yield process
            if process.poll() is not None:
                said.seek(0)
                raise RuntimeError(said.read()[-4000:].decode())
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(120)


@contextmanager
def _looking(process: subprocess.Popen[bytes]) -> Iterator[Watched]:
    watched, ended = Watched(), threading.Event()

    def look() -> None:
        while not ended.wait(EVERY):
            watched.look(process.pid)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        yield watched
    finally:
        ended.set()
        looking.join()


def _cost(sent: Sent, watched: Watched) -> float:
    """Microseconds of a processor for an event."""
    used, seconds, _ = watched.after(sent.measured_from)
    return used / (sent.rate * (seconds[-1] - seconds[0])) * 1e6


def growth_of(seconds: np.ndarray, resident: np.ndarray) -> float:
    """By how much of its mean the memory grows in what is measured, on the straight line through its second half."""
    half = len(seconds) // 2
    slope = np.polyfit(seconds[half:], resident[half:], 1)[0]
    return float(slope * (seconds[-1] - seconds[0]) / resident[half:].mean())


def delays_of(folder: Path, sent: Sent) -> list[float]:
    """Of each window, seconds from its end to the commit of its rows."""
    warehouse = Warehouse(folder)
    committed = {}
    for commit in deltalake.DeltaTable(warehouse.path_of("trend_aggregates")).history():
        told = json.loads(commit.get("userMetadata") or "{}")
        committed.setdefault(told.get("run_id"), commit["timestamp"] / 1e3)
    rows = warehouse.rows("trend_aggregates", ["run_id", "window_end"])
    found = {
        row["window_end"].timestamp(): row["run_id"]
        for row in rows.group_by(rows.column_names).aggregate([]).to_pylist()
    }
    wanted = [end / 1e6 for _, end in sent.minutes]
    if missing := [end for end in wanted if end not in found]:
        raise WrongAnswer(f"{len(missing)} of {len(wanted)} windows have no rows")
    return [committed[found[end]] - end for end in wanted]


def batches_of(folder: Path) -> dict[str, float]:
    """How many micro-batches there were, their median in seconds, and the events that came too late for them."""
    metrics = [row for row in Warehouse(folder).rows("run_metrics").to_pylist() if row["step"] == "stream"]
    seconds = [row["value"] for row in metrics if row["metric"] == "seconds"]
    late = sum(row["value"] for row in metrics if row["metric"] == "late events")
    return {"batches": len(seconds), "seconds": float(np.median(seconds)), "late events": late}


def check_ours(folder: Path, sent: Sent) -> None:
    """Every event is there once; the rows of some windows, spread over all, are those of `run`."""
    warehouse = Warehouse(folder)
    if warehouse.count("events") != sent.events:
        raise WrongAnswer(f"{warehouse.count('events'):,} events in the table, and {sent.events:,} were sent")
    published = warehouse.rows("trend_aggregates")
    times = {name: published.column(name).cast(pa.int64()) for name in ("window_start", "window_end")}
    for name, column in times.items():
        published = published.set_column(published.schema.get_field_index(name), name, column)
    minutes = sent.minutes
    for number in sorted({0, len(minutes) // 2, len(minutes) - 1})[:CHECKED]:
        begin, end = minutes[number]
        expected = run(TEXT, events(sent.first, sent.rate, begin, end), schema=EventSchema(time_unit="us"))
        mine = published.filter(pc.equal(published.column("window_end"), end))
        require_same_rows("stream", mine.select(expected.column_names).cast(expected.schema), expected)


def _check_base(folder: Path, sent: Sent) -> None:
    """Its counts are those of the events."""
    rows = deltalake.DeltaTable(str(folder)).to_pyarrow_table()
    for begin, end in sent.minutes[:CHECKED]:
        of_window = pc.equal(
            pc.struct_field(rows["window"], "end").cast(pa.timestamp("us", "UTC")).cast(pa.int64()), end
        )
        found = rows.filter(of_window).select(["k", "count"]).sort_by("k")
        wanted = (
            events(sent.first, sent.rate, begin, end).group_by("k").aggregate([("k", "count")]).sort_by("k")
        )
        if found.to_pydict() != {"k": wanted["k"].to_pylist(), "count": wanted["k_count"].to_pylist()}:
            raise WrongAnswer(
                f"Spark's counts of the window to {end}: {found.num_rows} rows, not {wanted.num_rows}"
            )


def _percentile(values: list[float], percent: int) -> float:
    return float(np.percentile(values, percent))
