"""A Delta table as a place of events: its data files, and which of them hold rows that nobody has read yet.

What a table holds is in the files of its latest version. Who comes again wants what was appended since: a file that was
compacted holds rows of others once more, and the log says so.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any
from urllib.parse import unquote

import deltalake
import pyarrow as pa
from deltalake.exceptions import DeltaError

from hamlet_core.errors import StreamError
from resources.storage import ListedFile, Location, Memory, WarehouseError, is_there
from resources.table_logs import opened

NOT_BY_FILES = "E453"
"""A Delta table whose files do not say by themselves what is in it."""

NOT_APPENDED = "E454"
"""A Delta table of which more than appended rows would have to be read."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\b.*")
_COPY = "write what is in it into another table, or into Parquet files; deletion vectors go by REORG TABLE ... APPLY (PURGE)"
_ANEW = "ingest the table into another --warehouse"


def files_of_table(place: Location, memory: Memory | None = None) -> list[ListedFile]:
    """The data files of the table at a place, named from there: of its latest version, if there is no `memory` of what was read
    before. With one, all rows that were appended are in files that are known, or are in the others once each; these are as old
    as the commit of their first rows, so that files of one commit agree.

    Raises StreamError E453 for a table whose files do not say by themselves what is in it, E454 where rows that were read
    were changed since, or nobody can tell which were not read; WarehouseError E516 for a damaged log.
    """
    try:
        Location.of(place.address)  # of some characters delta-rs makes others, or worse
    except WarehouseError as error:
        raise _not_by_files(place, "by its path delta-rs would find another", str(error.hint)) from error
    try:
        table = _Table(place, opened(place))
        table.refuse()
        latest = table.files()
        if memory is None or all(_has(memory, file) for file in latest.values()):
            return [*latest.values()]
        return _Appended.since(table, memory).of(latest)
    except DeltaError as error:
        why = (str(error).splitlines() or [type(error).__name__])[0]
        raise _not_by_files(place, why) from error


@dataclass(frozen=True)
class _Table:
    """A table as delta-rs has opened it."""

    place: Location
    table: deltalake.DeltaTable

    def refuse(self) -> None:
        """StreamError for a table that has rows marked as deleted, or columns under other names in its files."""
        if self.table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
            raise _not_by_files(
                self.place, "its columns have other names in its files (delta.columnMapping.mode)"
            )
        features = self.table.protocol().reader_features or []
        if "deletionVectors" in features and any(batch.num_rows for batch in self.table.deletion_vectors()):
            raise _not_by_files(self.place, "rows of its files are only marked as deleted (deletion vectors)")

    def files(self) -> dict[str, ListedFile]:
        """The files of this version, by their names."""
        added = {unquote(row["path"]): row for row in pa.table(self.table.get_add_actions()).to_pylist()}
        return {name: self._listed(name, row) for name, row in added.items()}

    def at(self, version: int) -> dict[str, ListedFile]:
        """The files of another version."""
        options = self.place.storage_options()
        return _Table(
            self.place, deltalake.DeltaTable(self.place.address, version=version, storage_options=options)
        ).files()

    def file(self, name: str, added: Mapping[str, Any], milliseconds: int) -> ListedFile:
        """A file that a commit of this time has added."""
        row = {
            "size_bytes": added["size"],
            "modification_time": milliseconds,
            "partition": {
                name: _value(text, self._types.field(name).type)
                for name, text in (added.get("partitionValues") or {}).items()
            },
        }
        return self._listed(name, row)

    @cached_property
    def _types(self) -> pa.Schema:
        return pa.schema(self.table.schema())

    def _listed(self, name: str, row: Mapping[str, Any]) -> ListedFile:
        constants = tuple(
            (column, pa.scalar(value, self._types.field(column).type))
            for column, value in sorted((row.get("partition") or {}).items())
        )
        # Its name is new whenever a file is: what is in it need not be looked at, and two appends may be alike.
        fingerprint = hashlib.sha256(f"{self.table.metadata().id}/{name}".encode()).hexdigest()
        path = name if "://" in name or name.startswith("/") else self.place.below(name).address
        modified = _EPOCH + timedelta(milliseconds=row["modification_time"])
        return ListedFile(path, name, row["size_bytes"], modified, constants, fingerprint)


@dataclass(frozen=True, slots=True)
class _Commit:
    """What a version adds and removes, by name; `same` are the files that only hold rows of the removed ones anew."""

    version: int
    what: str
    milliseconds: int
    new: Mapping[str, Mapping[str, Any]]
    same: Mapping[str, Mapping[str, Any]]
    removed: frozenset[str]

    @classmethod
    def read(cls, version: int, text: str) -> _Commit:
        """From a file of the log."""
        new: dict[str, Mapping[str, Any]] = {}
        same: dict[str, Mapping[str, Any]] = {}
        removed, what, milliseconds = set(), "?", 0
        for line in filter(str.strip, text.splitlines()):
            for kind, action in json.loads(line).items():
                match kind:
                    case "add":
                        (new if action["dataChange"] else same)[unquote(action["path"])] = action
                    case "remove":
                        removed.add(unquote(action["path"]))
                    case "commitInfo":
                        what = action.get("operation", what)
                        milliseconds = action.get("timestamp", milliseconds)
        written = (action["modificationTime"] for action in (*new.values(), *same.values()))
        return cls(version, what, milliseconds or max(written, default=0), new, same, frozenset(removed))


