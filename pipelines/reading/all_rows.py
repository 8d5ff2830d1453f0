"""All rows of some files at once, each file read once: its beginning says what its columns are, and where that proves wrong it is
read again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa

from hamlet_core.threads import Crew
from pipelines.reading.beginnings import beginning
from pipelines.reading.chunks import Numbers
from pipelines.reading.columns import ColumnOptions
from pipelines.reading.decision import decide, typed_as
from pipelines.reading.duplicates import first_of_each
from pipelines.reading.evidence import Evidence, evidence, merge
from pipelines.reading.observation import ColumnEvidence
from pipelines.reading.reasons import REJECTED_SCHEMA
from pipelines.reading.rows import Rows, read_file
from pipelines.reading.sources import Format, SourceFile


class AllRows(NamedTuple):
    """All rows of some files."""

    good: pa.Table
    rejected: pa.Table
    empty: Mapping[str, int]
    """By column, values that do not fit it and are left NULL, because no query reads them."""


def read_all(
    files: Sequence[SourceFile],
    columns: pa.Schema | None,
    options: ColumnOptions,
    read: frozenset[str] | None = None,
    numeric: Collection[str] = (),
    crew: Crew | None = None,
) -> AllRows:
    """Read all files; duplicates of an earlier event, as `options` tells them, are rejected.

    `columns` is a schema as of `infer_columns`; None infers it (with `numeric`). To reject the same rows as an ingest does, give all
    columns, and those that its queries read.
    """
    if columns is None:
        first = FirstReading.of(files, options, read, crew)
        return first.rows(decide(first.found, options, numeric))
    named = ((file.name, read_file(file, columns, options, read, crew)) for file in files)
    return _gathered(named, columns, options, read)


@dataclass(frozen=True, slots=True)
class FirstReading:
    """What is known once all files have been read (of Parquet: looked at)."""

    files: tuple[_Read, ...]
    found: Evidence
    """By which is decided what `evidence` of the files would decide."""
    options: ColumnOptions
    read: frozenset[str] | None
    crew: Crew | None
    kept: frozenset[str] | None

    @classmethod
    def of(
        cls,
        files: Sequence[SourceFile],
        options: ColumnOptions,
        read: frozenset[str] | None = None,
        crew: Crew | None = None,
        *,
        only_read: bool = False,
    ) -> FirstReading:
        """Read files; of the columns, `only_read` keeps those that queries or the options read."""
        kept = None if read is None or not only_read or options.unique else read.union(options.roles)
        done = tuple(_read(file, options, read, crew, kept) for file in files)
        return cls(done, merge(one.found for one in done), options, read, crew, kept)

    def rows(self, columns: pa.Schema) -> AllRows:
        """The rows, once it is decided what the columns are; reads files again that began otherwise, and Parquet."""
        schema = columns
        if self.kept is not None:
            schema = pa.schema([field for field in columns if field.name in self.kept])
        named = ((one.file.name, self._rows(one, columns, schema)) for one in self.files)
        return _gathered(named, schema, self.options, self.read)

    def _rows(self, one: _Read, columns: pa.Schema, schema: pa.Schema) -> Iterator[Rows]:
        rows: Iterable[Rows] = one.rows
        if not one.holds(columns):
            rows = read_file(one.file, columns, self.options, self.read, self.crew)
        for some in rows:
            yield replace(some, good=_with_columns(some.good, schema))


@dataclass(frozen=True, slots=True)
class _Read:
    """A file, what is known of its columns, and its rows if they are as its beginning says."""

    file: SourceFile
    found: Evidence
    guess: pa.Schema | None
    """None: it has not been read."""
    rows: tuple[Rows, ...]

    def holds(self, columns: pa.Schema) -> bool:
        """Whether the rows are what they are by these columns. Of two problems of a row, the first column's is told."""
        if self.guess is None:
            return False
        guess = self.guess
        return all(
            column.name in guess.names
            and (not column.present or guess.field(column.name).type == columns.field(column.name).type)
            for column in self.found.columns
        ) and (
            [name for name in columns.names if name in guess.names] == guess.names
            or not any(some.rejected.num_rows for some in self.rows)
        )


def _read(
    file: SourceFile,
    options: ColumnOptions,
    read: frozenset[str] | None,
    crew: Crew | None,
    kept: frozenset[str] | None,
) -> _Read:
    begun = Evidence() if file.format is Format.PARQUET else beginning(file, options).found
    if not all(name in (column.name for column in begun.columns) for name in options.roles):
        return _Read(file, evidence(file, options, crew), None, ())
    guess = typed_as(begun, options)
    seen: list[Evidence] = []
    names = [name for name in guess.names if kept is None or name in kept]
    rows = tuple(
        replace(some, good=some.good.select(names))
        for some in read_file(file, guess, options, read, crew, seen, founded=True)
    )
    # The beginning has been seen twice; it is in front for the order of its columns.
    return _Read(file, merge([_without_values(begun), *seen]), guess, rows)


def _without_values(found: Evidence) -> Evidence:
    return Evidence(tuple(ColumnEvidence(column.name) for column in found.columns))


def _with_columns(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The same rows with the columns of a schema, NULL where they have none."""
    if rows.schema.equals(schema):
        return rows
    arrays = [
        rows.column(field.name)
        if rows.schema.get_field_index(field.name) >= 0 and rows.schema.field(field.name).type == field.type
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _gathered(
    files: Iterable[tuple[str, Iterable[Rows]]],
    schema: pa.Schema,
    options: ColumnOptions,
    read: frozenset[str] | None,
) -> AllRows:
    """The rows of files, by their names."""
    good: list[pa.RecordBatch] = []
    rejected: list[pa.RecordBatch] = []
    places: list[tuple[str, Numbers]] = []
    empty: Counter[str] = Counter()
    for name, parts in files:
        for rows in parts:
            good.append(rows.good)
            rejected.append(rows.rejected)
            places.append((name, rows.numbers))
            if read is not None:
                empty.update(
                    {column: many for column, many in rows.faults.items() if not options.judges(column, read)}
                )
    table = pa.Table.from_batches(good, schema)
    refused = pa.Table.from_batches(rejected, REJECTED_SCHEMA)
    if options.unique and all(name in schema.names for name in options.unique):
        table, twice = first_of_each(table, options.unique, places)
        refused = pa.concat_tables([refused, twice])
    return AllRows(table, refused, empty)
