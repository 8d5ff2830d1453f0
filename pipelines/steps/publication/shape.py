"""The wide table of a query: its name in SQL, its columns, and where the values of each come from."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from hamlet_core import QueryPlan
from hamlet_core.language.syntax import Aggregate, AggregateFunction
from pipelines.settings import JobSettings
from resources import tables
from resources.tables import Column, Table

_PLAIN = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_LONGEST = 40
_LEADING = ("window_start", "window_end")
_TRAILING = ("day", "workload", "workload_hash", "run_id", "events_version")
_BEYOND_DOUBLES = (AggregateFunction.COUNT, AggregateFunction.SUM)


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


def wide_shapes(settings: JobSettings, events: pa.Schema) -> tuple[WideShape, ...]:
    """The wide table of each query of the workload, in their order; `events` is the schema of that table."""
    return tuple(_shape(settings, plan, events) for plan in settings.workload.plans)


def _shape(settings: JobSettings, plan: QueryPlan, events: pa.Schema) -> WideShape:
    columns = tuple(_columns(settings, plan, events))
    name = wide_name(settings.workload.name, plan.name)
    comment = (
        f"Query {plan.name} of workload {settings.workload.name}: one row per window and group, checked."
    )
    properties = ((tables.WORKLOAD, settings.workload.name), (tables.QUERY, plan.name))
    table = Table(name, comment, tuple(column for column, _ in columns), properties=properties)
    return WideShape(plan.name, table, tuple(origin for _, origin in columns))


def _columns(settings: JobSettings, plan: QueryPlan, events: pa.Schema) -> Iterator[tuple[Column, Origin]]:
    """Window, groups, aggregates, provenance; ours and attributes have the first choice of names."""
    ours = {column.name: column for column in tables.RESULT_COLUMNS}
    taken = {name.lower() for name in (*_LEADING, *_TRAILING)}
    for name in _LEADING:
        yield ours[name], Kept(name)
    for attribute, name in _attribute_names(plan.group_by, taken).items():
        kind = _attribute_type(settings, attribute, events)
        yield Column(name, kind, f"GROUP-BY attribute {attribute}"), Grouped(attribute)
    exact = settings.execute.arithmetic == "exact"
    for aggregate in plan.query.aggregates:
        yield from _aggregate(aggregate, taken, exact=exact)
    for name in _TRAILING:
        yield ours[name], Kept(name)


def _attribute_names(group_by: tuple[str, ...], taken: set[str]) -> dict[str, str]:
    """Attributes keep their names; those called like a column of ours are told apart by `group_`."""
    kept = {name: name for name in group_by if name.lower() not in taken}
    taken |= {name.lower() for name in kept}
    return {name: kept.get(name) or _free(f"group_{name}", taken) for name in dict.fromkeys(group_by)}


def _attribute_type(settings: JobSettings, attribute: str, events: pa.Schema) -> pa.DataType:
    """The type that the attribute has in `events`; `time` and `type` may mean the columns that hold them."""
    schema = settings.event_schema
    column: str | None = attribute
    if attribute not in events.names and attribute in ("time", "type"):
        column = schema.time if attribute == "time" else schema.type
    return pa.string() if column is None else events.field(column).type


def _aggregate(aggregate: Aggregate, taken: set[str], *, exact: bool) -> Iterator[tuple[Column, Origin]]:
    label = aggregate.label
    parts = (aggregate.function.value.lower(), aggregate.alias, aggregate.attribute)
    name = _free("_".join(re.sub(r"\W", "_", part) for part in parts if part), taken)
    yield Column(name, pa.float64(), label), Measured(label, "value")
    if aggregate.function in _BEYOND_DOUBLES:
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


def wide_name(workload: str, query: str) -> str:
    """The name of a query's wide table: typed without quotes, the same in every run, no other query's.

    Names that are lower-case words stand as they are; others are simplified, and a digest keeps them apart.

    >>> wide_name("ride_sharing", "slowing_down")
    'ride_sharing__slowing_down'
    >>> wide_name("for-hire.v2", "Größe")
    'for_hire_v2__grosse__393dbb0fdc'
    """
    if _is_plain(workload) and _is_plain(query):
        return f"{workload}__{query}"
    digest = hashlib.sha256(f"{len(workload)}:{workload}{query}".encode()).hexdigest()[:10]
    return f"{_simple(workload, 'workload')}__{_simple(query, 'query')}__{digest}"


def _is_plain(name: str) -> bool:
    return len(name) <= _LONGEST and _PLAIN.fullmatch(name) is not None


def _simple(name: str, otherwise: str) -> str:
    ascii_letters = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    words = re.sub(r"[^a-z0-9]+", "_", ascii_letters)[:_LONGEST].strip("_")
    return words if words[:1].isalpha() else f"{otherwise}_{words}".strip("_")
