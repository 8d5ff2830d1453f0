"""Options and events of a session as plain values and tables, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from hamlet_core.online.arrival import Lateness
from hamlet_core.online.held import Kinds
from hamlet_core.table.arrow import numbers_of, of_numbers, of_texts, whole
from hamlet_core.table.columns import frozen
from hamlet_core.table.encode import Column, EventSchema, Stream
from hamlet_core.table.kinds import Kind


def plain_schema(schema: EventSchema) -> dict[str, Any]:
    """An event schema as JSON has it."""
    plain: dict[str, Any] = {one.name: getattr(schema, one.name) for one in fields(schema)}
    if isinstance(schema.origin, date):
        kind = "datetime" if isinstance(schema.origin, datetime) else "date"
        plain["origin"] = {kind: schema.origin.isoformat()}
    return plain


def schema_of(plain: Mapping[str, Any]) -> EventSchema:
    """What `plain_schema` wrote."""
    origin = plain["origin"]
    if isinstance(origin, dict):
        ((kind, text),) = origin.items()
        origin = datetime.fromisoformat(text) if kind == "datetime" else date.fromisoformat(text)
    return EventSchema(**{**plain, "origin": origin})


def plain_lateness(lateness: Lateness) -> Any:
    """A lateness as JSON has it."""
    if isinstance(lateness, timedelta):
        return {"microseconds": lateness // timedelta(microseconds=1)}
    return lateness


def lateness_of(plain: Any) -> Lateness:
    """What `plain_lateness` wrote."""
    found: Lateness = timedelta(microseconds=plain["microseconds"]) if isinstance(plain, dict) else plain
    return found


def plain_kinds(kinds: Kinds) -> list[list[Any]]:
    """Kinds as JSON has them."""
    return [[name, kind.name, scale] for name, (kind, scale) in kinds.items()]


def kinds_of(plain: list[list[Any]]) -> Kinds:
    """What `plain_kinds` wrote."""
    return {name: (Kind[kind], scale) for name, kind, scale in plain}


def events_table(stream: Stream, columns: tuple[str, ...]) -> pa.Table:
    """Events as a table: time, type, and these attributes as far as there are any, by place."""
    types = of_texts(stream.type_names, pa.large_string())
    names = ["time", "type"]
    arrays = [
        of_numbers(stream.time),
        pa.DictionaryArray.from_arrays(of_numbers(stream.type_codes), types),
    ]
    for place, name in enumerate(columns):
        if name in stream.columns:
            names.append(str(place))
            arrays.append(stream.columns[name].array)
    return pa.Table.from_arrays(arrays, names=names)


def events_of(table: pa.Table, nothing: Stream, kinds: Kinds) -> Stream:
    """What `events_table` wrote, as events of a stream such as `nothing`."""
    types = whole(table["type"])
    columns = {
        name: Column(name, *_kind_of(array, kind), array)
        for place, (name, kind) in enumerate(kinds.items())
        if str(place) in table.column_names
        for array in [whole(table[str(place)])]
    }
    return replace(
        nothing,
        time=frozen(numbers_of(whole(table["time"])).astype(np.int64)),
        type_codes=frozen(numbers_of(types.indices).astype(np.int32)),
        type_names=tuple(types.dictionary.to_pylist()),
        columns=columns,
    )


def _kind_of(array: Any, kind: tuple[Kind, int]) -> tuple[Kind, int]:
    """A column that was NULL all over when its events came is so still."""
    return (Kind.NULL, 0) if pa.types.is_null(array.type) else kind
