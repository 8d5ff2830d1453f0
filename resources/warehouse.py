"""A warehouse: a folder of Delta tables. Writes go through Spark, cheap looks at metadata need no JVM."""

from __future__ import annotations

import contextlib
import os
import signal
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias, TypeVar
from urllib.parse import unquote

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from delta.tables import DeltaTable
from deltalake import Transaction
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import coalesce, expr, lit
from pyspark.sql.pandas.types import from_arrow_schema

from resources.data_files import (
    NEW_FILES,
    STATISTICS,
    FileWriter,
    add_actions,
    first_damaged,
    parquet,
    remove_actions,
    remove_begun_log,
    remove_folder,
    require_found,
)
from resources.delta_errors import explained, explained_by_delta_rs, overtaken, refused_row
from resources.failures import damaged_file, require_room
from resources.migrations import CONSTRAINT, Stored, pending, properties_of, refuse_newer, refuse_other
from resources.provenance import USER_METADATA, Provenance
from resources.sql import equal, literal, quoted
from resources.storage import Location, WarehouseError
from resources.table_logs import commits_since_checkpoint, is_table, opened
from resources.tables import TIMESTAMP, Column, Table

__all__ = [
    "KILL_AFTER",
    "DataFile",
    "Warehouse",
    "WarehouseError",
    "all_equal",
    "equal",
    "frame_of",
    "literal",
    "passed",
]

KILL_AFTER = "HAMLET_KILL_AFTER"
"""Environment variable for crash tests: the process kills itself once the write of that name is done."""

WRITER_OF_CHECKS = "3"
"""The version of Delta's protocol that a writer must know where there are CHECK constraints."""

_RETENTION_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
_TOLD = {"workload": 0, "window_end": 1000, "ingested_at": 0}
"""Columns by whose extremes a scan leaves files out, and by how many microseconds these may be wrong: Delta cuts times to
milliseconds, and ingests have whole ones.
"""
MOST_HERE = 100_000
"""Rows that pass this process instead of being written by Spark, which takes seconds for a few."""
MOST_STATISTICS = 32
"""Columns of which Delta keeps extremes where a table does not say of which."""
_ASIDE = ".begun-"
"""What the name of a folder begins with that holds files of a table which is not there yet."""
MOST_COMMITS = 10
"""After a checkpoint: Spark writes one as often."""


_listed: dict[str, tuple[tuple[object, int], tuple[DataFile, ...]]] = {}
"""By table: the version, by the identity of the table and its number, and its files."""
Rows: TypeAlias = tuple[dict[str, Any], ...]
Made = TypeVar("Made")
_remembered: dict[tuple[str, Callable[[Rows], Any]], dict[tuple[str, pa.Schema], Any]] = {}
"""By table, and what is made of the rows of a data file: that of each, by path and columns; they never change."""


