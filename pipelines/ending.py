"""How a command ends when it is told to: SIGINT, SIGTERM or SIGHUP in, a line on stderr and 128 + the signal out.

Python hears a signal between two of its own instructions, and the kernels, a query of DuckDB or a sort of Arrow are one,
however long they take. So a thread listens, too: what the main thread has not ended after a while, it ends.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NoReturn

WORDS = {signal.SIGINT: "Interrupted", signal.SIGTERM: "Terminated", signal.SIGHUP: "Hung up"}
PATIENCE = 1.0
"""Seconds that a command has to end by itself."""

LAST_WORDS = 5.0
"""Seconds that the processes which it has started have for theirs; Java on a busy machine needs them."""

AT_ONCE = 0.2
"""Seconds that the main thread has to print its last line, once it has it."""


@dataclass(slots=True)
class _Ending:
    """What the thread that listens has to know; mutable."""

    signal: signal.Signals | None = None
    patience: float = PATIENCE
    advice: str = ""
    at_once: Callable[[], object] | None = None
    unfinished: set[Path] = field(default_factory=set)
    told: bool = False


_ending = _Ending()


def hear_signals() -> None:
    """From now on this process ends as above; signals that whoever started it has it ignore stay ignored."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    for one in WORDS:
        if signal.getsignal(one) is not signal.SIG_IGN:
            signal.signal(one, _raise)
    threading.Thread(target=_end_late, args=(reader,), name="signals", daemon=True).start()


def heard() -> bool:
    """Whether a signal came: whatever then fails, fails because of it."""
    return _ending.signal is not None


def told(advice: str = "") -> tuple[str, int]:
    """The line that says so, and the exit code; the caller prints it at once."""
    _ending.told = True
    advice = advice or _ending.advice
    sign = _ending.signal or signal.SIGINT
    return f"{WORDS[sign]}{': ' if advice else ''}{advice}.", 128 + sign


@contextmanager
def patience(seconds: float, advice: str, at_once: Callable[[], object] | None = None) -> Iterator[None]:
    """More time to end in order, what to say if it was too short, and what to do beside, as soon as a signal comes."""
    before = _ending.patience, _ending.advice, _ending.at_once
    _ending.patience, _ending.advice, _ending.at_once = seconds, advice, at_once
    try:
        yield
    finally:
        if not heard():
            _ending.patience, _ending.advice, _ending.at_once = before


@contextmanager
def unfinished(path: Path) -> Iterator[None]:
    """A file that nobody should find unless the block ends."""
    _ending.unfinished.add(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        _ending.unfinished.discard(path)


def _raise(number: int, _: FrameType | None) -> None:
    _ending.signal = _ending.signal or signal.Signals(number)
    raise KeyboardInterrupt


def _end_late(reader: int) -> None:
    """Wait for the first signal, give the main thread its time, and end the process."""
    while (number := os.read(reader, 1)[0]) not in WORDS:
        continue
    sign = _ending.signal = _ending.signal or signal.Signals(number)
    if _ending.at_once is not None:
        threading.Thread(target=_ending.at_once, name="at once", daemon=True).start()
    time.sleep(_ending.patience)
    for path in tuple(_ending.unfinished):
        with suppress(OSError):
            path.unlink(missing_ok=True)
    end_children()
    if not _ending.told:
        os.write(2, f"{told()[0]}\n".encode())
    else:
        time.sleep(AT_ONCE)
    end(128 + sign)


def end(code: int) -> NoReturn:
    """The end of this process and of those that it has started, and no more: the compiler of the kernels, stopped in
    the middle of its work, does not survive that Python cleans up.
    """
    _terminate(_children())
    os._exit(code)


def end_children() -> None:
    """The end of the processes that this one has started, before it says its last line: what they say comes before it."""
    children, deadline = _children(), time.monotonic() + LAST_WORDS
    _terminate(children)
    while any(map(_runs, children)) and time.monotonic() < deadline:
        time.sleep(0.02)


def _terminate(children: list[int]) -> None:
    for child in children:
        with suppress(OSError):
            os.kill(child, signal.SIGTERM)


def _runs(process: int) -> bool:
    """Whether a process is there and more than a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _children() -> list[int]:
    """The processes that this one has started, as far as the system tells."""
    found: list[int] = []
    for path in Path("/proc/self/task").glob("*/children"):
        with suppress(OSError):
            found += map(int, path.read_text().split())
    return found
