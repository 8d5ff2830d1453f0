"""Maintenance: many small files become few, and files that nothing needs any more go; no row changes.

Files of `events` stay sorted by key and time, as an ingest writes them: Delta's own OPTIMIZE would only put them one
after the other, so they are rewritten here, partition by partition.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from pipelines.steps.ingestion.ledger import Ledger, remove_killed_ingests
from pipelines.steps.layout import Layout
from resources import tables
from resources.sql import quoted
from resources.warehouse import DataFile, Warehouse, WarehouseError

WEEK = 168.0
SHORTEST = 24.0
"""Hours: what is kept by default, and the least, because readers of a table hold on to the files they began with."""

SMALL = 128 << 20
"""Bytes: two files of a partition below it are worth putting together."""

AT_ONCE = 4 << 30
"""Bytes of `events` rewritten in one commit, about; days are never cut."""


@dataclass(frozen=True, slots=True)
class Maintenance:
    """What is to be done: files of versions older than `retention_hours` go."""

    retention_hours: float = WEEK

    def __post_init__(self) -> None:
        if not self.retention_hours >= SHORTEST:
            raise WarehouseError(
                f"a retention of {self.retention_hours:g} hours is too short: running readers may need the files",
                code="E529",
                hint=f"keep at least {SHORTEST:g} hours; {WEEK:g} is the default",
            )


@dataclass(frozen=True, slots=True)
class Extent:
    """How large a table is: its live files, and all data files in its folder, older versions included."""

    files: int
    bytes: int
    stored_files: int
    stored_bytes: int


@dataclass(frozen=True, slots=True)
class Maintained:
    """One table before and after."""

    table: str
    before: Extent
    after: Extent


def maintain(
    spark: SparkSession, warehouse: Warehouse, options: Maintenance = Maintenance()
) -> tuple[Maintained, ...]:
    """Compact and clean all tables of the warehouse; the caller has it alone.

    Every version of the last `retention_hours` stays readable. Killed ingests are removed first: afterwards their rows
    would share files with others.
    """
    for table in tables.ALL:
        warehouse.migrate(spark, table)
    remove_killed_ingests(spark, warehouse, Ledger.of(warehouse))
    return tuple(_maintain(spark, warehouse, name, options) for name in warehouse.names())


def _maintain(spark: SparkSession, warehouse: Warehouse, table: str, options: Maintenance) -> Maintained:
    before = extent(warehouse, table)
    compact(spark, warehouse, table)
    warehouse.vacuum(spark, table, options.retention_hours)
    return Maintained(table, before, extent(warehouse, table))


def extent(warehouse: Warehouse, table: str) -> Extent:
    """The size of a table now."""
    live = warehouse.files(table)
    folder = warehouse.location.below(table)
    stored = [one for one in folder.files() if one.extension == "parquet" and "/_delta_log/" not in one.path]
    return Extent(
        len(live), sum(file.size for file in live), len(stored), sum(one.size or 0 for one in stored)
    )


def compact(spark: SparkSession, warehouse: Warehouse, table: str) -> None:
    """Put small files of the same partition together; a table without any is not touched."""
    crowded = crowded_partitions(warehouse.files(table))
    if table != "events":
        if crowded:
            warehouse.optimize(spark, table)
        return
    key = Layout.of(warehouse.properties(table)).key
    for where, partitions in _batches(crowded):
        rows = warehouse.read(spark, table).where(where)
        # A task writes one file for each partition that it gets, because partitions stand first in the order.
        placed = rows.repartition(partitions, "day", "bucket").sortWithinPartitions(
            "day", "bucket", *(quoted(name) for name in key), "event_time"
        )
        warehouse.rearrange(placed, table, where)


def crowded_partitions(files: Sequence[DataFile]) -> dict[tuple[tuple[str, str], ...], int]:
    """The partitions with two small files or more, and their bytes, in order."""
    found: dict[tuple[tuple[str, str], ...], list[int]] = defaultdict(list)
    for file in files:
        found[tuple(sorted(file.partition.items()))].append(file.size)
    return {
        partition: sum(sizes)
        for partition, sizes in sorted(found.items())
        if sum(size < SMALL for size in sizes) >= 2
    }


def _batches(crowded: dict[tuple[tuple[str, str], ...], int]) -> Iterator[tuple[str, int]]:
    """Conditions for whole days and their buckets, of `AT_ONCE` bytes each, and how many partitions each has."""
    days: dict[str, list[str]] = defaultdict(list)
    sizes: dict[str, int] = defaultdict(int)
    for partition, size in crowded.items():
        values = dict(partition)
        days[values["day"]].append(values["bucket"])
        sizes[values["day"]] += size
    batch: list[str] = []
    partitions = total = 0
    for day, buckets in sorted(days.items()):
        batch.append(f"(day = DATE'{day}' AND bucket IN ({', '.join(sorted(buckets, key=int))}))")
        partitions, total = partitions + len(buckets), total + sizes[day]
        if total >= AT_ONCE:
            yield " OR ".join(batch), partitions
            batch, partitions, total = [], 0, 0
    if batch:
        yield " OR ".join(batch), partitions
