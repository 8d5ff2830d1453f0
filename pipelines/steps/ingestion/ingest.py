"""Ingest: files of a user -> Delta `events`, `events_quarantine` and, last of all, the ledger.

Re-running ingests nothing twice. A killed ingest leaves rows without a ledger entry, which the next one removes. A file
that has grown at its end is read again as a whole: its new rows go in, then its ledger entry changes, then its old rows
go; the entry says so until they are gone.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import broadcast, col, count, lit, to_date

from hamlet_core import EventSchema, Workload, check_columns
from hamlet_core.errors import HamletError
from pipelines.reading import (
    ColumnOptions,
    Evidence,
    SourceFile,
    about_texts,
    beginning_of_all,
    changed_since,
    decide,
    discover_first,
    explained,
    ignored,
    merge,
    read_again,
    require_columns,
    typed_as,
)
from pipelines.settings import Source
from pipelines.steps.ingestion.contents import DayContent, checksum
from pipelines.steps.ingestion.drift import columns_for_table
from pipelines.steps.ingestion.duplicates import without_duplicates
from pipelines.steps.ingestion.ledger import (
    INGEST,
    SETTLED,
    Faults,
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
from pipelines.steps.ingestion.parsing import (
    FAULTS,
    PLACE,
    REJECTED,
    SEEN,
    gather_evidence,
    is_event,
    is_rejected,
    parse_files,
    read_here,
)
from pipelines.steps.ingestion.writing import Writing, can_write, without_ours
from pipelines.steps.layout import Layout, refuse_impossible_names, source_properties
from pipelines.steps.progress import watched
from resources import tables
from resources.data_files import FileWriter
from resources.sql import quoted
from resources.warehouse import MOST_HERE, Warehouse, WarehouseError, values

UNBOUNDED = 1 << 62
"""Files: all that are there."""

LOOK_AGAIN = 1.0
"""Seconds after which a file that was changed less than `SETTLED` ago is looked at again: one that has not changed in
between is whole, as far as anybody can see.
"""


_BUCKETS_OFF = 2
"""Times the buckets that a table is begun with it may have by the rows that came: how many text is, is guessed before."""

RESTORE = "put new rows into a new file and restore this one, or ingest everything into a new warehouse"
STILL_WRITTEN = "still being written: left to the next run"
CHANGED = (
    f"changed since it was ingested, and not by rows at its end: what was ingested of it stays; {RESTORE}"
)
"""Why a file waits, and what to do."""


@dataclass(frozen=True, slots=True)
class IngestedFile:
    """A file that went in: rows that became events (also by day, as the ledger keeps them), rows in quarantine.

    `again`: why it has been read once more, if it was in.
    """

    name: str
    rows: int
    rejected: int
    days: tuple[DayContent, ...] = ()
    again: str = ""
    faults: tuple[Faults, ...] = ()

    @property
    def empty(self) -> dict[str, int]:
        """By column, values that do not fit it and are NULL, because no query reads them."""
        return {one.column: one.values for one in self.faults if not one.refused and one.values}


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What one ingest did."""

    files: tuple[IngestedFile, ...]
    skipped: tuple[Skipped, ...]
    ignored: tuple[str, ...]
    killed_ingests: int
    waiting: tuple[Skipped, ...] = ()
    """Files that were left as they are, and why; what was ingested of them before is in."""
    lost: tuple[str, ...] = ()
    """Files that would have been read again, and are not among those of this run."""
    left: int = 0
    """Files that were not looked at, because others came first."""

    @property
    def rows(self) -> int:
        """Rows that became events."""
        return sum(file.rows for file in self.files)

    @property
    def rejected(self) -> int:
        """Rows in quarantine."""
        return sum(file.rejected for file in self.files)

    @property
    def empty(self) -> dict[str, int]:
        """By column, values that do not fit it and are NULL, because no query reads them."""
        found: Counter[str] = Counter()
        for file in self.files:
            found.update(file.empty)
        return dict(found)


