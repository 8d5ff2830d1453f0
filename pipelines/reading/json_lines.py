"""JSON lines: bytes in, chunks of parsed values and broken lines out, in bounded memory.

Of large blocks of lines that are written alike, the values are copied without the keys, and Arrow parses those (`json_shape`). It
parses blocks in which all lines are plain objects; where it would be more generous than JSON is, or gives no exact values,
Python parses line by line: the odd lines of a block, if they are few and it is known what the others should be, else all of it.
What comes out is the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pa_json

from hamlet_core.progress import Progress
from hamlet_core.threads import Crew, Piece, alone
from pipelines.reading.chunks import BrokenRecord, Chunk, Numbers, UnreadableFileError, shown
from pipelines.reading.decoding import open_text
from pipelines.reading.opening import open_file
from pipelines.reading.reasons import Reason
from pipelines.reading.values import NOTHING
from resources.kafka_topics import is_topic

BLOCK_BYTES = 4 << 20
_BOM = b"\xef\xbb\xbf"
_parse = json.JSONDecoder().decode
_EXACT = 2.0**53
"""Smaller integers are exact as doubles."""
_END, _OPENING, _CLOSING, _LIST, _QUOTE = b'\n{}["'
_BLANK = np.isin(np.arange(256), [*b" \t\r\x0b\x0c"])
"""By byte, whether it is taken from the beginning and the end of a line."""
_FEW = 8
"""Lines of a block that are not as expected, or one of so many, are parsed by Python beside Arrow; where they are more, all are."""
ALIKE_BYTES = 1 << 20
"""A smaller block is not worth a kernel, which may have to be compiled."""
_FIRST_BYTES = 64 << 10
_ROW = re.compile(r"in row ([0-9]+)$")
_PLAIN = {pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.null()}


class _BrokenLineError(ValueError):
    """A line that is no record: why."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


class Lines:
    """The lines of a block that are not blank, without blanks around them. Mutable: remembers where they are."""

    def __init__(self, block: bytes, borders: tuple[Numbers, Numbers] | None = None) -> None:
        self.block = block
        if borders is not None:
            self.borders = borders

    @cached_property
    def borders(self) -> tuple[Numbers, Numbers]:
        """Where each begins and ends in the block."""
        content = np.frombuffer(self.block, dtype=np.uint8)
        ends = np.append(np.flatnonzero(content == _END), len(content))
        starts = np.append(0, ends[:-1] + 1)
        filled = ends > starts
        starts, ends = starts[filled], ends[filled]
        ends -= _BLANK[content[ends - 1]]  # of Windows every line has one
        filled = ends > starts
        starts, ends = starts[filled], ends[filled]
        edges = np.flatnonzero(_BLANK[content[starts]] | _BLANK[content[ends - 1]])
        for place in edges.tolist():
            line = self.block[starts[place] : ends[place]]
            starts[place] += len(line) - len(line.lstrip())
            ends[place] = max(starts[place], ends[place] - (len(line) - len(line.rstrip())))
        filled = ends > starts
        return starts[filled], ends[filled]

    def __len__(self) -> int:
        return len(self.borders[0])

    def __getitem__(self, place: int) -> bytes:
        starts, ends = self.borders
        return self.block[starts[place] : ends[place]]

    def __iter__(self) -> Iterator[bytes]:
        starts, ends = self.borders
        return (self.block[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))

    def tidy(self) -> Lines:
        """The same, with nothing else in the block than these lines, and ends between them."""
        starts, ends = self.borders
        if len(starts) and starts[0] == 0 and np.array_equal(starts[1:], ends[:-1] + 1):
            return Lines(self.block[: ends[-1]], self.borders)
        return Lines(b"\n".join(self))

    def only(self, places: Numbers) -> Lines:
        """Some of them."""
        starts, ends = self.borders
        return Lines(self.block, (starts[places], ends[places]))

    def without(self, odd: Collection[int]) -> bytes:
        """The lines of a tidy block, each of the odd ones as an object without keys."""
        starts, ends = self.borders
        behind, parts = 0, list[bytes]()
        for place in sorted(odd):
            parts += (self.block[behind : starts[place]], b"{}")
            behind = ends[place]
        return b"".join((*parts, self.block[behind:]))


