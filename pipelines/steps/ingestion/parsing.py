"""Spark tasks that read files: one pass for the evidence of column types, one for typed and rejected rows."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet_core.threads import Crew
from pipelines.reading import (
    REJECTED_SCHEMA,
    ColumnOptions,
    Evidence,
    Format,
    Reason,
    Rows,
    SourceFile,
    as_json,
    evidence,
    is_packed,
    merge,
    read_file,
    texts_of,
)
from pipelines.steps.packing import pack, run_tasks
from resources.sql import quoted
from resources.tables import TIMESTAMP
from resources.warehouse import values

EARLIEST = pa.scalar(-62_104_060_800_000_000, TIMESTAMP)
LATEST = pa.scalar(253_370_764_800_000_000, TIMESTAMP)
"""The years 2 to 9998: with the windows around them, times that Python, DuckDB and Spark all can say."""

MOST_HERE = 2 << 20
"""Bytes of text that the driver reads itself."""

REJECTED = "rejected row"
FAULTS = "faults of columns"
SEEN = "evidence of columns"
PLACE = "place of the row"
"""Columns of what could not be read, of how many values did not fit which columns (JSON), of what the values of a file say of its
columns, and of where a row stood; their blanks keep them apart from every column that Delta allows.
"""

REJECTED_TYPE = pa.struct(
    [("row_number", pa.int64()), ("raw", pa.string()), ("reason", pa.string()), ("code", pa.string())]
)
_PLACE_TYPE = pa.struct([("file", pa.int32()), ("row_number", pa.int64())])
_EVIDENCE = pa.schema([("file", pa.int32()), ("evidence", pa.binary())])


def gather_evidence(spark: SparkSession, files: Sequence[SourceFile], options: ColumnOptions) -> Evidence:
    """What the values of all files say of their columns; each file is looked at in a Spark task, or a few bytes here."""
    if read_here(files):
        return merge(evidence(file, options) for file in files)

    def look(members: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
        for number in members:
            found = pickle.dumps(evidence(files[number], options))
            yield pa.record_batch([pa.array([number], pa.int32()), pa.array([found])], schema=_EVIDENCE)

    rows = run_tasks(spark, _packs(spark, files), look, from_arrow_schema(_EVIDENCE)).toArrow()
    return merge(pickle.loads(found) for found in rows.sort_by("file").column("evidence").to_pylist())  # noqa: S301


def parse_files(
    spark: SparkSession,
    files: Sequence[SourceFile],
    columns: pa.Schema,
    options: ColumnOptions,
    read: frozenset[str],
    *,
    observe: bool = False,
) -> DataFrame:
    """All rows of the files, lazily: source columns, event_time, event_type, source_file, and ours.

    A row `is_event`, or it `is_rejected` and has only source_file and `REJECTED`, or it says in `FAULTS` what did not fit
    the columns of source_file, or, if asked, in `SEEN` what `gather_evidence` would find in it; queries read the columns `read`. A
    few bytes are read at once, and here.
    """
    schema = parsed_schema(columns, options)

    def parse(members: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
        for number in members:
            yield from parsed_batches(files, number, columns, options, read, observe=observe)

    if read_here(files):
        return values(spark, pa.Table.from_batches(parse(tuple(range(len(files)))), schema))
    return run_tasks(spark, _packs(spark, files), parse, from_arrow_schema(schema))


def parsed_batches(
    files: Sequence[SourceFile],
    number: int,
    columns: pa.Schema,
    options: ColumnOptions,
    read: frozenset[str],
    *,
    observe: bool,
    crew: Crew | None = None,
) -> Iterator[pa.RecordBatch]:
    """The rows of one of the files, as `parse_files` has them; those of a batch are of one kind. A crew types several at once."""
    schema, name = parsed_schema(columns, options), files[number].name
    seen: list[Evidence] | None = [] if observe else None
    for rows in read_file(files[number], columns, options, read, crew, seen):
        yield from _batches(rows, schema, name, number, options)
    if seen is not None:
        found = pa.array([pickle.dumps(merge(seen))])
        yield _only(schema, 1, {"source_file": pa.array([name]), SEEN: found})


def is_event() -> Column:
    """Of the rows of `parse_files`, the events."""
    return col(quoted(REJECTED)).isNull() & col(quoted(FAULTS)).isNull() & col(quoted(SEEN)).isNull()


def is_rejected() -> Column:
    """Of the rows of `parse_files`, those that are no events."""
    return col(quoted(REJECTED)).isNotNull()


def read_here(files: Sequence[SourceFile]) -> bool:
    """Whether reading these files takes less time than starting Spark's Python workers, and little memory: how many rows
    are in a Parquet file, or a packed one, its bytes do not tell.
    """
    return sum(file.size for file in files) <= MOST_HERE and not any(
        file.format is Format.PARQUET or is_packed(file.path) for file in files
    )


def parsed_schema(columns: pa.Schema, options: ColumnOptions) -> pa.Schema:
    """The columns of `parse_files` for these source columns; `PLACE` only where a key tells duplicates."""
    added = [("event_time", TIMESTAMP), ("event_type", pa.string()), ("source_file", pa.string())]
    ours = [(REJECTED, REJECTED_TYPE), (FAULTS, pa.string()), (SEEN, pa.binary())]
    ours += [(PLACE, _PLACE_TYPE)] if options.unique else []
    return pa.schema([*columns.remove_metadata(), *(pa.field(*pair) for pair in (*added, *ours))])


def _packs(spark: SparkSession, files: Sequence[SourceFile]) -> tuple[tuple[int, ...], ...]:
    """Files of one task each, the sizes balanced; a few tasks a core keep all cores busy to the end."""
    return pack([file.size for file in files], 4 * spark.sparkContext.defaultParallelism)


def _batches(
    rows: Rows, schema: pa.Schema, name: str, file: int, options: ColumnOptions
) -> Iterator[pa.RecordBatch]:
    """What was read of a file, in the columns of `parsed_schema`; rows of impossible times join the rejected."""
    if rows.faults:
        yield _only(schema, 1, {"source_file": pa.array([name]), FAULTS: pa.array([json.dumps(rows.faults)])})
    if rows.rejected.num_rows:
        yield _rejected(rows.rejected, schema)
    good, places = rows.good, pa.array(rows.numbers)
    if not good.num_rows:
        return
    times = event_times(good.column(options.time_column), options)
    possible = pc.and_(pc.greater_equal(times, EARLIEST), pc.less(times, LATEST))
    kept, impossible = good.filter(possible), good.filter(pc.invert(possible))
    if kept.num_rows:
        yield _good(kept, places.filter(possible), schema, name, file, options)
    if impossible.num_rows:
        yield _rejected(_out_of_years(impossible, places.filter(pc.invert(possible)), name), schema)


def _out_of_years(batch: pa.RecordBatch, places: pa.Array, name: str) -> pa.RecordBatch:
    """Rejected rows for events whose time `hamlet run` can count with, and the readers of a table cannot."""
    rows = [
        {
            "source_file": name,
            "row_number": place,
            "raw": as_json(row),
            "reason": "the time is outside the years 2 to 9998, which every reader of the tables knows",
            "code": str(Reason.OUT_OF_RANGE),
        }
        for place, row in zip(places.to_pylist(), texts_of(batch), strict=True)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=REJECTED_SCHEMA)


def _good(
    batch: pa.RecordBatch,
    places: pa.Array,
    schema: pa.Schema,
    name: str,
    file: int,
    options: ColumnOptions,
) -> pa.RecordBatch:
    rows = batch.num_rows
    known = {
        **dict(zip(batch.schema.names, batch.columns, strict=True)),
        "event_time": event_times(batch.column(options.time_column), options),
        "event_type": batch.column(options.type_column)
        if options.type_column
        else pa.repeat(options.type_value, rows),
        "source_file": pa.repeat(name, rows),
    }
    if options.unique:
        file_number = pa.repeat(pa.scalar(file, pa.int32()), rows)
        known[PLACE] = pa.StructArray.from_arrays([file_number, places], fields=list(_PLACE_TYPE))
    return _only(schema, rows, known)


def _rejected(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    reasons = pa.StructArray.from_arrays(
        [batch.column(field.name) for field in REJECTED_TYPE], fields=list(REJECTED_TYPE)
    )
    return _only(schema, batch.num_rows, {"source_file": batch.column("source_file"), REJECTED: reasons})


def _only(schema: pa.Schema, rows: int, known: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Rows with these columns, and NULL in the others."""
    arrays = [known[field.name] if field.name in known else pa.nulls(rows, field.type) for field in schema]
    return pa.record_batch(arrays, schema=schema)


def event_times(times: pa.Array, options: ColumnOptions) -> pa.Array:
    """The time column as timestamps: an integer counts units from the epoch."""
    if pa.types.is_integer(times.type):
        microseconds = pc.multiply_checked(times, options.microseconds_per_unit)
        return microseconds.cast(TIMESTAMP)
    return times.cast(TIMESTAMP)
