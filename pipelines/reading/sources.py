"""Files to read: a path of the user in, the event files below it out, each with a fingerprint of its content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from hamlet_core.errors import StreamError
from pipelines.reading.reasons import NO_SUCH_PATH


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
    ".json": Format.JSON,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
    ".parquet": Format.PARQUET,
}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of events: absolute `path`, `name` relative to what the user gave, bytes, SHA-256 of the content."""

    path: str
    name: str
    size: int
    fingerprint: str
    format: Format


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of events as its folder shows it: absolute `path`, bytes, and when it was last written (epoch seconds)."""

    path: str
    size: int
    modified: float


def listing(path: str | Path) -> tuple[ListedFile, ...]:
    """The event files at `path` without a look into them, sorted by name; none where there is no such place."""
    root = Path(path)
    if not root.exists():
        return ()
    found = ((file, file.stat()) for file in _walk(root) if file.suffix.lower() in SUFFIXES)
    return tuple(ListedFile(str(file.resolve()), stat.st_size, stat.st_mtime) for file, stat in found)


def discover(path: str | Path) -> tuple[SourceFile, ...]:
    """The event files at `path` (a file, or a folder with all its subfolders), sorted by name.

    Hidden files and files whose name begins with `_` are never read. Raises `StreamError` E450 if there is none.
    """
    root = Path(path)
    if not root.exists():
        raise StreamError(f"no such file or folder: {root}", code=NO_SUCH_PATH)
    files = tuple(_source(found, root) for found in _walk(root) if found.suffix.lower() in SUFFIXES)
    if not files:
        raise StreamError(
            f"no event files at {root}",
            code=NO_SUCH_PATH,
            hint=f"files end in {', '.join(SUFFIXES)}; other files are ignored",
        )
    return files


def ignored(path: str | Path) -> tuple[str, ...]:
    """Names of the files below `path` that `discover` passes over, sorted."""
    root = Path(path)
    return tuple(_name(found, root) for found in _walk(root) if found.suffix.lower() not in SUFFIXES)


def _walk(root: Path) -> list[Path]:
    """All visible files at or below `root`, sorted by relative name."""
    if root.is_file():
        return [root]
    found = (path for path in root.rglob("*") if path.is_file() and not _hidden(path.relative_to(root)))
    return sorted(found, key=lambda path: _name(path, root))


def _hidden(relative: Path) -> bool:
    return any(part.startswith((".", "_")) for part in relative.parts)


def _name(path: Path, root: Path) -> str:
    return path.name if path == root else path.relative_to(root).as_posix()


def _source(path: Path, root: Path) -> SourceFile:
    with path.open("rb") as content:
        fingerprint = hashlib.file_digest(content, "sha256").hexdigest()
    suffix = SUFFIXES[path.suffix.lower()]
    return SourceFile(str(path.resolve()), _name(path, root), path.stat().st_size, fingerprint, suffix)
