"""Signals end real commands within two seconds, also while compiled code computes that knows of none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from tests.conftest import ROOT

LONG = 60
"""Seconds within which even a busy machine gets that far."""

ENDLESS = """
import sys
import hamlet_core
from hamlet_core.engines.hamlet.jit import decorators as compilation
from pipelines import cli, querying
from pipelines.showing import formats

def spin(n):
    x = 1
    for i in range(n):
        x = (x * 3 + i) % 1_000_003
    return x

kernel = compilation.compiled_allocating(spin)

def endless(*_, **__):
    kernel(1)
    print("computing", flush=True)
    kernel(1 << 60)

def writing(table, file):
    file.write(b"half of it")
    file.flush()
    endless()

real = querying.query

def asked(*given):
    print("computing", flush=True)
    return real(*given)

{plant}
sys.argv = ["hamlet", *sys.argv[1:]]
sys.exit(cli.main())
"""
IN_A_KERNEL = "hamlet_core.execute = endless"
IN_A_FILE = "formats.WRITERS['csv'] = writing"
IN_A_QUERY = "querying.query = asked"
IN_PYTHON = """
def looping(*_, **__):
    print("computing", flush=True)
    while True:
        pass
hamlet_core.execute = looping
"""
"""What takes for ever; each says so when it begins."""

CROSS_JOIN = "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range * b.range % 7 = 3"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "good.hamlet").write_text("RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s")
    (tmp_path / "events.csv").write_text("time,type\n1,A\n2,B\n3,B\n")
    deltalake.write_deltalake(tmp_path / "warehouse" / "first", pa.table({"x": [1]}))
    return tmp_path


Command = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def command(place: Path) -> Iterator[Command]:
    """A command that has begun to compute and will not end: what never ends, and arguments."""
    with ExitStack() as stack:
        yield lambda plant, *arguments: started(place, stack, plant, *arguments)


def started(place: Path, stack: ExitStack, plant: str, *arguments: str) -> subprocess.Popen[bytes]:
    program = ENDLESS.replace("{plant}", plant)
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    stack.callback(process.kill)
    assert process.stdout is not None
    assert process.stdout.readline() == b"computing\n"
    return process


def ended(process: subprocess.Popen[bytes], *signals: signal.Signals) -> tuple[int, bytes, float]:
    """The exit code, the words on stderr and the seconds since the first of the signals."""
    time.sleep(0.5)
    started = time.monotonic()
    for one in signals:
        process.send_signal(one)
    _, words = process.communicate(timeout=LONG)
    return process.returncode, words, time.monotonic() - started


RUN = ("run", "good.hamlet", "--events", "events.csv", "--time", "time", "--type", "type")
SIGNALS = [
    (signal.SIGINT, 130, b"Interrupted.\n"),
    (signal.SIGTERM, 143, b"Terminated.\n"),
    (signal.SIGHUP, 129, b"Hung up.\n"),
]


@pytest.mark.parametrize(("sign", "code", "words"), SIGNALS)
@pytest.mark.parametrize(
    ("plant", "arguments"),
    [(IN_A_KERNEL, RUN), (IN_PYTHON, RUN), (IN_A_QUERY, ("query", CROSS_JOIN))],
    ids=["kernel", "python", "query"],
)
def test_a_command_that_computes_ends_within_two_seconds(
    command: Command, plant: str, arguments: tuple[str, ...], sign: signal.Signals, code: int, words: bytes
) -> None:
    found, said, seconds = ended(command(plant, *arguments), sign)
    assert (found, said) == (code, words)
    assert seconds < 2


ADVISED = """
from pipelines.ending import patience
def advising(*_, **__):
    with patience(1, "run it again"):
        looping()
hamlet_core.execute = advising
"""


def test_advice_outlives_the_block_that_a_signal_ends(command: Command) -> None:
    found, said, _ = ended(command(IN_PYTHON + ADVISED, *RUN), signal.SIGTERM)
    assert (found, said) == (143, b"Terminated: run it again.\n")


ACTING = """
from pipelines.ending import patience
def acting(*_, **__):
    with patience(1, "", lambda: print("heard", file=sys.stderr, flush=True)):
        endless()
hamlet_core.execute = acting
"""


def test_what_is_to_be_done_at_once_is_done_while_compiled_code_computes(command: Command) -> None:
    found, said, _ = ended(command(ACTING, *RUN), signal.SIGINT)
    assert (found, said) == (130, b"heard\nInterrupted.\n")


TALKING = """
import subprocess
CHILD = '''
import signal, sys, time
def talk(*_):
    time.sleep(0.3)
    sys.exit("last words of a child")
signal.signal(signal.SIGTERM, talk)
print("ready", flush=True)
time.sleep(600)
'''
def with_a_child(*_, **__):
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE)
    child.stdout.readline()
    looping()
hamlet_core.execute = with_a_child
"""
BUSY = """
looping = endless
"""
"""So that the thread which listens ends the command, not the main one."""


@pytest.mark.parametrize("busy", ["", BUSY], ids=["main", "listener"])
def test_what_processes_that_it_has_started_say_comes_before_its_last_line(
    command: Command, busy: str
) -> None:
    found, said, _ = ended(command(IN_PYTHON + TALKING + busy, *RUN), signal.SIGINT)
    assert (found, said) == (130, b"last words of a child\nInterrupted.\n")


def test_the_first_of_two_signals_counts(command: Command) -> None:
    found, said, _ = ended(command(IN_A_KERNEL, *RUN), signal.SIGTERM, signal.SIGTERM)
    assert (found, said) == (143, b"Terminated.\n")


def test_half_a_file_of_results_is_removed(command: Command, place: Path) -> None:
    process = command(IN_A_FILE, *RUN, "--format", "csv", "--out", "rows.csv")
    assert (place / "rows.csv.part").exists()
    assert ended(process, signal.SIGINT)[0] == 130
    assert not list(place.glob("rows.csv*"))


def test_a_signal_that_is_to_be_ignored_is_ignored(command: Command) -> None:
    """As `nohup` and the `&` of a shell ask for."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = command(IN_PYTHON, *RUN)
    finally:
        signal.signal(signal.SIGHUP, before)
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(3)
    assert ended(process, signal.SIGTERM)[:2] == (143, b"Terminated.\n")
