"""What `computed_aggregates` holds already: which queries of which partitions need no second computation.

A query of a partition is current if it was computed from this very query, and no event that one of its windows reads
has come in since, or gone with an earlier reading of a file. Late events so make exactly the partitions stale that they
change; events that are gone, those with windows on their days.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from hamlet_core import QueryPlan, write_query
from hamlet_core.template.plan import types_read
from hamlet_core.windows import WindowSpec
from pipelines.settings import JobSettings
from pipelines.spans import WHOLE, Partition, Span, microseconds, moment
from pipelines.steps.ingestion.ledger import parts_of
from resources import tables
from resources.data_files import READ_AHEAD, parquet
from resources.sql import equal_values, standard_literal
from resources.tables import COMPUTED_PARTITIONS
from resources.warehouse import Warehouse

DAY = 86_400_000_000
"""Microseconds."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One query of one partition, as it was computed."""

    partition: Partition
    query: str
    query_hash: str
    events_until: datetime


@dataclass(frozen=True, slots=True)
class Computed:
    """All that is computed of one workload."""

    entries: Mapping[tuple[str, str], Entry]
    """By key of the partition and label of the query."""

    @classmethod
    def of(cls, warehouse: Warehouse, workload: str) -> Computed:
        """Read what the warehouse says."""
        if not warehouse.exists(COMPUTED_PARTITIONS.name):
            return cls({})
        rows = warehouse.dataset(COMPUTED_PARTITIONS.name).to_table(filter=pc.field("workload") == workload)
        entries = (
            Entry(
                Partition(row["partition"], row["after"], row["until"]),
                row["query"],
                row["query_hash"],
                row["events_until"],
            )
            for row in rows.to_pylist()
        )
        return cls({(entry.partition.key, entry.query): entry for entry in entries})

    def partitions(self, queries: Collection[str], span: Span) -> frozenset[str]:
        """The partitions of the span in which something else is computed than these queries."""
        return frozenset(key for key, query in self.entries if key in span.keys and query not in queries)


@cache
def _version() -> str:
    return importlib.metadata.version("hamlet-on-spark")


