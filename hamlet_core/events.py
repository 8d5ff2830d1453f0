"""Events in: an Arrow table and the schema that says where time and type stand. Out: a `Stream`, sorted by time,
with only the rows and columns that the queries read (SEMANTICS 1, API 1). Strict: bad data is a `StreamError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.columns import INT64_MAX, Mask, column_kind, normalise, selected
from hamlet_core.errors import QueryMeaningError, StreamError
from hamlet_core.predicates.kinds import Kind

TIME_UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
"""Microseconds per tick of an integer time column."""

TIMESTAMP_TYPE = pa.timestamp("us", "UTC")
_SHOWN_ROWS = 5


@dataclass(frozen=True, slots=True)
class EventSchema:
    """Where time and type stand in a table of events.

    `time_unit` (us, ms, s, min, h, d) is the unit of an integer time column. `type=None` with `type_value` is for
    a table of one event type. `sequence` names an integer column that orders events of equal time in listings and
    never breaks a tie. `origin` is where window 0 starts, in the time column's own kind: a number of units, or a
    datetime (naive means UTC) or date. Raises StreamError E201.
    """

    time: str = "time"
    type: str | None = "type"
    type_value: str | None = None
    time_unit: str = "s"
    sequence: str | None = None
    origin: int | datetime | date = 0

    def __post_init__(self) -> None:
        for place in ("time", "type", "type_value", "sequence"):
            value = getattr(self, place)
            if not (isinstance(value, str) and value) and (value is not None or place == "time"):
                raise _bad_schema(f"{place}={value!r} is not a name", "give a column name as non-empty text")
        if self.type is None and self.type_value is None:
            raise _bad_schema(
                "no event type", "name a column with type=..., or every row's type with type_value=..."
            )
        if self.type is not None and self.type_value is not None:
            raise _bad_schema(
                f"both type={self.type!r} and type_value={self.type_value!r}",
                f"for a table of one event type say type=None, type_value={self.type_value!r}",
            )
        if self.type == self.time:
            raise _bad_schema(f"time and type are the same column {self.time!r}", "name two columns")
        if self.time_unit not in TIME_UNITS:
            raise _bad_schema(f"time_unit={self.time_unit!r}", f"use one of {', '.join(TIME_UNITS)}")
        number = isinstance(self.origin, int) and not isinstance(self.origin, bool)
        if not (isinstance(self.origin, date) or (number and abs(self.origin) <= INT64_MAX)):
            raise _bad_schema(
                f"origin={self.origin!r}", "give an int for integer time, else a datetime or date"
            )


def _bad_schema(what: str, hint: str) -> StreamError:
    return StreamError(f"event schema: {what}", code="E201", hint=hint)


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


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a name of a query comes from: a column of the table, or (index None) the constant `type_value`."""

    index: int | None
    kind: Kind
    scale: int


def table_kinds(table: pa.Schema, schema: EventSchema, columns: Iterable[str]) -> dict[str, tuple[Kind, int]]:
    """The kind and decimal scale of each attribute, from the table's types alone; needs no data.

    `time` and `type` mean the schema's columns unless the table has columns of these names. Raises StreamError:
    E202 missing column, E203 a type that predicates cannot use, E207 an origin of another kind than the time
    column, E208 a name that two columns have.

    >>> table = pa.schema([("t", pa.int32()), ("type", pa.string()), ("v", pa.float32())])
    >>> table_kinds(table, EventSchema(time="t"), ["v", "time"])["time"]
    (<Kind.TICK: 'an integer time'>, 0)
    """
    _frame(table, schema)
    return {name: (source.kind, source.scale) for name, source in _sources(table, schema, columns).items()}


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
    StreamError as `table_kinds`, and E204 NULL time or type in any row, E205 NaN or infinity in a row and column
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
    frame = _frame(events.schema, schema)
    sources = _sources(events.schema, schema, columns)
    gathering = _Gathering(frame, sources, types)
    for batch in events.to_batches() if isinstance(events, pa.Table) else events:
        gathering.add(batch)
    return gathering.stream()


# --- names ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Frame:
    """The columns every event has: indices of time, type and sequence, and what the time means."""

    time: int
    time_kind: Kind
    type: int | None
    type_value: str | None
    sequence: int | None
    unit: int
    origin: int
    names: tuple[str, ...]


