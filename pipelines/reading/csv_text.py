"""CSV files: bytes in, chunks of binary columns and broken records out, in bounded memory."""

from __future__ import annotations

import contextlib
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv

from hamlet_core.errors import InvariantError
from hamlet_core.progress import Progress
from hamlet_core.threads import Crew, Piece, alone
from pipelines.reading.chunks import BrokenRecord, Chunk, Numbers, UnreadableFileError, shown
from pipelines.reading.csv_records import BLOCK_BYTES, Block, Records, blocks, split, split_lines
from pipelines.reading.decoding import open_text
from pipelines.reading.reasons import Reason
from pipelines.reading.values import NOTHING, all_finite, may_have_hexadecimal

HEADER_LIMIT = 1 << 20
"""No header has more bytes."""

_OTHER = re.compile(r"In CSV column #(\d+): ")
"""What Arrow says of a value that is not of the type of its column."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Header:
    """Column names, the delimiter, and the bytes read already that follow the header."""

    names: tuple[str, ...]
    delimiter: bytes
    rest: bytes


def read_csv(
    path: str,
    block_bytes: int = BLOCK_BYTES,
    crew: Crew | None = None,
    expected: Mapping[str, pa.DataType] = NOTHING,
) -> Iterator[Chunk]:
    """Yield the chunks of a file; an empty one gives none, one with a header only gives its empty columns.

    A crew parses several blocks at once. Columns are binary; those whose values in a chunk are all as `expected` are of that type (int64
    or double) at once.

    Raises `UnreadableFileError` if the file is not CSV in UTF-8, or in UTF-16 with its mark, with a header.
    """
    with open_text(path) as stream:
        header = read_header(stream, block_bytes)
        if header is None:
            return
        first = 1
        yield _typed_nothing(header)
        cut = blocks(stream, header.delimiter, header.rest, block_bytes)
        here = {name: kind for name, kind in expected.items() if name in header.names}
        parsed = (Piece(partial(_chunk, block, header, here)) for block in cut)
        for chunk, count in (crew or alone()).each(parsed):
            yield chunk.after(first - 1)
            first += count


def read_header(stream: BinaryIO, block_bytes: int = BLOCK_BYTES) -> Header | None:
    """Read the first record; None if the file has no records at all."""
    data = stream.read(block_bytes).removeprefix(_BOM)
    data = data.lstrip(b"\r\n")
    if not data:
        return None
    line = data[: _first_line_end(data)]
    if b"\x00" in line:
        raise UnreadableFileError(
            "the file is not text: its first line holds zero bytes (UTF-16 without its mark, or binary?)"
        )
    delimiter = _delimiter(line)
    for block in blocks(io.BytesIO(data[:HEADER_LIMIT]), delimiter):
        records = split(block, delimiter)
        if int(records.ends[0]) == HEADER_LIMIT < len(data):
            raise UnreadableFileError(
                f"the header is longer than {HEADER_LIMIT >> 20} MiB: the file is not CSV"
            )
        return Header(_names(records, delimiter), delimiter, data[int(records.after[0]) :])
    return None


def _first_line_end(data: bytes) -> int:
    ends = [end for end in (data.find(b"\n"), data.find(b"\r")) if end >= 0]
    return min(ends, default=len(data))


def _delimiter(line: bytes) -> bytes:
    """A comma, unless the header has none and another usual delimiter."""
    if b"," in line:
        return b","
    found = max((b";", b"\t", b"|"), key=line.count)
    return found if found in line else b","


def _names(records: Records, delimiter: bytes) -> tuple[str, ...]:
    """Column names of the first record; a nameless column is called `column_N`."""
    if not records.fields[0]:
        raise UnreadableFileError("the header has a quote that is never closed")
    try:
        text = records.text(0).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableFileError(
            "the header is not UTF-8: the file is in another encoding, or binary"
        ) from error
    try:
        fields = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter.decode()))
    except csv.Error as error:
        raise UnreadableFileError(f"the header cannot be read: {error}") from error
    names = tuple(name.strip() or f"column_{place}" for place, name in enumerate(fields, 1))
    if any("\x00" in name for name in names):
        raise UnreadableFileError("the file is not text: its header holds zero bytes")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise UnreadableFileError(f"the header names a column twice: {', '.join(twice)}")
    return names


def _typed_nothing(header: Header) -> Chunk:
    nothing = pa.nulls(0, pa.binary())
    return Chunk(np.zeros(0, dtype=np.int64), dict.fromkeys(header.names, nothing), (), str)


def _chunk(block: Block, header: Header, expected: dict[str, pa.DataType], _: Progress) -> tuple[Chunk, int]:
    """A block as a chunk, its records numbered from 1, and how many they are. Columns that are not as expected are expected no more."""
    if block.records is None:
        with contextlib.suppress(pa.ArrowInvalid):  # Some record is ragged: find out which.
            while (table := _as_expected(block, header, expected)) is None:
                pass
            return _clean_chunk(block, header, table)
    records = split(block, header.delimiter)
    good = records.fields == len(header.names)
    data = block.data if good.all() else records.only(good)
    table = _parse(data, header)
    if table.num_rows != int(good.sum()):
        raise InvariantError(
            f"reading CSV: {int(good.sum())} records were split, {table.num_rows} parsed", code="E901"
        )
    numbers = np.arange(1, 1 + len(good), dtype=np.int64)
    broken = tuple(_broken(records, int(place), header) for place in np.flatnonzero(~good))
    raw = _RawText(block, header.delimiter, np.flatnonzero(good), records)
    return Chunk(numbers[good], _columns(table), broken, raw), len(good)


def _clean_chunk(block: Block, header: Header, table: pa.Table) -> tuple[Chunk, int]:
    """All of a block, as Arrow has parsed it."""
    numbers: Numbers = np.arange(1, 1 + table.num_rows, dtype=np.int64)
    raw = _RawText(block, header.delimiter, None, None, table.num_rows)
    return Chunk(numbers, _columns(table), (), raw), table.num_rows


def _columns(table: pa.Table) -> dict[str, pa.Array]:
    return {name: table.column(name).combine_chunks() for name in table.column_names}


def _as_expected(block: Block, header: Header, expected: dict[str, pa.DataType]) -> pa.Table | None:
    """Records with columns of the expected types, where they are binary if a value might not be what we say of its text.

    None: a column was not as expected, and is expected no more, in no block: most are alike. Raises `ArrowInvalid` for a ragged record.
    """
    here = {} if may_have_hexadecimal(block.data) else expected.copy()
    try:
        table = _parse(block.data, header, here)
    except pa.ArrowInvalid as error:
        other = _OTHER.match(str(error))
        if other is None or not here:
            raise
        expected.pop(header.names[int(other[1])], None)
        return None
    doubles = [name for name, kind in here.items() if pa.types.is_float64(kind)]
    infinite = [name for name in doubles if not all_finite(table.column(name))]
    for name in infinite:
        expected.pop(name, None)
    return None if infinite else table


def _parse(data: bytes, header: Header, expected: Mapping[str, pa.DataType] = NOTHING) -> pa.Table:
    """Whole, even records as a table of columns, binary if nothing else is expected; an empty field is NULL, quoted or not.

    Raises `ArrowInvalid` if a record is ragged, or a value not as expected.
    """
    kinds = {name: expected.get(name, pa.binary()) for name in header.names}
    if not data:
        return pa.Table.from_batches([], pa.schema(kinds))
    return pa_csv.read_csv(
        pa.BufferReader(data),
        # More than the data, so that Arrow does not cut a record with line ends in quotes.
        read_options=pa_csv.ReadOptions(
            column_names=list(header.names), block_size=len(data) + 1, use_threads=False
        ),
        parse_options=pa_csv.ParseOptions(delimiter=header.delimiter.decode(), newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=kinds, null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=True
        ),
    )


def _broken(records: Records, place: int, header: Header) -> BrokenRecord:
    """Say what is wrong with a record whose fields do not fit the header."""
    fields, wanted = int(records.fields[place]), len(header.names)
    raw = shown(records.text(place))
    if fields == 0:
        reason, text = Reason.UNCLOSED_QUOTE, "a quoted field never ends, or goes on after its closing quote"
    elif fields > wanted:
        reason, text = (
            Reason.TOO_MANY_FIELDS,
            f"unknown column: {fields} fields where the header has {wanted}",
        )
    else:
        reason, text = Reason.TOO_FEW_FIELDS, f"{fields} fields where the header has {wanted}"
    return BrokenRecord(1 + place, raw, reason, text)


@dataclass(slots=True)
class _RawText:
    """Raw text of the records that have columns; the places are worked out at the first question."""

    block: Block
    delimiter: bytes
    good: npt.NDArray[np.int64] | None
    records: Records | None
    count: int = 0
    """How many records the block has, where they are not known."""

    def __call__(self, place: int) -> str:
        if self.records is None:
            self.records = split_lines(self.block, self.count) or split(self.block, self.delimiter)
        return shown(self.records.text(place if self.good is None else int(self.good[place])))
