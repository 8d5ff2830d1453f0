"""The log of a Delta table as files: which one of them is damaged, and what to do for a table of that name."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.exceptions import DeltaError

from resources import tables
from resources.storage import Location, WarehouseError

_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\..*")
_LAST = "_last_checkpoint"
_SOURCES = ("events", tables.LEDGER.name, tables.QUARANTINE.name)
"""What is made of files of events; every other table of ours is computed from these."""

_KNOWN = {table.name for table in tables.ALL}
_OF_QUERY = "__"
"""In the names of the tables that queries have for themselves."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A file of a log, what is wrong with it, and the files that say nothing which the sound commits do not say."""

    file: Path
    what: str
    needless: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class _Opened:
    """A table as it was opened last; others may go on with it, so it may have come to a later version since."""

    table: deltalake.DeltaTable
    stamp: tuple[int, ...] | None
    """Of its log then."""


_opened: dict[Path, _Opened] = {}
"""By folder. A stream looks at its tables a hundred times for a micro-batch, and their logs have a thousand files in an hour."""


def is_table(place: Location) -> bool:
    """Is there a Delta table?"""
    if place.local is None:
        return deltalake.DeltaTable.is_deltatable(place.address, place.storage_options())
    try:
        with os.scandir(place.local / "_delta_log") as files:  # delta-rs would look at all of them
            return any(_COMMIT.fullmatch(file.name) or _CHECKPOINT.fullmatch(file.name) for file in files)
    except (FileNotFoundError, NotADirectoryError):
        return False


def opened(place: Location, version: int | None = None) -> deltalake.DeltaTable:
    """A table through delta-rs, the latest version the same for all of this process as long as its log is as it was; WarehouseError
    (E516) where a file of its log is damaged.
    """
    folder = place.local
    if folder is None or version is not None:
        return _open(place, folder, version)
    known = _opened.get(folder)
    if known is None or known.stamp is None or known.stamp != _stamp(folder / "_delta_log", known.table):
        found = _open(place, folder, None)
        known = _opened[folder] = _Opened(found, _stamp(folder / "_delta_log", found))
    return known.table


def _stamp(log: Path, found: deltalake.DeltaTable) -> tuple[int, ...] | None:
    """What tells a log from what it was, however it was changed; None where a later version is there already."""
    version = found.version()
    try:
        there = [one.stat() for one in (log, log / f"{version:020}.json")]
    except OSError:
        return None
    if (log / f"{version + 1:020}.json").exists():
        return None
    return (version, *(part for one in there for part in (one.st_ino, one.st_size, one.st_mtime_ns)))


def _open(place: Location, folder: Path | None, version: int | None) -> deltalake.DeltaTable:
    """Opened anew."""
    try:
        found = deltalake.DeltaTable(place.address, version=version, storage_options=place.storage_options())
    except DeltaError as failure:
        known = damaged_log(folder) if folder is not None else None
        if known is None:
            raise
        raise known from failure
    if folder is not None and _is_empty(folder / "_delta_log", found.version()):
        raise _said(folder, Damage(folder / "_delta_log" / f"{found.version():020}.json", "is empty"))
    return found


def commits_since_checkpoint(place: Location, version: int) -> int:
    """How many commits a reader of this version of a table has to read, besides a checkpoint."""
    files, folder = place.below("_delta_log").filesystem()
    try:
        with files.open_input_stream(f"{folder}/{_LAST}") as file:
            return version - int(json.loads(file.read())["version"])
    except (OSError, ValueError, TypeError, KeyError):
        return version + 1


def damaged_log(folder: Path) -> WarehouseError | None:
    """The error for the table in `folder`, if a file of its log is damaged or missing."""
    found = find_damage(folder / "_delta_log")
    return None if found is None else _said(folder, found)


def _said(folder: Path, found: Damage) -> WarehouseError:
    if found.needless:
        named = " and ".join(one.name for one in found.needless)
        cure = f"nothing is lost: delete {named} in that folder, for the commits beside them say the same"
    else:
        cure = cure_of(folder)
    return WarehouseError(
        f"the log of the table {folder.name} is damaged: {found.file} {found.what}", code="E516", hint=cure
    )


def cure_of(folder: Path) -> str:
    """What brings back the table in `folder`, of which a file is lost."""
    if folder.name in _SOURCES:
        return (
            "bring the folder of the table back from a copy of the warehouse; "
            "without one, ingest the files again into a new --warehouse"
        )
    if folder.name not in _KNOWN and _OF_QUERY not in folder.name:
        return "bring it back from a copy, or move the folder away"
    return (
        f"the table is computed from others: delete the folder {folder} and run again "
        "(a workload with partitions: `hamlet backfill` over all of them)"
    )


def find_damage(log: Path) -> Damage | None:
    """The first file of a log that cannot be what Delta has written there; None if all may be."""
    names = sorted(path.name for path in log.iterdir()) if log.is_dir() else []
    commits = {int(match[1]): log / match[0] for name in names if (match := _COMMIT.fullmatch(name))}
    checkpoints = {log / match[0]: int(match[1]) for name in names if (match := _CHECKPOINT.fullmatch(name))}
    wrong = {path: what for path in checkpoints if (what := _wrong_checkpoint(path)) is not None}
    sound = {version for path, version in checkpoints.items() if path not in wrong}
    broken = _broken_commit(log, commits, max(sound, default=-1))
    last = log / _LAST
    if broken is None and not wrong and last.exists() and (what := _wrong_hint(last, sound)):
        return Damage(last, what, (last,))
    if wrong:
        path, what = next(iter(wrong.items()))
        needless = (*wrong, *((last,) if last.exists() else ())) if broken is None else ()
        return Damage(path, what, needless)
    return broken


def _is_empty(log: Path, version: int) -> bool:
    """Whether the commit of a version is a file without bytes, which a power loss leaves; readers take it for no change."""
    commit = log / f"{version:020}.json"
    return commit.is_file() and not commit.stat().st_size


def _broken_commit(log: Path, commits: dict[int, Path], checkpoint: int) -> Damage | None:
    """The first commit after a checkpoint that is not there or not whole."""
    later = [version for version in commits if version > checkpoint]
    for version in range(checkpoint + 1, max(later, default=checkpoint) + 1):
        path = commits.get(version)
        if path is None:
            return Damage(log / f"{version:020}.json", "is missing")
        if (what := _wrong_commit(path)) is not None:
            return Damage(path, what)
    if not later and checkpoint < 0:
        return Damage(log / f"{0:020}.json", "is missing")
    return None


def _wrong_commit(path: Path) -> str | None:
    content = path.read_bytes()
    if not content.strip():
        return "is empty"
    try:
        actions = [json.loads(line) for line in content.splitlines() if line.strip()]
    except ValueError:
        return "is cut off or overwritten"
    return None if all(isinstance(action, dict) for action in actions) else "is overwritten"


def _wrong_checkpoint(path: Path) -> str | None:
    if path.suffix != ".parquet":
        return None
    try:
        pq.ParquetFile(path).read()
    except (pa.ArrowException, OSError):
        return "is cut off or overwritten"
    return None


def _wrong_hint(path: Path, checkpoints: set[int]) -> str | None:
    """What is wrong with the file that names the last checkpoint."""
    try:
        version = json.loads(path.read_bytes())["version"]
    except (ValueError, TypeError, KeyError):
        return "is cut off or overwritten"
    return None if version in checkpoints else f"names checkpoint {version}, which is missing"
