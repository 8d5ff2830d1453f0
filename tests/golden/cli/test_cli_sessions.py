"""Sessions of the command line as data: a command, its stdout, its stderr, its exit code (`--complete` rewrites)."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pipelines.cli import main

HERE = Path(__file__).parent
TIMES = (
    (re.compile(r"took +[0-9.]+ ms"), "took ... ms"),
    (re.compile(r"(?m)^a run takes .*$"), "a run takes ..."),
    (re.compile(r"(?m)^( \w[\w ]*?) +[\d,]+ +[\d.,]+ m?s +[\d,]+ MB +[\d.,]+ m?s +"), r"\1 ... "),
    (re.compile(r"(?m)^( \w[\w ]*?)(?: +-){4} +"), r"\1 - "),
    (re.compile(r"(?m)^ engine +events/s +time +memory +planning +answer\n ─+$"), " engine ... answer"),
)
"""The only words of a result that differ from run to run, and how sessions have them."""
SESSIONS = sorted(HERE.glob("*.session"))


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_session(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    monkeypatch.chdir(HERE)
    monkeypatch.setattr("pipelines.commands.going_on.BEAT", 3600.0)
    command = path.read_text(encoding="utf-8").splitlines()[0]
    code = main(shlex.split(command.removeprefix("$ hamlet ")))
    shown = capfd.readouterr()
    out = shown.out
    for words, same in TIMES:
        out = words.sub(same, out)
    session = f"{command}\n{out}--- stderr\n{shown.err}--- exit {code}\n"
    if request.config.getoption("--complete"):
        path.write_text(session, encoding="utf-8")
    assert session == path.read_text(encoding="utf-8")


def test_what_the_page_of_sharing_shows_is_a_session() -> None:
    page = (HERE.parents[2] / "docs" / "sharing.md").read_text(encoding="utf-8")
    sessions = (HERE / f"{name}.session" for name in ("explain_sharing", "explain_plan"))
    session = "".join(one.read_text(encoding="utf-8") for one in sessions).splitlines()
    shown = [
        line for block in re.findall(r"```text\n(.*?)```", page, re.DOTALL) for line in block.splitlines()
    ]
    assert len(shown) > 8
    assert [line for line in shown if line not in session] == []


def test_sessions_are_found_and_use_every_input() -> None:
    commands = " ".join(path.read_text(encoding="utf-8").splitlines()[0] for path in SESSIONS)
    inputs = {path.name for pattern in ("*.hamlet", "*.csv") for path in HERE.glob(pattern)}
    assert len(SESSIONS) >= 25
    assert {name for name in inputs if name not in commands} == set()
