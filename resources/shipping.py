"""Our own code for the machines of a cluster: an archive of the packages, with the kernels that are compiled here."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from pyspark import SparkContext, SparkFiles

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("hamlet_core", "pipelines", "resources")
FOLDER = "hamlet-code"
"""Where an executor unpacks the archive, below its own folder; Python workers look there first."""

_NOT_SHIPPED = {".pyc", ".lock"}


def ship(context: SparkContext) -> None:
    """Give the executors of a session the code of this process, so that no machine runs another version.

    An archive and no zip on the path: grammar and kernels are read as files.
    """
    # Executors fetch it from there whenever they start; Spark removes the folder when it stops.
    archive = Path(SparkFiles.getRootDirectory(), "hamlet-code.zip")
    with zipfile.ZipFile(archive, "w") as file:
        for path in shipped():
            file.write(path, path.relative_to(ROOT))
    context.addArchive(f"{archive}#{FOLDER}")


def shipped() -> Iterator[Path]:
    """The files of our packages; compiled kernels too, which fit machines with the same processor."""
    for package in PACKAGES:
        found = sorted((ROOT / package).rglob("*"))
        yield from (path for path in found if path.is_file() and path.suffix not in _NOT_SHIPPED)
