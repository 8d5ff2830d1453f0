"""Typed rows of files: what can be read as the schema says, and what cannot, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hamlet_core.progress import Progress
from hamlet_core.table.arrow import of_numbers
from hamlet_core.table.columns import filled
from hamlet_core.threads import Crew, Piece, alone
from pipelines.reading.chunks import BrokenRecord, Chunk, Numbers, UnreadableFileError
from pipelines.reading.columns import ColumnOptions
from pipelines.reading.csv_text import read_csv
from pipelines.reading.evidence import Evidence, evidence, of_column
from pipelines.reading.json_lines import Values, read_json
from pipelines.reading.observation import ColumnEvidence, of_times
from pipelines.reading.parquet_files import read_parquet, scalar_text
from pipelines.reading.reasons import REJECTED_SCHEMA, Reason
from pipelines.reading.sources import Format, SourceFile
from pipelines.reading.typed import object_text, type_bytes, type_declared, type_objects
from pipelines.reading.values import (
    NOTHING,
    Codes,
    Column,
    code_of,
    no_codes,
    reason_of,
    trimmed,
    true_at,
)

TIME_LIMIT = 2**62
"""Microseconds from the epoch, to either side, that a time may have (146,000 years)."""

SHOWN_VALUE = 60
"""Characters of a value that a reason quotes."""

_WRONG = {
    Reason.INVALID_UTF8: "is not UTF-8",
    Reason.NOT_AN_INTEGER: "is not an integer",
    Reason.NOT_A_NUMBER: "is not a number",
    Reason.NOT_A_TIMESTAMP: "is not an ISO 8601 time",
    Reason.NOT_A_DATE: "is not an ISO 8601 date",
    Reason.NOT_A_BOOLEAN: "is neither true nor false",
    Reason.NOT_FINITE: "is not a finite number",
    Reason.OUT_OF_RANGE: "is out of range",
    Reason.TOO_FINE: "is finer than a microsecond",
    Reason.NOT_ONE_INSTANT: "is no single moment",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Some consecutive rows of a file: the good ones and their numbers in the file, the rejected ones, and faults."""

    good: pa.RecordBatch
    rejected: pa.RecordBatch
    numbers: Numbers
    faults: Mapping[str, int]
    """By column, values that do not fit it: each costs its event, or is left NULL."""


def read_file(
    file: SourceFile,
    schema: pa.Schema,
    options: ColumnOptions,
    read: frozenset[str] | None = None,
    crew: Crew | None = None,
    seen: list[Evidence] | None = None,
    *,
    founded: bool = False,
) -> Iterator[Rows]:
    """The rows of one file, in bounded memory; a crew types several chunks at once. What `evidence` finds in the file is appended
    to `seen` as it is read; where the schema is `founded`, it comes of the beginning of this very file, and what is as it says need not
    be looked at again: the evidence is another then, and what is decided by it is not.

    Good rows have exactly the columns and types of `schema` (NULL where the file lacks a column; a column that
    `schema` lacks is left out); rejected rows have `REJECTED_SCHEMA`, in the order of the file. A value that does not
    fit costs the event where its column is in `read` (None: all are), and is NULL elsewhere. Never raises for
    what a file contains: one that cannot be read at all gives one rejected row without a number.
    """
    judged = frozenset(name for name in schema.names if read is None or options.judges(name, read))
    crew = crew or alone()
    if seen is not None and file.format is Format.PARQUET:
        seen.append(evidence(file, options))

    def sorted_out(chunk: Chunk, _: Progress) -> tuple[Rows, Evidence]:
        columns = {field.name: _column(chunk, field, file.format, options) for field in schema}
        found: Iterable[ColumnEvidence] = ()
        if seen is not None and file.format is not Format.PARQUET:
            told = columns if founded else {}
            found = (_evidence(name, chunk.columns[name], told.get(name), options) for name in chunk.columns)
        return _sorted_out(chunk, columns, file, schema, options, judged), Evidence(tuple(found))

    try:
        # One without records has names of columns, which whoever looks at those wants.
        expected = _expected(schema, file.format, options) if founded or seen is None else NOTHING
        chunks = _chunks(file, crew, expected)
        some = (one for one in chunks if len(one.numbers) or one.broken or seen is not None)
        for rows, found in crew.each(Piece(partial(sorted_out, chunk)) for chunk in some):
            if seen is not None:
                seen.append(found)
            yield rows
    except (UnreadableFileError, OSError) as error:
        text = f"{error} ({file.size:,} bytes)"
        row = (file.name, None, None, text, Reason.UNREADABLE_FILE.value)
        yield Rows(_no_rows(schema), _rejected([row]), np.empty(0, np.int64), {})


