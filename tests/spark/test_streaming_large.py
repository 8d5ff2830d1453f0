"""Two million events through a topic, while the stream, Spark's workers and the broker are killed: each event and window once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hamlet_core import EventSchema, run
from resources.warehouse import Warehouse
from tests.conftest import ROOT
from tests.spark.kafka_broker import Broker
from tests.spark.test_streaming_killed import workers

pytestmark = pytest.mark.slow

EVENTS, SECONDS = 2_000_000, 14_400
DISORDER, LATENESS = 20, 600
"""Seconds; partitions are as far from one another as what is sent at once, which is read while it comes."""
PARTITIONS = 4
KILLS = 30
LONGEST = 8.0
"""Seconds between the first look at the topic and the kill: about a micro-batch."""
ENDING = 600.0
"""Seconds in which a stream ends that reads what is left."""
TEXT = """\
sums: RETURN k, COUNT(*), SUM(b.x) PATTERN SEQ(A a, B b+) GROUP-BY k WITHIN 1 min
without: RETURN k, COUNT(*) PATTERN SEQ(A a, NOT C c, B b+) GROUP-BY k WITHIN 2 min SLIDE 1 min
rising: RETURN k, COUNT(*), COUNT(PARTITIONS) PATTERN B b+ SEMANTICS next WHERE b.x < NEXT(b).x GROUP-BY k WITHIN 5 min
"""
ROW = ("query", "window_start", "window_end", "group_key", "aggregate", "exact")


def events(seed: int) -> pa.Table:
    """In the order in which they are sent, which is that of time but for some disorder; the last one is the last."""
    draw = np.random.default_rng(seed)
    times = np.sort(draw.integers(0, SECONDS, EVENTS))
    sent = np.argsort(times + draw.uniform(0, DISORDER, EVENTS), kind="stable")
    sent = np.append(sent[sent != EVENTS - 1], EVENTS - 1)
    return pa.table(
        {
            "time": times[sent],
            "type": draw.choice(list("ABBC"), EVENTS),
            "k": draw.integers(0, 100, EVENTS),
            "x": draw.integers(0, 50, EVENTS),
            "number": np.arange(EVENTS),
        }
    )


def send(broker: Broker, topic: str, part: pa.Table) -> None:
    values = [
        b'{"time":%d,"type":"%s","k":%d,"x":%d,"number":%d}' % (time, kind.encode(), k, x, number)
        for time, kind, k, x, number in zip(*(one.to_pylist() for one in part.columns), strict=True)
    ]
    broker.send(topic, [(number % PARTITIONS, value) for number, value in enumerate(values)])


class Streaming:
    """Mutable: `hamlet stream` over a topic, started and killed again and again."""

    def __init__(self, folder: Path, servers: str, topic: str) -> None:
        self.warehouse, self.log = folder / "warehouse", folder / "stream.log"
        text = folder / "large.hamlet"
        text.write_text(TEXT)
        self.command = [sys.executable, "-m", "pipelines.cli", "stream", str(text)]
        self.command += ["--source", f"kafka://{servers}/{topic}", "--warehouse", str(self.warehouse)]
        self.command += ["--lateness", f"{LATENESS} s", "--arithmetic", "exact"]
        self.running: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        return self.running is not None and self.running.poll() is None

    def start(self, *options: str) -> None:
        begun = self.log.stat().st_size if self.log.exists() else 0
        self.log.touch()
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                [*self.command, *options],
                cwd=ROOT,
                env={**os.environ, "HAMLET_ENVIRONMENT": "ci"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait(b"looking for files", begun)

    def wait(self, what: bytes, begun: int | None = None) -> None:
        """Until it has said something after so many bytes of its log, from now on if none are said, or has ended."""
        begun = self.log.stat().st_size if begun is None else begun
        until = time.monotonic() + ENDING
        while what not in self.log.read_bytes()[begun:] and self.alive:
            assert time.monotonic() < until
            time.sleep(0.1)

    def kill(self) -> None:
        assert self.running is not None
        os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait()

    def kill_workers(self) -> int:
        """How many there were."""
        assert self.running is not None
        found = workers(self.running.pid)
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(found)


@pytest.mark.parametrize("seed", range(2))
def test_two_million_events_are_each_in_once_whatever_is_killed(tmp_path: Path, seed: int) -> None:
    draw, table = Random(seed), events(seed)
    broker, hit = Broker(tmp_path / "broker"), Counter[str]()
    broker.start()
    broker.create("large", PARTITIONS)
    stream = Streaming(tmp_path, broker.servers, "large")
    cuts = [EVENTS * number // KILLS for number in range(KILLS + 1)]
    try:
        for first, last in pairwise(cuts):
            send(broker, "large", table.slice(first, last - first))
            if not stream.alive:
                stream.start(*(("--once",) if draw.random() < 0.5 else ("--trigger", "0.2 s")))
            if draw.random() < 0.5:  # else it might never come to an end of a micro-batch
                stream.wait(b"micro-batch: ")
            time.sleep(draw.uniform(0, LONGEST))
            victim = draw.choice(("stream", "workers", "broker"))
            if victim == "broker":
                broker.kill()
                time.sleep(draw.uniform(0, 3))
                broker.start()
            elif victim == "workers" and stream.alive:
                victim = victim if stream.kill_workers() else "nobody"
            elif stream.alive:
                victim = "stream"
                stream.kill()
            hit[victim] += 1
        if stream.alive:
            stream.kill()
        stream.start("--once")
        assert stream.running is not None
        assert stream.running.wait(ENDING) == 0, stream.log.read_text()[-3000:]
    finally:
        if stream.alive:
            stream.kill()
        broker.kill()
    assert min(hit[victim] for victim in ("stream", "workers", "broker")) >= 3, hit
    warehouse = Warehouse(stream.warehouse)
    numbers = warehouse.rows("events", ["number"]).column(0)
    assert (len(numbers), pc.count_distinct(numbers).as_py()) == (EVENTS, EVENTS)
    ledger = warehouse.rows("ingested_files", ["rows", "rejected"])
    assert [pc.sum(ledger.column(name)).as_py() for name in ("rows", "rejected")] == [EVENTS, 0]
    expected = run(TEXT, table, schema=EventSchema(time_unit="s"), arithmetic="exact")
    final = pc.less_equal(expected.column("window_end"), int(pc.max(table["time"]).as_py()) - LATENESS)
    assert rows_of(warehouse.rows("trend_aggregates", list(ROW))) == rows_of(expected.filter(final))


def rows_of(found: pa.Table) -> list[tuple[object, ...]]:
    """Sorted, with windows in seconds."""
    columns = [
        (column.cast(pa.int64()).to_numpy() // 1_000_000).tolist()
        if pa.types.is_timestamp(column.type)
        else column.to_pylist()
        for column in (found.column(name) for name in ROW)
    ]
    rows = sorted(zip(*columns, strict=True), key=repr)
    assert len({row[:-1] for row in rows}) == len(rows) > 0
    return rows
