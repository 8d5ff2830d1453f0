"""The processes of `hamlet ui`: all of them end with it, however it ends; none is missed for long; who has the port."""

from __future__ import annotations

import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.dagster.folder_cases import DAILY, JAMS, make_folder
from tests.dagster.pages import address_of, loaded, serving, wait_for
from tests.ports import free_port

GONE_SECONDS = 90


def session_of(ui: int) -> dict[int, str]:
    """What runs below a `hamlet ui`: by process its command, the keeper first. All of it is one session."""
    keeper = int(subprocess.check_output(["ps", "--ppid", str(ui), "-o", "pid="], text=True))
    others = {pid: command for pid, command in running(keeper).items() if pid != keeper}
    return {keeper: "keeper"} | others


def running(session: int) -> dict[int, str]:
    """The processes of a session that have not ended."""
    listed = subprocess.run(
        ["ps", "-s", str(session), "-o", "pid=,stat=,args="], check=False, capture_output=True, text=True
    )
    fields = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return {int(pid): command for pid, state, command in fields if not state.startswith("Z")}


def the(processes: dict[int, str], words: str) -> int:
    """The process with such a command."""
    (found,) = [pid for pid, command in processes.items() if words in command]
    return found


def assert_nothing_left(processes: dict[int, str], address: str) -> None:
    keeper = next(iter(processes))
    wait_for(lambda: not running(keeper), GONE_SECONDS, "its processes did not end")
    host, port = address.removeprefix("http://").split(":")
    with socket.create_server((host, int(port))):
        pass


def second(warehouse: Path, port: str | int) -> subprocess.CompletedProcess[str]:
    """Another `hamlet ui`, on a port that is taken."""
    command = [
        sys.executable,
        "-m",
        "pipelines.cli",
        "ui",
        "--warehouse",
        str(warehouse),
        "--port",
        str(port),
    ]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True, timeout=60)


def test_a_second_ui_names_the_first_whose_lost_code_server_comes_back_and_a_hang_up_ends_all(
    tmp_path: Path,
) -> None:
    warehouse = tmp_path / "wh"
    with serving(tmp_path / "log", "--warehouse", str(warehouse)) as ui:
        address = address_of(ui)
        processes = session_of(ui.pid)
        server = the(processes, "dagster_webserver")
        same, other = (second(place, address.split(":")[2]) for place in (warehouse, tmp_path / "other"))
        assert (same.returncode, other.returncode) == (2, 2)
        assert (
            f"`hamlet ui` of this warehouse, process {ui.pid} (its server: {server}), shows {address}"
            in " ".join(same.stderr.split())
        )
        assert f"`hamlet ui` of {warehouse}, process {ui.pid}" in other.stderr

        code = the(processes, "dagster api grpc")
        loaded(address)
        os.kill(code, signal.SIGKILL)
        wait_for(
            lambda: [
                pid
                for pid, words in running(next(iter(processes))).items()
                if "api grpc" in words and pid != code
            ],
            GONE_SECONDS,
            "no new code server",
        )
        loaded(address)
        ui.send_signal(signal.SIGHUP)
        assert ui.wait(GONE_SECONDS) == 128 + signal.SIGHUP
        assert_nothing_left(processes, address)
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert "it is started again" in log
    assert "Stopping.\n" in log


def test_nothing_outlives_a_killed_ui(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--warehouse", str(tmp_path / "wh")) as ui:
        address, processes = address_of(ui), session_of(ui.pid)
        assert len(processes) >= 5
        ui.kill()
        ui.wait()
        assert_nothing_left(processes, address)


@pytest.mark.slow
@pytest.mark.parametrize("words", ["keeper", "dagster dev", "dagster_webserver", "dagster._daemon"])
def test_a_server_that_is_killed_ends_the_ui_with_a_line(words: str, tmp_path: Path) -> None:
    """Slow: a start of all servers each."""
    with serving(tmp_path / "log", "--warehouse", str(tmp_path / "wh")) as ui:
        address, processes = address_of(ui), session_of(ui.pid)
        os.kill(the(processes, words), signal.SIGKILL)
        assert ui.wait(GONE_SECONDS) == 1
        assert_nothing_left(processes, address)
    last = (tmp_path / "log").read_text(encoding="utf-8").splitlines()[-1]
    assert last == "Error: Dagster has stopped; its own words stand above"


@pytest.mark.slow
def test_a_run_and_its_jvm_end_with_a_killed_ui(tmp_path: Path) -> None:
    """Slow: waits for the sensor of the inbox to start a run with a JVM."""
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, DAILY)})
    for file in (folder / "inbox").iterdir():
        os.utime(file, (1_750_000_000, 1_750_000_000))
    with serving(tmp_path / "log", "--workloads", str(folder)) as ui:
        address = address_of(ui)
        keeper = next(iter(session_of(ui.pid)))
        has_jvm: Callable[[], bool] = lambda: any("java" in words for words in running(keeper).values())  # noqa: E731
        wait_for(has_jvm, 240, "no JVM of an ingest")
        ui.kill()
        ui.wait()
        assert_nothing_left({keeper: "keeper"}, address)


@pytest.mark.slow
def test_closing_the_terminal_ends_the_ui(tmp_path: Path) -> None:
    """Slow: a start of all servers. Nobody reads what is said at the end: the terminal is gone."""
    port = free_port()
    pid, terminal = pty.fork()
    if pid == 0:
        options = ("--warehouse", str(tmp_path / "wh"), "--port", str(port))
        os.execv(sys.executable, [sys.executable, "-m", "pipelines.cli", "ui", *options])
    said = b""
    while b"Stop with Ctrl-C." not in said:
        said += os.read(terminal, 1_000)
    processes = session_of(pid)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != 0
    assert_nothing_left(processes, f"http://127.0.0.1:{port}")


def test_another_program_on_the_port_is_named_too(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        refused = second(tmp_path / "wh", held.getsockname()[1])
    assert refused.returncode == 2
    assert f"process {os.getpid()} listens there: " in refused.stderr
    assert "choose another --port" in refused.stderr
