"""What may not be read or written is told with its owner, its mode and who we are; nobody calls it lost data."""

from __future__ import annotations

import os
import re
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException

from hamlet_core.errors import HamletError
from resources.failures import explained
from resources.rights import require_writable
from resources.warehouse_lock import exclusive

NOBODY = 65534


def without_rights(work: Callable[[], object]) -> str:
    """What the error says that `work` raises, or returns, in a process of a user who is not the owner's equal."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            found = work()
        except HamletError as error:
            found = error
        except BaseException as error:  # noqa: BLE001 - told to the test, in the other process
            found = repr(error)
        os.write(writing, str(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        text = said.read()
    os.waitpid(child, 0)
    return text


@pytest.fixture
def warehouse() -> Iterator[Path]:
    """A warehouse with a table, a lock and a store, which all may read, and nobody may write without being its owner."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "warehouse")
        deltalake.write_deltalake(root / "events", pa.table({"x": [1]}))
        store = root / ".dagster" / "history"
        store.mkdir(parents=True)
        sqlite3.connect(store / "runs.db").close()
        (root / ".hamlet.lock").touch()
        everything = (Path(place), root, *root.rglob("*"))
        for path in everything:
            # Whoever runs the tests as root is another user in the process that looks.
            path.chmod(0o777 if path.is_dir() else 0o666)
        yield root
        for path in everything:
            if path.exists():
                path.chmod(0o777)


@pytest.mark.parametrize(
    "path", [".", "events", "events/_delta_log", ".dagster", ".dagster/history", ".dagster/history/runs.db", ".hamlet.lock"]
)  # fmt: skip
def test_what_every_run_writes_is_asked_for_before_it_starts(warehouse: Path, path: str) -> None:
    place = warehouse / path
    assert without_rights(lambda: require_writable(warehouse)) == "None"
    place.chmod(0o555 if place.is_dir() else 0o444)
    said = without_rights(lambda: exclusive(warehouse).__enter__())
    kind, mode = ("folder", "dr-xr-xr-x") if place.is_dir() else ("file", "-r--r--r--")
    assert re.match(
        rf"\[E515\] the {kind} {re.escape(str(place))} cannot be written: it belongs to \w+:\w+ "
        rf"with mode {mode}, and this process is \w+\n  hint: run as its owner",
        said,
    ), said


def test_a_new_warehouse_where_nothing_may_be_made(warehouse: Path) -> None:
    warehouse.chmod(0o555)
    said = without_rights(lambda: require_writable(warehouse / "new" / "one"))
    assert said.startswith(f"[E515] the folder {warehouse} cannot be written")


@pytest.mark.parametrize(
    "failure",
    [
        sqlite3.OperationalError("attempt to write a readonly database"),
        sqlite3.OperationalError("unable to open database file"),
        PermissionError(13, "Permission denied"),
        OSError("Generic LocalFileSystem error: Permission denied (os error 13)"),
        PySparkException("Job aborted: java.io.FileNotFoundException: {}/events/part-0.parquet (Permission denied)"),
        PySparkException("Mkdirs failed to create file:{}/events/day=1 for part-0.parquet"),
    ],
    ids=["readonly", "open", "python", "delta-rs", "spark", "mkdirs"],
)  # fmt: skip
def test_a_right_that_is_lost_in_a_run_is_no_lost_data(warehouse: Path, failure: Exception) -> None:
    (warehouse / "events").chmod(0o555)
    failure.args = tuple(one.format(warehouse) if isinstance(one, str) else one for one in failure.args)
    said = without_rights(lambda: explained(failure, warehouse))
    assert said.startswith(f"[E515] the folder {warehouse}/events cannot be written: it belongs to "), said


def test_a_data_file_that_may_not_be_read_is_not_damaged(warehouse: Path) -> None:
    (file,) = (warehouse / "events").glob("*.parquet")
    file.chmod(0)
    failure = PermissionError(13, "Permission denied", str(file))
    said = without_rights(lambda: explained(failure, warehouse))
    assert said.startswith(f"[E515] the file {file} cannot be read: it belongs to "), said


def test_a_file_that_no_version_names_is_not_gone(warehouse: Path) -> None:
    (file,) = (warehouse / "events").glob("*.parquet")
    file.unlink()
    for name, code in ((file.name, "E514"), ("part-never.parquet", "E513")):
        failure = PySparkException(f"No such file: {warehouse}/events/{name}")
        found = explained(failure, warehouse)
        assert found is not None
        assert found.code == code
