"""Runs whose process died without a word: found by the locks that live ones hold, and ended in Dagster's record.

Dagster counts a run as going on until it hears of its end, and one that counts keeps all that is queued waiting. So
runs hold a lock from their first to their last moment (here, in each command; in Dagster's own processes, by the
executor), and those that Dagster counts and nobody holds are dead. What is queued stays queued.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from resources.run_lock import LiveLocks

if TYPE_CHECKING:
    from dagster._core.execution.context.system import PlanOrchestrationContext
    from dagster._core.execution.plan.plan import ExecutionPlan
    from dagster._core.execution.retries import RetryMode
    from dagster._core.execution.step_dependency_config import StepDependencyConfig

SERVER = "server"
"""The lock that every live `hamlet ui` of an instance shares."""

_ACTIVE = [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
_PATIENCE_SECONDS = 2.0
_STARTING_SECONDS = 180.0
"""For how long a run may be seen without a lock: a process that Dagster starts loads our code before it takes it."""

Tell = Callable[[str], object]


def locks_of(instance: dg.DagsterInstance) -> LiveLocks:
    """The locks of the runs of an instance."""
    return LiveLocks(Path(instance.root_directory) / "alive")


@dg.executor(name="in_process", config_schema=dg.in_process_executor.config_schema.as_field())
def live_executor(context: dg.InitExecutorContext) -> dg.Executor:
    """All steps in one process, whose life shows that of the run."""
    create = dg.in_process_executor.executor_creation_fn
    assert create is not None  # noqa: S101 - Dagster's own executors have one
    return _LiveExecutor(create(context))


class _LiveExecutor(dg.Executor):
    def __init__(self, inner: dg.Executor) -> None:
        self._inner = inner

    @property
    def retries(self) -> RetryMode:
        return self._inner.retries

    @property
    def step_dependency_config(self) -> StepDependencyConfig:
        return self._inner.step_dependency_config

    def execute(
        self, plan_context: PlanOrchestrationContext, execution_plan: ExecutionPlan
    ) -> Iterator[dg.DagsterEvent]:
        locks_of(plan_context.instance).keep(plan_context.run_id)
        return self._inner.execute(plan_context, execution_plan)


@dataclass(slots=True)
class DeadRuns:
    """Looks for dead runs as often as it is asked; a run is dead if it has been without a lock for long enough, by a
    clock that nobody sets.
    """

    tell: Tell
    since: dict[tuple[str, str], float] = field(default_factory=dict)
    """When a run was first seen in a state and without a lock."""

    def end(self, instance: dg.DagsterInstance, *, nothing_starts: bool = False) -> bool:
        """End the runs that are dead for certain; whether there is one that may turn out to be.

        Where `nothing_starts`, because there is nobody who could start a run, a lock that is not there is proof.
        """
        locks = locks_of(instance)
        with locks.holding("look"):
            suspects = {(run.run_id, run.status.value): run for run in _without_lock(instance, locks)}
            now, doubtful = time.monotonic(), False
            self.since = {key: self.since.get(key, now) for key in suspects}
            for key, run in suspects.items():
                starting = run.status == dg.DagsterRunStatus.STARTING
                patience = _STARTING_SECONDS if starting else _PATIENCE_SECONDS
                if nothing_starts or now - self.since[key] >= patience:
                    self._end(instance, locks, run)
                elif not starting:
                    doubtful = True
            return doubtful

    def _end(self, instance: dg.DagsterInstance, locks: LiveLocks, run: dg.DagsterRun) -> None:
        now = instance.get_run_by_id(run.run_id)
        if now is None or now.status != run.status:
            return  # it ended by itself, and let go of its lock, between the two looks
        process = locks.signature(run.run_id) or "its process"
        canceling = run.status == dg.DagsterRunStatus.CANCELING
        how = "canceled" if canceling else "failed"
        said = (
            f"Run {run.run_id} of {run.job_name} is marked as {how}: {process} is gone, killed before it could say "
            "so. Nothing is lost: a run over the same goes on from what is there."
        )
        report = instance.report_run_canceled if canceling else instance.report_run_failed
        report(run, said)
        locks.forget(run.run_id)
        self.tell(said)


def end_dead_runs(instance: dg.DagsterInstance, tell: Tell) -> None:
    """End the dead runs of an instance, at the start of a command."""
    dead, alone = DeadRuns(tell), not locks_of(instance).held(SERVER)
    if dead.end(instance, nothing_starts=alone):
        time.sleep(_PATIENCE_SECONDS)
        dead.end(instance, nothing_starts=alone)


def _without_lock(instance: dg.DagsterInstance, locks: LiveLocks) -> Iterator[dg.DagsterRun]:
    """Runs that Dagster counts as going on, or that a command made and did not begin, whose lock nobody holds."""
    left = locks.left()
    for run in instance.get_runs(dg.RunsFilter(statuses=_ACTIVE)):
        if not locks.held(run.run_id):
            yield run
    for name in left:
        made = instance.get_run_by_id(name)
        if made is None or made.is_finished:
            locks.forget(name)
        elif made.status == dg.DagsterRunStatus.NOT_STARTED:
            yield made
