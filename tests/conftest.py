"""What all tests share: the gate for what a machine may lack, Hypothesis profiles, the real data."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.thorough import reason_to_leave, unmatched

ROOT = Path(__file__).resolve().parents[1]
# Folder -> the marks of every test in it.
FOLDER_MARKS = {
    "spark": ("spark", "needs_java", "needs_jars"),
    "dagster": ("dagster", "needs_java", "needs_jars"),
    "browser": ("browser", "needs_java", "needs_jars", "needs_chromium"),
}

LONGEST = (
    "benchmarks/test_quick.py",
    "unit/engines/hamlet/events/test_kernel.py",
    "dagster/test_ui_folder.py",
    "spark/test_cluster.py",
    "dagster/test_killed_automation.py",
    "dagster/test_bad_things.py",
    "dagster/test_injections.py",
    "spark/test_streaming.py",
    "spark/test_constraints.py",
    "dagster/test_demo.py",
    "spark/test_rules.py",
    "spark/test_ingest.py",
    "dagster/test_kill.py",
    "dagster/test_ui_stream.py",
    "dagster/test_ui_processes.py",
    "dagster/test_ui.py",
)
"""Files of tests that take minutes, or wait for pages and clocks: they begin first, so that none is left alone at the end. In the
order of arguments pytest does not start them: a folder takes in the files that are named beside it.
"""

os.environ.setdefault("HAMLET_ENVIRONMENT", "ci")
# Decisions in golden texts are those of the constants that are shipped.
os.environ["HAMLET_COST_MODEL"] = ""
# Tests must not see the runs of a developer's own instance, nor write to it.
os.environ.pop("DAGSTER_HOME", None)

# What tests import is not searched for garbage at every step, as in commands (`pipelines/cli.py`): a fifth of their time.
gc.set_threshold(100_000, 20, 100)

settings.register_profile("dev", max_examples=50, deadline=None)
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


def _missing_java() -> str | None:
    from resources.java import find_java, java_finding

    finding = java_finding(find_java())
    return None if finding.ok else finding.line


def _missing_jars() -> str | None:
    from resources.jars import find_jars, jar_findings, jar_places

    return next((finding.line for finding in jar_findings(find_jars(jar_places())) if not finding.ok), None)


def find_chromium() -> str | None:
    """The command of an installed Chromium, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def find_real_data() -> Path | None:
    """The folder with the real data: HAMLET_REAL_DATA, else `shared/data` beside the repository."""
    place = os.environ.get("HAMLET_REAL_DATA") or ROOT.parent / "shared" / "data"
    return Path(place) if Path(place, "fhv_daily_2015.csv").is_file() else None


@functools.cache
def tmpfs_command() -> tuple[str, ...]:
    """What to put before a command that mounts a tmpfs, so that it may and nobody else sees it; empty if nothing helps."""
    for namespace in (("unshare", "--map-root-user", "--mount"), ("unshare", "--mount")):
        with tempfile.TemporaryDirectory() as place:
            mount = [*namespace, "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place]
            with contextlib.suppress(OSError):
                if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
                    return namespace
    return ()


def _missing_classes() -> str | None:
    from resources.class_archive import reading
    from resources.jars import find_jars, jar_places
    from resources.java import find_java

    java, jars = find_java(), [path for path in find_jars(jar_places()) if path]
    return None if java and reading(java, jars) else "no archive of Spark's classes: run `hamlet warm`"


def find_uv() -> Path | None:
    """The uv of this environment; set-up brings it, and does without where it cannot."""
    place = Path(sys.executable).with_name("uv")
    return place if place.is_file() else None


REQUIREMENTS = {
    "uv": lambda: None if find_uv() else "no uv in this environment",
    "java": _missing_java,
    "jars": _missing_jars,
    "classes": _missing_classes,
    "chromium": lambda: None if find_chromium() else "no Chromium on the PATH",
    "tmpfs": lambda: (
        None if tmpfs_command() else "no right to mount a tmpfs, not even in a namespace of one's own"
    ),
    "data": lambda: None if find_real_data() else "no real data: set HAMLET_REAL_DATA to its folder",
}


@functools.cache
def missing(requirement: str) -> str | None:
    """Why `requirement` is not met on this machine, or None."""
    return REQUIREMENTS[requirement]()


def gate(requirement: str) -> None:
    """Skip the running test with the reason where `requirement` is absent; fail it if HAMLET_REQUIRE names it."""
    required = {name.strip() for name in os.environ.get("HAMLET_REQUIRE", "").split(",")} - {""}
    if unknown := required - REQUIREMENTS.keys():
        pytest.exit(f"HAMLET_REQUIRE names {sorted(unknown)}; known are {sorted(REQUIREMENTS)}", returncode=2)
    if reason := missing(requirement):
        if requirement in required:
            pytest.fail(f"HAMLET_REQUIRE wants {requirement}, but: {reason}", pytrace=False)
        pytest.skip(reason)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--complete", action="store_true", help="rewrite golden sessions, for review with git diff"
    )