@dataclass(frozen=True, slots=True)
class Needs:
    """What workloads want of the table: columns that must be numbers, partition attributes per query, columns read.

    `readers` must be able to use its columns, or nothing goes in.
    """

    numeric: frozenset[str] = frozenset()
    partitions: tuple[frozenset[str], ...] = ()
    read: frozenset[str] = frozenset()
    workloads: frozenset[str] = frozenset()
    """Their names; of others, the warehouse knows what they read."""
    readers: tuple[tuple[Workload, EventSchema], ...] = ()

    def reads(self, warehouse: Warehouse) -> frozenset[str]:
        """All columns that queries over this warehouse read."""
        if not warehouse.exists(tables.PLAN.name):
            return self.read
        planned = warehouse.rows(tables.PLAN.name, ["workload", "columns"]).to_pylist()
        others = [row["columns"] for row in planned if row["workload"] not in self.workloads]
        return self.read.union(*others)

    def refuse(self, events: pa.Schema) -> None:
        """Raise what a reader would raise over a table with these columns: StreamError or QueryMeaningError."""
        for workload, schema in self.readers:
            check_columns(workload, events, schema)


def ingest(
    spark: SparkSession, warehouse: Warehouse, source: Source, needs: Needs, at_most: int = UNBOUNDED
) -> IngestReport:
    """Bring every file that is not in yet into the warehouse (of new ones the oldest, `at_most` so many), and every one that has
    grown since, or has values that do not fit columns which queries read by now, or read no more.

    A file that is being written, or has changed in another way, waits. Raises StreamError (no such path or column),
    QueryMeaningError (a column that its reader cannot use) and WarehouseError (all files wait, impossible or retyped
    column) before anything is written, and WarehouseError if there is still no table of events afterwards.
    """
    for table in tables.ALL:
        warehouse.stored(table)
    ledger = Ledger.of(warehouse)
    files, left = discover_first(source.path, ledger, at_most)
    for table in tables.ALL:
        warehouse.migrate(spark, table)
    warehouse.remove_aside()
    killed = remove_killed_ingests(spark, warehouse, ledger)
    moving = _being_written(source, ledger.unread(files))
    read = needs.reads(warehouse)
    judges = partial(source.options.judges, read=read)
    files = (*files, *read_again(source.path, ledger.judged_otherwise(judges)))
    sifted = ledger.sift([file for file in files if file not in moving], judges)
    if left:  # what others repeat may be among these
        sifted = replace(sifted, repeated=())
    if 0 < len(moving) + len(sifted.changed) == len(files):
        raise _all_wait(moving, sifted.changed)
    _refuse_other_options(warehouse, source)
    with watched(spark, "ingest"):
        done, moved = _ingest_files(spark, warehouse, source, replace(needs, read=read), sifted, ledger)
    moving = (*moving, *moved)
    if 0 < len(moving) + len(sifted.changed) == len(files):
        raise _all_wait(moving, sifted.changed)
    if not warehouse.exists("events"):
        raise no_events(warehouse)
    waiting = [Skipped(file.name, STILL_WRITTEN) for file in moving]
    waiting += [Skipped(file.name, CHANGED) for file in sifted.changed]
    return IngestReport(done, sifted.skipped, ignored(source.path), killed, tuple(waiting), sifted.lost, left)


def _being_written(source: Source, files: Sequence[SourceFile]) -> tuple[SourceFile, ...]:
    """Those of the files that change while they are watched for a moment; only young ones are worth a wait."""
    lately = datetime.now(UTC) - SETTLED
    young = [file for file in files if not file.lasting and (file.modified is None or file.modified > lately)]
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
        done, moved = _bring(spark, warehouse, source, needs, sifted, now)
    files = tuple(file for file in sifted.fresh if file not in moved)
    left = {file.fingerprint for file in moved}
    emptied = tuple(file for file in sifted.emptied if file.fingerprint not in left)
    # Where a file whose rows they repeat is not in after all, they have to be looked at again.
    repeated = () if moved else sifted.repeated
    entries = [
        *zip(files, done, strict=True),
        *((file, IngestedFile(file.name, 0, 0)) for file in (*emptied, *repeated)),
    ]
    if entries:
        _write_ledger(spark, warehouse, entries, sifted.replaced, now)
    return tuple(
        replace(one, again=_why_again(file, sifted)) for file, one in zip(files, done, strict=True)
    ), moved


def _why_again(file: SourceFile, sifted: Sifted) -> str:
    if file.path not in sifted.replaced:
        return ""
    return (
        "has bad values that queries read by now, or no more,"
        if file.path in sifted.rejudged
        else "had grown"
    )


