"""One run at a time per warehouse: an advisory lock that the system releases when its process dies."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import time
from collections.abc import Callable, Iterator
from typing import IO

from hamlet_core.errors import HamletError
from resources.rights import require_writable
from resources.run_lock import sign, signed_by
from resources.storage import Location, Place

LOCK_FILE = ".hamlet.lock"
TOLD_EVERY = 30.0
"""Seconds between two words about a wait."""

_POLL_SECONDS = 0.2
_LOG = logging.getLogger("hamlet.progress")


class WarehouseBusy(HamletError, RuntimeError):
    """Another live process holds the warehouse."""

    @classmethod
    def held_by(cls, warehouse: Place, holder: str) -> WarehouseBusy:
        """The error for a warehouse whose lock `holder` has."""
        return cls(
            f"the warehouse {warehouse} is in use by {holder}",
            code="E520",
            hint="wait until that run has ended, or use another --warehouse",
        )


@contextlib.contextmanager
def exclusive(
    warehouse: Place,
    *,
    wait_seconds: float = 0.0,
    run_id: str = "",
    tell: Callable[[str], object] = _LOG.info,
) -> Iterator[None]:
    """Hold the warehouse alone; WarehouseBusy if another process keeps it for more than `wait_seconds`, and
    EnvironmentProblem (E515) for one that this process may not write. Who waits or is refused is told the process that
    has it, and its run: a wait at once, and again every half minute.

    The lock belongs to the open file, so neither an exception nor SIGKILL can leave it behind. For a warehouse in
    a store it is a file of this machine and user: runs on other machines are kept apart by Delta's own look for
    conflicts, which refuses a write that came second, and not by this.
    """
    folder = Location.of(warehouse).state
    require_writable(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOCK_FILE).open("a+", encoding="utf-8") as file:
        _acquire(file, warehouse, wait_seconds, tell)
        sign(file, run=run_id)
        yield


def _acquire(file: IO[str], warehouse: Place, seconds: float, tell: Callable[[str], object]) -> None:
    now = time.monotonic()
    deadline, told = now + seconds, now - TOLD_EVERY
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            now = time.monotonic()
            if now >= deadline:
                raise WarehouseBusy.held_by(warehouse, _holder(file)) from None
            if now - told >= TOLD_EVERY:
                tell(
                    f"waiting up to {deadline - now:.0f} s for {_holder(file)}, which has the warehouse {warehouse}"
                )
                told = now
            time.sleep(_POLL_SECONDS)
        else:
            return


def _holder(file: IO[str]) -> str:
    file.seek(0)
    return signed_by(file.read()) or "another process"  # the holder is just writing its name
