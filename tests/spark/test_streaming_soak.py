"""Half an hour of a stream from a topic: memory, files and delay do not grow, and every window is that of a run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from resources.warehouse import Warehouse
from tests.benchmarks.experiments.topic import (
    check_ours,
    delays_of,
    growth_of,
    our_stream,
    streamed,
)
from tests.spark.kafka_broker import Broker

pytestmark = pytest.mark.slow

RATE, SECONDS = 20_000, 1_800
GROWTH = 0.1
"""Of memory, and of the seconds from a window to its rows: a share of what they are."""
MOST_FILES = 600
"""Live files of events, of 36 million in some thousand micro-batches; without putting them together there are above ten thousand."""


def test_nothing_grows_in_half_an_hour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment that users have, not by that of short tests."""
    monkeypatch.delenv("HAMLET_ENVIRONMENT", raising=False)
    broker = Broker(tmp_path / "broker")
    broker.start()
    try:
        sent, watched = streamed(broker, "ours", our_stream(broker, tmp_path), RATE, SECONDS)
    finally:
        broker.kill()
    check_ours(tmp_path / "warehouse", sent)
    warehouse = Warehouse(tmp_path / "warehouse")
    files = {name: len(warehouse.files(name)) for name in warehouse.names()}
    delays = np.array(delays_of(tmp_path / "warehouse", sent))
    third = len(delays) // 3
    first, last = float(np.median(delays[:third])), float(np.median(delays[-third:]))
    _, seconds, resident = watched.after(sent.measured_from)
    found = {"files": files, "delay": (first, last), "memory": growth_of(seconds, resident)}
    print(found)
    assert files["events"] <= MOST_FILES, found
    assert max(size for name, size in files.items() if name != "events") <= MOST_FILES // 4, found
    assert last <= (1 + GROWTH) * first, found
    assert growth_of(seconds, resident) <= GROWTH, found