def passed(write: str) -> None:
    """A write is complete; a crash test may end the process here, as if by kill -9."""
    if os.environ.get(KILL_AFTER) == write:
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a Delta table: path or URI, rows, bytes and its partition values as strings, without NULLs.

    `oldest` and `newest` are its first and last `ingested_at`, `first` and `last` are its extremes of `event_time`,
    where the table has these columns and their statistics.
    """

    path: str
    rows: int
    size: int
    partition: dict[str, str]
    newest: datetime | None = None
    oldest: datetime | None = None
    first: datetime | None = None
    last: datetime | None = None
    extremes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """By columns of `_TOLD` without NULLs, as far as there are statistics."""
    logged: str = ""
    """The path as the log of the table has it."""

    def known(self, schema: pa.Schema) -> pc.Expression:
        """What all rows of the file have in common: Delta asks no writer to keep partition values in the files. By the
        extremes a scan leaves files out.
        """
        wanted = pc.scalar(True)
        for name, value in self.partition.items():
            wanted &= pc.field(name) == pa.scalar(value).cast(schema.field(name).type)
        for name, (low, high) in self.extremes.items():
            wanted &= (pc.field(name) >= low) & (pc.field(name) <= high)
        return wanted


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The tables below one folder; a value that pickles and can be made anywhere.

    Every commit carries `provenance`. A table that an older version of this package has written is migrated before
    the next write to it; one of a newer version is refused.

    >>> Warehouse(Path("/data")).path_of("events")
    '/data/events'
    """

    root: Path | str
    provenance: Provenance = Provenance()

    @property
    def location(self) -> Location:
        """The folder of the tables."""
        return Location.of(self.root)

    def __post_init__(self) -> None:
        Location.of(self.root)  # refuses what cannot be one

    def path_of(self, table: str) -> str:
        """Where a table lies, a path or a URI; there is no metastore."""
        return self.location.below(table).address

    def exists(self, table: str) -> bool:
        """Is there such a Delta table?"""
        return is_table(self.location.below(table))

    def names(self) -> tuple[str, ...]:
        """The tables that there are, sorted."""
        return tuple(name for name in self.location.folders() if self.exists(name))

    def open(self, table: str, version: int | None = None) -> deltalake.DeltaTable:
        """The table through delta-rs, without a JVM; WarehouseError for a damaged log (E516), a newer table (E527)."""
        found = opened(self.location.below(table), version)
        refuse_newer(table, found.metadata().configuration)
        return found

    def version(self, table: str) -> int:
        """The latest version of a table."""
        return int(self.open(table).version())

    def properties(self, table: str) -> dict[str, str]:
        """The properties of a table."""
        return dict(self.open(table).metadata().configuration)

    def schema(self, table: str) -> pa.Schema:
        """The columns of a table as Arrow types."""
        return pa.schema(self.open(table).schema().to_arrow())

    def rows(
        self, table: str, columns: Sequence[str] | None = None, where: pc.Expression | None = None
    ) -> pa.Table:
        """Few rows of a table as Arrow. Raises WarehouseError E514 for a data file that cannot be read."""
        with self._damage_named(table):
            return self.dataset(table).to_table(columns=list(columns) if columns else None, filter=where)

    def remembered_as(self, table: str, made: Callable[[Rows], Made]) -> list[Made]:
        """What is made of the rows of each data file of a table that grows row by row, once for each file; nobody may change it.
        Raises as `rows`.
        """
        schema, place = self.schema(table).remove_metadata(), (self.path_of(table), made)
        known, found = _remembered.get(place, {}), {}
        with self._damage_named(table):
            for file in self.files(table):
                key = file.path, schema
                if key in known:
                    found[key] = known[key]
                else:
                    found[key] = made(tuple(parquet([file.path], schema).to_table().to_pylist()))
        _remembered[place] = found
        return list(found.values())

    def count_where(self, table: str, where: pc.Expression) -> int:
        """The number of such rows. Raises as `rows`."""
        with self._damage_named(table):
            return int(self.dataset(table).count_rows(filter=where))

    @contextlib.contextmanager
    def _damage_named(self, table: str) -> Iterator[None]:
        """Arrow tells of the pages of a file that they cannot be read, and not of which."""
        try:
            yield
        except PermissionError:
            raise
        except (pa.ArrowException, OSError) as failure:
            folder = self.location.local
            damaged = first_damaged(one.path for one in self.files(table)) if folder is not None else None
            if folder is None or damaged is None:
                raise
            raise damaged_file(folder / table, damaged) from failure

    def dataset(self, table: str, version: int | None = None) -> ds.Dataset:
        """The table as an Arrow data set over its live files, of a version or the latest.

        Arrow opens the files itself: through delta-rs' file system its threads call into Python, and a process that
        ends soon after a scan aborts or hangs.
        """
        found = self.open(table, version)  # once: another write may come between two looks
        schema, files = pa.schema(found.schema().to_arrow()), self._files_of(table, found)
        return parquet([file.path for file in files], schema, known=[file.known(schema) for file in files])

    def count(self, table: str, **values: str) -> int:
        """The number of rows whose columns have these values."""
        return int(self.dataset(table).count_rows(filter=all_equal(**values)))

    def files(self, table: str, version: int | None = None) -> tuple[DataFile, ...]:
        """The live data files of a table at a version, by path."""
        return self._files_of(table, self.open(table, version))

    def rows_beside(self, table: str, where: pc.Expression) -> int:
        """How many rows the files have that may hold such rows, as far as the log of the table says: 0 if there is none,
        more than `MOST_HERE` where the log does not tell.
        """
        found = self.files_with(table, where) if self.exists(table) else ()
        return sum(file.rows or MOST_HERE + 1 for file in found)

    def files_with(
        self, table: str, where: pc.Expression | None, seen: deltalake.DeltaTable | None = None
    ) -> tuple[DataFile, ...]:
        """The data files, of a version that was seen or the latest, that may hold such rows, as far as the log tells."""
        found = seen or self.open(table)
        files, schema = self._files_of(table, found), pa.schema(found.schema().to_arrow())
        stored = parquet([one.path for one in files], schema, known=[one.known(schema) for one in files])
        wanted = {fragment.path for fragment in stored.get_fragments(where)} if files else set()
        return tuple(one for one in files if Location(one.path).inside in wanted)

    def _files_of(self, table: str, found: deltalake.DeltaTable) -> tuple[DataFile, ...]:
        """The files of a version, which never change: those of the version that was asked for last are remembered."""
        place, version = self.path_of(table), (found.metadata().id, found.version())
        known, files = _listed.get(place, (None, ()))
        if known != version:
            actions = pa.table(found.get_add_actions(flatten=True))
            rows = sorted(actions.to_pylist(), key=lambda row: row["path"])
            files = tuple(self._file(table, row) for row in rows)
            _listed[place] = version, files
        return files

    def _file(self, table: str, row: dict[str, Any]) -> DataFile:
        partition = {
            name.removeprefix("partition."): str(value)
            for name, value in row.items()
            if name.startswith("partition.") and value is not None
        }
        path = f"{self.path_of(table)}/{unquote(row['path'])}"
        rows, size = int(row.get("num_records") or 0), int(row["size_bytes"])
        ingests = row.get("max.ingested_at"), row.get("min.ingested_at")
        first, last = row.get("min.event_time"), row.get("max.event_time")
        if last is not None:
            last += timedelta(milliseconds=1)  # statistics of Delta are cut to milliseconds
        return DataFile(path, rows, size, partition, *ingests, first, last, _extremes(row), row["path"])

    def read(self, spark: SparkSession, table: str, version: int | None = None) -> DataFrame:
        """The table as a Spark frame, of a version or the latest."""
        self.open(table)
        reader = spark.read.format("delta")
        return (reader.option("versionAsOf", version) if version is not None else reader).load(
            self.path_of(table)
        )

    def read_files(self, spark: SparkSession, table: str, files: Sequence[DataFile]) -> DataFrame:
        """Some data files of the table as a Spark frame, which has the columns of all of it."""
        columns = from_arrow_schema(self.schema(table).remove_metadata())
        reader = spark.read.schema(columns).option("basePath", self.path_of(table))
        reader = reader.option("__globPaths__", "false")  # paths are no patterns
        return reader.parquet(*(file.path for file in files))

    def create(self, spark: SparkSession, table: Table) -> None:
        """Create the table if it does not exist; one of an older version is migrated."""
        self.migrate(spark, table)
        if self.exists(table.name):
            return
        remove_begun_log(self.location.below(table.name))
        constrained = {"delta.minWriterVersion": WRITER_OF_CHECKS} if table.checks else {}
        with self._commit_here("create", table) as said:
            deltalake.DeltaTable.create(
                self.path_of(table.name),
                table.schema,
                mode="ignore",
                partition_by=list(table.partition),
                description=table.comment,
                configuration={**dict(properties_of(table)), **constrained},
                storage_options=self.location.storage_options(),
                commit_properties=said,
                raise_if_key_not_exists=False,
            )

    def stored(self, table: Table) -> Stored | None:
        """What there is of a table. Raises WarehouseError as `open`, and for something else in its place (E518)."""
        found = self.open(table.name) if self.exists(table.name) else None
        columns = None if found is None else frozenset(field.name for field in found.schema().fields)
        refuse_other(table, self.location.below(table.name), columns)
        return None if found is None or columns is None else Stored(columns, found.metadata().configuration)

    def migrate(self, spark: SparkSession, table: Table) -> None:
        """Bring an existing table to this version's shape, a commit a step; nothing is done where it has it.

        Raises WarehouseError as `stored`, and for a table with rows that this version does not allow (E519).
        """
        stored = self.stored(table)
        for step in pending(table, stored) if stored is not None else ():
            with self._commit(spark, "migrate", table.name, step=step.what):
                spark.sql(f"ALTER TABLE {self._sql_name(table.name)} {step.sql}")

    def append(
        self, frame: DataFrame, table: Table, *, once: tuple[str, int] | None = None, few: bool = False
    ) -> None:
        """Add rows in one commit; new columns are added to the table.

        `once` is an application and a number: Delta takes each number of an application once, and none below the
        last one, so that a write that is repeated, or comes too late, adds nothing. WarehouseError if it came too late.
        `few` rows pass this process, which takes less time than a write of Spark.
        """
        self.create(frame.sparkSession, table)
        if few and self._is_as_declared(table):
            self._append_here(frame, table, once)
            return
        writer = frame.write.format("delta").mode("append").option("mergeSchema", "true")
        if once is not None:
            writer = writer.option("txnAppId", once[0]).option("txnVersion", once[1])
        with self._commit(frame.sparkSession, "append", table.name):
            writer.save(self.path_of(table.name))
            if once is not None and self.last_number(table.name, once[0]) != once[1]:
                raise overtaken(table.name)

    def _is_as_declared(self, table: Table, *, exactly: bool = False) -> bool:
        """Whether its rows need no column that the table lacks, `exactly`: it has no other either, and nobody gave it a
        constraint that we do not know.
        """
        found = self.open(table.name)
        stored = pa.schema(found.schema().to_arrow()).remove_metadata()
        columns = all(
            field.name in stored.names and stored.field(field.name).equals(field)
            for field in table.schema.remove_metadata()
        )
        held = {name for name in found.metadata().configuration if name.startswith(CONSTRAINT)}
        columns = columns and not (exactly and len(stored) > len(table.schema))
        return columns and held == {f"{CONSTRAINT}{check.name}" for check in table.checks}

    def _append_here(self, frame: DataFrame, table: Table, once: tuple[str, int] | None) -> None:
        """Spark tests the rows, as it would in a write; files and commit are made here."""
        rows = _tested(frame, table)
        with self._commit_here("append", table) as said:
            if once is not None:
                if not self._is_next(table.name, *once):
                    return
                said.app_transactions = [Transaction(*once)]
            self._add(self._written(rows, table), table, said)

    def _written(self, rows: pa.Table, table: Table) -> pa.Table:
        """Rows of `NEW_FILES` for the files that hold these rows."""
        files = FileWriter(self.location.below(table.name), table).write(rows.to_batches())
        return pa.Table.from_batches(files, NEW_FILES)

    def last_number(self, table: str, application: str) -> int | None:
        """The last number under which an application has written to a table with `once`."""
        found = self.open(table).transaction_version(application)
        return None if found is None else int(found)

    def rearrange(self, frame: DataFrame, table: str, where: str) -> None:
        """Write the rows of whole partitions anew in one commit that says that no row changes."""
        writer = frame.write.format("delta").mode("overwrite").option("replaceWhere", where)
        with self._commit(frame.sparkSession, "optimize", table, where=where):
            writer.option("dataChange", "false").save(self.path_of(table))

    def merge_files(self, name: str, groups: Sequence[Sequence[DataFile]], order: Sequence[str] = ()) -> None:
        """Put the files of each group together, whose rows pass this process, in this order; one commit, which says that no row
        changes. Those of a group are of one partition.
        """
        found = self.open(name)
        table, schema = _as_stored(name, found), pa.schema(found.schema().to_arrow()).remove_metadata()
        live = {file.logged for file in self._files_of(name, found)}
        groups = [group for group in groups if live.issuperset(file.logged for file in group)]
        if not groups:  # another write came in between
            return
        with self._commit_here("optimize", table) as said:
            written = []
            for group in groups:
                known = [file.known(schema) for file in group]
                with self._damage_named(name):
                    rows = parquet([file.path for file in group], schema, known=known).to_table()
                if order:
                    rows = rows.sort_by([(column, "ascending") for column in order])
                written.append(self._written(rows.combine_chunks(), table))
            gone = [file for group in groups for file in group]
            self._add(pa.concat_tables(written), table, said, found, gone, changes=False)

    def sum_up(self, table: str) -> None:
        """Write a checkpoint where a reader of the table has to read many commits: without Spark, Delta writes few."""
        found = self.open(table)
        if commits_since_checkpoint(self.location.below(table), found.version()) >= MOST_COMMITS:
            found.create_checkpoint()

    def optimize(self, spark: SparkSession, table: str) -> None:
        """Let Delta put small files of each partition together; the order of rows in a file is lost."""
        with self._commit(spark, "optimize", table):
            DeltaTable.forPath(spark, self.path_of(table)).optimize().executeCompaction()

    def vacuum(self, spark: SparkSession, table: str, hours: float) -> None:
        """Delete files that no version of the last `hours` needs, those of writes that never ended included."""
        # Delta asks for a week; how short is too short is decided by who calls.
        spark.conf.set(_RETENTION_CHECK, "false")
        try:
            with self._commit(spark, "vacuum", table, retention_hours=f"{hours:g}"):
                DeltaTable.forPath(spark, self.path_of(table)).vacuum(hours)
        finally:
            spark.conf.unset(_RETENTION_CHECK)

    def replace(
        self, frame: DataFrame, table: Table, where: str, *, here: pc.Expression | None = None
    ) -> None:
        """In one commit, replace all rows of `where` by the rows of `frame`, which must all be of it: idempotent.

        `where` is SQL of ours, with values put in by `equal` and `literal`. `here` is the same for Arrow, for a few rows
        beside a few that stay, which pass this process.
        """
        self.create(frame.sparkSession, table)
        if here is not None and self._is_as_declared(table, exactly=True):
            rows = _tested(frame, table)
            with self._commit_here("replace", table, where=where) as said:
                self._exchange(rows, table, here, said)
            return
        writer = frame.write.format("delta").mode("overwrite").option("replaceWhere", where)
        with self._commit(frame.sparkSession, "replace", table.name, where=where):
            writer.save(self.path_of(table.name))

    def _exchange(
        self, rows: pa.Table, table: Table, where: pc.Expression, said: deltalake.CommitProperties
    ) -> None:
        """In one commit, which is refused if another one has changed the same files: the files with rows of `where` go, and
        these rows come with what else was in those files.
        """
        found, schema = self.open(table.name), table.schema.remove_metadata()
        gone, kept = [], [rows]
        for file in self.files_with(table.name, where, found):
            with self._damage_named(table.name):
                stored = parquet([file.path], schema, known=[file.known(schema)]).to_table()
            rest = stored.filter(~where | where.is_null())
            if rest.num_rows < stored.num_rows:
                gone.append(file)
                kept.append(rest)
        if gone or rows.num_rows:
            self._add(self._written(pa.concat_tables(kept), table), table, said, found, gone)

    def writer(self, spark: SparkSession, table: Table) -> FileWriter:
        """For tasks: writes files of the table, which is created if need be; `add_files` makes them part of it.

        Nothing tests their rows: ValueError for a table with CHECK constraints.
        """
        if table.checks:
            raise ValueError(f"rows of {table.name} have to be tested: write them through Spark")
        self.create(spark, table)
        require_room(self.location.local)
        return FileWriter(self.location.below(table.name), table)

    def tested_writer(self, spark: SparkSession, table: Table) -> FileWriter | None:
        """As `writer`, for a table that is there and tasks that test their rows as its CHECK constraints do; None where somebody has
        given it others, or other columns.
        """
        self.migrate(spark, table)
        require_room(self.location.local)
        as_declared = self._is_as_declared(table, exactly=True)
        return FileWriter(self.location.below(table.name), table) if as_declared else None

    def writer_aside(self, table: Table) -> FileWriter | None:
        """As `tested_writer`, for a table that is not there yet: its files wait in a folder aside until `begin_with` makes it, for its columns
        are known once they are written. None in a store, where files cannot be moved.
        """
        if self.location.local is None:
            return None
        require_room(self.location.local)
        return FileWriter(self.location.below(f"{_ASIDE}{uuid.uuid4()}"), table, aside=True)

    def begin_with(
        self, spark: SparkSession, writer: FileWriter, files: pa.Table, *, once: tuple[str, int]
    ) -> None:
        """Create the table of a writer aside, with the files that it has written, as `add_files`."""
        self.create(spark, writer.table)
        writer.move(files, self.location.below(writer.table.name))
        if files.num_rows:
            self.add_files(files, writer.table, once=once)

    def remove_aside(self) -> None:
        """Delete what killed writers have left aside; nobody may be writing there."""
        for name in self.location.folders() if self.location.local is not None else ():
            if name.startswith(_ASIDE):
                remove_folder(self.location.below(name))

    def add_files(self, files: pa.Table, table: Table, *, once: tuple[str, int] | None = None) -> None:
        """Add files that tasks have written, rows of `NEW_FILES`, in one commit; `once` as that of `append`.

        Raises WarehouseError E538 where they are not in the folder of the table as this machine sees it.
        """
        require_found(self.location.below(table.name), files)
        with self._commit_here("append", table) as said:
            if once is None or self._is_next(table.name, *once):
                said.app_transactions = [Transaction(*once)] if once is not None else None
                self._add(files, table, said)

    def _is_next(self, table: str, application: str, number: int) -> bool:
        """Whether a write under this number is to be done; it is done where it was the last. WarehouseError if it comes too late."""
        last = self.last_number(table, application)
        if last is not None and last > number:
            raise overtaken(table)
        return last != number

    def _add(
        self,
        files: pa.Table,
        table: Table,
        said: deltalake.CommitProperties,
        seen: deltalake.DeltaTable | None = None,
        gone: Sequence[DataFile] = (),
        *,
        changes: bool = True,
    ) -> None:
        """In one commit, add these files, and remove those of the version that was seen; whether rows change by that."""
        found = seen or self.open(table.name)
        told = [(one.logged, one.partition, one.size) for one in gone]
        found.create_write_transaction(
            [*remove_actions(told, changes=changes), *add_actions(files, changes=changes)],
            "append",
            found.schema(),
            partition_by=list(table.partition),
            commit_properties=said,
        )

    def replace_rows(
        self, spark: SparkSession, rows: Sequence[dict[str, object]] | pa.Table, table: Table, where: str
    ) -> None:
        """As `replace`, for rows that are here, as values or as an Arrow table, and without a job of Spark.

        `where` is SQL of ours as delta-rs reads it, with texts put in by `equal_values` and `standard_literal`.
        """
        self._write_rows(spark, rows, table, "replace", where)

    def append_rows(self, spark: SparkSession, rows: Sequence[dict[str, object]], table: Table) -> None:
        """Add a few rows, given as values by column name, in one commit, and without a job of Spark."""
        self._write_rows(spark, rows, table, "append", None)

    def _write_rows(
        self,
        spark: SparkSession,
        rows: Sequence[dict[str, object]] | pa.Table,
        table: Table,
        write: str,
        where: str | None,
    ) -> None:
        self.create(spark, table)
        found = rows if isinstance(rows, pa.Table) else arrow_of(rows, table)
        path, options = self.path_of(table.name), self.location.storage_options()
        more = {"where": where} if where else {}
        with self._commit_here(write, table, **more) as said:
            how: dict[str, Any] = {"storage_options": options, "commit_properties": said}
            if where is None:
                deltalake.write_deltalake(path, found, mode="append", **how)
            else:
                deltalake.write_deltalake(path, found, mode="overwrite", predicate=where, **how)

    @contextlib.contextmanager
    def _commit_here(self, write: str, table: Table, **more: str) -> Iterator[deltalake.CommitProperties]:
        """Around one commit without Spark, as `_commit` is around one of Spark: what it says, and what failures mean."""
        require_room(self.location.local)
        try:
            yield self.commit_properties(write, table.name, **more)
        except DeltaError as failure:
            known = explained_by_delta_rs(failure, table.name, table.checks)
            if known is None:
                raise
            raise known from failure
        passed(f"{write}:{table.name}")

    def delete_rows(self, table: str, where: str) -> None:
        """Delete a few rows in one commit, without Spark; `where` as that of `replace_rows`."""
        said = self.commit_properties("delete", table, where=where)
        self.open(table).delete(where, commit_properties=said)
        passed(f"delete:{table}")

    def delete_here(self, spark: SparkSession, table: Table, where: str, here: pc.Expression) -> None:
        """As `delete`, for a few rows beside a few that stay; `where` and `here` as those of `replace`."""
        if not self._is_as_declared(table, exactly=True):
            self.delete(spark, table.name, where)
            return
        with self._commit_here("delete", table, where=where) as said:
            self._exchange(table.schema.remove_metadata().empty_table(), table, here, said)

    def delete(self, spark: SparkSession, table: str, condition: str) -> None:
        """Delete rows in one commit; `condition` is SQL of ours, never of a user."""
        with self._commit(spark, "delete", table, where=condition):
            DeltaTable.forPath(spark, self.path_of(table)).delete(condition)

    def commit_properties(self, write: str, table: str, **more: str) -> deltalake.CommitProperties:
        """Where a commit through delta-rs says that it comes from, as those through Spark do."""
        said = {"userMetadata": self.provenance.message(write, table=table, **more)}
        return deltalake.CommitProperties(custom_metadata=said)

    def _sql_name(self, table: str) -> str:
        return f"delta.{quoted(self.path_of(table))}"

    @contextlib.contextmanager
    def _commit(self, spark: SparkSession, write: str, table: str, **more: str) -> Iterator[None]:
        """Around one commit: it says where it comes from, and its failures say what to do."""
        require_room(self.location.local)
        spark.conf.set(USER_METADATA, self.provenance.message(write, table=table, **more))
        try:
            yield
        except (PySparkException, Py4JJavaError) as failure:
            known = explained(failure, table)
            if known is None:
                raise
            raise known from failure
        finally:
            spark.conf.unset(USER_METADATA)
        passed(f"{write}:{table}")


