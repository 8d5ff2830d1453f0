"""What data hold cannot steer a terminal: tables, trends, messages; JSON, CSV and Parquet stay the data."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import pty
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from pipelines.cli import main
from pipelines.commands.main_run import progress
from pipelines.showing.people import show_any
from tests.conftest import ROOT

HOSTILE = "\x1b[2J\x07\x9b31m\x7f\u202eevil"
SHOWN = r"\u001b[2J\u0007\u009b31m\u007f\u202eevil"
STEERS = [
    chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F)) if code not in (9, 10)
]
QUERY = (
    "q: RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE [car] GROUP-BY car WITHIN 60 seconds SLIDE 60 seconds\n"
)


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """A workload, and events whose group is hostile."""
    query, events = tmp_path / "q.hamlet", tmp_path / "events.csv"
    query.write_text(QUERY, encoding="utf-8")
    rows = "".join(f'{time},{kind},"{HOSTILE}"\n' for time, kind in ((1, "A"), (2, "B"), (3, "B")))
    events.write_text(f"time,type,car\n{rows}", encoding="utf-8")
    return str(query), str(events)


def steering(text: str) -> list[str]:
    return [one for one in STEERS if one in text]


@pytest.mark.parametrize("more", [(), ("--why", json.dumps({"car": HOSTILE}), "0")], ids=["table", "why"])
def test_groups_in_tables_and_trends(
    files: tuple[str, str], more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", files[0], "--events", files[1], *more]) == 0
    out = capsys.readouterr().out
    assert steering(out) == []
    assert "[2J" in out
    assert "u202eevil" in out


def test_titles_and_values_of_any_table() -> None:
    out = io.StringIO()
    show_any(pa.table({HOSTILE: [HOSTILE], "two": ["lines\nof it"]}), out, 0)
    assert steering(out.getvalue()) == []
    assert out.getvalue().count(SHOWN) == 2


@pytest.mark.parametrize("choice", ["error", "skip"])
def test_bad_rows_in_messages(
    files: tuple[str, str], choice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    events = Path(files[1]).rename(Path(files[1]).with_name(f"{HOSTILE}.csv"))
    with events.open("a", encoding="utf-8") as file:
        file.write("no time,A,x\n")
    assert main(["run", files[0], "--events", str(events), "--on-bad-rows", choice]) == (choice == "error")
    told = capsys.readouterr().err
    assert SHOWN in told
    assert steering(told) == []


def test_what_was_typed_in_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = tmp_path / "q.hamlet"
    query.write_text(f"q: RETURN COUNT(*) PATTERN {HOSTILE}\n", encoding="utf-8")
    assert main(["check", str(query)]) == 2
    assert main(["run", str(query), "--events", f"{tmp_path}/{HOSTILE}.csv"]) == 2
    assert main(["run", f"{tmp_path}/{HOSTILE}", "--events", "none.csv"]) != 0
    told = capsys.readouterr().err
    assert SHOWN in told
    assert steering(told) == []


def test_literals_in_explanations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = tmp_path / "q.hamlet"
    query.write_text(QUERY.replace("[car]", f"[car] AND a.car = '{HOSTILE}'"), encoding="utf-8")
    code = main(["explain", str(query)])
    both = capsys.readouterr()
    assert steering(both.out + both.err) == []
    assert (code, "u202eevil" in both.out + both.err) == (0, True)


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    with progress():
        logging.getLogger("hamlet").info("reads %s.csv", HOSTILE)
    assert f"reads {SHOWN}.csv" in capsys.readouterr().err


@pytest.mark.parametrize("format_", ["csv", "json"])
def test_json_and_csv_are_the_data_and_on_a_terminal_visible(files: tuple[str, str], format_: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pipelines.cli",
        "run",
        *files[:1],
        "--events",
        files[1],
        "--format",
        format_,
    ]
    piped = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    rows = json.loads(piped) if format_ == "json" else [*csv.DictReader(io.StringIO(piped, newline=""))]
    assert [json.loads(one["group_key"]) for one in rows] == [{"car": HOSTILE}]

    ours, theirs = pty.openpty()
    with subprocess.Popen(command, cwd=ROOT, stdout=theirs) as process:
        os.close(theirs)
        seen = b""
        while process.poll() is None or b"q" not in seen:
            try:
                seen += os.read(ours, 10_000)
            except OSError:  # the other end is closed
                break
    os.close(ours)
    shown = seen.decode().replace("\r\n", "\n")
    assert steering(shown) == []
    assert "evil" in shown
    if format_ == "json":
        assert json.loads(shown) == rows