def _evidence(
    name: str, values: pa.Array | Sequence[object] | Values, read: Column | None, options: ColumnOptions
) -> ColumnEvidence:
    """Evidence of some values, of which is known what they read as, unless `read` is None."""
    given = values.array if isinstance(values, Values) else values
    texts = isinstance(given, pa.Array) and given.type in (pa.binary(), pa.string())
    if texts and read is not None and read.codes is None and pa.types.is_temporal(read.values.type):
        return of_times(name, read.values)
    return of_column(name, values, options.time_column)


def _chunks(file: SourceFile, crew: Crew, expected: Mapping[str, pa.DataType]) -> Iterator[Chunk]:
    match file.format:
        case Format.CSV:
            return read_csv(file.path, crew=crew, expected=expected)
        case Format.JSON:
            return read_json(file.path, crew=crew, expected=expected)
        case Format.PARQUET:
            return read_parquet(file.path, constants=file.constants)


def _expected(schema: pa.Schema, form: Format, options: ColumnOptions) -> Mapping[str, pa.DataType]:
    """What Arrow may make of values at once. A time of a CSV file that is refused is shown as it is written."""
    if form is Format.CSV:
        numbers = (field for field in schema if field.type in (pa.int64(), pa.float64()))
        return {field.name: field.type for field in numbers if field.name != options.time_column}
    plain = pa.int64(), pa.float64(), pa.bool_()
    return {field.name: field.type if field.type in plain else pa.string() for field in schema}


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0, field.type) for field in schema], schema=schema)


def _rejected(rows: Sequence[tuple[str, int | None, str | None, str, str]]) -> pa.RecordBatch:
    if not rows:
        return _no_rows(REJECTED_SCHEMA)
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, REJECTED_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=REJECTED_SCHEMA)


def _sorted_out(
    chunk: Chunk,
    columns: Mapping[str, Column],
    file: SourceFile,
    schema: pa.Schema,
    options: ColumnOptions,
    judged: frozenset[str],
) -> Rows:
    """Part the rows of a chunk, whose columns are typed."""
    if not schema.names:
        return _without_columns(chunk, file, schema, options)
    blamed = [column.codes if name in judged else None for name, column in columns.items()]
    codes, guilty = _first_problems(blamed, len(chunk.numbers))
    kept = codes == 0
    faults = {
        name: int(np.count_nonzero(column.codes if name in judged else column.codes[kept]))
        for name, column in columns.items()
        if column.codes is not None and column.codes.any()
    }
    values = [column.values if name in judged else _left_empty(column) for name, column in columns.items()]
    good = pa.RecordBatch.from_arrays(values, schema=schema)
    bad = np.flatnonzero(codes)
    if not len(bad) and not chunk.broken:
        return Rows(good, _rejected(()), chunk.numbers, faults)
    rows = [
        BrokenRecord(
            int(chunk.numbers[place]),
            chunk.raw(int(place)),
            reason_of(int(codes[place])),
            _why(chunk, schema.field(int(guilty[place])), int(place), reason_of(int(codes[place])), options),
        )
        for place in bad
    ]
    ordered = sorted((*rows, *chunk.broken), key=lambda row: row.number)
    refused = [(file.name, row.number, row.raw, row.text, row.reason.value) for row in ordered]
    return Rows(good.filter(pa.array(kept)), _rejected(refused), chunk.numbers[kept], faults)


def _without_columns(chunk: Chunk, file: SourceFile, schema: pa.Schema, options: ColumnOptions) -> Rows:
    """Records of files in which no record has a value at all have no time."""
    why = f"no time: column {options.time_column} is empty"
    records = [
        (file.name, number, chunk.raw(place), why, Reason.MISSING_TIME.value)
        for place, number in enumerate(chunk.numbers.tolist())
    ]
    broken = [(file.name, one.number, one.raw, one.text, one.reason.value) for one in chunk.broken]
    refused = sorted([*records, *broken], key=lambda row: row[1])
    return Rows(_no_rows(schema), _rejected(refused), chunk.numbers[:0], {})


