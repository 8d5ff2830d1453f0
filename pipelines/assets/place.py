"""What assets are made for: the workload that a run's configuration names, or one of a folder, cut by time or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

import dagster as dg

from pipelines.checks.rows import Days
from pipelines.folder import FolderWorkload, WorkloadSettings, word_of
from pipelines.spans import Partition, Span

INGEST_JOB = "ingest_job"
RETRY_SECONDS = 30
_DAY = 86_400_000_000
_ONE = "dagster/partition"
_RANGE = ("dagster/asset_partition_range_start", "dagster/asset_partition_range_end")


@dataclass(frozen=True)
class Place:
    """A workload as Dagster knows it; `name` is None where the run's configuration names it."""

    name: str | None = None
    settings: WorkloadSettings = WorkloadSettings()

    @classmethod
    def of(cls, workload: FolderWorkload) -> "Place":
        """The place of a workload in a folder."""
        return cls(workload.name, workload.settings)

    def key(self, table: str) -> dg.AssetKey:
        """The asset of a table: below the name of its workload, if it has one."""
        return dg.AssetKey([self.name, table] if self.name else [table])

    def step(self, name: str) -> str:
        """The name of a step, unlike that of any other workload's."""
        return f"{self.word}__{name}" if self.name else name

    @property
    def word(self) -> str:
        """The name in the letters that Dagster takes for names of jobs and groups."""
        return word_of(self.name or "")

    def group(self, step: str) -> str:
        """The group of an asset in the pages: the workload, or the step of the main job."""
        return self.word or step

    @property
    def partitions(self) -> dg.TimeWindowPartitionsDefinition | None:
        """The partitions of the results: windows belong to the day or hour in which they end."""
        if self.settings.partitions == "none" or self.settings.start is None:
            return None
        kind = (
            dg.DailyPartitionsDefinition
            if self.settings.partitions == "daily"
            else dg.HourlyPartitionsDefinition
        )
        end = self.settings.end
        return kind(
            start_date=self._whole(self.settings.start),
            end_date=self._whole(end) if end else None,
            timezone="UTC",
        )

    def _whole(self, when: datetime) -> datetime:
        """The beginning of the partition that a moment lies in, as Dagster wants it: without a zone."""
        hour = when.astimezone(UTC).replace(minute=0, second=0, microsecond=0, tzinfo=None)
        return hour.replace(hour=0) if self.settings.partitions == "daily" else hour

    def operation(self, step: str) -> dict[str, Any]:
        """How Dagster is to run a step: arguments of `multi_asset`."""
        return {
            "name": self.step(step),
            "partitions_def": self.partitions,
            "backfill_policy": self.backfill,
            "retry_policy": self.retry,
        }

    @property
    def backfill(self) -> dg.BackfillPolicy | None:
        """Many partitions are one run: Spark starts once, and each event is read once."""
        return dg.BackfillPolicy.single_run() if self.partitions else None

    @property
    def retry(self) -> dg.RetryPolicy | None:
        """What fails for a passing reason is tried again; all writes are idempotent."""
        retries = self.settings.retries
        if not self.name or not retries:
            return None
        return dg.RetryPolicy(max_retries=retries, delay=RETRY_SECONDS, backoff=dg.Backoff.EXPONENTIAL)

    @property
    def freshness(self) -> dg.FreshnessPolicy | None:
        """When published results are overdue."""
        hours = self.settings.fresh_within_hours
        return dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=hours)) if hours else None

    def span(self, context: dg.AssetExecutionContext | dg.AssetCheckExecutionContext) -> Span:
        """The partitions that a run computes; a check that is run by itself looks at all of them."""
        if self.partitions is None or not {_ONE, *_RANGE} & context.run.tags.keys():
            return Span()
        return span_of(self.partitions, context.run.tags)


def span_of(partitions: dg.TimeWindowPartitionsDefinition, tags: Mapping[str, str]) -> Span:
    """The partitions that the tags of a run name: one, or a range of them."""
    first = tags.get(_RANGE[0]) or tags[_ONE]
    last = tags.get(_RANGE[1]) or first
    keys = partitions.get_partition_keys_in_range(dg.PartitionKeyRange(first, last))
    return Span(tuple(_partition(partitions, key) for key in keys))


def days_of(tags: Mapping[str, str], longest: int) -> Days:
    """The days with events that windows of up to `longest` microseconds read, in a run with these tags."""
    first = tags.get(_RANGE[0]) or tags.get(_ONE)
    if first is None:
        return None, None
    before = timedelta(days=-(-longest // _DAY))
    return _day_of(first) - before, _day_of(tags.get(_RANGE[1]) or first)


def _day_of(key: str) -> date:
    """The UTC day of a partition: keys of days and of hours begin with it."""
    return date.fromisoformat(key[:10])


def range_tags(first: str, last: str) -> dict[str, str]:
    """The tags of one run over all partitions from `first` to `last`."""
    return dict(zip(_RANGE, (first, last), strict=True))


def _partition(partitions: dg.TimeWindowPartitionsDefinition, key: str) -> Partition:
    window = partitions.time_window_for_partition_key(key)
    return Partition(key, _utc(window.start), _utc(window.end))


def _utc(when: datetime) -> datetime:
    return datetime.fromtimestamp(when.timestamp(), UTC)
