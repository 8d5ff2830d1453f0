"""Ingest: files of a user -> Delta `events`, `events_quarantine` and, last of all, the ledger.

Re-running ingests nothing twice. A killed ingest leaves rows without a ledger entry, which the next one removes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, lit, to_date

from pipelines.reading import SourceFile, decide, discover, ignored
from pipelines.settings import Source
from pipelines.steps.contents import DayContent, checksum
from pipelines.steps.drift import columns_for_table
from pipelines.steps.layout import Layout, refuse_impossible_names, source_properties
from pipelines.steps.ledger import INGEST, Ledger, Skipped, milliseconds, remove_killed_ingests
from pipelines.steps.parsing import REJECTED, gather_evidence, parse_files
from pipelines.steps.progress import watched
from resources import tables
from resources.sql import quoted
from resources.warehouse import Warehouse, WarehouseError


@dataclass(frozen=True, slots=True)
class IngestedFile:
    """A file that went in: rows that became events (also by day, as the ledger keeps them), rows in quarantine."""

    name: str
    rows: int
    rejected: int
    days: tuple[DayContent, ...] = ()


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one ingest did."""

    files: tuple[IngestedFile, ...]
    skipped: tuple[Skipped, ...]
    ignored: tuple[str, ...]
    killed_ingests: int

    @property
    def rows(self) -> int:
        """Rows that became events."""
        return sum(file.rows for file in self.files)

    @property
    def rejected(self) -> int:
        """Rows in quarantine."""
        return sum(file.rejected for file in self.files)


@dataclass(frozen=True, slots=True)
class Needs:
    """What the workload wants of the table: columns that must be numbers, partition attributes per query."""

    numeric: frozenset[str]
    partitions: tuple[frozenset[str], ...]


def ingest(spark: SparkSession, warehouse: Warehouse, source: Source, needs: Needs) -> IngestReport:
    """Bring every file that is not in yet into the warehouse.

    Raises StreamError (no such path or column) and WarehouseError (changed file, impossible or retyped column) before
    anything is written, and WarehouseError if there is still no table of events afterwards.
    """
    ledger = Ledger.of(warehouse)
    files = discover(source.path, ledger.known)
    for table in tables.ALL:
        warehouse.migrate(spark, table)
    killed = remove_killed_ingests(spark, warehouse, ledger)
    fresh, skipped = ledger.sift(files)
    _refuse_other_options(warehouse, source)
    with watched(spark, "ingest"):
        done = _ingest_files(spark, warehouse, source, needs, fresh, ledger) if fresh else ()
    if not warehouse.exists("events"):
        raise no_events(warehouse)
    return IngestReport(done, skipped, ignored(source.path), killed)


def no_events(warehouse: Warehouse) -> WarehouseError:
    """The error for a warehouse without a table of events."""
    return WarehouseError(
        f"no events in the warehouse {warehouse.root}: no file had a readable row",
        code="E523",
        hint="see the table events_quarantine for what was wrong with the files",
    )


def _ingest_files(
    spark: SparkSession,
    warehouse: Warehouse,
    source: Source,
    needs: Needs,
    files: Sequence[SourceFile],
    ledger: Ledger,
) -> tuple[IngestedFile, ...]:
    found = gather_evidence(spark, files, source.options, needs.numeric)
    columns = decide(found, source.options, needs.numeric)
    refuse_impossible_names(columns)
    if warehouse.exists("events"):
        columns = columns_for_table(columns, found, warehouse.schema("events"))
    now = ledger.next_ingest(datetime.now(UTC))
    parsed = parse_files(spark, files, columns, source.options).persist(StorageLevel.DISK_ONLY)
    try:
        done = _counted(parsed, files, columns.names)
        if columns.names:
            _write_events(warehouse, parsed, columns, source, needs, sum(file.rows for file in done), now)
        if any(file.rejected for file in done):
            _write_quarantine(warehouse, parsed, now)
    finally:
        parsed.unpersist()
    _write_ledger(spark, warehouse, files, done, now)
    return done


