"""SIGINT and SIGTERM at each stage of `pipeline`, `backfill` and `ui`, and several of them at once on one warehouse."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pipelines.cli import main as hamlet
from pipelines.steps.publication import wide
from resources import warehouse as warehouse_module
from resources.warehouse import Warehouse
from resources.warehouse_lock import exclusive
from tests.conftest import ROOT
from tests.dagster.folder_cases import DAILY, JAMS, KEYS, make_folder
from tests.dagster.pages import address_of, ask, loaded, serving, wait_for
from tests.dagster.test_kill import OF_EACH_RUN, OF_THE_RUN, Contents
from tests.dagster.test_ui_processes import GONE_SECONDS, assert_nothing_left, running, session_of
from tests.spark.pipeline_cases import (
    WORKLOAD,
    expected_rows,
    settings_for,
    sorted_rows,
    stream,
    table_rows,
    write_csv,
)

pytestmark = pytest.mark.usefixtures("spark")
SECONDS = 240
DAYS = 3
AGAIN = "nothing is lost: run it again, and it goes on from what is there."
ENDS = {"SIGINT": (130, f"Interrupted: {AGAIN}"), "SIGTERM": (143, f"Terminated: {AGAIN}")}


def pipeline_of(folder: Path) -> tuple[str, ...]:
    """`hamlet pipeline` over a file below the folder."""
    workload, events = folder / "test.hamlet", folder / "events.csv"
    if not events.exists():
        folder.mkdir(exist_ok=True)
        workload.write_text(WORKLOAD)
        write_csv(stream(120), events)
    named = ("--events", str(events), "--warehouse", str(folder / "warehouse"))
    return ("pipeline", str(workload), *named, "--arithmetic", "exact")


def backfill_of(folder: Path) -> tuple[str, ...]:
    """`hamlet backfill` of three days."""
    if not (folder / "inbox").exists():
        make_folder(folder, {"jams": (JAMS, DAILY)}, days=DAYS)
    return ("backfill", str(folder), "jams", KEYS[0], KEYS[DAYS - 1])


def contents(folder: Path) -> Contents:
    """All rows of all tables, without when and by which run, and where the files lay."""
    warehouse, found = Warehouse(folder / "warehouse"), {}
    for table in set(warehouse.names()) - OF_EACH_RUN:
        columns = [name for name in warehouse.schema(table).names if name not in OF_THE_RUN | {"path"}]
        found[table] = sorted_rows(warehouse.rows(table, columns).to_pylist(), columns)
    return found


def started(sign: str, write: str, command: tuple[str, ...]) -> subprocess.Popen[str]:
    """The command in a session of its own, which is sent the signal after this write."""
    program = [sys.executable, "-m", "tests.dagster.stopped_run", sign, write, *command]
    return subprocess.Popen(
        program,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def assert_stopped(process: subprocess.Popen[str], sign: str, said: str) -> None:
    """The command says so in its last line, and all of its processes end."""
    code, line = ENDS[sign]
    assert (process.returncode, said.splitlines()[-1]) == (code, line), said
    assert "Traceback" not in said
    wait_for(lambda: not running(process.pid), GONE_SECONDS, "its processes did not end")


@pytest.mark.slow
@pytest.mark.parametrize("command", [pipeline_of, backfill_of], ids=["pipeline", "backfill"])
def test_a_command_that_is_stopped_after_any_write_leaves_nothing_half_done(
    tmp_path: Path, command: Callable[[Path], tuple[str, ...]]
) -> None:
    """Signals one after the other over one warehouse, then a run to its end: the tables of a fresh warehouse.

    Slow: each of some twenty writes starts Spark.
    """
    fresh, stopped = tmp_path / "fresh", tmp_path / "stopped"
    writes: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        for module in (warehouse_module, wide):
            patch.setattr(module, "passed", writes.append)
        assert hamlet(list(command(fresh))) == 0
    stages = tuple(dict.fromkeys(writes))
    assert len(stages) > 15
    for write, sign in zip(stages, itertools.cycle(ENDS), strict=False):
        process = started(sign, write, command(stopped))
        _, said = process.communicate(timeout=SECONDS)
        assert_stopped(process, sign, said)
        with exclusive(stopped / "warehouse"):
            pass
    assert hamlet(list(command(stopped))) == 0
    assert contents(stopped) == contents(fresh)


def test_two_pipelines_and_a_ui_at_once_on_one_warehouse_and_sigterm_ends_them(tmp_path: Path) -> None:
    """One pipeline has the warehouse and is stopped when it has published, the other is refused by name; the pages show
    the run that comes after them, and no other goes on. What a stop leaves after each other write is tested above.
    """
    command, write = pipeline_of(tmp_path), "replace:trend_aggregates"
    with serving(tmp_path / "log", "--warehouse", str(tmp_path / "warehouse")) as ui:
        address, processes = address_of(ui), session_of(ui.pid)
        both = [started("SIGTERM", write, command) for _ in range(2)]
        said = {process: process.communicate(timeout=SECONDS)[1] for process in both}
        loser, winner = sorted(both, key=lambda process: process.returncode)
        assert_stopped(winner, "SIGTERM", said[winner])
        (error,) = [line for line in said[loser].splitlines() if line.startswith("Error")]
        assert f"[E520] the warehouse {tmp_path / 'warehouse'} is in use by process {winner.pid} on " in error
        assert loser.returncode == 1
        assert hamlet(list(command)) == 0
        loaded(address)
        runs = ask(address, "{ runsOrError { ... on Runs { results { status } } } }")["runsOrError"][
            "results"
        ]
        found = [run["status"] for run in runs]
        assert found[0] == "SUCCESS"
        assert not {"STARTING", "STARTED", "QUEUED", "CANCELING"} & set(found)
        ui.send_signal(signal.SIGTERM)
        assert ui.wait(GONE_SECONDS) == 128 + signal.SIGTERM
        assert_nothing_left(processes, address)
    with exclusive(tmp_path / "warehouse"):
        pass
    rows = table_rows(Warehouse(tmp_path / "warehouse"), "trend_aggregates")
    assert rows == expected_rows(settings_for(tmp_path / "events.csv", tmp_path / "warehouse"))


@pytest.mark.parametrize("sign", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_a_ui_that_is_stopped_while_it_starts_leaves_no_process(tmp_path: Path, sign: signal.Signals) -> None:
    """As soon as Dagster's own processes are there, before any page answers. Slow: it takes the same way."""
    with serving(tmp_path / "log", "--warehouse", str(tmp_path / "warehouse")) as ui:
        children = ("ps", "--ppid", str(ui.pid), "-o", "pid=")

        def keeper() -> int:
            found = subprocess.run(children, check=False, capture_output=True, text=True).stdout.split()
            return next((int(pid) for pid in found if len(running(int(pid))) > 2), 0)

        group = wait_for(keeper, SECONDS, "nothing started")
        ui.send_signal(sign)
        assert ui.wait(GONE_SECONDS) == 128 + sign
        wait_for(lambda: not running(group), GONE_SECONDS, "its processes did not end")
    assert "Traceback" not in (tmp_path / "log").read_text(encoding="utf-8")
