"""Spark's classes as the Java machine keeps them once they are loaded and checked, shared by all starts on this machine.

A session loads some twenty thousand classes; from an archive they are mapped instead of read, parsed and verified (class
data sharing, JEP 350). Java itself refuses an archive of another Java or of other JARs, and goes on without; so do we
where there is none.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from resources.java import Java

QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")
"""What Java says of an archive that does not fit is nothing that a user has to know: it starts without."""


def archives(prefix: str = sys.prefix) -> Path:
    """The directory of the archives."""
    return Path(prefix, "share", "hamlet", "classes")


def reading(java: Java, class_path: Sequence[Path], places: Path | None = None) -> tuple[str, ...]:
    """Java's options to start with the archive for this Java and these JARs; none where there is no such archive.

    Java maps a file that was cut off and dies of it: the name of an archive says how long it is. It looks for other
    damage itself.
    """
    for path in sorted((places or archives()).glob(f"{_key(java, class_path)}-*.jsa")):
        with contextlib.suppress(FileNotFoundError):  # a newer one has just been made
            if path.name.endswith(f"-{path.stat().st_size}.jsa"):
                return (_option("SharedArchiveFile", path), "-XX:+VerifySharedSpaces", *QUIET)
    return ()


def writing(part: Path) -> tuple[str, ...]:
    """Java's options to write, at its end, an archive of the classes that it has loaded until then."""
    return (_option("ArchiveClassesAtExit", part), *QUIET)


def keep(part: Path, java: Java, class_path: Sequence[Path], places: Path | None = None) -> Path:
    """Put an archive that is written in its place; those of before go, and what a JVM wrote that nobody waited for. Only
    whole ones are ever seen there.
    """
    place = places or archives()
    place.mkdir(parents=True, exist_ok=True)
    with part.open("rb") as file:
        os.fsync(file.fileno())
    kept = place / f"{_key(java, class_path)}-{part.stat().st_size}.jsa"
    part.replace(kept)
    for old in (*place.glob("*.jsa"), *place.glob("*.part")):
        if old != kept:
            old.unlink(missing_ok=True)
    return kept


def _option(name: str, path: Path) -> str:
    return shlex.quote(f"-XX:{name}={path}")


def _key(java: Java, class_path: Sequence[Path]) -> str:
    """What an archive is made of: this Java, and JARs that have not changed since."""
    found = "\n".join((str(java.executable.resolve()), java.version, *_facts(class_path)))
    return hashlib.sha256(found.encode()).hexdigest()[:16]


def _facts(class_path: Sequence[Path]) -> Iterator[str]:
    import pyspark

    spark = Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent, "jars")
    for path in (*class_path, *sorted(spark.glob("*.jar"))):
        known = path.stat()
        yield f"{path} {known.st_size} {known.st_mtime_ns}"
