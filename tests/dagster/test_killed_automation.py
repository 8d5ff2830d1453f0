"""Kill -9 of whatever runs, and a start of `hamlet ui` after it: what is queued runs, new files come in, the clock ticks."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.instance import dagster_instance
from pipelines.live_runs import locks_of
from resources.warehouse import Warehouse
from tests.conftest import ROOT
from tests.dagster.folder_cases import DAILY, EVERY_MODE, KEYS, day_of_events, drop, make_folder
from tests.dagster.pages import address_of, ask, loaded, serving, wait_for
from tests.dagster.test_kill import OF_EACH_RUN, OF_THE_RUN
from tests.dagster.test_ui_processes import running, session_of, the
from tests.spark.pipeline_cases import sorted_rows

DAYS = 3
RUN_SECONDS = 1_800
CLOCK = f'{DAILY}engine: greta\nend: 2026-01-08\nschedule: "*/3 * * * *"\n'
EVERY_MINUTE = CLOCK.replace("*/3", "*")
ENDED = (dg.DagsterRunStatus.SUCCESS, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
ROUNDS = 10
PROCESSES = (
    "ui",
    "keeper",
    "dagster dev",
    "dagster_webserver",
    "dagster._daemon",
    "code-server start",
    "api grpc",
)


@dataclass
class Automation:
    """A folder of workloads, and what happens to it."""

    folder: Path
    log: Path
    dropped: int = 0
    queued: list[str] = field(default_factory=list)
    """Runs that were put into the queue and have to come to an end."""

    def runs(self) -> list[dg.DagsterRun]:
        """All runs, the latest first."""
        with dagster_instance(self.folder / "warehouse") as instance:
            return list(instance.get_runs())

    def command(self, *arguments: str) -> subprocess.Popen[bytes]:
        """A `hamlet` command as a process."""
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "pipelines.cli", *arguments], cwd=ROOT, stdout=log, stderr=log
            )

    def backfill(self) -> subprocess.Popen[bytes]:
        return self.command("backfill", str(self.folder), "jams", KEYS[0], KEYS[DAYS - 1])

    def pipeline(self) -> subprocess.Popen[bytes]:
        workload = self.folder.parent / "other.hamlet"
        workload.write_text(EVERY_MODE, encoding="utf-8")
        columns = ("--time", "at", "--type", "kind")
        place = str(self.folder / "warehouse")
        return self.command(
            "pipeline",
            str(workload),
            "--events",
            str(self.folder / "inbox"),
            *columns,
            "--warehouse",
            place,
            "--engine",
            "greta",
        )

    def finish(self) -> None:
        """Both commands, to their end."""
        assert self.backfill().wait(RUN_SECONDS) == 0
        assert self.pipeline().wait(RUN_SECONDS) == 0

    def contents(self) -> dict[str, list[dict[str, object]]]:
        """What all tables hold, without when and by which run, and without the folder."""
        warehouse, found = Warehouse(self.folder / "warehouse"), {}
        for table in set(warehouse.names()) - OF_EACH_RUN:
            columns = [name for name in warehouse.schema(table).names if name not in OF_THE_RUN | {"path"}]
            found[table] = sorted_rows(warehouse.rows(table, columns).to_pylist(), columns)
        return found

    def kill_a_worker(self, session: dict[int, str], seconds: float, what: str) -> None:
        """Kill the process of a run of a server some time after the run began, unless it has ended by then."""

        def look() -> int:
            with dagster_instance(self.folder / "warehouse") as instance:
                locks = locks_of(instance)
                for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])):
                    if locks.held(run.run_id):
                        return int((locks.signature(run.run_id) or "process 0").split()[1])
            return 0

        worker = wait_for(look, RUN_SECONDS, "no run begins")
        assert worker in running(next(iter(session)))
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.kill(worker, signal.SIGKILL)
        print(f"{what} {worker} killed after {seconds:.1f} s", flush=True)

    def begun(self, process: subprocess.Popen[bytes]) -> str:
        """The run of a command, once it is going on."""

        def look() -> str:
            assert process.poll() is None
            with dagster_instance(self.folder / "warehouse") as instance:
                locks = locks_of(instance)
                for run in instance.get_runs(dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])):
                    if f"process {process.pid} on " in (locks.signature(run.run_id) or ""):
                        return run.run_id
            return ""

        return wait_for(look, RUN_SECONDS, "the command has no run")

    def drop(self) -> str:
        """A new file of late events, whole for some time; its name."""
        self.dropped += 1
        name = f"late{self.dropped:02}.csv"
        day = self.dropped % DAYS
        place = drop(self.folder, day, name=name, table=day_of_events(day, 10, seed=self.dropped))
        os.utime(place, (time.time() - 60,) * 2)
        return name

    def ingested(self) -> set[str]:
        """The names of the files that are in."""
        warehouse = Warehouse(self.folder / "warehouse")
        if not warehouse.exists("ingested_files"):
            return set()
        return {Path(path).name for path in warehouse.rows("ingested_files", ["path"]).column(0).to_pylist()}

    def enqueue(self, address: str) -> str:
        """Ask for a run on the pages; it waits for its turn."""
        question = """mutation { launchRun(executionParams: {selector: {repositoryLocationName: "pipelines.definitions",
            repositoryName: "__repository__", jobName: "ingest_job"}, runConfigData: {}})
            { __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
        answer = ask(address, question)["launchRun"]
        assert answer["__typename"] == "LaunchRunSuccess", answer
        run_id: str = answer["run"]["runId"]
        self.queued.append(run_id)
        return run_id

    @contextlib.contextmanager
    def served(self) -> Iterator[tuple[subprocess.Popen[str], str]]:
        """`hamlet ui`, and its address."""
        with serving(self.log.with_name(f"ui{self.dropped}.log"), "--workloads", str(self.folder)) as process:
            address = address_of(process)
            loaded(address)
            yield process, address

    def check_new_file(self) -> None:
        """A new file comes in: a sensor asks for a run, and the queue starts it."""
        name = self.drop()
        wait_for(lambda: name in self.ingested(), RUN_SECONDS, f"{name} is not in")

    def scheduled(self, since: float) -> list[dg.DagsterRun]:
        """Runs that the schedule asked for since then."""
        with dagster_instance(self.folder / "warehouse") as instance:
            records = instance.get_run_records(dg.RunsFilter(tags={"dagster/schedule_name": "jams_schedule"}))
        return [one.dagster_run for one in records if one.create_timestamp.timestamp() > since]

    def check_clock(self, since: float) -> None:
        """The schedule starts a run that succeeds."""
        succeeded = dg.DagsterRunStatus.SUCCESS
        wait_for(
            lambda: any(run.status == succeeded for run in self.scheduled(since)),
            RUN_SECONDS,
            "the schedule starts no run",
        )

    def check_queue(self) -> None:
        """Whatever was queued comes to an end."""
        waiting = set(self.queued)
        wait_for(
            lambda: all(run.status in ENDED for run in self.runs() if run.run_id in waiting),
            RUN_SECONDS,
            "what was queued does not run",
        )
        self.queued.clear()


@pytest.fixture
def automation(tmp_path: Path, request: pytest.FixtureRequest) -> Automation:
    folder = make_folder(tmp_path / "rides", {"jams": (EVERY_MODE, request.param)}, days=DAYS)
    for file in (folder / "inbox").iterdir():
        os.utime(file, (time.time() - 60,) * 2)
    settings = folder / "pipeline.yaml"
    settings.write_text(settings.read_text().replace("wait_seconds: 0", "wait_seconds: 300"))
    return Automation(folder, tmp_path / "log")


def status_of(automation: Automation, run_id: str) -> dg.DagsterRunStatus:
    (found,) = [run.status for run in automation.runs() if run.run_id == run_id]
    return found


def killed(process: subprocess.Popen[Any]) -> None:
    process.kill()
    process.wait(60)


@pytest.mark.parametrize("automation", [DAILY], ids=["daily"], indirect=True)
def test_a_killed_backfill_keeps_nothing_waiting(automation: Automation) -> None:
    """Before a server starts, and beside one that runs."""
    process = automation.backfill()
    first = automation.begun(process)
    killed(process)
    assert status_of(automation, first) == dg.DagsterRunStatus.STARTED
    with automation.served():
        assert status_of(automation, first) == dg.DagsterRunStatus.FAILURE
        automation.check_new_file()
        process = automation.backfill()
        second = automation.begun(process)
        killed(process)
        wait_for(
            lambda: status_of(automation, second) == dg.DagsterRunStatus.FAILURE,
            RUN_SECONDS,
            "the run counts as going on",
        )
    said = "".join(file.read_text() for file in automation.log.parent.glob("ui*.log"))
    for run in (first, second):
        assert f"Run {run} of jams_job is marked as failed: process " in said


@pytest.mark.slow
@pytest.mark.parametrize("automation", [CLOCK], ids=["clock"], indirect=True)
def test_everything_is_killed_at_random_moments(automation: Automation, tmp_path: Path) -> None:
    """`backfill`, `pipeline`, a run of a server and a process of `ui`, another one each time, each ten times over one
    warehouse: a server that starts after it runs what was queued, takes a new file and ticks, and the tables at the end are
    those of a warehouse that nobody disturbs. The engine is one without compiled kernels: what is killed is not its
    business. Slow, because each of forty kills is followed by runs with Spark: three quarters of an hour.
    """
    draw, begun = random.Random(23), time.monotonic()
    assert automation.backfill().wait(RUN_SECONDS) == 0
    whole = time.monotonic() - begun
    for number in range(ROUNDS):
        for kind, start in (("backfill", automation.backfill), ("pipeline", automation.pipeline)):
            killed_within(start(), draw.uniform(1, whole), f"{number}: {kind}")
        since = time.time()
        with automation.served() as (ui, address):
            for _ in range(2):
                automation.enqueue(address)
            automation.kill_a_worker(session_of(ui.pid), draw.uniform(0, whole / 2), f"{number}: run")
            automation.check_new_file()
            automation.check_clock(since)
            automation.check_queue()
            for _ in range(2):
                automation.enqueue(address)
            processes = session_of(ui.pid)
            kind = PROCESSES[number % len(PROCESSES)]
            victim = ui.pid if kind == "ui" else the(processes, kind)
            time.sleep(draw.uniform(0, whole / 2))
            os.kill(victim, signal.SIGKILL)
            print(f"{number}: {kind} killed", flush=True)
        wait_for(lambda: not running(next(iter(processes))), RUN_SECONDS, "its processes did not end")  # noqa: B023
    check_tables(automation, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("automation", [EVERY_MINUTE], ids=["clock"], indirect=True)
@pytest.mark.parametrize("kind", PROCESSES)
def test_each_process_of_ui_is_killed_at_random_moments(
    automation: Automation, tmp_path: Path, kind: str
) -> None:
    """Ten times, while a run that was asked for, a new file and a clock keep it busy: the next `ui` runs what was queued,
    takes a new file, and ticks. Slow, because each kill is followed by several runs with Spark.
    """
    draw = random.Random(kind)
    for number in range(ROUNDS):
        since = time.time()
        with automation.served() as (ui, address):
            automation.check_queue()
            automation.enqueue(address)
            automation.check_new_file()
            wait_for(lambda: automation.scheduled(since), RUN_SECONDS, "the schedule asks for no run")  # noqa: B023
            automation.queued += [run.run_id for run in automation.scheduled(since)]
            processes = session_of(ui.pid)
            seconds = draw.uniform(0, 20)
            time.sleep(seconds)
            os.kill(ui.pid if kind == "ui" else the(processes, kind), signal.SIGKILL)
            print(f"{number}: {kind} killed after {seconds:.1f} s", flush=True)
        wait_for(lambda: not running(next(iter(processes))), RUN_SECONDS, "its processes did not end")  # noqa: B023
    check_tables(automation, tmp_path)


def check_tables(automation: Automation, tmp_path: Path) -> None:
    """What is queued runs, and all tables are those of a warehouse that nobody disturbs."""
    with automation.served():
        automation.check_queue()
    automation.finish()
    calm = Automation(tmp_path / "calm" / "rides", tmp_path / "calm.log")
    shutil.copytree(automation.folder, calm.folder, ignore=shutil.ignore_patterns("warehouse"))
    calm.finish()
    assert automation.contents() == calm.contents()


def killed_within(process: subprocess.Popen[Any], seconds: float, what: str) -> None:
    """Kill a command after some seconds, unless it is faster."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    print(f"{what} {'killed' if process.poll() is None else 'was done'} after {seconds:.1f} s", flush=True)
    killed(process)
