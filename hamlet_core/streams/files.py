"""Streams as files: CSV (with broken rows, if wanted), JSON lines or Parquet; names are plain texts in each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from hamlet_core.errors import StreamError
from hamlet_core.table.columns import plain_type

Fields = list[bytes]


def write_stream(table: pa.Table, path: str | Path) -> None:
    """Write a table as its suffix says: `.csv`, `.jsonl` (`.json`, `.ndjson`) or `.parquet`.

    Raises `StreamError` E292 for another suffix.
    """
    target = Path(path)
    match target.suffix.lower():
        case ".csv":
            write_csv(table, target)
        case ".jsonl" | ".json" | ".ndjson":
            _write_json_lines(table, target)
        case ".parquet":
            # A dictionary column is a string column of the file; Arrow alone remembers what it was.
            pq.write_table(table, target)
        case other:
            raise StreamError(
                f"cannot write {other or 'a file without a suffix'}",
                code="E292",
                hint="the name of the file ends in .csv, .jsonl or .parquet",
            )


def write_csv(table: pa.Table, path: str | Path, broken_rows: int = 0, seed: int = 7) -> int:
    """Write a table as CSV, `broken_rows` of its rows damaged at seeded places; returns how many.

    The kinds of damage (`BROKEN_KINDS`) take turns, `not a number` only where a column of doubles is. The table needs
    the columns `time` and `type` and a number, if rows are to be broken; its texts hold no line ends.
    """
    sink = pa.BufferOutputStream()
    pa_csv.write_csv(_plain(table), sink, pa_csv.WriteOptions(quoting_style="needed"))
    content = sink.getvalue().to_pybytes()
    count = min(broken_rows, table.num_rows)
    if count:
        lines = content.split(b"\n")
        places = np.random.default_rng(seed).choice(table.num_rows, count, replace=False) + 1
        damages = tuple(_damages(table.schema).values())
        for turn, place in enumerate(places):
            lines[place] = b",".join(damages[turn % len(damages)](lines[place].split(b",")))
        content = b"\n".join(lines)
    Path(path).write_bytes(content)
    return int(count)


def _damages(schema: pa.Schema) -> dict[str, Callable[[Fields], Fields]]:
    """What is done to the fields of a row, by the name of the damage."""
    time = schema.names.index("time")
    others = [place for place, name in enumerate(schema.names) if name not in ("time", "type")]
    reals = [place for place in others if pa.types.is_floating(schema.field(place).type)]
    wholes = [place for place in others if pa.types.is_integer(schema.field(place).type)]
    texts = [place for place in others if pa.types.is_string(plain_type(schema.field(place).type))]
    number = [*reals, *wholes][0]
    text = [*texts, schema.names.index("type")][0]
    damages: dict[str, Callable[[Fields], Fields]] = {
        "text in a number": lambda fields: _put(fields, number, b"n/a"),
        "missing time": lambda fields: _put(fields, time, b""),
        "unknown column": lambda fields: [*fields, b"surplus"],
        "too few fields": lambda fields: fields[:-2],
        "not a number": lambda fields: _put(fields, number, b"NaN"),
        "invalid UTF-8": lambda fields: _put(fields, text, b"Caf\xe9"),
        "unclosed quote": lambda fields: _put(fields, text, b'"' + fields[text]),
        "no such time": lambda fields: _put(fields, time, b"yesterday"),
    }
    if not reals:
        del damages["not a number"]
    return damages


BROKEN_KINDS = (
    "text in a number",
    "missing time",
    "unknown column",
    "too few fields",
    "not a number",
    "invalid UTF-8",
    "unclosed quote",
    "no such time",
)
"""The damages that take turns in a file with broken rows."""


def _put(fields: Sequence[bytes], place: int, value: bytes) -> Fields:
    return [*fields[:place], value, *fields[place + 1 :]]


def _plain(table: pa.Table) -> pa.Table:
    """The table with its names as texts."""
    return table.cast(pa.schema([field.with_type(plain_type(field.type)) for field in table.schema]))


def _write_json_lines(table: pa.Table, path: Path) -> None:
    with path.open("w", encoding="utf-8") as stream:
        for batch in table.to_batches(max_chunksize=1 << 14):
            for row in batch.to_pylist():
                stream.write(json.dumps(row, ensure_ascii=False, default=_iso) + "\n")


def _iso(value: object) -> str:
    """ISO 8601 text of a time or a day; other values as `str` has them."""
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
