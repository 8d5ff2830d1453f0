"""What this process may read and write: the first path in the way, whose it is and who we are, in words for people."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from resources.problems import EnvironmentProblem

_CHANGED_BY_EVERY_RUN = (".hamlet.lock", ".dagster", ".dagster/*", ".dagster/*/*", ".dagster/*/*/index.db")


def require_writable(folder: Path) -> None:
    """Raise EnvironmentProblem (E515) where a run with its tables in `folder` could not write; the folder may not exist yet."""
    place = existing(folder)
    for path in (place, *_written(folder)):
        if (why := forbidden(path, os.W_OK)) is not None:
            raise may_not(path, "written", why)


def forbidden(path: Path, right: int) -> str | None:
    """Why `path`, which exists, may not be read (`os.R_OK`) or written (`os.W_OK`); None if it may."""
    wanted = right | (os.X_OK if path.is_dir() else 0)
    if os.access(path, wanted):
        return None
    if right == os.W_OK and os.statvfs(path).f_flag & os.ST_RDONLY:
        return "its file system is mounted read-only"
    found = path.stat()
    owner, group = _user(found.st_uid), _group(found.st_gid)
    return (
        f"it belongs to {owner}:{group} with mode {stat.filemode(found.st_mode)}, "
        f"and this process is {_user(os.geteuid())}"
    )


def first_forbidden(places: Iterable[Path]) -> EnvironmentProblem | None:
    """The error for the first of these that may not be read or written; for what is not there, of the folder above it."""
    for place in map(existing, places):
        for right, done in ((os.R_OK, "read"), (os.W_OK, "written")):
            # Data files are written once, and by whoever may write into their folder.
            if right == os.W_OK and not place.is_dir() and place.suffix != ".db":
                continue
            with suppress(OSError):
                if (why := forbidden(place, right)) is not None:
                    return may_not(place, done, why)
    return None


def within(folder: Path) -> Iterator[Path]:
    """A folder, and all that is in it."""
    yield folder
    for place, folders, files in os.walk(folder):
        yield from (Path(place, name) for name in sorted((*folders, *files)))


def may_not(path: Path, done: str, why: str) -> EnvironmentProblem:
    """The error for a path that may not be `done` ("read", "written")."""
    kind = "folder" if path.is_dir() else "file"
    cure = (
        "mount it so that it can be written"
        if "read-only" in why
        else f"run as its owner, or let {_user(os.geteuid())} have the right (chown, chmod, setfacl)"
    )
    return EnvironmentProblem(
        f"the {kind} {path} cannot be {done}: {why}",
        code="E515",
        hint=f"{cure}, or choose another place; nothing is damaged, and nothing was lost",
    )


def existing(folder: Path) -> Path:
    """The folder, or the nearest above it that exists, as far as this process may look."""
    return next(place for place in (folder.absolute(), *folder.absolute().parents) if _exists(place))


def _exists(place: Path) -> bool:
    try:
        return place.exists()
    except PermissionError:  # the folder above it may not be entered, which is told of that one
        return False


def _written(folder: Path) -> Iterator[Path]:
    for pattern in _CHANGED_BY_EVERY_RUN:
        yield from (
            one for one in sorted(folder.glob(pattern)) if one.is_dir() or one.suffix in (".db", ".lock")
        )
    for log in sorted(folder.glob("*/_delta_log")):
        yield from (log.parent, log)


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _group(number: int) -> str:
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return f"group {number}"
