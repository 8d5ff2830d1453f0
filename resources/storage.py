"""Where a warehouse is: a folder of this machine, or a URI that Spark, Arrow and delta-rs know alike.

Nothing here holds a credential: each of the three finds them in the environment, by the names their stores use.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pa_fs

from hamlet_core.errors import HamletError

Place = str | Path
"""A path or a URI, as users and settings give it."""

STATE = "HAMLET_STATE"
"""Environment variable: where this machine keeps what belongs to warehouses that are elsewhere."""

SCHEMES = {
    "file": "file",
    "s3": "s3",
    "s3a": "s3",
    "abfss": "abfss",
    "abfs": "abfss",
    "gs": "gs",
    "hdfs": "hdfs",
}
"""How a scheme is written by users, and here."""
_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")
_UNREADABLE = re.compile(r"[\x00-\x1f\x7f`\[\]\\^|]|%[0-9A-Fa-f]{2}")
# Spark takes %20 in a URI for three characters, delta-rs for a blank: neither may be there.
_SAME_FOR_ALL = re.compile(r"[A-Za-z0-9_.:@=+~/-]+")
_CREDENTIALS = {"s3": "AWS_", "abfss": "AZURE_", "gs": "GOOGLE_"}
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")


class WarehouseError(HamletError, RuntimeError):
    """The warehouse does not allow what was asked, and says what to do."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as its folder shows it: absolute path or URI, name below what the user gave, bytes, last change.

    Of a file of a Delta table, which never changes: `constants` are columns that stand beside it and not in it, by which the
    table is partitioned; `fingerprint` stands for its content; its rows may be those of files that are known (`same_as`
    names one).
    """

    path: str
    name: str
    size: int
    modified: datetime | None
    """UTC; None where the store does not tell."""
    constants: tuple[tuple[str, pa.Scalar], ...] = ()
    fingerprint: str = ""
    same_as: str = ""


class Memory(Protocol):
    """What somebody knows of files that were read before."""

    def known(self, file: ListedFile) -> str | None:
        """The fingerprint of a file that need not be read again, because it is as it was."""

    def has(self, path: str, fingerprint: str) -> bool:
        """Whether a file that never changes was read."""

    def any_below(self, address: str) -> bool:
        """Whether any file was read whose path begins so."""

    def read_of(self, topic: str) -> Mapping[int, Sequence[tuple[int, int]]]:
        """What was read of a topic, by its identity: of each partition from which offset up to which, in order."""


@dataclass(frozen=True, slots=True)
class Location:
    """A folder by its address: an absolute path without `..` and links, or a URI without a slash at its end.

    Spark resolves such parts of a path, delta-rs does not: with them, one folder would be two.

    >>> Location.of("s3a://bucket/events/").below("day=1").address
    's3://bucket/events/day=1'
    """

    address: str

    @classmethod
    def of(cls, place: Place) -> Location:
        """The location that a user has given; WarehouseError for a URI that not all readers understand."""
        text = os.fspath(place)
        match = _URI.match(text)
        if match is None:
            path = os.path.realpath(text)
            if found := _UNREADABLE.search(path):
                wrong = f"of {found[0]!r} in a path, Spark or delta-rs makes another; choose a folder without"
                raise _refused(
                    text, f"{wrong} ` [ ] \\ ^ |, control characters, and % before two hexadecimal digits"
                )
            return cls(path)
        parts = urlsplit(text)
        scheme = SCHEMES.get(parts.scheme)
        if scheme is None:
            raise _refused(text, f"the scheme is one of {', '.join(SCHEMES)}")
        if scheme == "file" and parts.netloc not in ("", "localhost"):
            raise _refused(text, "write file:///folder, with three slashes")
        if scheme != "file" and not parts.netloc:
            raise _refused(text, f"write {scheme}://BUCKET_OR_HOST/folder")
        if not _SAME_FOR_ALL.fullmatch(text):
            raise _refused(text, "use letters, digits and _ . : @ = + ~ / - only")
        if scheme == "file":
            return cls(f"file://{os.path.realpath(parts.path)}")
        return cls(f"{scheme}://{parts.netloc}{parts.path.rstrip('/')}")

    @classmethod
    def of_events(cls, uri: str) -> Location | None:
        """Where a URI of something to read is, whatever letters are in it; None for a scheme that nobody here knows."""
        scheme, _, rest = uri.partition("://")
        known = SCHEMES.get(scheme)
        if known is None:
            return None
        return cls(f"{known}://{rest.removeprefix('localhost') if known == 'file' else rest}".rstrip("/"))

    @property
    def scheme(self) -> str:
        """`file`, `s3`, ...; empty for a path."""
        match = _URI.match(self.address)
        return match[1] if match else ""

    @property
    def local(self) -> Path | None:
        """The folder as a path, if it is one of this machine."""
        if self.scheme in ("", "file"):
            return Path(self.address.removeprefix("file://"))
        return None

    @property
    def state(self) -> Path:
        """A folder of this machine for what cannot be elsewhere: the lock, Dagster's instance, generated events."""
        if (folder := self.local) is not None:
            return folder
        word = re.sub(r"[^A-Za-z0-9]+", "-", self.address).strip("-")[-60:]
        return state_home() / f"{word}-{hashlib.sha256(self.address.encode()).hexdigest()[:12]}"

    def below(self, *names: str) -> Location:
        """A folder or file below this one."""
        return Location("/".join((self.address.rstrip("/"), *names)))

    def filesystem(self, environ: Mapping[str, str] = os.environ) -> tuple[pa_fs.FileSystem, str]:
        """Arrow's file system for it, and the path in there."""
        match self.scheme:
            case "" | "file":
                return pa_fs.LocalFileSystem(), self.inside
            case "s3":
                return pa_fs.S3FileSystem(**_s3(environ)), self.inside
            case "abfss":
                return pa_fs.AzureFileSystem(**_azure(self._host.rpartition("@")[2], environ)), self.inside
        found, _ = pa_fs.FileSystem.from_uri(f"{self.scheme}://{self._host}/")
        return found, self.inside

    @property
    def inside(self) -> str:
        """Its path in Arrow's file system."""
        if (path := self.local) is not None:
            return str(path)
        place = self.address.removeprefix(f"{self.scheme}://{self._host}")
        if self.scheme == "abfss":
            return f"{self._host.rpartition('@')[0]}{place}"
        return place if self.scheme == "hdfs" else f"{self._host}{place}"

    @property
    def _host(self) -> str:
        """What comes after the scheme: a bucket, a container at an account, a host."""
        return self.address.partition("://")[2].partition("/")[0]

    def storage_options(self, environ: Mapping[str, str] = os.environ) -> dict[str, str] | None:
        """What delta-rs is told of the store: the variables of the environment that are about it."""
        prefix = _CREDENTIALS.get(self.scheme)
        if prefix is None:
            return None
        options = {name: value for name, value in environ.items() if name.startswith(prefix)}
        if self.scheme == "s3" and _endpoint(environ).startswith("http://"):
            options.setdefault("AWS_ALLOW_HTTP", "true")
        return options

    @property
    def is_folder(self) -> bool:
        """Whether there is such a folder."""
        files, path = self.filesystem()
        return bool(files.get_file_info(path).type == pa_fs.FileType.Directory)

    def folders(self) -> tuple[str, ...]:
        """The names of the folders directly in this one, sorted; none where it does not exist."""
        if not self.is_folder:
            return ()
        files, path = self.filesystem()
        found = files.get_file_info(pa_fs.FileSelector(path))
        return tuple(sorted(one.base_name for one in found if one.type == pa_fs.FileType.Directory))

    def files(self) -> tuple[pa_fs.FileInfo, ...]:
        """All files below this folder."""
        files, path = self.filesystem()
        found = files.get_file_info(pa_fs.FileSelector(path, recursive=True, allow_not_found=True))
        return tuple(one for one in found if one.type == pa_fs.FileType.File)


