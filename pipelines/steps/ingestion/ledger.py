"""Which files an ingest still has to read: the ledger remembers the content of every file that is in."""

from __future__ import annotations

from collections import ChainMap, Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from pipelines.reading import SourceFile, fingerprint_of_first
from resources import tables
from resources.data_files import READ_AHEAD, parquet
from resources.kafka_topics import range_of
from resources.sql import literal, standard_literal
from resources.storage import ListedFile
from resources.warehouse import Rows, Warehouse

INGEST = "hamlet.ingest"
"""The application under which ingests write to `events` and `events_quarantine`, each with its milliseconds as number.

It protects against a commit that is repeated because its answer was lost, and against one of a dead ingest that
arrives after a later ingest has begun to write: Delta skips both. Numbers are never used again, because an ingest is
later than every number that the tables remember, those of killed ingests included. Rows that a killed ingest has
committed are not its business: the next run removes them.
"""

SETTLED = timedelta(seconds=5)
"""How long before its ingest a file must have been changed last for its time to say that it is the same: clocks of
stores and of this machine differ, and some tell whole seconds. Before it is ingested, one that was changed more lately
may still be being written.
"""
Brought: TypeAlias = tuple[tuple[date, int, int], ...]
"""By day: how many events, and a checksum of their values."""
_TICK = timedelta(milliseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WRITTEN = ("events", tables.QUARANTINE.name)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not read, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Faults:
    """Values of a column that do not fit it: they cost their events (`refused`), or are NULL."""

    column: str
    values: int
    refused: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was when it was ingested; `removed_days` as the ledger has them.

    `faults` is None where rows were rejected by a version that did not count what was wrong with which column.
    """

    size: int | None
    modified: datetime | None
    ingested_at: datetime
    name: str = ""
    rows: int = 0
    removed_days: tuple[date, ...] = ()
    faults: tuple[Faults, ...] | None = ()

    def still_holds(self, file: ListedFile) -> bool:
        """Whether nobody has changed it: one changed just before its ingest may have been changed again unnoticed."""
        if self.modified is None or self.modified > self.ingested_at - SETTLED:
            return False
        return (self.size, self.modified) == (file.size, file.modified)


@dataclass(frozen=True, slots=True)
class Replaced:
    """A reading of a file whose rows go, because a later one has taken its place: named as its rows name it."""

    path: str
    name: str
    ingested_at: datetime

    @property
    def rows(self) -> str:
        """Its rows, as a condition of Spark SQL."""
        moment = f"timestamp_millis({milliseconds(self.ingested_at)})"
        return f"(source_file = {literal(self.name)} AND ingested_at = {moment})"

    def as_row(self) -> dict[str, object]:
        """As an entry of the ledger has it."""
        return {"source_file": self.name, "ingested_at": self.ingested_at}


@dataclass(frozen=True, slots=True)
class Sifted:
    """What an ingest does with each file: reads it, passes over it, or leaves it apart because it has `changed`.

    `replaced` are the readings that go, by path: of files that are read again, and of `emptied` ones, whose content by
    now is that of another file. Of the first, those in `rejudged` are as they were, but queries read other columns;
    `lost` are the names of files of which that holds, and which are not among the files. `repeated` are new files of a
    Delta table which hold rows that are in.
    """

    fresh: tuple[SourceFile, ...]
    skipped: tuple[Skipped, ...] = ()
    replaced: Mapping[str, Seen] = field(default_factory=dict)
    emptied: tuple[SourceFile, ...] = ()
    repeated: tuple[SourceFile, ...] = ()
    changed: tuple[SourceFile, ...] = ()
    rejudged: frozenset[str] = frozenset()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ledger:
    """What is in the warehouse: the names of files by fingerprint, fingerprints by path, and all complete ingests.

    `begun` are the last ingests, complete or not, that have written events or rejected rows.
    """

    names: Mapping[str, str]
    fingerprints: Mapping[str, str]
    ingests: AbstractSet[datetime]
    begun: frozenset[datetime] = frozenset()
    seen: Mapping[str, Seen] = field(default_factory=dict)
    unfinished: tuple[Replaced, ...] = ()
    """Readings that were replaced by an ingest which died before all their rows were gone."""
    parts: tuple[Part, ...] = ()
    """What its data files say: all is looked up in them, for a stream adds one with each micro-batch."""

    @classmethod
    def of(cls, warehouse: Warehouse) -> Ledger:
        """Read the ledger; a warehouse without one has ingested nothing."""
        written = [name for name in _WRITTEN if warehouse.exists(name)]
        begun = [warehouse.last_number(name, INGEST) for name in written]
        parts = parts_of(warehouse)
        return cls(
            ChainMap(*(part.names for part in reversed(parts)), *(part.empty for part in reversed(parts))),
            ChainMap(*(part.fingerprints for part in reversed(parts))),
            _Ingests(parts),
            frozenset(_EPOCH + number * _TICK for number in begun if number is not None),
            ChainMap(*(part.seen for part in reversed(parts))),
            tuple(one for part in parts for one in part.unfinished),
            tuple(parts),
        )

    def known(self, file: ListedFile) -> str | None:
        """The fingerprint of a file that is as it was when it was ingested, by size and time: it is not read again."""
        seen = self.seen.get(file.path)
        return self.fingerprints[file.path] if seen is not None and seen.still_holds(file) else None

    def has(self, path: str, fingerprint: str) -> bool:
        """Whether a file that never changes is in; before Delta tables were read as such, content stood for their files."""
        return fingerprint in self.names or path in self.fingerprints

    def any_below(self, address: str) -> bool:
        """Whether any file is in whose path begins so."""
        return any(path.startswith(address) for path in self.fingerprints)

    def read_of(self, topic: str) -> dict[int, list[tuple[int, int]]]:
        """What is in of a topic, by its identity: of each partition from which offset up to which, in order."""
        return _together(part.topics.get(topic, {}) for part in self.parts)

    def next_ingest(self, now: datetime) -> datetime:
        """A time stamp for a new ingest: its identity, so later than all others, killed ones too; whole milliseconds.

        Delta keeps the statistics by which killed ingests are found in milliseconds.
        """
        rounded = now.astimezone(UTC).replace(microsecond=now.microsecond // 1000 * 1000)
        complete = [part.newest for part in self.parts] or self.ingests
        return max(rounded, max((*complete, *self.begun), default=_EPOCH) + _TICK)

    def judged_otherwise(self, judges: Callable[[str], bool]) -> dict[str, str]:
        """By path the fingerprints of the files of which other rows are events where these columns are judged."""
        return {
            path: self.fingerprints[path]
            for part in self.parts
            for faults, paths in part.faulty.items()
            if not _judged_alike(faults, judges)
            for path in paths
        }

    def unread(self, files: Sequence[SourceFile]) -> tuple[SourceFile, ...]:
        """The files with content that is not in."""
        return tuple(file for file in files if file.fingerprint not in self.names)

    def sift(
        self,
        files: Sequence[SourceFile],
        judges: Callable[[str], bool] | None = None,
        first: Callable[[str, int], str] = fingerprint_of_first,
    ) -> Sifted:
        """What to do with each file: `judges` tells of a column whether a value that does not fit it costs the event now
        (None: nothing has changed), `first` is the fingerprint of so many first bytes at a path.
        """
        other = self.judged_otherwise(judges) if judges else {}
        lost = {path: self.seen[path].name for path in other}
        fresh: dict[str, SourceFile] = {}
        skipped, emptied, repeated, changed = [], [], [], []
        replaced: dict[str, Seen] = {}
        rejudged: set[str] = set()
        for file in files:
            lost.pop(file.path, None)
            known = self.fingerprints.get(file.path)
            if file.lasting and known is not None:
                known = file.fingerprint
            if known == file.fingerprint and file.path in other:
                fresh[file.fingerprint] = file
                replaced[file.path] = self.seen[file.path]
                rejudged.add(file.path)
                continue
            if known is not None and known != file.fingerprint:
                if not self._takes_the_place(file, first):
                    changed.append(file)
                    continue
                replaced[file.path] = self.seen[file.path]
            twin = (
                file.same_as
                or self.names.get(file.fingerprint)
                or (file.name if file.lasting and known else None)
            )
            if twin is None and file.fingerprint in fresh:
                twin = fresh[file.fingerprint].name
            if twin is None:
                fresh[file.fingerprint] = file
            else:
                skipped.append(Skipped(file.name, _same(file.name, twin)))
                if file.path in replaced:
                    emptied.append(file)
                elif file.same_as:
                    repeated.append(file)
        return Sifted(
            tuple(fresh.values()),
            tuple(skipped),
            replaced,
            tuple(emptied),
            tuple(repeated),
            tuple(changed),
            frozenset(rejudged),
            tuple(lost.values()),
        )

    def _takes_the_place(self, file: SourceFile, first: Callable[[str, int], str]) -> bool:
        """Whether a changed file is all that it was, and more; or whether there was no event in it."""
        seen = self.seen.get(file.path)
        if seen is None:
            return False
        if not seen.rows:
            return True
        grown = seen.size is not None and file.size > seen.size
        return grown and first(file.path, seen.size or 0) == self.fingerprints[file.path]


Faulty: TypeAlias = frozenset[tuple[str, bool]] | None
"""Columns with values that did not fit, and whether those cost their events; None where nobody has counted them."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a data file of the ledger says: as `Ledger`, and of `names` those without content apart."""

    empty: dict[str, str]
    names: dict[str, str]
    fingerprints: dict[str, str]
    ingests: frozenset[datetime]
    newest: datetime
    seen: dict[str, Seen]
    unfinished: tuple[Replaced, ...]
    faulty: dict[Faulty, list[str]]
    """Paths by what was wrong with their values; not of files with which nothing was."""
    removed: tuple[tuple[datetime, date], ...]
    """Days of events that a file has no more, with the ingest that read it again."""
    topics: dict[str, dict[int, list[tuple[int, int]]]]
    """By identity and partition: from which offset up to which was read, in order; neighbours are one."""
    contents: Counter[str]
    """How many files have a fingerprint, of those with a row."""
    events: Counter[Brought]
    """How many files have brought such events."""

    @classmethod
    def of(cls, rows: Rows) -> Part:
        """From its rows."""
        faulty: dict[Faulty, list[str]] = defaultdict(list)
        topics: dict[str, dict[int, list[tuple[int, int]]]] = defaultdict(lambda: defaultdict(list))
        seen = {row["path"]: _seen(row) for row in rows}
        for path, one in seen.items():
            if one.faults != ():
                faulty[_faulty(one)].append(path)
        for row in rows:
            if found := range_of(row["fingerprint"]):
                topics[found[0]][found[1]].append(found[2:])
        return cls(
            {row["fingerprint"]: row["source_file"] for row in rows if not row["rows"] + row["rejected"]},
            {row["fingerprint"]: row["source_file"] for row in rows if row["rows"] + row["rejected"]},
            {row["path"]: row["fingerprint"] for row in rows},
            frozenset(row["ingested_at"] for row in rows),
            max((row["ingested_at"] for row in rows), default=_EPOCH),
            seen,
            tuple(Replaced(row["path"], **_old(row["replaces"])) for row in rows if row.get("replaces")),
            dict(faulty),
            tuple((row["ingested_at"], day) for row in rows for day in row.get("removed_days") or ()),
            {identity: _together([partitions]) for identity, partitions in topics.items()},
            Counter(row["fingerprint"] for row in rows if row["rows"] + row["rejected"]),
            Counter(map(brought, rows)),
        )


class _Ingests(AbstractSet[datetime]):
    """Those of all parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.sets = [part.ingests for part in parts]

    def __contains__(self, one: object) -> bool:
        return any(one in some for some in self.sets)

    def __iter__(self) -> Iterator[datetime]:
        return iter(frozenset().union(*self.sets))

    def __len__(self) -> int:
        return len(frozenset(self))

    @classmethod
    def _from_iterable(cls, it: Iterable[datetime]) -> frozenset[datetime]:  # type: ignore[override]
        """What two sets come to."""
        return frozenset(it)


def parts_of(warehouse: Warehouse) -> list[Part]:
    """What the data files of the ledger say; none where nothing was ingested."""
    known = warehouse.exists(tables.LEDGER.name)
    return warehouse.remembered_as(tables.LEDGER.name, Part.of) if known else []


def brought(row: Mapping[str, Any]) -> Brought:
    """The events that a file has brought: equal for files with the same events, as bytes or in other formats."""
    return tuple((one["day"], one["rows"], one["checksum"]) for one in row.get("days") or ())


def _faulty(seen: Seen) -> Faulty:
    return None if seen.faults is None else frozenset((one.column, one.refused) for one in seen.faults)


def _judged_alike(faults: Faulty, judges: Callable[[str], bool]) -> bool:
    """Whether the same rows are events where these columns are judged."""
    return faults is not None and all(refused == judges(column) for column, refused in faults)


def _together(
    several: Iterable[Mapping[int, Sequence[tuple[int, int]]]],
) -> dict[int, list[tuple[int, int]]]:
    """All of some ranges by partition, in order; neighbours are one."""
    every: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for partitions in several:
        for partition, ranges in partitions.items():
            every[partition] += ranges
    found = {}
    for partition, ranges in every.items():
        own: list[tuple[int, int]] = []
        for first, until in sorted(ranges):
            if own and first <= own[-1][1]:
                own[-1] = own[-1][0], max(own[-1][1], until)
            else:
                own.append((first, until))
        found[partition] = own
    return found


def _seen(row: Mapping[str, Any]) -> Seen:
    faults = row.get("faults")
    return Seen(
        row.get("size"),
        row.get("modified"),
        row["ingested_at"],
        row["source_file"],
        row["rows"],
        tuple(row.get("removed_days") or ()),
        None if faults is None and row["rejected"] else tuple(Faults(**one) for one in faults or ()),
    )


def _old(replaces: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": replaces["source_file"], "ingested_at": replaces["ingested_at"]}


def _same(name: str, known: str) -> str:
    return "already ingested" if name == known else f"same content as {known}, which is in"


def finish_replacements(spark: SparkSession, warehouse: Warehouse, replaced: Sequence[Replaced]) -> None:
    """Delete the rows of readings in whose place others are, and then say in the ledger that they are gone.

    Whoever is killed in between is followed by one who does it again.
    """
    if not replaced:
        return
    rows = " OR ".join(one.rows for one in replaced)
    for table in _WRITTEN:
        if warehouse.exists(table):
            warehouse.delete(spark, table, rows)
    paths = {one.path for one in replaced}
    entries = warehouse.rows(tables.LEDGER.name, where=pc.field("path").isin(sorted(paths)))
    done = [row | {"replaces": None} for row in entries.to_pylist()]
    warehouse.replace_rows(spark, done, tables.LEDGER, at_paths(paths))


def at_paths(paths: Collection[str]) -> str:
    """The rows of the ledger of these paths, as a condition of delta-rs."""
    return f"path IN ({', '.join(map(standard_literal, sorted(paths)))})"


def remove_killed_ingests(spark: SparkSession, warehouse: Warehouse, ledger: Ledger) -> int:
    """Delete what ingests that died before their ledger entry left behind, and what those that died after it had still
    to delete; the number of the first.
    """
    finish_replacements(spark, warehouse, ledger.unfinished)
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
    known = _mixed.get(warehouse.path_of(table), {})
    _mixed[warehouse.path_of(table)] = seen = {path: known.get(path) or _ingests_of(path) for path in mixed}
    return frozenset(ingest for ingest in found.union(*seen.values()) if ingest is not None)


_mixed: dict[str, dict[str, frozenset[datetime | None]]] = {}
"""By table: the ingests in data files that have rows of several; files never change, and are many after a while."""


def _ingests_of(path: str) -> frozenset[datetime | None]:
    rows = parquet([path], pa.schema([("ingested_at", tables.TIMESTAMP)]))
    found: set[datetime | None] = set()
    for batch in rows.to_batches(**READ_AHEAD):
        found |= set(pc.unique(batch.column(0)).to_pylist())
    return frozenset(found)


def milliseconds(moment: datetime) -> int:
    """Whole milliseconds from the epoch."""
    return (moment - _EPOCH) // _TICK
