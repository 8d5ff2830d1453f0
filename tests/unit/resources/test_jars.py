"""Where the Delta JARs are looked for, and that their hash is looked at."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from resources import jars
from resources.jars import DELTA_JARS, Jar, brought_jars, find_jars, jar_findings, jar_places

CONTENT = b"not really a JAR"


@pytest.fixture
def known_content(monkeypatch: pytest.MonkeyPatch) -> tuple[Jar, ...]:
    """The same names, but with the hash of CONTENT."""
    fakes = tuple(Jar(jar.name, hashlib.sha256(CONTENT).hexdigest()) for jar in DELTA_JARS)
    monkeypatch.setattr(jars, "DELTA_JARS", fakes)
    return fakes


def fill(directory: Path, content: bytes = CONTENT) -> Path:
    directory.mkdir(parents=True)
    for jar in DELTA_JARS:
        (directory / jar.name).write_bytes(content)
    return directory


def test_the_directory_of_the_environment_comes_first(tmp_path: Path, known_content: tuple[Jar, ...]) -> None:
    given = fill(tmp_path / "given")
    fill(brought_jars(str(tmp_path)))
    places = jar_places({"HAMLET_JARS": str(given)}, str(tmp_path))
    assert places == (given, brought_jars(str(tmp_path)))
    found = find_jars(places)
    assert [path and path.parent for path in found] == [given, given]
    assert all(finding.ok for finding in jar_findings(found))


def test_missing_jars_are_named_with_the_cure(tmp_path: Path) -> None:
    findings = jar_findings(find_jars(jar_places({}, str(tmp_path))))
    assert [finding.name for finding in findings] == [jar.name for jar in DELTA_JARS]
    for finding in findings:
        assert (finding.ok, finding.found, finding.code) == (False, "missing", "E504")
        assert "resources.setup" in finding.cure
        assert "HAMLET_JARS" in finding.cure


def test_a_corrupted_jar_is_named_and_not_passed_over(tmp_path: Path, known_content: tuple[Jar, ...]) -> None:
    given = fill(tmp_path / "given", CONTENT[:-1])
    fill(brought_jars(str(tmp_path)))
    findings = jar_findings(find_jars(jar_places({"HAMLET_JARS": str(given)}, str(tmp_path))))
    assert [finding.ok for finding in findings] == [False, False]
    assert all("wrong SHA-256" in finding.line and str(given) in finding.line for finding in findings)
