"""What starts runs by itself: new files in the inbox, the clock, and late events. Needs Dagster's daemon."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.storage.tags import PARTITION_NAME_TAG, SCHEDULE_NAME_TAG

from hamlet_core.errors import HamletError
from pipelines.assets.asked import Asked
from pipelines.assets.place import Place, range_tags
from pipelines.folder import WorkloadFolder
from pipelines.reading import listing
from pipelines.spans import Partition
from pipelines.steps.execution.computed import late_partitions, latest_ingest
from resources.warehouse import Warehouse

Job = Any
"""What `define_asset_job` gives; Dagster does not export its class."""

INBOX_SECONDS = 30
LATE_SECONDS = 60
SETTLED_SECONDS = 5.0
"""A file that changed more recently may still be being written."""


def _settled(seen: str | float, now: float) -> bool:
    """Whether a file seen so, by when it was changed or as one that never changes, is whole."""
    return isinstance(seen, str) or abs(now - seen) >= SETTLED_SECONDS


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
        known, asked = _inbox_cursor(context.cursor)
        outcome = asked.outcome(context.instance, "new_files") if asked else None
        if outcome is not None and not outcome.done and not outcome.failed:
            return dg.SkipReason(f"an ingest is {outcome}")
        found = {
            file.path: [file.size, file.fingerprint or (file.modified.timestamp() if file.modified else 0.0)]
            for file in listing(folder.source.path)
        }
        now = datetime.now(UTC).timestamp()
        settled = {path: seen for path, seen in found.items() if _settled(seen[1], now)}
        fresh = sorted(path for path, seen in settled.items() if known.get(path) != seen)
        waiting = len(found) - len(settled)
        if fresh:
            known = {
                path: found[path] if path in settled else known[path]
                for path in found
                if path in settled or path in known
            }
            seen = json.dumps(known)
            asked = Asked.first(hashlib.sha256(seen.encode()).hexdigest())
            reason = f"{len(fresh)} new files, such as {Path(fresh[0]).name}"
            return _ask(known, asked, reason)
        if asked is not None and outcome is not None and outcome.failed:
            if outcome.due:
                return _ask(known, asked.again, f"attempt {asked.attempt + 1}: the last ingest failed")
            return dg.SkipReason(f"no new files; the last ingest {outcome}")
        quiet = f"no new files; {waiting} still being written" if waiting else "no new files"
        return dg.SensorResult(skip_reason=quiet, cursor=_saved(known, None))

    return new_files


def _inbox_cursor(cursor: str | None) -> tuple[dict[str, list[str | float]], Asked | None]:
    """The files that were asked for, by path, and the ingest that has yet to succeed; older cursors hold only files."""
    saved = json.loads(cursor or "{}")
    if not isinstance(saved.get("known"), dict):
        return saved, None
    return saved["known"], Asked.read(saved["asked"]) if saved["asked"] else None


def _saved(known: dict[str, list[str | float]], asked: Asked | None) -> str:
    return json.dumps({"known": known, "asked": asked.saved if asked else None})


def _ask(known: dict[str, list[str | float]], asked: Asked, reason: str) -> dg.SensorResult:
    """Ask for an ingest, and remember it until it has succeeded."""
    request = dg.RunRequest(run_key=asked.run_key, tags={"hamlet/reason": reason[:200]})
    return dg.SensorResult(run_requests=[request], cursor=_saved(known, asked))


def workload_schedule(place: Place, job: Job) -> dg.ScheduleDefinition | None:
    """The clock of a workload: the last partition that is complete, or everything, unless a run for the same waits already.

    Else the queue of a workload that takes longer than its clock gives it would grow without end.
    """
    cron = place.settings.schedule
    if cron is None:
        return None

    name = f"{place.word}_schedule"

    @dg.schedule(
        name=name,
        job=job,
        cron_schedule=cron,
        execution_timezone="UTC",
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Computes {place.name} by the clock.",
    )
    def by_the_clock(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if place.partitions is None:
            return _unless_one_waits(context, {SCHEDULE_NAME_TAG: name}, dg.RunRequest())
        with dg.partition_loading_context(context.scheduled_execution_time):
            key = place.partitions.get_last_partition_key()
        if key is None:
            return dg.SkipReason("the first partition is not complete yet")
        tags = {SCHEDULE_NAME_TAG: name, PARTITION_NAME_TAG: key}
        return _unless_one_waits(context, tags, dg.RunRequest(partition_key=key))

    return by_the_clock


def _unless_one_waits(
    context: dg.ScheduleEvaluationContext, tags: dict[str, str], request: dg.RunRequest
) -> dg.RunRequest | dg.SkipReason:
    """What a run with these tags would compute that has not begun is what a second one would."""
    waits = dg.RunsFilter(statuses=[dg.DagsterRunStatus.QUEUED], tags=tags)
    for run in context.instance.get_runs(waits, limit=1):
        return dg.SkipReason(f"a run for the same waits already (run {run.run_id[:8]})")
    return request


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
        seen, asked = _late_cursor(context.cursor)
        outcomes = [(one, one.run.outcome(context.instance, context.sensor_name)) for one in asked]
        for _, outcome in outcomes:
            if not outcome.done and not outcome.failed:
                return dg.SkipReason(f"the last run of late events is {outcome}")
        failed = [(one, outcome) for one, outcome in outcomes if outcome.failed]
        warehouse = Warehouse(folder.warehouse)
        latest = _looked_at(place, latest_ingest(warehouse))
        if latest is None or seen == latest:
            wanted = [one.again for one, outcome in failed if outcome.due]
            rest = [one for one, outcome in failed if not outcome.due]
            quiet = "nothing has come in since the last look"
            if failed and not wanted:
                return dg.SkipReason(f"{quiet}; the last run of late events {failed[0][1]}")
        else:
            try:
                now = WorkloadFolder.read(folder.root)
                late = _complete(place, late_partitions(warehouse, now.settings(place.name or "")))
            except HamletError as error:
                return dg.SkipReason(str(error))
            seen, rest = latest, []
            wanted = [_Late.first(run[0].key, run[-1].key, len(run), seen) for run in in_a_row(late)]
            spans = {(one.since, one.until) for one in wanted}
            wanted += [one.again for one, _ in failed if (one.since, one.until) not in spans]
            quiet = "nothing that has come in is late"
            context.log.info("late events for %s", ", ".join(one.key for one in late) or "no partition")
        cursor = json.dumps({"latest": seen, "asked": [one.saved for one in wanted + rest]})
        if not wanted:
            return dg.SensorResult(skip_reason=quiet, cursor=cursor)
        return dg.SensorResult(run_requests=[_request(place, one) for one in wanted], cursor=cursor)

    return late_events


def _looked_at(place: Place, latest: datetime | None) -> str | None:
    """What late events are looked for in: the last ingest; of a stream also the last partition that is complete."""
    if latest is None or place.settings.stream is None or place.partitions is None:
        return latest.isoformat() if latest is not None else None
    return f"{latest.isoformat()} {place.partitions.get_last_partition_key()}"


def _complete(place: Place, late: Sequence[Partition]) -> Sequence[Partition]:
    """Of a stream, whose last day is given out in parts, the partitions that there are by now."""
    if place.settings.stream is None or place.partitions is None:
        return late
    known = set(place.partitions.get_partition_keys())
    return [one for one in late if one.key in known]


@dataclass(frozen=True, slots=True)
class _Late:
    """A run over partitions in a row that late events change."""

    since: str
    until: str
    count: int
    run: Asked

    @classmethod
    def first(cls, since: str, until: str, count: int, latest: str) -> "_Late":
        """The first attempt; the same late events ask for it once."""
        return cls(since, until, count, Asked.first(f"{since}..{until} {latest}"))

    @property
    def again(self) -> "_Late":
        return replace(self, run=self.run.again)

    @property
    def saved(self) -> dict[str, Any]:
        return {"since": self.since, "until": self.until, "count": self.count, "run": self.run.saved}


def _late_cursor(cursor: str | None) -> tuple[str | None, list[_Late]]:
    """The last ingest that was looked at, and the runs that have yet to succeed; older cursors are the time alone."""
    if cursor is None or not cursor.startswith("{"):
        return cursor, []
    saved = json.loads(cursor)
    asked = [_Late(**{**one, "run": Asked.read(one["run"])}) for one in saved["asked"]]
    return saved["latest"], asked


def _request(place: Place, late: _Late) -> dg.RunRequest:
    """One run over partitions in a row."""
    reason = {
        "hamlet/reason": f"late events in {late.count} partitions" if place.partitions else "new events"
    }
    tags = range_tags(late.since, late.until) if place.partitions else {}
    return dg.RunRequest(run_key=late.run.run_key, tags=tags | reason)


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
