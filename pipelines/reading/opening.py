"""Files of events, wherever they lie: a path of this machine, or a URI of a store that Arrow knows."""

from __future__ import annotations

import contextlib
import glob
import io
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, cast

import pyarrow.fs as pa_fs

from hamlet_core.errors import StreamError
from pipelines.reading.reasons import NO_SUCH_PATH
from resources.kafka_topics import is_topic, open_range, ranges_of_topic, ranges_there
from resources.storage import SCHEMES, ListedFile, Location, Memory, is_there, is_uri

BUFFER_BYTES = 1 << 20
"""That are asked of a store at once."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOG = re.compile(r"(?:^|/)_delta_log(?:/|$)")
"""The folder with the log of a Delta table, in a name."""


_OPENED: ContextVar[Callable[[str, BinaryIO], None] | None] = ContextVar("hamlet_opened_files", default=None)


def open_file(path: str) -> BinaryIO:
    """A file to read from any place in it."""
    file = _file(path)
    if opened := _OPENED.get():
        opened(path, file)
    return file


def _file(path: str) -> BinaryIO:
    if not is_uri(path):
        return Path(path).open("rb")
    if is_topic(path):
        return cast("BinaryIO", open_range(path))
    location = _location(path)
    files, _ = location.filesystem()
    return cast("BinaryIO", io.BufferedReader(files.open_input_file(location.inside), BUFFER_BYTES))


class Position:
    """How many bytes of files have been read while somebody watches; mutable: remembers the last file.

    It looks where the open file stands: reading does not know of it, and costs no more.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self._before: dict[str, int] = {}
        self._last: tuple[str, BinaryIO] | None = None

    @contextlib.contextmanager
    def watching(self) -> Iterator[Position]:
        """While the block runs, files that are opened in this thread count."""
        token = _OPENED.set(self._opened)
        try:
            yield self
        finally:
            _OPENED.reset(token)

    def bytes(self) -> int:
        """Of all files, each counted once."""
        done, last = sum(self._before.values()), self._last
        if last is None or last[0] in self._before:
            return done
        try:
            return done + last[1].tell()
        except (OSError, ValueError):  # it is closed: all of it is read
            return done + self.sizes.get(last[0], 0)

    def _opened(self, path: str, file: BinaryIO) -> None:
        if self._last is not None and self._last[0] != path:
            self._before[self._last[0]] = self.sizes.get(self._last[0], 0)
        self._last = path, file


def visible_files(place: str | Path, memory: Memory | None = None) -> tuple[ListedFile, ...] | None:
    """All files at or below a place that are not hidden, sorted by name; None where there is no such place.

    A path with `*`, `?` or `[...]` is the files and folders that it matches, if nothing has this very name. Hidden are files
    and folders whose name begins with `.` or `_`. Of a Delta table they are the files of its latest version; with a
    `memory` what was appended to it, as `files_of_table` says; of a Kafka topic ranges of messages, as `ranges_of_topic`
    says. Raises StreamError for a store or broker that does not answer, and for a table that cannot be read file by file.
    """
    if is_topic(place):
        return tuple(sorted(ranges_of_topic(str(place), memory), key=lambda file: file.name))
    location = _location(str(place)) if is_uri(place) else None
    if location is None or location.local is not None:
        found = _in_folder(Path(place) if location is None else cast("Path", location.local), memory)
    else:
        found = _in_store(location, memory)
    return None if found is None else tuple(sorted(found, key=lambda file: file.name))


def still_there(paths: Iterable[str]) -> frozenset[str]:
    """Those of files that never change which are still where they were."""
    paths = frozenset(paths)
    ranges = frozenset(filter(is_topic, paths))
    return ranges_there(ranges) | frozenset(filter(is_there, paths - ranges))


def is_pattern(place: str | Path) -> bool:
    """Whether a place stands for the files whose paths match it."""
    return not is_uri(place) and glob.has_magic(str(place)) and not Path(place).exists()


