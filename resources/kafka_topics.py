"""A Kafka topic as a place of events: ranges of offsets, each like a file of JSON lines that never changes.

Which ranges were read is known to whoever remembers them by their fingerprints, as of files: there are no offsets kept
beside that, at the broker or here, which could say otherwise.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import re
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

from hamlet_core.errors import StreamError
from resources.kafka_values import REGISTRY, USER, Registry, lines_of
from resources.storage import ListedFile, Memory

NOT_FROM_BROKER = "E455"
"""A topic that no broker gives."""

NO_LONGER_THERE = "E456"
"""Messages that went before anybody read them."""

CONFIGURATION = "HAMLET_KAFKA_CONFIG"
"""Environment variable: a file of properties of the client, for what a broker asks of it (security.protocol, sasl.username), and of a
schema registry.
"""

MOST = 200_000
"""Offsets of a partition that are read as one file."""

PATIENCE = 30.0
"""Seconds that a broker may take for an answer."""

_SILENT = logging.getLogger("hamlet.kafka")
"""Takes what the client says of each attempt: what fails in the end is raised."""
_SILENT.addHandler(logging.NullHandler())
_SILENT.propagate = False

_AT_ONCE = 10_000
"""Messages that are asked of the client at once."""

_A_MOMENT = 0.2
"""Seconds that the client waits for as many as it was asked."""

_IN_MEMORY = 64 << 20
"""Bytes of a range that are kept in memory."""

_DIGITS = 19
"""Of an offset in a name: names are sorted as offsets are."""

_ABOUT = 100
"""Bytes of a message, as long as nobody has read it."""

_TOPIC = re.compile(r"kafka://([^/?#\s]+)/([A-Za-z0-9._-]+)(\?lost=skip)?")
_FINGERPRINT = re.compile(r"(kafka:[^/]*/[^/]*)/(\d+)/(\d+)-(\d+)")
_RANGE = re.compile(r"kafka://([^/?#\s]+)/([A-Za-z0-9._-]+)/(\d+)/(\d+)-(\d+)\.jsonl")
_HINT = (
    f"write kafka://HOST:PORT/TOPIC; a file named by {CONFIGURATION} has what else the client must know, "
    "a line each, such as security.protocol=SASL_SSL"
)


def is_topic(place: str | Path) -> bool:
    """Whether a place of events is a topic, or a range of one."""
    return str(place).startswith("kafka://")


@dataclass(frozen=True, slots=True)
class _Range:
    """The messages of a partition with `first` <= offset < `until`."""

    partition: int
    first: int
    until: int

    @property
    def name(self) -> str:
        """As a file."""
        return f"{self.partition}/{self.first:0{_DIGITS}}-{self.until:0{_DIGITS}}.jsonl"


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic as its brokers tell of it; `identity` is that of the topic, not of its name, which may come again."""

    servers: str
    name: str
    identity: str
    offsets: Mapping[int, tuple[int, int]]
    """Of each partition: the first offset that is there, and that after the last which readers may see."""


def ranges_of_topic(place: str, memory: Memory | None = None) -> list[ListedFile]:
    """What is in a topic, as files: at most `MOST` offsets of a partition each; with a `memory`, what was not read before.

    New ranges are as old as one another if they are to be read together: each such round has its share of every
    partition, so that no partition is far ahead of the others. Raises StreamError E455 for an address that is none, a
    client that is missing or a broker that does not answer; E456 where messages were deleted before they were read.
    """
    servers, name, skips = _named(place)
    topic = _topic(servers, name)
    read = memory.read_of(topic.identity) if memory else {}
    unread = {
        partition: _unread(topic, partition, read.get(partition, ()), skips=skips)
        for partition in topic.offsets
    }
    now = datetime.now(UTC)
    return [
        _listed(topic, one, now + timedelta(microseconds=number))
        for number, ranges in enumerate(_rounds(unread))
        for one in ranges
    ]


