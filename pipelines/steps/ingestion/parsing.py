"""Spark tasks that read files: one pass for the evidence of column types, one for typed and rejected rows."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from pipelines.reading import (
    REJECTED_SCHEMA,
    ColumnOptions,
    Evidence,
    Format,
    Reason,
    SourceFile,
    evidence,
    is_packed,
    merge,
    read_file,
)
from pipelines.steps.packing import pack, run_tasks
from resources.tables import TIMESTAMP

EARLIEST = pa.scalar(-62_104_060_800_000_000, TIMESTAMP)
LATEST = pa.scalar(253_370_764_800_000_000, TIMESTAMP)
"""The years 2 to 9998: with the windows around them, times that Python, DuckDB and Spark all can say."""

MOST_HERE = 2 << 20
"""Bytes of text that the driver reads itself."""

REJECTED = "rejected row"
"""The column of what could not be read; its blank keeps it apart from every column that Delta allows."""

_REJECTED_TYPE = pa.struct(
    [("row_number", pa.int64()), ("raw", pa.string()), ("reason", pa.string()), ("code", pa.string())]
)
_EVIDENCE = pa.schema([("file", pa.int32()), ("evidence", pa.binary())])


def gather_evidence(
    spark: SparkSession, files: Sequence[SourceFile], options: ColumnOptions, numeric: frozenset[str]
) -> Evidence:
    """What the values of all files say of their columns; each file is looked at in a Spark task, or a few bytes here."""
    if read_here(files):
        return merge(evidence(file, options, numeric) for file in files)

    def look(members: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
        for number in members:
            found = pickle.dumps(evidence(files[number], options, numeric))
            yield pa.record_batch([pa.array([number], pa.int32()), pa.array([found])], schema=_EVIDENCE)

    rows = run_tasks(spark, _packs(spark, files), look, from_arrow_schema(_EVIDENCE)).toArrow()
    return merge(pickle.loads(found) for found in rows.sort_by("file").column("evidence").to_pylist())  # noqa: S301


def parse_files(
    spark: SparkSession, files: Sequence[SourceFile], columns: pa.Schema, options: ColumnOptions
) -> DataFrame:
    """All rows of the files, lazily: source columns, event_time, event_type, source_file, and `REJECTED`.

    A good row has a NULL there, a rejected one only source_file and that. A few bytes are read at once, and here.
    """
    schema = parsed_schema(columns)

    def read(members: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
        for number in members:
            for good, rejected in read_file(files[number], columns, options):
                yield from _batches(good, rejected, schema, files[number].name, options)

    if read_here(files):
        return spark.createDataFrame(pa.Table.from_batches(read(tuple(range(len(files)))), schema))
    return run_tasks(spark, _packs(spark, files), read, from_arrow_schema(schema))


def read_here(files: Sequence[SourceFile]) -> bool:
    """Whether reading these files takes less time than starting Spark's Python workers, and little memory: how many rows
    are in a Parquet file, or a packed one, its bytes do not tell.
    """
    return sum(file.size for file in files) <= MOST_HERE and not any(
        file.format is Format.PARQUET or is_packed(file.path) for file in files
    )


def parsed_schema(columns: pa.Schema) -> pa.Schema:
    """The columns of `parse_files` for these source columns."""
    added = [("event_time", TIMESTAMP), ("event_type", pa.string()), ("source_file", pa.string())]
    return pa.schema(
        [*columns.remove_metadata(), *(pa.field(*pair) for pair in added), (REJECTED, _REJECTED_TYPE)]
    )


def _packs(spark: SparkSession, files: Sequence[SourceFile]) -> tuple[tuple[int, ...], ...]:
    """Files of one task each, the sizes balanced; a few tasks a core keep all cores busy to the end."""
    return pack([file.size for file in files], 4 * spark.sparkContext.defaultParallelism)


def _batches(
    good: pa.RecordBatch, rejected: pa.RecordBatch, schema: pa.Schema, name: str, options: ColumnOptions
) -> Iterator[pa.RecordBatch]:
    """What was read of a file, in the columns of `parsed_schema`; rows of impossible times join the rejected."""
    if rejected.num_rows:
        yield _rejected(rejected, schema)
    if not good.num_rows:
        return
    times = event_times(good.column(options.time_column), options)
    possible = pc.and_(pc.greater_equal(times, EARLIEST), pc.less(times, LATEST))
    kept, impossible = good.filter(possible), good.filter(pc.invert(possible))
    if kept.num_rows:
        yield _good(kept, schema, name, options)
    if impossible.num_rows:
        yield _rejected(_out_of_years(impossible, name), schema)


def _out_of_years(batch: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """Rejected rows for events whose time `hamlet run` can count with, and the readers of a table cannot."""
    rows = [
        {
            "source_file": name,
            "raw": json.dumps(row, ensure_ascii=False, default=str),
            "reason": "the time is outside the years 2 to 9998, which every reader of the tables knows",
            "code": str(Reason.OUT_OF_RANGE),
        }
        for row in _as_text(batch)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=REJECTED_SCHEMA)


def _as_text(batch: pa.RecordBatch) -> list[dict[str, str | None]]:
    """The rows as Arrow writes their values: Python's datetime knows no year 10000."""
    return pa.table(
        [column.cast(pa.string()) for column in batch.columns], names=batch.schema.names
    ).to_pylist()


def _good(batch: pa.RecordBatch, schema: pa.Schema, name: str, options: ColumnOptions) -> pa.RecordBatch:
    rows = batch.num_rows
    arrays = [
        *batch.columns,
        event_times(batch.column(options.time_column), options),
        batch.column(options.type_column) if options.type_column else pa.repeat(options.type_value, rows),
        pa.repeat(name, rows),
        pa.nulls(rows, _REJECTED_TYPE),
    ]
    return pa.record_batch(arrays, schema=schema)


def _rejected(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    reasons = pa.StructArray.from_arrays(
        [batch.column(field.name) for field in _REJECTED_TYPE], fields=list(_REJECTED_TYPE)
    )
    known = {"source_file": batch.column("source_file"), REJECTED: reasons}
    arrays = [known.get(field.name, pa.nulls(batch.num_rows, field.type)) for field in schema]
    return pa.record_batch(arrays, schema=schema)


def event_times(times: pa.Array, options: ColumnOptions) -> pa.Array:
    """The time column as timestamps: an integer counts units from the epoch."""
    if pa.types.is_integer(times.type):
        microseconds = pc.multiply_checked(times, options.microseconds_per_unit)
        return microseconds.cast(TIMESTAMP)
    return times.cast(TIMESTAMP)
