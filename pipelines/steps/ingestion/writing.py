"""Events that tasks write where they read them: of files that have the columns of the table, as those of a stream do.

No row passes the JVM but those that are no events. The files are no part of the table until they are committed; each task has
files of its own, to which it adds a row group whenever it holds enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet_core.errors import InvariantError
from hamlet_core.threads import Crew
from pipelines.reading import ColumnOptions, SourceFile, text_bytes
from pipelines.steps.ingestion.contents import Sums, day_sums
from pipelines.steps.ingestion.parsing import FAULTS, REJECTED, REJECTED_TYPE, SEEN, parsed_batches
from pipelines.steps.layout import Layout
from pipelines.steps.packing import pack_in_order, run_tasks
from pipelines.steps.row_hashes import HASHED
from resources.data_files import MOST_ROWS, NEW_FILES, FileWriter, GrowingFiles, require_found
from resources.tables import EVENT_COLUMNS, TIMESTAMP

MOST_BYTES, MOST_BUCKETS = 256 << 20, 32
"""Of text, where there are more buckets: a task has files of its own for each bucket, and where there is much text again and again."""
TASK_BYTES, MOST_OF_A_TASK = 4 << 20, 1 << 30
"""Of text that is worth a task of its own, and of a task, if it is of more than a file: else nobody knows for long how far it is."""
MOST_REJECTED, REJECTED_BYTES = 50_000, 128 << 20
"""Rows of a task that are no events, and bytes of those of all tasks: they pass the driver."""
MOST_TEXT = 256
"""Bytes of text of a row, on average: Spark hashes long texts faster."""
MOST_DAYS = 8
"""Of the events of a file that are written at once: a task has files of its own for each day, and there would be many."""
MOST_AGAIN = 2
"""Days of a file of which a task has written events before: in one that is not in order of time they would be all."""
MOST_WAITING = 128 << 20
"""Bytes of events that wait in a task for their file."""

_NEW = "new file"
_COUNTED = pa.schema(
    [
        ("source_file", pa.string()),
        ("bad", pa.bool_()),
        ("faults", pa.string()),
        ("seen", pa.binary()),
        ("day", pa.date32()),
        ("rows", pa.int64()),
        ("checksum", pa.int64()),
    ]
)
"""What is told of files: each row is of the events of a day, of rejected rows, of faults or of evidence."""
_TOLD = pa.schema([*_COUNTED, (REJECTED, REJECTED_TYPE), (_NEW, pa.struct(list(NEW_FILES)))])


@dataclass(frozen=True, slots=True)
class Written:
    """What tasks have written of files: rows of `_COUNTED`, of `NEW_FILES`, and rejected rows (source_file, `REJECTED`).

    Not `whole`: a task has met what Spark does better, and has left the rest.
    """

    whole: bool
    counted: list[dict[str, object]]
    files: pa.Table
    rejected: pa.Table


def is_here(spark: SparkSession) -> bool:
    """Whether the tasks of a session are on this machine."""
    return str(spark.sparkContext.master).startswith("local")


def without_ours(events: pa.Schema) -> pa.Schema:
    """Of the columns of a table of events those of the sources."""
    own = {column.name for column in EVENT_COLUMNS}
    return pa.schema([field for field in events.remove_metadata() if field.name not in own])


def can_write(files: Sequence[SourceFile], stored: pa.Schema, buckets: int) -> bool:
    """Whether tasks can write the events of these files into a table with these columns of sources, and so many buckets."""
    few = buckets <= MOST_BUCKETS or sum(text_bytes(file.name, file.size) for file in files) <= MOST_BYTES
    return few and all(one.type in HASHED for one in stored)


@dataclass(frozen=True, slots=True)
class Writing:
    """How tasks write events: `writer` of the table, whose columns of sources are `columns`; travels to them."""

    writer: FileWriter
    columns: pa.Schema
    layout: Layout
    ingested_at: datetime
    rejected_bytes: int = REJECTED_BYTES
    """Of a task."""

    @classmethod
    def of(cls, writer: FileWriter, layout: Layout, ingested_at: datetime) -> Writing:
        """How events are written into the table of a writer."""
        return cls(writer, without_ours(writer.table.schema), layout, ingested_at)

    def write(
        self,
        spark: SparkSession,
        files: Sequence[SourceFile],
        options: ColumnOptions,
        read: frozenset[str],
    ) -> Written:
        """Read the files, as `parse_files` does when it observes, and write their events.

        Raises WarehouseError E538 where tasks wrote to a folder of that name which this machine does not have.
        """
        sizes = [text_bytes(file.name, file.size) for file in files]
        cores = spark.sparkContext.defaultParallelism
        # Neighbours together: names of files mostly are in order of time, and so a task writes to few days.
        rounds = -(-sum(sizes) // (cores * MOST_OF_A_TASK))
        packs = pack_in_order(sizes, max(1, min(cores * rounds, sum(sizes) // TASK_BYTES)))
        threads = cores // len(packs) if is_here(spark) else 1  # one large file has all cores
        how = replace(self, rejected_bytes=REJECTED_BYTES // len(packs))

        def work(members: tuple[int, ...]) -> Iterator[pa.RecordBatch]:
            with Crew(max(1, threads)) as crew, how.writer.growing() as growing:
                collected = _Collected(how, growing)
                for number in members:
                    for batch in parsed_batches(
                        files, number, how.columns, options, read, observe=True, crew=crew
                    ):
                        yield from collected.take(batch)
                        if collected.left:
                            yield from collected.end()
                            yield _told(1)
                            return
                    yield from collected.contents(files[number].name)
                yield from collected.write()
                yield from collected.end()

        told = run_tasks(spark, packs, work, from_arrow_schema(_TOLD)).toArrow()
        told = told.cast(_TOLD)
        news, rejected = told.column(_NEW).is_valid(), told.column(REJECTED).is_valid()
        counted = told.filter(pc.invert(pc.or_(news, rejected))).select(_COUNTED.names)
        new = told.filter(news).column(_NEW).combine_chunks()
        written = pa.Table.from_arrays(new.flatten(), schema=NEW_FILES)
        require_found(self.writer.place, written)
        return Written(
            not counted.column("source_file").null_count,
            counted.to_pylist() + _rejections(told.filter(rejected)),
            written,
            told.filter(rejected).select(["source_file", REJECTED]),
        )


def _rejections(rejected: pa.Table) -> list[dict[str, object]]:
    """How many rows of which file are no events."""
    found = rejected.group_by("source_file").aggregate([("source_file", "count")]).to_pylist()
    return [
        {**dict.fromkeys(_COUNTED.names), "bad": True, "source_file": one["source_file"]}
        | {"rows": one["source_file_count"]}
        for one in found
    ]


@dataclass(slots=True)
class _Collected:
    """Mutable: the events of a task that are in no file yet, and what has been seen of the file that is being read."""

    how: Writing
    files: GrowingFiles
    events: list[pa.Table] = field(default_factory=list)
    days: dict[date, Sums] = field(default_factory=dict)
    waiting: set[date] = field(default_factory=set)
    """Days of the events of the file that is being read that are in none yet, ..."""
    gone: set[date] = field(default_factory=set)
    """... and those of which some may be."""
    rejected: int = 0
    rejected_bytes: int = 0
    left: bool = False
    """The task cannot go on."""

    def take(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """A batch of `parse_files`, whose rows are of one kind: events are kept, all others told of."""
        if batch.column(FAULTS).null_count == 0:
            known = {"source_file": batch.column("source_file"), "faults": batch.column(FAULTS)}
            yield _told(1, **known, rows=pa.array([1]))
        elif batch.column(SEEN).null_count == 0:
            yield _told(1, source_file=batch.column("source_file"), seen=batch.column(SEEN))
        elif batch.column(REJECTED).null_count == 0:
            known = {"source_file": batch.column("source_file"), REJECTED: batch.column(REJECTED)}
            self.rejected += batch.num_rows
            self.rejected_bytes += batch.nbytes
            self.left = self.rejected > MOST_REJECTED or self.rejected_bytes > self.how.rejected_bytes
            yield _told(batch.num_rows, **known)
        elif _text_of(batch) > MOST_TEXT * batch.num_rows:
            self.left = True
        else:
            events = self._placed(batch)
            for day, sums in day_sums(events, self.how.columns.names).items():
                self.days[day] = self.days.get(day, Sums()) + sums
                self.waiting.add(day)
            self.left = len(self.waiting) > MOST_DAYS or len(self.waiting & self.gone) > MOST_AGAIN
            self.events.append(events)
            rows, size = (
                sum(values)
                for values in zip(*((one.num_rows, one.nbytes) for one in self.events), strict=True)
            )
            if rows >= MOST_ROWS or size >= MOST_WAITING:
                yield from self.write(more=True)

    def contents(self, name: str) -> Iterator[pa.RecordBatch]:
        """A file is read: what its events are, by day."""
        for day, sums in self.days.items():
            yield _told(
                1,
                source_file=pa.array([name]),
                bad=pa.array([False]),
                day=pa.array([day]),
                rows=pa.array([sums.rows]),
                checksum=pa.array([sums.checksum]),
            )
        self.days.clear()
        self.waiting.clear()
        self.gone.clear()

    def write(self, *, more: bool = False) -> Iterator[pa.RecordBatch]:
        """Write the events that wait, in the order of the files of `events`; where more come, those of a last day that has just
        begun wait on, or its files would be small.
        """
        if not self.events:
            return
        events = pa.concat_tables(self.events).combine_chunks()  # sorted in a third of the time
        self.events.clear()
        self.gone |= self.waiting
        self.waiting.clear()
        if more:
            last = pc.equal(events.column("day"), pc.max(events.column("day")))
            begun = events.filter(last)
            if 2 * begun.num_rows < events.num_rows:
                self.events.append(begun)
                events = events.filter(pc.invert(last))
        names = ["day", "bucket", *self.how.layout.key, "event_time"]
        order = pc.sort_indices(events, sort_keys=[(name, "ascending") for name in names])
        yield from _told_files(self.files.write(events.take(order).combine_chunks()))

    def end(self) -> Iterator[pa.RecordBatch]:
        """End the files."""
        yield from _told_files(self.files.end())

    def _placed(self, batch: pa.RecordBatch) -> pa.Table:
        """Events with the columns that an ingest adds; what the constraints of the table ask of them is so."""
        schema = self.how.writer.table.schema.remove_metadata()
        added = {
            "ingested_at": pa.repeat(pa.scalar(self.how.ingested_at, TIMESTAMP), batch.num_rows),
            "day": batch.column("event_time").cast(pa.date32()),
            "bucket": self.how.layout.buckets_of(batch),
        }
        columns = [added[name] if name in added else batch.column(name) for name in schema.names]
        events = pa.table(columns, schema)
        for column in EVENT_COLUMNS:
            if events.column(column.name).null_count:
                raise InvariantError(f"an event was read without its {column.name}", code="E916")
        return events


def _text_of(batch: pa.RecordBatch) -> int:
    """Bytes of text in its columns."""
    texts = [column for column in batch.columns if column.type == pa.string()]
    return sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in texts)


def _told_files(ended: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if ended.num_rows:
        yield _told(ended.num_rows, **{_NEW: ended.to_struct_array()})


def _told(count: int, **known: pa.Array) -> pa.RecordBatch:
    """So many rows with these columns of `_TOLD`, and NULL in the others."""
    arrays = [known[one.name] if one.name in known else pa.nulls(count, one.type) for one in _TOLD]
    return pa.record_batch(arrays, schema=_TOLD)
