"""The peak of resident memory of this process."""

from __future__ import annotations

import contextlib
import re
import resource
import sys
from pathlib import Path


def peak() -> int:
    """The most bytes that were resident. On Linux from /proc: what getrusage says starts with the parent's memory."""
    with contextlib.suppress(OSError):
        if found := re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii")):
            return 1024 * int(found[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def forget_peak() -> None:
    """Let the peak begin at what is resident now (Linux): compiling kernels takes more than folding."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
