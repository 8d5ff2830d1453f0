"""Topics as places of events, read from the broker that the client brings for tests."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Producer

from hamlet_core.errors import StreamError
from pipelines.reading import ColumnOptions, discover, read_all
from resources import kafka_topics
from resources.kafka_topics import (
    CONFIGURATION,
    ever_sent,
    open_range,
    range_of,
    ranges_again,
    ranges_of_topic,
    ranges_there,
)
from resources.kafka_values import Registry
from resources.storage import ListedFile

PARTITIONS = 4
"""That the client's broker gives each topic."""


class Remembered:
    """What was read, as a ledger knows it."""

    def __init__(self) -> None:
        self.files: dict[str, ListedFile] = {}

    def known(self, file: ListedFile) -> str | None:
        return None

    def has(self, path: str, fingerprint: str) -> bool:
        return fingerprint in self.files

    def any_below(self, address: str) -> bool:
        return any(file.path.startswith(address) for file in self.files.values())

    def read_of(self, topic: str) -> dict[int, list[tuple[int, int]]]:
        found: dict[int, list[tuple[int, int]]] = {}
        for identity, partition, first, until in filter(None, map(range_of, self.files)):
            if identity == topic:
                found.setdefault(partition, []).append((first, until))
        return {partition: sorted(ranges) for partition, ranges in found.items()}

    def read(self, file: ListedFile) -> list[str]:
        self.files[file.fingerprint] = file
        return lines(file.path)


class Broker:
    """A broker within this process, and who sends to it."""

    def __init__(self) -> None:
        self._host = Producer({"test.mock.num.brokers": 1, "log_level": 0})
        (broker,) = self._host.list_topics(timeout=10).brokers.values()
        self.servers = f"{broker.host}:{broker.port}"
        self._producer = Producer({"bootstrap.servers": self.servers})

    def place(self, topic: str) -> str:
        return f"kafka://{self.servers}/{topic}"

    def send(self, topic: str, values: list[bytes | None], partition: int = 0) -> None:
        for value in values:
            self._producer.produce(topic, value, partition=partition)
        assert self._producer.flush(20) == 0


@pytest.fixture(scope="module")
def broker() -> Broker:
    return Broker()


