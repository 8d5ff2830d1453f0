"""Elements in, tables out: partial states that can be shipped and added up, result rows, their Arrow schemas (API 2)."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from hamlet_core.algebra.aggregates import Element, Shape
from hamlet_core.algebra.arithmetic import Arithmetic, Unit
from hamlet_core.errors import StreamError
from hamlet_core.table.arrow import of_list
from hamlet_core.table.kinds import Kind

PARTIAL_SCHEMA = pa.schema(
    [
        pa.field("query", pa.string(), nullable=False),
        pa.field("window_start", pa.int64(), nullable=False),
        pa.field("window_end", pa.int64(), nullable=False),
        pa.field("group_key", pa.string(), nullable=False),
        pa.field("state", pa.binary(), nullable=False),
    ]
)
"""Partial results: window bounds in ticks of the input (microseconds for timestamps), `state` a pickled value."""

DECISION_SCHEMA = pa.schema(
    [
        pa.field("pane", pa.int64()),
        pa.field("partition", pa.string()),
        pa.field("kleene", pa.string()),
        pa.field("burst", pa.int64()),
        pa.field("bursts", pa.int64()),
        pa.field("events", pa.int64()),
        pa.field("candidates", pa.string()),
        pa.field("queries", pa.string()),
        pa.field("outcome", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("snapshots_created", pa.int64()),
        pa.field("snapshots_carried", pa.int64()),
        pa.field("cost_shared", pa.float64()),
        pa.field("cost_alone", pa.float64()),
    ]
)
"""The decision log of a run: one row for one burst, or for `bursts` of them that were decided alike.

| column | content |
|---|---|
| `pane` | start of the pane, in ticks of the input; NULL in a summary over panes |
| `partition` | the values of the partition attributes, written as a `group_key`; NULL in a summary over partitions |
| `kleene` | the Kleene part that may be shared, such as `B+` |
| `burst` | number of the first burst within its window, from 0; NULL in a summary |
| `bursts` | how many equal decisions the row stands for, 1 or more |
| `events` | of these bursts |
| `candidates` | names of the queries that could share, with ", " between them |
| `queries` | those that share: sets of names, ", " inside a set and "; " between sets; "" if nobody shares |
| `outcome` | what became of the graphlets: a value of `hamlet_core.sharing.burst.Outcome` |
| `reason` | why, for people |
| `snapshots_created`, `snapshots_carried` | summed over the bursts |
| `cost_shared`, `cost_alone` | predicted, of sharing and of every query by itself, in units of the cost model; summed |

