"""Decisions of tasks -> Delta `sharing_decisions`: what a task sends home, and which rows a run replaces.

Runs and tasks that are cut in time read some panes in common. Each pane is of the one in whose span it starts, so that a
burst is told of once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from hamlet_core import DECISION_SCHEMA
from hamlet_core.sharing.log import summarised
from pipelines.settings import JobSettings
from pipelines.spans import Span, microseconds
from resources import tables
from resources.sql import equal_values, standard_literal
from resources.warehouse import Warehouse

MOST_OF_A_TASK = 10_000
"""Rows that a task sends home."""
MOST_OF_A_RUN = 50_000
"""Rows that a run writes."""

Slot = Literal["day", "hour", "microsecond"]
"""Summaries never cross one, and runs replace whole ones."""

SENT = DECISION_SCHEMA.append(pa.field("slot", tables.TIMESTAMP))
"""The columns of decisions on their way from tasks."""

_SCHEMA = tables.DECISIONS.schema.remove_metadata()
_ORDER = ("slot", "pane", "partition", "kleene", "burst")
_LAST = datetime.max.replace(tzinfo=UTC)
_FIRST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Decided:
    """What an execution decided, burst by burst."""

    bursts: int = 0
    shared: int = 0
    """Bursts that two queries or more shared."""
    snapshots_created: int = 0
    snapshots_carried: int = 0

    @classmethod
    def of(cls, decisions: pa.Table) -> Decided:
        """Add up a decision log."""
        bursts = decisions["bursts"]
        # NULL stands for several sets: somebody shared.
        shared = bursts.filter(pc.fill_null(pc.not_equal(decisions["queries"], ""), True))
        counted = (bursts, shared, decisions["snapshots_created"], decisions["snapshots_carried"])
        return cls(*(pc.sum(one).as_py() or 0 for one in counted))


def slot_of(span: Span) -> Slot:
    """Days, unless the partitions of the span are shorter, or, as those of a stream, no whole hours.

    >>> from pipelines.spans import Partition
    >>> noon = datetime(2026, 1, 5, 12, tzinfo=UTC)
    >>> [slot_of(Span((Partition("p", noon, noon + timedelta(minutes=many)),))) for many in (60, 61)]
    ['hour', 'microsecond']
    """
    bounds = [one for part in span.partitions for one in (part.after, part.until) if one is not None]
    if any(one.minute or one.second or one.microsecond for one in bounds):
        return "microsecond"
    first = span.partitions[0]
    if first.after is None or first.until is None:
        return "day"
    return "hour" if first.until - first.after < timedelta(days=1) else "day"


def nothing_decided() -> pa.Table:
    """No rows of `SENT`."""
    return pa.Table.from_batches([], SENT)


def of_span(decisions: pa.Table, span: Span, unit: int, slot: Slot) -> pa.Table:
    """The rows about panes that start in the span, in columns of `SENT`; panes count `unit` microseconds."""
    pane = decisions["pane"]
    if span.after is not None:
        decisions = decisions.filter(pc.greater_equal(pane, -(-microseconds(span.after) // unit)))
        pane = decisions["pane"]
    if span.until is not None:
        decisions = decisions.filter(pc.less(pane, -(-microseconds(span.until) // unit)))
    slots = pc.floor_temporal(_moments(decisions["pane"], unit), unit=slot)
    return decisions.append_column(SENT.field("slot"), slots).cast(SENT)


def _moments(panes: pa.ChunkedArray, unit: int) -> pa.ChunkedArray:
    """Times of panes; NULL for those that not every reader of the tables knows."""
    low, high = -(-microseconds(_FIRST) // unit), microseconds(_LAST) // unit
    known = pc.and_(pc.greater_equal(panes, low), pc.less_equal(panes, high))
    ticks = pc.if_else(known, panes, pa.scalar(None, pa.int64()))
    return pc.multiply(ticks, pa.scalar(unit, pa.int64())).cast(tables.TIMESTAMP)


def packed(decisions: pa.Table) -> bytes:
    """Rows of `SENT` for the way home; names and reasons repeat, and compress well."""
    if not decisions.num_rows:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SENT, options=pa.ipc.IpcWriteOptions(compression="zstd")) as stream:
        stream.write_table(decisions)
    return bytes(sink.getvalue())


def gathered(sent: Iterable[bytes]) -> pa.Table:
    """What tasks have sent, in order of time and with no more rows than a run may write."""
    found = [pa.ipc.open_stream(one).read_all() for one in sent if one]
    rows = pa.concat_tables([nothing_decided(), *found])
    return summarised(rows.sort_by([(name, "ascending") for name in _ORDER]), MOST_OF_A_RUN)


def write_decisions(
    spark: SparkSession,
    warehouse: Warehouse,
    settings: JobSettings,
    decisions: pa.Table,
    *,
    unit: int,
    run_id: str,
    kept: Collection[str] = (),
) -> None:
    """Replace the decisions of the slots that a run has computed, but for those about queries that it `kept` alone.

    The table must be there.
    """
    workload = settings.workload
    labels = {"workload": workload.name, "workload_hash": workload.hash, "run_id": run_id}
    made = {name: pa.repeat(value, decisions.num_rows) for name, value in labels.items()}
    made["pane_start"] = _moments(decisions["pane"], unit)
    columns = {name: made[name] if name in made else decisions[name] for name in _SCHEMA.names}
    rows = pa.table(columns, _SCHEMA)
    rows = pa.concat_tables([_staying(warehouse, settings, frozenset(kept)), rows])
    warehouse.replace_rows(spark, rows, tables.DECISIONS, _where(workload.name, settings.span))


def _staying(warehouse: Warehouse, settings: JobSettings, kept: frozenset[str]) -> pa.Table:
    """The rows in the span about these queries and no others."""
    if not kept:
        return pa.Table.from_batches([], _SCHEMA)
    old = _stored(warehouse, settings.workload.name, settings.span, _SCHEMA.names).cast(_SCHEMA)
    asked = [names for names in old["candidates"].unique().to_pylist() if names is not None]
    own = [names for names in asked if kept.issuperset(names.split(", "))]
    return old.filter(pc.is_in(old["candidates"], pa.array(own, pa.string())))


def decisions_by_partition(warehouse: Warehouse, workload: str, span: Span) -> dict[str, int]:
    """How many rows each partition of the span has."""
    slots = _stored(warehouse, workload, span, ["slot"])["slot"]
    if span.until is None:
        return {key: len(slots) for key in span.keys}
    untils = np.array([microseconds(one.until) for one in span.partitions if one.until is not None])
    places = np.searchsorted(untils, np.asarray(slots.cast(pa.int64())), side="right")
    counts = np.bincount(places, minlength=len(untils))
    return dict(zip(span.keys, counts.tolist(), strict=True))


def _stored(warehouse: Warehouse, workload: str, span: Span, columns: list[str]) -> pa.Table:
    wanted = pc.field("workload") == workload
    if span.after is not None:
        wanted &= pc.field("slot") >= pa.scalar(span.after, tables.TIMESTAMP)
    if span.until is not None:
        wanted &= pc.field("slot") < pa.scalar(span.until, tables.TIMESTAMP)
    return warehouse.dataset(tables.DECISIONS.name).to_table(columns=columns, filter=wanted)


def _where(workload: str, span: Span) -> str:
    """The same rows for delta-rs."""
    conditions = [equal_values(workload=workload)]
    if span.after is not None:
        conditions.append(f"slot >= {_timestamp(span.after)}")
    if span.until is not None:
        conditions.append(f"slot < {_timestamp(span.until)}")
    return " AND ".join(conditions)


def _timestamp(when: datetime) -> str:
    return standard_literal(when.astimezone(UTC).isoformat())
