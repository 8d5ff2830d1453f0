"""What stopped a run, in words for people: exceptions of Spark, Arrow, SQLite and the system in, a HamletError out.

Only here are foreign messages read; who has no name for one gets its first line, never the whole of it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import deltalake
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from hamlet_core.errors import HamletError
from resources.dagster_store import HOME, damaged_store
from resources.environments import environment
from resources.problems import EnvironmentProblem
from resources.rights import existing, first_forbidden, within
from resources.storage import WarehouseError
from resources.table_logs import cure_of, damaged_log

PASSING = frozenset({"E511"})
"""Codes of failures after which the same step may succeed."""

ROOM = 1 << 20
"""Bytes that a disk has left when it counts as full: so much is needed to write down what went wrong."""

KEPT = ".hamlet.room"
"""The file that keeps room in the folder of the tables while a run has it."""

_AGAIN = "then run it again: nothing is lost, and it goes on from what is there"
_FULL = ("No space left on device", "database or disk is full", "Disk quota exceeded")
_NO_RIGHT = (errno.EACCES, errno.EPERM, errno.EROFS)
_FORBIDDEN = (
    "Permission denied",
    "Operation not permitted",
    "Read-only file system",
    "AccessDeniedException",
    "readonly database",
    "unable to open database file",
    "Mkdirs failed",
)
_DAMAGED = (
    "FAILED_READ_FILE",
    "FAILED_TO_READ_FILE",
    "Parquet",
    "parquet",
    "DELTA_FILE_NOT_FOUND",
    "No such file",
)
_OF_LOGS = ("_delta_log", "delta log", "JsonParseException", "Kernel error", "DELTA_")
_BROKEN_STORE = ("disk image is malformed", "file is not a database")
_DATA_FILE = re.compile(r"[^\s'\"]*?([^\s'\"/]+)/((?:[^\s'\"/]+=[^\s'\"/]+/)*(?:part-)?[^\s'\"/]+\.parquet)")

_MORE_MEMORY = "set HAMLET_DRIVER_MEMORY to more than the {memory} it has now"
_MEANINGS = (
    (
        ("java.lang.OutOfMemoryError", "Java heap space"),
        ("Spark ran out of memory", "E507", _MORE_MEMORY),
    ),
    (
        (
            "Python worker exited unexpectedly",
            "Python worker failed to connect back",
            "reading the port number from",
        ),
        (
            "a Python worker of Spark was killed in the middle of a task",
            "E511",
            "mostly the system does that when memory runs out: free some, or set HAMLET_PARALLELISM higher",
        ),
    ),
    (
        (
            "Answer from Java side is empty",
            "Error while sending or receiving",
            "An error occurred while trying to connect to the Java server",
            "Cannot call methods on a stopped SparkContext",
            "All masters are unresponsive",
            "Master removed our application",
        ),
        (
            "Spark ended in the middle of a run",
            "E512",
            f"its JVM, or the master of its cluster, was stopped, or ran out of memory: then {_MORE_MEMORY}",
        ),
    ),
)
"""What is said somewhere in the chain of causes; message, code and cure of what it means."""


def explained(failure: BaseException, folder: Path | None = None) -> HamletError | None:
    """The error that stands for whatever stopped a run with tables in `folder`; None if nobody can say more of it."""
    chain = tuple(causes(failure))
    for cause in chain:
        if isinstance(cause, HamletError):
            return cause
    known = _named(chain, folder)
    if known is not None:
        known.__cause__ = failure
    return known


def _named(chain: tuple[BaseException, ...], folder: Path | None) -> HamletError | None:
    said = "\n".join(text for cause in chain for text in _texts(cause))
    if refused := _not_allowed(chain, said, folder):
        return refused
    if _disk_is_full(chain, said, folder):
        return disk_full(folder)
    if damaged := _damaged(said, folder) or _damaged_log(said, folder) or _damaged_store(said, folder):
        return damaged
    for signs, (message, code, cure) in _MEANINGS:
        if any(sign in said for sign in signs):
            now = cure.format(memory=environment().driver_memory)
            return EnvironmentProblem(message, code=code, hint=f"{now}; {_AGAIN}")
    if any(isinstance(cause, Py4JError | PySparkException) for cause in chain):
        return EnvironmentProblem(
            f"Spark failed: {_first_line(said)}", code="E513", hint="--debug shows all that Spark says"
        )
    return None


def causes(failure: BaseException | None) -> Iterator[BaseException]:
    """An exception and what it wraps, in Dagster's way or Python's; Dagster's chains can be circles."""
    seen: set[int] = set()
    while failure is not None and id(failure) not in seen:
        seen.add(id(failure))
        yield failure
        failure = getattr(failure, "user_exception", None) or failure.__cause__ or failure.__context__


def require_room(folder: Path | None) -> None:
    """Raise EnvironmentProblem (E510) where the disk of a folder has so little left that a write may not end."""
    if folder is not None and (_free(folder) < ROOM or _has_no_inodes(folder)):
        raise disk_full(folder)


@contextlib.contextmanager
def room_kept(folder: Path | None) -> Iterator[None]:
    """Keep some room on the disk of a folder, which is given back when it is full: so that the run can say so."""
    if folder is None:
        yield
        return
    try:
        with (folder / KEPT).open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, ROOM // 2)
        yield
    finally:
        (folder / KEPT).unlink(missing_ok=True)


