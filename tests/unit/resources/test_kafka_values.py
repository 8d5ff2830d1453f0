"""Values of messages as lines of JSON: as they are, or as a schema of a registry says that they are written."""

from __future__ import annotations

import io
import json
import threading
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from typing import Any

import fastavro
import pytest
from confluent_kafka import Producer

from hamlet_core.errors import StreamError
from pipelines.reading import ColumnOptions, discover, read_all
from resources import kafka_topics
from resources.kafka_topics import CONFIGURATION
from resources.kafka_values import Registry, line_of, lines_of

RIDE = {
    "type": "record",
    "name": "Ride",
    "fields": [
        {"name": "time", "type": "long"},
        {"name": "type", "type": {"type": "enum", "name": "Kind", "symbols": ["Request", "Travel"]}},
        {"name": "speed", "type": ["null", "double"]},
        {"name": "district", "type": "string"},
    ],
}
ODD = {
    "type": "record",
    "name": "Odd",
    "fields": [
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "fare", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
        {"name": "id", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "raw", "type": "bytes"},
        {"name": "place", "type": {"type": "map", "values": "double"}},
    ],
}
ADDRESS = {
    "type": "record",
    "name": "Address",
    "namespace": "shop",
    "fields": [{"name": "city", "type": "string"}],
}
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "time", "type": "long"}, {"name": "to", "type": "shop.Address"}],
}


class Served:
    """A registry of this machine: schemas by number, and by subject."""

    def __init__(self) -> None:
        self.answers: dict[str, dict[str, Any]] = {}
        self.status: int | None = None
        self.user: str | None = None
        self.asked: Counter[str] = Counter()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked[self.path] += 1
                outer.user = self.headers.get("Authorization")
                known = outer.answers.get(self.path)
                self.send_response(outer.status or (200 if known else 404))
                self.end_headers()
                self.wfile.write(json.dumps(known or {"error_code": 40403}).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def has(self, number: int, schema: object, **more: object) -> None:
        self.answers[f"/schemas/ids/{number}"] = {"schema": json.dumps(schema), **more}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def served() -> Iterator[Served]:
    found = Served()
    found.has(1, RIDE)
    yield found
    found.close()


def written(number: int, schema: object, record: object, named: dict[str, Any] | None = None) -> bytes:
    """As a serializer of a registry writes it."""
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema, named_schemas=named or {}), record)
    return b"\0" + number.to_bytes(4, "big") + stream.getvalue()


def parsed(value: bytes, registry: Registry) -> Any:
    return json.loads(line_of(value, registry))


def test_records_are_what_was_written_and_each_schema_is_asked_for_once(served: Served) -> None:
    registry, draw = Registry((served.address,)), Random(1)
    for _ in range(50):
        record = {
            "time": draw.randrange(-(2**63), 2**63),
            "type": draw.choice(["Request", "Travel"]),
            "speed": draw.choice([None, draw.uniform(-1e300, 1e300)]),
            "district": draw.choice(["", "Moabit", "zwei\nZeilen\r", "\u2028 ä 🚕", '"{']),
        }
        line = line_of(written(1, RIDE, record), registry)
        assert json.loads(line) == record
        assert b"\n" not in line
    assert served.asked == {"/schemas/ids/1": 1}


def test_what_json_has_no_word_for(served: Served) -> None:
    served.has(2, ODD)
    record = {
        "at": datetime(2026, 1, 5, 12, 0, 0, 1, UTC),
        "day": date(2026, 1, 5),
        "fare": Decimal("12.00"),
        "id": "12345678-1234-5678-1234-567812345678",
        "raw": b"\x00\xff",
        "place": {"x": 1.5},
    }
    assert parsed(written(2, ODD, record), Registry((served.address,))) == {
        "at": "2026-01-05T12:00:00.000001+00:00",
        "day": "2026-01-05",
        "fare": 12.0,
        "id": "12345678-1234-5678-1234-567812345678",
        "raw": "00ff",
        "place": {"x": 1.5},
    }
    assert b"12.0" in line_of(
        written(2, ODD, record), Registry((served.address,))
    )  # a whole one is no integer


