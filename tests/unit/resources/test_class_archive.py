"""Which archive of Spark's classes a session may start from: that of this Java and these JARs, whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from resources.class_archive import keep, reading, writing
from resources.java import Java

JAVA = Java(Path("/somewhere/bin/java"), "PATH", None, "17.0.15", 17, True)


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "delta.jar"
    path.write_bytes(b"jar")
    return path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "kept here"


def kept(place: Path, jar: Path, content: bytes = b"classes") -> Path:
    part = place.parent / "1.part"
    part.write_bytes(content)
    return keep(part, JAVA, [jar], place)


def test_what_is_kept_is_read(place: Path, jar: Path) -> None:
    assert reading(JAVA, [jar], place) == ()
    path = kept(place, jar)
    archive, *others = reading(JAVA, [jar], place)
    assert archive == f"'-XX:SharedArchiveFile={path}'"  # quoted, because of the blank
    assert "-XX:+VerifySharedSpaces" in others


def test_an_archive_that_was_cut_off_is_not_read(place: Path, jar: Path) -> None:
    path = kept(place, jar)
    path.write_bytes(path.read_bytes()[:-1])
    assert reading(JAVA, [jar], place) == ()


def test_an_archive_of_something_else_is_not_read(place: Path, jar: Path) -> None:
    kept(place, jar)
    assert reading(replace(JAVA, version="17.0.16"), [jar], place) == ()
    assert reading(JAVA, [], place) == ()
    jar.write_bytes(b"another jar")
    assert reading(JAVA, [jar], place) == ()


def test_the_last_one_is_kept(place: Path, jar: Path) -> None:
    kept(place, jar)
    jar.write_bytes(b"another jar")
    (place / "7.part").write_bytes(b"of a set-up that was killed")
    path = kept(place, jar, b"other classes")
    assert list(place.iterdir()) == [path]
    assert str(path) in reading(JAVA, [jar], place)[0]


def test_it_is_written_at_the_end_of_a_jvm(tmp_path: Path) -> None:
    assert writing(tmp_path / "1.part")[0] == f"-XX:ArchiveClassesAtExit={tmp_path}/1.part"
