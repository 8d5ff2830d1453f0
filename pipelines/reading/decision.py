"""The decision: evidence of columns in, one type a column out.

A column is a number, a time or a boolean if at least 90 % of its non-empty values read as such, else a string; the
other values go to quarantine. Integers become int64 unless a value is written as a real (`1.5`, `1e5`): then all are
double. Integers beyond int64 are rejected in an int64 column; if more than one in ten is, the column holds
identifiers and is a string. A JSON string is a number only where one is asked for. A declared type (Parquet) wins
over the values of text files; of declared types that do not go together, the one with most rows.

Where a query can only use numbers, half of the values suffice: those that are none go to quarantine, with their rows. A
column with fewer is what its values say, and the query is refused: hardly a row would be left.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from hamlet_core.errors import StreamError
from pipelines.reading.columns import ColumnOptions
from pipelines.reading.declared import unified
from pipelines.reading.evidence import DEFAULT, Evidence, evidence, merge
from pipelines.reading.observation import ColumnEvidence
from pipelines.reading.reasons import NO_SUCH_COLUMN
from pipelines.reading.sources import SourceFile
from pipelines.reading.values import TIMESTAMP

SHARE = 0.9
"""A type needs at least this share of the non-empty values."""

ASKED_SHARE = 0.5
"""And this one if a query asks for numbers."""


def decide(
    found: Evidence, options: ColumnOptions = DEFAULT, numeric: frozenset[str] = frozenset()
) -> pa.Schema:
    """One type a column; `numeric` columns, which queries can use only as numbers, are so sooner than others.

    Raises `StreamError` E451 if no file has the time or type column. No columns at all (only empty files): a schema
    without fields.
    """
    require_columns([column.name for column in found.columns], options)
    return pa.schema([(column.name, _type(column, options, numeric)) for column in found.columns])


def require_columns(names: Sequence[str], options: ColumnOptions) -> None:
    """Raise `StreamError` E451 if the time or the type column is not among the names, of which there are some."""
    for needed in (options.time_column, options.type_column):
        if names and needed is not None and needed not in names:
            raise StreamError(
                f"no file has a column {needed!r}",
                code=NO_SUCH_COLUMN,
                hint=f"columns are {', '.join(names)}; name the right one with --time and --type",
            )


def infer_columns(
    files: Sequence[SourceFile],
    numeric: frozenset[str] = frozenset(),
    options: ColumnOptions = DEFAULT,
) -> pa.Schema:
    """`decide(merge(evidence(file) for file in files))`."""
    return decide(merge(evidence(file, options, numeric) for file in files), options, numeric)


def _type(column: ColumnEvidence, options: ColumnOptions, numeric: frozenset[str]) -> pa.DataType:
    if column.name == options.type_column:
        return pa.string()
    if column.name == options.time_column:
        return _time_type(column)
    declared = unified(column.declared) if column.declared else None
    if declared is not None and (pa.types.is_integer(declared) or _is_real(declared)):
        return declared
    if column.name in numeric and _numbers(column) + column.specials >= ASKED_SHARE * _values(column):
        return _number_type(column)
    return declared if declared is not None else _free_type(column)


def _is_real(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _time_type(column: ColumnEvidence) -> pa.DataType:
    """The kind of time that most values are; integers, if there is none."""
    kinds = {pa.int64(): 0, TIMESTAMP: 0, pa.date32(): 0}
    for name, rows in column.declared:
        kind = unified(((name, rows),))
        if kind in kinds:
            kinds[kind] += max(rows, 1)
        elif _is_real(kind):
            kinds[pa.int64()] += max(rows, 1)
    kinds[pa.int64()] += column.integers + column.huge + column.reals
    kinds[TIMESTAMP] += column.timestamps
    kinds[pa.date32()] += column.dates
    # A date reads as a timestamp too, so the two stand together against integers.
    if kinds[TIMESTAMP]:
        kinds[TIMESTAMP] += kinds.pop(pa.date32())
    return max(kinds, key=lambda kind: kinds[kind])


def _numbers(column: ColumnEvidence) -> int:
    """How many values read as finite numbers."""
    return column.integers + column.huge + column.reals


def _values(column: ColumnEvidence) -> int:
    """How many values are not empty."""
    times = column.dates + column.timestamps
    return _numbers(column) + column.specials + times + column.booleans + column.texts


def _number_type(column: ColumnEvidence) -> pa.DataType:
    mostly_huge = column.huge > (1 - SHARE) * (column.integers + column.huge)
    return pa.float64() if column.reals or mostly_huge else pa.int64()


def _free_type(column: ColumnEvidence) -> pa.DataType:
    numbers, times, total = _numbers(column), column.dates + column.timestamps, _values(column)
    if numbers and numbers + column.specials >= SHARE * total:
        kind = _number_type(column)
        return pa.string() if kind == pa.float64() and not column.reals else kind
    if times and times >= SHARE * total:
        return TIMESTAMP if column.timestamps else pa.date32()
    if column.booleans and column.booleans >= SHARE * total:
        return pa.bool_()
    return pa.string()
