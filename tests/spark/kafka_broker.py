"""A Kafka broker of this machine for tests: one process, in KRaft mode, fetched once through Spark's Ivy."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from resources.java import find_java
from resources.setup import proxy_options

PACKAGES = "org.apache.kafka:kafka_2.13:3.9.1,org.slf4j:slf4j-simple:1.7.36"
JARS = Path(sys.prefix, "share", "hamlet", "kafka")
STARTING = 90.0
"""Seconds that a broker may take to answer."""


def broker_jars() -> Path:
    """The folder with all that a broker needs; fetched where it is not there yet."""
    return _fetched(PACKAGES, JARS, "org.apache.kafka_kafka_2.13-*.jar")


def connector_jars() -> Path:
    """The folder with what Spark's own streams read topics with, which is nothing of ours."""
    packages = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
    return _fetched(packages, JARS.with_name("kafka-connector"), "org.apache.spark_spark-sql-kafka-*.jar")


def _fetched(packages: str, folder: Path, one: str) -> Path:
    if not any(folder.glob(one)):
        part = folder.with_name(f"{folder.name}-{os.getpid()}")
        _resolve(packages, part)
        shutil.rmtree(folder, ignore_errors=True)
        (part / "jars").rename(folder)
        shutil.rmtree(part)
    return folder


def _resolve(packages: str, ivy: Path) -> None:
    ivy.mkdir(parents=True)
    program = ivy / "nothing.py"
    program.write_text("")
    subprocess.run(
        [
            str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
            *("--master", "local[1]", "--packages", packages, "--conf", f"spark.jars.ivy={ivy}"),
            *(
                "--conf",
                f"spark.driver.extraJavaOptions={' '.join(proxy_options(urllib.request.getproxies()))}",
            ),
            str(program),
        ],
        env={**os.environ, **_java_home(), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        check=True,
        capture_output=True,
        timeout=600,
    )


def _java_home() -> dict[str, str]:
    java = find_java()
    assert java is not None
    return {"JAVA_HOME": str(java.home)} if java.home else {}


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@dataclass(slots=True)
class Broker:
    """Mutable: a broker that keeps what it has in a folder, whether it runs or not."""

    folder: Path
    port: int = field(default_factory=_free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, the first time or again."""
        settings = self.folder / "server.properties"
        if not settings.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            settings.write_text(self._settings(), "utf-8")
            cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
            format_ = ["kafka.tools.StorageTool", "format", f"--cluster-id={cluster}", "-c", str(settings)]
            subprocess.run(self._command(*format_), check=True, capture_output=True, timeout=STARTING)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command("kafka.Kafka", str(settings)), stdout=log, stderr=log, start_new_session=True
            )
        self._wait()

    def kill(self) -> None:
        """As `kill -9` does."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def create(self, topic: str, partitions: int, **config: str) -> None:
        """Make a topic."""
        admin = self._admin()  # it is waited for as long as somebody holds it
        admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(30)

    def delete(self, topic: str) -> None:
        """Remove a topic."""
        admin = self._admin()
        admin.delete_topics([topic])[topic].result(30)

    def producer(self, **more: object) -> Producer:
        """Who sends to it."""
        return Producer({"bootstrap.servers": self.servers, "linger.ms": 5, **more})

    def send(self, topic: str, values: list[tuple[int, bytes]]) -> None:
        """Send values to partitions, in this order."""
        producer = self.producer()
        for partition, value in values:
            producer.produce(topic, value, partition=partition)
        assert producer.flush(60) == 0

    def _admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def _wait(self) -> None:
        until = time.monotonic() + STARTING
        while True:
            assert self.process is not None
            assert self.process.poll() is None, (self.folder / "log").read_text("utf-8")[-2000:]
            try:
                if self._admin().list_topics(timeout=2).brokers:
                    return
            except KafkaException:
                assert time.monotonic() < until, "the broker does not answer"
                time.sleep(0.5)

    def _command(self, main: str, *arguments: str) -> list[str]:
        home = _java_home().get("JAVA_HOME")
        java = str(Path(home, "bin", "java")) if home else "java"
        (scala,) = Path(pyspark.__file__).parent.glob("jars/scala-library-*.jar")  # Spark's Ivy leaves it out
        return [java, "-Xmx400m", "-cp", f"{broker_jars()}/*:{scala}", main, *arguments]

    def _settings(self) -> str:
        other = _free_port()
        return "\n".join(
            (
                "process.roles=broker,controller",
                "node.id=1",
                f"controller.quorum.voters=1@127.0.0.1:{other}",
                f"listeners=PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{other}",
                f"advertised.listeners=PLAINTEXT://127.0.0.1:{self.port}",
                "controller.listener.names=CONTROLLER",
                "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                "inter.broker.listener.name=PLAINTEXT",
                f"log.dirs={self.folder / 'data'}",
                "offsets.topic.replication.factor=1",
                "transaction.state.log.replication.factor=1",
                "transaction.state.log.min.isr=1",
                "group.initial.rebalance.delay.ms=0",
                "log.retention.check.interval.ms=1000",
                "",
            )
        )
