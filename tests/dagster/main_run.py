"""Runs a job in a process of its own, for tests that kill it: python -m tests.dagster.main_run main EVENTS WAREHOUSE,
or: folder FOLDER.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pipelines.main_job import run_main_job, run_workload
from tests.dagster.folder_cases import KEYS
from tests.spark.pipeline_cases import settings_for

DAYS = 3
EVERY_MODE = """
rising: RETURN g, COUNT(*), SUM(b.v), AVG(b.v), MIN(b.v), MAX(b.v), COUNT(DISJOINT), REACH(b)
        PATTERN SEQ(A a, B b+) WHERE [k] AND b.v < NEXT(b).v GROUP-BY g WITHIN 40 s SLIDE 20 s
pairs:  RETURN COUNT(*), COUNT(b), REACH(a), REACH(b), COUNT(PARTITIONS), AVG(DURATION), MAX(DURATION)
        PATTERN SEQ(A a, B b) SEMANTICS next WHERE [k] AND b.v > 10 WITHIN 20 s
all:    RETURN COUNT(*), SUM(b.w), REACH(c), SUM(DURATION), MIN(DURATION) PATTERN SEQ(C c, B b+) SEMANTICS contiguous WITHIN 10 s
"""


def main(job: str, *places: str) -> int:
    if job == "main":
        summary = run_main_job(settings_for(Path(places[0]), Path(places[1]), text=EVERY_MODE))
    else:
        summary = run_workload(Path(places[0]), "jams", (KEYS[0], KEYS[DAYS - 1]))
    return 0 if summary.success else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
