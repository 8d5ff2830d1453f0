"""JSON lines: bytes in, chunks of parsed values and broken lines out, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np

from pipelines.reading.chunks import BrokenRecord, Chunk, UnreadableFileError, shown
from pipelines.reading.decoding import open_text
from pipelines.reading.reasons import Reason

BLOCK_BYTES = 4 << 20
_BOM = b"\xef\xbb\xbf"
_parse = json.JSONDecoder().decode


class _BrokenLineError(ValueError):
    """A line that is no record: why."""

    def __init__(self, reason: Reason, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


def read_json(path: str, block_bytes: int = BLOCK_BYTES) -> Iterator[Chunk]:
    """Yield the chunks of a file; blank lines are no records.

    Raises `UnreadableFileError` if the file is one JSON array, or not text.
    """
    with open_text(path) as stream:
        first, begun = 1, False
        while lines := stream.readlines(block_bytes):
            if not begun:
                lines[0] = lines[0].removeprefix(_BOM)
            filled = [line.strip() for line in lines if line.strip()]
            if filled and not begun:
                _check_start(filled[0])
                begun = True
            if filled:
                yield _chunk(filled, first)
            first += len(filled)


def _check_start(line: bytes) -> None:
    if b"\x00" in line:
        raise UnreadableFileError("the file is not text (UTF-16 without its mark, or binary?)")
    if line.startswith(b"["):
        raise UnreadableFileError("the file is a JSON array; JSON lines hold one object a line")


def _chunk(lines: list[bytes], first: int) -> Chunk:
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
