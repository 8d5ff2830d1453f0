"""A folder of workloads: one stream of events (`pipeline.yaml`), and a file of queries with its settings each.

rides/
pipeline.yaml          where events come from and where tables go
jams.hamlet            queries
jams.yaml              how they are run: partitions, schedule, arithmetic, ...; may be absent
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from hamlet_core.errors import HamletError
from hamlet_core.execution import check_engine
from pipelines.expectations import ColumnExpectation, ColumnType, Expectations
from pipelines.reading import ColumnOptions
from pipelines.settings import (
    ExecuteOptions,
    JobSettings,
    NamedWorkload,
    SampleOptions,
    SettingsError,
    Source,
    read_length,
    read_origin,
)
from pipelines.spans import Span
from resources.storage import place_of

STREAM_FILE = "pipeline.yaml"
WORKLOAD_SUFFIX = ".hamlet"
_EXECUTE = ExecuteOptions()
_SAMPLE = SampleOptions()


class _Settings(BaseModel):
    """Settings as YAML gives them: unknown names are mistakes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ColumnSettings(_Settings):
    """What is expected of one column of the events."""

    type: ColumnType | None = Field(default=None, description="integer, double, decimal, number, string, ...")
    low: int | float | datetime | date | None = Field(default=None, description="Smallest value")
    high: int | float | datetime | date | None = Field(default=None, description="Largest value")
    most_null: float = Field(default=1.0, description="Largest share of NULL")


class ExpectationSettings(_Settings):
    """What is expected of the events; a broken expectation stops a run."""

    columns: dict[str, ColumnSettings] = Field(
        default={}, description="Per column: type, low, high, most_null"
    )
    unique: tuple[tuple[str, ...], ...] = Field(
        default=(), description="Keys: lists of columns that no two events share"
    )
    most_duplicates: float = Field(
        default=1.0, description="Largest share of events that are copies of another"
    )
    ahead_minutes: float | None = Field(default=None, description="How far after its ingest an event may lie")
    most_rejected: float = Field(default=0.5, description="Largest share of rows in quarantine")
    equal_files: bool = Field(default=False, description="Two files may bring the same events")

    @property
    def value(self) -> Expectations:
        """The expectations that these settings mean. Raises ExpectationError for nonsense."""
        ahead = self.ahead_minutes
        return Expectations(
            columns=tuple(
                ColumnExpectation(name, one.type, one.low, one.high, one.most_null)
                for name, one in self.columns.items()
            ),
            unique=self.unique,
            most_duplicates=self.most_duplicates,
            ahead=None if ahead is None else timedelta(minutes=ahead),
            most_rejected=self.most_rejected,
            equal_files=self.equal_files,
        )


class StreamSettings(_Settings):
    """The stream of a folder: its files of events, their columns, and the warehouse; paths are seen from the folder."""

    events: str = Field(
        description="File, folder or pattern (`inbox/*.csv`) of events, a path as seen from here or a URI, also of a Delta table or a "
        "topic (`kafka://HOST:PORT/TOPIC`); what is new is picked up"
    )
    warehouse: str = Field(default="warehouse", description="Folder of the Delta tables: a path or a URI")
    time: str | None = Field(default=None, description="Column with the time; default: time")
    type: str | None = Field(default=None, description="Column with the event type; default: type")
    type_value: str | None = Field(
        default=None, description="The one event type of files without a type column"
    )
    time_unit: str = Field(default="s", description="Unit of an integer time column: us, ms, s, min, h or d")
    columns: dict[str, str] = Field(
        default={},
        description="What columns hold, whatever their values look like: integer, double, string, boolean, date, timestamp",
    )
    time_format: str | None = Field(default=None, description="How times are written, such as %d/%m/%Y %H:%M")
    zone: str = Field(default="UTC", description="Zone of times that name none, such as Europe/Berlin")
    type_trim: bool = Field(default=False, description="Blanks around event types do not count")
    type_case: Literal["lower", "upper"] | None = Field(default=None, description="Case of event types")
    unique: tuple[str, ...] = Field(
        default=(), description="A key: of events that agree in these columns the first is kept"
    )
    strict: bool = Field(
        default=False,
        description="A bad value rejects its row also in columns that no query reads, where else it is left empty",
    )
    wait_seconds: float = Field(
        default=3600.0, ge=0, description="How long a run waits for another one of the warehouse"
    )
    expectations: ExpectationSettings = Field(
        default=ExpectationSettings(), description="What must hold of the events, besides what always must"
    )

    @property
    def options(self) -> ColumnOptions:
        """How the files are read. Raises StreamError for what cannot be."""
        return ColumnOptions(
            self.time,
            self.type,
            self.type_value,
            self.time_unit,
            types=tuple(self.columns.items()),
            time_format=self.time_format,
            zone=self.zone,
            type_trim=self.type_trim,
            type_case=self.type_case,
            unique=self.unique,
            strict=self.strict,
        )