def query_hash(plan: QueryPlan, settings: JobSettings) -> str:
    """All that the numbers of a query depend on besides the events: equal hashes, equal numbers."""
    options = settings.execute
    parts = (
        _version(),
        write_query(plan.query),
        options.engine,
        options.arithmetic,
        str(settings.origin),
        *(() if options.flush else ("final windows only",)),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class Stale(StrEnum):
    """Why a query of a partition is computed, for people."""

    NEW = "not computed yet"
    CHANGED = "the query, its settings or this version are others than when it was computed"
    LATE = "events that it reads came in, or went, after it was computed"
    OPEN = "which of its windows are final depends on what came in since"


@dataclass(frozen=True, slots=True)
class Touched:
    """A query of a partition that events matter to which came in, or went, after it was computed: the ends of the first and of
    the last of its windows that have some, in microseconds from the epoch.
    """

    entry: Entry
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Due:
    """What has to be computed of a span."""

    reasons: Mapping[tuple[str, str], Stale]
    """(partition, query) -> why, in order of time."""
    touched: tuple[Touched, ...]
    """Those that are `LATE`."""

    def by_partition(self) -> dict[str, frozenset[str]]:
        """Partition -> queries."""
        found: dict[str, frozenset[str]] = {}
        for partition, query in self.reasons:
            found[partition] = found.get(partition, frozenset()) | {query}
        return found


def due(warehouse: Warehouse, settings: JobSettings, computed: Computed) -> Due:
    """What has to be computed of the span.

    Without `flush`, which windows are final depends on events that no window reads: then nothing is current.
    """
    partitions, plans = settings.span.partitions, settings.workload.plans
    hashes = {plan.name: query_hash(plan, settings) for plan in plans}
    found: dict[tuple[str, str], Stale] = {}
    same = []
    for partition in partitions:
        for name, wanted in hashes.items():
            entry = computed.entries.get((partition.key, name))
            if entry is None:
                found[partition.key, name] = Stale.NEW
            elif (entry.query_hash, entry.partition) != (wanted, partition):
                found[partition.key, name] = Stale.CHANGED
            elif not settings.execute.flush:
                found[partition.key, name] = Stale.OPEN
            else:
                same.append(entry)
    late = tuple(_touched(warehouse, settings, same))
    found |= dict.fromkeys(((one.entry.partition.key, one.entry.query) for one in late), Stale.LATE)
    keys = {one.key: place for place, one in enumerate(partitions)}
    return Due(dict(sorted(found.items(), key=lambda item: keys[item[0][0]])), late)


def changed_days(warehouse: Warehouse, settings: JobSettings, computed: Computed, found: Due) -> Span | None:
    """The days, as a span, in which all windows end that have to be computed, where every window was computed and published and
    nothing but events has changed since: all others are as they were. Else None.

    Days are whole, as what tasks decide is kept by day. What a run has computed that was killed before it published is not
    checked yet: the run ids of what is computed and what is published tell.
    """
    plans = settings.workload.plans
    changed = settings.span != Span() or computed.partitions({plan.name for plan in plans}, settings.span)
    if changed or {*found.reasons.values()} != {Stale.LATE} or not _is_published(warehouse, settings):
        return None
    first, last = min(one.first for one in found.touched), max(one.last for one in found.touched)
    try:
        days = moment((first - 1) // DAY * DAY), moment(-(-last // DAY) * DAY)
        span = Span((Partition(WHOLE.key, *days),))
        span.reads([(plan.within, plan.slide) for plan in plans], settings.origin)
    except OverflowError:  # before the first year, or after the last
        return None
    return span


def _is_published(warehouse: Warehouse, settings: JobSettings) -> bool:
    """Whether all that is computed of the workload is what is published."""
    names = (tables.COMPUTED.name, tables.PUBLISHED.name)
    if not all(map(warehouse.exists, names)):
        return False
    mine = pc.field("workload") == settings.workload.name
    computed, published = (
        {*warehouse.rows(name, ["run_id"], where=mine).column(0).unique().to_pylist()} for name in names
    )
    return bool(computed) and computed == published


def late_partitions(warehouse: Warehouse, settings: JobSettings) -> tuple[Partition, ...]:
    """The computed partitions with windows that read an event which came in after they were computed, by time."""
    entries = Computed.of(warehouse, settings.workload.name).entries.values()
    late = {entry.partition for entry in late_entries(warehouse, settings, tuple(entries))}
    return tuple(sorted(late, key=lambda one: microseconds(one.until) if one.until else 0))


def late_entries(warehouse: Warehouse, settings: JobSettings, entries: Sequence[Entry]) -> Iterator[Entry]:
    """Those of `entries` that events matter to which came in, or went, after they were computed."""
    return (one.entry for one in _touched(warehouse, settings, entries))


def _touched(warehouse: Warehouse, settings: JobSettings, entries: Sequence[Entry]) -> Iterator[Touched]:
    plans = {plan.name: plan for plan in settings.workload.plans}
    latest = latest_ingest(warehouse)
    gone = _removed(warehouse) if latest is not None else []
    for since in sorted({entry.events_until for entry in entries}):
        asked = [entry for entry in entries if entry.events_until == since and entry.query in plans]
        if latest is None or since >= latest or not asked:
            continue
        arrived = _arrived(warehouse, since, asked, plans, settings.origin)
        removed = _days([day for ingest, day in gone if ingest > since])
        for entry in asked:
            plan = plans[entry.query]
            read = types_read([plan])
            times = [found for name, found in arrived.items() if read is None or name in read]
            spans = [*((found, found) for found in times), removed]
            ends = [_ends_with(plan, settings.origin, entry.partition, *span) for span in spans]
            if touched := [one for one in ends if one is not None]:
                yield Touched(entry, min(first for first, _ in touched), max(last for _, last in touched))


def latest_ingest(warehouse: Warehouse) -> datetime | None:
    """The last complete ingest; None before the first."""
    return max((part.newest for part in parts_of(warehouse)), default=None)


def windows_with(
    plan: QueryPlan, origin: int, partition: Partition, begins: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last window of a partition that has a moment of each of these spans, in microseconds from the epoch:
    window k is that which starts at origin + k * slide. There is none where the last comes before the first.
    """
    spec = WindowSpec(plan.within, plan.slide, origin)
    first, last = (begins - origin - spec.within) // spec.slide + 1, (ends - origin) // spec.slide
    if partition.after is not None:
        first = np.maximum(first, (microseconds(partition.after) - spec.within - origin) // spec.slide + 1)
    if partition.until is not None:
        last = np.minimum(last, (microseconds(partition.until) - spec.within - origin) // spec.slide)
    return first, last


def _ends_with(
    plan: QueryPlan, origin: int, partition: Partition, begins: np.ndarray, ends: np.ndarray
) -> tuple[int, int] | None:
    """The ends of the first and of the last window of the partition that has a moment of one of these spans."""
    first, last = windows_with(plan, origin, partition, begins, ends)
    if not np.any(some := first <= last):
        return None
    low, high = int(first[some].min()), int(last[some].max())
    return tuple(origin + number * plan.slide + plan.within for number in (low, high))  # type: ignore[return-value]


def _removed(warehouse: Warehouse) -> list[tuple[datetime, date]]:
    """Days of events that a file has no more, with the ingest that read it again."""
    return [one for part in parts_of(warehouse) for one in part.removed]


def _days(days: Iterable[date]) -> tuple[np.ndarray, np.ndarray]:
    """The first and the last microsecond of each day, from the epoch."""
    begins = np.array([(day - date(1970, 1, 1)).days * DAY for day in sorted(set(days))], dtype=np.int64)
    return begins, begins + DAY - 1


def _arrived(
    warehouse: Warehouse,
    since: datetime,
    entries: Sequence[Entry],
    plans: Mapping[str, QueryPlan],
    origin: int,
) -> dict[str, np.ndarray]:
    """Distinct times of the events, by type, that came in after `since` and may matter to one of the entries."""
    wanted = pc.field("ingested_at") > pa.scalar(since, tables.TIMESTAMP)
    read = [plans[entry.query] for entry in entries]
    if (named := types_read(read)) is not None:
        wanted &= pc.field("event_type").isin(sorted(named))
    bounds = [
        Span((entry.partition,)).reads([(plan.within, plan.slide)], origin)
        for entry, plan in zip(entries, read, strict=True)
    ]
    starts, ends = zip(*bounds, strict=True)
    if None not in starts:
        wanted &= pc.field("event_time") >= pa.scalar(min(starts), tables.TIMESTAMP)
    if None not in ends:
        wanted &= pc.field("event_time") < pa.scalar(max(ends), tables.TIMESTAMP)
    paths = files_since(warehouse, since)
    if not paths:
        return {}
    scan = parquet(paths, warehouse.schema("events"))
    found: dict[str, list[np.ndarray]] = {}
    for batch in scan.to_batches(columns=["event_type", "event_time"], filter=wanted, **READ_AHEAD):
        keys = pa.table(batch).group_by(["event_type", "event_time"]).aggregate([])
        times = np.asarray(keys.column("event_time").cast(pa.int64()))
        types = np.asarray(keys.column("event_type").to_pylist(), dtype=object)
        for name in set(types.tolist()):
            found.setdefault(name, []).append(times[types == name])
    return {name: np.unique(np.concatenate(parts)) for name, parts in found.items()}


def files_since(warehouse: Warehouse, since: datetime) -> list[str]:
    """Data files of `events` that may hold rows of later ingests."""
    return [file.path for file in warehouse.files("events") if file.newest is None or file.newest > since]


def record_computed(
    spark: SparkSession,
    warehouse: Warehouse,
    settings: JobSettings,
    *,
    but: Iterable[str],
    version: int,
    until: datetime,
    run_id: str,
) -> None:
    """Write that all queries of the span are computed, except those that were current before."""
    kept = frozenset(but)
    rows: list[dict[str, object]] = [
        {
            "workload": settings.workload.name,
            "partition": partition.key,
            "after": partition.after,
            "until": partition.until,
            "query": plan.name,
            "query_hash": query_hash(plan, settings),
            "events_until": until,
            "events_version": version,
            "workload_hash": settings.workload.hash,
            "run_id": run_id,
        }
        for partition in settings.span.partitions
        for plan in settings.workload.plans
        if plan.name not in kept
    ]
    warehouse.replace_rows(spark, rows, COMPUTED_PARTITIONS, _entries(settings, kept))


def forget_computed(warehouse: Warehouse, settings: JobSettings, but: Iterable[str]) -> None:
    """Before results are replaced: no entry may speak of rows that a killed run leaves half replaced."""
    warehouse.delete_rows(COMPUTED_PARTITIONS.name, _entries(settings, frozenset(but)))


def forget_without_results(warehouse: Warehouse) -> None:
    """Where somebody has deleted the tables that entries speak of, nothing is computed."""
    spoken_of = (tables.COMPUTED.name, tables.DECISIONS.name)
    if warehouse.exists(COMPUTED_PARTITIONS.name) and not all(map(warehouse.exists, spoken_of)):
        warehouse.delete_rows(COMPUTED_PARTITIONS.name, "true")


def _entries(settings: JobSettings, but: frozenset[str]) -> str:
    keys = ", ".join(map(standard_literal, settings.span.keys))
    where = f'{equal_values(workload=settings.workload.name)} AND "partition" IN ({keys})'
    return where + (f" AND query NOT IN ({', '.join(map(standard_literal, sorted(but)))})" if but else "")
