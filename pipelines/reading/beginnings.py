"""What the beginnings of files say of their columns, and of how many rows there are, until all of them has been read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pipelines.reading.chunks import Chunk, UnreadableFileError
from pipelines.reading.columns import ColumnOptions
from pipelines.reading.csv_text import read_csv
from pipelines.reading.decoding import text_bytes
from pipelines.reading.evidence import Evidence, merge, of_chunk, of_parquet
from pipelines.reading.json_lines import read_json
from pipelines.reading.parquet_files import declared_schema
from pipelines.reading.sources import Format, SourceFile

BEGINNING = 2 << 20
"""Bytes of a file that say what its columns are, until all of it does; more than a header may have."""
MOST_FILES = 4
"""That are looked at for what all are like."""
SAMPLES = 20
"""Records whose lengths say how many a file has."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What was seen first of a file, or of several."""

    found: Evidence = Evidence()
    rows: int = 0
    """About how many all of it has: as its beginning goes on; of Parquet as many as it says."""


def beginning(file: SourceFile, options: ColumnOptions, *, count: bool = False) -> Beginning:
    """What the first records of a text file say, or a Parquet file of itself; an unreadable one is told by `read_file`. Records
    of text are counted where somebody asks.
    """
    found: list[Evidence] = []
    rows = 0
    with suppress(UnreadableFileError, OSError):
        if file.format is Format.PARQUET:
            _, rows = declared_schema(file.path)
            found += (Evidence((one,)) for one in of_parquet(file, options.time_column, most=1))
        else:
            for chunk in (read_csv if file.format is Format.CSV else read_json)(file.path, BEGINNING):
                found.append(Evidence(tuple(of_chunk(chunk, options.time_column))))
                if len(chunk.numbers):
                    rows = _rows(file, chunk) if count else 0
                    break
    return Beginning(merge(found), rows)


def beginning_of_all(files: Sequence[SourceFile], options: ColumnOptions) -> Beginning:
    """The same of many, by a few of them."""
    step = max(1, -(-len(files) // MOST_FILES))
    looked = files[::step]
    seen = [beginning(file, options, count=True) for file in looked]
    size = max(1, sum(text_bytes(file.name, file.size) for file in looked))
    every = sum(text_bytes(file.name, file.size) for file in files)
    return Beginning(merge(one.found for one in seen), sum(one.rows for one in seen) * every // size)


def _rows(file: SourceFile, chunk: Chunk) -> int:
    """About how many records a file has whose first ones these are, by the lengths of some of them."""
    records = len(chunk.numbers)
    some = range(0, records, max(1, records // SAMPLES))
    letters = sum(len(chunk.raw(place)) + 1 for place in some)
    return max(records, text_bytes(file.name, file.size) * len(some) // letters)