`hamlet_core.sharing.log.summarised` makes summaries, and says which other columns are NULL in coarse ones. Engines that
share nothing leave the log empty. A pass over one class and kind of window keeps 16,384 rows; behind them it adds up
decisions by outcome and reason: then `pane` is that of the first, and `queries` is NULL where some shared.
"""


@dataclass(frozen=True, slots=True)
class PartialRow:
    """The element of one (query, window, group), on its way to being added to others."""

    query: str
    window_start: int
    window_end: int
    group_key: str
    element: Element
    units: tuple[tuple[str, str, int], ...]
    """(attribute, kind, scale) of the columns the aggregates read."""
    arithmetic: str
    """The name of the arithmetic the element is made of."""
    aggregates: tuple[str, ...]
    """The labels of what the element is the running total of."""


def result_schema(time_type: pa.DataType) -> pa.Schema:
    """The columns of result rows; `time_type` is int64 or timestamp[us, UTC]."""
    return pa.schema(
        [
            pa.field("query", pa.string(), nullable=False),
            pa.field("window_start", time_type, nullable=False),
            pa.field("window_end", time_type, nullable=False),
            pa.field("group_key", pa.string(), nullable=False),
            pa.field("aggregate", pa.string(), nullable=False),
            pa.field("value", pa.float64()),
            pa.field("sign", pa.int8()),
            pa.field("log2", pa.float64()),
            pa.field("exact", pa.string()),
            pa.field("fingerprint", pa.int64()),
        ]
    )


def decision_table(parts: Sequence[pa.Table]) -> pa.Table:
    """The parts of a decision log as one table."""
    return pa.concat_tables([pa.Table.from_batches([], DECISION_SCHEMA), *parts])


def partial_table(rows: Iterable[PartialRow]) -> pa.Table:
    """Partial rows as a table of `PARTIAL_SCHEMA`."""
    columns: list[list[Any]] = [[], [], [], [], []]
    for row in rows:
        plain = (row.element, row.units, row.arithmetic, row.aggregates)
        state = pickle.dumps(plain, protocol=pickle.HIGHEST_PROTOCOL)
        values = (row.query, row.window_start, row.window_end, row.group_key, state)
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    arrays = [of_list(column, field.type) for column, field in zip(columns, PARTIAL_SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=PARTIAL_SCHEMA)


def check_partials(partials: object, names: Iterable[str]) -> None:
    """Refuse a table that holds no partial rows, or those of queries that are not among `names` (E215)."""
    hint = "give what partials() returned for the same workload, concatenated"
    if not isinstance(partials, pa.Table):
        message = f"partial results cannot be of class {type(partials).__qualname__}"
        raise StreamError(message, code="E215", hint=hint)
    missing = [name for name in PARTIAL_SCHEMA.names if name not in partials.column_names]
    if missing:
        message = f"the table of partial results has no column {', '.join(missing)}"
        raise StreamError(message, code="E215", hint=hint)
    strange = sorted(set(partials["query"].unique().to_pylist()) - set(names))
    if strange:
        message = f"partial results of {', '.join(strange)}: the workload has no query of that name"
        raise StreamError(message, code="E215", hint=hint)


def merged_rows(partials: pa.Table, shapes: Mapping[str, Shape], arithmetic: Arithmetic) -> list[PartialRow]:
    """Partial rows with those of the same (query, window, group) added up, in the order of results."""
    found: dict[tuple[str, int, int, str], PartialRow] = {}
    for row in partials.select(PARTIAL_SCHEMA.names).to_pylist():
        key = (row["query"], row["window_start"], row["window_end"], row["group_key"])
        state = pickle.loads(row["state"])  # noqa: S301 - our own state, made by `partial_table` in a task of the same run
        new = PartialRow(*key, *state)
        _check_state(new, shapes[new.query], arithmetic)
        known = found.get(key)
        if known is not None:
            new = replace(new, element=shapes[new.query].plus(known.element, new.element, arithmetic))
        found[key] = new
    order = {name: place for place, name in enumerate(shapes)}
    return [found[key] for key in sorted(found, key=lambda key: (order[key[0]], *key[1:]))]


def _check_state(row: PartialRow, shape: Shape, arithmetic: Arithmetic) -> None:
    """Refuse a state of another arithmetic, or of a query that returns other aggregates (E215)."""
    if row.arithmetic != arithmetic.name:
        message = f"partial results of {row.query} are of {row.arithmetic} arithmetic, not {arithmetic.name}"
        hint = f"say arithmetic={row.arithmetic!r}, as in the call of partials()"
        raise StreamError(message, code="E215", hint=hint)
    if row.aggregates != tuple(aggregate.label for aggregate in shape.aggregates):
        message = f"partial results of {row.query} are of other aggregates than the query returns"
        hint = "give what partials() returned for the same workload, concatenated"
        raise StreamError(message, code="E215", hint=hint)


def result_table(
    rows: Iterable[PartialRow], shapes: Mapping[str, Shape], arithmetic: Arithmetic, time_type: pa.DataType
) -> pa.Table:
    """One result row per partial row and aggregate."""
    schema = result_schema(time_type)
    columns: list[list[Any]] = [[] for _ in schema]
    for row in rows:
        shape = shapes[row.query]
        units = {name: Unit(Kind[kind], scale) for name, kind, scale in row.units}
        measures = shape.measures(row.element, units, arithmetic)
        for aggregate, measure in zip(shape.aggregates, measures, strict=True):
            head = (row.query, row.window_start, row.window_end, row.group_key, aggregate.label)
            shown = (measure.value, measure.sign, measure.log2, measure.exact, measure.fingerprint)
            for column, value in zip(columns, (*head, *shown), strict=True):
                column.append(value)
    arrays = [of_list(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)
