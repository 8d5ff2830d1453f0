"""Runs the main job in a process of its own, for tests that kill it: python -m tests.dagster.main_run EVENTS WAREHOUSE."""

from __future__ import annotations

import sys
from pathlib import Path

from pipelines.main_job import run_main_job
from tests.spark.pipeline_cases import settings_for


def main() -> int:
    summary = run_main_job(settings_for(Path(sys.argv[1]), Path(sys.argv[2])))
    return 0 if summary.success else 1


if __name__ == "__main__":
    sys.exit(main())
