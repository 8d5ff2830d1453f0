"""Runs `hamlet pipeline` on a small disk that fills up: python -m tests.dagster.full_disk PLACE EVENTS WORKLOAD.

Mounts a tmpfs on PLACE, so that it wants a mount namespace of its own. Prints, as JSON, the exit code of each run, and
what the last one published.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from pipelines.cli import main as hamlet
from resources import warehouse as warehouse_module
from resources.data_files import FileWriter
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import table_rows

KIB = 1 << 10
# After which write, and how much is left then: before Spark starts, within a write of Spark, within one of the tasks
# themselves, before a small write.
MOMENTS = (("", 100), ("create:events", 1_100), ("writer", 60), ("append:computed_aggregates", 200))


def main() -> int:
    place, events, workload = (Path(one) for one in sys.argv[1:4])
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(place)], check=True)
    warehouse, filler, codes = place / "warehouse", place / "filler", []

    def fill(left: int) -> None:
        size = shutil.disk_usage(place).free - left * KIB
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)

    def run() -> None:
        arguments = ["pipeline", str(workload), "--events", str(events), "--warehouse", str(warehouse)]
        print("run", file=sys.stderr, flush=True)
        codes.append(hamlet([*arguments, "--arithmetic", "exact"]))

    passed, writer = warehouse_module.passed, Warehouse.writer

    def writer_that_is_noticed(self: Warehouse, *arguments: Any) -> FileWriter:
        found = writer(self, *arguments)
        warehouse_module.passed("writer")
        return found

    Warehouse.writer = writer_that_is_noticed  # type: ignore[method-assign]
    for write, left in MOMENTS:

        def fill_after(done: str, write: str = write, left: int = left) -> None:
            if done == write:
                fill(left)

        if not write:
            fill(left)
        warehouse_module.passed = fill_after
        run()
        filler.unlink()
    warehouse_module.passed = passed
    run()
    rows = [repr(row) for row in table_rows(Warehouse(warehouse), "trend_aggregates")]
    print(json.dumps({"codes": codes, "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
