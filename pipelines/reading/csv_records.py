"""Records of CSV: bytes in, the place of each record out; quotes, line ends and damage are settled here.

A record ends at LF, CRLF or CR outside quotes. A quote opens a quoted field only at its start; inside, two quotes are
one. A quoted field that never ends, or goes on after its closing quote, breaks the line on which its record begins,
and reading resumes at the next line: one stray quote must not swallow its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from pipelines.reading.chunks import UnreadableFileError

BLOCK_BYTES = 8 << 20
RECORD_LIMIT = 1 << 20
"""A quoted field may hold this many bytes; beyond it, its quote counts as never closed."""
LINE_LIMIT = 64 << 20
"""A file with longer lines is no text."""

LF, CR, QUOTE = 10, 13, 34
_LINE = re.compile(rb"[^\r\n]*")
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Records:
    """Places of the records in `data`; `after` is where the next record begins; blank lines are none.

    `fields` counts the fields of each record; 0 marks a record with a broken quote.
    """

    data: bytes
    starts: Places
    ends: Places
    after: Places
    fields: Places

    def text(self, place: int) -> bytes:
        """The bytes of one record without its line end."""
        return self.data[self.starts[place] : self.ends[place]]

    def only(self, wanted: npt.NDArray[np.bool_]) -> bytes:
        """The bytes of some of the records, with their line ends."""
        selected = np.zeros(len(self.data), dtype=np.int8)
        edges = np.zeros(len(self.data) + 1, dtype=np.int8)
        edges[self.starts[wanted]] += 1
        edges[self.after[wanted]] -= 1
        np.cumsum(edges[:-1], out=selected, dtype=np.int8)
        return np.frombuffer(self.data, dtype=np.uint8)[selected.astype(np.bool_)].tobytes()


@dataclass(frozen=True, slots=True)
class Block:
    """Whole records; `records` is known already if there are stray or unclosed quotes in them."""

    data: bytes
    records: Records | None


def blocks(stream: BinaryIO, delimiter: bytes, rest: bytes = b"", size: int = BLOCK_BYTES) -> Iterator[Block]:
    """Cut a stream (after `rest`, which was read already) into blocks of whole records of about `size` bytes.

    Raises `UnreadableFileError` for a line beyond 64 MiB.
    """
    while True:
        fresh = stream.read(size)
        data, last = rest + fresh, not fresh
        if not data:
            return
        block, rest = _cut(data, delimiter, last)
        if block.data:
            yield block
        if len(rest) > LINE_LIMIT:
            raise UnreadableFileError(f"a line is longer than {LINE_LIMIT >> 20} MiB: the file is not CSV")
        if last:
            return


def _cut(data: bytes, delimiter: bytes, last: bool) -> tuple[Block, bytes]:
    """The whole records at the start of `data`, and the bytes of the unfinished one."""
    quotes = _quotes(data)
    if _regular(data, quotes, delimiter, last):
        end = len(data) if last else _last_end(data, quotes)
        if len(data) - end < RECORD_LIMIT or not len(quotes):
            return Block(data[:end], None), data[end:]
    records, end = _irregular(data, delimiter, last)
    return Block(data[:end], records), data[end:]


def _quotes(data: bytes) -> Places:
    if b'"' not in data:
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == QUOTE)


def _regular(data: bytes, quotes: Places, delimiter: bytes, last: bool) -> bool:
    """Whether every quote opens a field, closes one, or is half of a doubled one; at the end all are closed."""
    if last and len(quotes) % 2:
        return False
    content = np.frombuffer(data, dtype=np.uint8)
    border = np.zeros(256, dtype=np.bool_)
    border[[delimiter[0], LF, CR]] = True
    doubled = quotes[1:-1:2] + 1 == quotes[2::2] if len(quotes) > 2 else np.zeros(0, dtype=np.bool_)
    opened, closed = quotes[0::2], quotes[1::2]
    well_opened = (opened == 0) | border[content[opened - 1]]
    well_opened[1:] |= doubled
    well_closed = (closed == len(data) - 1) | border[content[np.minimum(closed + 1, len(data) - 1)]]
    well_closed[: len(doubled)] |= doubled
    return bool(well_opened.all() and well_closed.all())


def _last_end(data: bytes, quotes: Places) -> int:
    """Where the last line end outside quotes ends; 0 if there is none."""
    end = len(data)
    while end > 0:
        end = max(data.rfind(b"\n", 0, end), data.rfind(b"\r", 0, end))
        if end < 0:
            return 0
        before = int(np.searchsorted(quotes, end))
        if before % 2 == 0:
            return end + 1
        end = int(quotes[before - 1])
    return 0


def split(block: Block, delimiter: bytes) -> Records:
    """The places of the records of a block."""
    return block.records if block.records is not None else _split_regular(block.data, delimiter)


def _split_regular(data: bytes, delimiter: bytes) -> Records:
    """Split bytes whose quotes are all in order: what stands after an odd number of quotes is inside a field."""
    content = np.frombuffer(data, dtype=np.uint8)
    quotes = _quotes(data)
    breaks = (
        np.flatnonzero((content == LF) | (content == CR)) if b"\r" in data else np.flatnonzero(content == LF)
    )
    marks = np.flatnonzero(content == delimiter[0])
    if len(quotes):
        breaks = breaks[np.searchsorted(quotes, breaks) % 2 == 0]
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    # The LF of a CRLF closes an empty line of its own, which is dropped with the blank lines.
    ends = np.append(breaks, len(data))
    starts = np.append(0, breaks + 1)
    after = np.minimum(ends + 1, len(data))
    fields = np.searchsorted(marks, ends) - np.searchsorted(marks, starts) + 1
    some = ends > starts
    return Records(data, starts[some], ends[some], after[some], fields[some])


def _irregular(data: bytes, delimiter: bytes, last: bool) -> tuple[Records, int]:
    """Split bytes with stray or unclosed quotes, record by record; also where the unfinished last record begins."""
    grammar, unfinished, field = _grammar(delimiter)
    places: list[tuple[int, int, int, int]] = []
    here, length = 0, len(data)
    while here < length:
        if data[here] in b"\r\n":
            here += 1
            continue
        record = grammar.match(data, here)
        end = record.end() if record else -1
        if record is None:
            if not last and length - here < RECORD_LIMIT and unfinished.match(data, here):
                break
            end = _line_end(data, here)
        if end == length and not last:
            break
        after = min(end + 1, length)
        places.append((here, end, after, _count(data, here, end, delimiter, field) if record else 0))
        here = after
    table = np.array(places, dtype=np.int64).reshape(-1, 4)
    return Records(data[:here], *(np.ascontiguousarray(column) for column in table.T)), here


def _line_end(data: bytes, here: int) -> int:
    line = _LINE.match(data, here)
    return line.end() if line else here


def _count(data: bytes, start: int, end: int, delimiter: bytes, field: re.Pattern[bytes]) -> int:
    """Fields of a well-formed record."""
    if data.find(b'"', start, end) < 0:
        return data.count(delimiter, start, end) + 1
    return field.sub(b"", data[start:end]).count(delimiter) + 1


@lru_cache(maxsize=8)
def _grammar(delimiter: bytes) -> tuple[re.Pattern[bytes], re.Pattern[bytes], re.Pattern[bytes]]:
    """Patterns of a whole record, of a record that may go on after these bytes, and of a quoted field."""
    mark = re.escape(delimiter)
    quoted = rb'"(?:[^"]++|"")*+"'
    plain = rb'[^"' + mark + rb"\r\n][^" + mark + rb"\r\n]*+"
    field = rb"(?:" + quoted + rb"|" + plain + rb")?+"
    record = field + rb"(?:" + mark + field + rb")*+"
    whole = re.compile(record + rb"(?=[\r\n]|\Z)")
    open_field = rb'"(?:[^"]++|"")*+\Z'
    unfinished = re.compile(rb"(?:" + field + mark + rb")*+" + open_field)
    return whole, unfinished, re.compile(rb"(?:(?<=" + mark + rb")|\A)" + quoted)
