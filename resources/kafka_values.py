"""The value of a message of a topic as a line of JSON: as it is, or as a schema registry says that it is written.

A value of a registry begins with a zero byte and the number of its schema (four bytes, the highest first), as the serializers of
Confluent and those that follow it write them.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

from hamlet_core.errors import StreamError

REGISTRY, USER = "schema.registry.url", "basic.auth.user.info"
"""Properties: addresses of a registry, with commas between them, and NAME:PASSWORD if it wants one."""

NO_REGISTRY = "E457"
"""A registry that does not say what the numbers of schemas stand for."""

PATIENCE = 30.0
"""Seconds that a registry may take for an answer."""

NOTHING = b"null"
"""The line of a message without a value, or with blanks alone."""

_HEAD = 5
"""Bytes before what is written by a schema."""

_SHOWN = 200
"""Bytes of a value that cannot be read that its line shows."""


class _UnreadableError(ValueError):
    """A value that is not what its schema says; the message says why."""


def lines_of(values: Sequence[bytes | None], registry: Registry | None) -> bytes:
    """The values as lines, each with its end."""
    if all(value is not None and value.startswith(b"{") for value in values):  # nearly always
        found = b"\n".join(values)  # type: ignore[arg-type]
        if values and found.count(b"\n") == len(values) - 1 and b"\r" not in found:
            return found + b"\n"
    return b"".join(line_of(value, registry) + b"\n" for value in values)


def line_of(value: bytes | None, registry: Registry | None) -> bytes:
    """A value as a line; what cannot be read as its schema says is a line that is no JSON and says why.

    Raises StreamError E457 where the registry does not answer.
    """
    if value and value[0] == 0 and registry is not None and len(value) > _HEAD:
        number = int.from_bytes(value[1:_HEAD], "big")
        try:
            value = registry.reader(number)(value[_HEAD:])
        except _UnreadableError as error:
            shown = f"{value[:_SHOWN].hex(' ')}{' ...' if len(value) > _SHOWN else ''}"
            value = f"schema {number}: {error}; {len(value):,} bytes: {shown}".encode()
    if not value or value.isspace():
        return NOTHING
    if b"\n" in value or b"\r" in value:  # between tokens they mean nothing, in texts JSON has none
        value = value.replace(b"\n", b" ").replace(b"\r", b" ")
    return value


@dataclass(frozen=True, slots=True)
class Registry:
    """The schemas of a registry; each is asked for once. Mutable: remembers them."""

    addresses: tuple[str, ...]
    user: str | None = None
    _readers: dict[int, Callable[[bytes], bytes]] = field(default_factory=dict, compare=False)
    _asking: threading.Lock = field(default_factory=threading.Lock, compare=False)

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Registry | None:
        """The one that properties name."""
        addresses = tuple(filter(None, map(str.strip, properties.get(REGISTRY, "").split(","))))
        return cls(addresses, properties.get(USER)) if addresses else None

    def reader(self, number: int) -> Callable[[bytes], bytes]:
        """What makes JSON of values written by a schema; raises StreamError E457 where nobody tells which schema it is."""
        found = self._readers.get(number)
        if found is None:
            with self._asking:
                found = self._readers.setdefault(number, self._reader(number))
        return found

    def _reader(self, number: int) -> Callable[[bytes], bytes]:
        told = self._ask(f"schemas/ids/{number}")
        if told is None:
            return _refusing(f"there is no such schema at {self.addresses[0]}")
        kind = told.get("schemaType", "AVRO")
        if kind == "JSON":
            return _as_it_is
        if kind != "AVRO":
            return _refusing(f"it is of {kind}, which is not read")
        return self._of_avro(told)

    def _of_avro(self, told: Mapping[str, Any]) -> Callable[[bytes], bytes]:
        try:
            import fastavro
        except ImportError as missing:
            raise StreamError(
                "values in Avro are read with the package fastavro, which is not there",
                code=NO_REGISTRY,
                hint="install it, or the package of this project with [pipeline]",
            ) from missing
        known: dict[str, Any] = {}
        try:
            self._learn(told, known)
            schema = fastavro.parse_schema(json.loads(told["schema"]), named_schemas=known)
        except (KeyError, ValueError, fastavro.schema.SchemaParseException) as error:
            return _refusing(f"its schema cannot be used: {error}")

        def read(value: bytes) -> bytes:
            stream = io.BytesIO(value)
            try:
                record = fastavro.schemaless_reader(stream, schema, None)
            except Exception as error:
                raise _UnreadableError(f"not written by it ({type(error).__name__})") from error
            if stream.tell() != len(value):
                raise _UnreadableError("not written by it (more follows)")
            return json.dumps(record, default=_told, ensure_ascii=False).encode("utf-8", "backslashreplace")

        return read

    def _learn(self, told: Mapping[str, Any], known: dict[str, Any]) -> None:
        """Also the schemas that one refers to."""
        import fastavro

        for one in told.get("references", ()):
            other = self._ask(f"subjects/{one['subject']}/versions/{one['version']}")
            if other is None:
                raise ValueError(f"there is no version {one['version']} of {one['subject']}")
            self._learn(other, known)
            fastavro.parse_schema(json.loads(other["schema"]), named_schemas=known)

    def _ask(self, what: str) -> dict[str, Any] | None:
        """What the registry answers; None: there is no such thing."""
        why: object = None
        for address in self.addresses:
            request = urllib.request.Request(f"{address.rstrip('/')}/{what}")  # noqa: S310 - the user names it
            if self.user is not None:
                request.add_header("Authorization", f"Basic {base64.b64encode(self.user.encode()).decode()}")
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
                    told = json.load(answer)
                return told if isinstance(told, dict) else None
            except urllib.error.HTTPError as error:
                if error.code == 404:
                    return None
                why = f"{error.code} {error.reason}"
            except (OSError, ValueError) as error:
                why = getattr(error, "reason", error)
        raise StreamError(
            f"the schema registry {', '.join(self.addresses)} does not tell {what}: {why}",
            code=NO_REGISTRY,
            hint=f"{REGISTRY} is its address, such as http://HOST:8081, and {USER} NAME:PASSWORD if it wants one",
        )


def _as_it_is(value: bytes) -> bytes:
    return value


def _refusing(why: str) -> Callable[[bytes], bytes]:
    def refuse(_: bytes) -> bytes:
        raise _UnreadableError(why)

    return refuse


def _told(value: object) -> object:
    """What JSON has no word for: times in ISO 8601, decimals as numbers, bytes as hexadecimal digits."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, bytes | bytearray):
        return binascii.hexlify(value).decode()
    if isinstance(value, UUID):
        return str(value)
    raise _UnreadableError(f"a {type(value).__name__} is no event's value")
