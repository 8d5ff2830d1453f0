"""A stream out of a Kafka topic: the rows of a run over everything, whatever is killed; a broker of this machine has the topic."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from pipelines.settings import Source
from pipelines.streaming import advance
from tests.spark.kafka_broker import Broker
from tests.spark.test_streaming import LATENESS, SECONDS, Arriving, arriving, published
from tests.spark.test_streaming_killed import start

pytestmark = pytest.mark.slow

PARTITIONS = 3
KILLS = 12
LONGEST = 8.0
"""Seconds between the first look at the topic and the kill: a micro-batch takes less."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    one = Broker(tmp_path_factory.mktemp("broker"))
    one.start()
    yield one
    one.kill()


class Topic(Arriving):
    """A stream whose parts are messages of a topic; each event goes to a partition by chance."""

    broker: Broker
    name: str

    def bring(self, number: int) -> None:
        draw = Random(number)
        rows = self.parts[number].to_pylist()
        self.broker.send(
            self.name, [(draw.randrange(PARTITIONS), json.dumps(row, default=str).encode()) for row in rows]
        )


def of_topic(broker: Broker, folder: Path, parts: int, name: str) -> Topic:
    plain = arriving(folder, parts)
    broker.create(name, PARTITIONS)
    source = Source(f"kafka://{broker.servers}/{name}", plain.settings.source.options)
    one = Topic(replace(plain.settings, source=source), plain.parts)
    one.broker, one.name = broker, name
    return one


def bare(table: pa.Table) -> list[str]:
    return [json.dumps(row, sort_keys=True, default=str) for row in table.to_pylist()]


def test_a_topic_gives_each_final_window_once_and_each_event_with_its_offset(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    one = of_topic(broker, tmp_path, 4, "plain")
    for number in range(4):
        one.bring(number)
        advance(spark, one.settings, LATENESS)
    assert published(one.warehouse) == one.final() != []
    assert one.warehouse.count("events") == sum(part.num_rows for part in one.parts)
    versions = {name: one.warehouse.version(name) for name in one.warehouse.names()}
    assert advance(spark, one.settings, LATENESS).idle
    assert {name: one.warehouse.version(name) for name in one.warehouse.names()} == versions


def test_what_is_not_committed_is_read_once_it_is_and_what_is_aborted_never(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    one = of_topic(broker, tmp_path, 3, "transactions")
    one.bring(0)
    lines = [json.dumps(row, default=str).encode() for row in one.parts[1].to_pylist()]
    sender = broker.producer(**{"transactional.id": "t"})
    sender.init_transactions(30)
    sender.begin_transaction()
    for line in lines:
        sender.produce(one.name, line, partition=0)
    sender.flush(30)
    sender.abort_transaction(30)
    sender.begin_transaction()
    for line in lines:
        sender.produce(one.name, line, partition=0)
    sender.flush(30)
    advance(spark, one.settings, LATENESS)
    assert one.warehouse.count("events") == one.parts[0].num_rows
    sender.commit_transaction(30)
    advance(spark, one.settings, LATENESS)
    assert one.warehouse.count("events") == one.parts[0].num_rows + one.parts[1].num_rows
    one.bring(2)
    advance(spark, one.settings, LATENESS)
    assert published(one.warehouse) == one.final() != []


def test_a_stream_outlives_its_broker(broker: Broker, tmp_path: Path) -> None:
    one = of_topic(broker, tmp_path, 3, "outlived")
    one.bring(0)
    running = start(one, "--trigger", "0.2 s")
    assert running.stderr is not None
    try:
        heard(running, "micro-batch: ")
        broker.kill()
        heard(running, "cannot be read")
        broker.start()
        for number in (1, 2):
            one.bring(number)
        until = time.monotonic() + SECONDS
        while one.warehouse.count("events") < 300 or published(one.warehouse) != one.final():
            assert time.monotonic() < until
            time.sleep(1)
        assert published(one.warehouse) == one.final() != []
    finally:
        os.killpg(running.pid, signal.SIGTERM)
        _, said = running.communicate(timeout=SECONDS)
    assert running.returncode == 143, said
    assert one.warehouse.count("events") == sum(part.num_rows for part in one.parts)


def heard(running: subprocess.Popen[str], what: str) -> None:
    """Read what it says, until it says that."""
    assert running.stderr is not None
    said = []
    for line in running.stderr:
        said.append(line)
        if what in line:
            return
    raise AssertionError("".join(said))


@pytest.mark.parametrize("seed", range(3))
def test_stream_and_broker_killed_at_random_moments_give_each_window_once(
    broker: Broker, tmp_path: Path, seed: int
) -> None:
    draw, one = Random(seed), of_topic(broker, tmp_path, KILLS, f"killed{seed}")
    for number in range(KILLS):
        one.bring(number)
        running = start(one, "--trigger", "0.2 s")
        heard(running, "looking for files")
        time.sleep(draw.uniform(0, LONGEST))
        if draw.random() < 0.5:
            broker.kill()
            time.sleep(draw.uniform(0, 2))
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate(timeout=SECONDS)
        if broker.process is None:
            broker.start()
    last = start(one, "--once")
    told, said = last.communicate(timeout=SECONDS)
    assert last.returncode == 0, said
    assert "published: windows up to" in told, said
    assert one.warehouse.count("events") == sum(part.num_rows for part in one.parts)
    assert published(one.warehouse) == one.final() != []
