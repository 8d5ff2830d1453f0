"""The configuration of a run, as the Dagster launchpad and code give it; holding it is holding the warehouse."""

import contextlib
import logging
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import dagster as dg
from pydantic import Field, PrivateAttr

from hamlet_core.errors import HamletError
from pipelines.ahead import expect_reading
from pipelines.example import example_events, example_workload
from pipelines.expectations import Expectations
from pipelines.folder import WorkloadFolder
from pipelines.reading import ColumnOptions
from pipelines.settings import (
    ExecuteOptions,
    JobSettings,
    NamedWorkload,
    SampleOptions,
    SettingsError,
    Source,
    read_origin,
)
from pipelines.spans import Span
from pipelines.steps.ingestion.ingest import Needs
from pipelines.steps.planning import needs_of
from resources.failures import room_kept
from resources.provenance import Provenance
from resources.storage import Location, place_of
from resources.warehouse import Warehouse
from resources.warehouse_lock import exclusive

_EXECUTE = ExecuteOptions()
_SAMPLE = SampleOptions()
_WAREHOUSE = os.environ.get("HAMLET_WAREHOUSE") or "warehouse"
"""Set by `hamlet ui`, so that runs launched from its pages go into the warehouse that it shows."""


class PipelineResource(dg.ConfigurableResource, ABC):
    """Where the tables are, and what of which workload is to be done; holding it is holding the warehouse."""

    _run_id: str = PrivateAttr(default="")

    @abstractmethod
    def location(self) -> Path | str:
        """The folder of the tables."""

    @abstractmethod
    def settings(self, workload: str | None = None, span: Span = Span()) -> JobSettings:
        """What is to be done over a span; SettingsError for what cannot be."""

    @abstractmethod
    def source(self) -> Source:
        """Where events come from."""

    @abstractmethod
    def workloads(self) -> tuple[NamedWorkload, ...]:
        """All workloads without a mistake that read the table of events."""

    def needs(self) -> Needs:
        """What their queries want of the table."""
        return needs_of(self.workloads())

    def expectations(self) -> Expectations:
        """What the user expects of the events; nothing, as long as nothing is said."""
        return Expectations()

    @abstractmethod
    def waits(self) -> float:
        """For how many seconds a run waits for one that has the warehouse."""

    @contextlib.contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["PipelineResource"]:
        """A run has its warehouse alone from its first step to its last; WarehouseBusy if another one has it."""
        place = self.location()
        self._run_id = context.run.run_id if context.run else ""
        alone = exclusive(place, wait_seconds=self.waits(), run_id=self._run_id, tell=partial(_tell, context))
        with alone, room_kept(Location.of(place).local):
            with contextlib.suppress(HamletError):  # who reads them says what is wrong
                expect_reading(self.source().path, place)
            yield self

    def tables(self, workload: NamedWorkload | None = None) -> Warehouse:
        """The warehouse; its commits carry the run, and the workload that they are about."""
        about = (workload.name, workload.hash) if workload else ()
        return Warehouse(self.location(), Provenance(self._run_id, *about))


def _tell(context: dg.InitResourceContext, line: str) -> None:
    """A line of progress, in the terminal and in the log of the run."""
    logging.getLogger("hamlet.progress").info(line)
    if context.log:
        context.log.info(line)


class FolderConfiguration(PipelineResource):
    """The workloads of a folder, which a run reads once, as it begins: what is edited counts from the next run on."""

    folder: str = Field(description="Folder with pipeline.yaml and the workloads")
    _found: WorkloadFolder | None = PrivateAttr(default=None)

    @contextlib.contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["PipelineResource"]:
        """As every pipeline, with the folder as it is now."""
        self._found = WorkloadFolder.read(Path(self.folder))
        with super().yield_for_execution(context) as pipeline:
            yield pipeline

    def location(self) -> Path | str:
        """The folder of the tables."""
        return self._read().warehouse

    def settings(self, workload: str | None = None, span: Span = Span()) -> JobSettings:
        """One workload of the folder."""
        return self._read().settings(workload or "", span)

    def source(self) -> Source:
        """The files of events that all workloads of the folder read."""
        return self._read().source

    def workloads(self) -> tuple[NamedWorkload, ...]:
        """Those of the folder."""
        return self._read().sound

    def expectations(self) -> Expectations:
        """As pipeline.yaml says."""
        return self._read().stream.expectations.value

    def waits(self) -> float:
        """As pipeline.yaml says."""
        return self._read().stream.wait_seconds

    def _read(self) -> WorkloadFolder:
        return self._found or WorkloadFolder.read(Path(self.folder))


