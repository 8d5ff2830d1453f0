"""Dagster's processes under `hamlet ui`, and a keeper over them: they end when `hamlet ui` does, however that ends.

The keeper is a process of its own, `python -m pipelines.commands.serving COMMAND ...`. It reads a pipe that only
`hamlet ui` can write to: its end means that `hamlet ui` is gone. The command and all that it starts are one group.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

STOP_SECONDS = 10
LOOK_SECONDS = 1
PROXY, CODE_SERVER = "code-server", "api"
"""The second words of Dagster's commands: the process that stands before the code, and the one that holds it."""


@dataclass(frozen=True)
class Served:
    """A keeper, and the group of what it keeps."""

    keeper: subprocess.Popen[str]
    group: int

    def ended_within(self, seconds: float) -> bool:
        """Whether the server or its keeper ends within some seconds, or has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.keeper.wait(seconds)
        return self.ended()

    def ended(self) -> bool:
        """Whether the server or its keeper has ended."""
        return self.keeper.poll() is not None

    def stop(self) -> None:
        """End everything: the keeper does so politely; if it is gone, or a second signal comes, it is ended at once."""
        try:
            if self.keeper.stdin is not None:
                self.keeper.stdin.close()
            self.keeper.wait()
        finally:
            if self.keeper.returncode is None or self.keeper.returncode < 0:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.group, signal.SIGKILL)


def serve(command: Sequence[str], home: Path, settings: Mapping[str, str]) -> Served:
    """Start a command under a keeper, in a session of its own: a signal of the terminal reaches only `hamlet ui`."""
    keeper = subprocess.Popen(
        [sys.executable, "-m", __name__, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=home,
        env=settings,
        start_new_session=True,
        text=True,
    )
    told = keeper.stdout.readline() if keeper.stdout else ""
    return Served(keeper, int(told or keeper.pid))


def keep(command: Sequence[str]) -> int:
    """Run a command until it ends or nobody holds the other end of stdin; its exit code, when its whole group is gone."""
    for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(sign, lambda *_: None)  # not SIG_IGN, which the command would inherit
    server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), process_group=0)
    print(server.pid, flush=True)
    alone = threading.Event()
    threading.Thread(target=_until_alone, args=(alone,), daemon=True).start()
    with_code: set[int] = set()
    while server.poll() is None and not alone.wait(LOOK_SECONDS):
        with_code = _restart_what_lost_its_code(server.pid, with_code)
    end(server)
    return server.wait()


def _until_alone(alone: threading.Event) -> None:
    while os.read(0, 1):
        pass
    alone.set()


def end(server: subprocess.Popen[bytes]) -> None:
    """End the group of a server: politely, then not."""
    # Who still imports ends by SIGTERM without a word; after that, Dagster takes it as it takes SIGINT.
    for sign in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(server.pid, sign)
        except ProcessLookupError:
            return
        if _gone(server):
            return


def _gone(server: subprocess.Popen[bytes]) -> bool:
    """Whether the server's whole process group ends within STOP_SECONDS."""
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        server.poll()  # a child that nobody asks after stays a zombie
        try:
            os.killpg(server.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


def _restart_what_lost_its_code(group: int, before: set[int]) -> set[int]:
    """End a proxy whose code server is gone: Dagster starts a proxy again, but not what it lost. Those that have one."""
    found = [one for one in _processes() if one.group == group and one.alive]
    proxies = {one.pid for one in found if PROXY in one.words}
    now = {one.parent for one in found if CODE_SERVER in one.words} & proxies
    for lost in (before & proxies) - now:
        print(
            "The process that holds the workloads has ended; it is started again.",
            file=sys.stderr,
            flush=True,
        )
        with contextlib.suppress(ProcessLookupError):
            os.kill(lost, signal.SIGKILL)
    return now


@dataclass(frozen=True)
class _Process:
    pid: int
    parent: int
    group: int
    alive: bool
    words: tuple[str, ...]


def _processes() -> list[_Process]:
    """All processes of this machine, as far as /proc tells them (elsewhere: none)."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            # The name before the last ")" may hold anything.
            state, parent, group = (
                (place / "stat").read_text("utf-8", "replace").rpartition(")")[2].split()[:3]
            )
            words = (place / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
            found.append(_Process(int(place.name), int(parent), int(group), state not in "ZX", tuple(words)))
    return found


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1:]))
