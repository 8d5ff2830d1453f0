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
_NOTHING: tuple[Places, ...] = (np.zeros(0, dtype=np.int64),) * 4


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
        runs = np.flatnonzero(np.diff(np.concatenate([[False], wanted, [False]])))
        begins, ends = self.starts[runs[::2]].tolist(), self.after[runs[1::2] - 1].tolist()
        return b"".join([self.data[begin:end] for begin, end in zip(begins, ends, strict=True)])


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
    quotes = _Quotes.of(data, delimiter)
    if not len(quotes.wrong[0]):
        end = len(data) if last else _last_end(data, quotes.places, 0, len(data))
        unclosed = len(quotes.places) % 2 == 1
        if not unclosed or (not last and len(data) - end < RECORD_LIMIT):
            return Block(data[:end], None), data[end:]
    records, end = _mended(data, quotes, delimiter, last)
    return Block(data[:end], records), data[end:]


@dataclass(frozen=True, slots=True)
class _Quotes:
    """Where quotes stand; `wrong[k]`: those out of order if every second quote from the k-th on opens a field.

    In order is a quote that opens a field at its start, closes one at its end, or is half of a doubled one.
    """

    places: Places
    wrong: tuple[Places, Places]

    @classmethod
    def of(cls, data: bytes, delimiter: bytes) -> _Quotes:
        """Look at every quote in `data`."""
        none = np.zeros(0, dtype=np.int64)
        if b'"' not in data:
            return cls(none, (none, none))
        content = np.frombuffer(data, dtype=np.uint8)
        places = np.flatnonzero(content == QUOTE)
        border = np.zeros(256, dtype=np.bool_)
        border[[delimiter[0], LF, CR]] = True
        opens = (places == 0) | border[content[places - 1]]
        closes = (places == len(data) - 1) | border[content[np.minimum(places + 1, len(data) - 1)]]
        doubled = np.diff(places) == 1
        opens[1:] |= doubled
        closes[:-1] |= doubled
        second = np.arange(len(places)) % 2 == 1
        wrong = (
            np.flatnonzero(~np.where(second, closes, opens)),
            np.flatnonzero(~np.where(second, opens, closes)),
        )
        return cls(places, wrong)


def _last_end(data: bytes, quotes: Places, begin: int, end: int) -> int:
    """Where the last line end outside quotes ends, between a record's begin and `end`; `begin` if there is none."""
    first = int(np.searchsorted(quotes, begin))
    while True:
        end = max(data.rfind(b"\n", begin, end), data.rfind(b"\r", begin, end))
        if end < 0:
            return begin
        before = int(np.searchsorted(quotes, end)) - first
        if before % 2 == 0:
            return end + 1
        end = int(quotes[first + before - 1])


def split(block: Block, delimiter: bytes) -> Records:
    """The places of the records of a block."""
    if block.records is not None:
        return block.records
    quotes = _Quotes.of(block.data, delimiter)
    return Records(block.data, *_Lines.of(block.data, delimiter, quotes.places).between(0, len(block.data)))


def split_lines(block: Block, count: int) -> Records | None:
    """The places of the records of a block that has so many, where each is a line; their fields are not counted, and so it takes a
    fraction of `split`.

    None where a record has line ends in quotes, a line is blank, or lines do not end with LF: then there are not as many.
    """
    content = np.frombuffer(block.data, dtype=np.uint8)
    ends = np.flatnonzero(content == LF)
    if not block.data.endswith(b"\n"):
        ends = np.append(ends, len(content))
    if len(ends) != count or b"\r" in block.data:
        return None
    starts = np.append(0, ends[:-1] + 1)
    return Records(block.data, starts, ends, np.minimum(ends + 1, len(content)), np.zeros_like(ends))


