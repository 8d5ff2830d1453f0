"""What a user says of one run of the main job: workload, files, warehouse, options; plain values that pickle."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Literal

from hamlet_core import EventSchema, QueryPlan, Workload, parse, plan, write_workload
from hamlet_core.engines.registry import DEFAULT_ENGINE
from hamlet_core.errors import HamletError
from hamlet_core.language.literals import length
from hamlet_core.table.encode import TIME_UNITS
from pipelines.reading import ColumnOptions
from pipelines.spans import Span, microseconds

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class SettingsError(HamletError, ValueError):
    """An option of the pipeline that cannot be."""


LONGEST = timedelta(days=365)
"""That a stream waits for late events, or between two looks."""


def read_length(text: str) -> timedelta:
    """A length of time that a stream is given, such as `5 min`. ValueError for what is none, or is longer than `LONGEST`."""
    found = length(text)
    if found is None or not 0 <= found <= LONGEST / timedelta(microseconds=1):
        raise ValueError(f"{text!r} is no length of time from 0 s to {LONGEST.days} days, such as '5 min'")
    return timedelta(microseconds=found)


@dataclass(frozen=True, slots=True)
class NamedWorkload:
    """The text of a workload, under the name that its rows carry in the tables."""

    name: str
    text: str

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise SettingsError(
                f"{self.name!r} is no name for a workload",
                code="E530",
                hint="use up to 100 letters, digits, '_', '-' and '.'",
            )

    @property
    def parsed(self) -> Workload:
        """The syntax tree; QuerySyntaxError and QueryMeaningError as `hamlet_core.parse`."""
        return parse(self.text)

    @property
    def plans(self) -> tuple[QueryPlan, ...]:
        """One plan a query."""
        return plan(self.text)

    @property
    def read(self) -> frozenset[str]:
        """The columns that its queries read."""
        return frozenset(name for query in self.plans for name in query.columns)

    @property
    def numeric(self) -> frozenset[str]:
        """Of these, those that must be numbers."""
        return frozenset(name for query in self.plans for name in query.numeric_columns)

    @property
    def hash(self) -> str:
        """SHA-256 of the canonical text: layout and comments do not matter."""
        return _hash(self.text)


@lru_cache(maxsize=32)
def _hash(text: str) -> str:
    return hashlib.sha256(write_workload(parse(text)).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Source:
    """Files of events: a file or folder, and which columns hold time and type."""

    path: str
    options: ColumnOptions = ColumnOptions()


@dataclass(frozen=True, slots=True)
class ExecuteOptions:
    """How the aggregates are computed; the options of `hamlet_core.run`, and which windows are final.

    `flush=False` keeps only windows that end no later than the UTC day of the latest event begins.
    """

    engine: str = DEFAULT_ENGINE
    policy: str = "dynamic"
    cost_model: str = "measured"
    choice: str = "guarded"
    arithmetic: str = "scaled"
    origin: int | datetime | date = 0
    flush: bool = True
    path: Literal["files", "shuffle"] = "files"
    """How events come to the tasks: each reads its files, or Spark gathers them by key; the rows are the same."""
    optimizer: str = "auto"


def read_origin(text: str) -> int | datetime:
    """An origin as people write it: a number of units, or a moment; nothing is the epoch. SettingsError otherwise."""
    try:
        return int(text or 0)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise SettingsError(
            f"origin {text!r} is no number and no time", code="E532", hint="write it as 2026-01-01T00:00:00Z"
        ) from None


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """How much the GRETA comparison recomputes: everything up to `everything_up_to` events, else a sample.

    `size` is the number of (query, group, window); one with more than `largest` events is left out and counted.
    """

    size: int = 60
    everything_up_to: int = 5_000
    largest: int = 3_000


@dataclass(frozen=True, slots=True)
class JobSettings:
    """One run of the main job; `span` says which windows it computes."""

    workload: NamedWorkload
    source: Source
    warehouse: Path | str
    execute: ExecuteOptions = ExecuteOptions()
    sample: SampleOptions = SampleOptions()
    span: Span = Span()

    @property
    def event_schema(self) -> EventSchema:
        """Where the engine finds time and type."""
        options = self.source.options
        type_column = options.type_column
        return EventSchema(
            time=options.time_column,
            type=type_column,
            type_value=options.type_value if type_column is None else None,
            time_unit=options.time_unit,
            origin=self.execute.origin,
        )

    @property
    def origin(self) -> int:
        """Where window 0 starts, in microseconds from the epoch; an integer origin counts time units."""
        origin = self.execute.origin
        if isinstance(origin, int):
            return origin * TIME_UNITS[self.source.options.time_unit]
        when = origin if isinstance(origin, datetime) else datetime.combine(origin, datetime.min.time())
        return microseconds(when if when.tzinfo else when.replace(tzinfo=UTC))