def _bring(
    spark: SparkSession,
    warehouse: Warehouse,
    source: Source,
    needs: Needs,
    sifted: Sifted,
    now: datetime,
) -> tuple[tuple[IngestedFile, ...], tuple[SourceFile, ...]]:
    """Events and rejected rows of files into their tables; a file that changes meanwhile is left out."""
    files, options, key = sifted.fresh, source.options, source.options.unique
    done, columns = _written(spark, warehouse, source, needs, sifted, now)
    if done is not None:
        return done, ()
    with contextlib.ExitStack() as stack:
        parse = partial(_parsed, spark, source, needs, files, stack)
        read = None
        if columns is None:
            read, columns, done = _as_before(warehouse, source, needs, sifted, parse)
        if columns is None:
            there = warehouse.exists("events")
            new = [file for file in files if not there or file.path not in sifted.rejudged]
            columns = _columns(warehouse, options, needs, sifted, gather_evidence(spark, new, options))
        if read is None:
            columns = _and_those_of_the_table(warehouse, columns)
            read, done = parse(columns), None
        parsed = read
        if key and {*key} <= {*columns.names}:
            replaced = [Replaced(path, one.name, one.ingested_at) for path, one in sifted.replaced.items()]
            parsed = without_duplicates(read, warehouse, columns.names, key, replaced)
        if done is None:
            done, _ = _counted(parsed, files, columns.names, partial(options.judges, read=needs.read))
        changed = changed_since(source.path, files)
        moved = tuple(file for file in files if file.path in changed)
        kept = parsed
        if moved:
            names = [file.name for file in moved]
            kept = parsed.where(~col("source_file").isin(names))
            done = tuple(one for one in done if one.name not in names)
        if columns.names and done:
            rows = sum(file.rows for file in done)
            _write_events(warehouse, kept, columns, source, needs, rows, now, few=read_here(files))
        if any(file.rejected for file in done):
            _write_quarantine(warehouse, kept, now, few=read_here(files))
    return done, moved


def _written(
    spark: SparkSession,
    warehouse: Warehouse,
    source: Source,
    needs: Needs,
    sifted: Sifted,
    now: datetime,
) -> tuple[tuple[IngestedFile, ...] | None, pa.Schema | None]:
    """Files as those that are in, which tasks write as they read them. None: they have to be read in another way; then the
    columns that they have are told if they have been seen.
    """
    files, options = sifted.fresh, source.options
    if read_here(files) or options.unique or sifted.rejudged:
        return None, None
    writer, layout = _writer(spark, warehouse, source, needs, files)
    if writer is None:
        return None, None
    with writer.tidied():
        return _written_by(spark, warehouse, source, needs, sifted, Writing.of(writer, layout, now))


def _written_by(
    spark: SparkSession, warehouse: Warehouse, source: Source, needs: Needs, sifted: Sifted, how: Writing
) -> tuple[tuple[IngestedFile, ...] | None, pa.Schema | None]:
    """As `_written`."""
    files, options, writer = sifted.fresh, source.options, how.writer
    written = how.write(spark, files, options, needs.read)
    if not written.whole:
        writer.remove(written.files)
        return None, None
    try:
        done, found = _told(written.counted, files, partial(options.judges, read=needs.read))
        columns = _columns(warehouse, options, needs, sifted, found)
        changed = changed_since(source.path, files)
    except BaseException:
        writer.remove(written.files)
        raise
    fits = _same(columns, how.columns, done)
    if writer.aside:
        layout = _layout(spark, warehouse, columns, needs, sum(file.rows for file in done))
        fits = fits and columns.equals(how.columns) and layout.buckets <= _BUCKETS_OFF * how.layout.buckets
    if changed or not fits:
        writer.remove(written.files)
        return None, None if changed else columns
    if writer.aside:
        warehouse.begin_with(spark, writer, written.files, once=(INGEST, milliseconds(how.ingested_at)))
    elif written.files.num_rows:
        warehouse.add_files(written.files, writer.table, once=(INGEST, milliseconds(how.ingested_at)))
    if rejected := written.rejected.num_rows:
        few = rejected <= MOST_HERE
        _write_quarantine(warehouse, values(spark, written.rejected), how.ingested_at, few=few)
    return done, columns


