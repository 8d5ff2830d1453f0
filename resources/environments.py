"""The environments the pipeline runs in, told apart in one dict and chosen by HAMLET_ENVIRONMENT."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from resources.problems import EnvironmentProblem

_CORES = os.cpu_count() or 1
COLLECTOR = "-XX:+UseSerialGC"
_BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", COLLECTOR)
"""Short sessions never reach the second compiler's profit; those of millions of events need it. With the first alone Java
keeps room for 48 MiB of code, and compiles no more when a session of many tests has filled it. A collector that works beside
the program costs a small session 6 to 17 % of its processor time, and all that lives there is some hundred megabytes.
"""
_LASTING = ("-XX:MaxNewSize=256m", "-XX:GCTimeRatio=1")
"""What a stream keeps in Java is 240 to 440 MB. Java would make 1.2 GB of a heap of 2 GB room for what is new, in time, and all of it
room for what is old, so as to collect more rarely; collecting is a twentieth of a core.
"""
_SMALL = (
    # Compiling what Spark plans takes 4 s more than interpreting it, and 11 s less where there are 350,000 events.
    ("spark.sql.codegen.wholeStage", "false"),
    ("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
    ("spark.databricks.delta.snapshotPartitions", "1"),
)
_MANY_SMALL = ("-XX:CompileThresholdScaling=0.2",)
"""Where one session runs hundreds of small jobs, compiling five times sooner takes a twentieth less processor time of Java; a
single run takes the same.
"""
_SETTING = re.compile(r"(spark\.[^\s=]+)(?:\s*=\s*|\s+)(?!=)(\S.*)")


@dataclass(frozen=True, slots=True)
class Environment:
    """How Spark is started: `driver_memory` as Spark writes sizes, `parallelism` in tasks per shuffle.

    `local` means that driver and workers are this machine, so that everything can stay on loopback.
    """

    name: str
    master: str
    driver_memory: str
    parallelism: int
    local: bool = True
    java_options: tuple[str, ...] = ()
    spark: tuple[tuple[str, str], ...] = ()
    """Settings of Spark's own, which stand above ours."""

    def brief(self) -> Environment:
        """The same for a session that has little to do."""
        more = () if set(_BRIEF) <= set(self.java_options) else _BRIEF
        return replace(self, java_options=(*self.java_options, *more)) if self.local else self

    def lasting(self) -> Environment:
        """The same for a session that goes on for days, doing the same again and again."""
        return replace(self, java_options=(*self.java_options, *_LASTING)) if self.local else self

    def small(self) -> Environment:
        """The same for a session over tables of some thousand rows."""
        more = () if set(_SMALL) <= set(self.spark) else _SMALL
        return replace(self.brief(), spark=(*more, *self.spark)) if self.local else self


ENVIRONMENTS = {
    "local": Environment("local", "local[*]", "2g", min(32, max(4, 2 * _CORES))),
    "ci": Environment("ci", "local[2]", "1g", 2, java_options=_MANY_SMALL).small(),
    "cluster": Environment("cluster", "", "4g", 200, local=False),
}


def environment(name: str | None = None, environ: Mapping[str, str] = os.environ) -> Environment:
    """The environment `name`, else the one HAMLET_ENVIRONMENT names, else `local`.

    HAMLET_SPARK_MASTER, HAMLET_DRIVER_MEMORY and HAMLET_PARALLELISM replace its settings; `cluster` needs
    the first of them. HAMLET_SPARK_CONF names a file of Spark's settings, written as in spark-defaults.conf. Raises EnvironmentProblem (E509) for a name or a number that does not exist.
    """
    name = name or environ.get("HAMLET_ENVIRONMENT") or "local"
    if name not in ENVIRONMENTS:
        raise _refuse(f"HAMLET_ENVIRONMENT is '{name}'", "use one of " + ", ".join(ENVIRONMENTS))
    chosen = ENVIRONMENTS[name]
    parallelism = environ.get("HAMLET_PARALLELISM") or str(chosen.parallelism)
    if not parallelism.isdecimal() or int(parallelism) < 1:
        raise _refuse(f"HAMLET_PARALLELISM is '{parallelism}'", "give a number of tasks, such as 8")
    chosen = replace(
        chosen,
        master=environ.get("HAMLET_SPARK_MASTER") or chosen.master,
        driver_memory=environ.get("HAMLET_DRIVER_MEMORY") or chosen.driver_memory,
        parallelism=int(parallelism),
        spark=(*chosen.spark, *_spark_settings(environ.get("HAMLET_SPARK_CONF"))),
    )
    if not chosen.master:
        raise _refuse(f"the environment '{name}' has no Spark master", "set HAMLET_SPARK_MASTER")
    return chosen


def _spark_settings(file: str | None) -> tuple[tuple[str, str], ...]:
    """The settings in a file: a name, a blank or `=`, and a value a line; `#` begins a line that is none."""
    if not file:
        return ()
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as cause:
        raise _refuse(f"HAMLET_SPARK_CONF: {file} cannot be read ({cause})", "name a file") from None
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _SETTING.fullmatch(line.strip())
        if match is None:
            hint = "write settings as `spark.name value`, one a line"
            raise _refuse(f"HAMLET_SPARK_CONF: line {number} of {file} is {line.strip()!r}", hint)
        found.append((match[1], match[2]))
    return tuple(found)


def _refuse(message: str, hint: str) -> EnvironmentProblem:
    return EnvironmentProblem(message, code="E509", hint=hint)