def _frame(table: pa.Schema, schema: EventSchema) -> _Frame:
    time = _index(table, schema.time, "the time column")
    kind = _time_kind(table, time)
    return _Frame(
        time=time,
        time_kind=kind,
        type=None if schema.type is None else _type_index(table, schema.type),
        type_value=schema.type_value,
        sequence=None if schema.sequence is None else _sequence_index(table, schema.sequence),
        unit=TIME_UNITS[schema.time_unit] if kind is Kind.TICK else 1,
        origin=_origin(schema, kind),
        names=tuple(table.names),
    )


def _time_kind(table: pa.Schema, index: int) -> Kind:
    match column_kind(table.field(index).type):
        case (Kind.INTEGER | Kind.NULL, _):
            return Kind.TICK
        case (Kind.TIMESTAMP, _):
            return Kind.TIMESTAMP
    raise _unusable(
        table, index, "time is an integer, a timestamp or a date", "cast it to int64 or timestamp('us')"
    )


def _type_index(table: pa.Schema, name: str) -> int:
    index = _index(table, name, "the type column")
    if column_kind(table.field(index).type) not in ((Kind.TEXT, 0), (Kind.NULL, 0)):
        raise _unusable(table, index, "event types are text", "cast it to string")
    return index


def _sequence_index(table: pa.Schema, name: str) -> int:
    index = _index(table, name, "the sequence column")
    if column_kind(table.field(index).type) not in ((Kind.INTEGER, 0), (Kind.NULL, 0)):
        raise _unusable(table, index, "a sequence number is an integer", "cast it, or leave out sequence")
    return index


def _sources(table: pa.Schema, schema: EventSchema, columns: Iterable[str]) -> dict[str, _Source]:
    return {name: _source(table, schema, name) for name in columns}


def _source(table: pa.Schema, schema: EventSchema, name: str) -> _Source:
    """What an attribute of a query reads; a column of the table wins over the schema's `time` and `type`."""
    column: str | None = name
    if name not in table.names and name in ("time", "type"):
        column = schema.time if name == "time" else schema.type
    if column is None:
        return _Source(None, Kind.TEXT, 0)
    index = _index(table, column, "an attribute of the queries")
    if column == schema.time:
        return _Source(index, _time_kind(table, index), 0)
    if column == schema.type:
        return _Source(_type_index(table, column), Kind.TEXT, 0)
    kind = column_kind(table.field(index).type)
    if kind is None:
        raise _unusable(
            table,
            index,
            f"{name!r} is read by the queries, which know numbers, text, booleans, times and durations",
            "cast it, or take the part you need into a column of its own",
        )
    return _Source(index, *kind)


def _index(table: pa.Schema, name: str, role: str) -> int:
    found = table.get_all_field_indices(name)
    if len(found) == 1:
        return int(found[0])
    if found:
        raise StreamError(
            f"the table has {len(found)} columns named {name!r} ({role})",
            code="E208",
            hint="rename all but one",
        )
    close = get_close_matches(name, table.names, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"the table has {_listed(table.names)}"
    raise StreamError(f"missing column {name!r} ({role})", code="E202", hint=hint)


def _listed(names: list[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return (shown + ", ..." if len(names) > 12 else shown) or "no columns"


def _unusable(table: pa.Schema, index: int, expected: str, hint: str) -> StreamError:
    column = table.field(index)
    return StreamError(f"column {column.name!r} is of type {column.type}: {expected}", code="E203", hint=hint)


def _origin(schema: EventSchema, kind: Kind) -> int:
    """The origin in ticks; 0 means the epoch for every time column."""
    origin = schema.origin
    if isinstance(origin, int):
        if kind is Kind.TIMESTAMP and origin != 0:
            raise _wrong_origin(schema, "timestamps", "a datetime or a date")
        return origin
    if kind is Kind.TICK:
        raise _wrong_origin(schema, "integers", f"an int, in {schema.time_unit}")
    if not isinstance(origin, datetime):
        origin = datetime(origin.year, origin.month, origin.day, tzinfo=UTC)
    aware = origin if origin.tzinfo is not None else origin.replace(tzinfo=UTC)
    return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _wrong_origin(schema: EventSchema, column: str, expected: str) -> StreamError:
    return StreamError(
        f"origin={schema.origin!r}, but the time column {schema.time!r} holds {column}",
        code="E207",
        hint=f"give the origin as {expected}",
    )


# --- rows ----------------------------------------------------------------------------------------


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

    frame: _Frame
    sources: dict[str, _Source]
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

    def _values(self, source: _Source, times: list[int], types: list[str], order: Any | None) -> list[Any]:
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
