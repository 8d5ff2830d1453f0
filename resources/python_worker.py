"""The process that Spark forks its Python workers from, on this machine: `pyspark.daemon`, and what makes small tasks quick.

Spark puts the archive of PySpark that is within the package before the package itself. From an archive each worker compiles what
it imports, which takes half a second. And after each task a worker searches all that it holds for garbage.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from socket import socket

MODULE = "resources.python_worker"
"""What Spark is told to start."""


def without_archives(path: Sequence[str]) -> list[str]:
    """Places to import from without the archives that belong to the PySpark that is found without them, if one is."""
    plain = [place for place in path if not place.endswith(".zip")]
    found = PathFinder.find_spec("pyspark", plain)
    if found is None or found.origin is None or PathFinder.find_spec("py4j", plain) is None:
        return list(path)
    own = Path(found.origin).parent / "python" / "lib"
    return [place for place in path if place in plain or Path(place).parent != own]


def keep_imported(before: int) -> int:
    """How many modules there are; if that is more than before, all that is there is kept out of later searches for garbage.

    Only then, so that the garbage of tasks is not kept.
    """
    if len(sys.modules) != before:
        gc.collect()
        gc.freeze()
    return len(sys.modules)


def main() -> None:
    """Run as Spark runs `pyspark.daemon`."""
    sys.path[:] = without_archives(sys.path)
    from pyspark import daemon

    modules, worker = 0, daemon.worker

    def keeping(sock: socket, authenticated: bool) -> int:
        nonlocal modules
        code = worker(sock, authenticated)
        modules = keep_imported(modules)
        return code

    vars(daemon)["worker"] = keeping
    daemon.manager()


if __name__ == "__main__":
    main()
