"""A stream into a warehouse, micro-batch by micro-batch: the steps of the batch job, over the windows that became final.

Each reads the new files, checks the events, computes the windows that the watermark has passed since, checks their rows and
publishes them. Whatever dies in between is done again by the next one: files are in or not by the ledger, windows given out
or not by `stream_progress`, which is written last, and rows are replaced, never added to.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from pyspark.sql import SparkSession

from hamlet_core.errors import HamletError
from pipelines.checks.events import check_new_events
from pipelines.checks.greta import Comparison, compare_with_greta
from pipelines.checks.results import check_results
from pipelines.checks.rules import Outcome
from pipelines.expectations import Expectations
from pipelines.reading import awaited, discover_first
from pipelines.settings import JobSettings
from pipelines.showing.levels import GOING_ON
from pipelines.spans import Span
from pipelines.steps.compaction import tidy
from pipelines.steps.execution.computed import latest_ingest
from pipelines.steps.execution.execute import ExecuteReport, recompute
from pipelines.steps.ingestion.ingest import UNBOUNDED, IngestReport, Needs, ingest
from pipelines.steps.ingestion.ledger import Ledger
from pipelines.steps.late import record_late
from pipelines.steps.metrics import Metric, execute_metrics, ingest_metrics, write_metrics
from pipelines.steps.packing import each_in_tasks
from pipelines.steps.planning import needs_of, plan_rows, write_plan
from pipelines.steps.publication.publish import publish
from pipelines.steps.publication.wide import publish_wide
from pipelines.steps.watermark import (
    Position,
    forget_others,
    held,
    last_event,
    next_span,
    open_since,
    positions,
    record,
    same_queries,
    with_late,
)
from resources import tables
from resources.provenance import Provenance
from resources.warehouse import Warehouse

LOG = logging.getLogger("hamlet.progress")

BEHIND = "seconds behind the clock"
"""A metric: `behind` the watermark."""

HELD = "events in open windows"
"""A metric: the state of a stream."""

SAMPLES = 12
"""(Query, group, window) that the reference recomputes of what one micro-batch gives out, where that is much: a window waits for it,
and the next one comes soon.
"""

_STOPPED = "nothing of this micro-batch is published, and the stream goes on with it when it is started again"


class RedCheck(HamletError, RuntimeError):
    """A check of a micro-batch is red: nothing of it is published."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """What one micro-batch did: what it read (None: nothing was new), and the windows that it gave out (None: no window
    became final), as result rows by query. `late` events came when the watermark had passed their time.
    """

    run_id: str
    ingested: IngestReport | None
    watermark: datetime | None
    given: Span | None
    rows: dict[str, int]
    late: int
    seconds: float
    held: int = 0
    """Events in windows that are not final yet."""
    began: tuple[str, ...] = ()
    """Queries that had no window before: new, or no longer as they were."""

    @property
    def left(self) -> int:
        """Files for a next micro-batch at once; none where this one could read nothing, and waits for files that change."""
        return self.ingested.left if self.ingested is not None and self.ingested.files else 0

    @property
    def idle(self) -> bool:
        """Whether there was nothing to do."""
        return self.given is None and (self.ingested is None or not self.ingested.files)

    @property
    def line(self) -> str:
        """What it did, in a line."""
        parts = [f"{self.seconds:.1f} s"]
        if self.idle:
            return f"micro-batch: {parts[0]}; nothing new"
        if (read := self.ingested) is not None:
            parts.append(f"{len(read.files)} files, {read.rows:,} events, {read.rejected:,} rows rejected")
            parts += [f"{file.name}: {file.reason}" for file in read.waiting]
            parts += [f"{read.left:,} files are left to the next"] if read.left else []
        if self.began:
            parts.append(f"{', '.join(self.began)} begin")
        if self.late:
            parts.append(
                f"{self.late:,} events came too late (events_late): `hamlet pipeline` computes their windows anew"
            )
        rows = sum(self.rows.values())
        parts.append(f"{rows:,} rows; {self.up_to}" if self.given is not None else "no window is final yet")
        return f"micro-batch: {'; '.join(parts)}"

    @property
    def up_to(self) -> str:
        """How far the stream is."""
        if self.watermark is None:
            return "No event is there yet; nothing is"
        return f"published: windows up to {self.watermark.isoformat()}"


def advance(
    spark: SparkSession,
    settings: JobSettings,
    lateness: timedelta,
    expectations: Expectations = Expectations(),
    at_most: int = UNBOUNDED,
    needs: Needs | None = None,
) -> MicroBatch:
    """One micro-batch, of so many new files, for all who `need` the events (None: the workload alone); the caller has the
    warehouse alone.

    Raises as `ingest` and `recompute`, and RedCheck E552.
    """
    started, run_id = time.monotonic(), str(uuid.uuid4())
    workload = settings.workload
    warehouse = Warehouse(settings.warehouse, Provenance(run_id, workload.name, workload.hash))
    known = positions(warehouse, workload.name)
    before, after = latest_ingest(warehouse), max((one.watermark for one in known.values()), default=None)
    needs = needs or replace(needs_of([workload]), readers=((workload.parsed, settings.event_schema),))
    ingested = (
        _ingest(spark, warehouse, settings, needs, at_most)
        if _anything_new(warehouse, settings, known)
        else None
    )
    latest = last_event(warehouse) if warehouse.exists("events") else None
    if latest is None:
        return MicroBatch(run_id, ingested, None, None, {}, 0, time.monotonic() - started)
    watermark = latest - lateness if after is None else max(after, latest - lateness)
    span = next_span(warehouse.files("events"), after, watermark)
    late = 0
    if known and latest_ingest(warehouse) != min(one.events_until for one in known.values()):
        late = record_late(spark, warehouse, settings, known, run_id, before)
    since = open_since(settings, watermark)
    batch = MicroBatch(run_id, ingested, watermark, span, {}, late, 0.0, held(warehouse, since))
    metrics = ingest_metrics(ingested) if ingested is not None else ()
    if span is not None:
        part = replace(settings, span=span)
        began, report = _give(spark, warehouse, part, known, expectations, run_id)
        batch = replace(batch, rows=report.rows, began=began)
        metrics += execute_metrics(report)
    batch = replace(batch, seconds=time.monotonic() - started)
    if batch.idle:
        return batch
    write_metrics(spark, warehouse, workload.name, run_id, (*metrics, *_metrics(batch, watermark)))
    tidy(warehouse, since)
    return batch


def behind(watermark: datetime) -> float:
    """Seconds from a watermark to now."""
    return round(time.time() - watermark.timestamp(), 3)


def _metrics(batch: MicroBatch, watermark: datetime) -> tuple[Metric, ...]:
    events = batch.ingested.rows if batch.ingested is not None else 0
    return (
        Metric("stream", "seconds", round(batch.seconds, 3)),
        Metric("stream", "late events", batch.late),
        Metric("stream", HELD, batch.held),
        Metric("stream", "watermark, seconds from 1970", watermark.timestamp()),
        Metric("stream", "events per second", round(events / batch.seconds, 3)),
        Metric("stream", BEHIND, behind(watermark)),
    )


def _anything_new(warehouse: Warehouse, settings: JobSettings, known: Mapping[str, Position]) -> bool:
    """Whether there is a file to read, or a query for which files may have to be read again."""
    if awaited(settings.source.path):
        return False
    ledger = Ledger.of(warehouse)
    files, _ = discover_first(settings.source.path, ledger, 1)
    return bool(ledger.unread(files)) or bool(known and not same_queries(settings, known))


def _ingest(
    spark: SparkSession, warehouse: Warehouse, settings: JobSettings, needs: Needs, at_most: int
) -> IngestReport:
    _now("ingest")
    return ingest(spark, warehouse, settings.source, needs, at_most)


def _now(what: str) -> None:
    """Who shows that something is going on shows what."""
    LOG.log(GOING_ON, what)


def _give(
    spark: SparkSession,
    warehouse: Warehouse,
    settings: JobSettings,
    known: Mapping[str, Position],
    expectations: Expectations,
    run_id: str,
) -> tuple[tuple[str, ...], ExecuteReport]:
    """Compute, check and publish the windows of the span, and say so last of all; also which queries have begun."""
    workload, span = settings.workload, settings.span
    kept = with_late(warehouse, settings, known)
    began = tuple(plan.name for plan in workload.plans if plan.name not in kept)
    since = min((one.events_until for one in known.values()), default=None)
    _now("check events")
    with ThreadPoolExecutor(1) as beside:
        checked = beside.submit(check_new_events, spark, warehouse, expectations, since)
        if not warehouse.exists(tables.PLAN.name) or not warehouse.count(
            tables.PLAN.name, workload=workload.name, workload_hash=workload.hash
        ):
            write_plan(spark, warehouse, workload, plan_rows(workload, run_id))
        until = latest_ingest(warehouse)
        assert until is not None  # noqa: S101 - there are events
        forget_others(warehouse, workload.name, span)
        report = None
        if began or span.has_ends([(plan.within, plan.slide) for plan in workload.plans], settings.origin):
            _now("compute aggregates")
            try:
                report = recompute(spark, warehouse, settings, run_id)
            except HamletError:
                _require("events", checked.result().outcomes)  # they are why
                raise
        _require("events", checked.result().outcomes)
    if report is None:
        report = ExecuteReport(warehouse.version("events"), (), {plan.name: 0 for plan in workload.plans})
        record(spark, warehouse, settings, kept, until=until, version=report.events_version, run_id=run_id)
        return began, report
    _now("check results")
    sample = replace(settings.sample, size=min(settings.sample.size, SAMPLES))
    with ThreadPoolExecutor(1) as beside:
        each = partial(each_in_tasks, spark)
        compared = beside.submit(compare_with_greta, warehouse, replace(settings, sample=sample), span, each)
        _require("results", check_results(spark, warehouse, settings, span).outcomes)
        _require_equal(compared.result())
    _now("publish aggregates")
    publish(spark, warehouse, workload.name, span)
    publish_wide(warehouse, settings, span)
    record(spark, warehouse, settings, kept, until=until, version=report.events_version, run_id=run_id)
    return began, report


def _require(suite: str, outcomes: Sequence[Outcome]) -> None:
    """Raise RedCheck if a rule that stops a run is broken."""
    broken = [one for one in outcomes if one.stops]
    if broken:
        told = "; ".join(f"{one.rule} ({one.says})" for one in broken)
        row = f", such as {broken[0].examples[0]}" if broken[0].examples else ""
        raise RedCheck(f"expectations on {suite} are broken: {told}{row}", code="E552", hint=_STOPPED)


def _require_equal(comparison: Comparison) -> None:
    """Raise RedCheck if the reference engine finds something else."""
    found = comparison.differences
    if found:
        first = found[0]
        raise RedCheck(
            f"the reference engine finds {len(found)} rows otherwise, the first: query {first.query}, window "
            f"{first.window_start.isoformat()}, group {first.group_key}: {first.aggregate} is {first.problem}",
            code="E552",
            hint=_STOPPED,
        )
