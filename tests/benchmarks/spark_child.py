"""The pipeline on Spark in a process of its own, with two cores: FOLDER EVENTS KEYS QUERIES ROUNDS, JSON on stdout.

One event stream of many keys, queries that group by the key, four tumbling windows. The baseline is what anybody would
write: Spark reads the same Delta table, repartitions by key, sorts, counts the rows of each key in Python, and writes as
many rows to Delta as the queries do. The first ingest of the same events as CSV stands beside what Spark needs to read, parse
and repartition them and to write them sorted, told their types. Exit 3: a wrong answer.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
from pyspark.sql.functions import col, lit, pmod, timestamp_millis, to_date, xxhash64

from hamlet_core import run
from hamlet_core.streams.bursty import Bursty, generate
from hamlet_core.streams.w50 import w50
from pipelines.reading import ColumnOptions
from pipelines.settings import ExecuteOptions, JobSettings, NamedWorkload, Source
from pipelines.steps.execution.execute import ExecuteReport, execute
from pipelines.steps.ingestion.ingest import Needs, ingest
from pipelines.steps.planning import needs_of
from resources.environments import environment
from resources.spark import spark_session
from resources.tables import BUCKETS
from resources.warehouse import Warehouse
from tests.benchmarks.answers import WrongAnswer
from tests.benchmarks.timing import Contender, Timing, interleaved

FILES = 4
"""Parquet files that are ingested."""
WINDOWS = 4
UNIT = "ms"
BASELINE, FILE_TASKS, SHUFFLE, SUMS = (
    "baseline: repartition, sort, count in mapInArrow",
    "execute, file tasks",
    "execute, shuffle",
    "execute, file tasks, SUM beside COUNT",
)
INGEST, OWN = "ingest of CSV, into a new warehouse", "Spark's own: read, parse, repartition, sort, write"
INGESTS = 2
"""Rounds that count."""


def workloads(events: int, queries: int) -> dict[str, str]:
    """W50 by key in four windows; and the same with a sum."""
    text = w50(queries=queries, within=events // 1000 // WINDOWS, equivalence=True)
    counts = text.replace(" WITHIN", " GROUP-BY key WITHIN")
    return {"count": counts, "sum": counts.replace("COUNT(*)", "COUNT(*), SUM(b.v)")}


def main(folder: Path, events: int, keys: int, queries: int, rounds: int) -> dict[str, Any]:
    """Ingest once; then baseline and execute in turns, each answer checked."""
    table = generate(Bursty(events=events, groups=keys, bursts_per_key=0))
    size = -(-events // FILES)
    (folder / "in").mkdir()
    for number in range(FILES):
        pq.write_table(table.slice(number * size, size), folder / "in" / f"{number}.parquet")
    texts = workloads(events, queries)
    spark = spark_session(replace(environment("local"), master="local[2]"))
    warehouse = Warehouse(folder / "warehouse")
    source = Source(str(folder / "in"), ColumnOptions(time_unit=UNIT))
    settings = JobSettings(NamedWorkload("bench", texts["count"]), source, warehouse.root)
    needs = needs_of([settings.workload])
    ingested = ingests(spark, folder, table, needs, min(rounds, INGESTS))
    ingest(spark, warehouse, source, needs)
    expected = {name: run(text, table, schema=settings.event_schema) for name, text in texts.items()}
    rows = expected["count"].num_rows
    memory, reports, number = Memory(), {}, iter(range(1_000))

    def executed(name: str, kind: str, path: str) -> Contender:
        def call() -> str:
            label = f"w{next(number)}"  # a workload that was computed before would be kept
            chosen = replace(
                settings,
                workload=NamedWorkload(label, texts[kind]),
                execute=ExecuteOptions(path=path),
            )
            with memory.watched(name):
                reports[name] = execute(spark, warehouse, chosen, label)
            return label

        return Contender(name, events, call, lambda label: check(warehouse, label, expected[kind]))

    def baseline() -> None:
        with memory.watched(BASELINE):
            write_counts(spark, warehouse, folder / "baseline", rows // keys)

    def check_baseline(_: None) -> None:
        written = spark.read.format("delta").load(str(folder / "baseline")).where(f"round = {len(base)}")
        found = written.selectExpr("count(*)", "sum(rows)").toArrow().to_pylist()[0]
        base.append(found)
        if list(found.values()) != [rows // keys * keys, events * (rows // keys)]:
            raise WrongAnswer(f"baseline: {found}")

    base: list[Any] = []

    def write_counts(spark: Any, warehouse: Warehouse, place: Path, copies: int) -> None:
        def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            here = pa.Table.from_batches(list(batches), pa.schema([("key", pa.int64()), *_REST]))
            found = here.column("key").combine_chunks().to_numpy()
            first = np.flatnonzero(np.diff(found, prepend=found[:1] - 1))
            counts = np.diff(np.append(first, len(found)))
            columns = [np.repeat(found[first], copies), np.repeat(counts, copies)]
            yield pa.RecordBatch.from_arrays([pa.array(one) for one in columns], names=["key", "rows"])

        read = warehouse.read(spark, "events").select("key", "time", "type")
        placed = read.repartition(4, "key").sortWithinPartitions("key", "time")
        frame = placed.mapInArrow(counted, "key long, rows long").selectExpr("*", f"{len(base)} AS round")
        frame.write.format("delta").mode("append").save(str(place))

    contenders = [
        Contender(BASELINE, events, baseline, check_baseline),
        executed(FILE_TASKS, "count", "files"),
        executed(SHUFFLE, "count", "shuffle"),
        executed(SUMS, "sum", "files"),
    ]
    timed = interleaved(contenders, rounds)
    spark.stop()
    return {
        "rows": {name: found.num_rows for name, found in expected.items()},
        "seconds": {name: timing.seconds for name, timing in {**timed, **ingested}.items()},
        "memory": memory.peaks,
        "tasks": {name: tasks_of(report) for name, report in reports.items()},
    }


def ingests(spark: Any, folder: Path, table: pa.Table, needs: Needs, rounds: int) -> dict[str, Timing]:
    """The first ingest of CSV files, and Spark's own way of the same rows to a Delta table of the same shape."""
    place, number = folder / "csv", iter(range(1_000))
    place.mkdir()
    size = -(-len(table) // FILES)
    for part in range(FILES):
        rows = table.slice(part * size, size)
        texts = rows.set_column(rows.schema.get_field_index("type"), "type", rows["type"].cast(pa.string()))
        pcsv.write_csv(texts, place / f"{part}.csv")
    days = pc.value_counts(table["time"].cast(pa.timestamp(UNIT)).cast(pa.date32()))
    wanted = {row["values"]: row["counts"] for row in days.to_pylist()}
    buckets: list[int] = []

    def ours() -> Path:
        warehouse = Warehouse(folder / f"csv{next(number)}")
        ingest(spark, warehouse, Source(str(place), ColumnOptions(time_unit=UNIT)), needs)
        buckets[:] = [int(warehouse.properties("events")[BUCKETS])]
        return Path(warehouse.path_of("events"))

    def own() -> Path:
        target = folder / f"csv{next(number)}"
        columns = "time BIGINT, type STRING, key BIGINT, v BIGINT, x BIGINT"
        read = spark.read.csv(str(place), columns, header=True)
        placed = read.withColumn("event_time", timestamp_millis("time"))
        placed = placed.withColumn("day", to_date("event_time"))
        placed = placed.withColumn("bucket", pmod(xxhash64("key"), lit(buckets[0] if buckets else FILES)))
        placed = placed.repartition(4, "bucket").sortWithinPartitions("day", "bucket", "key", "event_time")
        placed.write.format("delta").partitionBy("day", "bucket").save(str(target))
        return target

    def check_rows(target: Path) -> None:
        found = spark.read.format("delta").load(str(target)).groupBy("day").count().collect()
        if {row["day"]: row["count"] for row in found} != wanted:
            raise WrongAnswer(f"{target}: {found}, not {wanted}")
        if not spark.read.format("delta").load(str(target)).where(col("key").isNull()).isEmpty():
            raise WrongAnswer(f"{target}: events without their key")
        shutil.rmtree(target)

    contenders = [
        Contender(INGEST, len(table), ours, check_rows),
        Contender(OWN, len(table), own, check_rows),
    ]
    return interleaved(contenders, rounds)


_REST = (("time", pa.int64()), ("type", pa.string()))


def tasks_of(report: ExecuteReport) -> dict[str, Any]:
    """Who did the work."""
    return {
        "tasks": len(report.tasks),
        "events": sum(task.events for task in report.tasks),
        "seconds": round(sum(task.seconds for task in report.tasks), 3),
        "processes": len({task.pid for task in report.tasks}),
        "in the driver": os.getpid() in {task.pid for task in report.tasks},
    }


def check(warehouse: Warehouse, workload: str, expected: pa.Table) -> None:
    """The rows of the table are those of `run` on the Arrow table."""
    scan = warehouse.dataset("computed_aggregates")
    key = ["query", "window_start", "group_key", "aggregate"]
    stored = scan.to_table(columns=[*key, "log2"], filter=pc.field("workload") == workload)
    starts = pc.divide(stored.column("window_start").cast(pa.int64()), 1000)
    stored = stored.set_column(1, "window_start", starts)
    order = [(name, "ascending") for name in key]
    stored, wanted = stored.sort_by(order), expected.select([*key, "log2"]).sort_by(order)
    same = all(stored.column(name).equals(wanted.column(name).cast(stored.column(name).type)) for name in key)
    if not same or not np.allclose(_numbers(stored), _numbers(wanted), rtol=0, atol=1e-9, equal_nan=True):
        raise WrongAnswer(f"{workload}: {stored.num_rows} rows, not the {wanted.num_rows} of run, or others")


def _numbers(table: pa.Table) -> np.ndarray:
    return table.column("log2").to_numpy()


class Memory:
    """Mutable: the most bytes that driver, JVM and Python workers held together, by what ran."""

    def __init__(self) -> None:
        self.peaks: dict[str, dict[str, int]] = {}

    def watched(self, name: str) -> Watch:
        return Watch(self.peaks.setdefault(name, {"total": 0}))


class Watch:
    """Looks at the resident memory of this process and its descendants ten times a second."""

    def __init__(self, peak: dict[str, int]) -> None:
        self.peak, self.done = peak, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> None:
        self.thread.start()

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()

    def _look(self) -> None:
        while not self.done.wait(0.1):
            now = resident()
            if sum(now.values()) > self.peak["total"]:
                self.peak.clear()
                self.peak.update(total=sum(now.values()), **now)


def resident() -> dict[str, int]:
    """Bytes of the driver, of the JVM, and of Spark's Python workers. Linux; nothing elsewhere."""
    parents, sizes, names = {}, {}, {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            stat = (place / "stat").read_text()
            sizes[int(place.name)] = int((place / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        except OSError:
            continue
        head, tail = stat.rsplit(")", 1)
        parents[int(place.name)], names[int(place.name)] = int(tail.split()[1]), head.split("(", 1)[1]
    found = {"driver": 0, "JVM": 0, "workers": 0}
    for pid, size in sizes.items():
        line = [pid]
        while line[-1] in parents and line[-1] != os.getpid():
            line.append(parents[line[-1]])
        if line[-1] == os.getpid():
            kind = "driver" if pid == os.getpid() else "JVM" if names[pid] == "java" else "workers"
            found[kind] += size
    return found


if __name__ == "__main__":
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        print(json.dumps(main(Path(sys.argv[1]), *map(int, sys.argv[2:6]))))
    except WrongAnswer as wrong:
        print(wrong, file=sys.stderr)
        sys.exit(3)