def ranges_again(place: str, known: Mapping[str, str]) -> list[ListedFile]:
    """Of ranges that were read before, by path their fingerprints, those of a topic of which all messages may still be there."""
    servers, name, _ = _named(place)
    here = {path: one for path, one in known.items() if path.startswith(f"kafka://{servers}/{name}/")}
    if not here:
        return []
    topic, now = _topic(servers, name), datetime.now(UTC)
    ranges = [
        _Range(partition, *offsets) for partition, *offsets in _ranges_in(here.values(), topic.identity)
    ]
    return [
        _listed(topic, one, now)
        for one in ranges
        if one.first >= topic.offsets.get(one.partition, (one.until, 0))[0]
    ]


def _ranges_in(fingerprints: Iterable[str], identity: str) -> Iterator[tuple[int, int, int]]:
    for found in map(range_of, fingerprints):
        if found is not None and found[0] == identity:
            yield found[1:]


def range_of(fingerprint: str) -> tuple[str, int, int, int] | None:
    """The identity of a topic, the partition, the first offset, and that after the last; None for the fingerprint of something else."""
    found = _FINGERPRINT.fullmatch(fingerprint)
    return None if found is None else (found[1], int(found[2]), int(found[3]), int(found[4]))


def ever_sent(place: str, memory: Memory | None = None) -> bool:
    """Whether there are messages in a topic, or some were read. Raises as `ranges_of_topic`."""
    servers, name, _ = _named(place)
    topic = _topic(servers, name)
    there = any(first < last for first, last in topic.offsets.values())
    return there or bool(memory and memory.read_of(topic.identity))


def _named(place: str) -> tuple[str, str, bool]:
    """Brokers, name, and whether what is lost is skipped."""
    matched = _TOPIC.fullmatch(place)
    if matched is None:
        raise StreamError(f"{place} is no topic", code=NOT_FROM_BROKER, hint=_HINT)
    servers, name, skip = matched.groups()
    return servers, name, bool(skip)


def ranges_there(paths: Iterable[str]) -> frozenset[str]:
    """Those of the ranges that were listed of which all messages may still be there; a topic is asked for once."""
    asked: dict[tuple[str, str], dict[str, _Range]] = {}
    for path in paths:
        servers, name, one = _asked(path)
        asked.setdefault((servers, name), {})[path] = one
    return frozenset(
        path
        for (servers, name), ranges in asked.items()
        for offsets in (_topic(servers, name).offsets,)
        for path, one in ranges.items()
        if one.partition in offsets
        and offsets[one.partition][0] <= one.first
        and one.until <= offsets[one.partition][1]
    )


def open_range(path: str) -> io.BufferedReader:
    """The values of the messages of a range, a line each; of a message without a value, or with blanks alone, the line is `null`."""
    servers, name, asked = _asked(path)
    return io.BufferedReader(_Lines(_values(servers, name, asked), path), 1 << 20)


def _asked(path: str) -> tuple[str, str, _Range]:
    matched = _RANGE.fullmatch(path)
    if matched is None:
        raise StreamError(f"{path} is no range of a topic", code=NOT_FROM_BROKER, hint=_HINT)
    servers, name, *numbers = matched.groups()
    return servers, name, _Range(*map(int, numbers))


def _unread(topic: _Topic, partition: int, read: Sequence[tuple[int, int]], *, skips: bool) -> list[_Range]:
    """What is to be read of a partition, in order: what came since, and before it what was left out when later ranges were read."""
    low, high = topic.offsets[partition]
    at = min(low, read[0][0]) if read else low
    found = []
    for first, until in (*read, (high, high)):
        if first > at:
            found.append(_Range(partition, at, first))
        at = max(at, until)
    if at > high:
        raise StreamError(
            f"partition {partition} of topic {topic.name} ends at offset {high:,}, and was read up to {at:,}",
            code=NO_LONGER_THERE,
            hint="a broker has lost what it had; ingest the topic into another --warehouse",
        )
    if found and found[0].first < low and not skips:
        lost = min(low, found[0].until) - found[0].first
        raise StreamError(
            f"partition {partition} of topic {topic.name} begins at offset {low:,}, and was read up to {found[0].first:,}: "
            f"{lost:,} offsets were deleted before they were read",
            code=NO_LONGER_THERE,
            hint=f"kafka://{topic.servers}/{topic.name}?lost=skip goes on without them",
        )
    return [_Range(partition, max(one.first, low), one.until) for one in found if one.until > low]


