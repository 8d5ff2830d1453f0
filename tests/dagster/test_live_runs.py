"""Runs whose process is gone are ended in Dagster's record; those that live or begin are left alone."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.execution.api import execute_run

from pipelines import live_runs
from pipelines.instance import dagster_instance
from pipelines.live_runs import SERVER, DeadRuns, end_dead_runs, locks_of
from tests.conftest import ROOT

Status = dg.DagsterRunStatus
HOLD = """
import sys
from pathlib import Path
from resources.run_lock import LiveLocks
LiveLocks(Path(sys.argv[1])).keep(sys.argv[2])
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    with dagster_instance(tmp_path / "wh") as found:
        yield found


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What the time since the start of the machine is; it goes on by what somebody sleeps."""
    now = [1_000.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    # Not the functions of the module itself: other threads of this process sleep, too.
    monkeypatch.setattr(live_runs, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    return now


def a_run(instance: dg.DagsterInstance, status: Status) -> str:
    @dg.op
    def nothing() -> None: ...

    @dg.job
    def some_job() -> None:
        nothing()

    return instance.create_run_for_job(some_job, status=status).run_id


def status_of(instance: dg.DagsterInstance, run_id: str) -> Status:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def a_process_with(instance: dg.DagsterInstance, run_id: str) -> subprocess.Popen[str]:
    """A process that has the lock of a run until it ends."""
    command = [sys.executable, "-c", HOLD, str(locks_of(instance).folder), run_id]
    process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_killed_run_is_marked_failed_and_says_so(
    instance: dg.DagsterInstance,
) -> None:
    run, said = a_run(instance, Status.STARTED), []
    with a_process_with(instance, run) as process:
        end_dead_runs(instance, said.append)
        assert (status_of(instance, run), said) == (Status.STARTED, [])
        process.kill()
    end_dead_runs(instance, said.append)
    (line,) = said
    assert line.startswith(f"Run {run} of some_job is marked as failed: process {process.pid} on ")
    assert status_of(instance, run) == Status.FAILURE
    assert line in [entry.message for entry in instance.all_logs(run)]
    end_dead_runs(instance, said.append)
    assert len(said) == 1
    assert list(locks_of(instance).folder.iterdir()) == []


@pytest.mark.parametrize(
    ("status", "then"),
    [
        (Status.STARTING, Status.FAILURE),
        (Status.STARTED, Status.FAILURE),
        (Status.CANCELING, Status.CANCELED),
        # A sensor makes such a run and queues it when it is asked again.
        (Status.NOT_STARTED, Status.NOT_STARTED),
    ],
)
def test_a_run_without_a_lock_is_dead_where_nobody_starts_runs(
    instance: dg.DagsterInstance, status: Status, then: Status
) -> None:
    run = a_run(instance, status)
    end_dead_runs(instance, str)
    assert status_of(instance, run) == then


def test_beside_a_live_server_a_run_may_begin_before_it_has_its_lock(
    instance: dg.DagsterInstance, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    starting, begun = a_run(instance, Status.STARTING), a_run(instance, Status.STARTED)
    locks = locks_of(instance)
    slept = live_runs.time.sleep

    def take(seconds: float) -> None:
        locks.keep(begun)
        slept(seconds)

    with locks.sharing(SERVER), locks.sharing(SERVER):
        dead = DeadRuns(str)
        dead.end(instance)
        with monkeypatch.context() as patch:
            patch.setattr(live_runs.time, "sleep", take)
            end_dead_runs(instance, str)
        assert status_of(instance, begun) == Status.STARTED
        clock[0] += 170
        dead.end(instance)
        assert status_of(instance, starting) == Status.STARTING
        clock[0] += 15
        dead.end(instance)
        assert status_of(instance, starting) == Status.FAILURE
    assert status_of(instance, begun) == Status.STARTED


def test_a_server_finds_what_dies_while_it_lives(instance: dg.DagsterInstance, clock: list[float]) -> None:
    run, dead = a_run(instance, Status.STARTED), DeadRuns(str)
    with locks_of(instance).sharing(SERVER):
        assert dead.end(instance)
        assert status_of(instance, run) == Status.STARTED
        clock[0] += 15
        assert not dead.end(instance)
        assert status_of(instance, run) == Status.FAILURE


def test_a_command_that_is_killed_before_its_run_begins_leaves_none_that_waits(
    instance: dg.DagsterInstance,
) -> None:
    run = a_run(instance, Status.NOT_STARTED)
    with a_process_with(instance, run) as process:
        end_dead_runs(instance, str)
        assert status_of(instance, run) == Status.NOT_STARTED
        process.kill()
    end_dead_runs(instance, str)
    assert status_of(instance, run) == Status.FAILURE


def test_a_run_that_ends_between_the_looks_is_not_failed(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = a_run(instance, Status.STARTED)
    found = list(instance.get_runs())
    monkeypatch.setattr(instance, "get_runs", lambda *_, **__: found)
    instance.report_run_canceled(found[0])
    end_dead_runs(instance, str)
    assert status_of(instance, run) == Status.CANCELED


def test_two_commands_that_start_at_once_end_a_run_once(tmp_path: Path) -> None:
    with dagster_instance(tmp_path / "wh") as one, dagster_instance(tmp_path / "wh") as other:
        run, said = a_run(one, Status.STARTED), []
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda instance: end_dead_runs(instance, said.append), (one, other)))
        assert len(said) == 1
        assert status_of(other, run) == Status.FAILURE


def test_a_run_in_dagsters_own_process_has_its_lock_while_its_steps_run(
    instance: dg.DagsterInstance,
) -> None:
    seen = []

    @dg.op
    def look(context: dg.OpExecutionContext) -> None:
        seen.append(locks_of(context.instance).held(context.run_id))

    job = dg.GraphDefinition(name="looking", node_defs=[look]).to_job(executor_def=live_runs.live_executor)
    run = instance.create_run_for_job(job)
    assert execute_run(InMemoryJob(job), run, instance).success
    assert seen == [True]