class PipelineConfiguration(PipelineResource):
    """One workload over the events of some files, into one warehouse; all defaults together run the example."""

    workload_name: str = Field(
        default="", description="Name of the workload in the tables; default: its file's"
    )
    workload_file: str = Field(
        default="", description="File with the queries; default: the ride-sharing example"
    )
    workload_text: str = Field(default="", description="The queries themselves, instead of a file")
    events: str = Field(
        default="", description="File or folder of events; default: generated for the example"
    )
    time: str = Field(default="", description="Column with the time; default: time")
    type: str = Field(default="", description="Column with the event type; default: type")
    type_value: str = Field(default="", description="The one event type of files without a type column")
    time_unit: str = Field(default="s", description="Unit of an integer time column: us, ms, s, min, h or d")
    columns: dict[str, str] = Field(
        default={},
        description="What columns hold: integer, double, string, boolean, date or timestamp; default: as their values look",
    )
    time_format: str = Field(default="", description="How times are written; default: ISO 8601")
    zone: str = Field(default="UTC", description="Zone of times that name none")
    type_trim: bool = Field(default=False, description="Blanks around event types do not count")
    type_case: str = Field(default="", description="lower or upper: what event types are made")
    unique: list[str] = Field(default=[], description="A key: of events that agree in it the first is kept")
    strict: bool = Field(
        default=False, description="Bad values reject rows also in columns that no query reads"
    )
    warehouse: str = Field(default=_WAREHOUSE, description="Folder of the Delta tables: a path or a URI")
    engine: str = Field(
        default=_EXECUTE.engine,
        description="Engine that computes: hamlet, greta, two_step, shared_two_step, aseq, sharon or gloria",
    )
    optimizer: str = Field(
        default=_EXECUTE.optimizer,
        description="What may be shared: auto, hamlet, gloria, sharon, greedy or none",
    )
    policy: str = Field(default=_EXECUTE.policy, description="Sharing policy: dynamic, always or never")
    cost_model: str = Field(default=_EXECUTE.cost_model, description="Cost model: measured or paper")
    choice: str = Field(default=_EXECUTE.choice, description="Choice of who shares: guarded or paper")
    arithmetic: str = Field(default=_EXECUTE.arithmetic, description="Arithmetic: scaled, exact or modular")
    origin: str = Field(default="", description="Where window 0 starts: a number of time units, or ISO 8601")
    flush: bool = Field(default=True, description="Publish windows whose last day is not complete, too")
    sample_size: int = Field(default=_SAMPLE.size, description="Results that the GRETA comparison recomputes")
    sample_everything_up_to: int = Field(
        default=_SAMPLE.everything_up_to, description="Up to so many events it recomputes everything"
    )
    sample_largest: int = Field(
        default=_SAMPLE.largest, description="It leaves a result out that more events take part in"
    )
    wait_seconds: float = Field(default=0.0, description="How long to wait for a run that has the warehouse")

    @classmethod
    def of(cls, settings: JobSettings, wait_seconds: float = 0.0) -> "PipelineConfiguration":
        """The configuration that stands for these settings."""
        options, execute, sample = settings.source.options, settings.execute, settings.sample
        return cls(
            workload_name=settings.workload.name,
            workload_text=settings.workload.text,
            events=settings.source.path,
            time=options.time or "",
            type=options.type or "",
            type_value=options.type_value or "",
            time_unit=options.time_unit,
            columns=dict(options.types),
            time_format=options.time_format or "",
            zone=options.zone,
            type_trim=options.type_trim,
            type_case=options.type_case or "",
            unique=list(options.unique),
            strict=options.strict,
            warehouse=str(settings.warehouse),
            engine=execute.engine,
            optimizer=execute.optimizer,
            policy=execute.policy,
            cost_model=execute.cost_model,
            choice=execute.choice,
            arithmetic=execute.arithmetic,
            origin=str(execute.origin) if execute.origin else "",
            flush=execute.flush,
            sample_size=sample.size,
            sample_everything_up_to=sample.everything_up_to,
            sample_largest=sample.largest,
            wait_seconds=wait_seconds,
        )

    def location(self) -> Path | str:
        """The folder of the tables."""
        return place_of(self.warehouse)

    def source(self) -> Source:
        """The files of events."""
        options = ColumnOptions(
            self.time or None,
            self.type or None,
            self.type_value or None,
            self.time_unit,
            types=tuple(self.columns.items()),
            time_format=self.time_format or None,
            zone=self.zone,
            type_trim=self.type_trim,
            type_case=self.type_case or None,
            unique=tuple(self.unique),
            strict=self.strict,
        )
        path = self.events or str(example_events(self.location()))
        return Source(path, options)

    def workloads(self) -> tuple[NamedWorkload, ...]:
        """The one that is configured."""
        return (self._workload(),)

    def needs(self) -> Needs:
        """What the queries want of the table; the workload is alone, so that columns it cannot read stop the run."""
        settings = self.settings()
        reader = settings.workload.parsed, settings.event_schema
        return replace(super().needs(), readers=(reader,))

    def waits(self) -> float:
        """As configured."""
        return self.wait_seconds

    def settings(self, workload: str | None = None, span: Span = Span()) -> JobSettings:  # noqa: ARG002 - there is one
        """The settings as values; SettingsError for what cannot be."""
        return JobSettings(
            workload=self._workload(),
            source=self.source(),
            warehouse=self.location(),
            execute=ExecuteOptions(
                engine=self.engine,
                optimizer=self.optimizer,
                policy=self.policy,
                cost_model=self.cost_model,
                choice=self.choice,
                arithmetic=self.arithmetic,
                origin=read_origin(self.origin),
                flush=self.flush,
            ),
            sample=SampleOptions(self.sample_size, self.sample_everything_up_to, self.sample_largest),
            span=span,
        )

    def _workload(self) -> NamedWorkload:
        if self.workload_text:
            return NamedWorkload(self.workload_name or "workload", self.workload_text)
        if not self.workload_file:
            return example_workload()
        path = Path(self.workload_file)
        if not path.is_file():
            raise SettingsError(
                f"no such workload file: {path}", code="E531", hint="set workload_file or workload_text"
            )
        return NamedWorkload(self.workload_name or path.stem, path.read_text(encoding="utf-8"))
