"""Every cause of a failed Spark start is one finding with one line and a cure."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from hamlet_core.engines.hamlet.jit.cache import cache_place
from hamlet_core.errors import HamletError
from resources import doctor
from resources.doctor import EnvironmentProblem, Finding, diagnose, require_healthy, size_in_bytes
from resources.environments import ENVIRONMENTS, environment

LOCAL = ENVIRONMENTS["local"]


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def findings(**arguments: object) -> dict[str, Finding]:
    return {finding.name: finding for finding in diagnose(**arguments)}


def test_the_list_is_complete_and_each_finding_is_one_line(tmp_path: Path) -> None:
    found = findings(warehouse=tmp_path, chosen=LOCAL)
    assert list(found) == [
        "Python",
        "pyspark",
        "delta-spark",
        "SPARK_HOME",
        "Java",
        "delta-spark_4.2_2.13-4.4.0.jar",
        "delta-storage-4.4.0.jar",
        "Warehouse",
        "Temporary files",
        "Loopback",
        "Memory",
    ]
    assert all("\n" not in finding.line for finding in found.values())


def test_all_problems_are_told_at_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    monkeypatch.setattr(doctor, "jar_places", lambda: (tmp_path,))
    with pytest.raises(EnvironmentProblem) as caught:
        require_healthy(tmp_path, LOCAL)
    lines = str(caught.value).splitlines()
    assert lines[0] == "[E503] Spark cannot start on this machine:"
    assert lines[1].startswith("  Java: /nowhere/bin/java does not run")
    assert [line.split(":")[0].strip() for line in lines[2:]] == [
        "delta-spark_4.2_2.13-4.4.0.jar",
        "delta-storage-4.4.0.jar",
    ]
    assert isinstance(caught.value, HamletError)
    assert isinstance(caught.value, RuntimeError)


def test_an_old_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    assert findings()["Python"].line == "Python: 3.10.13 -> make .venv anew with Python 3.11+"


@pytest.mark.parametrize("name", ["pyspark", "delta-spark"])
def test_packages_that_do_not_belong_together(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(doctor.PINS, name, "9.9.9")
    finding = findings()[name]
    assert not finding.ok
    assert finding.cure.endswith(f"pip install {name}==9.9.9")


def test_a_package_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(doctor.PINS, "no-such-package", "1")
    assert findings()["no-such-package"].found == "not installed"


def test_another_spark_in_spark_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    assert findings()["SPARK_HOME"].line == f"SPARK_HOME: {tmp_path} is not Spark 4.2.0 -> unset it"


def test_a_warehouse_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    finding = findings(warehouse=tmp_path / "file" / "warehouse")["Warehouse"]
    assert (finding.ok, finding.found) == (False, f"{tmp_path / 'file'} is no directory")


def test_without_a_warehouse_only_the_places_that_spark_uses_are_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(doctor.os, "access", lambda path, _: path not in (tmp_path, tmp_path / "scratch"))
    assert "Warehouse" not in findings()
    assert all(finding.ok for finding in findings().values() if finding.code == "E505")
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(doctor.tempfile, "gettempdir", lambda: str(tmp_path / "scratch"))
    assert f"{tmp_path}/scratch cannot be written: it belongs to" in findings()["Temporary files"].line


def test_a_warehouse_without_rights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda path, _: path != tmp_path)
    assert "cannot be written" in findings(warehouse=tmp_path / "warehouse")["Warehouse"].found


def test_a_full_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(2 << 30, 2 << 30, 5 << 20))
    found = findings(warehouse=tmp_path)
    assert found["Warehouse"].line.endswith(
        "5 MiB free -> free 1024 MiB there, or choose another place with --warehouse"
    )
    assert not found["Temporary files"].ok


def test_no_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise OSError(99, "Cannot assign requested address")

    monkeypatch.setattr(doctor.socket, "create_server", refuse)
    assert "127.0.0.1 cannot be bound" in findings()["Loopback"].line


def test_more_memory_than_there_is() -> None:
    finding = findings(chosen=replace(LOCAL, driver_memory="900t"))["Memory"]
    assert not finding.ok
    assert "HAMLET_DRIVER_MEMORY" in finding.cure
    assert not findings(chosen=replace(LOCAL, driver_memory="plenty"))["Memory"].ok


def test_less_memory_than_spark_starts_with() -> None:
    finding = findings(chosen=replace(LOCAL, driver_memory="300m"))["Memory"]
    assert (finding.ok, finding.cure) == (False, "set HAMLET_DRIVER_MEMORY to at least 512m")
    assert findings(chosen=replace(LOCAL, driver_memory="512m"))["Memory"].ok


def test_sizes() -> None:
    assert [size_in_bytes(size) for size in ("512k", "900m", "2g", "2GB")] == [
        512 << 10,
        900 << 20,
        2 << 30,
        2 << 30,
    ]


def test_environments() -> None:
    assert environment(None, {}).name == "local"
    assert "-XX:TieredStopAtLevel=1" in environment(None, {"HAMLET_ENVIRONMENT": "ci"}).java_options
    cluster = environment("cluster", {"HAMLET_SPARK_MASTER": "yarn", "HAMLET_PARALLELISM": "64"})
    assert (cluster.master, cluster.parallelism, cluster.local) == ("yarn", 64, False)


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"HAMLET_ENVIRONMENT": "prod"}, "HAMLET_ENVIRONMENT is 'prod'"),
        ({"HAMLET_ENVIRONMENT": "cluster"}, "has no Spark master"),
        ({"HAMLET_PARALLELISM": "many"}, "HAMLET_PARALLELISM is 'many'"),
    ],
)
def test_environments_that_do_not_exist(environ: dict[str, str], message: str) -> None:
    with pytest.raises(EnvironmentProblem, match=message) as caught:
        environment(None, environ)
    assert caught.value.code == "E509"


def test_kernels_are_kept_where_one_can_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    finding = doctor.kernels()
    assert finding.ok
    assert finding.line.startswith(f"Kernels: {tmp_path}")
    assert finding.line.endswith("none compiled yet, the first run will")


def test_without_a_place_for_kernels_there_is_a_cure_and_no_refusal(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("hamlet_core.engines.hamlet.jit.cache._Kernels._locator_classes", ())
    line = doctor.kernels().line
    assert line == "Kernels: no directory to keep them in -> set NUMBA_CACHE_DIR to a directory you can write"
    assert "Kernels" not in findings(warehouse=tmp_path, chosen=LOCAL)


def test_damaged_kernels_are_counted_with_a_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    assert cache_place().directory == tmp_path
    (directory,) = tmp_path.iterdir()  # that of a room
    (directory / "fold.1.nbc").write_bytes(b"HAMLET1\nnothing that fits")
    finding = doctor.kernels()
    assert not finding.ok
    assert finding.line == (
        f"Kernels: {tmp_path}, 1 damaged, {directory.name}/fold.1.nbc first -> none is used: what a run needs is compiled again;"
        f" look at the disk, and rm {directory}/*.nb[ci]"
    )