@pytest.fixture(autouse=True)
def topic_ids(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """By name; the client's broker has none."""
    found: dict[str, str] = {}
    monkeypatch.setattr(kafka_topics, "_topic_id", lambda _, name: found.get(name, "first"))
    return found


def lines(path: str) -> list[str]:
    with open_range(path) as file:
        return file.read().decode().splitlines()


def test_what_was_sent_is_read_partition_by_partition_in_order(broker: Broker) -> None:
    for partition in range(PARTITIONS):
        broker.send("rides", [b'{"n":%d}' % (partition * 100 + n) for n in range(50)], partition)
    found = ranges_of_topic(broker.place("rides"))
    assert [file.name for file in found] == [
        f"{partition}/0000000000000000000-0000000000000000050.jsonl" for partition in range(PARTITIONS)
    ]
    for partition, file in enumerate(found):
        assert lines(file.path) == [f'{{"n":{partition * 100 + n}}}' for n in range(50)]
    assert ranges_there(file.path for file in found) == {file.path for file in found}


def test_an_empty_topic_has_no_ranges_and_what_a_message_lacks_is_null(broker: Broker) -> None:
    broker.send("odd", [None, b'{"a":\r\n 1}', b"", b"x", b" \n"])
    (file,) = ranges_of_topic(broker.place("odd"))
    assert lines(file.path) == ["null", '{"a":   1}', "null", "x", "null"]
    memory = Remembered()
    memory.read(file)
    assert ranges_of_topic(broker.place("odd"), memory) == []


@pytest.mark.parametrize(
    "odd",
    [
        b"[1]",
        b"[",
        b"\0\0\0\0\7binary",
        b"\xff\xfe{\0",
        b'\xef\xbb\xbf{"time": 1, "type": "A"}',
        b"",
        None,
        b"{",
    ],
    ids=["array", "bracket", "binary", "UTF-16", "BOM", "empty", "tombstone", "broken"],
)
@pytest.mark.parametrize("place", [0, 2])
def test_no_message_says_how_others_are_read(
    broker: Broker, odd: bytes | None, place: int, request: pytest.FixtureRequest
) -> None:
    """Of a file the first bytes do: a file in UTF-16, or with one JSON array, is refused as a whole."""
    topic = f"{request.node.callspec.id.replace('-', '_')}_first"
    good = [b'{"time": %d, "type": "A"}' % time for time in range(4)]
    broker.send(topic, [*good[:place], odd, *good[place:]])
    found = read_all(discover(broker.place(topic)), None, ColumnOptions())
    assert found.good["time"].to_pylist() == [0, 1, 2, 3]
    assert found.rejected["row_number"].to_pylist() == [place + 1]


@pytest.mark.parametrize("seed", range(20))
def test_whoever_reads_when_each_message_is_read_once(
    broker: Broker, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = Random(seed)
    monkeypatch.setattr(kafka_topics, "MOST", draw.choice([3, 10, 1000]))
    topic, sent, read = f"random{seed}", 0, Counter[int]()
    memory = Remembered()
    for _ in range(6):
        for partition in range(PARTITIONS):
            count = draw.choice([0, 1, 7, 30])
            broker.send(topic, [json.dumps({"n": sent + n}).encode() for n in range(count)], partition)
            sent += count
        for file in ranges_of_topic(broker.place(topic), memory):
            if (
                not memory.has(file.path, file.fingerprint) and draw.random() < 0.5
            ):  # else it is left to the next
                read.update(json.loads(line)["n"] for line in memory.read(file))
    for file in ranges_of_topic(broker.place(topic), memory):
        if not memory.has(file.path, file.fingerprint):
            read.update(json.loads(line)["n"] for line in memory.read(file))
    assert read == Counter(range(sent))


def test_each_round_has_its_share_of_every_partition(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_topics, "MOST", 10)
    broker.send("shares", [b"1"] * 100, 0)
    broker.send("shares", [b"1"] * 30, 1)
    found = ranges_of_topic(broker.place("shares"))
    moments = sorted({file.modified for file in found})
    rounds = [[file.name for file in found if file.modified == moment] for moment in moments]
    assert len(rounds) == 10
    assert rounds[1] == [
        "0/0000000000000000010-0000000000000000020.jsonl",
        "1/0000000000000000003-0000000000000000006.jsonl",
    ]


def test_a_range_is_read_from_any_place_in_it(broker: Broker) -> None:
    values = [b"%d" % (n % 10) for n in range(30_000)]
    broker.send("seek", values)
    (file,) = ranges_of_topic(broker.place("seek"))
    whole = b"".join(value + b"\n" for value in values)
    with open_range(file.path) as opened:
        assert opened.read(10) == whole[:10]
        assert opened.seek(0, 2) == len(whole)
        assert opened.seek(41_000) == 41_000
        assert opened.read(5) == whole[41_000:41_005]
        assert opened.seek(0) == 0
        assert opened.read() == whole


def test_a_topic_that_was_made_anew_is_another(broker: Broker, topic_ids: dict[str, str]) -> None:
    broker.send("anew", [b"1"] * 5)
    memory = Remembered()
    for file in ranges_of_topic(broker.place("anew"), memory):
        memory.read(file)
    topic_ids["anew"] = "second"
    (file,) = ranges_of_topic(broker.place("anew"), memory)
    assert not memory.has(file.path, file.fingerprint)


def bounds(monkeypatch: pytest.MonkeyPatch, low: int, high: int) -> None:
    """Of the one partition of every topic."""

    def topic(servers: str, name: str) -> Any:
        return kafka_topics._Topic(servers, name, "kafka:c/t", {0: (low, high)})

    monkeypatch.setattr(kafka_topics, "_topic", topic)


def unread(memory: Remembered, skip: str = "") -> list[str]:
    """What is to be read of the partition."""
    found = ranges_of_topic(f"kafka://b:1/t{skip}", memory)
    return [one.fingerprint.rpartition("/")[2] for one in found if not memory.has(one.path, one.fingerprint)]


def test_messages_that_were_deleted_before_they_were_read_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Remembered()
    bounds(monkeypatch, 0, 10)
    (first,) = ranges_of_topic("kafka://b:1/t", memory)
    memory.files[first.fingerprint] = first
    bounds(monkeypatch, 10, 20)
    (next_,) = ranges_of_topic("kafka://b:1/t", memory)
    assert next_.name == "0/0000000000000000010-0000000000000000020.jsonl"
    bounds(monkeypatch, 12, 20)
    with pytest.raises(
        StreamError, match=r"begins at offset 12.*read up to 10.*2 offsets were deleted"
    ) as told:
        ranges_of_topic("kafka://b:1/t", memory)
    assert told.value.code == "E456"
    (left,) = ranges_of_topic("kafka://b:1/t?lost=skip", memory)
    assert left.name == "0/0000000000000000012-0000000000000000020.jsonl"
    bounds(monkeypatch, 0, 8)
    with pytest.raises(StreamError, match=r"ends at offset 8, and was read up to 10"):
        ranges_of_topic("kafka://b:1/t", memory)
    memory.files["kafka:c/t/0/20-30"] = first
    bounds(monkeypatch, 0, 40)
    assert unread(memory) == ["10-20", "30-40"]
    bounds(monkeypatch, 12, 40)
    with pytest.raises(StreamError, match=r"begins at offset 12.*read up to 10.*2 offsets were deleted"):
        ranges_of_topic("kafka://b:1/t", memory)
    assert unread(memory, "?lost=skip") == ["12-20", "30-40"]
    bounds(monkeypatch, 0, 8)
    no_part = "kafka://b:1/t/7/0000000000000000002-0000000000000000003.jsonl"
    within = "kafka://b:1/t/0/0000000000000000002-0000000000000000008.jsonl"
    assert ranges_there([first.path, within, no_part]) == {within}
    assert ranges_there([]) == frozenset()


@pytest.mark.parametrize(
    "place", ["kafka://", "kafka://host:9092", "kafka://host:9092/", "kafka://h:1/a/b", "kafka://h:1/t?x=1"]
)
def test_an_address_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(StreamError, match="is no topic") as told:
        ranges_of_topic(place)
    assert told.value.code == "E455"
    assert "kafka://HOST:PORT/TOPIC" in (told.value.hint or "")


def test_a_broker_that_does_not_answer_and_a_topic_that_is_not_there_are_named(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka_topics, "PATIENCE", 1.0)
    with pytest.raises(StreamError, match=r"topic rides at 127\.0\.0\.1:9 cannot be read") as told:
        ranges_of_topic("kafka://127.0.0.1:9/rides")
    assert told.value.code == "E455"


def test_what_a_broker_asks_of_the_client_is_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "client.properties"
    broker = "# of this cluster\nsecurity.protocol = SASL_SSL\nsasl.password=a=b\n\n"
    file.write_text(f"{broker}schema.registry.url=http://h:8081\nbasic.auth.user.info = me:word\n", "utf-8")
    monkeypatch.setenv(CONFIGURATION, str(file))
    told = kafka_topics._properties("h:1")
    assert (told["security.protocol"], told["sasl.password"]) == ("SASL_SSL", "a=b")
    assert told["bootstrap.servers"] == "h:1"
    assert not {"schema.registry.url", "basic.auth.user.info"} & told.keys()
    assert Registry.of(kafka_topics._given()) == Registry(("http://h:8081",), "me:word")
    monkeypatch.setenv(CONFIGURATION, str(tmp_path / "other"))
    with pytest.raises(StreamError, match="No such file"):
        kafka_topics._properties("h:1")


def test_what_was_read_is_named_again_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Remembered()
    bounds(monkeypatch, 0, 0)
    assert not ever_sent("kafka://b:1/t", memory)
    bounds(monkeypatch, 0, 10)
    assert ever_sent("kafka://b:1/t")
    (first,) = ranges_of_topic("kafka://b:1/t", memory)
    memory.files[first.fingerprint] = first
    known = {
        first.path: first.fingerprint,
        "kafka://b:1/other/0/0-10.jsonl": "kafka:c/other/0/0-10",
        "/in/a.csv": "digest",
    }
    (again,) = ranges_again("kafka://b:1/t?lost=skip", known)
    assert (again.path, again.name, again.fingerprint) == (first.path, first.name, first.fingerprint)
    assert ranges_again("kafka://b:1/t", {first.path: "kafka:c/of_that_name_before/0/0-10"}) == []
    assert ranges_again("kafka://b:1/none", known) == []
    bounds(monkeypatch, 3, 10)
    assert ranges_again("kafka://b:1/t", known) == []
    bounds(monkeypatch, 10, 10)
    assert ever_sent("kafka://b:1/t", memory)
    assert not ever_sent("kafka://b:1/t")


def test_a_fingerprint_of_something_else_is_no_range() -> None:
    assert range_of("kafka:cluster/id/3/20-4000000000") == ("kafka:cluster/id", 3, 20, 4_000_000_000)
    for other in ("", "0" * 64, "kafka:cluster/id/3/20", "kafka:cluster/id/3/20-x", "delta:a/b/3/20-30"):
        assert range_of(other) is None
