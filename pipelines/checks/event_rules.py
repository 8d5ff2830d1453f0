"""What must hold of the rows of `events`, whoever wrote them, and what a user expects of them.

Late rows and equal rows are legitimate: events may come in any order, and two equal ones are two events. So the order of
time is asked of each row alone, and copies only where a user says that there are none.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime

import pyarrow as pa

from pipelines.checks.rules import NotNullRule, RowRule, Rule, TypeRule, UniqueRule
from pipelines.expectations import Bound, ColumnExpectation, ColumnType, Expectations, instant, unfit
from pipelines.reading import ColumnOptions
from pipelines.steps.layout import Layout
from resources import tables
from resources.sql import literal, quoted

_CLASSES = {
    ColumnType.INTEGER: ("LongType",),
    ColumnType.DOUBLE: ("DoubleType",),
    ColumnType.DECIMAL: ("DecimalType",),
    ColumnType.NUMBER: ("LongType", "DoubleType", "DecimalType"),
    ColumnType.STRING: ("StringType",),
    ColumnType.BOOLEAN: ("BooleanType",),
    ColumnType.TIMESTAMP: ("TimestampType",),
    ColumnType.DATE: ("DateType",),
}
_OWN_TYPES = {
    "event_time": "TimestampType",
    "event_type": "StringType",
    "source_file": "StringType",
    "ingested_at": "TimestampType",
    "day": "DateType",
    "bucket": "IntegerType",
}


def event_rules(
    columns: pa.Schema, properties: Mapping[str, str], expectations: Expectations = Expectations()
) -> tuple[Rule, ...]:
    """The rules for a table with these columns and properties.

    Raises ExpectationError (E536) for an expectation on a column that is not there, or is of another kind.
    """
    layout = Layout.of(dict(properties))
    return (
        *(
            TypeRule(name, f"{name} is a {class_.removesuffix('Type').lower()}", (class_,))
            for name, class_ in _OWN_TYPES.items()
        ),
        *(NotNullRule(name) for name in ("event_time", "event_type", "source_file", "ingested_at")),
        RowRule("day fits time", "the day of a row is the UTC day of its time", "day = to_date(event_time)"),
        RowRule(
            "bucket fits key",
            "the bucket of a row is the hash of its key: queries are computed bucket by bucket",
            f"bucket = {_bucket(layout)}",
        ),
        RowRule(
            "years 1 to 9999",
            "times are in years that every reader knows",
            "event_time >= TIMESTAMP '0001-01-01' AND event_time < TIMESTAMP '+10000-01-01'",
        ),
        *_from_source(columns, properties),
        *_finite(columns),
        *(replace(rule, declared=True) for rule in _expected(columns, expectations)),
    )


def _bucket(layout: Layout) -> str:
    if not layout.key:
        return "0"
    return f"pmod(xxhash64({', '.join(quoted(name) for name in layout.key)}), {layout.buckets})"


def _from_source(columns: pa.Schema, properties: Mapping[str, str]) -> Iterator[Rule]:
    """Time and type are those of the source's own columns."""
    read = json.loads(properties[tables.SOURCE_OPTIONS])
    name, kind = read["time"], quoted(read["type"]) if read["type"] else None
    if name in columns.names:
        time = quoted(name)
        if pa.types.is_integer(columns.field(name).type):
            unit = ColumnOptions(time_unit=read["time_unit"]).microseconds_per_unit
            time = f"timestamp_micros(try_multiply({time}, {unit}L))"
        holds = f"event_time = CAST({time} AS TIMESTAMP)"
        yield RowRule("time fits source", f"event_time is the time in the column {name}", holds)
    type_ = kind or literal(read["type_value"])
    where = f"the one in the column {read['type']}" if kind else repr(read["type_value"])
    yield RowRule("type fits source", f"event_type is {where}", f"event_type = CAST({type_} AS STRING)")


def _finite(columns: pa.Schema) -> tuple[Rule, ...]:
    """NaN and infinity are bad data: no query may meet them."""
    names = [quoted(field.name) for field in columns if pa.types.is_floating(field.type)]
    holds = " AND ".join(f"({name} IS NULL OR abs({name}) < double('infinity'))" for name in names)
    return (RowRule("numbers are finite", "no number is NaN or infinite", holds),) if names else ()


def _expected(columns: pa.Schema, expectations: Expectations) -> Iterator[Rule]:
    """The rules that a user has declared."""
    for one in expectations.columns:
        _refuse_absent(one.column, columns)
        yield from _of_column(one, columns.field(one.column).type)
    for key in expectations.unique:
        for name in key:
            _refuse_absent(name, columns)
        shown = ", ".join(key)
        yield UniqueRule(f"{shown} unique", f"no two events agree on {shown}", key)
    if expectations.most_duplicates < 1:
        yield _few_copies(columns, expectations.most_duplicates)
    if expectations.ahead is not None:
        seconds = expectations.ahead.total_seconds()
        yield RowRule(
            "not ahead of its ingest",
            f"no event lies more than {expectations.ahead} after its ingest",
            f"try_subtract(unix_micros(event_time), unix_micros(ingested_at)) <= {round(seconds * 1_000_000)}",
        )


def _refuse_absent(name: str, columns: pa.Schema) -> None:
    if name not in columns.names:
        raise unfit(name, f"events have no such column, only {', '.join(columns.names)}")


def _of_column(one: ColumnExpectation, kind: pa.DataType) -> Iterator[Rule]:
    if one.type is not None:
        article = "an" if one.type is ColumnType.INTEGER else "a"
        yield TypeRule(one.column, f"{one.column} is {article} {one.type}", _CLASSES[one.type])
    name = quoted(one.column)
    ends = [
        f"{name} {sign} {_literal(one.column, bound, kind)}"
        for sign, bound in ((">=", one.low), ("<=", one.high))
        if bound is not None
    ]
    if ends:
        shown = " to ".join("..." if bound is None else str(bound) for bound in (one.low, one.high))
        holds = f"{name} IS NULL OR ({' AND '.join(ends)})"
        yield RowRule(f"range of {one.column}", f"{one.column} lies in {shown}", holds, column=one.column)
    if one.most_null < 1:
        says = f"no more than {one.most_null:.4g} of the rows have no value in {one.column}"
        yield RowRule(
            f"values in {one.column}", says, f"{name} IS NOT NULL", 1 - one.most_null, column=one.column
        )


def _literal(column: str, bound: Bound, kind: pa.DataType) -> str:
    """A bound as Spark SQL; only numbers and times get here, never text."""
    if isinstance(bound, int | float):
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            raise unfit(column, f"the bound {bound!r} is a number, the column is {kind}")
        return f"{bound!r}D" if isinstance(bound, float) else f"({bound})"
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise unfit(column, f"the bound {bound} is a time, the column is {kind}")
    assert isinstance(bound, datetime | date)  # noqa: S101 - for mypy
    return f"TIMESTAMP '{instant(bound).isoformat(sep=' ')}'"


def _few_copies(columns: pa.Schema, most: float) -> Rule:
    """Copies are found by a hash of 64 bits over the columns of the source."""
    ours = {column.name for column in tables.EVENT_COLUMNS}
    names = [name for name in columns.names if name not in ours]
    parts = ", ".join(f"{quoted(name)} IS NULL, {quoted(name)}" for name in names)
    hashed = f"xxhash64({parts})"
    return RowRule(
        "few copies",
        f"no more than {most:.4g} of the events are copies of another one",
        f"row_number() OVER (PARTITION BY {hashed} ORDER BY {hashed}) = 1",
        1 - most,
    )
