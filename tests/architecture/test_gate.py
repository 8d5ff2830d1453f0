"""What a machine lacks skips a test with its reason, and fails it where HAMLET_REQUIRE expects it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

WITHOUT_JAVA = {"JAVA_HOME": "/nowhere", "HAMLET_REAL_DATA": "/nowhere"}


def run(**environ: str) -> subprocess.CompletedProcess[str]:
    """Run one test that needs Java where there is none; the gate is before the session, so no JVM starts."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/spark/test_session.py"]
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("HAMLET_", "PYTEST_"))}
    return subprocess.run(
        [*command, "-k", "second_call"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
        env=clean | WITHOUT_JAVA | environ,
        check=False,
    )


def test_an_absent_java_skips_with_the_reason() -> None:
    done = run()
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout
    assert "/nowhere/bin/java does not run" in done.stdout


@pytest.mark.parametrize("required", ["java", "data, java"])
def test_a_required_java_fails(required: str) -> None:
    done = run(HAMLET_REQUIRE=required)
    assert done.returncode == 1, done.stdout
    assert "HAMLET_REQUIRE wants java, but: Java: /nowhere/bin/java does not run" in done.stdout


def test_an_unknown_requirement_is_refused() -> None:
    done = run(HAMLET_REQUIRE="jave")
    assert done.returncode == 2, done.stdout
    assert "HAMLET_REQUIRE names ['jave']" in done.stdout + done.stderr
