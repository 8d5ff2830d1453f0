"""Events in: an Arrow table and the schema that says where time and type stand. Out: a `Stream`, sorted by time,
with only the rows and columns that the queries read (SEMANTICS 1, API 1). Strict: bad data is a `StreamError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.columns import Mask, normalise, selected
from hamlet_core.errors import QueryMeaningError, StreamError
from hamlet_core.event_schema import (
    TIME_UNITS,
    EventSchema,
    Frame,
    Source,
    find_frame,
    find_sources,
    table_kinds,
)
from hamlet_core.predicates.kinds import Kind

__all__ = [
    "TIMESTAMP_TYPE",
    "TIME_UNITS",
    "Column",
    "EventSchema",
    "Stream",
    "encode",
    "table_kinds",
    "ticks",
]

TIMESTAMP_TYPE = pa.timestamp("us", "UTC")
_SHOWN_ROWS = 5


@dataclass(frozen=True, slots=True)
class Column:
    """One attribute of all events of a stream; None is NULL.

    Times and durations are int microseconds (TICK: int in the stream's unit), decimals `decimal.Decimal`;
    `scale` is the number of digits after the point of a decimal column, else 0.
    """

    name: str
    kind: Kind
    scale: int
    values: list[Any]


@dataclass(frozen=True, slots=True)
class Stream:
    """Events in order of time, column by column; all lists have one entry per event.

    `times` and `origin` are in ticks of `unit` microseconds (timestamps: microseconds since the epoch, unit 1).
    `rows` are the row numbers in the input, from 0. `time_type` is int64, or timestamp[us, UTC] for timestamps
    and dates: the type of window bounds in results.
    """

    times: list[int]
    types: list[str]
    columns: dict[str, Column]
    rows: list[int]
    time_type: Any
    unit: int
    origin: int


def ticks(
    duration_microseconds: int,
    stream_unit: int,
    *,
    span: tuple[int, int] | None = None,
    text: str = "",
    what: str = "the duration",
) -> int:
    """A duration in ticks of `stream_unit` microseconds; QueryMeaningError E220 if it is finer than the unit.

    >>> ticks(300_000_000, TIME_UNITS["min"])
    5
    """
    count, rest = divmod(duration_microseconds, stream_unit)
    if rest:
        line, column = span or (1, 1)
        raise QueryMeaningError(
            f"{what} {_length(duration_microseconds)} is finer than the unit of the time column, "
            f"{_length(stream_unit)}",
            code="E220",
            hint="use a multiple of the unit, or declare a finer time_unit",
            line=line,
            column=column,
            text=text,
        )
    return count


def _length(microseconds: int) -> str:
    """A duration as a query would write it."""
    fitting = [name for name, size in TIME_UNITS.items() if microseconds % size == 0]
    return f"{microseconds // TIME_UNITS[fitting[-1]]} {fitting[-1]}"


def encode(
    events: pa.Table | pa.RecordBatchReader,
    schema: EventSchema,
    columns: Iterable[str],
    types: frozenset[str],
) -> Stream:
    """The events of these types, sorted by time (ties keep the input's order), with these columns as plain values.

    A reader is consumed batch by batch; only rows of `types` are kept. Sorted input costs no sort. Raises
    StreamError as `event_schema.table_kinds`, and E204 NULL time or type in any row, E205 NaN or infinity in a row and column
    that is kept, E206 a value that int64 or microseconds cannot hold, E209 events of another class.
    """
    if isinstance(events, pa.RecordBatch):
        events = pa.Table.from_batches([events])
    if not isinstance(events, pa.Table | pa.RecordBatchReader):
        raise StreamError(
            f"events are a {type(events).__module__}.{type(events).__qualname__}",
            code="E209",
            hint="give a pyarrow.Table or RecordBatchReader; pyarrow.Table.from_pandas(frame) makes one",
        )
    frame = find_frame(events.schema, schema)
    sources = find_sources(events.schema, schema, columns)
    gathering = _Gathering(frame, sources, types)
    for batch in events.to_batches() if isinstance(events, pa.Table) else events:
        gathering.add(batch)
    return gathering.stream()


@dataclass(slots=True)
class _Fault:
    """Bad values of one column, counted over all batches."""

    count: int = 0
    rows: list[int] = field(default_factory=list)

    def add(self, bad: Mask, rows: Any) -> None:
        hit = rows[bad]
        self.count += len(hit)
        self.rows += [int(row) for row in hit[: _SHOWN_ROWS - len(self.rows)]]

    def __str__(self) -> str:
        rows = ", ".join(str(row) for row in self.rows)
        more = ", ..." if self.count > len(self.rows) else ""
        return f"{self.count} {'value' if self.count == 1 else 'values'}, first at row {rows}{more} (from 0)"


_NULL = "NULL"
_HINTS = {
    "E204": "every event needs a time and a type: drop such rows, or let the pipeline's ingest quarantine them",
    "E205": "make it NULL if it means 'missing', or drop such rows",
    "E206": "round or cast the column, so that nothing is lost silently",
}


@dataclass(slots=True)
class _Gathering:
    """Mutable: takes batches, keeps the rows of the wanted types, and counts what is wrong."""

    frame: Frame
    sources: dict[str, Source]
    types: frozenset[str]
    offset: int = 0
    times: list[Any] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    sequences: list[Any] = field(default_factory=list)
    values: dict[int, list[Any]] = field(default_factory=dict)
    faults: dict[tuple[int, str, str], _Fault] = field(default_factory=dict)

    def add(self, batch: pa.RecordBatch) -> None:
        """Fold in one batch; faults are only noted, so that the error can count them all."""
        rows = np.arange(self.offset, self.offset + batch.num_rows)
        self.offset += batch.num_rows
        kept = self._wanted(batch, rows)
        times = self._column(self.frame.time, batch.column(self.frame.time), rows, required=True)
        self.times.append(np.asarray(times.cast(pa.int64()).fill_null(0))[kept])
        self.rows.append(rows[kept])
        keep = pa.array(kept)
        for index in self._attributes():
            values = selected(batch.column(index), keep)
            self.values.setdefault(index, []).append(self._column(index, values, rows[kept]))
        if self.frame.sequence is not None:
            values = selected(batch.column(self.frame.sequence), keep)
            self.sequences.append(self._column(self.frame.sequence, values, rows[kept]))

    def _wanted(self, batch: pa.RecordBatch, rows: Any) -> Mask:
        """Which rows have a type that the queries read."""
        index = self.frame.type
        if index is None:
            wanted = self.frame.type_value in self.types
            return np.full(batch.num_rows, wanted)
        labels = self._column(index, batch.column(index), rows, required=True).cast(pa.large_string())
        among = pc.is_in(labels, value_set=pa.array(sorted(self.types), pa.large_string()))
        kept: Mask = np.asarray(among)
        self.labels.append(labels.filter(among))
        return kept

    def _attributes(self) -> Iterator[int]:
        """The columns to keep beside time and type, each once."""
        special = {self.frame.time, self.frame.type, None}
        for index in dict.fromkeys(source.index for source in self.sources.values()):
            if index is not None and index not in special:
                yield index

    def _column(self, index: int, array: Any, rows: Any, *, required: bool = False) -> Any:
        normal = normalise(array)
        if required and normal.array.null_count:
            self._note(index, "E204", _NULL, np.asarray(normal.array.is_null()), rows)
        if normal.bad is not None and normal.bad.any():
            code = "E205" if pa.types.is_floating(normal.array.type) else "E206"
            self._note(index, code, normal.reason, normal.bad, rows)
        return normal.array

    def _note(self, index: int, code: str, reason: str, bad: Mask, rows: Any) -> None:
        self.faults.setdefault((index, code, reason), _Fault()).add(bad, rows)

    def stream(self) -> Stream:
        """What was gathered, sorted; raises the first fault (by code, then column)."""
        for (index, code, reason), fault in sorted(
            self.faults.items(), key=lambda item: (item[0][1], item[0][0])
        ):
            raise StreamError(
                f"column {self.frame.names[index]!r}: {reason} in {fault}", code=code, hint=_HINTS[code]
            )
        times = np.concatenate([np.empty(0, np.int64), *self.times])
        order = self._order(times)
        rows = np.concatenate([np.empty(0, np.int64), *self.rows])
        return Stream(
            times=(sorted_times := (times if order is None else times[order]).tolist()),
            types=(types := self._types(order, len(rows))),
            columns={
                name: Column(
                    name, source.kind, source.scale, self._values(source, sorted_times, types, order)
                )
                for name, source in self.sources.items()
            },
            rows=(rows if order is None else rows[order]).tolist(),
            time_type=pa.int64() if self.frame.time_kind is Kind.TICK else TIMESTAMP_TYPE,
            unit=self.frame.unit,
            origin=self.frame.origin,
        )

    def _order(self, times: Any) -> Any | None:
        """A stable order by time (and sequence); None where the rows stand in it already."""
        if self.sequences:
            numbers = pa.chunked_array(self.sequences, pa.int64())
            last = np.asarray(numbers.is_null())
            return np.lexsort((np.asarray(numbers.fill_null(0)), last, times))
        if bool(np.all(times[1:] >= times[:-1])):
            return None
        return np.argsort(times, kind="stable")

    def _types(self, order: Any | None, count: int) -> list[str]:
        """The types of the kept events, one string object per type."""
        if self.frame.type is None:
            return [self.frame.type_value or ""] * count
        labels = pc.dictionary_encode(pa.chunked_array(self.labels, pa.large_string()).combine_chunks())
        plain = labels.combine_chunks() if isinstance(labels, pa.ChunkedArray) else labels
        names = plain.dictionary.to_pylist()
        numbers = np.asarray(plain.indices)
        return [names[number] for number in (numbers if order is None else numbers[order]).tolist()]

    def _values(self, source: Source, times: list[int], types: list[str], order: Any | None) -> list[Any]:
        if source.index is None or source.index == self.frame.type:
            return types
        if source.index == self.frame.time:
            return times
        arrays = self.values.get(source.index, [])
        if not arrays:
            return []
        column = pa.chunked_array(arrays)
        values: list[Any] = (column if order is None else column.take(pa.array(order))).to_pylist()
        return values
