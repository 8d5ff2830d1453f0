"""A pipeline that is held where its tasks have computed and nothing is committed, in a process of its own, for tests
that stop it: python -m tests.dagster.held_run MARKER ARGUMENTS
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pyarrow as pa

from pipelines import cli
from pipelines.steps.execution import execute, file_tasks

SECONDS = 100
"""How long it is held: a test that comes later than this fails."""


class Held:
    """In place of what runs the tasks: it makes a file when they begin, and keeps what they give to itself."""

    def __init__(self, marker: str) -> None:
        self.marker = marker
        self.run = execute._run

    def __call__(self, *given: object, **named: object) -> pa.Table:
        Path(self.marker).touch()
        files = self.run(*given, **named)  # type: ignore[arg-type]
        time.sleep(SECONDS)
        return files


def main(marker: str, *arguments: str) -> int:
    file_tasks.MOST_HERE = 0  # workers of Spark, however few events there are
    execute._run = Held(marker)
    sys.argv = ["hamlet", *arguments]
    return cli.main()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
