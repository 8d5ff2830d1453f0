"""The decision: evidence of columns in, one type a column out.

A column has the type that is declared for it. Else it is a number, a time or a boolean if at least 90 % of its non-empty
values read as such, else a string; the other values do not fit. Integers become int64 unless a value is written as a
real (`1.5`, `1e5`): then all are double. Integers beyond int64 do not fit an int64 column; if more than one in ten is,
the column holds identifiers and is a string. A JSON string is never a number, but as a time. The type of a Parquet
column wins over the values of text files; of several such types that do not go together, the one with most rows. A
column without a value has the type that queries want of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence

import pyarrow as pa

from hamlet_core.errors import QueryMeaningError, StreamError
from hamlet_core.threads import Crew
from pipelines.reading.columns import TYPES, ColumnOptions
from pipelines.reading.declared import unified
from pipelines.reading.evidence import DEFAULT, Evidence, evidence, merge
from pipelines.reading.observation import ColumnEvidence
from pipelines.reading.reasons import NO_SUCH_COLUMN
from pipelines.reading.sources import SourceFile
from pipelines.reading.values import TIMESTAMP

SHARE = 0.9
"""A type needs at least this share of the non-empty values."""


def decide(
    found: Evidence,
    options: ColumnOptions = DEFAULT,
    numeric: Collection[str] = (),
    known: Collection[str] = (),
) -> pa.Schema:
    """One type a column; of those that are empty, `numeric` ones are numbers.

    Raises `StreamError` E451 if no file has a column that the options name; those in `known` are there already. No
    columns at all (only empty files): a schema without fields.
    """
    require_columns([column.name for column in found.columns], options, known)
    return typed_as(found, options, numeric)


def typed_as(found: Evidence, options: ColumnOptions = DEFAULT, numeric: Collection[str] = ()) -> pa.Schema:
    """As `decide`, whatever columns there are."""
    return pa.schema([(column.name, _type(column, options, numeric)) for column in found.columns])


def require_columns(names: Sequence[str], options: ColumnOptions, known: Collection[str] = ()) -> None:
    """Raise `StreamError` E451 if a column that the options name is not among the names, of which there are some."""
    if not names:
        return
    for needed in options.roles:
        if needed not in names:
            raise _no_column(needed, names, "; name the right one with --time and --type")
    for needed in options.named:
        if needed not in names and needed not in known:
            raise _no_column(needed, names, "")


def _no_column(name: str, names: Sequence[str], way: str) -> StreamError:
    hint = f"columns are {', '.join(names)}{way}"
    return StreamError(f"no file has a column {name!r}", code=NO_SUCH_COLUMN, hint=hint)


def about_texts(found: Evidence, types: pa.Schema, wanted: Iterable[str]) -> str:
    """What to do about a wanted column of numbers that is strings although it holds some, for people; else nothing."""
    columns = {column.name: column for column in found.columns}
    for name in sorted(columns.keys() & set(wanted) & set(types.names)):
        many, everything = _numbers(columns[name]), _values(columns[name])
        if many and pa.types.is_string(types.field(name).type):
            return (
                f"{many:,} of the {everything:,} values of {name} are numbers: declared as double (--column {name}=double, "
                f"or columns in pipeline.yaml), it costs the others their rows"
            )
    return ""


@contextlib.contextmanager
def explained(hint: str) -> Iterator[None]:
    """Say this, too, where a query wants numbers of a column of strings."""
    try:
        yield
    except QueryMeaningError as error:
        if error.code == "E135" and hint:
            error.hint = f"{error.hint}; {hint}"
        raise


def infer_columns(
    files: Sequence[SourceFile],
    options: ColumnOptions = DEFAULT,
    numeric: Collection[str] = (),
    crew: Crew | None = None,
) -> pa.Schema:
    """`decide(merge(evidence(file) for file in files))`."""
    return decide(merge(evidence(file, options, crew) for file in files), options, numeric)


def _type(column: ColumnEvidence, options: ColumnOptions, numeric: Collection[str]) -> pa.DataType:
    if column.name == options.type_column:
        return pa.string()
    if (name := dict(options.types).get(column.name)) is not None:
        return TYPES[name]
    if column.name == options.time_column:
        return TIMESTAMP if options.time_format is not None else _time_type(column)
    if not column.present and column.name in numeric:
        return pa.float64()
    return unified(column.declared) if column.declared else _free_type(column)


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
