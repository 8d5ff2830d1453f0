"""Sends events to a topic in real time: SERVERS TOPIC RATE SECONDS; prints when the first one happened, in microseconds.

Times are those of the clock; what else an event has, and in which of `PARTITIONS` it goes, its number tells.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa

PARTITIONS = 4
TICK = 0.05
"""Seconds whose events are sent together."""
BODIES = 200_000
"""Events that differ in more than their time."""
KEYS = 1_000
SEED = 1


def bodies() -> pa.Table:
    """Events but for their times, in the order in which they are sent again and again."""
    draw = np.random.default_rng(SEED)
    return pa.table(
        {
            "type": pa.array(draw.choice(list("ABBBC"), BODIES)),
            "k": draw.integers(0, KEYS, BODIES),
            "x": draw.integers(0, 100, BODIES),
            "y": np.round(draw.uniform(0, 1_000, BODIES), 2),
        }
    )


def events(first: int, rate: int, begin: int, end: int) -> pa.Table:
    """The events of a stream that began at `first`, with begin <= time < end, all in microseconds."""
    step = 1_000_000 // rate
    numbers = np.arange(max(0, -(-(begin - first) // step)), -(-(end - first) // step))
    table = bodies().take(pa.array(numbers % BODIES))
    return table.append_column("time", pa.array(first + numbers * step))


def main(servers: str, topic: str, rate: int, seconds: float) -> int:
    """Send them; how many seconds it was behind at most is told, too."""
    from confluent_kafka import Producer

    producer = Producer(
        {
            "bootstrap.servers": servers,
            "linger.ms": 50,
            "batch.size": 1_000_000,
            "compression.type": "lz4",
            "queue.buffering.max.messages": 2_000_000,
            "queue.buffering.max.kbytes": 2_000_000,
        }
    )
    rows = [
        b',"type":"%s","k":%d,"x":%d,"y":%.2f}' % (kind.encode(), k, x, y)
        for kind, k, x, y in zip(*(one.to_pylist() for one in bodies().columns), strict=True)
    ]
    each, step = int(rate * TICK), 1_000_000 // rate
    begun, number, behind = time.time(), 0, 0.0
    first = int(begun * 1_000_000)
    for tick in range(int(seconds / TICK)):
        wait = begun + tick * TICK - time.time()
        behind = max(behind, -wait)
        time.sleep(max(wait, 0.0))
        for _ in range(each):
            value = b'{"time":%d' % (first + number * step) + rows[number % BODIES]
            producer.produce(topic, value, partition=number % PARTITIONS)
            number += 1
        producer.poll(0)
    producer.flush(60)
    print(first, number, round(behind, 3))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
