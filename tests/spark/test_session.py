"""The session as the pipeline gets it: Delta from local files, readable by others, and nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyspark
import pytest
from deltalake import DeltaTable
from py4j.clientserver import JavaClient
from pyarrow import parquet
from pyspark.sql import SparkSession
from pyspark.sql.functions import col, when

from resources.environments import environment
from resources.spark import ROW_GROUP_BYTES, settings, spark_session
from resources.warehouse import values

ROUND_TRIP = """
import sys
from resources.spark import spark_session
session = spark_session()
session.range(10).repartition(2).write.format("delta").save(sys.argv[1])
print(session.read.format("delta").load(sys.argv[1]).count())
"""

PLAIN_FIRST = """
from pyspark.sql import SparkSession
SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
from resources.problems import EnvironmentProblem
from resources.spark import spark_session
try:
    spark_session()
except EnvironmentProblem as problem:
    print(problem)
"""


SILENCED = """
from resources.spark import silence, spark_session
silence()
java = spark_session().sparkContext._jvm.org.apache.logging.log4j.LogManager
for _ in range(2):
    print([java.getLogger(f"org.apache.spark.{name}").isErrorEnabled() for name in ("TaskContextImpl", "rpc.Any")])
    silence()
"""


def test_a_second_call_gives_the_living_session(spark: SparkSession) -> None:
    assert spark_session(environment("ci")).sparkContext is spark.sparkContext


def test_java_is_asked_for_no_class_whenever_a_column_is_named(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def heard(client: JavaClient, command: str, *arguments: object, **named: object) -> object:
        asked.append(command)
        return send(client, command, *arguments, **named)

    send = JavaClient.send_command
    monkeypatch.setattr(JavaClient, "send_command", heard)
    frame = spark.range(3).select((col("id") + 1).alias("next"), when(col("id").isNull(), 0).alias("none"))
    assert frame.columns == ["next", "none"]
    assert [command for command in asked if command.startswith("r\nu\n")] == []
    assert [command for command in asked if "PySparkCurrentOrigin" in command] == []
    assert any(command.startswith("c\n") for command in asked)


def test_the_settings_reached_the_session(spark: SparkSession) -> None:
    wanted = settings(environment("ci"))
    static = {"spark.driver.memory", "spark.driver.extraClassPath", "spark.driver.host", "spark.ui.enabled"}
    found = {key: spark.sparkContext.getConf().get(key) for key in static}
    assert found == {key: wanted[key] for key in static}
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_workers_run_the_python_of_this_process(spark: SparkSession) -> None:
    def executables(batches):
        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"executable": [sys.executable]})

    rows = spark.range(4, numPartitions=2).mapInArrow(executables, "executable string").collect()
    assert {row.executable for row in rows} == {sys.executable}


def test_a_table_has_reader_version_1(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.format("delta").save(str(tmp_path / "table"))
    table = DeltaTable(str(tmp_path / "table"))
    assert table.protocol().min_reader_version == 1
    assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == [0, 1, 2]


def test_a_large_file_has_several_row_groups(spark: SparkSession, tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    rows = pa.table({"x": [random.bytes(1_000) for _ in range(50_000)]})
    values(spark, rows).coalesce(1).write.format("delta").save(str(tmp_path / "table"))
    (file,) = (tmp_path / "table").glob("*.parquet")
    found = parquet.read_metadata(file)
    sizes = [found.row_group(number).total_byte_size for number in range(found.num_row_groups)]
    assert len(sizes) > 1
    assert max(sizes) < 1.2 * ROW_GROUP_BYTES


def test_a_process_leaves_nothing_in_its_directory(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    done = _python(ROUND_TRIP, str(tmp_path / "table"), cwd=work)
    assert done.stdout == "10\n", done.stderr
    assert list(work.iterdir()) == []
    # The JVM announces the module that Spark's launcher asks for; nothing else may be on stderr.
    noise = [line for line in done.stderr.splitlines() if "incubator modules" not in line]
    assert noise == []


def test_a_plain_session_that_came_first_is_named(tmp_path: Path) -> None:
    done = _python(PLAIN_FIRST, cwd=tmp_path)
    assert "[E508] a Spark session without Delta is already running" in done.stdout, done.stderr


def test_java_says_nothing_of_tasks_that_fail_and_nothing_at_all_once_it_is_silenced(tmp_path: Path) -> None:
    done = _python(SILENCED, cwd=tmp_path)
    assert done.stdout.splitlines() == ["[False, True]", "[False, False]"], done.stderr


def _python(program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=180, cwd=cwd, check=False)


def test_workers_import_the_package_and_search_for_garbage_among_what_is_new(spark: SparkSession) -> None:
    def told(batches):
        import gc

        import pyspark

        for _ in batches:
            yield pa.record_batch({"of": [pyspark.__file__], "kept": [gc.get_freeze_count()]})

    def asked():
        return spark.range(0, 1, 1, 1).mapInArrow(told, "of string, kept long").toArrow().to_pylist()[0]

    # The second may be the first task of another worker.
    found = [asked() for _ in range(6)]
    assert {one["of"] for one in found} == {pyspark.__file__}
    assert max(one["kept"] for one in found) > 1_000
