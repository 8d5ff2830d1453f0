"""Parquet files of a Delta table that tasks write where the rows are, and what the commit must be told of each.

The rows pass neither the JVM nor the driver. A file that no commit names is not part of its table: vacuum removes it.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake.transaction import AddAction, RemoveAction

from resources.storage import Location
from resources.tables import Table

NEW_FILES = pa.schema(
    [("path", pa.string()), ("size", pa.int64()), ("partition", pa.string()), ("statistics", pa.string())]
)
"""One row a file: its path below its table, bytes, partition values and Delta's statistics as JSON."""

_STATISTICS = "delta.dataSkippingStatsColumns"
_MOST_FOLDERS = 1_000_000


@dataclass(frozen=True, slots=True)
class FileWriter:
    """Writes files of the table that lies in `place`; travels to tasks."""

    place: Location
    table: Table

    def write(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows, a file for each of their partitions, and yield a batch of `NEW_FILES`."""
        schema = self.table.schema.remove_metadata()
        written: list[Any] = []
        files, folder = self.place.filesystem()
        parquet = ds.ParquetFileFormat()
        ds.write_dataset(
            pa.RecordBatchReader.from_batches(schema, rows),
            folder,
            format=parquet,
            filesystem=files,
            file_options=parquet.make_write_options(store_schema=False),
            partitioning=ds.partitioning(
                pa.schema([schema.field(name) for name in self.table.partition]), flavor="hive"
            ),
            basename_template=f"part-{uuid.uuid4()}-{{i}}.parquet",
            existing_data_behavior="overwrite_or_ignore",
            max_partitions=_MOST_FOLDERS,
            use_threads=False,
            file_visitor=written.append,
        )
        found = [self._described(one, len(folder.rstrip("/")) + 1) for one in written]
        yield pa.RecordBatch.from_pylist(found, schema=NEW_FILES)

    def _described(self, written: Any, below: int) -> dict[str, object]:
        path = written.path[below:]
        folders = (folder.partition("=") for folder in path.split("/")[:-1])
        return {
            "path": path,
            "size": written.size,
            "partition": json.dumps({name: _value(text) for name, _, text in folders}),
            "statistics": json.dumps(statistics_of(written.metadata, _asked(self.table))),
        }


def _value(text: str) -> str | None:
    return None if text == "__HIVE_DEFAULT_PARTITION__" else unquote(text)


def add_actions(files: pa.Table) -> list[AddAction | RemoveAction]:
    """Rows of `NEW_FILES` as the actions of a commit."""
    now = time.time_ns() // 1_000_000
    return [
        AddAction(row["path"], row["size"], json.loads(row["partition"]), now, True, row["statistics"])
        for row in files.to_pylist()
    ]


def statistics_of(file: pq.FileMetaData, names: Sequence[str]) -> dict[str, Any]:
    """Number of rows, and extremes of these columns, in the words of Delta's protocol (per-file statistics)."""
    lowest, highest, missing = {}, {}, {}
    places = {file.schema.column(number).path: number for number in range(file.num_columns)}
    for name in (name for name in names if name in places):
        groups = [
            file.row_group(number).column(places[name]).statistics for number in range(file.num_row_groups)
        ]
        if any(group is None or group.null_count is None for group in groups):
            continue
        missing[name] = sum(group.null_count for group in groups)
        if groups and all(group.has_min_max for group in groups):
            lowest[name] = _in_json(min(group.min for group in groups))
            highest[name] = _in_json(max(group.max for group in groups), up=True)
    return {"numRecords": file.num_rows, "minValues": lowest, "maxValues": highest, "nullCount": missing}


def _asked(table: Table) -> Sequence[str]:
    """Columns that the table has statistics of."""
    return dict(table.properties).get(_STATISTICS, "").split(",")


def _in_json(value: Any, *, up: bool = False) -> Any:
    """Times in milliseconds, which is what all readers know: rounded outwards, so that no row is left out."""
    if not isinstance(value, datetime):
        return value
    if up:
        value += timedelta(microseconds=-value.microsecond % 1000)
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
