"""What starts runs by itself: new files in the inbox, the clock, and late events. Needs Dagster's daemon."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg

from hamlet_core.errors import HamletError
from pipelines.assets.place import Place, range_tags
from pipelines.folder import WorkloadFolder
from pipelines.reading import listing
from pipelines.spans import Partition
from pipelines.steps.computed import late_partitions, latest_ingest
from resources.warehouse import Warehouse

Job = Any
"""What `define_asset_job` gives; Dagster does not export its class."""

INBOX_SECONDS = 30
LATE_SECONDS = 60
SETTLED_SECONDS = 5.0
"""A file that changed more recently may still be being written."""


def inbox_sensor(folder: WorkloadFolder, job: Job) -> dg.SensorDefinition:
    """New or changed files of events start an ingest."""

    @dg.sensor(
        name="new_files",
        job=job,
        minimum_interval_seconds=INBOX_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Ingests new files of {folder.stream.events}.",
    )
    def new_files(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        known: dict[str, list[float]] = json.loads(context.cursor or "{}")
        found = {
            file.path: [file.size, file.modified.timestamp() if file.modified else 0.0]
            for file in listing(folder.source.path)
        }
        now = datetime.now(UTC).timestamp()
        settled = {path: seen for path, seen in found.items() if now - seen[1] >= SETTLED_SECONDS}
        fresh = sorted(path for path, seen in settled.items() if known.get(path) != seen)
        waiting = len(found) - len(settled)
        if not fresh:
            return dg.SkipReason(
                f"no new files; {waiting} still being written" if waiting else "no new files"
            )
        seen = json.dumps(
            {
                path: found[path] if path in settled else known[path]
                for path in found
                if path in settled or path in known
            }
        )
        request = dg.RunRequest(
            run_key=hashlib.sha256(seen.encode()).hexdigest(),
            tags={"hamlet/reason": f"{len(fresh)} new files, such as {Path(fresh[0]).name}"[:200]},
        )
        return dg.SensorResult(run_requests=[request], cursor=seen)

    return new_files


def workload_schedule(place: Place, job: Job) -> dg.ScheduleDefinition | None:
    """The clock of a workload: the last partition that is complete, or everything."""
    cron = place.settings.schedule
    if cron is None:
        return None

    @dg.schedule(
        name=f"{place.word}_schedule",
        job=job,
        cron_schedule=cron,
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Computes {place.name} by the clock.",
    )
    def by_the_clock(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if place.partitions is None:
            return dg.RunRequest()
        with dg.partition_loading_context(context.scheduled_execution_time):
            key = place.partitions.get_last_partition_key()
        if key is None:
            return dg.SkipReason("the first partition is not complete yet")
        return dg.RunRequest(partition_key=key)

    return by_the_clock


def late_events_sensor(folder: WorkloadFolder, place: Place, job: Job) -> dg.SensorDefinition:
    """Events that came in after their windows were computed start those partitions again, and no others."""

    @dg.sensor(
        name=f"{place.word}_late_events",
        job=job,
        minimum_interval_seconds=LATE_SECONDS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=f"Runs the partitions of {place.name} again that late events change.",
    )
    def late_events(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        warehouse = Warehouse(folder.warehouse)
        latest = latest_ingest(warehouse)
        if latest is None or context.cursor == latest.isoformat():
            return dg.SkipReason("nothing has come in since the last look")
        try:
            now = WorkloadFolder.read(folder.root)
            late = late_partitions(warehouse, now.settings(place.name or ""))
        except HamletError as error:
            return dg.SkipReason(str(error))
        requests = [_again(place, run, latest) for run in in_a_row(late)]
        context.log.info("late events for %s", ", ".join(one.key for one in late) or "no partition")
        return dg.SensorResult(run_requests=requests, cursor=latest.isoformat())

    return late_events


def _again(place: Place, run: Sequence[Partition], latest: datetime) -> dg.RunRequest:
    """One run over partitions in a row; the same late events ask for it once."""
    first, last = run[0].key, run[-1].key
    reason = {"hamlet/reason": f"late events in {len(run)} partitions" if place.partitions else "new events"}
    tags = range_tags(first, last) if place.partitions else {}
    return dg.RunRequest(run_key=f"{first}..{last} {latest.isoformat()}", tags=tags | reason)


def in_a_row(partitions: Sequence[Partition]) -> Iterator[list[Partition]]:
    """Partitions that follow one another, together: each group is one run."""
    group: list[Partition] = []
    for one in partitions:
        if group and (one.after is None or group[-1].until != one.after):
            yield group
            group = []
        group.append(one)
    if group:
        yield group
