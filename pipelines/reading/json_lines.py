"""JSON lines: bytes in, chunks of parsed values and broken lines out, in bounded memory.

Arrow parses blocks in which all lines are plain objects; where it would be more generous than JSON is, or gives no exact values,
Python parses line by line. What comes out is the same.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from hamlet_core.progress import Progress
from hamlet_core.threads import Crew, Piece, alone
from pipelines.reading.chunks import BrokenRecord, Chunk, UnreadableFileError, shown
from pipelines.reading.decoding import open_text
from pipelines.reading.opening import open_file
from pipelines.reading.reasons import Reason
from resources.kafka_topics import is_topic

BLOCK_BYTES = 4 << 20
_BOM = b"\xef\xbb\xbf"
_parse = json.JSONDecoder().decode
_EXACT = 2.0**53
"""Smaller integers are exact as doubles."""
_PLAIN = {pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.null()}


class _BrokenLineError(ValueError):
    """A line that is no record: why."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


@dataclass(frozen=True, slots=True)
class Values:
    """Values of one key that Arrow has parsed: of one plain type, or NULL. Of doubles some may be written as integers."""

    array: pa.Array
    name: str
    lines: Sequence[bytes]

    def __getitem__(self, place: int) -> object:
        """A value as Python parses it."""
        return _row(self.lines[place]).get(self.name)

    def objects(self) -> list[object]:
        """All of them as Python parses them."""
        return [_row(line).get(self.name) for line in self.lines]


def read_json(path: str, block_bytes: int = BLOCK_BYTES, crew: Crew | None = None) -> Iterator[Chunk]:
    """Yield the chunks of a file; blank lines are no records. A crew parses several blocks at once.

    Raises `UnreadableFileError` if the file is one JSON array, or not text. Of a topic each line is for itself: the first one
    says nothing of the others.
    """
    times: set[str] = set()
    for_itself = is_topic(path)
    with open_file(path) if for_itself else open_text(path) as stream:
        blocks = _blocks(stream, block_bytes, begun=for_itself)
        pieces = (Piece(partial(_chunk, *block, times)) for block in blocks)
        yield from (crew or alone()).each(pieces)


def _blocks(stream: BinaryIO, block_bytes: int, *, begun: bool) -> Iterator[tuple[list[bytes], int]]:
    """Lines that are not blank, and the number of the first of them; where nothing has `begun`, the first one is looked at."""
    first = 1
    while lines := stream.readlines(block_bytes):
        if not begun:
            lines[0] = lines[0].removeprefix(_BOM)
        filled = [bare for line in lines if (bare := line.strip())]
        if filled and not begun:
            _check_start(filled[0])
            begun = True
        if filled:
            yield filled, first
        first += len(filled)


def _check_start(line: bytes) -> None:
    if b"\x00" in line:
        raise UnreadableFileError("the file is not text (UTF-16 without its mark, or binary?)")
    if line.startswith(b"["):
        raise UnreadableFileError("the file is a JSON array; JSON lines hold one object a line")


def _chunk(lines: list[bytes], first: int, times: set[str], _: Progress) -> Chunk:
    table = _plain(lines, times)
    if table is None:
        return _by_line(lines, first)
    columns = {name: Values(_whole(table.column(name)), name, lines) for name in table.column_names}
    places = np.arange(first, first + len(lines), dtype=np.int64)
    return Chunk(places, columns, (), lambda place: shown(lines[place]))


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _plain(lines: list[bytes], times: set[str]) -> pa.Table | None:
    """All lines as Arrow parses them; None where that might not be what Python makes of them.

    Each line must be one object without another in it. As a line begins and ends with its braces, none goes on in the next.
    Strings that Arrow takes for times are parsed once more, for how they are written would be lost; `times` remembers their names.
    """
    data = b"\n".join(lines)
    if data.count(b"{") != len(lines) or b"[" in data:
        return None
    if not all(line[0] == 123 and line[-1] == 125 for line in lines):
        return None
    try:
        data.decode("utf-8")
        names = list(_row(lines[0]))
        table = _parsed(data, {name: pa.string() for name in names if name in times})
        if found := {field.name for field in table.schema if pa.types.is_temporal(field.type)}:
            times |= found
            kinds = {field.name: pa.string() if field.name in found else field.type for field in table.schema}
            table = _parsed(data, kinds)
    except (_BrokenLineError, UnicodeError, pa.ArrowInvalid):
        return None
    if table.num_rows != len(lines) or not {field.type for field in table.schema} <= _PLAIN:
        return None
    if not all(map(_exact, table.columns)):
        return None
    return table.select([*names, *(name for name in table.column_names if name not in names)])


def _parsed(data: bytes, kinds: Mapping[str, pa.DataType]) -> pa.Table:
    """Columns in order of their first appearance, but first those whose kinds are said."""
    return pa_json.read_json(
        io.BytesIO(data),
        read_options=pa_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pa_json.ParseOptions(explicit_schema=pa.schema(kinds)),
    )


def _exact(column: pa.ChunkedArray) -> bool:
    """Whether integers among doubles are the numbers that are written; NaN, which is no JSON, is not."""
    if column.type != pa.float64() or column.null_count == len(column):
        return True
    return bool(pc.all(pc.less(pc.abs(column), _EXACT)).as_py())


def _by_line(lines: list[bytes], first: int) -> Chunk:
    numbers: list[int] = []
    rows: list[dict[str, object]] = []
    broken: list[BrokenRecord] = []
    for number, line in enumerate(lines, first):
        try:
            rows.append(_row(line))
            numbers.append(number)
        except _BrokenLineError as error:
            broken.append(BrokenRecord(number, shown(line), error.reason, error.text))
    names: dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    columns = {name: [row.get(name) for row in rows] for name in names}
    places = np.array(numbers, dtype=np.int64)
    return Chunk(places, columns, tuple(broken), lambda place: shown(lines[numbers[place] - first]))


def _row(line: bytes) -> dict[str, object]:
    """One object; raises `_BrokenLineError`."""
    try:
        text = line.decode("utf-8")
        row = _parse(text)
        if b"\\u" in line:
            json.dumps(row, ensure_ascii=False).encode("utf-8")
    except UnicodeError as error:
        raise _BrokenLineError(Reason.INVALID_UTF8, "the line is not UTF-8") from error
    except ValueError as error:
        raise _BrokenLineError(Reason.BROKEN_JSON, f"not JSON: {error}") from error
    except RecursionError as error:
        raise _BrokenLineError(Reason.BROKEN_JSON, "values are nested too deep to be read") from error
    if not isinstance(row, dict):
        raise _BrokenLineError(Reason.BROKEN_JSON, "not a JSON object")
    return row
