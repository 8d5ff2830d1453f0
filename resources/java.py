"""Finds the Java that Spark will run on: JAVA_HOME if set, else the PATH, else the one set-up brought."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from resources.problems import Finding

MINIMUM = 17
# Spark's launcher puts this on every command line; a trimmed image without the module refuses to start.
VECTOR_MODULE = "--add-modules=jdk.incubator.vector"
_VERSION = re.compile(r'version "((?:1\.)?(\d+)[^"]*)"')


@dataclass(frozen=True, slots=True)
class Java:
    """A `java` command as it answered: `major` is 0 where it did not run, `home` None for one on the PATH."""

    executable: Path
    origin: str
    home: Path | None
    version: str
    major: int
    complete: bool

    @property
    def usable(self) -> bool:
        """Whether Spark starts on it."""
        return self.major >= MINIMUM and self.complete

    def __str__(self) -> str:
        if not self.major:
            return f"{self.executable} does not run (from {self.origin})"
        trimmed = "" if self.complete else ", a trimmed image without the module jdk.incubator.vector"
        return f"Java {self.version} at {self.executable} (from {self.origin}){trimmed}"


def brought_home(prefix: str = sys.prefix) -> Path:
    """Where set-up puts its own Java."""
    return Path(prefix, "share", "hamlet", "java")


def find_java(environ: Mapping[str, str] = os.environ, prefix: str = sys.prefix) -> Java | None:
    """The Java that Spark will use, else the best one found, else None.

    A JAVA_HOME that is set is obeyed, as Spark's own scripts do: it hides every other Java.
    """
    if home := environ.get("JAVA_HOME"):
        return inspect(Path(home, "bin", "java"), "JAVA_HOME", Path(home))
    found = []
    if on_path := shutil.which("java", path=environ.get("PATH", os.defpath)):
        found.append(inspect(Path(on_path), "PATH", None))
    if (own := brought_home(prefix) / "bin" / "java").exists():
        found.append(inspect(own, "set-up", brought_home(prefix)))
    usable = [java for java in found if java.usable]
    return next(iter(usable + found), None)


def inspect(executable: Path, origin: str, home: Path | None) -> Java:
    """Ask `executable` for its version, and whether it accepts the module Spark asks for; once, as long as it is the same."""
    try:
        known = executable.stat()
    except OSError:
        return _inspect(executable, origin, home, 0, 0)
    return _inspect(executable, origin, home, known.st_size, known.st_mtime_ns)


@functools.cache
def _inspect(executable: Path, origin: str, home: Path | None, _size: int, _changed: int) -> Java:
    answer = _ask(executable, VECTOR_MODULE, "-version")
    complete = answer is not None
    answer = answer or _ask(executable, "-version") or ""
    match = _VERSION.search(answer)
    version, major = (match[1], int(match[2])) if match else ("", 0)
    return Java(executable, origin, home, version, major, complete)


def java_finding(java: Java | None) -> Finding:
    """What `find_java` found, with the cure where Spark would not start on it."""
    setup = f"{sys.executable} -m resources.setup"
    if java is None:
        return Finding(
            "Java", False, "none found", f"run `{setup}`, or install Java {MINIMUM} or newer", "E503"
        )
    if java.usable:
        return Finding("Java", True, str(java))
    if java.origin == "JAVA_HOME":
        cure = f"point JAVA_HOME at a full Java {MINIMUM} or newer, or unset it"
    else:
        cure = f"run `{setup}`, or install a full Java {MINIMUM} or newer"
    return Finding("Java", False, str(java), cure, "E503")


def _ask(executable: Path, *options: str) -> str | None:
    """What the command printed, or None if it failed."""
    try:
        answer = subprocess.run(
            [str(executable), *options], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stderr + answer.stdout
