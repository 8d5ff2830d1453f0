"""The `hamlet` command as a whole: help, version, exit codes, what goes to stdout, and failures without tracebacks."""

from __future__ import annotations

import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from hamlet_core.errors import InvariantError
from pipelines import cli
from pipelines.cli import COMMANDS, main
from tests.conftest import ROOT

GOOD = "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s"
EVENTS = "time,type\n1,A\n2,B\n3,B\n"
HAMLET = (sys.executable, "-m", "pipelines.cli")


@pytest.fixture
def workload(tmp_path: Path) -> str:
    path = tmp_path / "good.hamlet"
    path.write_text(GOOD, encoding="utf-8")
    return str(path)


@pytest.fixture
def events(tmp_path: Path) -> str:
    path = tmp_path / "events.csv"
    path.write_text(EVENTS, encoding="utf-8")
    return str(path)


def fail_with(failure: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `hamlet check` fail in this way."""

    @click.command()
    def check() -> None:
        raise failure

    monkeypatch.setitem(cli.hamlet.commands, "check", check)


def test_every_command_of_the_surface_is_there_and_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [
        "demo",
        "init",
        "doctor",
        "check",
        "explain",
        "run",
        "pipeline",
        "stream",
        "backfill",
        "test",
        "query",
        "generate",
        "ui",
        "compare",
        "bench",
        "calibrate",
        "warm",
    ]
    assert [command.name for command in COMMANDS] == wanted
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"\n  {name} " in shown for name in wanted)
    assert "Examples:\n" in shown
    assert "..." not in shown.split("Commands:")[1]
    for name in wanted:
        assert main([name, "--help"]) == 0
        assert "--debug" in capsys.readouterr().out


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"hamlet {version('hamlet-on-spark')}\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check", "good.hamlet"], 0),
        (["check", "bad.hamlet"], 2),
        (["check", "folder"], 2),
        (["check", "latin.hamlet"], 2),
        (["check", "empty.hamlet"], 2),
        (["check", "x" * 5000], 2),
        (["check"], 2),
        (["check", "good.hamlet", "--no-such-option"], 2),
        (["run", "good.hamlet", "--events", "events.csv"], 0),
        (["run", "good.hamlet", "--events", "events.csv", "--format", "xml"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--limit", "-1"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--time-unit", "parsec"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--arithmetic", "roman"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--policy", "sometimes"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--cost-model", "paper", "--choice", "paper"], 0),
        (["run", "good.hamlet", "--events", "events.csv", "--cost-model", "free"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--choice", "best"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--out", "no/such/folder.csv"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--why", "{}", "noon"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--why", "{}", "2026-01-01"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--why", "{]", "0"], 2),
        (["run", "good.hamlet", "--events", "events.csv", "--why", "{}", "0", "--format", "csv"], 2),
        (["run", "good.hamlet", "--events", "broken.csv"], 1),
        (["run", "good.hamlet", "--events", "damaged.parquet"], 1),
        (["run", "good.hamlet", "--events", "folder"], 2),
        (["run", "text.hamlet", "--events", "events.csv"], 1),
        (["init", "folder"], 0),
        (["init", "good.hamlet"], 2),
        (["warm", "good.hamlet"], 2),
        (["warm", "--events", "events.csv"], 2),
        (["explain", "good.hamlet"], 0),
        (["explain", "good.hamlet", "--engine", "greta"], 0),
        (["explain", "good.hamlet", "--engine", "sharing"], 2),
        (["query", "SELECT 1", "--warehouse", "folder"], 2),
        (["generate", "nothing", "--out", "x.csv"], 2),
        (["generate", "ridesharing", "--events", "10", "--out", "x.txt"], 2),
        (["generate", "ridesharing", "--events", "-1", "--out", "x.csv"], 2),
        (["generate", "stock", "--ties", "2", "--out", "x.csv"], 2),
        (["generate", "stock", "--set", "colour=2", "--out", "x.csv"], 2),
        (["generate", "stock", "--set", "rate", "--out", "x.csv"], 2),
        (["generate", "stock", "--broken", "2", "--out", "x.parquet"], 2),
        (["generate", "stock", "--queries", "2", "--events", "5", "--out", "x.hamlet"], 2),
        (["stream", "good.hamlet", "--source", "nothing/"], 2),
        (["stream", "good.hamlet", "--source", ".", "--lateness", "soon"], 2),
        (["stream", "good.hamlet", "--source", ".", "--lateness", "400 d"], 2),
        (["pipeline", "bad.hamlet", "--events", "events.csv"], 2),
        (["pipeline", "good.hamlet", "--events", "nothing.csv"], 2),
        (["pipeline", "good.hamlet", "--events", "events.csv", "--engine", "sharing"], 2),
        (["pipeline", "good.hamlet", "--events", "events.csv", "--cost-model", "free"], 2),
        (["pipeline", "good.hamlet", "--events", "events.csv", "--choice", "best"], 2),
        (["ui", "--port", "0"], 2),
        (["bench", "--events", "1"], 2),
        (["calibrate", "--fast"], 2),
    ],
    ids=lambda value: "_".join(value)[:60] if isinstance(value, list) else str(value),
)
def test_exit_codes_and_no_traceback(
    arguments: list[str],
    code: int,
    tmp_path: Path,
    workload: str,
    events: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "bad.hamlet").write_text("RETURN COUNT(*)", encoding="utf-8")
    (tmp_path / "text.hamlet").write_text(GOOD.replace("B b+", "B b+, C c").replace("COUNT(*)", "SUM(c.v)"))
    (tmp_path / "latin.hamlet").write_bytes(b"RETURN \xe9")
    (tmp_path / "empty.hamlet").write_text("")
    (tmp_path / "broken.csv").write_text(EVENTS + ",B\n", encoding="utf-8")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 no")
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == code
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    assert bool(shown.out) == (code == 0)
    assert bool(shown.err) == (code != 0)


def test_stdin_is_a_workload(events: str) -> None:
    done = hamlet("run", "-", "--events", events, "--format", "csv", text=GOOD)
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].startswith("q1,0,10,{},COUNT(*),3.0,")
    bad = hamlet("check", "-", text="RETURN nothing")
    assert bad.returncode == 2
    assert bad.stderr.startswith("Error: stdin: [E")


def test_a_byte_order_mark_is_no_part_of_a_workload(tmp_path: Path) -> None:
    path = tmp_path / "bom.hamlet"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert main(["check", str(path)]) == 0


@pytest.mark.parametrize(
    ("failure", "code", "line"),
    [
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
        (PermissionError(13, "Permission denied", "secret.csv"), 1, "Error: Permission denied: secret.csv\n"),
        (MemoryError(), 1, "Error: out of memory\n"),
        (
            InvariantError("stage x broke", code="E999"),
            1,
            "Error: this is a bug of ours: [E999] stage x broke\n",
        ),
        (
            ZeroDivisionError("oops"),
            1,
            "Error: this is a bug of ours: ZeroDivisionError: oops\n  hint: --debug shows where\n",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_any_failure_is_words_and_an_exit_code(
    failure: BaseException,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    fail_with(failure, monkeypatch)
    assert main(["check"]) == code
    assert capsys.readouterr().err == line
    assert main(["--debug", "check"]) == code
    assert "Traceback" in capsys.readouterr().err


def test_debug_also_stands_behind_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.hamlet"
    path.write_text("RETURN", encoding="utf-8")
    assert main(["check", str(path), "--debug"]) == 2
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert shown.splitlines()[-1].startswith(("  hint", "  RETURN", "Error", "        "))


def hamlet(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    return subprocess.run(
        [*HAMLET, *arguments], check=False, cwd=ROOT, capture_output=True, text=True, input=text, timeout=60
    )


def test_a_reader_who_leaves_is_no_failure_to_talk_about(tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text("time,type\n" + "".join(f"{10 * n},A\n{10 * n + 1},B\n" for n in range(5_000)))
    command = " ".join([*HAMLET, "run", "-", "--events", str(path), "--format", "csv"])
    done = subprocess.run(
        ["bash", "-c", f"{command} | head -1; exit ${{PIPESTATUS[0]}}"],
        check=False, cwd=ROOT, capture_output=True, text=True, input=GOOD, timeout=60,
    )  # fmt: skip
    assert done.stdout.startswith("query,")
    assert done.stderr == ""
    assert done.returncode in {0, 1}


INTERRUPTED_READER = """
import signal, sys
from pipelines.cli import main

class Stdin:
    @property
    def buffer(self):
        return self

    def read(self):
        print("reading", flush=True)
        signal.pause()

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.stdin = Stdin()
sys.exit(main(["check", "-"]))
"""


def test_ctrl_c_is_one_line() -> None:
    command = [sys.executable, "-c", INTERRUPTED_READER]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"reading\n"
        child.send_signal(signal.SIGINT)
        _, words = child.communicate(timeout=30)
    assert (child.returncode, words) == (130, b"Interrupted.\n")


def test_heavy_packages_stay_out() -> None:
    """What makes `hamlet --help` and `hamlet check` quick, whatever the load of this machine."""
    program = (
        "import sys; from pipelines.cli import main; main(sys.argv[1:]);"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & set("
        "['pyarrow', 'numpy', 'pandas', 'pyspark', 'dagster', 'duckdb', 'deltalake', 'rich', 'lark'])))"
    )
    for arguments, loaded in ((["--help"], []), (["check", "-"], ["lark", "numpy", "pyarrow"])):
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments],
            check=True, cwd=ROOT, capture_output=True, text=True, input=GOOD, timeout=60,
        )  # fmt: skip
        assert done.stdout.splitlines()[-1] == str(loaded)


def test_a_run_imports_no_package_that_it_does_not_need() -> None:
    """What makes `hamlet run` quick; the first run of each, uncounted, may have to compile kernels.

    Arrow would import pandas for the first list or scalar that it is given, numba SciPy's algebra before it compiles.
    """
    program = (
        "import sys; from pipelines.cli import main; code = main(sys.argv[1:]);"
        "print(code, sorted({'pandas', 'rich', 'scipy.linalg'} & set(sys.modules)))"
    )
    sessions = ROOT / "tests/golden/cli"
    for queries, events in (("jams.hamlet", "rides.csv"), ("counts.hamlet", "ticks.csv")):
        files = [str(sessions / queries), "--events", str(sessions / events)]
        for _ in range(2):
            done = subprocess.run(
                [sys.executable, "-c", program, "run", *files, "--format", "json"],
                check=True, cwd=ROOT, capture_output=True, text=True, timeout=300,
            )  # fmt: skip
        assert done.stdout.splitlines()[-1] == "0 []", done.stderr


MANY = """
all: RETURN COUNT(*), MIN(b.v), MAX(DURATION) PATTERN SEQ(A a, B b+) WITHIN 10 s
next: RETURN REACH(a), COUNT(*), AVG(DURATION) PATTERN SEQ(A a, B b+) SEMANTICS next WITHIN 10 s
both: RETURN COUNT(*), COUNT(DISJOINT) PATTERN SEQ(A a, B b+) WITHIN 10 s
dated: RETURN MAX(b.v) PATTERN SEQ(A a, B b+) WHERE b.d <= NEXT(b).d AND a.v < 9 WITHIN 10 s
"""


@pytest.mark.parametrize(
    "more", [["--wide"], ["--wide", "--query", "all", "--format", "csv"], ["--engine", "greta"], []]
)
def test_a_run_with_more_windows_than_are_shown_imports_none_either(tmp_path: Path, more: list[str]) -> None:
    (tmp_path / "many.hamlet").write_text(MANY)
    rows = [f"{time},{'AB'[time % 3 > 0]},{time * 7 % 11},2026-01-{time % 28 + 1:02}" for time in range(900)]
    (tmp_path / "many.csv").write_text("\n".join(["time,type,v,d", *rows]) + "\n")
    program = (
        "import sys; from pipelines.cli import main; code = main(sys.argv[1:]);"
        "print(code, sorted({'pandas', 'scipy.linalg'} & set(sys.modules)))"
    )
    files = [str(tmp_path / "many.hamlet"), "--events", str(tmp_path / "many.csv")]
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", program, "run", *files, *more],
            check=True, cwd=ROOT, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr
    assert len(done.stdout.splitlines()) > 20


def test_a_small_run_does_not_collect_garbage_at_its_end() -> None:
    program = (
        "import atexit, gc, sys; atexit.register(lambda: print(gc.get_freeze_count() > 0));"
        "from pipelines.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "run", "--help"],
        check=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "True"