class SampleSettings(_Settings):
    """How much the GRETA comparison recomputes."""

    size: int = Field(default=_SAMPLE.size, ge=1, description="Results to recompute")
    everything_up_to: int = Field(
        default=_SAMPLE.everything_up_to, ge=0, description="Up to so many events it recomputes all"
    )
    largest: int = Field(default=_SAMPLE.largest, ge=1, description="Results of more events are left out")


class ContinuousSettings(_Settings):
    """How a workload is run as a stream: each window is published once it is final."""

    lateness: str = Field(
        default="0 s",
        description="How late events may come: a window is published when an event so much later than its end was seen",
    )
    max_files: int | None = Field(
        default=None, ge=1, description="So many new files in a micro-batch, the oldest first; default: all"
    )
    quiet_after: str = Field(
        default="1 h", description="The check `moves` is red when no file has come in for so long"
    )

    @field_validator("lateness", "quiet_after")
    @classmethod
    def _length(cls, text: str) -> str:
        read_length(text)
        return text


class WorkloadSettings(_Settings):
    """How one workload is run."""

    partitions: Literal["none", "daily", "hourly"] = Field(
        default="none",
        description="Results are computed per day or hour in which windows end, or all at once",
    )
    start: datetime | None = Field(default=None, description="Where the first partition begins; UTC")
    end: datetime | None = Field(
        default=None, description="Where the last partition ends; UTC; default: never"
    )
    schedule: str | None = Field(
        default=None,
        description="Cron expression, UTC: ingest, then compute the last complete partition; of a stream, go on with it",
    )
    stream: ContinuousSettings | None = Field(
        default=None,
        description="Publish each window once it is final; lateness, max_files, quiet_after. Needs daily partitions, by which "
        "late events are repaired",
    )
    arithmetic: str = Field(default=_EXECUTE.arithmetic, description="scaled, exact or modular")
    engine: str = Field(
        default=_EXECUTE.engine,
        description="hamlet, greta, two_step, shared_two_step, aseq, sharon or gloria",
    )
    optimizer: str = Field(
        default=_EXECUTE.optimizer, description="auto, hamlet, gloria, sharon, greedy or none"
    )
    policy: str = Field(default=_EXECUTE.policy, description="dynamic, always or never")
    cost_model: str = Field(default=_EXECUTE.cost_model, description="measured or paper")
    choice: str = Field(default=_EXECUTE.choice, description="guarded or paper")
    origin: int | str = Field(
        default=0, description="Where window 0 starts: a number of time units, or ISO 8601"
    )
    sample: SampleSettings = SampleSettings()
    retries: int = Field(default=1, ge=0, description="How often a step that failed is tried again")
    fresh_within_hours: float | None = Field(
        default=None, gt=0, description="Published results older than this are shown as overdue"
    )
    owners: tuple[str, ...] = Field(
        default=("team:hamlet",), description="Who is asked: e-mails or team:NAME"
    )

    @field_validator("start", "end", mode="before")
    @classmethod
    def _moment(cls, value: object) -> object:
        """YAML reads a day as a date and a bare time as one without zone: both are UTC."""
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, date) and not isinstance(value, datetime):
            value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - UTC follows
        if isinstance(value, datetime) and value.tzinfo is None:
            value = value.replace(tzinfo=UTC)
        return value


@dataclass(frozen=True, slots=True)
class FolderWorkload:
    """One workload of a folder; `problem` says why it cannot be run, where it cannot."""

    name: str
    file: Path
    settings: WorkloadSettings
    text: str = ""
    problem: HamletError | None = None

    @property
    def workload(self) -> NamedWorkload:
        """The queries as they stood in the file."""
        return NamedWorkload(self.name, self.text)


@dataclass(frozen=True, slots=True)
class WorkloadFolder:
    """All that a folder says."""

    root: Path
    stream: StreamSettings
    workloads: tuple[FolderWorkload, ...]

    @classmethod
    def read(cls, root: Path) -> WorkloadFolder:
        """Read a folder. Raises SettingsError for the stream; a workload with a mistake is one with a `problem`."""
        if not root.is_dir():
            raise SettingsError(f"no such folder of workloads: {root}", code="E533", hint="name a folder")
        place = root / STREAM_FILE
        if not place.is_file():
            hint = f"write {STREAM_FILE} with at least `events: FILE or FOLDER` beside the workloads"
            raise SettingsError(f"the folder {root} has no {STREAM_FILE}", code="E533", hint=hint)
        stream = StreamSettings(**_checked(StreamSettings, place))
        stream.expectations.value, stream.options  # noqa: B018 - looked at for nonsense
        files = sorted(root.glob(f"*{WORKLOAD_SUFFIX}"))
        return cls(root, stream, tuple(_told_apart(_workload(file) for file in files)))

    @property
    def sound(self) -> tuple[NamedWorkload, ...]:
        """The workloads without a mistake."""
        return tuple(one.workload for one in self.workloads if one.problem is None)

    @property
    def warehouse(self) -> Path | str:
        """Where the tables are, a path or a URI."""
        return place_of(self.stream.warehouse, self.root)

    @property
    def source(self) -> Source:
        """Where events come from."""
        return Source(str(place_of(self.stream.events, self.root)), self.stream.options)

    def named(self, name: str) -> FolderWorkload:
        """One workload. Raises SettingsError if there is none of that name, and the problem it has."""
        for one in self.workloads:
            if one.name == name:
                if one.problem is not None:
                    raise one.problem
                return one
        names = ", ".join(one.name for one in self.workloads) or "none"
        raise SettingsError(
            f"the folder {self.root} has no workload {name!r}", code="E533", hint=f"its workloads: {names}"
        )

    def settings(self, name: str, span: Span = Span()) -> JobSettings:
        """One run of a workload over the windows of a span."""
        one = self.named(name)
        given = one.settings
        return JobSettings(
            workload=one.workload,
            source=self.source,
            warehouse=self.warehouse,
            execute=ExecuteOptions(
                given.engine,
                given.policy,
                given.cost_model,
                given.choice,
                given.arithmetic,
                read_origin(str(given.origin)),
                optimizer=given.optimizer,
            ),
            sample=SampleOptions(given.sample.size, given.sample.everything_up_to, given.sample.largest),
            span=span,
        )


