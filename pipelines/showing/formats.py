"""An Arrow table in, JSON, CSV or Parquet bytes out: every column and every row, in UTF-8."""

from __future__ import annotations

import base64
import csv
import io
import json
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipelines.showing.rows import rows_of


def write_json(table: pa.Table, out: IO[bytes]) -> None:
    """One array of row objects, a line each; times in ISO 8601, NULL (and NaN, infinity) as null."""
    opening = b"["
    for row in rows_of(table):
        text = json.dumps(_plain(row), ensure_ascii=False, allow_nan=False)
        out.write(opening + b"\n" + text.encode())
        opening = b","
    out.write(b"[]\n" if opening == b"[" else b"\n]\n")


def write_csv(table: pa.Table, out: IO[bytes]) -> None:
    """A header and a line a row; times in ISO 8601, NULL as nothing."""
    text = io.TextIOWrapper(out, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    for row in rows_of(table):
        writer.writerow([_field(_plain(value)) for value in row.values()])
    text.detach()


def write_parquet(table: pa.Table, out: IO[bytes]) -> None:
    """Parquet with the table's own types."""
    pq.write_table(table, out)


WRITERS = {"json": write_json, "csv": write_csv, "parquet": write_parquet}
"""--format -> writer."""


def _plain(value: Any) -> Any:  # noqa: PLR0911 - a case per type
    """A value as JSON knows it."""
    match value:
        case datetime():
            aware = value if value.tzinfo else value.replace(tzinfo=UTC)
            return aware.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case Decimal():
            return f"{value:f}"
        case bytes():
            return base64.b64encode(value).decode()
        case float():
            return value if isfinite(value) else None
        case dict():
            return {str(name): _plain(one) for name, one in value.items()}
        case list() | tuple():
            return [_plain(one) for one in value]
        case None | bool() | int() | str():
            return value
    return str(value)


def _field(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case float():
            return repr(value)
    return json.dumps(value, ensure_ascii=False)
