"""What a sensor has asked for: done, on its way, or failed and asked for again, after pauses that grow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
from dagster._core.storage.tags import RUN_KEY_TAG

FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Asked:
    """A run that was asked for under a name of its own; each attempt is another run."""

    key: str
    attempt: int
    at: datetime

    @classmethod
    def first(cls, key: str) -> Asked:
        """The first attempt, now."""
        return cls(key, 1, now())

    @classmethod
    def read(cls, saved: Mapping[str, Any]) -> Asked:
        """What a cursor holds."""
        return cls(saved["key"], saved["attempt"], datetime.fromisoformat(saved["at"]))

    @property
    def saved(self) -> dict[str, Any]:
        """For a cursor."""
        return {"key": self.key, "attempt": self.attempt, "at": self.at.isoformat()}

    @property
    def run_key(self) -> str:
        """Dagster starts one run for each."""
        return self.key if self.attempt == 1 else f"{self.key} attempt {self.attempt}"

    @property
    def again(self) -> Asked:
        """The next attempt, now."""
        return replace(self, attempt=self.attempt + 1, at=now())

    def outcome(self, instance: dg.DagsterInstance, sensor: str) -> Outcome:
        """What has become of it; a run that was stopped, or that is not there any more, has failed."""
        tags = {RUN_KEY_TAG: self.run_key, "dagster/sensor_name": sensor}
        records = instance.get_run_records(dg.RunsFilter(tags=tags), limit=1)
        if not records:
            return Outcome(self, None, None, self.at)
        (record,) = records
        end = datetime.fromtimestamp(record.end_time, UTC) if record.end_time else record.update_timestamp
        run = record.dagster_run
        return Outcome(self, run.run_id, run.status, end if end.tzinfo else end.replace(tzinfo=UTC))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What has become of a run that was asked for."""

    asked: Asked
    run_id: str | None
    status: dg.DagsterRunStatus | None
    end: datetime

    @property
    def done(self) -> bool:
        """It has succeeded."""
        return self.status == dg.DagsterRunStatus.SUCCESS

    @property
    def failed(self) -> bool:
        """It has ended otherwise, or is nowhere."""
        return self.status in (None, dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)

    @property
    def next_try(self) -> datetime:
        """When it is asked for again, if it has failed."""
        return self.end + min(FIRST_PAUSE * 2 ** min(self.asked.attempt - 1, 10), LONGEST_PAUSE)

    @property
    def due(self) -> bool:
        """Whether to ask again now; an end that lies ahead is that of a clock which was put back since."""
        return self.failed and not self.end <= now() < self.next_try

    def __str__(self) -> str:
        which = f"run {self.run_id[:8]}" if self.run_id else "its run is not there any more"
        if not self.failed:
            return f"on its way ({which})"
        return f"failed ({which}, attempt {self.asked.attempt}); next try at {self.next_try:%Y-%m-%d %H:%M:%S} UTC"


def now() -> datetime:
    """The time of this machine."""
    return datetime.now(UTC)
