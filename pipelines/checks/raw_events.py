"""The GRETA check's own way to the events: delta-rs and Arrow, nothing of what the executor reads with."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from hamlet_core import EventSchema, QueryPlan
from hamlet_core.template.plan import types_read
from pipelines.spans import Span
from resources import tables
from resources.data_files import READ_AHEAD, parquet
from resources.warehouse import Warehouse

_FEW = 50
"""Rows are few that are less than one in so many."""

Group = tuple[tuple[str, Any], ...]
"""GROUP-BY attributes and their values, as the events have them."""


@dataclass(frozen=True, slots=True)
class Place:
    """The events that one (query, window, group) can see; times are microseconds from the epoch."""

    types: frozenset[str] | None
    """None: of all types."""
    start: int
    end: int
    group: Group


@dataclass(frozen=True)
class RawEvents:
    """The events of a version of the Delta table that the windows of a span read, and their columns that queries read."""

    rows: ds.Dataset
    types: pa.Schema
    wanted: pc.Expression
    columns: tuple[str, ...]

    @classmethod
    def of(
        cls,
        warehouse: Warehouse,
        version: int | None,
        plans: Sequence[QueryPlan],
        schema: EventSchema,
        origin: int,
        span: Span,
    ) -> RawEvents:
        """Only files that may have events of the time that the span reaches into are opened."""
        types = pa.schema(warehouse.open("events", version).schema().to_arrow())
        start, end = span.reads([(plan.within, plan.slide) for plan in plans], origin)
        first = start.astimezone(UTC).date().isoformat() if start is not None else ""
        last = end.astimezone(UTC).date().isoformat() if end is not None else "9999-12-31"
        files = warehouse.files("events", version)
        paths = [
            file.path
            for file in files
            if first <= file.partition["day"] <= last
            and (start is None or file.last is None or file.last >= start)
            and (end is None or file.first is None or file.first < end)
        ]
        rows = parquet(paths, types)
        named = types_read(plans)
        wanted = pc.scalar(True) if named is None else pc.field("event_type").isin(sorted(named))
        if start is not None:
            wanted &= pc.field("event_time") >= pa.scalar(start, tables.TIMESTAMP)
        if end is not None:
            wanted &= pc.field("event_time") < pa.scalar(end, tables.TIMESTAMP)
        read = {schema.time, schema.type, "event_time", "event_type"}
        read |= {name for plan in plans for name in (*plan.columns, *plan.group_by)}
        return cls(rows, types, wanted, tuple(name for name in types.names if name in read))

    def at_most(self, many: int) -> bool:
        """Whether there are no more events than that; they are read until it is known."""
        left = many
        for batch in self.batches({"event_time"}):
            left -= batch.num_rows
            if left < 0:
                return False
        return True

    def everything(self) -> pa.Table:
        """All of them."""
        return self.rows.to_table(columns=list(self.columns), filter=self.wanted)

    def batches(self, columns: Collection[str], places: Sequence[Place] = ()) -> Iterator[pa.RecordBatch]:
        """Some of their columns, in an order that is the same for the same version; if places are named, from the first to the
        last time of any.
        """
        wanted = self.wanted
        if places:
            ends = min(place.start for place in places), max(place.end for place in places)
            first, last = (pa.scalar(end, pa.int64()).cast(tables.TIMESTAMP) for end in ends)
            wanted &= (pc.field("event_time") >= first) & (pc.field("event_time") < last)
        return self.rows.to_batches(columns=sorted(columns), filter=wanted, **READ_AHEAD)

    def counts(self, places: Sequence[Place]) -> list[int]:
        """The number of events of each place; one pass over types, times and groups."""
        found = [0] * len(places)
        names = {name for place in places for name, _ in place.group}
        for batch in self.batches({"event_time", "event_type", *names}, places):
            for number, rows in _inside(batch, places):
                found[number] += len(rows)
        return found

    def of_places(self, places: Sequence[Place]) -> list[pa.Table]:
        """All columns of the events of each place; one pass over their time."""
        found: list[list[pa.RecordBatch]] = [[] for _ in places]
        for batch in self.batches(self.columns, places):
            for number, rows in _inside(batch, places):
                found[number].append(batch.take(pa.array(rows)))
        schema = pa.schema([self.types.field(name) for name in sorted(self.columns)])
        return [
            pa.Table.from_batches(batches, schema) if batches else schema.empty_table() for batches in found
        ]


def _inside(batch: pa.RecordBatch, places: Sequence[Place]) -> Iterator[tuple[int, np.ndarray]]:
    """Which rows of a batch belong to which place, for those that any row belongs to."""
    times = np.asarray(batch.column("event_time").cast(pa.int64()))
    if not len(times):
        return
    earliest, latest = times.min(), times.max()
    alike: dict[tuple[str, ...], list[int]] = {}
    for number, place in enumerate(places):
        if place.start <= latest and place.end > earliest:
            alike.setdefault(tuple(sorted(name for name, _ in place.group)), []).append(number)
    typed: dict[frozenset[str], np.ndarray] = {}
    for names, numbers in alike.items():
        groups = [tuple(dict(places[number].group)[name] for name in names) for number in numbers]
        of_group = _rows_of_groups(batch, names, groups)
        for number, group in zip(numbers, groups, strict=True):
            place, rows = places[number], of_group[group]
            rows = rows[(times[rows] >= place.start) & (times[rows] < place.end)]
            if place.types is not None and len(rows):
                rows = rows[_typed(batch.column("event_type"), place.types, rows, typed)]
            if len(rows):
                yield number, rows


def _typed(
    column: pa.Array, types: frozenset[str], rows: np.ndarray, known: dict[frozenset[str], np.ndarray]
) -> np.ndarray:
    """Which of some rows have one of these types; where they are many, all rows are looked at once for all places."""
    named = pa.array(sorted(types), pa.string())
    if _FEW * len(rows) < len(column):
        return np.asarray(pc.is_in(column.take(pa.array(rows)), value_set=named))
    if types not in known:
        known[types] = np.asarray(pc.is_in(column, value_set=named))
    return known[types][rows]


def _rows_of_groups(
    batch: pa.RecordBatch, names: Sequence[str], groups: Sequence[tuple[Any, ...]]
) -> dict[tuple[Any, ...], np.ndarray]:
    """The rows of each of some groups, which have such values of these columns: a pass for all groups, however many."""
    wanted = list(dict.fromkeys(groups))
    rows, codes = np.arange(batch.num_rows), np.zeros(batch.num_rows, np.int64)
    numbers = {(): 0}  # what groups begin with -> its code
    for place, name in enumerate(names):
        column = batch.column(name).take(pa.array(rows))
        values = {value: number for number, value in enumerate(dict.fromkeys(one[place] for one in wanted))}
        asked = pa.array(list(values), column.type)
        if pa.types.is_floating(column.type):  # -0.0 is 0.0
            column, asked = (pc.add(one, pa.scalar(0.0, column.type)) for one in (column, asked))
        found = pc.index_in(column, value_set=asked)
        there = np.asarray(found.is_valid())
        rows, codes = rows[there], codes[there] * len(values) + np.asarray(found.drop_null())
        code = {
            group[: place + 1]: numbers[group[:place]] * len(values) + values[group[place]]
            for group in wanted
        }
        known = np.array(sorted(code.values()))
        there = np.isin(codes, known)
        rows, codes = rows[there], np.searchsorted(known, codes[there])
        numbers = {start: int(np.searchsorted(known, one)) for start, one in code.items()}
    order = np.argsort(codes, kind="stable")
    rows, codes = rows[order], codes[order]
    return {
        group: rows[np.searchsorted(codes, number) : np.searchsorted(codes, number, "right")]
        for group, number in numbers.items()
    }


def group_of_key(key: str, types: pa.Schema) -> Group:
    """The values that a stored group key stands for.

    >>> group_of_key('{"g":"a"}', pa.schema([("g", pa.string())]))
    (('g', 'a'),)
    """
    return tuple((name, _read(value, types.field(name).type)) for name, value in json.loads(key).items())


def key_of_group(group: Group) -> str:
    """The group key of these values, as results have it (API 2).

    >>> key_of_group((("h", None), ("g", "é")))
    '{"g":"é","h":null}'
    """
    shown: Mapping[str, Any] = {name: _shown(value) for name, value in group}
    return json.dumps(shown, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _read(value: Any, data_type: pa.DataType) -> Any:
    if value is None:
        return None
    if pa.types.is_timestamp(data_type):
        return datetime.fromisoformat(value)
    if pa.types.is_date(data_type):
        return datetime.fromisoformat(value).date()
    return Decimal(value) if pa.types.is_decimal(data_type) else value


def _shown(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date():
            return f"{value.isoformat()}T00:00:00Z"
        case Decimal():
            return f"{value:f}"
    return value
