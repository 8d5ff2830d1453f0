"""Files of text as streams of UTF-8: unpacked where their name says that they are packed, recoded where they are UTF-16."""

from __future__ import annotations

import codecs
import io
from pathlib import PurePosixPath
from typing import BinaryIO, cast

import pyarrow as pa

from pipelines.reading.opening import BUFFER_BYTES, open_file

PACKED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
"""Suffix of a packed file -> how Arrow calls what unpacks it."""

MORE_TEXT = 4
"""Times that the same events are larger as text than in a Parquet file, or packed."""

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF_32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


def unpacked_name(name: str) -> str:
    """The name of a file without the suffix that says that it is packed.

    >>> unpacked_name("days/one.csv.gz"), unpacked_name("one.csv")
    ('days/one.csv', 'one.csv')
    """
    return name[: -len(_suffix(name))] if is_packed(name) else name


def is_packed(name: str) -> bool:
    """Whether a file holds more than it has bytes: how many rows it has, these do not tell."""
    return _suffix(name) in PACKED


def text_bytes(name: str, size: int) -> int:
    """About how much text a file of so many bytes stands for.

    >>> text_bytes("one.csv", 100), text_bytes("one.csv.gz", 100), text_bytes("one.parquet", 100)
    (100, 400, 400)
    """
    return size * (MORE_TEXT if name.endswith(".parquet") or is_packed(name) else 1)


def open_text(path: str) -> BinaryIO:
    """A file of text to read from its beginning to its end, as UTF-8; OSError where it cannot be unpacked or decoded."""
    stream = open_file(path)
    if is_packed(path):
        unpacked = pa.CompressedInputStream(stream, PACKED[_suffix(path)])
        stream = cast("BinaryIO", io.BufferedReader(unpacked, BUFFER_BYTES))
    start = cast("io.BufferedReader", stream).peek(4)[:4]
    if start.startswith(_UTF_16) and not start.startswith(_UTF_32):
        stream = cast("BinaryIO", io.BufferedReader(_Recoded(stream), BUFFER_BYTES))
    return stream


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


class _Recoded(io.RawIOBase):
    """The UTF-8 of a stream in UTF-16; mutable, as every stream."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-16")().decode
        self._waiting = b""
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._waiting and not self._ended:
            content = self._stream.read(BUFFER_BYTES)
            self._ended = not content
            try:
                self._waiting = self._decode(content, self._ended).encode("utf-8")
            except UnicodeDecodeError as error:
                raise OSError(f"the file begins as UTF-16 and is not: {error.reason}") from error
        taken = min(len(buffer), len(self._waiting))
        buffer[:taken] = self._waiting[:taken]
        self._waiting = self._waiting[taken:]
        return taken

    def close(self) -> None:
        self._stream.close()
        super().close()
