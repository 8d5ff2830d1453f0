"""Ingest: files of a user -> Delta `events`, `events_quarantine` and, last of all, the ledger.

Re-running ingests nothing twice. A killed ingest leaves rows without a ledger entry, which the next one removes. A file
that has grown at its end is read again as a whole: its new rows go in, then its ledger entry changes, then its old rows
go; the entry says so until they are gone.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, col, count, lit, to_date

from hamlet_core import EventSchema, Workload, check_columns
from pipelines.reading import SourceFile, changed_since, decide, discover, ignored
from pipelines.settings import Source
from pipelines.steps.ingestion.contents import DayContent, checksum
from pipelines.steps.ingestion.drift import columns_for_table
from pipelines.steps.ingestion.ledger import (
    INGEST,
    SETTLED,
    Ledger,
    Replaced,
    Seen,
    Sifted,
    Skipped,
    at_paths,
    finish_replacements,
    milliseconds,
    remove_killed_ingests,
)
from pipelines.steps.ingestion.parsing import REJECTED, gather_evidence, parse_files, read_here
from pipelines.steps.layout import Layout, refuse_impossible_names, source_properties
from pipelines.steps.progress import watched
from resources import tables
from resources.sql import quoted
from resources.warehouse import Warehouse, WarehouseError

LOOK_AGAIN = 1.0
"""Seconds after which a file that was changed less than `SETTLED` ago is looked at again: one that has not changed in
between is whole, as far as anybody can see.
"""


RESTORE = "put new rows into a new file and restore this one, or ingest everything into a new warehouse"
STILL_WRITTEN = "still being written: left to the next run"
CHANGED = (
    f"changed since it was ingested, and not by rows at its end: what was ingested of it stays; {RESTORE}"
)
"""Why a file waits, and what to do."""


@dataclass(frozen=True, slots=True)
class IngestedFile:
    """A file that went in: rows that became events (also by day, as the ledger keeps them), rows in quarantine.

    `again`: it was in, and has been read once more because it had grown.
    """

    name: str
    rows: int
    rejected: int
    days: tuple[DayContent, ...] = ()
    again: bool = False


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one ingest did."""

    files: tuple[IngestedFile, ...]
    skipped: tuple[Skipped, ...]
    ignored: tuple[str, ...]
    killed_ingests: int
    waiting: tuple[Skipped, ...] = ()
    """Files that were left as they are, and why; what was ingested of them before is in."""

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
    """What workloads want of the table: columns that must be numbers, partition attributes per query.

    `readers` must be able to use its columns, or nothing goes in.
    """

    numeric: frozenset[str]
    partitions: tuple[frozenset[str], ...]
    readers: tuple[tuple[Workload, EventSchema], ...] = ()

    def refuse(self, events: pa.Schema) -> None:
        """Raise what a reader would raise over a table with these columns: StreamError or QueryMeaningError."""
        for workload, schema in self.readers:
            check_columns(workload, events, schema)


def ingest(spark: SparkSession, warehouse: Warehouse, source: Source, needs: Needs) -> IngestReport:
    """Bring every file that is not in yet into the warehouse, and every one that has grown since.

    A file that is being written, or has changed in another way, waits. Raises StreamError (no such path or column),
    QueryMeaningError (a column that its reader cannot use) and WarehouseError (all files wait, impossible or retyped
    column) before anything is written, and WarehouseError if there is still no table of events afterwards.
    """
    for table in tables.ALL:
        warehouse.stored(table)
    ledger = Ledger.of(warehouse)
    files = discover(source.path, ledger.known)
    for table in tables.ALL:
        warehouse.migrate(spark, table)
    killed = remove_killed_ingests(spark, warehouse, ledger)
    moving = _being_written(source, ledger.unread(files))
    sifted = ledger.sift([file for file in files if file not in moving])
    if len(moving) + len(sifted.changed) == len(files):
        raise _all_wait(moving, sifted.changed)
    _refuse_other_options(warehouse, source)
    with watched(spark, "ingest"):
        done, moved = _ingest_files(spark, warehouse, source, needs, sifted, ledger)
    moving = (*moving, *moved)
    if len(moving) + len(sifted.changed) == len(files):
        raise _all_wait(moving, sifted.changed)
    if not warehouse.exists("events"):
        raise no_events(warehouse)
    waiting = [Skipped(file.name, STILL_WRITTEN) for file in moving]
    waiting += [Skipped(file.name, CHANGED) for file in sifted.changed]
    return IngestReport(done, sifted.skipped, ignored(source.path), killed, tuple(waiting))


def _being_written(source: Source, files: Sequence[SourceFile]) -> tuple[SourceFile, ...]:
    """Those of the files that change while they are watched for a moment; only young ones are worth a wait."""
    lately = datetime.now(UTC) - SETTLED
    young = [file for file in files if file.modified is None or file.modified > lately]
    if not young:
        return ()
    time.sleep(LOOK_AGAIN)
    changed = changed_since(source.path, young)
    return tuple(file for file in young if file.path in changed)


