"""Who listens on a port of this machine, read from Linux's /proc; elsewhere, and of other users, it cannot be told."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

LISTENING = "0A"
"""The state in /proc/net/tcp."""
SHOWN = 200
"""Characters of a command that are kept."""


@dataclass(frozen=True)
class Holder:
    """A process that listens on a port, and the environment it was started in."""

    pid: int
    command: str
    environment: dict[str, str]


def holder_of(port: int) -> Holder | None:
    """The process that listens on a port, if it may be seen."""
    sockets = {f"socket:[{inode}]" for inode in _listening(port)}
    for place in Path("/proc").glob("[0-9]*") if sockets else ():
        with contextlib.suppress(OSError):
            if any(_target(file) in sockets for file in (place / "fd").iterdir()):
                words = _words(place / "cmdline")
                pairs = (word.partition("=") for word in _words(place / "environ"))
                environment = {name: value for name, _, value in pairs}
                return Holder(int(place.name), " ".join(words)[:SHOWN], environment)
    return None


def _listening(port: int) -> list[str]:
    """The inodes of the sockets that listen on a port, of any address."""
    found = []
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]:
                _, local, _, state, *_, inode = line.split()[:10]
                if state == LISTENING and int(local.rpartition(":")[2], 16) == port:
                    found.append(inode)
    return found


def _target(file: Path) -> str:
    """What a file descriptor leads to; it may be closed meanwhile."""
    try:
        return str(file.readlink())
    except OSError:
        return ""


def _words(file: Path) -> list[str]:
    return file.read_bytes().decode("utf-8", "replace").rstrip("\0").split("\0")
