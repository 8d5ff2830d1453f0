"""The code location: assets, checks, jobs, schedules, sensors and resources, together only here.

Without a folder of workloads there is the main job, whose configuration says what is computed. With one
(HAMLET_WORKLOADS) each of its workloads has assets, checks, a job, a schedule and a sensor of its own.
"""

import os
from pathlib import Path

import dagster as dg

from hamlet_core.errors import HamletError
from pipelines.assets import checks, execute, ingest, plan, publish
from pipelines.assets.automation import inbox_sensor, late_events_sensor, workload_schedule
from pipelines.assets.broken import broken_asset
from pipelines.assets.configuration import FolderConfiguration, PipelineConfiguration
from pipelines.assets.maintenance import maintenance_job
from pipelines.assets.place import INGEST_JOB, Place
from pipelines.cases import has_cases
from pipelines.folder import FolderWorkload, WorkloadFolder
from pipelines.live_runs import live_executor
from pipelines.settings import SettingsError
from resources.spark import SparkResource

MAIN_JOB = "trend_aggregates_job"
WORKLOADS = "HAMLET_WORKLOADS"
"""The environment variable that names a folder of workloads."""


def definitions(
    configuration: PipelineConfiguration | None = None, folder: Path | None = None
) -> dg.Definitions:
    """Everything Dagster runs; without a configuration, each run may set its own, and the example is the default."""
    if folder is not None:
        return _of_folder(folder)
    resource = configuration or PipelineConfiguration.configure_at_launch()
    job = dg.define_asset_job(
        MAIN_JOB,
        selection=dg.AssetSelection.all(),
        description="Files of events and a workload of queries in; checked trend aggregates out.",
    )
    place = Place()
    main = dg.Definitions(assets=_assets(place), asset_checks=[*checks.result_checks(place)], jobs=[job])
    return _together(resource, _events(), main)


def job_name(workload: str) -> str:
    """The job of a workload of a folder."""
    return f"{Place(workload).word}_job"


def _of_folder(root: Path) -> dg.Definitions:
    folder = WorkloadFolder.read(root)
    resource = FolderConfiguration(folder=str(root.absolute()))
    ingest_job = dg.define_asset_job(
        INGEST_JOB,
        selection=dg.AssetSelection.assets(ingest.ingest_files),
        description="Bring files that are not in yet into the table of events.",
    )
    inbox = dg.Definitions(jobs=[ingest_job], sensors=[inbox_sensor(folder, ingest_job)])
    return _together(resource, _events(), inbox, *(_in_folder(folder, one) for one in folder.workloads))


def _in_folder(folder: WorkloadFolder, workload: FolderWorkload) -> dg.Definitions:
    """One workload of a folder: a job that ingests first, so that a schedule needs nothing else."""
    if workload.problem is None:
        try:
            return _sound(folder, workload)
        except dg.DagsterError as refused:
            # Whatever else Dagster does not take stops this workload only.
            problem: HamletError = SettingsError(
                f"Dagster refuses the workload {workload.name}: {refused}", code="E533"
            )
    else:
        problem = workload.problem
    return dg.Definitions(assets=[broken_asset(Place(workload.name), problem)])


def _sound(folder: WorkloadFolder, workload: FolderWorkload) -> dg.Definitions:
    place = Place.of(workload)
    assets = _assets(place)
    cases = [checks.cases_check(folder.root, place)] if has_cases(workload) else []
    own = dg.Definitions(assets=assets, asset_checks=[*checks.result_checks(place), *cases])
    job = dg.define_asset_job(
        job_name(workload.name),
        selection=dg.AssetSelection.assets(ingest.ingest_files, *assets),
        description=f"Ingest new files, compute, check and publish the workload {workload.name}.",
    )
    schedule = workload_schedule(place, job)
    automation = dg.Definitions(
        jobs=[job],
        schedules=[schedule] if schedule else [],
        sensors=[late_events_sensor(folder, place, job)],
    )
    return dg.Definitions.merge(own, automation)


def _events() -> dg.Definitions:
    return dg.Definitions(assets=[ingest.ingest_files], asset_checks=[checks.events_expectations])


def _assets(place: Place) -> list[dg.AssetsDefinition]:
    return [plan.plan_asset(place), execute.execute_assets(place), *publish.publish_assets(place)]


def _together(resource: object, *parts: dg.Definitions) -> dg.Definitions:
    shared = dg.Definitions(
        jobs=[maintenance_job],
        resources={"pipeline": resource, "spark": SparkResource()},
        # One process, one Spark session: the multiprocess executor starts a JVM per step.
        executor=live_executor,
    )
    return dg.Definitions.merge(shared, *parts)


_FOLDER = os.environ.get(WORKLOADS)
defs = definitions(folder=Path(_FOLDER) if _FOLDER else None)
