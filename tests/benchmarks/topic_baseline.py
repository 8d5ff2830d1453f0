"""Spark's own stream over the same topic: SERVERS TOPIC FOLDER; counts events per key and window into a Delta table.

It is what anybody would write first, and runs until it is told to end.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, from_json, timestamp_micros, window

from resources.jars import find_jars, jar_places
from resources.spark import DELTA_CATALOG, DELTA_EXTENSION, LOOPBACK
from tests.spark.kafka_broker import connector_jars

FIELDS = "time LONG, type STRING, k LONG, x LONG, y DOUBLE"


def _is_new(jar: Path) -> bool:
    """What else the connector names Spark has."""
    return "kafka" in jar.name or "commons-pool2" in jar.name


def main(servers: str, topic: str, folder: str) -> int:
    """Start the stream, say so, and wait for the end."""
    jars = [str(path) for path in find_jars(jar_places()) if path]
    jars += [str(path) for path in sorted(connector_jars().glob("*.jar")) if _is_new(path)]
    os.environ["SPARK_LOCAL_IP"] = LOOPBACK
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.extraClassPath", os.pathsep.join(jars))
        .config("spark.sql.extensions", DELTA_EXTENSION)
        .config("spark.sql.catalog.spark_catalog", DELTA_CATALOG)
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", LOOPBACK)
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    source = spark.readStream.format("kafka").option("subscribe", topic)
    source = source.option("kafka.bootstrap.servers", servers).option("startingOffsets", "earliest")
    events = source.load().select(from_json(col("value").cast("string"), FIELDS).alias("event"))
    timed = events.select("event.*").withColumn("event_time", timestamp_micros("time"))
    counted = (
        timed.withWatermark("event_time", "500 milliseconds")
        .groupBy(window("event_time", "1 minute"), "k")
        .count()
    )
    query = (
        counted.writeStream.format("delta")
        .outputMode("append")
        .option("checkpointLocation", str(Path(folder, "checkpoint")))
        .trigger(processingTime="1 second")
        .start(str(Path(folder, "counts")))
    )

    def end(_: int, __: FrameType | None) -> None:
        query.stop()

    signal.signal(signal.SIGINT, end)
    print("started", flush=True)
    while query.isActive:
        query.awaitTermination(1)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
