"""Tasks that write events hash their rows in Arrow: buckets and checksums are those of Spark."""

from __future__ import annotations

from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lit, to_date, xxhash64

from pipelines.steps.ingestion.contents import checksum, day_sums
from pipelines.steps.layout import Layout
from pipelines.steps.row_hashes import HASHED, row_hashes
from resources.tables import TIMESTAMP
from resources.warehouse import values

ROWS = 600
LENGTHS = (0, 1, 3, 4, 5, 7, 8, 9, 12, 31, 32, 33, 63, 64, 65, 100)


def some_values(kind: pa.DataType, draw: np.random.Generator) -> pa.Array:
    """Values of a type, a tenth of which are NULL."""
    if pa.types.is_string(kind):
        letters = list("abcäöü€😀\0 ")
        found = ["".join(draw.choice(letters, draw.choice(LENGTHS))) for _ in range(ROWS)]
    elif pa.types.is_floating(kind):
        found = draw.choice([0.0, -0.0, float("nan"), 1.5, float("-inf"), 3e300], ROWS).tolist()
    elif pa.types.is_boolean(kind):
        found = (draw.random(ROWS) < 0.5).tolist()
    elif kind == pa.date32():
        found = [date.fromordinal(int(day)) for day in draw.integers(1, 3_000_000, ROWS)]
    elif kind == TIMESTAMP:
        found = draw.integers(-(2**50), 2**50, ROWS).tolist()
    else:
        found = draw.integers(-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1, ROWS).tolist()
    gone = draw.random(ROWS) < 0.1
    return pa.array([None if one else value for one, value in zip(gone, found, strict=True)], kind)


@pytest.mark.parametrize("kind", sorted(HASHED, key=str), ids=str)
def test_a_row_hashes_as_in_spark(spark: SparkSession, kind: pa.DataType) -> None:
    column = some_values(kind, np.random.default_rng(1))
    name = "a näme that is longer than thirty-two bytes"
    frame = values(spark, pa.table({"before": pa.array(range(ROWS)), "value": column}))
    wanted = [row[0] for row in frame.select(xxhash64("before", "value", lit(name))).collect()]
    for first in (0, 7):
        parts = [pa.array(range(ROWS)).slice(first), column.slice(first), name]
        assert row_hashes(parts, ROWS - first).view(np.int64).tolist() == wanted[first:]
    if kind in (pa.int64(), pa.string()):
        layout = Layout(("value",), 7)
        found = layout.buckets_of(pa.record_batch({"value": column}))
        assert found.to_pylist() == [row[0] for row in frame.select(layout.bucket()).collect()]


def test_checksums_of_days_are_those_of_spark_in_parts_or_at_once(spark: SparkSession) -> None:
    draw = np.random.default_rng(2)
    times = pa.array(draw.integers(-86_400_000_000, 2 * 86_400_000_000, ROWS)).cast(TIMESTAMP)
    events = pa.table(
        {
            "event_time": times,
            "event_type": pa.array(draw.choice(list("AB"), ROWS)),
            "k": some_values(pa.string(), draw),
            "v": some_values(pa.float64(), draw),
            "day": times.cast(pa.date32()),
        }
    )
    frame = values(spark, events.drop_columns("day")).withColumn("day", to_date(col("event_time")))
    wanted = {
        row["day"]: row["sum"]
        for row in frame.groupBy("day").agg(checksum(["k", "v"]).alias("sum")).collect()
    }
    first, second = (day_sums(part, ["k", "v"]) for part in (events.slice(0, 250), events.slice(250)))
    together = {day: first[day] + second[day] for day in first}
    assert {day: sums.checksum for day, sums in together.items()} == wanted
    assert sum(sums.rows for sums in together.values()) == ROWS
