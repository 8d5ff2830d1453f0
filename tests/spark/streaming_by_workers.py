"""`hamlet stream`, with Python workers of Spark also for what is so little that the driver does it: python -m
tests.spark.streaming_by_workers WORKLOAD OPTIONS... Tests kill them.
"""

from __future__ import annotations

import sys

from pipelines.cli import main
from pipelines.steps.execution import file_tasks
from pipelines.steps.ingestion import parsing

if __name__ == "__main__":
    parsing.MOST_HERE = file_tasks.MOST_HERE = 0
    sys.argv.insert(1, "stream")
    sys.exit(main())
