"""Workers import PySpark from where the driver does, and search for garbage only among what came last."""

from __future__ import annotations

import gc
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest

from resources import python_worker
from resources.python_worker import keep_imported, without_archives

LIB = Path(pyspark.__file__).parent / "python" / "lib"
PLACES = ["", "/home/me", *sys.path]


def test_archives_of_the_package_that_is_there_are_left_out() -> None:
    archives = sorted(map(str, LIB.glob("*.zip")))
    assert [Path(place).name.split("-")[0] for place in archives] == ["py4j", "pyspark.zip"]
    assert without_archives([*archives, *PLACES]) == PLACES


def test_archives_of_another_pyspark_and_other_archives_stay(tmp_path: Path) -> None:
    others = [str(tmp_path / "python" / "lib" / "pyspark.zip"), str(tmp_path / "eggs.zip")]
    assert without_archives([*others, *PLACES]) == [*others, *PLACES]


def test_without_a_package_beside_them_archives_stay() -> None:
    path = [str(LIB / "pyspark.zip"), "", str(LIB.parents[3] / "nowhere")]
    assert without_archives(path) == path


PROGRAM = """
import sys
sys.path[:0] = sys.argv[1:]
from resources import python_worker
sys.path[:] = python_worker.without_archives(sys.path)
from unittest import mock
import pyspark.daemon
def manager():
    print(pyspark.__file__, pyspark.daemon.worker.__qualname__)
with mock.patch("pyspark.daemon.manager", manager):
    python_worker.main()
"""


def test_the_daemon_is_that_of_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, LIB.glob("*.zip"))],
        cwd=Path(python_worker.__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [pyspark.__file__, "main.<locals>.keeping"]


def test_what_is_there_is_kept_when_modules_have_come(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    for name in ("collect", "freeze"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    monkeypatch.setattr(python_worker, "sys", SimpleNamespace(modules={"one": sys}))
    assert keep_imported(0) == 1
    assert done == ["collect", "freeze"]
    assert keep_imported(1) == 1
    assert done == ["collect", "freeze"]