@dataclass(frozen=True, slots=True)
class Values:
    """Values of one key that Arrow has parsed: of one plain type, or NULL. Of doubles some may be written as integers."""

    array: pa.Array
    name: str
    lines: Lines
    odd: Mapping[int, object] = field(default_factory=dict)
    """Place -> a value that Python has parsed; the array has NULL there."""

    def __getitem__(self, place: int) -> object:
        """A value as Python parses it."""
        return _row(self.lines[place]).get(self.name)

    def objects(self) -> list[object]:
        """All of them as Python parses them."""
        return [_row(line).get(self.name) for line in self.lines]


def read_json(
    path: str,
    block_bytes: int = BLOCK_BYTES,
    crew: Crew | None = None,
    expected: Mapping[str, pa.DataType] = NOTHING,
) -> Iterator[Chunk]:
    """Yield the chunks of a file; blank lines are no records. A crew parses several blocks at once.

    Where all of a chunk is as `expected`, it is not asked what its values are; then none of these columns is a time.

    Raises `UnreadableFileError` if the file is one JSON array, or not text. Of a topic each line is for itself: the first one
    says nothing of the others.
    """
    times: set[str] = set()
    for_itself, first = is_topic(path), 1
    with open_file(path) if for_itself else open_text(path) as stream:
        blocks = _blocks(stream, block_bytes, begun=for_itself)
        pieces = (Piece(partial(_chunk, Lines(block), expected, times)) for block in blocks)
        for chunk, count in (crew or alone()).each(pieces):
            if count:
                yield chunk.after(first - 1)
            first += count


def _blocks(stream: BinaryIO, block_bytes: int, *, begun: bool) -> Iterator[bytes]:
    """Whole lines; where nothing has `begun`, the first one that is not blank is looked at."""
    first = not begun
    while block := stream.read(block_bytes):
        block += stream.readline()
        if first:
            block, first = block.removeprefix(_BOM), False
        if not begun and (filled := block.lstrip()):
            _check_start(filled[: filled.find(b"\n")] if b"\n" in filled else filled)
            begun = True
        yield block


def _check_start(line: bytes) -> None:
    if b"\x00" in line:
        raise UnreadableFileError("the file is not text (UTF-16 without its mark, or binary?)")
    if line.startswith(b"["):
        raise UnreadableFileError("the file is a JSON array; JSON lines hold one object a line")


def _chunk(
    lines: Lines, expected: Mapping[str, pa.DataType], times: set[str], _: Progress
) -> tuple[Chunk, int]:
    """A block as a chunk, its lines numbered from 1, and how many they are."""
    if (alike := _alike(lines, expected)) is not None:
        return alike
    count = _count_objects(lines.block)
    if not count:
        lines = lines.tidy()
        count = _count_objects(lines.block)
    table = _plain(lines.block, count, expected, times) if count else None
    if table is None:
        lines = lines.tidy()
        return _mixed(lines, expected, times) or _by_line(lines), len(lines)
    return _all_of(lines, table), count


def _all_of(lines: Lines, table: pa.Table) -> Chunk:
    """Lines that Arrow has parsed."""
    columns = {name: Values(_whole(table.column(name)), name, lines) for name in table.column_names}
    places = np.arange(1, 1 + table.num_rows, dtype=np.int64)
    return Chunk(places, columns, (), lambda place: shown(lines[place]))


