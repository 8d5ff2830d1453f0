"""A warehouse: a folder of Delta tables. Writes go through Spark, cheap looks at metadata need no JVM."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from hamlet_core.errors import HamletError
from resources.tables import Table

KILL_AFTER = "HAMLET_KILL_AFTER"
"""Environment variable for crash tests: the process kills itself once the write of that name is done."""


class WarehouseError(HamletError, RuntimeError):
    """The warehouse does not allow what was asked, and says what to do."""


def passed(write: str) -> None:
    """A write is complete; a crash test may end the process here, as if by kill -9."""
    if os.environ.get(KILL_AFTER) == write:
        os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file of a Delta table: absolute path, rows, bytes and its partition values as strings.

    `newest` is its latest `ingested_at`, `first` and `last` are its extremes of `event_time`, where the table has
    these columns and their statistics.
    """

    path: str
    rows: int
    size: int
    partition: dict[str, str]
    newest: datetime | None = None
    first: datetime | None = None
    last: datetime | None = None


@dataclass(frozen=True, slots=True)
class Warehouse:
    """The tables below one folder; a value that pickles and can be made anywhere.

    >>> Warehouse(Path("/data")).path_of("events")
    '/data/events'
    """

    root: Path

    def path_of(self, table: str) -> str:
        """Where a table lies; path-based: there is no metastore."""
        return str(self.root.absolute() / table)

    def exists(self, table: str) -> bool:
        """Is there such a Delta table?"""
        return deltalake.DeltaTable.is_deltatable(self.path_of(table))

    def open(self, table: str, version: int | None = None) -> deltalake.DeltaTable:
        """The table through delta-rs: metadata and Arrow without a JVM."""
        return deltalake.DeltaTable(self.path_of(table), version=version)

    def version(self, table: str) -> int:
        """The latest version of a table."""
        return int(self.open(table).version())

    def properties(self, table: str) -> dict[str, str]:
        """The properties of a table."""
        return dict(self.open(table).metadata().configuration)

    def schema(self, table: str) -> pa.Schema:
        """The columns of a table as Arrow types."""
        return pa.schema(self.open(table).schema().to_arrow())

    def rows(self, table: str, columns: Sequence[str] | None = None) -> pa.Table:
        """A small table as Arrow."""
        return self.dataset(table).to_table(columns=list(columns) if columns else None)

    def dataset(self, table: str, version: int | None = None) -> ds.Dataset:
        """The table as an Arrow data set over its live files, of a version or the latest.

        Arrow opens the files itself: through delta-rs' file system its threads call into Python, and a process that
        ends soon after a scan aborts or hangs.
        """
        schema = pa.schema(self.open(table, version).schema().to_arrow())
        paths = [file.path for file in self.files(table, version)]
        return (
            ds.dataset(paths, schema=schema, format="parquet") if paths else ds.dataset(schema.empty_table())
        )

    def count(self, table: str, **values: str) -> int:
        """The number of rows whose columns have these values."""
        return int(self.dataset(table).count_rows(filter=all_equal(**values)))

    def files(self, table: str, version: int | None = None) -> tuple[DataFile, ...]:
        """The live data files of a table at a version, by path."""
        actions = pa.table(self.open(table, version).get_add_actions(flatten=True))
        return tuple(
            self._file(table, row) for row in sorted(actions.to_pylist(), key=lambda row: row["path"])
        )

    def _file(self, table: str, row: dict[str, Any]) -> DataFile:
        partition = {
            name.removeprefix("partition."): str(value)
            for name, value in row.items()
            if name.startswith("partition.")
        }
        path = f"{self.path_of(table)}/{row['path']}"
        rows, size, newest = row.get("num_records"), row["size_bytes"], row.get("max.ingested_at")
        first, last = row.get("min.event_time"), row.get("max.event_time")
        if last is not None:
            last += timedelta(milliseconds=1)  # statistics of Delta are cut to milliseconds
        return DataFile(path, int(str(rows or 0)), int(str(size)), partition, newest, first, last)

    def read(self, spark: SparkSession, table: str, version: int | None = None) -> DataFrame:
        """The table as a Spark frame, of a version or the latest."""
        reader = spark.read.format("delta")
        return (reader.option("versionAsOf", version) if version is not None else reader).load(
            self.path_of(table)
        )

    def create(self, spark: SparkSession, table: Table) -> None:
        """Create the table if it does not exist; an existing one stays as it is."""
        if self.exists(table.name):
            return
        builder = (
            DeltaTable.createIfNotExists(spark).location(self.path_of(table.name)).comment(table.comment)
        )
        builder = builder.addColumns(spark_schema(table)).partitionedBy(*table.partition)
        for name, value in table.properties:
            builder = builder.property(name, value)
        builder.execute()
        passed(f"create:{table.name}")

    def append(self, frame: DataFrame, table: Table) -> None:
        """Add rows in one commit; new columns are added to the table."""
        self.create(frame.sparkSession, table)
        writer = frame.write.format("delta").mode("append").option("mergeSchema", "true")
        writer.save(self.path_of(table.name))
        passed(f"append:{table.name}")

    def replace(self, frame: DataFrame, table: Table, where: str, *, fresh: bool = False) -> None:
        """In one commit, replace all rows of `where` by the rows of `frame`, which must all be of it: idempotent.

        `where` is SQL of ours, with values put in by `equal` and `literal`. `fresh` says that there are none to
        replace, which saves Spark the search for them.
        """
        self.create(frame.sparkSession, table)
        if fresh:
            writer = frame.write.format("delta").mode("append")
        else:
            writer = frame.write.format("delta").mode("overwrite").option("replaceWhere", where)
        writer.save(self.path_of(table.name))
        passed(f"replace:{table.name}")

    def replace_rows(
        self, spark: SparkSession, rows: Sequence[dict[str, object]], table: Table, where: str
    ) -> None:
        """As `replace`, for a few rows given as values, and without a job of Spark.

        `where` is SQL of ours as delta-rs reads it, with texts put in by `standard_literal`.
        """
        self.create(spark, table)
        found = pa.Table.from_pylist(list(rows), schema=table.schema.remove_metadata())
        deltalake.write_deltalake(self.path_of(table.name), found, mode="overwrite", predicate=where)
        passed(f"replace:{table.name}")

    def delete_rows(self, table: str, where: str) -> None:
        """Delete a few rows in one commit, without Spark; `where` as that of `replace_rows`."""
        self.open(table).delete(where)
        passed(f"delete:{table}")

    def append_rows(self, spark: SparkSession, rows: Sequence[dict[str, object]], table: Table) -> None:
        """Add a few rows, given as values by column name, in one commit."""
        self.append(frame_of(spark, rows, table), table)

    def delete(self, spark: SparkSession, table: str, condition: str) -> None:
        """Delete rows in one commit; `condition` is SQL of ours, never of a user."""
        DeltaTable.forPath(spark, self.path_of(table)).delete(condition)
        passed(f"delete:{table}")