def _turn(item: pytest.Item) -> int:
    """When a file of tests begins; others stay in their order."""
    name = item.path.relative_to(ROOT / "tests").as_posix()
    return LONGEST.index(name) if name in LONGEST else len(LONGEST)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=_turn)
    tests = {item: item.nodeid.removeprefix("tests/") for item in items}
    whole = "thorough" in config.option.markexpr and not any("::" in argument for argument in config.args)
    if whole and (lost := unmatched(tests.values())):
        raise pytest.UsageError(f"tests/thorough.py names tests that are not there: {lost}")
    for item in items:
        folder = item.path.relative_to(ROOT / "tests").parts[0]
        names = FOLDER_MARKS.get(folder, ())
        if item.get_closest_marker("browser"):
            names = (*names, *FOLDER_MARKS["browser"])
        for name in dict.fromkeys(names):
            item.add_marker(name)
        if reason_to_leave(tests[item]):
            item.add_marker("thorough")


def pytest_runtest_setup(item: pytest.Item) -> None:
    for requirement in REQUIREMENTS:
        if item.get_closest_marker(f"needs_{requirement}"):
            gate(requirement)


@pytest.fixture(scope="session", autouse=True)
def invariants() -> Iterator[None]:
    """Every automaton, every set of ambiguous pairs and every analysed query is checked as soon as it is made."""
    from hamlet_core.pattern import meaning
    from hamlet_core.pattern.invariants import check_ambiguous_pairs, check_analysed, check_automaton

    construct, ambiguous_pairs, analyse = meaning.construct, meaning.ambiguous_pairs, meaning.analyse

    def checked_construct(*arguments):
        automaton = construct(*arguments)
        check_automaton(automaton)
        return automaton

    def checked_ambiguous_pairs(automaton):
        found = ambiguous_pairs(automaton)
        check_ambiguous_pairs(automaton, found)
        return found

    def checked_analyse(*arguments):
        analysed = analyse(*arguments)
        check_analysed(analysed)
        return analysed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meaning, "construct", checked_construct)
        patch.setattr(meaning, "ambiguous_pairs", checked_ambiguous_pairs)
        patch.setattr(meaning, "analyse", checked_analyse)
        yield


@pytest.fixture
def real_data() -> Path:
    """The folder of the real data; the test is skipped where there is none."""
    gate("data")
    folder = find_real_data()
    assert folder is not None
    return folder


@pytest.fixture
def chromium() -> str:
    """The command of Chromium; the test is skipped where there is none."""
    gate("chromium")
    command = find_chromium()
    assert command is not None
    return command


@pytest.fixture
def dagster_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A DAGSTER_HOME of this test's own, with the repository's dagster.yaml."""
    with tempfile.TemporaryDirectory(prefix="hamlet-dagster-") as home:
        shutil.copy(ROOT / "dagster.yaml", home)
        monkeypatch.setenv("DAGSTER_HOME", home)
        yield Path(home)
