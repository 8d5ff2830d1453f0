"""Starts the Spark session of this process: Delta from local JARs, quiet, on loopback, after the doctor."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from resources.class_archive import reading
from resources.doctor import require_healthy
from resources.environments import COLLECTOR, Environment, environment
from resources.jars import find_jars, jar_places
from resources.java import find_java
from resources.problems import EnvironmentProblem
from resources.python_worker import MODULE
from resources.shipping import FOLDER, ROOT, ship

DELTA_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
LOGGING = Path(__file__).parent / "spark_conf" / "log4j2.properties"
LOOPBACK = "127.0.0.1"
JVM_SECONDS = 120
"""How long a JVM may take to end: one that archives its classes writes 200 MB."""
BRIEF = 384 << 20
"""Bytes of text, some five million events, up to which Java's second compiler costs more than it saves."""
SMALL = 4 << 20
"""Bytes of text, some 50,000 events, up to which it costs more to compile what Spark plans than it saves."""
_FIRST_QUERY = """
SELECT id % 2, count(*), xxhash64(sum(shiftrightunsigned(xxhash64(id, 'a', CAST(id AS DOUBLE)), 32))), to_date(max(
timestamp_seconds(id))) FROM range(2) WHERE id IS NOT NULL GROUP BY id % 2"""
_CLASSES = (
    "PythonUtils",
    "PythonSQLUtils",
    "functions",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
)
"""What PySpark names of Java for every column and query."""
_starting = threading.Lock()
_expected: list[int] = []
ROW_GROUP_BYTES = 32 << 20
"""Of a Parquet file, before it is packed."""
_OPTIONS = "spark.driver.extraJavaOptions"
_COLLECTORS = re.compile(r"-XX:\+Use\w+GC\b")
_JOINED = {
    "spark.jars": ",",
    "spark.sql.extensions": ",",
    "spark.driver.extraClassPath": os.pathsep,
    _OPTIONS: " ",
    "spark.executor.extraJavaOptions": " ",
    "spark.executorEnv.PYTHONPATH": os.pathsep,
}


def spark_session(chosen: Environment | None = None) -> SparkSession:
    """The Spark session of this process, started with the settings of `chosen` if there is none.

    Raises EnvironmentProblem: with one line per cause where Spark cannot start; E508 where a session without
    Delta lives already, since Spark would hand that one back and Delta would fail at its first use.
    """
    with _starting:
        return _session(chosen or environment())


def begin_session(*, lasting: bool = False) -> None:
    """Begin to start the session of this process in a thread, for days if it is `lasting`; `spark_session` waits for it.

    Where Spark cannot start nothing is said here: `spark_session` finds the same, and says it.
    """
    chosen, begun = environment(), threading.Event()
    chosen = chosen.lasting() if lasting else chosen
    threading.Thread(target=_begin, args=(chosen, begun), name="spark", daemon=True).start()
    begun.wait()


def _begin(chosen: Environment, begun: threading.Event) -> None:
    with contextlib.suppress(Exception):
        with _starting:
            begun.set()
            session = _session(chosen)
        # Java loads what every query needs, while this process still imports.
        session.sql(_FIRST_QUERY).collect()


def expect(work: int) -> None:
    """Say about how many bytes of text a session of this process is to read, before it starts: Java is told so."""
    _expected[:] = [work]


def _session(chosen: Environment) -> SparkSession:
    if SparkContext._active_spark_context is not None:  # noqa: SLF001 (no public question exists)
        return _with_delta(SparkSession.builder.getOrCreate())
    for work in _expected:
        chosen = chosen.small() if work <= SMALL else chosen.brief() if work <= BRIEF else chosen
    require_healthy(chosen=chosen)
    _set_process(chosen)
    builder = SparkSession.builder.appName("hamlet").master(chosen.master)
    for key, value in settings(chosen).items():
        builder = builder.config(key, value)
    interrupt = signal.getsignal(signal.SIGINT)
    session = _with_delta(builder.getOrCreate())
    if threading.current_thread() is threading.main_thread():
        # Spark's handler of Ctrl-C talks to the JVM in the middle of a talk to the JVM.
        signal.signal(signal.SIGINT, interrupt)
    _look_up(session.sparkContext)
    if not chosen.local:
        ship(session.sparkContext)
    return session


def silence() -> None:
    """From now on Java says nothing: its session is about to end, and what it still does fails because of that."""
    context = SparkContext._active_spark_context  # noqa: SLF001 (no public question exists)
    if context is not None:
        with contextlib.suppress(Exception):
            context.setLogLevel("OFF")


def end_session() -> int:
    """End the session of this process, and wait for its JVM to end, too: its exit code."""
    gateway: Any = SparkContext._gateway  # noqa: SLF001 (PySpark keeps the process of the JVM here and nowhere else)
    if gateway is None:
        return 0
    SparkSession.builder.getOrCreate().stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    return int(gateway.proc.wait(JVM_SECONDS))