def spark_schema(table: Table) -> StructType:
    """The Spark schema of a table, comments included."""
    fields = from_arrow_schema(table.schema).fields
    return StructType(
        [
            StructField(column.name, field.dataType, True, {"comment": column.comment})
            for column, field in zip(table.columns, fields, strict=True)
        ]
    )


def frame_of(spark: SparkSession, rows: Sequence[dict[str, object]], table: Table) -> DataFrame:
    """A few rows as a Spark frame with the types of the table."""
    return spark.createDataFrame(pa.Table.from_pylist(list(rows), schema=table.schema.remove_metadata()))


def all_equal(**values: str) -> pc.Expression:
    """The same condition as `equal`, for Arrow."""
    wanted = pc.scalar(True)
    for name, value in values.items():
        wanted &= pc.field(name) == value
    return wanted


def equal(**values: str) -> str:
    """The SQL condition that columns have these texts.

    >>> equal(workload="rides", run_id="1")
    "workload = 'rides' AND run_id = '1'"
    """
    return " AND ".join(f"{name} = {literal(value)}" for name, value in values.items())


def standard_literal(text: str) -> str:
    """A string literal of standard SQL, as delta-rs reads it, that means exactly this text.

    >>> print(standard_literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def literal(text: str) -> str:
    """A Spark SQL string literal that means exactly this text."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