def _writer(
    spark: SparkSession,
    warehouse: Warehouse,
    source: Source,
    needs: Needs,
    files: Sequence[SourceFile],
) -> tuple[FileWriter | None, Layout]:
    """What writes the events of files that have the columns of the table, where tasks can; without a table they have the columns
    with which a few of them begin.
    """
    there = warehouse.exists("events")
    if there:
        columns, layout = _stored(warehouse), Layout.of(warehouse.properties("events"))
    else:
        begun = beginning_of_all(files, source.options)
        columns = typed_as(begun.found, source.options, needs.numeric)
        layout = _layout(spark, warehouse, columns, needs, begun.rows)
        if not _possible(columns, source.options):
            return None, layout
    if not can_write(files, columns, layout.buckets):
        return None, layout
    table = _events(columns, layout, source)
    return (warehouse.tested_writer(spark, table) if there else warehouse.writer_aside(table)), layout


def _possible(columns: pa.Schema, options: ColumnOptions) -> bool:
    """Whether a table can have these columns; what is wrong with them is told once all files are known."""
    with contextlib.suppress(HamletError):
        require_columns(columns.names, options)
        refuse_impossible_names(columns)
        return bool(columns.names)
    return False


def _same(columns: pa.Schema, stored: pa.Schema, done: Sequence[IngestedFile]) -> bool:
    """Whether files with these columns, read with those of the table, came to what they would have come to with their own."""
    theirs = [(field.name, field.type) for field in stored if field.name in columns.names]
    known = [(field.name, field.type) for field in columns]
    # A rejected row says what is wrong with its first bad value, in the order of the columns.
    same = theirs == known or ({*theirs} == {*known} and not any(file.rejected for file in done))
    return bool(known) and same


def _parsed(
    spark: SparkSession,
    source: Source,
    needs: Needs,
    files: Sequence[SourceFile],
    stack: contextlib.ExitStack,
    columns: pa.Schema,
    *,
    observe: bool = False,
) -> DataFrame:
    """All rows of the files, read once however often they are asked for; kept until the stack is left."""
    read = parse_files(spark, files, columns, source.options, needs.read, observe=observe)
    if not read_here(files):
        stack.callback(read.unpersist)
        read.persist(StorageLevel.DISK_ONLY)
    return read


def _as_before(
    warehouse: Warehouse, source: Source, needs: Needs, sifted: Sifted, parse: Callable[..., DataFrame]
) -> tuple[DataFrame | None, pa.Schema | None, tuple[IngestedFile, ...] | None]:
    """Files as those that are in: read with the columns of the table, while it is seen whether these are theirs.

    Also the columns of the files, and what is in them. Not read: they have others, or there is no table; or rows have to be told
    apart by a key, or were in.
    """
    if source.options.unique or sifted.rejudged or not warehouse.exists("events"):
        return None, None, None
    expected = _stored(warehouse)
    read = parse(expected, observe=True)
    judges = partial(source.options.judges, read=needs.read)
    done, found = _counted(read, sifted.fresh, expected.names, judges)
    columns = _columns(warehouse, source.options, needs, sifted, found)
    if _same(columns, expected, done):
        return read, columns, done
    read.unpersist()
    return None, columns, None


def _stored(warehouse: Warehouse) -> pa.Schema:
    """The columns of the sources that the table of events has."""
    return without_ours(warehouse.schema("events"))


def _and_those_of_the_table(warehouse: Warehouse, columns: pa.Schema) -> pa.Schema:
    """Those that the files lack are NULL; the key of the buckets may be among them."""
    if not columns.names or not warehouse.exists("events"):
        return columns
    return pa.schema([*columns, *(field for field in _stored(warehouse) if field.name not in columns.names)])


def _columns(
    warehouse: Warehouse, options: ColumnOptions, needs: Needs, sifted: Sifted, found: Evidence
) -> pa.Schema:
    """The columns to read with, which all who read the table can use. Content that was in has the table's."""
    there = warehouse.exists("events")
    stored = warehouse.schema("events").remove_metadata() if there else pa.schema([])
    known = list(_stored(warehouse)) if there and sifted.rejudged else []
    columns = decide(found, options, needs.numeric, stored.names)
    refuse_impossible_names(columns)
    if there:
        columns = columns_for_table(columns, found, stored)
    columns = pa.schema({field.name: field for field in (*known, *columns)}.values())
    if columns.names:
        every = pa.schema({field.name: field for field in (*stored, *columns)}.values())
        with explained(about_texts(found, every, needs.numeric)):
            needs.refuse(every)
    return columns