def disk_full(folder: Path | None) -> EnvironmentProblem:
    """The error for a disk without room: that of the tables, or the one that Spark keeps its own files on."""
    places = [existing(folder)] if folder is not None else []
    places.append(Path(tempfile.gettempdir()))
    place = min(places, key=_free)
    if folder is not None:
        (folder / KEPT).unlink(missing_ok=True)
    if _free(place) >= ROOM and (crowded := [one for one in places if _has_no_inodes(one)]):
        files = os.statvfs(crowded[0]).f_files
        return EnvironmentProblem(
            f"the disk of {crowded[0]} has no inode left: it holds {files:,} files and folders, and takes no more, "
            f"with {_free(crowded[0]) >> 20:,} MiB free",
            code="E510",
            hint=f"delete files there, or make a file system with more inodes (`df -i` counts them); {_AGAIN}",
        )
    left, total = _free(place) >> 10, shutil.disk_usage(place).total >> 20
    return EnvironmentProblem(
        f"the disk of {place} is full: {left:,} KiB of {total:,} MiB are left",
        code="E510",
        hint=f"make room there; {_AGAIN}",
    )


def _not_allowed(
    chain: tuple[BaseException, ...], said: str, folder: Path | None
) -> EnvironmentProblem | None:
    """The error for a missing right, if one is in the way."""
    refused = [cause for cause in chain if isinstance(cause, OSError) and cause.errno in _NO_RIGHT]
    if not refused and not any(words in said for words in _FORBIDDEN):
        return None
    named = [Path(os.fsdecode(cause.filename)) for cause in refused if cause.filename is not None]
    of_tables = within(folder) if folder is not None else ()
    return first_forbidden((*named, Path(tempfile.gettempdir()), *of_tables))


def _disk_is_full(chain: tuple[BaseException, ...], said: str, folder: Path | None) -> bool:
    if any(isinstance(cause, OSError) and cause.errno in {errno.ENOSPC, errno.EDQUOT} for cause in chain):
        return True
    if any(words in said for words in _FULL):
        return True
    # SQLite and delta-rs say something else where no byte can be written: then the disk itself is asked.
    other = (
        any(isinstance(cause, OSError | sqlite3.Error | Py4JError) for cause in chain) or "sqlite3" in said
    )
    return other and folder is not None and _free(folder) < ROOM // 4


def _damaged(said: str, folder: Path | None) -> WarehouseError | None:
    """The error for a data file of a table that cannot be read, with its name."""
    if folder is None or not any(words in said for words in _DAMAGED):
        return None
    for found in _DATA_FILE.finditer(said):
        table, file = found.groups()
        path = folder / table / file
        if path.parent.is_dir() and (path.exists() or _is_live(folder / table, path)):
            return damaged_file(folder / table, path)
    return None


def _damaged_log(said: str, folder: Path | None) -> WarehouseError | None:
    """The error for the log of a table that cannot be read."""
    if folder is None or not any(words in said for words in _OF_LOGS):
        return None
    logs = sorted(folder.glob("*/_delta_log"))
    return next((found for log in logs if (found := damaged_log(log.parent))), None)


def _damaged_store(said: str, folder: Path | None) -> EnvironmentProblem | None:
    """The error for a database of Dagster that SQLite cannot read."""
    if folder is None or not any(words in said for words in _BROKEN_STORE):
        return None
    return damaged_store(folder / HOME)


def _is_live(table: Path, file: Path) -> bool:
    """Whether a file is one of those that a table has now."""
    try:
        return any(uri.endswith(file.name) for uri in deltalake.DeltaTable(table).file_uris())
    except DeltaError:
        return False


def damaged_file(table: Path, path: Path) -> WarehouseError:
    """The error for a file of the table in a folder that is damaged or gone."""
    state = "is damaged" if path.exists() else "is gone"
    return WarehouseError(
        f"a data file of the table {table.name} {state}: {path}", code="E514", hint=cure_of(table)
    )


def _texts(cause: BaseException) -> Iterator[str]:
    """What an exception says, and its causes in the JVM, as far as that still answers."""
    try:
        yield str(cause)
        java = getattr(cause, "java_exception", None) or getattr(cause, "_origin", None)
        while java is not None:
            yield str(java.toString())
            java = java.getCause()
    except Exception as broken:  # noqa: BLE001 - a dead JVM: what it said is gone
        yield f"{type(broken).__name__}: {broken}"


def _first_line(said: str) -> str:
    """The last cause that Java names, else the first line."""
    named = re.findall(r"(?:Caused by: |^)(?:[a-z]\w*\.)+\w*(?:Exception|Error): (.+)", said, re.MULTILINE)
    lines = [line.strip() for line in (*reversed(named), *said.splitlines()) if line.strip()]
    return lines[0][:300] if lines else "it does not say why"


def _has_no_inodes(folder: Path) -> bool:
    """Whether a disk that counts its files can take no further one."""
    disk = os.statvfs(existing(folder))
    return disk.f_files > 0 and disk.f_favail == 0


def _free(folder: Path) -> int:
    return shutil.disk_usage(existing(folder)).free
