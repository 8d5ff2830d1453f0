"""Parquet files: chunks of the declared columns out, in bounded memory."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hamlet_core.table.columns import filled
from pipelines.reading.chunks import BrokenRecord, Chunk, Numbers, UnreadableFileError, shown
from pipelines.reading.opening import open_file
from pipelines.reading.reasons import Reason

BATCH_ROWS = 1 << 16


Constants = Sequence[tuple[str, pa.Scalar]]
"""Columns that have one value in all rows of a file, which does not stand in it."""


def read_parquet(
    path: str, columns: Sequence[str] | None = None, constants: Constants = ()
) -> Iterator[Chunk]:
    """Yield the chunks of a file (only some columns, if named). Times stored as INT96 are microseconds, of any year.

    Raises `UnreadableFileError` if it is damaged; what came before the damage has been yielded.
    """
    done, rows = 0, 0
    try:
        with open_file(path) as content, _opened(content) as file:
            rows = file.metadata.num_rows
            _check_names(file.schema_arrow.names)
            batches = file.iter_batches(batch_size=BATCH_ROWS, columns=columns)
            old = [name for name in _int96(file) if columns is None or name in columns]
            for batch, rests in zip(batches, _nanoseconds(path, old), strict=False):
                yield _chunk(_with(batch, constants, columns), done + 1, rests)
                done += batch.num_rows
    except (pa.ArrowException, OSError) as error:
        lost = f"rows {done + 1} to {rows} are lost: " if rows else ""
        raise UnreadableFileError(f"damaged Parquet: {lost}{_one_line(error)}") from error


def declared_schema(path: str) -> tuple[pa.Schema, int]:
    """The schema in the file, and its number of rows; raises `UnreadableFileError`."""
    try:
        with open_file(path) as content, _opened(content) as file:
            _check_names(file.schema_arrow.names)
            return file.schema_arrow, file.metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise UnreadableFileError(f"damaged Parquet: {_one_line(error)}") from error


def _opened(content: BinaryIO) -> pq.ParquetFile:
    """As nanoseconds, which is what PyArrow would make of INT96, there are no years but those from 1677 to 2262."""
    return pq.ParquetFile(content, coerce_int96_timestamp_unit="us")


def _with(batch: pa.RecordBatch, constants: Constants, columns: Sequence[str] | None) -> pa.RecordBatch:
    for name, value in constants:
        if columns is None or name in columns:
            batch = batch.append_column(name, pa.repeat(value, batch.num_rows))
    return batch


def _int96(file: pq.ParquetFile) -> list[str]:
    """The columns with times as Hive, Impala and Spark once stored them."""
    columns = (file.schema.column(place) for place in range(len(file.schema)))
    return [column.path for column in columns if column.physical_type == "INT96"]


def _nanoseconds(path: str, names: Sequence[str]) -> Iterator[Mapping[str, Numbers]]:
    """Batch by batch, the times of these columns in nanoseconds, modulo 2^64."""
    if not names:
        yield from itertools.repeat({})
    with open_file(path) as content, pq.ParquetFile(content) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=list(names)):
            yield {
                name: filled(batch.column(name).cast(pa.int64()))
                for name in names
                if name in batch.schema.names
            }


def _check_names(names: list[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UnreadableFileError(f"the file has a column twice: {', '.join(twice)}")


def _one_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _chunk(batch: pa.RecordBatch, first: int, nanoseconds: Mapping[str, Numbers]) -> Chunk:
    """A batch as a chunk; `nanoseconds` are the times of columns that were cut to microseconds."""
    numbers = np.arange(first, first + batch.num_rows, dtype=np.int64)
    broken: dict[int, BrokenRecord] = {}
    for name, exact in nanoseconds.items():
        rests = exact - filled(batch.column(name).cast(pa.int64())) * 1000
        for place in np.flatnonzero(rests).tolist():
            time = f"{batch.column(name).cast(pa.string())[place]}{rests[place]:03}"
            why = f"column {name}: {time!r} is finer than a microsecond"
            broken.setdefault(
                place, BrokenRecord(first + place, row_text(batch, place), Reason.TOO_FINE, why)
            )
    if broken:
        whole = np.ones(batch.num_rows, dtype=np.bool_)
        whole[list(broken)] = False
        numbers, batch = numbers[whole], batch.filter(pa.array(whole))
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    return Chunk(numbers, columns, tuple(broken.values()), lambda place: row_text(batch, place))


def row_text(batch: pa.RecordBatch, place: int) -> str:
    """A row as JSON text; values that JSON lacks as their usual text."""
    row = {
        name: _json_value(column[place])
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    }
    return json.dumps(row, ensure_ascii=False, default=str)


def scalar_text(value: pa.Scalar) -> str | None:
    """A value as text; nested ones as JSON."""
    plain = _json_value(value)
    if plain is None or isinstance(plain, str):
        return plain
    nested = isinstance(plain, (dict, list))
    return json.dumps(plain, ensure_ascii=False, default=str) if nested else str(plain)


def _json_value(value: pa.Scalar) -> object:
    """A Python value; its text where Python has no type for it (nanoseconds, a year beyond 9999, damaged UTF-8)."""
    try:
        plain = value.as_py()
    except UnicodeError:
        return shown(value.as_buffer().to_pybytes())
    except (ValueError, OverflowError):
        return str(value.cast(pa.int64()).as_py())
    return shown(plain) if isinstance(plain, bytes) else plain
