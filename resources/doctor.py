"""Looks at everything a Spark start depends on before Spark does, because Spark names no cause.

No Java, a wrong JAVA_HOME, an old Java and missing JARs all end in the same JAVA_GATEWAY_EXITED.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from resources.environments import Environment, environment
from resources.jars import DELTA_VERSION, find_jars, jar_findings, jar_places
from resources.java import find_java, java_finding
from resources.problems import EnvironmentProblem, Finding
from resources.rights import existing, forbidden
from resources.storage import Location, Place

__all__ = ["EnvironmentProblem", "Finding", "cost_model", "diagnose", "kernels", "require_healthy"]

PYTHON = (3, 11)
SPARK_VERSION = "4.2.0"
# Packages whose versions must be exactly these: the JARs above are built for them.
PINS = {"pyspark": SPARK_VERSION, "delta-spark": DELTA_VERSION}
# A demo warehouse with its Spark scratch space stays well below it.
FREE_BYTES = 1 << 30
LEAST_MEMORY = 512 << 20
"""Of the driver: Spark itself refuses 450 MiB."""
_OTHER_PLACES = {
    "Warehouse": "choose another place with --warehouse",
    "Temporary files": "choose another place with TMPDIR",
}
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def diagnose(warehouse: Place | None = None, chosen: Environment | None = None) -> tuple[Finding, ...]:
    """Everything Spark needs, one finding each, in the order in which to cure it.

    `warehouse` is where will be written to, if that is known; for one elsewhere, what is kept here. `chosen` is the environment
    (default: that of HAMLET_ENVIRONMENT). Raises EnvironmentProblem (E509) for an unknown environment.
    """
    chosen = chosen or environment()
    return (
        _python(),
        *(_package(name, wanted) for name, wanted in PINS.items()),
        _spark_home(),
        java_finding(find_java()),
        *jar_findings(find_jars(jar_places())),
        *(() if warehouse is None else (_directory("Warehouse", Location.of(warehouse).state),)),
        _temporary(),
        _loopback(),
        _memory(chosen),
    )


def require_healthy(warehouse: Place | None = None, chosen: Environment | None = None) -> None:
    """Raise EnvironmentProblem, with one line per problem, unless Spark can start."""
    if failed := tuple(finding for finding in diagnose(warehouse, chosen) if not finding.ok):
        raise EnvironmentProblem.of(failed)


def kernels() -> Finding:
    """Where the compiled engine keeps its kernels; without such a place every process compiles them for itself.

    No part of `diagnose`: a run is slower without it, and starts all the same.
    """
    from hamlet_core.engines.hamlet.jit.cache import cache_place

    place = cache_place()
    if place.directory is None:
        cure = "set NUMBA_CACHE_DIR to a directory you can write"
        return Finding("Kernels", False, "no directory to keep them in", cure, "E505")
    if place.damaged:
        first = place.damaged[0].relative_to(place.directory)
        found = f"{place.directory}, {len(place.damaged)} damaged, {first} first"
        all_there = " ".join(sorted({f"{path.parent}/*.nb[ci]" for path in place.damaged}))
        cure = f"none is used: what a run needs is compiled again; look at the disk, and rm {all_there}"
        return Finding("Kernels", False, found, cure)
    kept = f"{place.kernels} compiled" if place.kernels else "none compiled yet, the first run will"
    return Finding("Kernels", True, f"{place.directory}, {kept}")


def cost_model() -> Finding:
    """Whose constants price sharing: those that are shipped, or those of a file."""
    from hamlet_core.errors import StreamError
    from hamlet_core.sharing.calibration import constants_file, constants_in_use
    from hamlet_core.sharing.costs import Constants

    path = constants_file()
    try:
        own = constants_in_use() != Constants()
    except StreamError as error:
        return Finding("Cost model", False, error.message, "run `hamlet calibrate`", error.code)
    if path is None or not path.is_file():
        return Finding(
            "Cost model", True, "constants that are shipped; `hamlet calibrate` measures this machine's"
        )
    return Finding("Cost model", True, f"constants of {path}" + ("" if own else ", those that are shipped"))


def _python() -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    wanted = ".".join(map(str, PYTHON))
    return Finding(
        "Python", sys.version_info[:2] >= PYTHON, found, f"make .venv anew with Python {wanted}+", "E501"
    )


def _package(name: str, wanted: str) -> Finding:
    try:
        found = version(name)
    except PackageNotFoundError:
        found = "not installed"
    cure = f"{sys.executable} -m pip install {name}=={wanted}"
    return Finding(name, found == wanted, found, cure, "E502")


def _spark_home() -> Finding:
    """A SPARK_HOME of another Spark would be started in place of the installed one."""
    home = os.environ.get("SPARK_HOME")
    if not home:
        return Finding("SPARK_HOME", True, "not set")
    same = any(Path(home, "jars").glob(f"spark-core_*-{SPARK_VERSION}.jar"))
    return Finding(
        "SPARK_HOME", same, f"{home} {'is' if same else 'is not'} Spark {SPARK_VERSION}", "unset it", "E502"
    )


def _temporary() -> Finding:
    """Where Spark keeps its shuffle files."""
    try:
        return _directory("Temporary files", Path(tempfile.gettempdir()))
    except FileNotFoundError as cause:
        return Finding(
            "Temporary files", False, str(cause), "set TMPDIR to a directory you can write", "E505"
        )


def _directory(name: str, path: Path) -> Finding:
    """Whether `path`, or the nearest directory above it that exists, can be written and has room."""
    path = path.absolute()
    place = existing(path)
    other = _OTHER_PLACES[name]
    if not place.is_dir():
        return Finding(name, False, f"{place} is no directory", other, "E505")
    if (why := forbidden(place, os.W_OK)) is not None:
        return Finding(name, False, f"{place} cannot be written: {why}", other, "E505")
    free = shutil.disk_usage(place).free
    cure = f"free {FREE_BYTES >> 20} MiB there, or {other}"
    return Finding(name, free >= FREE_BYTES, f"{path}, {free >> 20} MiB free", cure, "E505")


def _loopback() -> Finding:
    """Driver, JVM and Python workers talk over 127.0.0.1."""
    try:
        with socket.create_server(("127.0.0.1", 0)):
            return Finding("Loopback", True, "127.0.0.1 can be bound")
    except OSError as cause:
        cure = "bring the loopback interface up (`ip link set lo up`)"
        return Finding("Loopback", False, f"127.0.0.1 cannot be bound ({cause})", cure, "E506")


def _memory(chosen: Environment) -> Finding:
    """Whether the driver's heap fits into this machine, or into the container's limit."""
    try:
        wanted = size_in_bytes(chosen.driver_memory)
    except ValueError:
        found = f"HAMLET_DRIVER_MEMORY is '{chosen.driver_memory}'"
        return Finding("Memory", False, found, "give a size such as 2g or 900m", "E507")
    if wanted < LEAST_MEMORY:
        found = f"the driver has {wanted >> 20} MiB, and Spark starts with no less than {LEAST_MEMORY >> 20}"
        cure = f"set HAMLET_DRIVER_MEMORY to at least {LEAST_MEMORY >> 20}m"
        return Finding("Memory", False, found, cure, "E507")
    there = _physical_bytes()
    found = f"{there >> 20} MiB, the driver takes {wanted >> 20} MiB"
    cure = f"set HAMLET_DRIVER_MEMORY to at most {max(there >> 21, 1)}m"
    return Finding("Memory", wanted < there, found, cure, "E507")


def size_in_bytes(size: str) -> int:
    """The bytes of a size as Spark writes it (`2g`, `900m`, `512k`); ValueError if it is none."""
    match = re.fullmatch(r"(\d+)([kmgt])b?", size.strip().lower())
    if not match:
        raise ValueError(size)
    return int(match[1]) * _UNITS[match[2]]


def _physical_bytes() -> int:
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    text = limit.read_text().strip() if limit.is_file() else "max"
    return min(physical, int(text)) if text.isdecimal() else physical
