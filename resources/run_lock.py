"""Who lives: a run holds a lock of its own, which the system releases when its process ends, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_kept: dict[Path, IO[str]] = {}


@dataclass(frozen=True, slots=True)
class LiveLocks:
    """A folder with a file for each run that lives, or died without a word."""

    folder: Path

    @contextlib.contextmanager
    def holding(self, name: str) -> Iterator[None]:
        """Hold the lock of a run while the block runs."""
        with self._locked(name, fcntl.LOCK_EX) as file:
            sign(file)
            try:
                yield
            finally:
                self.forget(name)

    @contextlib.contextmanager
    def sharing(self, name: str) -> Iterator[None]:
        """Hold a lock that others may hold as well, while the block runs."""
        with self._locked(name, fcntl.LOCK_SH):
            yield

    def keep(self, name: str) -> None:
        """Hold the lock of a run until this process ends."""
        place = self.folder / name
        if place not in _kept:
            _kept[place] = self._locked(name, fcntl.LOCK_EX)
            sign(_kept[place])

    def held(self, name: str) -> bool:
        """Whether a live process holds the lock."""
        try:
            file = (self.folder / name).open(encoding="utf-8")
        except FileNotFoundError:
            return False
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def left(self) -> list[str]:
        """The names of the locks that somebody held and nobody holds any more."""
        names = sorted(place.name for place in self.folder.iterdir()) if self.folder.is_dir() else []
        return [name for name in names if not self.held(name)]

    def signature(self, name: str) -> str | None:
        """The process that has or had the lock, in words, as far as it is known."""
        try:
            return signed_by((self.folder / name).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    def forget(self, name: str) -> None:
        """Put the file of a lock away."""
        (self.folder / name).unlink(missing_ok=True)

    def _locked(self, name: str, kind: int) -> IO[str]:
        """The file of a lock that is held. Whoever looks at a lock has it for a moment, so this waits; and the file
        may have been put away before it was locked, then it is another one's turn.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / name
        while True:
            file = place.open("a+", encoding="utf-8")
            fcntl.flock(file, kind)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), place.stat()):
                    return file
            file.close()


def sign(file: IO[str], **more: str) -> None:
    """Write into the file of a lock who holds it."""
    file.seek(0)
    file.truncate()
    json.dump({"pid": os.getpid(), "host": socket.gethostname()} | more, file)
    file.flush()


def signed_by(text: str) -> str | None:
    """Who holds a lock, in words, from what its file says."""
    try:
        owner = json.loads(text)
        run = f" (run {owner['run']})" if owner.get("run") else ""
        return f"process {owner['pid']} on {owner['host']}{run}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
