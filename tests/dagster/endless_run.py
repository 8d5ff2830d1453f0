"""A pipeline whose work never ends, in a process of its own, for tests that stop it:
python -m tests.dagster.endless_run MARKER ARGUMENTS
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

from hamlet_core.engines.hamlet.jit.decorators import compiled_allocating
from pipelines import cli
from pipelines.assets import execute


def spin(rounds: int) -> int:
    found = 1
    for one in range(rounds):
        found = (found * 3 + one) % 1_000_003
    return found


class Endless:
    """In place of a function: compiled code, which hears no signals; it makes a file when it begins."""

    def __init__(self, marker: str) -> None:
        self.marker = marker

    def __call__(self, *_: object, **__: object) -> NoReturn:
        kernel = compiled_allocating(spin)
        kernel(1)
        Path(self.marker).touch()
        kernel(1 << 60)
        raise AssertionError


def main(marker: str, *arguments: str) -> int:
    execute.execute = Endless(marker)
    sys.argv = ["hamlet", *arguments]
    return cli.main()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