def _all_wait(moving: Sequence[SourceFile], changed: Sequence[SourceFile]) -> WarehouseError:
    """The error for files of which none is in as it is now, and none can be read."""
    first, others = (*changed, *moving)[0], len(changed) + len(moving) - 1
    rest = f", and {others} other files wait as well" if others else ""
    if changed:
        what, hint = "has changed since it was ingested, and not by rows at its end", RESTORE
    else:
        what, hint = (
            "is still being written",
            "run again once it is whole; one that is renamed into place always is",
        )
    return WarehouseError(f"{first.name} {what}{rest}", code="E522", hint=hint)


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
    sifted: Sifted,
    ledger: Ledger,
) -> tuple[tuple[IngestedFile, ...], tuple[SourceFile, ...]]:
    """Read, write, and last of all say so in the ledger; also which files changed while they were read and are left out."""
    now = ledger.next_ingest(datetime.now(UTC))
    done: tuple[IngestedFile, ...] = ()
    moved: tuple[SourceFile, ...] = ()
    if sifted.fresh:
        done, moved = _bring(spark, warehouse, source, needs, sifted.fresh, now)
    files = tuple(file for file in sifted.fresh if file not in moved)
    left = {file.fingerprint for file in moved}
    emptied = tuple(file for file in sifted.emptied if file.fingerprint not in left)
    entries = [
        *zip(files, done, strict=True),
        *((file, IngestedFile(file.name, 0, 0)) for file in emptied),
    ]
    if entries:
        _write_ledger(spark, warehouse, entries, sifted.replaced, now)
    return tuple(
        replace(one, again=file.path in sifted.replaced) for file, one in zip(files, done, strict=True)
    ), moved


def _bring(
    spark: SparkSession,
    warehouse: Warehouse,
    source: Source,
    needs: Needs,
    files: Sequence[SourceFile],
    now: datetime,
) -> tuple[tuple[IngestedFile, ...], tuple[SourceFile, ...]]:
    """Events and rejected rows of files into their tables; a file that changes meanwhile is left out."""
    found = gather_evidence(spark, files, source.options, needs.numeric)
    columns = decide(found, source.options, needs.numeric)
    refuse_impossible_names(columns)
    if warehouse.exists("events"):
        stored = warehouse.schema("events").remove_metadata()
        columns = columns_for_table(columns, found, stored)
        needs.refuse(pa.schema({field.name: field for field in (*stored, *columns)}.values()))
    elif columns.names:
        needs.refuse(columns)
    parsed = parse_files(spark, files, columns, source.options)
    if not read_here(files):
        parsed = parsed.persist(StorageLevel.DISK_ONLY)
    try:
        done = _counted(parsed, files, columns.names)
        changed = changed_since(source.path, files)
        moved = tuple(file for file in files if file.path in changed)
        kept = parsed
        if moved:
            names = [file.name for file in moved]
            kept = parsed.where(~col("source_file").isin(names))
            done = tuple(one for one in done if one.name not in names)
        if columns.names and done:
            _write_events(warehouse, kept, columns, source, needs, sum(file.rows for file in done), now)
        if any(file.rejected for file in done):
            _write_quarantine(warehouse, kept, now)
    finally:
        parsed.unpersist()
    return done, moved


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
    entries: Sequence[tuple[SourceFile, IngestedFile]],
    replaced: Mapping[str, Seen],
    now: datetime,
) -> None:
    """The commit with which the files are in, and those that they replace are not; then the rows of these go."""
    old = {
        file.path: Replaced(file.path, replaced[file.path].name, replaced[file.path].ingested_at)
        for file, _ in entries
        if file.path in replaced
    }
    removed = _removed_days(spark, warehouse, entries, replaced, now)
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
            "replaces": old[file.path].as_row() if file.path in old else None,
            "removed_days": removed.get(file.path),
        }
        for file, counted in entries
    ]
    if not old:
        warehouse.append_rows(spark, rows, tables.LEDGER)
        return
    warehouse.replace_rows(spark, rows, tables.LEDGER, at_paths([file.path for file, _ in entries]))
    finish_replacements(spark, warehouse, tuple(old.values()))


def _removed_days(
    spark: SparkSession,
    warehouse: Warehouse,
    entries: Sequence[tuple[SourceFile, IngestedFile]],
    replaced: Mapping[str, Seen],
    now: datetime,
) -> dict[str, list[date]]:
    """By path, the days of events whose type and time were in a reading that goes, and are not in the new one."""
    again = [(file, replaced[file.path]) for file, _ in entries if file.path in replaced]
    if not any(seen.rows for _, seen in again):
        return {}
    readings = pa.table(
        {
            "path": [file.path for file, _ in again] * 2,
            "source_file": [seen.name for _, seen in again] + [file.name for file, _ in again],
            "ingested_at": pa.array(
                [seen.ingested_at for _, seen in again] + [now] * len(again), tables.TIMESTAMP
            ),
            "new": [False] * len(again) + [True] * len(again),
        }
    )
    ingests = sorted({now, *(seen.ingested_at for _, seen in again)})
    rows = (
        warehouse.read(spark, "events")
        .where(col("ingested_at").isin(ingests))
        .join(broadcast(spark.createDataFrame(readings)), ["source_file", "ingested_at"])
        .select("path", "event_type", "event_time", "day", "new")
    )
    gone = rows.where("NOT new").join(rows.where("new"), ["path", "event_type", "event_time"], "left_anti")
    found: dict[str, list[date]] = {path: list(seen.removed_days) for path, seen in replaced.items()}
    for row in gone.select("path", "day").distinct().toArrow().to_pylist():
        found[row["path"]].append(row["day"])
    return {path: sorted(set(days)) for path, days in found.items() if days}


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