def _alike(lines: Lines, expected: Mapping[str, pa.DataType]) -> tuple[Chunk, int] | None:
    """A large block of lines that are all written alike, but for a few, as `_chunk` gives it; None if they are not."""
    if len(lines.block) < ALIKE_BYTES or not expected:
        return None
    from pipelines.reading.json_shape import Shape, parsed_alike  # which needs a compiled kernel

    firsts = lines.block[:_FIRST_BYTES].split(b"\n")[:_FEW]
    shape = next(filter(None, (Shape.of(line, expected) for line in firsts)), None)
    if shape is None:
        return None
    about = len(lines.block) // len(b"".join(shape.between))  # or fewer lines, which it takes longer to count
    parsed = parsed_alike(lines.block, shape, max(_FEW, about // _FEW))
    if parsed is None:
        return None
    table, odd = parsed
    for name, kind in expected.items():
        if name not in shape.names:
            table = table.append_column(name, pa.nulls(table.num_rows, kind))
    if not len(odd):
        return _all_of(lines, table), table.num_rows
    chunk = _beside(table, lines, {*odd.tolist()}, expected)
    return None if chunk is None else (chunk, table.num_rows)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _count_objects(data: bytes) -> int:
    """How many lines there are, if each is one object without another in it, and none is blank; else 0.

    As a line begins and ends with its braces, none goes on in the next.
    """
    length = len(data) - data.endswith(b"\n")
    if not data.startswith(b"{") or data[length - 1 : length] != b"}" or b"[" in data:
        return 0
    content = np.frombuffer(data, dtype=np.uint8, count=length)
    ends = np.flatnonzero(content == _END)
    outside = (content[ends - 1] == _CLOSING) & (content[ends + 1] == _OPENING)
    count = len(ends) + 1
    return count if outside.all() and np.count_nonzero(content == _OPENING) == count else 0


def _plain(
    data: bytes,
    count: int,
    expected: Mapping[str, pa.DataType],
    times: set[str],
    parsed: pa.Table | None = None,
) -> pa.Table | None:
    """Objects as Arrow parses them; None where that might not be what Python makes of them.

    They may be `parsed` already, with the expected types. Strings that Arrow takes for times are parsed once more, for how they are
    written would be lost; `times` remembers their names.
    """
    try:
        if not data.isascii():
            data.decode("utf-8")
        names = list(_row(data[: data.find(b"\n")] if count > 1 else data))
        table = _as_expected(data, expected) if parsed is None else parsed
        if table is None:
            table = _parsed(data, {name: pa.string() for name in names if name in times})
        if found := {field.name for field in table.schema if pa.types.is_temporal(field.type)}:
            times |= found
            kinds = {field.name: pa.string() if field.name in found else field.type for field in table.schema}
            table = _parsed(data, kinds)
    except (_BrokenLineError, UnicodeError, pa.ArrowInvalid):
        return None
    if table.num_rows != count or not {field.type for field in table.schema} <= _PLAIN:
        return None
    if not all(map(_exact, table.columns)):
        return None
    return table.select([*names, *(name for name in table.column_names if name not in names)])


def _as_expected(data: bytes, expected: Mapping[str, pa.DataType]) -> pa.Table | None:
    """Objects with values of the expected types; None where one has another."""
    if not expected:
        return None
    try:
        return _parsed(data, expected)
    except pa.ArrowInvalid:
        return None


def _mixed(lines: Lines, expected: Mapping[str, pa.DataType], times: set[str]) -> Chunk | None:
    """Lines few of which are not as expected: Python parses those, and Arrow the others; None if they are many."""
    if not expected or not len(lines):
        return None
    odd = _unlike_objects(lines)
    parsed = _find_odd(lines, expected, odd)
    if len(odd) > _few(lines):
        return None
    table = _plain(lines.without(odd), len(lines), expected, times, parsed)
    if table is None and (parsed := _as_expected(lines.without(odd), expected)) is not None:
        odd |= _inexact(parsed)
        table = _plain(lines.without(odd), len(lines), expected, times)
    return None if table is None else _beside(table, lines, odd, expected)


def _beside(
    table: pa.Table, lines: Lines, odd: Collection[int], expected: Mapping[str, pa.DataType]
) -> Chunk | None:
    """Lines that Arrow has parsed, but for the odd ones, which Python parses; None if it is not known which column came first."""
    rows, broken = _parsed_rows([(place + 1, lines[place]) for place in sorted(odd)])
    names = dict.fromkeys(name for row in rows.values() for name in row)
    if not table.column_names or not (
        names.keys() <= {*table.column_names} or {*table.column_names} <= {*expected}
    ):
        return None
    good = np.ones(len(lines), dtype=np.bool_)
    good[[one.number - 1 for one in broken]] = False
    numbers = np.flatnonzero(good) + 1
    if broken:
        table = table.filter(pa.array(good))
    kept = lines.only(numbers - 1)
    places = {int(place): rows[number] for place, number in _places(numbers, rows)}
    columns = {
        name: Values(
            _whole(table.column(name)) if name in table.column_names else pa.nulls(len(numbers)),
            name,
            kept,
            {place: row[name] for place, row in places.items() if row.get(name) is not None},
        )
        for name in dict.fromkeys((*table.column_names, *names))
    }
    return Chunk(numbers, columns, tuple(broken), lambda place: shown(kept[place]))


def _few(lines: Lines) -> int:
    return max(_FEW, len(lines) // _FEW)


def _unlike_objects(lines: Lines) -> set[int]:
    """Places of the lines, of a tidy block, that are not one object without another in it, or hold bytes beyond UTF-8.

    So are those that have not as many quotes as most have, if they are few: a text stands where a number was expected, say, and
    Arrow would have to begin anew behind each of them.
    """
    content = np.frombuffer(lines.block, dtype=np.uint8)
    starts, ends = lines.borders
    alike = (content[starts] == _OPENING) & (content[ends - 1] == _CLOSING)
    alike &= (_counted(content, _OPENING, starts) == 1) & (_counted(content, _LIST, starts) == 0)
    quotes = _counted(content, _QUOTE, starts)
    usual = quotes == np.bincount(quotes[alike], minlength=1).argmax()
    if np.count_nonzero(alike & ~usual) <= len(lines) // _FEW:
        alike &= usual
    odd = {*np.flatnonzero(~alike).tolist()}
    for place in np.unique(np.searchsorted(ends, np.flatnonzero(content >= 0x80))).tolist():
        try:
            lines[place].decode("utf-8")
        except UnicodeDecodeError:
            odd.add(place)
    return odd


def _counted(content: npt.NDArray[np.uint8], byte: int, starts: Numbers) -> Numbers:
    """How often a byte stands in each line."""
    found = np.searchsorted(np.flatnonzero(content == byte), np.append(starts, len(content)))
    return np.diff(found)


def _find_odd(lines: Lines, expected: Mapping[str, pa.DataType], odd: set[int]) -> pa.Table | None:
    """Add the places where Arrow stops, until they are too many; if it stops nowhere, all that it parsed, NULL at the odd ones."""
    data, first = lines.without(odd), 0
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == _END) + 1
    begins = [0, *ends.tolist()]
    while first < len(lines) and len(odd) <= _few(lines):
        try:
            table = _parsed(pa.py_buffer(data).slice(begins[first]), expected)
        except pa.ArrowInvalid as error:
            where = _ROW.search(str(error))
            if where is None:
                break  # a number of another kind, and it is not told where
            odd.add(first + int(where[1]))
            first += int(where[1]) + 1
        else:
            return None if first else table
    return None


def _inexact(table: pa.Table) -> set[int]:
    """Places of numbers that are not those that are written."""
    found: set[int] = set()
    for column in table.columns:
        if not _exact(column):
            far = pc.fill_null(pc.invert(pc.less(pc.abs(column), _EXACT)), False)
            found.update(np.flatnonzero(far.to_numpy()).tolist())
    return found


def _places(numbers: Numbers, rows: Mapping[int, object]) -> Iterator[tuple[int, int]]:
    """Where the rows of some of the numbers stand among all, and their numbers."""
    wanted = np.array(sorted(rows), dtype=np.int64)
    yield from zip(np.searchsorted(numbers, wanted).tolist(), wanted.tolist(), strict=True)


def _parsed(data: bytes | pa.Buffer, kinds: Mapping[str, pa.DataType]) -> pa.Table:
    """Columns in order of their first appearance, but first those whose kinds are said."""
    return pa_json.read_json(
        pa.BufferReader(data),
        read_options=pa_json.ReadOptions(use_threads=False, block_size=len(data) + 1),
        parse_options=pa_json.ParseOptions(explicit_schema=pa.schema(kinds)),
    )


def _exact(column: pa.ChunkedArray) -> bool:
    """Whether integers among doubles are the numbers that are written; NaN, which is no JSON, is not."""
    if column.type != pa.float64() or column.null_count == len(column):
        return True
    return bool(pc.all(pc.less(pc.abs(column), _EXACT)).as_py())


def _by_line(lines: Lines) -> Chunk:
    rows, broken = _parsed_rows(list(enumerate(lines, 1)))
    names: dict[str, None] = {}
    for row in rows.values():
        names.update(dict.fromkeys(row))
    columns = {name: [row.get(name) for row in rows.values()] for name in names}
    places = np.array(list(rows), dtype=np.int64)
    return Chunk(places, columns, tuple(broken), lambda place: shown(lines[places[place] - 1]))


def _parsed_rows(
    lines: Sequence[tuple[int, bytes]],
) -> tuple[dict[int, dict[str, object]], list[BrokenRecord]]:
    """Objects by the numbers of their lines, and lines that are none."""
    rows: dict[int, dict[str, object]] = {}
    broken: list[BrokenRecord] = []
    for number, line in lines:
        try:
            rows[number] = _row(line)
        except _BrokenLineError as error:
            broken.append(BrokenRecord(number, shown(line), error.reason, error.text))
    return rows, broken


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
