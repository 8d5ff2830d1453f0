"""Where a stream stands, as bytes and back: a header in JSON and tables in Arrow's stream format, with a checksum.

No code is in them, so that bytes from elsewhere can do no harm; what is damaged is refused as a whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import pyarrow as pa

from hamlet_core.errors import StreamError

VERSION = 1
"""Of what the bytes hold."""

_MAGIC = b"HAMLET stream\n"
_NUMBER = 8
_DIGEST = hashlib.sha256().digest_size


def packed(header: Mapping[str, Any], tables: Sequence[pa.Table]) -> bytes:
    """A header of plain values and tables, as bytes."""
    blocks = [_written(table) for table in tables]
    head = json.dumps({**header, "sizes": list(map(len, blocks))}, separators=(",", ":")).encode()
    content = b"".join([_number(len(head)), head, *blocks])
    return b"".join([_MAGIC, _number(VERSION), hashlib.sha256(content).digest(), content])


def unpacked(state: object) -> tuple[dict[str, Any], list[pa.Table]]:
    """What was packed; raises StreamError E225 for other bytes."""
    if not isinstance(state, bytes | bytearray | memoryview):
        _refuse(f"a state cannot be of class {type(state).__qualname__}")
    data = memoryview(state).cast("B")
    if bytes(data[: len(_MAGIC)]) != _MAGIC:
        _refuse("these bytes are no state of a stream")
    start = len(_MAGIC)
    version = int.from_bytes(data[start : start + _NUMBER], "big")
    if len(data) >= start + _NUMBER and version != VERSION:
        _refuse(f"the state is of version {version}, and version {VERSION} is read here")
    start += _NUMBER
    digest, content = bytes(data[start : start + _DIGEST]), data[start + _DIGEST :]
    if hashlib.sha256(content).digest() != digest:
        _refuse(f"the state is damaged: its {len(data):,} bytes do not have the checksum that they name")
    size = int.from_bytes(content[:_NUMBER], "big")
    header = json.loads(bytes(content[_NUMBER : _NUMBER + size]))
    place, tables = _NUMBER + size, []
    for length in header["sizes"]:
        tables.append(pa.ipc.open_stream(pa.py_buffer(bytes(content[place : place + length]))).read_all())
        place += length
    return header, tables


def _refuse(message: str) -> NoReturn:
    raise StreamError(
        message,
        code="E225",
        hint="give what state() returned, unchanged, to a session of the same version of HAMLET",
    )


def _number(value: int) -> bytes:
    return value.to_bytes(_NUMBER, "big")


def _written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())
