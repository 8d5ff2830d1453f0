"""Versions stand in several files; these tests hold them together."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import version

import pytest

from resources.doctor import PINS
from resources.jars import DELTA_JARS
from resources.packages import CHECKED, UV_FILE
from resources.setup import JAVA_PACKAGE
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
OPTIONAL = PROJECT["optional-dependencies"].values()
REQUIREMENTS = [*PROJECT["dependencies"], *(name for extra in OPTIONAL for name in extra)]
PIN = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+")


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = (line.partition("==") for line in lines if line and not line.startswith("#"))
    return {normal(name): wanted for name, _, wanted in pins}


def test_constraints_are_plain_pins_without_addresses() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#") and not PIN.fullmatch(line)] == []
    assert "://" not in "\n".join(lines)
    assert [file.name for file in (ROOT / "requirements").iterdir() if "://" in file.read_text()] == []


def digests() -> dict[str, tuple[str, list[str]]]:
    """Name -> version and digests, of all that set-up lets pip install."""
    found: dict[str, tuple[str, list[str]]] = {}
    for file in (ROOT / "requirements").glob("*.txt"):
        for entry in re.split(r"\n(?=\S)", file.read_text()):
            head, *rest = entry.rstrip().split(" \\\n")
            name, _, wanted = head.partition(" ;")[0].partition("==")
            listed = [line.strip().removeprefix("--hash=sha256:") for line in rest]
            assert found.setdefault(normal(name), (wanted, listed)) == (wanted, listed)
    return found


def test_every_pin_has_digests_and_nothing_else_has() -> None:
    assert {name: wanted for name, (wanted, _) in digests().items()} == constraints()
    for name, (_, listed) in digests().items():
        assert listed, name
        assert [one for one in listed if not re.fullmatch(r"[0-9a-f]{64}", one)] == []


def test_set_up_installs_nothing_without_its_digest() -> None:
    """Every file is brought by a command that wants digests; `.` is this project. Refusals: test_packages.py."""
    makefile = (ROOT / "Makefile").read_text()
    assert re.findall(r"pip install|uv pip (?!compile)", makefile) == []
    lines = re.findall(r"(?:\$\(BRING\)|-m resources\.packages) ([^|&;}\n]*)", makefile)
    brought = [word for line in lines for word in line.split()]
    named = {file for file in brought if file != "."} | {str(UV_FILE), str(JAVA_PACKAGE.relative_to(ROOT))}
    assert named == {f"requirements/{file.name}" for file in (ROOT / "requirements").glob("*.txt")}
    assert "--require-hashes" in CHECKED
    assert '"--require-hashes", "--requirement"' in (ROOT / "resources" / "setup.py").read_text()


def test_every_direct_dependency_is_constrained() -> None:
    names = {normal(re.split(r"[<>=!~ ;\[]", requirement)[0]) for requirement in REQUIREMENTS}
    assert names - constraints().keys() == set()


def test_exact_pins_agree_everywhere() -> None:
    exact = dict(requirement.split("==") for requirement in REQUIREMENTS if "==" in requirement)
    assert {normal(name): wanted for name, wanted in exact.items()}.items() <= constraints().items()
    assert PINS.items() <= exact.items()


def test_delta_is_the_one_built_for_this_spark() -> None:
    major_minor = ".".join(PINS["pyspark"].split(".")[:2])
    assert DELTA_JARS[0].name == f"delta-spark_{major_minor}_2.13-{PINS['delta-spark']}.jar"
    assert DELTA_JARS[1].name == f"delta-storage-{PINS['delta-spark']}.jar"


def test_dagster_moves_in_lockstep() -> None:
    family = {name: wanted for name, wanted in constraints().items() if name.startswith("dagster")}
    assert {wanted for name, wanted in family.items() if name != "dagster-rest-resources"} == {
        version("dagster")
    }


@pytest.mark.parametrize("name", sorted(PINS))
def test_what_is_installed_is_what_is_pinned(name: str) -> None:
    assert version(name) == PINS[name]


def test_every_direct_dependency_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["pipeline"]]
    assert [r for r in wanted if not re.search(rf'"{re.escape(r)}",\s*# \S', text)] == []
