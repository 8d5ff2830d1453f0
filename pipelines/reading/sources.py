"""Files to read: a path or a URI of the user in, the event files below it out, each with a fingerprint of its content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Any, cast

import pyarrow as pa

from hamlet_core.errors import StreamError
from pipelines.reading.decoding import PACKED, is_packed, unpacked_name
from pipelines.reading.opening import (
    BUFFER_BYTES,
    is_pattern,
    open_file,
    still_there,
    visible_files,
)
from pipelines.reading.reasons import NO_SUCH_PATH
from resources.kafka_topics import ever_sent, is_topic, ranges_again
from resources.storage import ListedFile, Memory


class Format(StrEnum):
    """How a file is read; decided by its suffix."""

    CSV = "csv"
    """Comma-separated values with a header (also `;`, tab or `|` if the header has no comma)."""
    JSON = "json"
    """JSON lines: one object a line."""
    PARQUET = "parquet"
    """Apache Parquet."""


SUFFIXES = {
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
    ".parquet": Format.PARQUET,
}
"""What a name ends in; files of text may be packed, as in `.csv.gz`."""

IF_NAMED = {".txt": Format.CSV}
"""Such files of a folder are no events: they explain them, as a rule."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of events: absolute path or URI, `name` relative to what the user gave, SHA-256 of the content and its bytes.

    `modified` is when the file was last changed before that, where its place tells. Files of a Delta table are `lasting`:
    they never change, and their fingerprint is that of their name; `constants` and `same_as` are those of `ListedFile`.
    """

    path: str
    name: str
    size: int
    fingerprint: str
    format: Format
    modified: datetime | None = None
    constants: tuple[tuple[str, pa.Scalar], ...] = ()
    lasting: bool = False
    same_as: str = ""


def listing(place: str | Path, memory: Memory | None = None) -> tuple[ListedFile, ...]:
    """The event files at a place without a look into them, sorted by name; none where there is no such place."""
    return tuple(file for file in visible_files(place, memory) or () if _format(file, place) is not None)


def awaited(place: str | Path) -> bool:
    """Whether there is no event file yet where some may come: in a folder, or where a pattern matches nothing."""
    if is_topic(place):
        return not ever_sent(str(place))
    found = visible_files(place)
    if found is None:
        return is_pattern(place)
    events = any(_format(file, place) is not None for file in found)
    return not events and [file.path for file in found] != [str(place)]


def discover(place: str | Path, memory: Memory | None = None) -> tuple[SourceFile, ...]:
    """The event files at a place (a file, a folder with all its subfolders, a pattern; a path or a URI), sorted by name.

    Hidden files and files whose name begins with `_` are never read. Of Delta tables they are the files of the latest
    version, or with a `memory` of what was read before, all that was appended; of a topic with one, what was not read, which
    may be nothing. Raises `StreamError` E450 if there is none,
    E453 and E454 for a Delta table that cannot be read so.
    """
    return _by_name(place, (_looked_at(one, place, memory) for one in _event_files(place, memory)))


def discover_first(place: str | Path, memory: Memory, at_most: int) -> tuple[tuple[SourceFile, ...], int]:
    """As `discover`, but of the files that nobody has read only the oldest ones, so many at most (what came into a Delta table by
    one commit stays together); and how many were left without a look at them.
    """
    known: list[ListedFile] = []
    new: list[ListedFile] = []
    for one in _event_files(place, memory):
        fingerprint = one.fingerprint or memory.known(one)
        (known if fingerprint and memory.has(one.path, fingerprint) else new).append(one)
    new.sort(key=lambda one: (one.modified.timestamp() if one.modified else 0.0, one.name))
    files = [_looked_at(one, place, memory) for one in known]
    fresh: set[str] = set()
    for number, one in enumerate(new):
        together = one.fingerprint and number and one.modified == new[number - 1].modified
        if len(fresh) >= at_most and not together:
            return _by_name(place, files), len(new) - number
        file = _looked_at(one, place, memory)
        files.append(file)
        if file is not None and not (file.same_as or memory.has(file.path, file.fingerprint)):
            fresh.add(file.fingerprint)
    return _by_name(place, files), 0


def read_again(place: str | Path, known: Mapping[str, str]) -> tuple[SourceFile, ...]:
    """Of files that were read before, by path their fingerprints, those that `discover` does not name and that are there: of a
    topic, which has no end. Raises as it does.
    """
    found = ranges_again(str(place), known) if is_topic(place) else []
    return _by_name(place, (_looked_at(one, place, None) for one in found)) if found else ()


def _by_name(place: str | Path, files: Iterable[SourceFile | None]) -> tuple[SourceFile, ...]:
    """Those that are there, sorted."""
    found = [file for file in files if file is not None]
    if not found and not is_topic(place):
        raise _none(place)
    return tuple(sorted(found, key=lambda file: file.name))


def _event_files(place: str | Path, memory: Memory | None) -> list[ListedFile]:
    found = visible_files(place, memory)
    if found is None:
        raise StreamError(f"no such file or folder: {place}", code=NO_SUCH_PATH)
    files = [file for file in found if _format(file, place) is not None]
    if not files and not (is_topic(place) and ever_sent(str(place), memory)):
        raise _none(place)
    return files


def _none(place: str | Path) -> StreamError:
    return StreamError(
        f"no event files at {place}",
        code=NO_SUCH_PATH,
        hint=f"files end in {', '.join(SUFFIXES)}, those of text also in {', '.join(PACKED)} after it; "
        "other files are ignored",
    )


def changed_since(place: str | Path, files: Iterable[SourceFile]) -> frozenset[str]:
    """The paths of those files at a place that are no longer as they were when they were looked at, or are gone."""
    files = tuple(files)
    plain = [file for file in files if not file.lasting]
    now = {file.path: (file.size, file.modified) for file in listing(place)} if plain else {}
    changed = {file.path for file in plain if now.get(file.path) != (file.size, file.modified)}
    lasting = frozenset(file.path for file in files if file.lasting)
    return frozenset(changed | (lasting - still_there(lasting)))


def fingerprint_of_first(path: str, size: int) -> str:
    """SHA-256 of the first bytes of a file."""
    found = hashlib.sha256()
    with open_file(path) as content:
        while size > 0 and (piece := content.read(min(size, BUFFER_BYTES))):
            found.update(piece)
            size -= len(piece)
    return found.hexdigest()


def ignored(place: str | Path) -> tuple[str, ...]:
    """Names of the files at a place that `discover` passes over, sorted."""
    if is_topic(place):
        return ()
    return tuple(file.name for file in visible_files(place) or () if _format(file, place) is None)


def _format(file: ListedFile, place: str | Path) -> Format | None:
    """How a file at a place is read; None if it is none of events. Parquet packs what it holds itself."""
    named = is_pattern(place) or PurePosixPath(file.name).name == PurePosixPath(place).name
    found = (SUFFIXES | IF_NAMED if named else SUFFIXES).get(_suffix(unpacked_name(file.name)))
    return None if is_packed(file.name) and found is Format.PARQUET else found


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _looked_at(file: ListedFile, place: str | Path, memory: Memory | None) -> SourceFile | None:
    """A file with its fingerprint; None if somebody has just moved it away."""
    form = _format(file, place)
    assert form is not None  # noqa: S101 - it is one of events
    size = file.size
    fingerprint = file.fingerprint or (memory.known(file) if memory else None)
    if fingerprint is None:
        try:
            with open_file(file.path) as content:
                fingerprint = hashlib.file_digest(cast("Any", content), "sha256").hexdigest()
                size = content.tell()  # of a file that grows meanwhile, other than its folder said
        except FileNotFoundError:
            return None
    return SourceFile(
        *(file.path, file.name, size, fingerprint, form, file.modified),
        constants=file.constants,
        lasting=bool(file.fingerprint),
        same_as=file.same_as,
    )
