"""The GRETA check's own way to the events: delta-rs and Arrow, nothing of what the executor reads with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from hamlet_core import QueryPlan
from resources import tables

Group = tuple[tuple[str, Any], ...]
"""GROUP-BY attributes and their values, as the events have them."""


@dataclass(frozen=True, slots=True)
class RawEvents:
    """The Delta table `events` at one version, as an Arrow data set."""

    rows: ds.Dataset
    types: pa.Schema

    def of(self, plan: QueryPlan, start: datetime, end: datetime, group: Group, most: int) -> pa.Table | None:
        """All columns of the events a query could see in one window and group; None if there are more than `most`."""
        wanted = pc.field("event_time") >= pa.scalar(start, tables.TIMESTAMP)
        wanted &= pc.field("event_time") < pa.scalar(end, tables.TIMESTAMP)
        wanted &= pc.field("event_type").isin(sorted(plan.types))
        for name, value in group:
            column = pc.field(name)
            wanted &= (
                column.is_null() if value is None else column == pa.scalar(value, self.types.field(name).type)
            )
        found = self.rows.head(most + 1, filter=wanted, batch_readahead=1, fragment_readahead=1)
        return None if found.num_rows > most else found


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
