"""Evidence of what type a column has: of one file, and added up over many.

A text file gives counts of what its values read as; a Parquet file gives its declared types.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from hamlet_core.progress import Progress
from hamlet_core.threads import Crew, Piece, alone
from pipelines.reading.chunks import UnreadableFileError
from pipelines.reading.columns import ColumnOptions
from pipelines.reading.csv_text import read_csv
from pipelines.reading.declared import plain_type
from pipelines.reading.json_lines import read_json
from pipelines.reading.observation import ColumnEvidence, of_objects, of_texts
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


def _seen(file: SourceFile, time: str, crew: Crew) -> Iterator[ColumnEvidence]:
    """Evidence of one file, piece by piece."""
    match file.format:
        case Format.CSV:
            looks = (Piece(partial(_of_binary, chunk.columns)) for chunk in read_csv(file.path, crew=crew))
            for found in crew.each(looks):
                yield from found
        case Format.JSON:
            looks = (
                Piece(partial(_of_json, chunk.columns, time)) for chunk in read_json(file.path, crew=crew)
            )
            for found in crew.each(looks):
                yield from found
        case Format.PARQUET:
            yield from _of_parquet(file, time)


def _of_binary(columns: Mapping[str, Any], _: Progress) -> list[ColumnEvidence]:
    return [of_texts(name, utf8_texts(values)) for name, values in columns.items()]


def _of_json(columns: Mapping[str, Any], time: str, _: Progress) -> list[ColumnEvidence]:
    return [of_objects(name, values, written=name == time) for name, values in columns.items()]


def _of_parquet(file: SourceFile, time: str) -> Iterator[ColumnEvidence]:
    """Declared types; of the time column strings are looked at."""
    schema, rows = declared_schema(file.path)
    for field in (*schema, *(pa.field(name, value.type) for name, value in file.constants)):
        kind = plain_type(field.type)
        if field.name == time and pa.types.is_string(kind):
            yield ColumnEvidence(field.name, declared=((str(kind), rows),))
            for chunk in read_parquet(file.path, [field.name], file.constants):
                texts = type_declared(chunk.columns[field.name], pa.string()).values
                yield of_texts(field.name, texts)
        else:
            yield ColumnEvidence(field.name, declared=((str(kind), rows),))