def _in_folder(root: Path, memory: Memory | None) -> list[ListedFile] | None:
    if is_pattern(root):
        return _matching(root, memory)
    if not root.exists():
        return None
    return _listed([root], root.parent) if root.is_file() else _below(root.rglob("*"), root, memory)


def _matching(pattern: Path, memory: Memory | None) -> list[ListedFile] | None:
    """The files that a pattern matches, and those below the folders that it does; None if there is no match."""
    plain = Path(*itertools.takewhile(lambda part: not glob.has_magic(part), pattern.parts))
    matches = list(plain.glob(pattern.relative_to(plain).as_posix()))
    if not matches:
        return None
    below = {one for path in matches for one in (path.rglob("*") if path.is_dir() else (path,))}
    return _below(below, plain, memory)


def _below(paths: Iterable[Path], root: Path, memory: Memory | None) -> list[ListedFile]:
    """Those of the paths that are files, named from `root` on; of Delta tables among them what their logs say."""
    by_name = {path.relative_to(root).as_posix(): path for path in paths}
    tables, names = _apart(by_name)
    found = _listed((by_name[name] for name in names), root)
    for name in tables:
        found += _of_table(Location(str((root / name).resolve())), name, memory)
    return found


def _apart(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The folders with the log of a Delta table (empty: the place itself), and the names that are not hidden and belong to none."""
    names = tuple(names)
    logs = {name[: cut.start()].rstrip("/") for name in names if (cut := _LOG.search(name))}
    tables = sorted(name for name in logs if not _hidden(name))
    below = tuple(f"{name}/" if name else "" for name in tables)
    return tuple(tables), tuple(name for name in names if not _hidden(name) and not name.startswith(below))


def _of_table(place: Location, prefix: str, memory: Memory | None) -> list[ListedFile]:
    from resources.delta_sources import files_of_table  # only who has a Delta table waits for delta-rs

    return [replace(one, name=f"{prefix}/{one.name}".lstrip("/")) for one in files_of_table(place, memory)]


def _listed(paths: Iterable[Path], root: Path) -> list[ListedFile]:
    """Those of the paths that are files, named from `root` on."""
    found = []
    for path in paths:
        with contextlib.suppress(FileNotFoundError):  # somebody has just moved it away
            stat = path.stat()
            if S_ISREG(stat.st_mode):
                name = path.relative_to(root).as_posix()
                found.append(ListedFile(str(path.resolve()), name, stat.st_size, _moment(stat.st_mtime_ns)))
    return found


def _in_store(location: Location, memory: Memory | None) -> list[ListedFile] | None:
    try:
        files, inside = location.filesystem()
        (root,) = files.get_file_info([inside])
        if root.type == pa_fs.FileType.NotFound:
            return None
        if root.type == pa_fs.FileType.File:
            return [ListedFile(location.address, root.base_name, root.size, _moment(root.mtime_ns))]
        below = files.get_file_info(pa_fs.FileSelector(inside, recursive=True))
    except OSError as error:
        raise StreamError(
            f"{location.address} cannot be listed: {str(error).splitlines()[0]}",
            code=NO_SUCH_PATH,
            hint="credentials, region and endpoint come from the environment, by the names that the store's tools use",
        ) from error
    start = len(inside.rstrip("/")) + 1
    named = {file.path[start:]: file for file in below if file.type == pa_fs.FileType.File}
    tables, names = _apart(named)
    found = [
        ListedFile(location.below(name).address, name, named[name].size, _moment(named[name].mtime_ns))
        for name in names
    ]
    for name in tables:
        found += _of_table(location.below(name) if name else location, name, memory)
    return found


def _location(uri: str) -> Location:
    found = Location.of_events(uri)
    if found is None:
        hint = f"give a path, or a URI that begins with {', '.join(f'{scheme}://' for scheme in SCHEMES)}"
        raise StreamError(f"events cannot be read from {uri}", code=NO_SUCH_PATH, hint=hint)
    return found


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) for part in name.split("/"))


def _moment(nanoseconds: int | None) -> datetime | None:
    return None if nanoseconds is None else _EPOCH + timedelta(microseconds=nanoseconds // 1000)