def _counted(
    parsed: DataFrame, files: Sequence[SourceFile], names: Sequence[str]
) -> tuple[IngestedFile, ...]:
    """Good rows of each file by day, and rejected ones; this is the pass that reads the files."""
    keys = (
        col("source_file"),
        col(quoted(REJECTED)).isNotNull().alias("bad"),
        to_date("event_time").alias("day"),
    )
    counts = parsed.groupBy(*keys).agg(count("*").alias("rows"), checksum(names).alias("checksum"))
    days: dict[str, list[DayContent]] = defaultdict(list)
    rejected: Counter[str] = Counter()
    for row in counts.toArrow().to_pylist():
        if row["bad"]:
            rejected[row["source_file"]] += row["rows"]
        else:
            days[row["source_file"]].append(DayContent(row["day"], row["rows"], row["checksum"]))
    return tuple(
        IngestedFile(
            file.name,
            sum(one.rows for one in days[file.name]),
            rejected[file.name],
            tuple(sorted(days[file.name], key=lambda one: one.day)),
        )
        for file in files
    )


def _write_events(
    warehouse: Warehouse,
    parsed: DataFrame,
    columns: pa.Schema,
    source: Source,
    needs: Needs,
    rows: int,
    now: datetime,
) -> None:
    """Good rows, clustered so that a task can read its buckets alone: by bucket, day, key and time."""
    spark = parsed.sparkSession
    layout = _layout(spark, warehouse, columns, needs, rows)
    described = tuple(tables.Column(field.name, field.type, "as in the source") for field in columns)
    table = tables.events_table(described, layout.properties() + source_properties(source.options))
    good = parsed.where(col(quoted(REJECTED)).isNull()).drop(REJECTED)
    placed = (
        good.withColumn("ingested_at", lit(now))
        .withColumn("day", to_date("event_time"))
        .withColumn("bucket", layout.bucket())
        .repartitionById(layout.buckets, "bucket")
        .sortWithinPartitions("day", "bucket", *(quoted(name) for name in layout.key), "event_time")
    )
    warehouse.append(placed, table, once=(INGEST, milliseconds(now)))


def _layout(spark: SparkSession, warehouse: Warehouse, columns: pa.Schema, needs: Needs, rows: int) -> Layout:
    if warehouse.exists("events"):
        return Layout.of(warehouse.properties("events"))
    cores = spark.sparkContext.defaultParallelism
    return Layout.choose(needs.partitions, columns.names, rows, cores)


def _write_quarantine(warehouse: Warehouse, parsed: DataFrame, now: datetime) -> None:
    rejected = parsed.where(col(quoted(REJECTED)).isNotNull())
    rows = rejected.select("source_file", f"{quoted(REJECTED)}.*", lit(now).alias("ingested_at"))
    warehouse.append(rows.coalesce(1), tables.QUARANTINE, once=(INGEST, milliseconds(now)))


def _write_ledger(
    spark: SparkSession,
    warehouse: Warehouse,
    files: Sequence[SourceFile],
    done: Sequence[IngestedFile],
    now: datetime,
) -> None:
    rows: list[dict[str, object]] = [
        {
            "source_file": file.name,
            "path": file.path,
            "fingerprint": file.fingerprint,
            "rows": counted.rows,
            "rejected": counted.rejected,
            "ingested_at": now,
            "days": [asdict(one) for one in counted.days],
            "size": file.size,
            "modified": file.modified,
        }
        for file, counted in zip(files, done, strict=True)
    ]
    warehouse.append_rows(spark, rows, tables.LEDGER)


def _refuse_other_options(warehouse: Warehouse, source: Source) -> None:
    if not warehouse.exists("events"):
        return
    ((name, wanted),) = source_properties(source.options)
    stored = warehouse.properties("events").get(name)
    if stored != wanted:
        raise WarehouseError(
            f"the events of this warehouse were read with {stored}, not with {wanted}",
            code="E524",
            hint="use the same --time, --type, --type-value and --time-unit, or another --warehouse",
        )
