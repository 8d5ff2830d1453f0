"""Parquet files of Delta tables: Arrow reads them without Spark, and tasks write them where the rows are.

What tasks write passes neither the JVM nor the driver, which commits what it is told of the files. A file that no commit
names is not part of its table: vacuum removes it.
"""

from __future__ import annotations

import contextlib
import json
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as pafs
import pyarrow.parquet as pq
from deltalake.transaction import AddAction, RemoveAction

from resources.storage import Location, WarehouseError
from resources.tables import Table

NEW_FILES = pa.schema(
    [("path", pa.string()), ("size", pa.int64()), ("partition", pa.string()), ("statistics", pa.string())]
)
"""One row a file: its path below its table, bytes, partition values and Delta's statistics as JSON."""

READ_AHEAD = {"fragment_readahead": 1, "batch_readahead": 2}
"""Of a scan that goes on batch by batch: it holds about a row group. Arrow's defaults read four files at once, and 16 batches."""
MOST_ROWS = 1_000_000
"""That wait in memory for their file."""
MOST_IN_FILE, MOST_OPEN = 4_000_000, 64
"""Rows of a file that grows, and such files that a task has open."""
Values = Mapping[str, str | None]
"""Of the columns of a partition, as Delta writes them."""
STATISTICS = "delta.dataSkippingStatsColumns"
"""The property with the columns whose extremes a table keeps."""
_ROW = " row"
_NULL = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True, slots=True)
class FileWriter:
    """Writes files of the table that lies in `place`; travels to tasks."""

    place: Location
    table: Table
    aside: bool = False
    """The place is a folder for what is written now, and nothing else."""

    def write(self, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows, a file for each of their partitions and `MOST_ROWS`; yields batches of `NEW_FILES`."""
        waiting: list[pa.RecordBatch] = []
        for batch in rows:
            waiting.append(batch)
            if sum(one.num_rows for one in waiting) >= MOST_ROWS:
                yield self._write(waiting)
                waiting = []
        if waiting:
            yield self._write(waiting)

    @contextlib.contextmanager
    def growing(self) -> Iterator[GrowingFiles]:
        """Files to which rows are added again and again, a row group each time, while the block goes on."""
        files = GrowingFiles(self)
        try:
            yield files
        finally:
            files.abandon()

    def remove(self, written: pa.Table) -> None:
        """Delete files that are not to be part of the table after all: rows of `NEW_FILES`."""
        files, folder = self.place.filesystem()
        for path in written.column("path").to_pylist():
            files.delete_file(f"{folder}/{path}")

    @contextlib.contextmanager
    def tidied(self) -> Iterator[None]:
        """The folder aside goes when the block ends, however it does, with what has not been moved."""
        try:
            yield
        finally:
            if self.aside:
                remove_folder(self.place)

    def move(self, written: pa.Table, place: Location) -> None:
        """Move files that were written aside to where their table is."""
        files, folder = self.place.filesystem()
        _, there = place.filesystem()
        for path in written.column("path").to_pylist():
            files.create_dir(f"{there}/{path}".rpartition("/")[0])
            files.move(f"{folder}/{path}", f"{there}/{path}")

    def _write(self, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
        rows = pa.Table.from_batches(batches, self.table.schema.remove_metadata())
        found = [self._file(part, values) for part, values in _parts(rows, self.table.partition)]
        return pa.RecordBatch.from_pylist(found, schema=NEW_FILES)

    def _file(self, rows: pa.Table, values: Values) -> dict[str, object]:
        """Write one file."""
        begun = self.begin(rows.schema, values)
        begun.add(rows)
        return begun.end()

    def begin(self, schema: pa.Schema, values: Values) -> _Begun:
        """Begin a file, in a folder for its partition as Hive names it."""
        # Not by write_dataset: it calls back into Python from Arrow's threads, which in a Spark worker can wait for ever.
        folders = [
            f"{name}={_NULL if value is None else quote(value, safe='')}" for name, value in values.items()
        ]
        path = "/".join([*folders, f"part-{uuid.uuid4()}.parquet"])
        files, folder = self.place.below(*folders).filesystem()
        files.create_dir(folder)
        place, told = f"{folder}/{path.rpartition('/')[2]}", list[pq.FileMetaData]()
        writer = pq.ParquetWriter(
            place, schema, filesystem=files, store_schema=False, metadata_collector=told
        )
        return _Begun(path, values, _asked(self.table), files, place, writer, told)


@dataclass(slots=True)
class _Begun:
    """A file that is being written. Mutable: counts its rows."""

    path: str
    values: Values
    asked: Sequence[str]
    """Columns of which there are to be statistics."""
    files: pafs.FileSystem
    place: str
    writer: pq.ParquetWriter
    told: list[pq.FileMetaData]
    rows: int = 0

    def add(self, rows: pa.Table) -> None:
        """Write rows as a row group, or several."""
        self.writer.write_table(rows)
        self.rows += rows.num_rows

    def end(self) -> dict[str, object]:
        """A row of `NEW_FILES`."""
        self.writer.close()
        return {
            "path": self.path,
            "size": self.files.get_file_info(self.place).size,
            "partition": json.dumps(self.values),
            "statistics": json.dumps(statistics_of(self.told[0], self.asked)),
        }

    def abandon(self) -> None:
        """Delete it, as far as that is possible."""
        for let_go in (self.writer.close, partial(self.files.delete_file, self.place)):
            with contextlib.suppress(OSError):
                let_go()


class GrowingFiles:
    """Files of a task, one for each partition: until it has `MOST_IN_FILE`, or more than `MOST_OPEN` are open and it was written to
    the longest time ago. In a store, which keeps in memory what is not sent, each is ended at once.

    Mutable: has files open.
    """

    def __init__(self, writer: FileWriter) -> None:
        self._writer = writer
        self._most = MOST_OPEN if writer.place.local else 0
        self._open: dict[tuple[str | None, ...], _Begun] = {}
        """The one that was written to last is last."""

    def write(self, rows: pa.Table) -> pa.RecordBatch:
        """Write rows, which are in order of their partitions; the files that were ended, a row of `NEW_FILES` each."""
        ended = []
        for part, values in _parts(rows, self._writer.table.partition):
            key = tuple(values.values())
            file = self._open.pop(key, None) or self._writer.begin(part.schema, values)
            file.add(part)
            self._open[key] = file
            if file.rows >= MOST_IN_FILE:
                ended.append(self._open.pop(key).end())
            elif len(self._open) > self._most:
                ended.append(self._open.pop(next(iter(self._open))).end())
        return pa.RecordBatch.from_pylist(ended, schema=NEW_FILES)

    def end(self) -> pa.RecordBatch:
        """End all files."""
        ended = [file.end() for file in self._open.values()]
        self._open.clear()
        return pa.RecordBatch.from_pylist(ended, schema=NEW_FILES)

    def abandon(self) -> None:
        """Delete files that were not ended, as an error came between."""
        for file in self._open.values():
            file.abandon()


def require_found(place: Location, written: pa.Table) -> None:
    """Raise WarehouseError E538 unless this machine sees in a folder of its own all files that tasks have written: rows of
    `NEW_FILES`. What a store has, all see.
    """
    if place.local is None:
        return
    files, folder = place.filesystem()
    paths = [f"{folder}/{path}" for path in written.column("path").to_pylist()]
    lost = [one.path for one in files.get_file_info(paths) if one.type == pafs.FileType.NotFound]
    if lost:
        raise WarehouseError(
            f"{len(lost)} of {len(paths)} files that tasks have written are not here, the first is {lost[0]}",
            code="E538",
            hint="let driver and workers have the warehouse under one name: in a folder that all machines share, or in a store",
        )


def remove_folder(place: Location) -> None:
    """Delete a folder, as far as that is possible: a task whose end nobody waited for may still write there."""
    files, path = place.filesystem()
    with contextlib.suppress(OSError):
        files.delete_dir(path)


def _parts(rows: pa.Table, partition: Sequence[str]) -> Iterator[tuple[pa.Table, Values]]:
    """The rows by their partition, without its columns, and its values as Delta writes them."""
    names = list(partition)
    if not names:
        yield rows, {}
        return
    numbered = rows.select(names).append_column(_ROW, pa.array(np.arange(rows.num_rows)))
    groups = numbered.group_by(names, use_threads=False).aggregate([(_ROW, "list")])
    for group, members in zip(groups.select(names).to_pylist(), groups.column(f"{_ROW}_list"), strict=True):
        first, last = members.values[0].as_py(), members.values[-1].as_py()
        together = last - first + 1 == len(members.values)  # they are in order: nothing has to be copied
        part = rows.slice(first, len(members.values)) if together else rows.take(members.values)
        yield (
            part.drop_columns(names),
            {name: None if one is None else str(one) for name, one in group.items()},
        )


def add_actions(files: pa.Table, *, changes: bool = True) -> list[AddAction | RemoveAction]:
    """Rows of `NEW_FILES` as the actions of a commit, by which rows change or only files."""
    now = time.time_ns() // 1_000_000
    return [
        AddAction(row["path"], row["size"], json.loads(row["partition"]), now, changes, row["statistics"])
        for row in files.to_pylist()
    ]


def remove_actions(
    files: Iterable[tuple[str, Mapping[str, str], int]], *, changes: bool = True
) -> list[AddAction | RemoveAction]:
    """Files as actions of a commit that removes them, as `add_actions`: path below the table, partition values and bytes."""
    now = time.time_ns() // 1_000_000
    return [RemoveAction(path, changes, now, size, dict(values)) for path, values, size in files]


def parquet(
    paths: Sequence[str],
    schema: pa.Schema,
    read: ds.ParquetFileFormat | None = None,
    known: Sequence[pc.Expression] | None = None,
) -> ds.Dataset:
    """Parquet files of one store as an Arrow data set; Arrow opens them itself, without Spark and delta-rs.

    `known` is what all rows of each file have in common, which need not be in the file.
    """
    if not paths:
        return ds.dataset(schema.empty_table())
    read = read or ds.ParquetFileFormat()
    locations = [Location(path) for path in paths]
    files, _ = locations[0].filesystem()
    fragments = [
        read.make_fragment(one.inside, files, partition_expression=fact)
        for one, fact in zip(locations, known or [pc.scalar(True)] * len(paths), strict=True)
    ]
    return ds.FileSystemDataset(fragments, schema, read, files)


def first_damaged(paths: Iterable[str]) -> Path | None:
    """The first of some Parquet files of this machine that cannot be read to its end; all of each is read."""
    for path in map(Path, paths):
        try:
            with pq.ParquetFile(path) as file:
                for _ in file.iter_batches():
                    pass
        except (pa.ArrowException, OSError):
            return path
    return None


def remove_begun_log(place: Location) -> None:
    """Remove the log of a table if no commit is in it: a killed `create` leaves it, and Delta takes it for a lost table."""
    log = place.below("_delta_log")
    if log.is_folder and not any(file.extension in ("json", "parquet") for file in log.files()):
        files, path = log.filesystem()
        files.delete_dir(path)


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
    return dict(table.properties).get(STATISTICS, "").split(",")


def _in_json(value: Any, *, up: bool = False) -> Any:
    """Times in milliseconds, which is what all readers know: rounded outwards, so that no row is left out."""
    if not isinstance(value, datetime):
        return value.isoformat() if isinstance(value, date) else value
    if up:
        value += timedelta(microseconds=-value.microsecond % 1000)
    return value.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