def _left_empty(column: Column) -> pa.Array:
    """The values that fit, NULL for the others."""
    if column.codes is None:
        return column.values
    return pc.if_else(of_numbers(column.codes == 0), column.values, pa.scalar(None, column.values.type))


def _first_problems(codes: Sequence[Codes | None], rows: int) -> tuple[Codes, npt.NDArray[np.int32]]:
    """The first problem of each row by order of the columns, and the column that has it."""
    first, guilty = no_codes(rows), np.zeros(rows, dtype=np.int32)
    for place, some in enumerate(codes):
        if some is not None:
            fresh = (first == 0) & (some != 0)
            first[fresh] = some[fresh]
            guilty[fresh] = place
    return first, guilty


def _column(chunk: Chunk, field: pa.Field, form: Format, options: ColumnOptions) -> Column:
    """One typed column of a chunk, with what its role asks for."""
    values = chunk.columns.get(field.name)
    column = Column(pa.nulls(len(chunk.numbers), field.type))
    clock = options.clock(field.name)
    if values is not None:
        match form:
            case Format.CSV:
                column = type_bytes(values, field.type, clock)
            case Format.JSON:
                column = type_objects(values, field.type, clock)
            case Format.PARQUET:
                as_name = field.name == options.type_column or (field.name, "string") in options.types
                column = type_declared(values, field.type, clock, as_name=as_name)
    if field.name == options.time_column:
        return _required(_in_range(column, options), Reason.MISSING_TIME)
    if field.name == options.type_column:
        return _required(Column(_spelled(column.values, options), column.codes), Reason.MISSING_TYPE)
    return column


def _spelled(types: pa.Array, options: ColumnOptions) -> pa.Array:
    """Names of types as the options want them."""
    types = trimmed(types) if options.type_trim else types
    match options.type_case:
        case "lower":
            return pc.utf8_lower(types)
        case "upper":
            return pc.utf8_upper(types)
    return types


def _required(column: Column, reason: Reason) -> Column:
    """NULL is a problem, where there is no other."""
    missing = true_at(pc.is_null(column.values))
    return _marked(column, missing, reason)


def _in_range(column: Column, options: ColumnOptions) -> Column:
    """A time beyond 2^62 microseconds is a problem."""
    if pa.types.is_date(column.values.type):
        return column
    limit = (
        TIME_LIMIT // options.microseconds_per_unit if pa.types.is_int64(column.values.type) else TIME_LIMIT
    )
    ticks = filled(pc.cast(column.values, pa.int64()))
    return _marked(column, (ticks > limit) | (ticks < -limit), Reason.OUT_OF_RANGE)


def _marked(column: Column, where: npt.NDArray[np.bool_], reason: Reason) -> Column:
    if not where.any():
        return column
    codes = no_codes(len(where)) if column.codes is None else column.codes.copy()
    codes[where & (codes == 0)] = code_of(reason)
    return Column(column.values, codes)


def _why(chunk: Chunk, field: pa.Field, place: int, reason: Reason, options: ColumnOptions) -> str:
    """A sentence for a person: which column, which value, what is wrong."""
    if reason is Reason.MISSING_TIME:
        return f"no time: column {field.name} is empty"
    if reason is Reason.MISSING_TYPE:
        return f"no type: column {field.name} is empty"
    values = chunk.columns[field.name]
    if reason is Reason.TYPE_CONFLICT and isinstance(values, pa.Array):
        return f"column {field.name} is {values.type} in this file, and {field.type} in the others"
    clock = options.clock(field.name)
    wrong = _WRONG[reason]
    if reason is Reason.NOT_A_TIMESTAMP and clock.form is not None:
        wrong = f"is not written as {clock.form}"
    if reason is Reason.NOT_ONE_INSTANT:
        wrong = f"is no single moment in {clock.zone}: its clocks showed it twice or never"
    return f"column {field.name}: {_quoted(values[place])} {wrong}"


def _quoted(value: object) -> str:
    """A value as a reason shows it, cut where it is long."""
    text = (scalar_text(value) if isinstance(value, pa.Scalar) else object_text(value)) or ""
    return repr(text if len(text) <= SHOWN_VALUE else text[:SHOWN_VALUE] + "...")
