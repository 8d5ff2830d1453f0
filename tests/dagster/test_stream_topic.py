"""A folder of workloads whose events are in a Kafka topic: its sensor, its stream, its watch, and the batch job over the same."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from pipelines.definitions import definitions
from pipelines.main_job import run_stream, run_workload
from resources.warehouse import Warehouse
from tests.dagster.folder_cases import DAILY, JAMS, KEYS, day_of_events, make_folder
from tests.dagster.test_automation import look
from tests.dagster.test_partitions import expected, published
from tests.dagster.test_stream_asset import LATENESS, STREAM, numbers, watched
from tests.spark.kafka_broker import Broker

pytestmark = pytest.mark.slow

PARTITIONS = 3


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    one = Broker(tmp_path / "broker")
    one.start()
    one.create("rides", PARTITIONS)
    yield one
    one.kill()


def send(broker: Broker, day: int) -> None:
    draw = Random(day)
    rows = day_of_events(day).to_pylist()
    broker.send(
        "rides", [(draw.randrange(PARTITIONS), json.dumps(row, default=str).encode()) for row in rows]
    )


def test_a_topic_is_the_inbox_of_a_folder(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, STREAM), "plain": (JAMS, DAILY)}, days=0)
    place = f"kafka://{broker.servers}/rides"
    (folder / "pipeline.yaml").write_text(f"events: {place}\ntime: at\ntype: kind\nwait_seconds: 0\n")
    with dg.DagsterInstance.ephemeral() as instance:
        assert not look(definitions(folder=folder), "new_files", None, instance).run_requests
        assert "no file has come in yet" in watched(folder, None, instance)[1].description
        for day in (0, 1):
            send(broker, day)
        asked = look(definitions(folder=folder), "new_files", None, instance)
        assert len(asked.run_requests) == 1
        first = run_stream(folder, "jams", instance)
        assert first.success
        assert numbers(first)["events read"] == 240
        cursor, check, _ = watched(folder, None, instance)
        assert check.passed
        for day in (2, 3):
            send(broker, day)
        again = look(definitions(folder=folder), "new_files", asked.cursor, instance)
        assert "an ingest" in (again.skip_message or "") or again.run_requests
        second = run_stream(folder, "jams", instance)
        assert numbers(second)["events read"] == 240
        assert numbers(second)["late events"] == 0
        assert watched(folder, cursor, instance)[1] is None or check.passed
        assert Warehouse(folder / "warehouse").count("events") == 480

        latest = max(day_of_events(3)["at"].to_pylist())
        final = [row for row in expected(4) if row["window_end"] <= latest - LATENESS]  # type: ignore[operator]
        assert published(folder) == final != []
        assert numbers(second)["watermark, seconds from 1970"] == (latest - timedelta(hours=1)).timestamp()
        assert run_workload(folder, "plain", (KEYS[0], KEYS[3]), instance).success
        assert Warehouse(folder / "warehouse").count("events") == 480
