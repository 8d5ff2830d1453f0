"""What type a column has: evidence of one file, evidence added up, and the decision.

A text file gives counts of what its values read as; a Parquet file gives its declared types. A column is a number, a
time or a boolean if at least 90 % of its non-empty values read as such, else a string; the others go to quarantine.
Integers become int64 unless a value is written as a real (`1.5`, `1e5`): then all are double. Integers beyond int64
are rejected in an int64 column; if more than one in ten is, the column holds identifiers and is a string. A JSON
string is a number only where one is asked for. A declared type (Parquet) wins over the values of text files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.errors import StreamError
from pipelines.reading.chunks import Chunk, UnreadableFileError
from pipelines.reading.columns import ColumnOptions
from pipelines.reading.csv_text import read_csv
from pipelines.reading.declared import plain_type, unified
from pipelines.reading.json_lines import read_json
from pipelines.reading.parquet_files import declared_schema, read_parquet
from pipelines.reading.reasons import NO_SUCH_COLUMN
from pipelines.reading.sources import Format, SourceFile
from pipelines.reading.typed import utf8_texts
from pipelines.reading.values import (
    BOOLEAN_TEXT,
    DATE_TEXT,
    INTEGER_TEXT,
    NUMBER_TEXT,
    SPECIAL_TEXT,
    TIMESTAMP,
    TIMESTAMP_TEXT,
    has_hexadecimal,
    matches,
    trimmed,
)

SHARE = 0.9
"""A type needs at least this share of the non-empty values."""

DEFAULT = ColumnOptions()
INT64_LIMIT = 2**63
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ColumnEvidence:
    """How many non-empty values of a column read as what (text files), and the declared types (Parquet)."""

    name: str
    integers: int = 0
    """Integers that fit 64 bits."""
    huge: int = 0
    """Integers that do not."""
    reals: int = 0
    """Numbers with a point or an exponent."""
    specials: int = 0
    """NaN and infinities."""
    booleans: int = 0
    """true and false."""
    dates: int = 0
    """ISO dates."""
    timestamps: int = 0
    """ISO dates with a time."""
    texts: int = 0
    """Everything else."""
    declared: tuple[tuple[str, int], ...] = ()
    """(type, rows) of Parquet files."""

    def plus(self, other: ColumnEvidence) -> ColumnEvidence:
        """Evidence of both."""
        summed = {
            field.name: getattr(self, field.name) + getattr(other, field.name)
            for field in fields(self)
            if field.name not in ("name", "declared")
        }
        return replace(self, **summed, declared=self.declared + other.declared)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the columns of some files, in order of first appearance; a plain value that pickles."""

    columns: tuple[ColumnEvidence, ...] = ()


def evidence(
    file: SourceFile, options: ColumnOptions = DEFAULT, numeric: frozenset[str] = frozenset()
) -> Evidence:
    """Look at all values of one file (Parquet: at its schema); an unreadable file gives what was seen before."""
    found: dict[str, ColumnEvidence] = {}
    asked = numeric | {options.time_column}
    try:
        for column in _seen(file, asked):
            known = found.get(column.name)
            found[column.name] = known.plus(column) if known else column
    except (UnreadableFileError, OSError):
        pass  # `read_file` reports it.
    return Evidence(tuple(found.values()))


def merge(evidences: Iterable[Evidence]) -> Evidence:
    """Add evidence up; the order of columns is that of first appearance."""
    found: dict[str, ColumnEvidence] = {}
    for one in evidences:
        for column in one.columns:
            known = found.get(column.name)
            found[column.name] = known.plus(column) if known else column
    return Evidence(tuple(found.values()))


def decide(
    found: Evidence, options: ColumnOptions = DEFAULT, numeric: frozenset[str] = frozenset()
) -> pa.Schema:
    """One type a column; `numeric` columns are int64, double or decimal whatever their values.

    Raises `StreamError` E451 if no file has the time or type column. No columns at all (only empty files): a schema
    without fields.
    """
    names = [column.name for column in found.columns]
    for needed in (options.time_column, options.type_column):
        if names and needed is not None and needed not in names:
            raise StreamError(
                f"no file has a column {needed!r}",
                code=NO_SUCH_COLUMN,
                hint=f"columns are {', '.join(names)}; name the right one with --time and --type",
            )
    return pa.schema([(column.name, _type(column, options, numeric)) for column in found.columns])


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
    if column.name in numeric:
        is_number = declared is not None and (pa.types.is_integer(declared) or _is_real(declared))
        return declared if is_number else _number_type(column)
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


def _number_type(column: ColumnEvidence) -> pa.DataType:
    mostly_huge = column.huge > (1 - SHARE) * (column.integers + column.huge)
    return pa.float64() if column.reals or mostly_huge else pa.int64()