def is_uri(place: Place) -> bool:
    """Whether a place is given as SCHEME:/..., and not as a path."""
    return _URI.match(os.fspath(place)) is not None


def is_there(path: str) -> bool:
    """Whether there is a file with this path or URI, as listings have it."""
    files, inside = Location(path).filesystem()
    return bool(files.get_file_info(inside).is_file)


def state_home(environ: Mapping[str, str] = os.environ) -> Path:
    """HAMLET_STATE, else the place for such things in the user's home."""
    if given := environ.get(STATE):
        return Path(given).absolute()
    return Path(environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "hamlet")


def place_of(given: str, folder: Path | None = None) -> Path | str:
    """What a user has written as a place: a URI as it is, a path as seen from `folder` (default: from here)."""
    if _URI.match(given):
        return given
    return folder / given if folder is not None else Path(given)


def _s3(environ: Mapping[str, str]) -> dict[str, str]:
    """Keys come from Amazon's own chain; region and endpoint by the variables that delta-rs knows, too."""
    options = {}
    if region := environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION"):
        options["region"] = region
    if endpoint := _endpoint(environ):
        scheme, mark, host = endpoint.rpartition("://")
        options["endpoint_override"] = host.rstrip("/")
        if mark:
            options["scheme"] = scheme
    return options


def _endpoint(environ: Mapping[str, str]) -> str:
    return next((environ[name] for name in _ENDPOINTS if environ.get(name)), "")


def _azure(host: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The account is the first part of the host; without key or token Azure's own chain is asked."""
    options = {"account_name": host.partition(".")[0]}
    key = environ.get("AZURE_STORAGE_ACCOUNT_KEY") or environ.get("AZURE_STORAGE_KEY")
    if key:
        options["account_key"] = key
    elif token := environ.get("AZURE_STORAGE_SAS_TOKEN"):
        options["sas_token"] = token
    return options


def _refused(text: str, hint: str) -> WarehouseError:
    return WarehouseError(f"{text!r} cannot hold a warehouse", code="E526", hint=hint)
