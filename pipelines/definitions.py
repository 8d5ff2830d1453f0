"""The code location: assets, checks, jobs, schedules, sensors and resources, together only here.

Without a folder of workloads there is the main job, whose configuration says what is computed. With one
(HAMLET_WORKLOADS) each of its workloads has assets, checks, a job, a schedule and a sensor of its own.
"""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import dagster as dg

from hamlet_core.errors import HamletError
from pipelines.assets import checks, execute, ingest, plan, publish, stream
from pipelines.assets.automation import inbox_sensor, late_events_sensor, workload_schedule
from pipelines.assets.broken import broken_asset
from pipelines.assets.configuration import FolderConfiguration, PipelineConfiguration
from pipelines.assets.maintenance import maintenance_job
from pipelines.assets.place import INGEST_JOB, Place
from pipelines.assets.spark import SparkResource
from pipelines.cases import has_cases
from pipelines.folder import FolderWorkload, WorkloadFolder
from pipelines.live_runs import live_executor
from pipelines.settings import SettingsError
from pipelines.steps.publication.shape import wide_name
from resources.storage import Location, place_of

MAIN_JOB = "trend_aggregates_job"
WORKLOADS = "HAMLET_WORKLOADS"
WAREHOUSE = "HAMLET_WAREHOUSE"
"""The environment variables that name a folder of workloads, and the warehouse whose pages are shown."""


def definitions(
    configuration: PipelineConfiguration | None = None,
    folder: Path | None = None,
    wide_tables: Sequence[str] = (),
) -> dg.Definitions:
    """Everything Dagster runs; without a configuration, each run may set its own, and the example is the default.

    `wide_tables` are those of the main job that the lineage shows; a folder tells its own.
    """
    if folder is not None:
        return _of_folder(folder)
    resource = configuration or PipelineConfiguration.configure_at_launch()
    job = dg.define_asset_job(
        MAIN_JOB,
        selection=dg.AssetSelection.all(),
        description="Files of events and a workload of queries in; checked trend aggregates out.",
    )
    place = Place()
    assets: list[dg.AssetsDefinition | dg.AssetSpec] = [
        *_assets(place),
        *publish.wide_specs(place, wide_tables),
    ]
    main = dg.Definitions(assets=assets, asset_checks=[*checks.result_checks(place)], jobs=[job])
    return _together(resource, _events(), main)


def job_name(workload: str) -> str:
    """The job of a workload of a folder."""
    return f"{Place(workload).word}_job"


def stream_job_name(workload: str) -> str:
    """The job that goes on with a workload of a folder as a stream."""
    return f"{Place(workload).word}_stream_job"


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
    wide = publish.wide_specs(
        place, (wide_name(workload.name, plan.name) for plan in workload.workload.plans)
    )
    own = dg.Definitions(assets=[*assets, *wide], asset_checks=[*checks.result_checks(place), *cases])
    job = dg.define_asset_job(
        job_name(workload.name),
        selection=dg.AssetSelection.assets(ingest.ingest_files, *assets),
        description=f"Ingest new files, compute, check and publish the workload {workload.name}.",
    )
    late = late_events_sensor(folder, place, job)
    if workload.settings.stream is None:
        clock = workload_schedule(place, job)
        return dg.Definitions.merge(
            own, dg.Definitions(jobs=[job], schedules=[clock] if clock else [], sensors=[late])
        )
    going_on = stream.stream_asset(place)
    streaming = dg.define_asset_job(
        stream_job_name(workload.name),
        selection=dg.AssetSelection.assets(going_on),
        description=f"Go on with the stream {workload.name}: publish the windows that became final.",
    )
    clock = workload_schedule(stream.whole(place), streaming)
    continuous = dg.Definitions(
        assets=[going_on],
        jobs=[job, streaming],
        schedules=[clock] if clock else [],
        sensors=[late, stream.watch_sensor(folder, place)],
    )
    return dg.Definitions.merge(own, continuous)


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


def _wide_tables(warehouse: str) -> list[str]:
    """The wide tables that a warehouse has, when the code location is loaded; none where it cannot be looked at."""
    with contextlib.suppress(HamletError, OSError):
        return [name for name in Location.of(place_of(warehouse)).folders() if "__" in name]
    return []


_FOLDER, _SHOWN = os.environ.get(WORKLOADS), os.environ.get(WAREHOUSE)
defs = definitions(
    folder=Path(_FOLDER) if _FOLDER else None,
    wide_tables=_wide_tables(_SHOWN) if _SHOWN and not _FOLDER else (),
)