def _rounds(unread: Mapping[int, Sequence[_Range]]) -> Iterator[list[_Range]]:
    """What is to be read, in ranges that are to be read together: of each partition its share, whatever there is of it."""
    counts = {partition: sum(one.until - one.first for one in ranges) for partition, ranges in unread.items()}
    rounds = -(-max(counts.values(), default=0) // MOST)
    for number in range(rounds):
        yield [
            part
            for partition, count in sorted(counts.items())
            for part in _part(unread[partition], count * number // rounds, count * (number + 1) // rounds)
        ]


def _part(ranges: Iterable[_Range], first: int, until: int) -> Iterator[_Range]:
    """Of all offsets of some ranges those from the `first`, counted from 0, to before `until`."""
    for one in ranges:
        start, end = max(first, 0), min(until, one.until - one.first)
        if start < end:
            yield _Range(one.partition, one.first + start, one.first + end)
        first, until = first - (one.until - one.first), until - (one.until - one.first)


def _listed(topic: _Topic, one: _Range, moment: datetime) -> ListedFile:
    path = f"kafka://{topic.servers}/{topic.name}/{one.name}"
    fingerprint = f"{topic.identity}/{one.partition}/{one.first}-{one.until}"
    return ListedFile(path, one.name, _ABOUT * (one.until - one.first), moment, fingerprint=fingerprint)


def _topic(servers: str, name: str) -> _Topic:
    client = _client()
    admin: Any = importlib.import_module("confluent_kafka.admin")
    with _told(f"topic {name} at {servers}"):
        asked = admin.AdminClient(_properties(servers))
        found = asked.list_topics(name, timeout=PATIENCE)
        if error := found.topics[name].error:
            raise client.KafkaException(error)
        parts = [client.TopicPartition(name, number) for number in found.topics[name].partitions]
        first, last = (
            {
                part.partition: answer.result().offset
                for part, answer in asked.list_offsets(
                    dict.fromkeys(parts, wanted),
                    isolation_level=client.IsolationLevel.READ_COMMITTED,
                    request_timeout=PATIENCE,
                ).items()
            }
            for wanted in (admin.OffsetSpec.earliest(), admin.OffsetSpec.latest())
        )
        topic_id = _topic_id(asked, name)
    return _Topic(
        servers,
        name,
        f"kafka:{found.cluster_id}/{topic_id}",
        {part: (first[part], last[part]) for part in sorted(first)},
    )


def _topic_id(asked: Any, name: str) -> str:
    """What tells a topic from one of its name that was there before it."""
    from confluent_kafka import TopicCollection

    return str(
        asked.describe_topics(TopicCollection([name]), request_timeout=PATIENCE)[name].result().topic_id
    )


def _values(servers: str, name: str, asked: _Range) -> Iterator[bytes]:
    """The messages of a range as lines, many at once."""
    client, registry = _client(), Registry.of(_given())
    own = {
        "group.id": "hamlet",
        "enable.auto.commit": False,
        "auto.offset.reset": "error",
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        # A client whose queue is full asks for no more for a second, though it is empty long before.
        "fetch.queue.backoff.ms": 5,
    }
    consumer = client.Consumer(_properties(servers) | own)
    try:
        with _told(f"partition {asked.partition} of topic {name} at {servers}"):
            consumer.assign([client.TopicPartition(name, asked.partition, asked.first)])
            after, heard = asked.first, time.monotonic()
            while after < asked.until:
                # The client waits until it has so many, though nothing more may come.
                messages = consumer.consume(min(_AT_ONCE, asked.until - after), timeout=_A_MOMENT)
                if messages:
                    heard = time.monotonic()
                    lines, after = _lines(messages, asked.until, client, registry)
                    yield lines
                elif time.monotonic() - heard > PATIENCE:
                    raise StreamError(
                        f"{servers} sent nothing of partition {asked.partition} of topic {name} for {PATIENCE:.0f} s",
                        code=NOT_FROM_BROKER,
                    )
    finally:
        consumer.close()


def _lines(
    messages: list[Any], until: int, client: ModuleType, registry: Registry | None
) -> tuple[bytes, int]:
    """The values of messages before an offset, as lines, and the offset after all that came.

    Offsets of messages that were compacted away, and of the marks of transactions, have no message: then a later one comes,
    or the end of all.
    """
    for error in filter(None, (message.error() for message in messages)):
        if error.code() != client.KafkaError._PARTITION_EOF:  # noqa: SLF001 - its public name
            raise client.KafkaException(error)
    after = messages[-1].offset() + (messages[-1].error() is None)
    found = [message for message in messages if message.error() is None]
    if after > until:
        found = [message for message in found if message.offset() < until]
    return lines_of([message.value() for message in found], registry), after


class _Lines(io.RawIOBase):
    """What comes of an iterator, to read from any place in it; mutable: what has come is kept, much of it on disk."""

    def __init__(self, pieces: Iterator[bytes], name: str) -> None:
        self._pieces = pieces
        self._kept = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed with this
        self._come = 0
        self._at = 0
        self._whole = False
        self.name = name

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        if whence == io.SEEK_END:
            while not self._whole:
                self._take()
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._come}[whence])
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read from the place on."""
        while not self._whole and self._come <= self._at:
            self._take()
        self._kept.seek(self._at)
        found = self._kept.readinto(buffer)
        self._at += found
        return found

    def close(self) -> None:
        """Ask the broker for nothing any more."""
        if not self.closed and hasattr(self._pieces, "close"):
            self._pieces.close()
        self._kept.close()
        super().close()

    def _take(self) -> None:
        piece = next(self._pieces, None)
        if piece is None:
            self._whole = True
        else:
            self._kept.seek(0, io.SEEK_END)
            self._come += self._kept.write(piece)


def _client() -> ModuleType:
    try:
        import confluent_kafka
    except ImportError as missing:
        raise StreamError(
            "topics are read with the package confluent-kafka, which is not there",
            code=NOT_FROM_BROKER,
            hint="install it, or the package of this project with [pipeline]",
        ) from missing
    return confluent_kafka


def _given(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The properties of the file that the user names."""
    given: dict[str, str] = {}
    if path := environ.get(CONFIGURATION):
        try:
            lines = Path(path).read_text("utf-8").splitlines()
        except OSError as error:
            raise StreamError(
                f"{CONFIGURATION} names {path}: {error.strerror}", code=NOT_FROM_BROKER, hint=_HINT
            ) from error
        pairs = (line.split("=", 1) for line in map(str.strip, lines) if line and not line.startswith("#"))
        given = {pair[0].strip(): pair[-1].strip() for pair in pairs}
    return given


def _properties(servers: str) -> dict[str, Any]:
    """What the client is told: what the user says but for what a reader must decide itself."""
    given = {name: value for name, value in _given().items() if name not in (REGISTRY, USER)}
    return given | {
        "bootstrap.servers": servers,
        "logger": _SILENT,
        "socket.timeout.ms": int(PATIENCE * 1000),
    }


@contextlib.contextmanager
def _told(what: str) -> Iterator[None]:
    """What a client says, as an error that says what was asked."""
    from confluent_kafka import KafkaException

    try:
        yield
    except KafkaException as error:
        why = error.args[0].str() if error.args and hasattr(error.args[0], "str") else str(error)
        raise StreamError(f"{what} cannot be read: {why}", code=NOT_FROM_BROKER, hint=_HINT) from error
