"""Names of columns without a look at values: what can be refused before anything is read or started."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pipelines.reading.chunks import UnreadableFileError
from pipelines.reading.columns import ColumnOptions
from pipelines.reading.csv_text import read_header
from pipelines.reading.decision import require_columns
from pipelines.reading.decoding import open_text
from pipelines.reading.parquet_files import declared_schema
from pipelines.reading.sources import Format, SourceFile


def check_names(
    files: Sequence[SourceFile], options: ColumnOptions, wanted: Collection[str], known: Collection[str] = ()
) -> tuple[str, ...] | None:
    """The names of all columns if one of `wanted` is not among them; None where all are there, or nobody can tell.

    `known` are columns that are there already. A line of JSON may bring a column that no other has, and what cannot be
    read at all goes to quarantine by itself. Raises StreamError E451 as `decide`.
    """
    needed = {*options.roles, *options.named, *wanted}
    found = dict.fromkeys(known)
    for file in files:
        try:
            found |= dict.fromkeys(_names(file))
        except (UnreadableFileError, OSError):
            return None
        if needed <= found.keys():
            return None
        if file.format is Format.JSON:
            return None
    if not found:
        return None
    require_columns(tuple(found), options)
    return tuple(found)


def _names(file: SourceFile) -> tuple[str, ...]:
    match file.format:
        case Format.CSV:
            with open_text(file.path) as stream:
                header = read_header(stream)
            return header.names if header else ()
        case Format.PARQUET:
            return (*declared_schema(file.path)[0].names, *dict(file.constants))
    return ()