@dataclass(frozen=True, slots=True)
class _Lines:
    """Where line ends, delimiters and quotes stand."""

    breaks: Places
    marks: Places
    quotes: Places

    @classmethod
    def of(cls, data: bytes, delimiter: bytes, quotes: Places) -> _Lines:
        """Look at every byte of `data`."""
        content = np.frombuffer(data, dtype=np.uint8)
        ends = content == LF
        if b"\r" in data:
            ends |= content == CR
        return cls(np.flatnonzero(ends), np.flatnonzero(content == delimiter[0]), quotes)

    def between(self, begin: int, end: int) -> tuple[Places, Places, Places, Places]:
        """Starts, ends, places after and field counts of records whose quotes are all in order."""
        breaks, marks = self._outside(self.breaks, begin, end), self._outside(self.marks, begin, end)
        # The LF of a CRLF closes an empty line of its own, which is dropped with the blank lines.
        ends = np.append(breaks, end)
        starts = np.append(begin, breaks + 1)
        after = np.minimum(ends + 1, end)
        fields = np.searchsorted(marks, ends) - np.searchsorted(marks, starts) + 1
        some = ends > starts
        return starts[some], ends[some], after[some], fields[some]

    def _outside(self, places: Places, begin: int, end: int) -> Places:
        """Those of the places that are not inside quotes: an even number of quotes stands before them."""
        here = places[np.searchsorted(places, begin) : np.searchsorted(places, end)]
        quotes = self.quotes[np.searchsorted(self.quotes, begin) : np.searchsorted(self.quotes, end)]
        return here[np.searchsorted(quotes, here) % 2 == 0] if len(quotes) else here


def _mended(data: bytes, quotes: _Quotes, delimiter: bytes, last: bool) -> tuple[Records, int]:
    """Split bytes with stray or unclosed quotes; also where the unfinished last record begins.

    Up to the first quote out of order all is regular; its record is looked at alone; then all begins anew.
    """
    lines = _Lines.of(data, delimiter, quotes.places)
    parts: list[tuple[Places, ...]] = []
    here = 0
    while here < len(data):
        wrong = _next_wrong(data, quotes, here, last)
        if wrong is None:
            end = len(data) if last else _last_end(data, quotes.places, here, len(data))
            parts.append(lines.between(here, end))
            here = end
            break
        start = _last_end(data, quotes.places, here, wrong)
        if start > here:
            parts.append(lines.between(here, start))
        here = start
        single = _single(data, here, delimiter, last)
        if single is None:
            break
        parts.append(tuple(np.array([number]) for number in single))
        here = single[2]
    columns = (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else _NOTHING
    return Records(data[:here], *columns), here


def _next_wrong(data: bytes, quotes: _Quotes, here: int, last: bool) -> int | None:
    """The first quote out of order at or after a record's begin: one that never closes is, in the end."""
    first = int(np.searchsorted(quotes.places, here))
    wrong = quotes.wrong[first % 2]
    place = int(np.searchsorted(wrong, first))
    if place < len(wrong):
        return int(quotes.places[wrong[place]])
    if (len(quotes.places) - first) % 2 == 0:
        return None
    opened = int(quotes.places[-1])
    return opened if last or len(data) - opened >= RECORD_LIMIT else None


def _single(data: bytes, here: int, delimiter: bytes, last: bool) -> tuple[int, int, int, int] | None:
    """Start, end, place after and field count of one record by its grammar; None if it is not finished yet."""
    grammar, unfinished, field = _grammar(delimiter)
    record = grammar.match(data, here)
    if record is None and not last and len(data) - here < RECORD_LIMIT and unfinished.match(data, here):
        return None
    end = record.end() if record else _line_end(data, here)
    if end == len(data) and not last:
        return None
    return here, end, min(end + 1, len(data)), _count(data, here, end, delimiter, field) if record else 0


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
    # No possessive quantifiers: Python 3.11.2 gets them wrong. None are needed, since each field reads in one way.
    mark = re.escape(delimiter)
    opened = rb'"[^"]*(?:""[^"]*)*'
    quoted = opened + rb'"'
    plain = rb'[^"' + mark + rb"\r\n][^" + mark + rb"\r\n]*"
    field = rb"(?:" + quoted + rb"|" + plain + rb")?"
    record = field + rb"(?:" + mark + field + rb")*"
    whole = re.compile(record + rb"(?=[\r\n]|\Z)")
    unfinished = re.compile(rb"(?:" + field + mark + rb")*" + opened + rb"\Z")
    return whole, unfinished, re.compile(rb"(?:(?<=" + mark + rb")|\A)" + quoted)
