"""Which windows one run computes: partitions of time, each the windows that end in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hamlet_core.errors import InvariantError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Partition:
    """The windows with `after` < window_end <= `until`; None is without a bound. `key` is its name in Dagster.

    >>> Partition("2026-01-05", datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 6, tzinfo=UTC)).key
    '2026-01-05'
    """

    key: str
    after: datetime | None = None
    until: datetime | None = None


WHOLE = Partition("all")
"""Every window: a run that is not cut by time."""


@dataclass(frozen=True, slots=True)
class Span:
    """Partitions in a row, computed together."""

    partitions: tuple[Partition, ...] = (WHOLE,)

    def __post_init__(self) -> None:
        for earlier, later in zip(self.partitions, self.partitions[1:], strict=False):
            if earlier.until is None or earlier.until != later.after:
                raise InvariantError(f"span: {later.key} does not follow {earlier.key}", code="E912")

    @property
    def after(self) -> datetime | None:
        """Windows of the span end later than this."""
        return self.partitions[0].after

    @property
    def until(self) -> datetime | None:
        """Windows of the span end no later than this."""
        return self.partitions[-1].until

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of the partitions."""
        return tuple(partition.key for partition in self.partitions)

    def between(self, keys: Collection[str]) -> Span:
        """The part from the first to the last of these partitions, of which there must be one."""
        places = [place for place, one in enumerate(self.partitions) if one.key in keys]
        return Span(self.partitions[places[0] : places[-1] + 1])

    def reads(
        self, windows: Sequence[tuple[int, int]], origin: int
    ) -> tuple[datetime | None, datetime | None]:
        """From when (inclusive) to when (exclusive) events matter to windows of these (within, slide) microseconds.

        `origin` is where window 0 starts, in microseconds from the epoch.

        >>> day = Span((Partition("d", EPOCH + timedelta(days=1), EPOCH + timedelta(days=2)),))
        >>> hour = 3_600_000_000
        >>> [str(bound) for bound in day.reads([(24 * hour, 24 * hour), (3 * hour, hour)], 0)]
        ['1970-01-01 22:00:00+00:00', '1970-01-03 00:00:00+00:00']
        """
        if self.after is None:
            return None, self.until
        starts = self._first_starts(self.after, windows, origin)
        return moment(min(starts, default=microseconds(self.after))), self.until

    def has_ends(self, windows: Sequence[tuple[int, int]], origin: int) -> bool:
        """Whether a window of these (within, slide) microseconds ends in the span, with an event or without.

        >>> day = Span((Partition("d", EPOCH + timedelta(days=1), EPOCH + timedelta(days=2)),))
        >>> hour = 3_600_000_000
        >>> day.has_ends([(50 * hour, 50 * hour)], 0), day.has_ends([(48 * hour, 48 * hour)], 0)
        (False, True)
        """
        if self.after is None or self.until is None:
            return True
        until, starts = microseconds(self.until), self._first_starts(self.after, windows, origin)
        return any(start + within <= until for start, (within, _) in zip(starts, windows, strict=True))

    @staticmethod
    def _first_starts(after: datetime, windows: Sequence[tuple[int, int]], origin: int) -> list[int]:
        """When the first of these windows begin that end later; the first has the smallest start of all of them."""
        ended = microseconds(after)
        return [origin + ((ended - within - origin) // slide + 1) * slide for within, slide in windows]


def microseconds(when: datetime) -> int:
    """Microseconds from the epoch."""
    return (when - EPOCH) // _MICROSECOND


def moment(ticks: int) -> datetime:
    """The time so many microseconds from the epoch."""
    return EPOCH + ticks * _MICROSECOND