def settings(chosen: Environment) -> dict[str, str]:
    """Spark's settings for `chosen`, those that must stand before the JVM starts included.

    The environment's own stand above ours; lists that Spark cannot do without are made longer by them, not replaced.
    """
    found = _ours(chosen)
    for name, value in chosen.spark:
        joint = _JOINED.get(name)
        found[name] = joint.join(filter(None, (found.get(name), value))) if joint else value
    found[_OPTIONS] = _with_one_collector(found[_OPTIONS], os.environ)
    return found


def _with_one_collector(options: str, environ: Mapping[str, str]) -> str:
    """Java's `options` without our garbage collector where somebody names another: Java does not start with two."""
    named = (environ.get(name, "") for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"))
    if set(_COLLECTORS.findall(" ".join((options, *named)))) <= {COLLECTOR}:
        return options
    return options.replace(f" {COLLECTOR}", "")


def _ours(chosen: Environment) -> dict[str, str]:
    scratch = tempfile.gettempdir()
    found = [path for path in find_jars(jar_places()) if path]
    jars, java = [str(path) for path in found], find_java()
    kept = reading(java, found) if chosen.local and java is not None else ()
    shared = {
        "spark.sql.extensions": DELTA_EXTENSION,
        "spark.sql.catalog.spark_catalog": DELTA_CATALOG,
        "spark.sql.session.timeZone": "UTC",
        # Else `${HOME}` in a path or a name is replaced before Spark parses what it stands in.
        "spark.sql.variable.substitute": "false",
        # Else PySpark asks Java ten times for every column where in Python it was written, for a message of Spark's.
        "spark.python.sql.dataFrameDebugging.enabled": "false",
        "spark.sql.shuffle.partitions": str(chosen.parallelism),
        "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
        # Spark's default INT96 has no statistics and reads as nanoseconds, which end in 2262.
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        # Whoever reads a file batch by batch holds a row group of it, and skips those whose keys or times are others.
        "spark.hadoop.parquet.block.size": str(ROW_GROUP_BYTES),
        # Delta's default of 50 tasks per look at a table's log costs more than most of our steps.
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": str(chosen.parallelism),
        "spark.driver.memory": chosen.driver_memory,
        _OPTIONS: " ".join(
            (
                "-Duser.timezone=UTC",
                f"-Dlog4j2.configurationFile={LOGGING.as_uri()}",
                *kept,
                *chosen.java_options,
            )
        ),
        "spark.driver.extraClassPath": os.pathsep.join(jars),
        "spark.sql.warehouse.dir": f"{scratch}/hamlet-spark-warehouse",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.ui.showConsoleProgress": "false",
        # Arrow and delta-rs say s3 where Hadoop says s3a: one URI for all. Needs hadoop-aws, which is the user's to bring.
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.AbstractFileSystem.s3.impl": "org.apache.hadoop.fs.s3a.S3A",
    }
    if not chosen.local:
        return shared | {
            "spark.jars": ",".join(jars),
            "spark.executor.extraJavaOptions": "-Duser.timezone=UTC",
            "spark.executorEnv.PYTHONPATH": FOLDER,
        }
    return shared | {
        "spark.ui.enabled": "false",
        "spark.python.daemon.module": MODULE,
        # Without its pages nobody asks for what Spark keeps for them: a thousand plans and jobs, and a hundred thousand tasks.
        "spark.ui.retainedJobs": "100",
        "spark.ui.retainedStages": "100",
        "spark.ui.retainedTasks": "10000",
        "spark.sql.ui.retainedExecutions": "20",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.local.dir": scratch,
    }


def _set_process(chosen: Environment) -> None:
    """What Spark reads from the environment of this process only, and not from its settings."""
    java = find_java()
    if java and java.home:
        os.environ["JAVA_HOME"] = str(java.home)
    if not chosen.local:
        # Python with our dependencies, at the same path on all machines, unless the user names another.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    else:
        # Else the workers take python3 from the PATH, which lacks our packages.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        os.environ["SPARK_LOCAL_IP"] = LOOPBACK
        # They import our steps from where this process does, installed or not.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))


def _look_up(context: SparkContext) -> None:
    """Find Java's classes once: py4j has Java look for a name in all archives each time that PySpark says it."""
    view: Any = context._jvm  # noqa: SLF001 (PySpark's own modules look here)
    for name in _CLASSES:
        with contextlib.suppress(Py4JError):
            setattr(view, name, getattr(view, name))


def _with_delta(session: SparkSession) -> SparkSession:
    if DELTA_EXTENSION in (session.conf.get("spark.sql.extensions", "") or ""):
        return session
    message = "a Spark session without Delta is already running in this process"
    raise EnvironmentProblem(message, code="E508", hint="stop it before the pipeline starts its own")