def _counted(
    parsed: DataFrame,
    files: Sequence[SourceFile],
    names: Sequence[str],
    judges: Callable[[str], bool],
) -> tuple[tuple[IngestedFile, ...], Evidence]:
    """Good rows of each file by day, and rejected ones, and what was seen of all files' columns; this is the pass that reads the
    files.
    """
    keys = (
        col("source_file"),
        is_rejected().alias("bad"),
        col(quoted(FAULTS)).alias("faults"),
        col(quoted(SEEN)).alias("seen"),
        to_date("event_time").alias("day"),
    )
    counts = parsed.groupBy(*keys).agg(count("*").alias("rows"), checksum(names).alias("checksum"))
    return _told(counts.toArrow().to_pylist(), files, judges)


def _told(
    counts: Iterable[Mapping[str, Any]], files: Sequence[SourceFile], judges: Callable[[str], bool]
) -> tuple[tuple[IngestedFile, ...], Evidence]:
    """What is in files, and what was seen of their columns, by these counts of their rows."""
    days: dict[str, list[DayContent]] = defaultdict(list)
    rejected: Counter[str] = Counter()
    faults: dict[str, Counter[str]] = defaultdict(Counter)
    seen: dict[str, Evidence] = {}
    for row in counts:
        if row["seen"] is not None:
            seen[row["source_file"]] = pickle.loads(row["seen"])  # noqa: S301 - of a task of this run
        elif row["faults"] is not None:
            for name, many in json.loads(row["faults"]).items():
                faults[row["source_file"]][name] += many * row["rows"]
        elif row["bad"]:
            rejected[row["source_file"]] += row["rows"]
        else:
            days[row["source_file"]].append(DayContent(row["day"], row["rows"], row["checksum"]))
    ingested = tuple(
        IngestedFile(
            file.name,
            sum(one.rows for one in days[file.name]),
            rejected[file.name],
            tuple(sorted(days[file.name], key=lambda one: one.day)),
            faults=tuple(
                Faults(name, many, judges(name)) for name, many in sorted(faults[file.name].items())
            ),
        )
        for file in files
    )
    return ingested, merge(seen[file.name] for file in files if file.name in seen)


def _write_events(
    warehouse: Warehouse,
    parsed: DataFrame,
    columns: pa.Schema,
    source: Source,
    needs: Needs,
    rows: int,
    now: datetime,
    *,
    few: bool,
) -> None:
    """Good rows, clustered so that a task can read its buckets alone: by bucket, day, key and time."""
    spark = parsed.sparkSession
    layout = _layout(spark, warehouse, columns, needs, rows)
    table = _events(columns, layout, source)
    good = parsed.where(is_event()).drop(REJECTED, FAULTS, SEEN, PLACE)
    placed = (
        good.withColumn("ingested_at", lit(now))
        .withColumn("day", to_date("event_time"))
        .withColumn("bucket", layout.bucket())
    )
    together = placed.coalesce(1) if few else placed.repartitionById(layout.buckets, "bucket")
    ordered = together.sortWithinPartitions("day", "bucket", *map(quoted, layout.key), "event_time")
    warehouse.append(ordered, table, once=(INGEST, milliseconds(now)), few=few)


def _events(columns: pa.Schema, layout: Layout, source: Source) -> tables.Table:
    described = tuple(tables.Column(field.name, field.type, "as in the source") for field in columns)
    return tables.events_table(described, layout.properties() + source_properties(source.options))


def _layout(spark: SparkSession, warehouse: Warehouse, columns: pa.Schema, needs: Needs, rows: int) -> Layout:
    if warehouse.exists("events"):
        return Layout.of(warehouse.properties("events"))
    cores = spark.sparkContext.defaultParallelism
    return Layout.choose(needs.partitions, columns.names, rows, cores)


def _write_quarantine(warehouse: Warehouse, parsed: DataFrame, now: datetime, *, few: bool) -> None:
    rejected = parsed.where(is_rejected())
    rows = rejected.select("source_file", f"{quoted(REJECTED)}.*", lit(now).alias("ingested_at"))
    warehouse.append(rows.coalesce(1), tables.QUARANTINE, once=(INGEST, milliseconds(now)), few=few)


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
            "faults": [asdict(one) for one in counted.faults],
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
        .join(broadcast(values(spark, readings)), ["source_file", "ingested_at"])
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
            hint="use the same --time, --type, --time-unit and other options of columns, or another --warehouse",
        )