def _free_type(column: ColumnEvidence) -> pa.DataType:
    whole = column.integers + column.huge
    numbers = whole + column.reals
    times = column.dates + column.timestamps
    total = numbers + column.specials + times + column.booleans + column.texts
    if numbers and numbers + column.specials >= SHARE * total:
        kind = _number_type(column)
        return pa.string() if kind == pa.float64() and not column.reals else kind
    if times and times >= SHARE * total:
        return TIMESTAMP if column.timestamps else pa.date32()
    if column.booleans and column.booleans >= SHARE * total:
        return pa.bool_()
    return pa.string()


def _seen(file: SourceFile, asked: frozenset[str] | set[str]) -> Iterator[ColumnEvidence]:
    """Evidence of one file, piece by piece."""
    match file.format:
        case Format.CSV:
            yield from _of_chunks(
                read_csv(file.path), lambda name, values: of_texts(name, utf8_texts(values))
            )
        case Format.JSON:
            yield from _of_chunks(
                read_json(file.path), lambda name, values: _of_objects(name, values, name in asked)
            )
        case Format.PARQUET:
            yield from _of_parquet(file.path, asked)


def _of_chunks(
    chunks: Iterable[Chunk], look: Callable[[str, object], ColumnEvidence]
) -> Iterator[ColumnEvidence]:
    for chunk in chunks:
        for name, values in chunk.columns.items():
            yield look(name, values)


def _of_parquet(path: str, asked: frozenset[str] | set[str]) -> Iterator[ColumnEvidence]:
    """Declared types; a string column that must be a number or a time is looked at."""
    schema, rows = declared_schema(path)
    for field in schema:
        kind = plain_type(field.type)
        if field.name in asked and pa.types.is_string(kind):
            yield ColumnEvidence(field.name)
            for chunk in read_parquet(path, [field.name]):
                yield of_texts(field.name, pc.cast(chunk.columns[field.name], pa.string()))
        else:
            yield ColumnEvidence(field.name, declared=((str(kind), rows),))


def of_texts(name: str, texts: pa.Array) -> ColumnEvidence:
    """Evidence of string values."""
    present = len(texts) - texts.null_count
    if not present:
        return ColumnEvidence(name)
    if _casts(texts, pa.int64()) and not has_hexadecimal(texts):
        return ColumnEvidence(name, integers=present)
    counted = pc.value_counts(pc.drop_null(trimmed(texts)))
    bare, counts = counted.field("values"), counted.field("counts").to_numpy()
    whole = matches(bare, INTEGER_TEXT)
    number = matches(bare, NUMBER_TEXT)
    special = matches(bare, SPECIAL_TEXT)
    boolean = matches(bare, BOOLEAN_TEXT)
    date = matches(bare, DATE_TEXT)
    time = matches(bare, TIMESTAMP_TEXT)
    huge = _huge(bare, whole)
    masks = {
        "integers": whole & ~huge,
        "huge": huge,
        "reals": number & ~whole,
        "specials": special,
        "booleans": boolean,
        "dates": date,
        "timestamps": time & ~date,
        "texts": ~(number | special | boolean | time),
    }
    return ColumnEvidence(name, **{kind: int(counts[mask].sum()) for kind, mask in masks.items()})


def _huge(bare: pa.Array, whole: Mask) -> Mask:
    """Where integers are beyond 64 bits; only long ones can be."""
    huge = np.zeros(len(bare), dtype=np.bool_)
    for place in np.flatnonzero(whole & (np.asarray(pc.utf8_length(bare)) > 18)):
        # Decimal, as `int` refuses thousands of digits.
        huge[place] = not -INT64_LIMIT <= Decimal(bare[int(place)].as_py()) < INT64_LIMIT
    return huge


def _casts(texts: pa.Array, kind: pa.DataType) -> bool:
    """Whether all values cast; a few first, as Arrow is slow to give up."""
    try:
        pc.cast(texts[:64], kind)
        pc.cast(texts, kind)
    except pa.ArrowInvalid:
        return False
    return True


def _of_objects(name: str, values: object, asked: bool) -> ColumnEvidence:
    """Evidence of parsed JSON values; strings are looked into for times, and for numbers where asked."""
    assert isinstance(values, list)
    strings = of_texts(name, pa.array([value for value in values if type(value) is str], pa.string()))
    if not asked:
        strings = ColumnEvidence(
            name,
            dates=strings.dates,
            timestamps=strings.timestamps,
            texts=strings.integers
            + strings.huge
            + strings.reals
            + strings.specials
            + strings.booleans
            + strings.texts,
        )
    whole = [value for value in values if type(value) is int]
    huge = sum(1 for value in whole if not -INT64_LIMIT <= value < INT64_LIMIT)
    real = [value for value in values if type(value) is float]
    odd = sum(1 for value in real if not np.isfinite(value))
    native = ColumnEvidence(
        name,
        integers=len(whole) - huge,
        huge=huge,
        reals=len(real) - odd,
        specials=odd,
        booleans=sum(1 for value in values if type(value) is bool),
        texts=sum(1 for value in values if isinstance(value, (dict, list))),
    )
    return strings.plus(native)