def word_of(name: str) -> str:
    """The name of a workload in the letters that Dagster takes for jobs and groups.

    >>> word_of("rides-2.0")
    'rides_2_0'
    """
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def _told_apart(workloads: Iterable[FolderWorkload]) -> Iterator[FolderWorkload]:
    """The workloads; of two that differ in punctuation only, the second is refused."""
    taken: dict[str, str] = {}
    for one in workloads:
        other = taken.setdefault(word_of(one.name), one.name)
        if other == one.name:
            yield one
            continue
        message = f"the workloads {other!r} and {one.name!r} differ only in punctuation"
        problem = SettingsError(message, code="E533", hint="rename one of the files")
        yield replace(one, problem=problem)


def _workload(file: Path) -> FolderWorkload:
    """A workload of a folder; a mistake in it must not stop the others."""
    beside = file.with_suffix(".yaml")
    settings, text = WorkloadSettings(), ""
    try:
        if beside.is_file():
            settings = WorkloadSettings(**_checked(WorkloadSettings, beside))
        if settings.partitions != "none" and settings.start is None:
            raise SettingsError(
                f"{beside.name}: {settings.partitions} partitions need `start`, their first day",
                code="E533",
                hint="write it as start: 2026-01-05",
            )
        if settings.stream and settings.partitions != "daily":
            raise SettingsError(
                f"{beside.name}: a `stream` needs daily partitions, by which late events are repaired",
                code="E533",
                hint="write partitions: daily and start: 2026-01-05",
            )
        if settings.start and settings.end and settings.end <= settings.start:
            raise SettingsError(f"{beside.name}: `end` must be later than `start`", code="E533")
        read_origin(str(settings.origin))
        _accepted_by_dagster(settings, beside.name)
        text = _text(file)
        check_engine(NamedWorkload(file.stem, text).text, settings.engine)  # reads it, too
    except HamletError as problem:
        return FolderWorkload(file.stem, file, settings, text, problem)
    return FolderWorkload(file.stem, file, settings, text)


def _checked(model: type[_Settings], place: Path) -> Mapping[str, Any]:
    """The settings of a YAML file, checked against a model; SettingsError says which setting is wrong, and how."""
    found = yaml_of(place)
    if found is None:
        found = {}
    if not isinstance(found, dict):
        raise SettingsError(
            f"{place} must be settings `name: value`, not {type(found).__name__}", code="E533"
        )
    try:
        model(**found)
    except ValidationError as error:
        lines = [
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
            + ("" if one["type"] in ("missing", "extra_forbidden") else f", not {one['input']!r}")
            for one in error.errors()
        ]
        names = ", ".join(model.model_fields)
        raise SettingsError(
            f"{place}: {'; '.join(lines)}", code="E533", hint=f"the settings are {names}"
        ) from None
    return found


def yaml_of(place: Path) -> Any:
    """What a YAML file says; SettingsError with the line where it is none."""
    try:
        return yaml.safe_load(_text(place))
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f":{where.line + 1}" if where is not None else ""
        problem = getattr(error, "problem", None) or error
        raise SettingsError(f"{place}{line} is no YAML: {problem}", code="E533") from None


def _accepted_by_dagster(settings: WorkloadSettings, file: str) -> None:
    """SettingsError for what Dagster would refuse: one such setting would stop all of its definitions."""
    if settings.schedule is None and settings.owners == WorkloadSettings().owners:
        return
    import dagster as dg

    try:
        if settings.schedule is not None:
            dg.ScheduleDefinition(job_name="any", cron_schedule=settings.schedule)
    except dg.DagsterInvalidDefinitionError:
        message = f"{file}: `schedule` is no cron expression: {settings.schedule!r}"
        hint = 'write five fields, such as "15 2 * * *" for 02:15 every day'
        raise SettingsError(message, code="E533", hint=hint) from None
    try:
        dg.AssetSpec("any", owners=list(settings.owners))
    except dg.DagsterInvalidDefinitionError:
        message = f"{file}: `owners` are e-mails or team:NAME, not {', '.join(settings.owners)}"
        raise SettingsError(message, code="E533") from None


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}", code="E531") from None
