"""What the first run on a machine would wait for, made ahead: compiled kernels, and Spark's classes as Java keeps them."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from hamlet_core import EventSchema, execute, run
from hamlet_core.streams import generate_stream, write_csv
from pipelines.compiling import from_the_other_end
from pipelines.example import example_workload
from resources.class_archive import archives, keep, reading, writing
from resources.environments import environment
from resources.jars import find_jars, jar_places
from resources.java import find_java
from resources.problems import EnvironmentProblem

EVENTS = 500
BROKEN_ROWS = 3
SEED = 7
EXAMPLE = "events.csv"
QUESTION = (
    "RETURN district, COUNT(*), AVG(t.speed) PATTERN Travel t+ WHERE [driver] GROUP-BY district WITHIN 1 hour"
)
"""What the run asks whose classes are kept: one query touches as many as ten."""

TOLD_EVERY = 3.0
"""Seconds between two words of how far it is."""


def warm(say: Callable[[str], object], *, only_kernels: bool = False) -> None:
    """Compile the kernels of the shipped example and archive Spark's classes, each in a process of its own; where there is
    no Spark, only the kernels.

    Raises EnvironmentProblem (E500) with what a process said that failed.
    """
    began = time.monotonic()
    only_kernels = only_kernels or find_spec("pyspark") is None
    with (
        tempfile.TemporaryDirectory(prefix="hamlet-warm-") as scratch,
        _processes(Path(scratch), only_kernels) as processes,
    ):
        told = began - TOLD_EVERY / 2  # to start took its time, too
        while any(process.poll() is None for process in processes.values()):
            time.sleep(0.2)
            if time.monotonic() - told >= TOLD_EVERY:
                told = time.monotonic()
                going = " and ".join(name for name, process in processes.items() if process.poll() is None)
                say(f"{told - began:.0f} s: {going}{_kernels()}")
        for name, process in processes.items():
            if process.returncode:
                log = _log(Path(scratch), name).read_text(encoding="utf-8", errors="replace")
                last = next(iter(log.strip().splitlines()[-1:]), f"exit code {process.returncode}")
                raise EnvironmentProblem(f"{name} could not be made ready: {last}", code="E500")
    say(f"{time.monotonic() - began:.0f} s{_kernels()}" + ("" if only_kernels else f"; {_classes()}"))


@contextlib.contextmanager
def _processes(scratch: Path, only_kernels: bool) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    wanted = {"kernels": "compile_example()"}
    if not only_kernels:
        wanted["Spark's classes"] = f"archive_classes({str(scratch)!r})"
    processes = {}
    try:
        for name, call in wanted.items():
            program = f"from pipelines import warming; warming.{call}"
            with _log(scratch, name).open("wb") as log:
                processes[name] = subprocess.Popen(
                    [sys.executable, "-c", program], stdin=subprocess.DEVNULL, stdout=log, stderr=log
                )
        yield processes
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def compile_example() -> None:
    """Compile the kernels of the shipped example, in two processes, and that of JSON lines, which is compiled where it is imported."""
    text, events = example_workload().text, generate_stream("ridesharing", EVENTS, SEED)
    with from_the_other_end(text, events.schema, EventSchema(), "scaled"):
        run(text, events)
        execute(text, events.schema.empty_table())
        import_module("pipelines.reading.json_shape")


def archive_classes(scratch: str) -> None:
    """Run the pipeline over a few events, below a folder and in this process, and keep the classes that it took.

    Nothing is done where they are kept, or where Java does not start.
    """
    java, jars = find_java(), [path for path in find_jars(jar_places()) if path]
    if java is None or not environment().local or reading(java, jars):
        return
    write_csv(generate_stream("ridesharing", EVENTS, SEED), Path(scratch, EXAMPLE), broken_rows=BROKEN_ROWS)
    archives().mkdir(parents=True, exist_ok=True)
    part = archives() / f"{os.getpid()}.part"
    try:
        if _run_pipeline(Path(scratch), part) == 0 and part.is_file():
            keep(part, java, jars)
    finally:
        part.unlink(missing_ok=True)


def _run_pipeline(folder: Path, part: Path) -> int:
    """The exit code of the JVM that has run it."""
    from pipelines.main_job import run_main_job
    from pipelines.reading import ColumnOptions
    from pipelines.settings import ExecuteOptions, JobSettings, NamedWorkload, Source
    from resources.spark import end_session, spark_session

    chosen = environment().brief()
    spark_session(replace(chosen, java_options=(*chosen.java_options, *writing(part))))
    logging.getLogger("hamlet").setLevel(logging.ERROR)
    source = Source(str(folder / EXAMPLE), ColumnOptions())
    workload = NamedWorkload("warm", QUESTION)
    run_main_job(JobSettings(workload, source, folder / "warehouse", ExecuteOptions(engine="greta")))
    return end_session()


def _log(scratch: Path, name: str) -> Path:
    return scratch / f"{name.split(maxsplit=1)[0]}.log"


def _kernels() -> str:
    from hamlet_core.engines.hamlet.jit.cache import cache_place

    place = cache_place()
    return f", {place.kernels} kernels compiled" if place.directory else ""


def _classes() -> str:
    kept = [path.stat().st_size for path in archives().glob("*.jsa")]
    return f"Spark's classes are kept ({sum(kept) >> 20} MB)" if kept else "Spark's classes are not kept"
