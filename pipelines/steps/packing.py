"""Work of known sizes in, balanced packs out: one pack is one Spark task."""

from __future__ import annotations

import heapq
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

_TASKS_OF_CORE = 4
"""Where items of one size may take different times."""
_MADE = pa.schema([("number", pa.int64()), ("made", pa.binary())])


def pack(sizes: Sequence[int], parts: int) -> tuple[tuple[int, ...], ...]:
    """Indices of `sizes` in at most `parts` packs, none empty, the largest as small as a greedy choice gets it.

    >>> pack([5, 9, 4, 1], 2)
    ((0, 2), (1, 3))
    """
    packs: list[list[int]] = [[] for _ in range(min(parts, len(sizes)))]
    lightest = [(0, number) for number in range(len(packs))]
    for index in sorted(range(len(sizes)), key=lambda index: (-sizes[index], index)):
        weight, number = lightest[0]
        packs[number].append(index)
        heapq.heapreplace(lightest, (weight + max(sizes[index], 1), number))
    return tuple(tuple(sorted(members)) for members in sorted(packs, key=lambda members: members[0]))


def pack_in_order(sizes: Sequence[int], parts: int) -> tuple[tuple[int, ...], ...]:
    """Indices of `sizes` in at most `parts` packs of neighbours, none empty, of about the same size.

    >>> pack_in_order([5, 9, 4, 1], 2), pack_in_order([1, 1, 1, 9], 2)
    (((0,), (1, 2, 3)), ((0, 1, 2), (3,)))
    """
    packs: dict[int, list[int]] = {}
    before, total = 0, sum(max(size, 1) for size in sizes)
    for index, size in enumerate(sizes):
        middle = 2 * before + max(size, 1)  # twice as far, to stay with integers
        packs.setdefault(middle * parts // (2 * total), []).append(index)
        before += max(size, 1)
    return tuple(map(tuple, packs.values()))


def run_tasks(
    spark: SparkSession,
    tasks: Sequence[Any],
    work: Callable[[Any], Iterator[pa.RecordBatch]],
    schema: StructType,
) -> DataFrame:
    """One Spark task for each of `tasks`, which are plain values that pickle; the rows `work` yields, lazily.

    No row passes the driver: a task gets its own value, not data.
    """
    return numbered(spark, len(tasks)).mapInArrow(worked(spark, tasks, work), schema)


def each_in_tasks(
    spark: SparkSession, work: Callable[[Any], Any], items: Sequence[Any], sizes: Sequence[int]
) -> list[Any]:
    """What `work` makes of each of the items, in their order; tasks share them by their sizes. All of it pickles."""

    def made(members: Sequence[tuple[int, Any]]) -> Iterator[pa.RecordBatch]:
        for number, item in members:
            yield pa.record_batch([pa.array([number]), pa.array([pickle.dumps(work(item))])], schema=_MADE)

    packs = pack(sizes, _TASKS_OF_CORE * spark.sparkContext.defaultParallelism)
    tasks = [tuple((number, items[number]) for number in members) for members in packs]
    told = run_tasks(spark, tasks, made, from_arrow_schema(_MADE)).toArrow().sort_by("number")
    return [pickle.loads(one) for one in told.column("made").to_pylist()]  # noqa: S301 - of our own tasks


def numbered(spark: SparkSession, tasks: int) -> DataFrame:
    """A row for each task, in a part of its own."""
    return spark.range(0, tasks, 1, max(tasks, 1))


def worked(
    spark: SparkSession, tasks: Sequence[Any], work: Callable[[Any], Iterator[pa.RecordBatch]]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a Spark task does with its rows of `numbered`: the work of the tasks of these numbers."""
    shipped = spark.sparkContext.broadcast(tuple(tasks))

    def body(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from work(shipped.value[number])

    return body
