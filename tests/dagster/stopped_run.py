"""A command that is sent a signal once a write is done, in a process of its own, for tests of what is left then:
python -m tests.dagster.stopped_run SIGNAL WRITE ARGUMENTS
"""

from __future__ import annotations

import os
import signal
import sys

from pipelines import cli
from pipelines.steps.ingestion import ingest
from pipelines.steps.publication import wide
from resources import warehouse


def main(sign: str, stage: str, *arguments: str) -> int:
    def passed(write: str) -> None:
        if write == stage:
            os.kill(os.getpid(), signal.Signals[sign])

    warehouse.passed = wide.passed = passed
    ingest.LOOK_AGAIN = 0.0  # files of tests are whole
    sys.argv = ["hamlet", *arguments]
    return cli.main()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