@dataclass(slots=True)
class _Appended:
    """Which rows were appended to a table, and where else they are by now; mutable while the log is walked.

    `sources`: by name of a file that holds rows of others, the files whose rows these are, as they came into the table or
    as they were read. Files that were written together share theirs: their commit does not say which rows went where.
    """

    table: _Table
    memory: Memory
    seen: dict[str, ListedFile] = field(default_factory=dict)
    sources: dict[str, frozenset[str]] = field(default_factory=dict)
    unclear: frozenset[str] = frozenset()
    """Files of before the log, which may be new, or hold rows anew."""

    @classmethod
    def since(cls, table: _Table, memory: Memory) -> _Appended:
        """Walk the log: from the newest checkpoint whose files are all known, else from where it begins."""
        log, latest = table.place.below("_delta_log"), table.table.version()
        names = [file.base_name for file in log.files()]
        commits = {int(one[1]) for one in map(_COMMIT.fullmatch, names) if one}
        first = next(version for version in range(latest, -2, -1) if version not in commits) + 1
        checkpoints = sorted(int(one[1]) for one in map(_CHECKPOINT.fullmatch, names) if one)
        found = cls(table, memory)
        newest = table.at(checkpoints[-1]) if checkpoints else {}
        if newest and all(_has(memory, file) for file in newest.values()):
            found.begin(newest)
            first = checkpoints[-1] + 1
        elif first > 0:
            oldest = min(one for one in checkpoints if one >= first - 1)
            found.begin(table.at(oldest))
            first = oldest + 1
        for version in range(first, latest + 1):
            found.walk(_Commit.read(version, _text(log.below(f"{version:020}.json"))))
        return found

    def begin(self, files: Mapping[str, ListedFile]) -> None:
        """With the files of a version whose log is gone."""
        self.seen |= files
        if self.memory.any_below(f"{self.table.place.address}/"):
            self.unclear = frozenset(name for name, file in files.items() if not _has(self.memory, file))

    def of(self, latest: Mapping[str, ListedFile]) -> list[ListedFile]:
        """The files to look at: those of the latest version, and those whose rows were put together before they were read."""
        found: dict[str, ListedFile] = {}
        for name, file in latest.items():
            found[name] = self.seen.get(name, file)
            if _has(self.memory, file):
                continue
            read, unread = self._parted(name)
            if self.unclear & ({name} | unread):
                raise self._unclear()
            if read:
                found[name] = replace(found[name], same_as=self.seen[min(read)].name)
                found |= {one: self.seen[one] for one in unread}
        self._require([one for name, one in found.items() if name not in latest])
        return [*found.values()]

    def walk(self, commit: _Commit) -> None:
        """One version further."""
        added = {**commit.new, **commit.same}
        put_together = commit.same.keys() - self.seen.keys()  # others are only described anew
        self.seen |= {
            name: self.table.file(name, action, commit.milliseconds) for name, action in added.items()
        }
        if put_together:
            together = frozenset(one for name in commit.removed for one in self._rows_of(name))
            self.sources |= dict.fromkeys(put_together, together)
            if times := [when for one in together if one in self.seen and (when := self.seen[one].modified)]:
                self.seen |= {name: replace(self.seen[name], modified=min(times)) for name in put_together}
        # Rows that were read may not be changed; files that go as a whole are as files that somebody moves away.
        elif commit.new and any(self._parted(name)[0] for name in commit.removed):
            raise StreamError(
                f"version {commit.version} of the Delta table {self.table.place.address} ({commit.what}) has changed "
                "rows that were read before",
                code=NOT_APPENDED,
                hint=f"what is ingested stays as it was; {_ANEW}",
            )

    def _rows_of(self, name: str) -> frozenset[str]:
        """The files whose rows a file holds: itself, if it came with them or was read."""
        if name in self.sources and not (name in self.seen and _has(self.memory, self.seen[name])):
            return self.sources[name]
        return frozenset((name,))

    def _parted(self, name: str) -> tuple[frozenset[str], frozenset[str]]:
        """Of these, the ones that were read, and the others."""
        rows = frozenset(one for one in self._rows_of(name) if one in self.seen)
        read = frozenset(one for one in rows if _has(self.memory, self.seen[one]))
        return read, rows - read

    def _require(self, files: Iterable[ListedFile]) -> None:
        """StreamError if one of these files, which are no longer in the table, is no longer there at all."""
        for file in files:
            if not is_there(file.path):
                raise StreamError(
                    f"{file.name} of the Delta table {self.table.place.address} was compacted and deleted before it was "
                    "read, together with files that were",
                    code=NOT_APPENDED,
                    hint=f"{_ANEW}; a table that is vacuumed has to be read more often",
                )

    def _unclear(self) -> StreamError:
        return StreamError(
            f"the log of the Delta table {self.table.place.address} no longer says what came since it was read",
            code=NOT_APPENDED,
            hint=f"{_ANEW}; a table has to be read more often than its log is cleaned (delta.logRetentionDuration)",
        )


def _has(memory: Memory, file: ListedFile) -> bool:
    return memory.has(file.path, file.fingerprint)


def _value(text: str | None, kind: pa.DataType) -> Any:
    """A value by which a table is partitioned, as its log writes it."""
    if not text:
        return None
    if pa.types.is_timestamp(kind) and not text.endswith("Z"):
        return pa.scalar(text).cast(pa.timestamp("us")).as_py().replace(tzinfo=kind.tz and UTC)
    return pa.scalar(text).cast(kind).as_py()


def _text(file: Location) -> str:
    filesystem, inside = file.filesystem()
    with filesystem.open_input_stream(inside) as stream:
        return bytes(stream.read()).decode()


def _not_by_files(place: Location, why: str, hint: str = _COPY) -> StreamError:
    return StreamError(
        f"the Delta table {place.address} cannot be read file by file: {why}", code=NOT_BY_FILES, hint=hint
    )
