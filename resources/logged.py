"""Runs programs whose output goes to a log, telling every few seconds how far they are. Python's own library only."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

TOLD_EVERY = 3.0
"""Seconds between two words of how far a program is."""

_told = [time.monotonic() - 2.0]
"""When the last word was said, whatever program it was about; who began this process may have said nothing for a while."""


def run_logged(
    command: Sequence[str],
    log: Path,
    name: str,
    *,
    environ: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> str:
    """Run a command with its output at the end of `log`, and return that; tells its last line every few seconds.

    Raises OSError where it does not start, CalledProcessError with its output where it fails, and TimeoutExpired
    after `seconds`.
    """
    began = time.monotonic()
    with log.open("ab") as output:
        start = output.tell()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environ
        )  # fmt: skip
    try:
        while process.poll() is None:
            time.sleep(0.05)
            now = time.monotonic()
            if seconds and now - began > seconds:
                raise subprocess.TimeoutExpired(list(command), seconds)
            if now - _told[0] >= TOLD_EVERY:
                say(f"{now - began:.0f} s: {name}: {_last_line(log, start)}")
    finally:
        process.kill()
        process.wait()
    said = log.read_bytes()[start:].decode("utf-8", "replace")
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(command), said)
    return said


def say(line: str) -> None:
    """A line below the name of a step, at once."""
    _told[0] = time.monotonic()
    print(f"      {line}", flush=True)


def _last_line(log: Path, start: int) -> str:
    lines = log.read_bytes()[start:].decode("utf-8", "replace").splitlines()
    last = next((line.strip() for line in reversed(lines) if line.strip()), "begun")
    return last if len(last) <= 70 else f"{last[:69]}…"
