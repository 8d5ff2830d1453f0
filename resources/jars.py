"""The two Delta JARs: where they are looked for and the hashes they must have."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from resources.problems import Finding

DELTA_VERSION = "4.4.0"


@dataclass(frozen=True, slots=True)
class Jar:
    """A JAR file by name and SHA-256."""

    name: str
    sha256: str

    def matches(self, path: Path) -> bool:
        """Whether the file at `path` has the hash of this JAR."""
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == self.sha256


DELTA_JARS = (
    Jar(
        f"delta-spark_4.2_2.13-{DELTA_VERSION}.jar",
        "27d4fd8b1f879535c573ed1c718177d6a27f24d3e626ba02e216369725721ead",
    ),
    Jar(
        f"delta-storage-{DELTA_VERSION}.jar",
        "c46735481fa8e326b0957be02b4420cbcab4b325bb08009b7f2045a95133f1cc",
    ),
)


def brought_jars(prefix: str = sys.prefix) -> Path:
    """The directory into which set-up puts the JARs."""
    return Path(prefix, "share", "hamlet", "jars")


def jar_places(environ: Mapping[str, str] = os.environ, prefix: str = sys.prefix) -> tuple[Path, ...]:
    """The directories to look in, in their order: HAMLET_JARS, then what set-up brought."""
    given = environ.get("HAMLET_JARS")
    return (Path(given), brought_jars(prefix)) if given else (brought_jars(prefix),)


def find_jars(places: tuple[Path, ...]) -> tuple[Path | None, ...]:
    """The path of each Delta JAR in the first of `places` that has it, None where it is missing."""
    return tuple(
        next((place / jar.name for place in places if (place / jar.name).is_file()), None)
        for jar in DELTA_JARS
    )


def jar_findings(paths: tuple[Path | None, ...]) -> tuple[Finding, ...]:
    """One finding per Delta JAR: there with the right hash, there with a wrong one, or missing."""
    return tuple(_finding(jar, path) for jar, path in zip(DELTA_JARS, paths, strict=True))


def _finding(jar: Jar, path: Path | None) -> Finding:
    setup = f"{sys.executable} -m resources.setup"
    if path is None:
        cure = f"run `{setup}`, or set HAMLET_JARS to a directory that has it"
        return Finding(jar.name, False, "missing", cure, "E504")
    if not jar.matches(path):
        return Finding(jar.name, False, f"{path} has a wrong SHA-256", f"delete it and run `{setup}`", "E504")
    return Finding(jar.name, True, str(path))