def test_schemas_that_refer_to_others_and_values_of_json_schemas(served: Served) -> None:
    reference = {"name": "shop.Address", "subject": "address", "version": 3}
    served.has(3, ORDER, references=[reference])
    served.answers["/subjects/address/versions/3"] = {"schema": json.dumps(ADDRESS)}
    served.has(4, {"type": "object"}, schemaType="JSON")
    registry, named = Registry((served.address,)), {}
    fastavro.parse_schema(ADDRESS, named_schemas=named)
    order = {"time": 1, "to": {"city": "Berlin"}}
    assert parsed(written(3, ORDER, order, named), registry) == order
    assert line_of(b'\0\0\0\0\4{"time": 1}', registry) == b'{"time": 1}'
    assert line_of(b"\0\0\0\0\4 \t", registry) == b"null"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"\0\0\0\0\1\x02", "schema 1: not written by it"),
        (
            b"\0\0\0\0\1\x02\x00\x00\x02aXY",
            "schema 1: not written by it (more follows); 12 bytes: 00 00 00 00 01 02",
        ),
        (b"\0\0\0\0\x09\x02", "schema 9: there is no such schema at http"),
        (b"\0\0\0\0\5\x02", "schema 5: it is of PROTOBUF"),
        (b"\0\0\0\0\6\x02", "schema 6: its schema cannot be used"),
        (b"\0\0\0\0\7\x02", "schema 7: its schema cannot be used: there is no version 1 of gone"),
    ],
)
def test_what_is_not_written_as_its_schema_says_is_no_json_and_says_why(
    served: Served, value: bytes, why: str
) -> None:
    served.has(5, "...", schemaType="PROTOBUF")
    served.has(6, {"type": "recrd"})
    served.has(7, ORDER, references=[{"name": "x", "subject": "gone", "version": 1}])
    line = line_of(value, Registry((served.address,))).decode()
    assert line.startswith(why)
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(line)


def test_without_a_registry_values_are_as_they_are() -> None:
    values = [b"\0\0\0\0\1x", None, b"", b" \t", b'{"a":\r\n1}', b"x"]
    assert lines_of(values, None) == b'\0\0\0\0\1x\nnull\nnull\nnull\n{"a":  1}\nx\n'
    assert lines_of([], None) == b""
    assert lines_of([b'{"a":1}', b"{}"], None) == b'{"a":1}\n{}\n'
    assert lines_of([b'{"a":\n1}', b"{}"], None) == b'{"a": 1}\n{}\n'
    assert lines_of([b'{"a":\r1}', b"{}"], None) == b'{"a": 1}\n{}\n'


def test_a_registry_that_does_not_tell_is_an_error_that_names_it(served: Served) -> None:
    value = written(1, RIDE, {"time": 1, "type": "Travel", "speed": None, "district": "x"})
    served.status = 401
    with pytest.raises(StreamError, match=r"does not tell schemas/ids/1: 401") as told:
        line_of(value, Registry((served.address,), "me:word"))
    assert told.value.code == "E457"
    assert served.user == "Basic bWU6d29yZA=="
    served.status = None
    silent = "http://127.0.0.1:9"
    assert parsed(value, Registry((silent, served.address)))["time"] == 1
    with pytest.raises(StreamError, match=r"http://127\.0\.0\.1:9 does not tell"):
        line_of(value, Registry((silent,)))


def test_no_registry_is_named() -> None:
    assert Registry.of({}) is None
    assert Registry.of({"schema.registry.url": " , "}) is None
    named = Registry.of({"schema.registry.url": "http://a:1, http://b:2/"})
    assert named is not None
    assert named.addresses == ("http://a:1", "http://b:2/")


def test_a_topic_of_values_in_avro_is_read(
    served: Served, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With values that are none, and some in JSON."""
    file = tmp_path_factory.mktemp("client") / "client.properties"
    file.write_text(f"schema.registry.url={served.address}\n")
    monkeypatch.setenv(CONFIGURATION, str(file))
    monkeypatch.setattr(kafka_topics, "_topic_id", lambda *_: "first")
    host = Producer({"test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = host.list_topics(timeout=10).brokers.values()
    servers = f"{broker.host}:{broker.port}"
    producer = Producer({"bootstrap.servers": servers})
    records = [
        {
            "time": time,
            "type": "Travel",
            "speed": None if time % 5 == 0 else time / 4,
            "district": f"d{time % 3}",
        }
        for time in range(100)
    ]
    for record in records:
        producer.produce("rides", written(1, RIDE, record), partition=0)
    for value in (b"\0\0\0\0\1\x02", b'{"time": 100, "type": "Request", "district": "d1"}'):
        producer.produce("rides", value, partition=0)
    assert producer.flush(20) == 0
    found = read_all(discover(f"kafka://{servers}/rides"), None, ColumnOptions())
    assert found.good.select([*records[0]]).to_pylist()[:-1] == records
    assert found.good["time"].to_pylist()[-1] == 100
    (rejected,) = found.rejected.to_pylist()
    assert rejected["row_number"] == 101
    assert rejected["raw"].startswith("schema 1: not written by it")
