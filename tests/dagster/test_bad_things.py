"""Bad things that happen to a run: each is one clear message, nothing is lost, and the next run is right."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.assets import execute, plan, publish
from pipelines.assets import place as place_module
from pipelines.cli import main as hamlet
from pipelines.instance import dagster_instance
from pipelines.steps.execution import file_tasks
from resources import warehouse_lock
from resources.warehouse import Warehouse
from resources.warehouse_lock import exclusive
from tests.conftest import ROOT, tmpfs_command
from tests.dagster.folder_cases import DAILY, JAMS, KEYS, make_folder
from tests.spark.pipeline_cases import WORKLOAD, expected_rows, settings_for, stream, table_rows, write_csv

pytestmark = pytest.mark.usefixtures("spark")
SECONDS = 240
RAW = re.compile(r"Traceback|Py4J|py4j|\bat org\.apache|sqlite3|panicked|this is a bug")


class Run:
    """`hamlet pipeline` on a folder of files, as a user runs it; what it said is kept."""

    def __init__(self, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.inbox, self.warehouse, self.workload = (
            folder / "inbox",
            folder / "warehouse",
            folder / "test.hamlet",
        )
        self.inbox.mkdir()
        self.workload.write_text(WORKLOAD)
        self.capfd, self.said = capfd, ""

    @property
    def arguments(self) -> list[str]:
        named = ["--events", str(self.inbox), "--warehouse", str(self.warehouse)]
        return ["pipeline", str(self.workload), *named, "--arithmetic", "exact"]

    def __call__(self) -> int:
        self.capfd.readouterr()
        code = hamlet(self.arguments)
        self.said = self.capfd.readouterr().err
        return code

    @property
    def error(self) -> str:
        """The one message of a run that failed."""
        assert not RAW.search(self.said), self.said
        first, *others = (line for line in self.said.splitlines() if line.startswith("Error"))
        assert not others, self.said
        return first

    def published(self) -> list[dict[str, object]]:
        return table_rows(Warehouse(self.warehouse), "trend_aggregates")

    def expected(self, events: Path | None = None) -> list[dict[str, object]]:
        text = self.workload.read_text()
        return expected_rows(settings_for(events or self.inbox, self.warehouse, text=text))


@pytest.fixture
def run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Run:
    return Run(tmp_path, capfd)


@pytest.mark.needs_tmpfs
def test_a_full_disk_is_named_and_after_making_room_the_next_run_goes_on(tmp_path: Path) -> None:
    table = stream(8_000)
    noise = pa.array([secrets.token_hex(256) for _ in range(table.num_rows)])
    events = write_csv(table.append_column("noise", noise), tmp_path / "events.csv")
    workload, place = tmp_path / "test.hamlet", tmp_path / "disk"
    workload.write_text(WORKLOAD)
    place.mkdir()
    program = [sys.executable, "-m", "tests.dagster.full_disk", str(place), str(events), str(workload)]
    done = subprocess.run(
        [*tmpfs_command(), *program], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["codes"] == [1, 1, 1, 1, 0], done.stderr
    assert not RAW.search(done.stderr), done.stderr
    for one in done.stderr.split("run\n")[1:5]:
        (error,) = [line for line in one.splitlines() if line.startswith("Error")]
        assert re.match(rf"Error: \[E510\] the disk of {place}\S* is full: \S+ KiB of 32 MiB are left", error)
    assert said["rows"] == [repr(row) for row in expected_rows(settings_for(events, place))]


READ_ONLY = """
set -e
mount -t tmpfs -o size=64k tmpfs "$1"
mount -o remount,ro "$1"
mkdir -p "$2"
mount --bind "$2" "$2"
shift 2
cd "$1"
shift
"$@" && code=0 || code=$?
echo $code
mount -o remount,bind,ro "$WAREHOUSE"
"$@" && code=0 || code=$?
echo $code
"""


@pytest.mark.slow
@pytest.mark.needs_tmpfs
def test_a_run_needs_no_right_to_write_but_into_its_warehouse(run: Run, tmp_path: Path) -> None:
    """As a unit of systemd has it: the folder it runs in is read-only. Then the warehouse is so, too.

    Slow: two processes, each with Spark or Dagster of its own.
    """
    write_csv(stream(80), run.inbox / "events.csv")
    here = tmp_path / "here"
    here.mkdir()
    command = [sys.executable, "-m", "pipelines.cli", *run.arguments]
    done = subprocess.run(
        [*tmpfs_command(), "sh", "-c", READ_ONLY, "sh", str(here), str(run.warehouse), str(here), *command],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "WAREHOUSE": str(run.warehouse)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert [line for line in done.stdout.splitlines() if line.isdecimal()] == ["0", "1"], done.stderr
    assert not RAW.search(done.stderr), done.stderr
    (error,) = [line for line in done.stderr.splitlines() if line.startswith("Error")]
    assert error == (
        f"Error: [E515] the folder {run.warehouse} cannot be written: its file system is mounted read-only"
    )
    assert run.published() == run.expected()


def test_a_corrupt_parquet_file_goes_to_quarantine_and_the_others_go_in(run: Run) -> None:
    pq.write_table(stream(80), run.inbox / "good.parquet")
    pq.write_table(stream(80, seed=2), run.inbox / "torn.parquet")
    os.truncate(run.inbox / "torn.parquet", 2_000)
    assert run() == 0, run.said
    (row,) = Warehouse(run.warehouse).rows("events_quarantine").to_pylist()
    assert (row["source_file"], row["row_number"], row["code"]) == ("torn.parquet", None, "E401")
    assert run.published() == run.expected(run.inbox / "good.parquet")


@pytest.mark.parametrize(
    "harm", ["middle", *(pytest.param(harm, marks=pytest.mark.slow) for harm in ("footer", "gone"))]
)
def test_a_damaged_data_file_of_the_events_is_named(run: Run, tmp_path: Path, harm: str) -> None:
    write_csv(stream(400), run.inbox / "events.csv")
    assert run() == 0, run.said
    before = run.published()
    file = Path(max(Warehouse(run.warehouse).files("events"), key=lambda one: one.size).path)
    shutil.copy(file, tmp_path / "kept")
    content = bytearray(file.read_bytes())
    if harm == "gone":
        file.unlink()
    else:
        half = len(content) // 2
        start, end = (half, len(content)) if harm == "footer" else (4, half)
        content[start:end] = bytes(end - start)
        file.write_bytes(content)
    # Spark checks the checksum beside the file, if there is one; an object store has none.
    crc = file.with_name(f".{file.name}.crc")
    crc.unlink(missing_ok=True)
    assert run() == 1
    state = "is gone" if harm == "gone" else "is damaged"
    assert run.error == f"Error: [E514] a data file of the table events {state}: {file}"
    assert "copy of the warehouse" in run.said
    assert run.published() == before
    shutil.copy(tmp_path / "kept", file)
    assert run() == 0, run.said
    assert run.published() == before


def test_files_that_drift_and_come_twice_and_a_workload_that_is_edited(run: Run, tmp_path: Path) -> None:
    first = write_csv(stream(120), run.inbox / "a.csv")
    assert run() == 0, run.said
    assert run.published() == run.expected()

    late = stream(80, seed=3).drop_columns(["w"])
    write_csv(late.append_column("new", pa.array(range(80))), run.inbox / "b.csv")
    expected = run.expected()
    shutil.copy(first, run.inbox / "copy.csv")
    assert run() == 0, run.said
    assert "copy.csv: same content as a.csv, which is in" in run.said
    assert run.published() == expected

    version = Warehouse(run.warehouse).version("events")
    (run.inbox / "c.csv").write_text("time,type,k,g,v,w,new\n1,A,x,north,1,0.5,many\n")
    assert run() == 1
    assert re.match(r"Error: \[E525\].*'new'", run.error)
    assert Warehouse(run.warehouse).version("events") == version
    assert run.published() == expected

    (run.inbox / "c.csv").unlink()
    (run.inbox / "copy.csv").unlink()
    run.workload.write_text(WORKLOAD.replace("b.v > 10", "b.v > 5").replace("all:", "every:"))
    assert run() == 0, run.said
    assert {row["query"] for row in run.published()} == {"rising", "pairs", "every"}
    assert run.published() == run.expected()


def deadly(marker: Path) -> object:
    """In place of the work of a task: the first worker that comes along is killed; a value of its own pickles whole."""
    real = file_tasks.run_task

    def killed(*arguments: object) -> Iterator[pa.RecordBatch]:
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)  # type: ignore[arg-type]

    return killed


def test_a_killed_worker_is_one_message_and_the_next_run_is_right(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_csv(stream(120), run.inbox / "events.csv")
    monkeypatch.setattr(file_tasks, "MOST_HERE", 0)  # so that it is a worker
    monkeypatch.setattr(file_tasks, "run_task", deadly(tmp_path / "killed"))
    assert run() == 1
    assert run.error == "Error: [E511] a Python worker of Spark was killed in the middle of a task"
    assert (tmp_path / "killed").exists()
    assert not Warehouse(run.warehouse).exists("trend_aggregates")
    assert run() == 0, run.said
    assert run.published() == run.expected()


@pytest.mark.slow
def test_a_picture_that_cannot_be_drawn_fails_no_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two events of the year 26 among those of 2026, as of years written with two digits, and no picture.

    Slow: a run of its own. What stands in place of a picture is tested in tests/unit/pipelines/test_pictures.py.
    """
    rows = [f"{year}-01-05T10:00:{second:02},{kind},x,north,{second},0.5"
            for year in ("0026", "2026") for second, kind in enumerate("ABCB")]  # fmt: skip
    (run.inbox / "events.csv").write_text("\n".join(["time,type,k,g,v,w", *rows]) + "\n")
    for module, name in (
        (plan, "template_picture"),
        (execute, "sharing_picture"),
        (publish, "results_pictures"),
    ):
        monkeypatch.setattr(module, name, lambda *_: 1 // 0)
    assert run() == 0, run.said
    for title in ("merged templates, and who may share", "sharing over time", "published results"):
        assert f"no picture of {title}: ZeroDivisionError" in run.said
    assert run.published() == run.expected()
    with dagster_instance(run.warehouse) as instance:
        latest = instance.get_latest_materialization_event(dg.AssetKey("trend_aggregates"))
    assert latest is not None
    assert latest.asset_materialization is not None
    shown = latest.asset_materialization.metadata["results over time"].value
    assert str(shown).startswith("no picture of published results: ZeroDivisionError")


HOLD = """
import sys, time
from pathlib import Path
from resources.warehouse_lock import exclusive
with exclusive(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.readline()
    time.sleep(float(sys.argv[2]))
"""


def test_the_second_run_of_two_is_refused_at_once_or_waits_and_a_killed_worker_is_retried(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_folder(tmp_path / "rides", {"jams": (JAMS, f"{DAILY}retries: 1\n")}, days=1)
    command = ["backfill", str(folder), "jams", KEYS[0]]
    held = [sys.executable, "-c", HOLD, str(folder / "warehouse"), "3"]
    with subprocess.Popen(held, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        assert hamlet(command) == 1
        assert (
            f"[E520] the warehouse {folder}/warehouse is in use by process {holder.pid} on "
            in capfd.readouterr().err
        )
        settings = folder / "pipeline.yaml"
        settings.write_text(settings.read_text().replace("wait_seconds: 0", "wait_seconds: 100"))
        monkeypatch.setattr(file_tasks, "MOST_HERE", 0)  # so that it is a worker
        monkeypatch.setattr(file_tasks, "run_task", deadly(tmp_path / "killed"))
        monkeypatch.setattr(place_module, "RETRY_SECONDS", 0)
        of_lock = warehouse_lock._holder

        def waited_for(lock: IO[str]) -> str:
            """The holder leaves three seconds after somebody waits for it, however long a run takes to get there."""
            assert holder.stdin is not None
            holder.stdin.write("leave\n")
            holder.stdin.flush()
            return of_lock(lock)

        monkeypatch.setattr(warehouse_lock, "_holder", waited_for)
        started = time.monotonic()
        code, said = hamlet(command), capfd.readouterr().err
        assert code == 0, said
        assert time.monotonic() - started > 2
        assert f" s for process {holder.pid} on " in said
    assert (tmp_path / "killed").exists()


def processes_of(session: int) -> list[str]:
    """The commands of all processes that a session has."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append((stat.parent / "cmdline").read_text().replace("\0", " "))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.mark.parametrize("step", [pytest.param("ingest", marks=pytest.mark.slow), "execute"])
def test_ctrl_c_leaves_nothing_behind_and_the_next_run_goes_on(run: Run, tmp_path: Path, step: str) -> None:
    write_csv(stream(4_000), run.inbox / "events.csv")
    log = run.warehouse / "events" / "_delta_log"
    begun = tmp_path / "computing" if step == "execute" else log / f"{0:020}.json"
    program = ["tests.dagster.held_run", str(begun)] if step == "execute" else ["pipelines.cli"]
    process = subprocess.Popen(
        [sys.executable, "-m", *program, *run.arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + SECONDS
    while process.poll() is None and not begun.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert begun.exists()
    if step == "execute":
        time.sleep(0.5)  # the tasks are about to begin, or compute, or have computed
    # As a terminal does: to the command and to all that it has started.
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert told.splitlines()[-1] == (
        "Interrupted: nothing is lost: run it again, and it goes on from what is there."
    )
    assert not RAW.search(told), told
    assert f"{step}: 1 new files" not in told
    assert not re.search(r"execute: .* result rows", told), told
    deadline = time.monotonic() + 20
    while processes_of(process.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_of(process.pid) == []
    with exclusive(run.warehouse):
        pass
    assert run() == 0, run.said
    assert run.published() == run.expected()


@pytest.mark.parametrize(
    ("sign", "code", "word"),
    [
        (signal.SIGINT, 130, "Interrupted"),
        # It takes the same way, and half a minute.
        pytest.param(signal.SIGTERM, 143, "Terminated", marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_run_whose_compiled_code_computes_for_ever(
    run: Run, tmp_path: Path, sign: signal.Signals, code: int, word: str
) -> None:
    """The first one, within seconds, sent to the command alone; its workers and Spark end with it, and the lock is free."""
    write_csv(stream(120), run.inbox / "events.csv")
    marker = tmp_path / "computing"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.dagster.endless_run", str(marker), *run.arguments],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + SECONDS
        while process.poll() is None and not marker.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        assert marker.exists()
        process.send_signal(sign)
        sent = time.monotonic()
        code_found = process.wait(SECONDS)
        assert time.monotonic() - sent < 15  # three seconds to end in order, and a busy machine
        assert process.stderr is not None
        deadline = time.monotonic() + 20
        while processes_of(process.pid) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert processes_of(process.pid) == []
        with process.stderr:
            said = process.stderr.read()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert code_found == code, said
    assert (
        said.splitlines()[-1] == f"{word}: nothing is lost: run it again, and it goes on from what is there."
    )
    assert not RAW.search(said), said
    with exclusive(run.warehouse):
        pass


KEPT_AS_THEY_CAME = {"events", "events_quarantine", "ingested_files"}
OF_THE_RUN = {"ingested_at", "run_id", "events_version", "events_until", "modified"}


@pytest.mark.slow
def test_a_computed_table_with_a_damaged_log_is_deleted_and_comes_back_equal(run: Run) -> None:
    """Slow: two runs for each table."""
    write_csv(stream(200), run.inbox / "events.csv")
    assert run() == 0, run.said
    warehouse = Warehouse(run.warehouse)

    def contents() -> dict[str, list[str]]:
        found = {}
        for name in set(warehouse.names()) - {"run_metrics"}:
            columns = [one for one in warehouse.schema(name).names if one not in OF_THE_RUN]
            found[name] = sorted(map(repr, warehouse.rows(name, columns).to_pylist()))
        return found

    before = contents()
    computed = sorted(set(warehouse.names()) - KEPT_AS_THEY_CAME)
    assert {"computed_aggregates", "sharing_decisions", "trend_aggregates", "workload_plan"} <= set(computed)
    for name in computed:
        last = max((run.warehouse / name / "_delta_log").glob("*.json"))
        last.write_bytes(last.read_bytes()[:20])
        assert run() == 1, name
        assert f"[E516] the log of the table {name} is damaged" in run.error
        shutil.rmtree(run.warehouse / name)
        assert run() == 0, run.said
        assert contents() == before, name
