"""What a user of a cluster runs, in a process of its own: python -m tests.spark.cluster_run FOLDER MARKER.

Prints, as JSON, the rows of the main job, of the shuffle path, and of a backfill while which a worker is killed: the
first task of the backfill writes into MARKER where it has our code from, and waits for its end.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
from pyspark import SparkContext

import pipelines
from pipelines.main_job import run_main_job, run_workload
from pipelines.reading import ColumnOptions
from pipelines.steps.execution import file_tasks
from pipelines.steps.execution.execute import execute
from resources.spark import spark_session
from resources.warehouse import Warehouse
from tests.dagster.folder_cases import JAMS, KEYS
from tests.spark.pipeline_cases import settings_for, table_rows

DAYS = 3


def doomed(marker: Path) -> object:
    """The work of a task; the first one waits to be killed. As a value of its own it is shipped whole."""
    real = file_tasks.run_task

    def work(*arguments: object) -> Iterator[pa.RecordBatch]:
        # Two tasks may begin at once: the system says which of them made the file.
        with contextlib.suppress(FileExistsError), marker.open("x") as mark:
            mark.write(str(Path(pipelines.__file__).resolve()))
            mark.close()
            time.sleep(600)
        return real(*arguments)  # type: ignore[arg-type]

    return work


def main() -> int:
    folder, marker = Path(sys.argv[1]), Path(sys.argv[2])
    options = ColumnOptions(time="at", type="kind")
    settings = settings_for(folder / "inbox", folder / "main", text=JAMS, options=options)
    assert run_main_job(settings).success
    found = {"files": rows(folder / "main", "trend_aggregates")}

    shuffled = replace(settings, execute=replace(settings.execute, path="shuffle", policy="always"))
    warehouse = Warehouse(folder / "main")
    warehouse.delete_rows("computed_partitions", "workload = 'test'")
    tasks = execute(spark_session(), warehouse, shuffled, "shuffled").tasks
    found["shuffle"] = rows(folder / "main", "computed_aggregates")
    found["tasks of the shuffle"] = [str(len(tasks))]

    file_tasks.run_task = doomed(marker)  # type: ignore[assignment]
    assert run_workload(folder, "jams", (KEYS[0], KEYS[DAYS - 1])).success
    found["killed"] = rows(folder / "warehouse", "trend_aggregates")
    context = SparkContext.getOrCreate()
    found["master"] = [context.master]
    print(json.dumps(found))
    return 0


def rows(place: Path, table: str) -> list[str]:
    return [repr(row) for row in table_rows(Warehouse(place), table)]


if __name__ == "__main__":
    sys.exit(main())
