"""Which files an ingest still has to read: the ledger remembers the content of every file that is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pipelines.reading import ListedFile, SourceFile
from resources import tables
from resources.data_files import parquet
from resources.warehouse import Warehouse, WarehouseError

INGEST = "hamlet.ingest"
"""The application under which ingests write to `events` and `events_quarantine`, each with its milliseconds as number.

It protects against a commit that is repeated because its answer was lost, and against one of a dead ingest that
arrives after a later ingest has begun to write: Delta skips both. Numbers are never used again, because an ingest is
later than every number that the tables remember, those of killed ingests included. Rows that a killed ingest has
committed are not its business: the next run removes them.
"""

SETTLED = timedelta(seconds=5)
"""How long before its ingest a file must have been changed last for its time to say that it is the same: clocks of
stores and of this machine differ, and some tell whole seconds.
"""
_TICK = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WRITTEN = ("events", tables.QUARANTINE.name)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not read, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was when it was ingested."""

    size: int | None
    modified: datetime | None
    ingested_at: datetime

    def still_holds(self, file: ListedFile) -> bool:
        """Whether nobody has changed it: one changed just before its ingest may have been changed again unnoticed."""
        if self.modified is None or self.modified > self.ingested_at - SETTLED:
            return False
        return (self.size, self.modified) == (file.size, file.modified)


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is in the warehouse: the names of files by fingerprint, fingerprints by path, and all complete ingests.

    `begun` are the last ingests, complete or not, that have written events or rejected rows.
    """

    names: dict[str, str]
    fingerprints: dict[str, str]
    ingests: frozenset[datetime]
    begun: frozenset[datetime] = frozenset()
    seen: dict[str, Seen] = field(default_factory=dict)

    @classmethod
    def of(cls, warehouse: Warehouse) -> Ledger:
        """Read the ledger; a warehouse without one has ingested nothing."""
        written = [name for name in _WRITTEN if warehouse.exists(name)]
        begun = [warehouse.last_number(name, INGEST) for name in written]
        known = warehouse.exists(tables.LEDGER.name)
        rows = warehouse.rows(tables.LEDGER.name).to_pylist() if known else []
        return cls(
            {row["fingerprint"]: row["source_file"] for row in rows},
            {row["path"]: row["fingerprint"] for row in rows},
            frozenset(row["ingested_at"] for row in rows),
            frozenset(_EPOCH + number * _TICK for number in begun if number is not None),
            {row["path"]: Seen(row.get("size"), row.get("modified"), row["ingested_at"]) for row in rows},
        )

    def known(self, file: ListedFile) -> str | None:
        """The fingerprint of a file that is as it was when it was ingested, by size and time: it is not read again."""
        seen = self.seen.get(file.path)
        return self.fingerprints[file.path] if seen is not None and seen.still_holds(file) else None

    def next_ingest(self, now: datetime) -> datetime:
        """A time stamp for a new ingest: its identity, so later than all others, killed ones too; whole milliseconds.

        Delta keeps the statistics by which killed ingests are found in milliseconds.
        """
        rounded = now.astimezone(UTC).replace(microsecond=now.microsecond // 1000 * 1000)
        return max([rounded, *(ingest + _TICK for ingest in self.ingests | self.begun)])

    def sift(self, files: Sequence[SourceFile]) -> tuple[tuple[SourceFile, ...], tuple[Skipped, ...]]:
        """The files to read and the files to skip; WarehouseError for one that changed since it was ingested."""
        fresh: dict[str, SourceFile] = {}
        skipped = []
        for file in files:
            if file.fingerprint in self.names:
                skipped.append(Skipped(file.name, _same(file.name, self.names[file.fingerprint])))
            elif file.fingerprint in fresh:
                skipped.append(Skipped(file.name, _same(file.name, fresh[file.fingerprint].name)))
            elif file.path in self.fingerprints:
                raise _changed(file)
            else:
                fresh[file.fingerprint] = file
        return tuple(fresh.values()), tuple(skipped)


def _same(name: str, known: str) -> str:
    return "already ingested" if name == known else f"same content as {known}, which is in"


def _changed(file: SourceFile) -> WarehouseError:
    return WarehouseError(
        f"{file.name} has changed since it was ingested",
        code="E522",
        hint="put new rows into a new file and restore this one, or ingest everything into a new warehouse",
    )


def remove_killed_ingests(spark: SparkSession, warehouse: Warehouse, ledger: Ledger) -> int:
    """Delete what ingests that died before their ledger entry left behind; their number."""
    killed: set[datetime] = set()
    for table in _WRITTEN:
        found = _ingests_in(warehouse, table) - ledger.ingests
        for ingest in sorted(found):
            warehouse.delete(spark, table, f"ingested_at = timestamp_millis({milliseconds(ingest)})")
        killed |= found
    return len(killed)


def _ingests_in(warehouse: Warehouse, table: str) -> frozenset[datetime]:
    """The ingests that a table has rows of: from the statistics of its files, and out of files of several ingests."""
    if not warehouse.exists(table):
        return frozenset()
    files = warehouse.files(table)
    found: set[datetime | None] = {file.oldest for file in files if file.oldest == file.newest}
    mixed = [file.path for file in files if file.oldest is None or file.oldest != file.newest]
    for batch in parquet(mixed, warehouse.schema(table)).to_batches(columns=["ingested_at"]):
        found |= set(pc.unique(batch.column(0)).to_pylist())
    return frozenset(ingest for ingest in found if ingest is not None)


def milliseconds(moment: datetime) -> int:
    """Whole milliseconds from the epoch."""
    return (moment - _EPOCH) // _TICK
