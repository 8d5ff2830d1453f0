"""Where time, type and attributes stand in a table of events: the schema that a user gives, and what each name of a
query reads (SEMANTICS 1, API 1). Needs the table's types, never its data.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from difflib import get_close_matches

import pyarrow as pa

from hamlet_core.errors import StreamError
from hamlet_core.table.columns import INT64_MAX, column_kind
from hamlet_core.table.kinds import Kind

TIME_UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
"""Microseconds per tick of an integer time column."""


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
class Source:
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
    find_frame(table, schema)
    return {
        name: (source.kind, source.scale) for name, source in find_sources(table, schema, columns).items()
    }


@dataclass(frozen=True, slots=True)
class Frame:
    """The columns that every event has: indices of time, type and sequence, and what the time means."""

    time: int
    time_kind: Kind
    type: int | None
    type_value: str | None
    sequence: int | None
    unit: int
    origin: int
    names: tuple[str, ...]


def find_frame(table: pa.Schema, schema: EventSchema) -> Frame:
    """Where time, type and sequence stand in a table of these types; raises as `table_kinds`."""
    time = _index(table, schema.time, "the time column")
    kind = _time_kind(table, time)
    return Frame(
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


def find_sources(table: pa.Schema, schema: EventSchema, columns: Iterable[str]) -> dict[str, Source]:
    """What each attribute of the queries reads; raises as `table_kinds`."""
    return {name: _source(table, schema, name) for name in columns}


def _source(table: pa.Schema, schema: EventSchema, name: str) -> Source:
    """What an attribute of a query reads; a column of the table wins over the schema's `time` and `type`."""
    column: str | None = name
    if name not in table.names and name in ("time", "type"):
        column = schema.time if name == "time" else schema.type
    if column is None:
        return Source(None, Kind.TEXT, 0)
    index = _index(table, column, "an attribute of the queries")
    if column == schema.time:
        return Source(index, _time_kind(table, index), 0)
    if column == schema.type:
        return Source(_type_index(table, column), Kind.TEXT, 0)
    kind = column_kind(table.field(index).type)
    if kind is None:
        raise _unusable(
            table,
            index,
            f"{name!r} is read by the queries, which know numbers, text, booleans, times and durations",
            "cast it, or take the part you need into a column of its own",
        )
    return Source(index, *kind)


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