def _as_stored(name: str, found: deltalake.DeltaTable) -> Table:
    """A table as it is, whatever declares it; its constraints hold for its rows."""
    columns = tuple(
        Column(field.name, field.type, "") for field in pa.schema(found.schema().to_arrow()).remove_metadata()
    )
    told = found.metadata()
    short = [one.name for one in columns if pa.types.is_integer(one.type) or pa.types.is_temporal(one.type)]
    properties = {STATISTICS: ",".join(short[:MOST_STATISTICS]), **told.configuration}
    return Table(name, "", columns, tuple(told.partition_columns), tuple(properties.items()))


def frame_of(spark: SparkSession, rows: Sequence[dict[str, object]], table: Table) -> DataFrame:
    """A few rows as a Spark frame with the types of the table."""
    return values(spark, arrow_of(rows, table))


def arrow_of(rows: Sequence[dict[str, object]], table: Table) -> pa.Table:
    """A few rows as Arrow with the types of the table."""
    return pa.Table.from_pylist(list(rows), schema=table.schema.remove_metadata())


def all_equal(**values: str) -> pc.Expression:
    """The same condition as `equal`, for Arrow."""
    wanted = pc.scalar(True)
    for name, value in values.items():
        wanted &= pc.field(name) == value
    return wanted


def _tested(frame: DataFrame, table: Table) -> pa.Table:
    """The rows of a frame, all of which keep the constraints of the table."""
    kept = {check.name: coalesce(expr(check.holds), lit(False)) for check in table.checks}
    tests = (column.alias(f"keeps {name}") for name, column in kept.items())
    found = frame.select(*map(quoted, table.schema.names), *tests).toArrow()
    for check in table.checks:
        broken = found.filter(pc.invert(found.column(f"keeps {check.name}"))).select(table.schema.names)
        if broken.num_rows:
            raise refused_row(table.name, check, broken.slice(0, 1).to_pylist()[0])
    return found.select(table.schema.names).cast(table.schema.remove_metadata())


def _extremes(row: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What the log says of the values of a file, by column."""
    found = {}
    for name, wrong in _TOLD.items():
        low, high = row.get(f"min.{name}"), row.get(f"max.{name}")
        if low is None or high is None or row.get(f"null_count.{name}") != 0:
            continue
        if isinstance(high, datetime):
            slack = pa.scalar(wrong, pa.duration("us"))
            low = pc.subtract(pa.scalar(low, TIMESTAMP), slack)
            high = pc.add(pa.scalar(high, TIMESTAMP), slack)
        found[name] = (low, high)
    return found


def values(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Rows of this process as a Spark frame; to Spark's own way a batch without rows is the end of all, and none is an error."""
    batches = [batch for batch in rows.to_batches() if batch.num_rows]
    batches = batches or [pa.RecordBatch.from_pylist([], schema=rows.schema)]
    return spark.createDataFrame(pa.Table.from_batches(batches, rows.schema))
