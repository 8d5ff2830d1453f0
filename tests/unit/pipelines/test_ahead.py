"""What a run is told ahead about how much it will read."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.ahead import expect_reading, start_spark
from pipelines.reading import MORE_TEXT
from tests.conftest import ROOT


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    found: list[int] = []
    monkeypatch.setattr("resources.spark.expect", found.append)
    return found


def test_files_and_stored_events_count_together(tmp_path: Path, told: list[int]) -> None:
    inbox, stored = tmp_path / "inbox", tmp_path / "wh" / "events" / "day=2026-01-05"
    inbox.mkdir()
    stored.mkdir(parents=True)
    (inbox / "a.csv").write_bytes(b"x" * 100)
    (inbox / "b.parquet").write_bytes(b"x" * 10)
    expect_reading(str(inbox), tmp_path / "none yet")
    (stored / "part.parquet").write_bytes(b"x" * 1000)
    (tmp_path / "wh" / "metrics.parquet").write_bytes(b"x" * 7)
    expect_reading(str(inbox), tmp_path / "wh")
    assert told == [100 + 10 * MORE_TEXT, 100 + 1010 * MORE_TEXT]


def test_nothing_is_said_of_what_is_not_known(tmp_path: Path, told: list[int]) -> None:
    (tmp_path / "a.csv").write_bytes(b"x")
    expect_reading(str(tmp_path / "a.csv"), "s3://bucket/warehouse")
    assert told == []


@pytest.mark.parametrize("lasting", [False, True])
def test_what_goes_on_is_not_told_from_what_there_is_when_it_starts(
    tmp_path: Path, told: list[int], monkeypatch: pytest.MonkeyPatch, lasting: bool
) -> None:
    """A stream that begins with nothing would else be interpreted for ever, at a quarter of the speed."""
    begun: list[tuple[bool, list[int]]] = []
    monkeypatch.setattr("resources.spark.begin_session", lambda lasting: begun.append((lasting, [*told])))
    (tmp_path / "a.csv").write_bytes(b"x")
    start_spark(str(tmp_path / "a.csv"), tmp_path / "wh", lasting=lasting)
    assert begun == [(lasting, [] if lasting else [1])]


def printed_by(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_what_dagster_looks_into_is_imported_before_anything_is_imported_beside_it() -> None:
    """Else a run fails now and then: SQLAlchemy looks into `sqlalchemy.orm` while the thread has imported half of it."""
    program = (
        "import sys, threading, sqlalchemy\n"
        "from pipelines import ahead\n"
        "seen = []\n"
        "threading.Thread.start = lambda thread: seen.append('sqlalchemy.orm' in sys.modules)\n"
        "ahead.load_checks_and_engines()\n"
        "print(seen)"
    )
    assert printed_by(program) == "[True]\n"


def test_what_cannot_be_imported_ahead_fails_no_thread_and_is_imported_where_it_is_needed() -> None:
    """Else a run fails now and then: which warnings are errors is one list for all threads, and some change it for a while.

    What Great Expectations imports and no rule here needs is imported by whoever looks into it.
    """
    program = (
        "import importlib, threading\n"
        "from pipelines import ahead\n"
        "from pipelines.checks import suites\n"
        "failed, real = [], importlib.import_module\n"
        "threading.excepthook = lambda raised: failed.append(raised.exc_type)\n"
        "def refuse(name, package=None):\n"
        "    raise DeprecationWarning(name)\n"
        "importlib.import_module = refuse\n"
        "thread = threading.Thread(target=ahead._load)\n"
        "thread.start()\n"
        "thread.join()\n"
        "importlib.import_module = real\n"
        "suites.load()\n"
        "import great_expectations, sys\n"
        "asleep = 'altair.vegalite' not in sys.modules and 'scipy.stats.distributions' not in sys.modules\n"
        "import altair, scipy.stats\n"
        "print(failed, asleep, altair.Chart.__name__, scipy.stats.entropy([1.0, 1.0], base=2))"
    )
    assert printed_by(program) == "[] True Chart 1.0\n"
