"""Which files an ingest still has to read: the ledger remembers the content of every file that is in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyspark.sql import SparkSession

from pipelines.reading import SourceFile
from resources import tables
from resources.warehouse import Warehouse, WarehouseError

_TICK = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not read, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is in the warehouse: the names of files by fingerprint, fingerprints by path, and all ingests."""

    names: dict[str, str]
    fingerprints: dict[str, str]
    ingests: frozenset[datetime]

    @classmethod
    def of(cls, warehouse: Warehouse) -> Ledger:
        """Read the ledger; a warehouse without one has ingested nothing."""
        if not warehouse.exists(tables.LEDGER.name):
            return cls({}, {}, frozenset())
        rows = warehouse.rows(tables.LEDGER.name).to_pylist()
        return cls(
            {row["fingerprint"]: row["source_file"] for row in rows},
            {row["path"]: row["fingerprint"] for row in rows},
            frozenset(row["ingested_at"] for row in rows),
        )

    def next_ingest(self, now: datetime) -> datetime:
        """A time stamp for a new ingest: its identity, so later than all others; whole milliseconds.

        Delta keeps the statistics by which killed ingests are found in milliseconds.
        """
        rounded = now.astimezone(UTC).replace(microsecond=now.microsecond // 1000 * 1000)
        return max([rounded, *(ingest + _TICK for ingest in self.ingests)])

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
    for table in ("events", tables.QUARANTINE.name):
        found = _ingests_in(warehouse, table) - ledger.ingests
        for ingest in sorted(found):
            warehouse.delete(spark, table, f"ingested_at = timestamp_millis({_milliseconds(ingest)})")
        killed |= found
    return len(killed)


def _ingests_in(warehouse: Warehouse, table: str) -> frozenset[datetime]:
    """The ingests that a table has rows of, from the statistics of its files: a file is of one ingest."""
    if not warehouse.exists(table):
        return frozenset()
    actions = pa.table(warehouse.open(table).get_add_actions(flatten=True))
    if "min.ingested_at" not in actions.column_names:
        return frozenset()
    return frozenset(value for value in actions.column("min.ingested_at").to_pylist() if value is not None)


def _milliseconds(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // _TICK
