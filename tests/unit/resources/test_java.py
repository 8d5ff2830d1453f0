"""Which Java is found, and what is said about one that Spark cannot run on; the Javas are shell scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from resources.java import VECTOR_MODULE, brought_home, find_java, java_finding

REFUSES_MODULE = f'case "$*" in *{VECTOR_MODULE}*) echo "Module not found" >&2; exit 1;; esac\n'


def fake_java(home: Path, version: str, before: str = "") -> Path:
    """A JAVA_HOME whose `java` says it is `version`."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True)
    script.write_text(f"#!/bin/sh\n{before}echo 'openjdk version \"{version}\" 2026-01-20' >&2\n")
    script.chmod(0o755)
    return home


@pytest.fixture
def prefix(tmp_path: Path) -> str:
    return str(tmp_path / "prefix")


def test_java_home_is_obeyed(tmp_path: Path, prefix: str) -> None:
    home = fake_java(tmp_path / "home", "21.0.8")
    other = fake_java(tmp_path / "other", "25")
    java = find_java({"JAVA_HOME": str(home), "PATH": str(other / "bin")}, prefix)
    assert java is not None
    assert (java.origin, java.major, java.home, java.usable) == ("JAVA_HOME", 21, home, True)
    assert java_finding(java).ok


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("17", 17), ("17.0.15", 17), ("26-ea", 26)])
def test_versions_are_read(tmp_path: Path, prefix: str, version: str, major: int) -> None:
    java = find_java({"PATH": str(fake_java(tmp_path / "home", version) / "bin")}, prefix)
    assert java is not None
    assert (java.version, java.major, java.usable) == (version, major, major >= 17)


def test_a_wrong_java_home_is_named_even_if_the_path_has_a_java(tmp_path: Path, prefix: str) -> None:
    good = fake_java(tmp_path / "good", "17")
    finding = java_finding(find_java({"JAVA_HOME": "/nowhere", "PATH": str(good / "bin")}, prefix))
    assert not finding.ok
    assert finding.line.startswith(
        "Java: /nowhere/bin/java does not run (from JAVA_HOME) -> point JAVA_HOME at"
    )
    assert "\n" not in finding.line


def test_java_11_is_too_old(tmp_path: Path, prefix: str) -> None:
    home = fake_java(tmp_path / "home", "11.0.22")
    finding = java_finding(find_java({"JAVA_HOME": str(home)}, prefix))
    assert not finding.ok
    assert "Java 11.0.22" in finding.found
    assert "17 or newer" in finding.cure


def test_java_11_on_the_path_gives_way_to_the_one_set_up_brought(tmp_path: Path, prefix: str) -> None:
    old = fake_java(tmp_path / "old", "11.0.22")
    fake_java(brought_home(prefix), "21.0.8")
    java = find_java({"PATH": str(old / "bin")}, prefix)
    assert java is not None
    assert (java.origin, java.home) == ("set-up", brought_home(prefix))


def test_a_trimmed_image_is_named(tmp_path: Path, prefix: str) -> None:
    home = fake_java(tmp_path / "home", "21.0.8", before=REFUSES_MODULE)
    finding = java_finding(find_java({"PATH": str(home / "bin")}, prefix))
    assert not finding.ok
    assert "trimmed image without the module jdk.incubator.vector" in finding.found


def test_a_java_that_fails_is_as_none(tmp_path: Path, prefix: str) -> None:
    """macOS has a `java` that only says that there is none."""
    home = fake_java(tmp_path / "home", "17", before="echo 'No Java runtime present' >&2; exit 1\n")
    finding = java_finding(find_java({"PATH": str(home / "bin")}, prefix))
    assert not finding.ok
    assert "does not run" in finding.found


def test_no_java_at_all(tmp_path: Path, prefix: str) -> None:
    finding = java_finding(find_java({"PATH": str(tmp_path)}, prefix))
    assert (finding.ok, finding.code) == (False, "E503")
    assert finding.line.startswith("Java: none found -> run `")
