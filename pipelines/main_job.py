"""The main job from code: settings in, a run of the Dagster job in this process, what came of it out."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import dagster as dg

from pipelines.assets.configuration import PipelineConfiguration
from pipelines.assets.place import Place, range_tags
from pipelines.assets.presenting import recorded_metrics, step_seconds
from pipelines.definitions import MAIN_JOB, definitions, job_name, stream_job_name
from pipelines.folder import WorkloadFolder
from pipelines.live_runs import locks_of
from pipelines.settings import JobSettings, SettingsError
from pipelines.steps.metrics import Metric
from resources.failures import explained
from resources.storage import Location
from resources.storage import Place as WarehousePlace


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How one check of a run came out; `page` is its table in Markdown. One that only warns stops nothing."""

    asset: str
    name: str
    passed: bool
    description: str
    page: str
    warns: bool = False


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run did; it is a success if no check is red, because that stops it."""

    run_id: str
    success: bool
    seconds: float
    checks: tuple[CheckResult, ...]
    metrics: tuple[Metric, ...]


def run_main_job(
    settings: JobSettings,
    instance: dg.DagsterInstance | None = None,
    *,
    wait_seconds: float = 0.0,
    log_level: str = "CRITICAL",
) -> RunSummary:
    """Run the main job in this process, in an instance that keeps the run, or in one that forgets it.

    Raises the HamletError that stopped a step, and WarehouseBusy if another run keeps the warehouse for more than
    `wait_seconds`. A red check raises nothing. Progress goes to the logger `hamlet`, Dagster's log to stderr.
    """
    settings.workload.plans  # noqa: B018 - a bad workload is refused before anything is touched
    found = definitions(PipelineConfiguration.of(settings, wait_seconds))
    return _run(found, MAIN_JOB, settings.warehouse, instance, {}, log_level)


def run_workload(
    folder: Path,
    workload: str,
    partitions: tuple[str, str] | None = None,
    instance: dg.DagsterInstance | None = None,
    *,
    log_level: str = "CRITICAL",
) -> RunSummary:
    """Run the job of a workload of a folder: ingest, compute, check and publish its partitions, from the first to the
    last given, in one run.

    Raises as `run_main_job`, and SettingsError for a folder, workload or partition that is not there.
    """
    read = WorkloadFolder.read(folder)
    tags = tags_of(Place.of(read.named(workload)), workload, partitions)
    return _run(definitions(folder=folder), job_name(workload), read.warehouse, instance, tags, log_level)


def run_stream(
    folder: Path, workload: str, instance: dg.DagsterInstance | None = None, *, log_level: str = "CRITICAL"
) -> RunSummary:
    """Go on with the stream of a workload of a folder: one run of its job, until no file is left.

    Raises as `run_workload`, and SettingsError for a workload that is no stream.
    """
    read = WorkloadFolder.read(folder)
    if read.named(workload).settings.stream is None:
        raise SettingsError(
            f"the workload {workload} is no stream",
            code="E533",
            hint=f"`stream: {{}}` in {workload}.yaml makes it one",
        )
    return _run(
        definitions(folder=folder), stream_job_name(workload), read.warehouse, instance, {}, log_level
    )


def tags_of(place: Place, workload: str, wanted: tuple[str, str] | None) -> dict[str, str]:
    """The tags of a run over these partitions, all of which must exist; none for a workload without. SettingsError."""
    known = place.partitions
    if known is None:
        if wanted is not None:
            raise SettingsError(f"the workload {workload} has no partitions", code="E533")
        return {}
    if wanted is not None and all(known.has_partition_key(key) for key in wanted) and wanted[0] <= wanted[1]:
        return range_tags(*wanted)
    first, last = known.get_first_partition_key(), known.get_last_partition_key()
    asked = f"has no partitions {' to '.join(wanted)}" if wanted else "is computed by partitions: name them"
    raise SettingsError(
        f"the workload {workload} {asked}",
        code="E534",
        hint=f"its partitions are {first} to {last}, the last that is complete",
    )


def _run(
    found: dg.Definitions,
    name: str,
    warehouse: WarehousePlace,
    instance: dg.DagsterInstance | None,
    tags: dict[str, str],
    log_level: str,
) -> RunSummary:
    if instance is None:
        with dg.DagsterInstance.ephemeral() as ephemeral:
            return _run(found, name, warehouse, ephemeral, tags, log_level)
    started, run_id = time.monotonic(), str(uuid.uuid4())
    job = found.resolve_job_def(name)
    logging = {"loggers": {"console": {"config": {"log_level": log_level}}}}
    success = False
    try:
        with locks_of(instance).holding(run_id):
            done = job.execute_in_process(run_config=logging, instance=instance, run_id=run_id, tags=tags)
        success = done.success
    except Exception as failure:  # noqa: BLE001 - raised again unless a check says it better
        # First, because a full disk also hides what the checks said.
        if known := explained(failure, Location.of(warehouse).local):
            raise known from known.__cause__
        _raise_unless_check(failure, _checks(instance, run_id))
    seconds = time.monotonic() - started
    metrics = (*recorded_metrics(instance, run_id), *step_seconds(instance, run_id))
    return RunSummary(run_id, success, seconds, _checks(instance, run_id), metrics)


def _raise_unless_check(failure: Exception, checks: tuple[CheckResult, ...]) -> None:
    """A red check ends a run with an exception of Dagster's, which the summary says better."""
    if all(check.passed or check.warns for check in checks):
        raise failure


def _checks(instance: dg.DagsterInstance, run_id: str) -> tuple[CheckResult, ...]:
    found = []
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ASSET_CHECK_EVALUATION):
        one = entry.asset_check_evaluation
        if one is not None:
            pages = [
                value.value for value in one.metadata.values() if isinstance(value, dg.MarkdownMetadataValue)
            ]
            place = one.asset_key.to_user_string()
            found.append(
                CheckResult(
                    place,
                    one.check_name,
                    one.passed,
                    one.description or "",
                    "\n\n".join(pages),
                    not one.passed and one.severity == dg.AssetCheckSeverity.WARN,
                )
            )
    return tuple(found)
