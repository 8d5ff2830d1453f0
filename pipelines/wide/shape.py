"""A wide table of one query: its columns, and where the values of each come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from hamlet_core import EventSchema, QueryPlan
from hamlet_core.language.syntax import Aggregate, AggregateFunction
from resources import tables
from resources.tables import Column, Table

_WINDOW = ("window_start", "window_end")
_WITH_LOG2 = (AggregateFunction.COUNT, AggregateFunction.SUM, AggregateFunction.REACH)


@dataclass(frozen=True, slots=True)
class Kept:
    """A column of `trend_aggregates`, as it stands there."""

    name: str


@dataclass(frozen=True, slots=True)
class Grouped:
    """The value of a GROUP-BY attribute, out of `group_key`."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Measured:
    """What `field` (value, log2 or exact) says of an aggregate."""

    aggregate: str
    field: str


Origin: TypeAlias = Kept | Grouped | Measured


@dataclass(frozen=True, slots=True)
class WideShape:
    """The wide table of one query; an origin for each column."""

    query: str
    table: Table
    origins: tuple[Origin, ...]

    @property
    def group_by(self) -> frozenset[str]:
        """The GROUP-BY attributes."""
        return frozenset(one.attribute for one in self.origins if isinstance(one, Grouped))


def wide_shape(
    plan: QueryPlan,
    table: Table,
    groups: Mapping[str, pa.DataType],
    time_type: pa.DataType = tables.TIMESTAMP,
    *,
    exact: bool,
) -> WideShape:
    """The table with columns of window, groups (of these types) and aggregates before those that it has.

    The columns of the table stand in the rows of results under their names, which they keep, as attributes do.
    """
    taken = {name.lower() for name in (*_WINDOW, *(column.name for column in table.columns))}
    own = tuple(_columns(plan, groups, time_type, taken, exact=exact))
    origins = (*(origin for _, origin in own), *(Kept(column.name) for column in table.columns))
    columns = (*(column for column, _ in own), *table.columns)
    return WideShape(plan.name, replace(table, columns=columns), origins)


def group_types(plan: QueryPlan, events: pa.Schema, schema: EventSchema) -> dict[str, pa.DataType]:
    """The types that GROUP-BY attributes have in the events; `time` and `type` may mean the columns that hold them."""
    return {attribute: _type_of(attribute, events, schema) for attribute in plan.group_by}


def _type_of(attribute: str, events: pa.Schema, schema: EventSchema) -> pa.DataType:
    column: str | None = attribute
    if attribute not in events.names and attribute in ("time", "type"):
        column = schema.time if attribute == "time" else schema.type
    return pa.string() if column is None else events.field(column).type


def _columns(
    plan: QueryPlan,
    groups: Mapping[str, pa.DataType],
    time_type: pa.DataType,
    taken: set[str],
    *,
    exact: bool,
) -> Iterator[tuple[Column, Origin]]:
    ours = {column.name: column for column in tables.RESULT_COLUMNS}
    for name in _WINDOW:
        yield replace(ours[name], type=time_type), Kept(name)
    for attribute, name in _attribute_names(plan.group_by, taken).items():
        yield Column(name, groups[attribute], f"GROUP-BY attribute {attribute}"), Grouped(attribute)
    for aggregate in plan.query.aggregates:
        yield from _aggregate(aggregate, taken, exact=exact)


def _attribute_names(group_by: tuple[str, ...], taken: set[str]) -> dict[str, str]:
    """Attributes keep their names; those called like a column of ours are told apart by `group_`."""
    kept = {name: name for name in group_by if name.lower() not in taken}
    taken |= {name.lower() for name in kept}
    return {name: kept.get(name) or _free(f"group_{name}", taken) for name in dict.fromkeys(group_by)}


def _aggregate(aggregate: Aggregate, taken: set[str], *, exact: bool) -> Iterator[tuple[Column, Origin]]:
    label, subject = aggregate.label, aggregate.subject
    over = (aggregate.alias, aggregate.attribute) if subject is None else (subject.value.lower(),)
    parts = (aggregate.function.value.lower(), *over)
    name = _free("_".join(re.sub(r"\W", "_", part) for part in parts if part), taken)
    yield Column(name, pa.float64(), label), Measured(label, "value")
    if aggregate.function in _WITH_LOG2:
        comment = f"log2 of the absolute value of {label}, finite however large it is"
        yield Column(_free(f"{name}_log2", taken), pa.float64(), comment), Measured(label, "log2")
    if exact:
        comment = f"all digits of {label}"
        yield Column(_free(f"{name}_exact", taken), pa.string(), comment), Measured(label, "exact")


def _free(wanted: str, taken: set[str]) -> str:
    """The name, with a number where another column has it; readers of SQL do not tell upper and lower case."""
    name, number = wanted, 1
    while name.lower() in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name.lower())
    return name
