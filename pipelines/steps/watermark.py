"""How far a stream is: which windows are given out, which are next, and for which events came too late.

A window is final once the watermark (the largest event time less the lateness) has come to its end. What is given out is
accounted for twice: in `stream_progress`, from where the stream goes on, and by days in `computed_partitions`, so that
a run of the batch job over the same days computes only what late events have changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from hamlet_core.errors import InvariantError
from pipelines.settings import JobSettings
from pipelines.spans import EPOCH, Partition, Span, microseconds
from pipelines.steps.execution.computed import Computed, Entry, late_entries, query_hash
from resources import tables
from resources.data_files import parquet
from resources.sql import equal_values, standard_literal
from resources.warehouse import DataFile, Warehouse

MOST_DAYS = 400
"""Days that a stream accounts for one by one when it begins; what lies before them is one partition."""

_DAY = timedelta(days=1)
_ROUNDED = timedelta(milliseconds=2)
"""By so much the statistics of a file may say that its last event is later than it is."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a stream is with one query: the windows with `began` < window_end <= `watermark` are given out.

    `late` is the watermark when events last came that given windows read; `events_until` the last ingest in them.
    """

    query: str
    query_hash: str
    began: datetime
    watermark: datetime
    events_until: datetime
    late: datetime | None = None


def positions(warehouse: Warehouse, workload: str) -> dict[str, Position]:
    """How far the stream of a workload is, by query; empty before its first window."""
    if not warehouse.exists(tables.STREAMS.name):
        return {}
    names = ["query", "query_hash", "began", "watermark", "events_until", "late"]
    rows = warehouse.dataset(tables.STREAMS.name).to_table(
        columns=names, filter=pc.field("workload") == workload
    )
    return {row["query"]: Position(**row) for row in rows.to_pylist()}


def last_event(warehouse: Warehouse) -> datetime | None:
    """The largest time of all events, to the microsecond; None without events."""
    files = warehouse.files("events")
    latest = max((file.last for file in files if file.last is not None), default=None)
    near = [file for file in files if latest is None or file.last is None or file.last >= latest - _ROUNDED]
    times = parquet([file.path for file in near], warehouse.schema("events")).to_table(columns=["event_time"])
    found: datetime | None = pc.max(times.column(0)).as_py()
    return found


def open_since(settings: JobSettings, watermark: datetime) -> datetime:
    """When the first window begins that is not given out yet."""
    until = microseconds(watermark)
    starts = [
        ((until - plan.within - settings.origin) // plan.slide + 1) * plan.slide + settings.origin
        for plan in settings.workload.plans
    ]
    return EPOCH + timedelta(microseconds=min(starts))


def held(warehouse: Warehouse, since: datetime) -> int:
    """The state of a stream: how many events are in windows that are open, the first of them since then, whatever their types."""
    near = [
        file.path for file in warehouse.files("events") if file.last is None or file.last >= since - _ROUNDED
    ]
    wanted = pc.field("event_time") >= pa.scalar(since, tables.TIMESTAMP)
    return int(parquet(near, warehouse.schema("events")).count_rows(filter=wanted))


def next_span(files: Iterable[DataFile], after: datetime | None, until: datetime) -> Span | None:
    """The windows that end later than `after` (None: all that read an event of the files) and by `until`, cut by the UTC
    days in which they end; None where there are none.
    """
    if after is None:
        first = min((file.first for file in files if file.first is not None), default=until)
        after = _day_of(min(first, until))
    if until <= after:
        return None
    return Span(tuple(_days(after, until)))


def _days(after: datetime, until: datetime) -> Iterator[Partition]:
    """The days from `after` to `until`; the first and the last may be parts of one."""
    close = _day_of(until) - MOST_DAYS * _DAY
    if after < close:
        yield Partition(f"before {close:%Y-%m-%d}", after, close)
        after = close
    while after < until:
        end = min(_day_of(after) + _DAY, until)
        yield Partition(f"{after:%Y-%m-%d}", after, end)
        after = end


def _day_of(when: datetime) -> datetime:
    return when.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def _hashes(settings: JobSettings) -> dict[str, str]:
    return {plan.name: query_hash(plan, settings) for plan in settings.workload.plans}


def same_queries(settings: JobSettings, known: Mapping[str, Position]) -> bool:
    """Whether the workload asks what the stream has given out so far."""
    return _hashes(settings) == {name: one.query_hash for name, one in known.items()}


def with_late(
    warehouse: Warehouse, settings: JobSettings, known: Mapping[str, Position]
) -> dict[str, Position]:
    """The positions of the queries that the stream goes on with: those that are as they were. `late` is set where events
    that one of their given windows reads came in, or went, since the last micro-batch.
    """
    hashes = _hashes(settings)
    kept = {name: one for name, one in known.items() if hashes.get(name) == one.query_hash}
    given = [
        Entry(Partition(name, one.began, one.watermark), name, one.query_hash, one.events_until)
        for name, one in kept.items()
    ]
    touched = {entry.query for entry in late_entries(warehouse, settings, given)}
    return {name: replace(one, late=one.watermark) if name in touched else one for name, one in kept.items()}


def forget_others(warehouse: Warehouse, workload: str, span: Span) -> None:
    """Before the windows of a span are replaced: no entry of `computed_partitions` may speak of them."""
    after, until = _bounds(span)
    spoken = {
        entry.partition.key
        for entry in Computed.of(warehouse, workload).entries.values()
        if (entry.partition.after is None or entry.partition.after < until)
        and (entry.partition.until is None or entry.partition.until > after)
    }
    if spoken:
        keys = ", ".join(map(standard_literal, sorted(spoken)))
        where = f'{equal_values(workload=workload)} AND "partition" IN ({keys})'
        warehouse.delete_rows(tables.COMPUTED_PARTITIONS.name, where)


def _bounds(span: Span) -> tuple[datetime, datetime]:
    """Where a span of a stream begins and ends."""
    if span.after is None or span.until is None:
        raise InvariantError("a stream gives out windows without a bound", code="E915")
    return span.after, span.until


def record(
    spark: SparkSession,
    warehouse: Warehouse,
    settings: JobSettings,
    kept: Mapping[str, Position],
    *,
    until: datetime,
    version: int,
    run_id: str,
) -> None:
    """Write that the windows of the span are computed and published: by days, and then how far the stream is.

    The last day begins where it did, for the queries that the stream goes on with (`kept`). Where events came too late for
    a part of it, all of it counts as older than every event: the batch job computes it anew.
    """
    span, workload = settings.span, settings.workload
    labels: dict[str, object] = {
        "workload": workload.name,
        "workload_hash": workload.hash,
        "run_id": run_id,
    }
    days: list[dict[str, object]] = []
    ahead: list[dict[str, object]] = []
    first, last = _bounds(span)
    for plan in workload.plans:
        own = kept.get(plan.name)
        began = own.began if own is not None else first
        late = own.late if own is not None else None
        same = {**labels, "query": plan.name, "query_hash": query_hash(plan, settings)}
        for part in span.partitions:
            after = max(began, _day_of(part.after or first))
            stale = late is not None and late > after
            days.append(
                {
                    **same,
                    "partition": part.key,
                    "after": after,
                    "until": part.until,
                    "events_until": EPOCH if stale else until,
                    "events_version": version,
                }
            )
        position = {"began": began, "watermark": last, "late": late, "events_until": until}
        ahead.append({**same, **position})
    keys = ", ".join(standard_literal(key) for key in span.keys)
    names = ", ".join(standard_literal(plan.name) for plan in workload.plans)
    mine = equal_values(workload=workload.name)
    where = f'{mine} AND "partition" IN ({keys}) AND query IN ({names})'
    warehouse.replace_rows(spark, days, tables.COMPUTED_PARTITIONS, where)
    warehouse.replace_rows(spark, ahead, tables.STREAMS, mine)
