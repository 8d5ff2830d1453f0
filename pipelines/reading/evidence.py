"""Evidence of what type a column has: of one file, and added up over many.

A text file gives counts of what its values read as; a Parquet file gives its declared types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import pyarrow as pa

from hamlet_core.progress import Progress
from hamlet_core.threads import Crew, Piece, alone
from pipelines.reading.chunks import Chunk, UnreadableFileError
from pipelines.reading.columns import ColumnOptions
from pipelines.reading.csv_text import read_csv
from pipelines.reading.declared import plain_type
from pipelines.reading.json_lines import Values, read_json
from pipelines.reading.observation import ColumnEvidence, of_objects, of_plain, of_texts
from pipelines.reading.parquet_files import declared_schema, read_parquet
from pipelines.reading.sources import Format, SourceFile
from pipelines.reading.typed import type_declared, utf8_texts

DEFAULT = ColumnOptions()


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the columns of some files, in order of first appearance; a plain value that pickles."""

    columns: tuple[ColumnEvidence, ...] = ()


def evidence(file: SourceFile, options: ColumnOptions = DEFAULT, crew: Crew | None = None) -> Evidence:
    """Look at all values of one file (Parquet: at its schema); an unreadable file gives what was seen before.

    A crew looks at several pieces of it at once.
    """
    found: dict[str, ColumnEvidence] = {}
    try:
        for column in _seen(file, options.time_column, crew or alone()):
            known = found.get(column.name)
            found[column.name] = known.plus(column) if known else column
    except (UnreadableFileError, OSError):
        pass  # `read_file` reports it.
    return Evidence(tuple(found.values()))


def merge(evidences: Iterable[Evidence]) -> Evidence:
    """Add evidence up; the order of columns is that of first appearance."""
    found: dict[str, ColumnEvidence] = {}
    for one in evidences:
        for column in one.columns:
            known = found.get(column.name)
            found[column.name] = known.plus(column) if known else column
    return Evidence(tuple(found.values()))


def of_column(name: str, values: pa.Array | Sequence[object] | Values, time: str) -> ColumnEvidence:
    """Evidence of some values of a text file, as their chunk has them."""
    if isinstance(values, pa.Array):
        return (
            of_texts(name, utf8_texts(values)) if pa.types.is_binary(values.type) else of_plain(name, values)
        )
    return of_objects(name, values, written=name == time)


def of_chunk(chunk: Chunk, time: str) -> list[ColumnEvidence]:
    """Evidence of some records of a text file."""
    return [of_column(name, values, time) for name, values in chunk.columns.items()]


def _seen(file: SourceFile, time: str, crew: Crew) -> Iterator[ColumnEvidence]:
    """Evidence of one file, piece by piece."""
    if file.format is Format.PARQUET:
        yield from of_parquet(file, time)
        return

    def look(chunk: Chunk, _: Progress) -> list[ColumnEvidence]:
        return of_chunk(chunk, time)

    read = read_csv if file.format is Format.CSV else read_json
    for found in crew.each(Piece(partial(look, chunk)) for chunk in read(file.path, crew=crew)):
        yield from found


def of_parquet(file: SourceFile, time: str, most: int | None = None) -> Iterator[ColumnEvidence]:
    """Declared types; of the time column strings are looked at, in all of the file or in `most` chunks of it."""
    schema, rows = declared_schema(file.path)
    for field in (*schema, *(pa.field(name, value.type) for name, value in file.constants)):
        kind = plain_type(field.type)
        if field.name == time and pa.types.is_string(kind):
            yield ColumnEvidence(field.name, declared=((str(kind), rows),))
            for chunk in islice(read_parquet(file.path, [field.name], file.constants), most):
                texts = type_declared(chunk.columns[field.name], pa.string()).values
                yield of_texts(field.name, texts)
        else:
            yield ColumnEvidence(field.name, declared=((str(kind), rows),))
