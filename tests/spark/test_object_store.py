"""Events in an object store, and a warehouse that was brought there: S3's protocol, spoken by a server of this machine."""

from __future__ import annotations

import csv
import io
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import deltalake
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer

from pipelines.reading import discover
from resources.storage import Location
from resources.warehouse import Warehouse
from tests.conftest import ROOT
from tests.spark.pipeline_cases import WORKLOAD, expected_rows, settings_for, stream, table_rows, write_csv
from tests.unit.pipelines.test_reading_delta import Read, events, times

REGION = "eu-north-1"
KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": REGION}


@pytest.fixture(scope="module")
def store() -> Iterator[tuple[str, pa_fs.S3FileSystem]]:
    """The address of the server, and its files; it has a bucket."""
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    files = pa_fs.S3FileSystem(
        access_key="key", secret_key="secret", region=REGION,
        endpoint_override=f"{host}:{port}", scheme="http", allow_bucket_creation=True,
    )  # fmt: skip
    files.create_dir("bucket")
    yield f"http://{host}:{port}", files
    server.stop()


def hamlet(address: str, *words: str) -> str:
    """A command in a process of its own, which finds the store by the variables of its environment."""
    done = subprocess.run(
        [sys.executable, "-m", "pipelines.cli", *words],
        check=False, cwd=ROOT, capture_output=True, text=True, timeout=400,
        env={**os.environ, **KEYS, "AWS_ENDPOINT_URL": address},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_events_in_a_bucket_are_ingested_and_a_warehouse_in_a_bucket_is_queried(
    store, tmp_path: Path
) -> None:
    address, files = store
    table = stream(240)
    write_csv(table.slice(0, 120), tmp_path / "inbox" / "part one.csv")
    pq.write_table(table.slice(120), tmp_path / "inbox" / "two.parquet")
    pa_fs.copy_files(str(tmp_path / "inbox"), "bucket/in box", destination_filesystem=files)
    workload = tmp_path / "test.hamlet"
    workload.write_text(WORKLOAD)
    given = (str(workload), "--events", "s3://bucket/in box", "--arithmetic", "exact")
    hamlet(address, "pipeline", *given, "--warehouse", str(tmp_path / "wh"))
    settings = settings_for(tmp_path / "inbox", tmp_path / "wh")
    expected = expected_rows(settings)
    assert table_rows(Warehouse(tmp_path / "wh"), "trend_aggregates") == expected
    here = csv.DictReader(io.StringIO(hamlet(address, "run", *given, "--format", "csv")))
    assert len(list(here)) == len(expected)

    pa_fs.copy_files(str(tmp_path / "wh"), "bucket/wh", destination_filesystem=files)
    question = "SELECT count(*) AS n, count(DISTINCT source_file) AS files FROM trend_aggregates, events"
    shown = hamlet(address, "query", question, "--warehouse", "s3://bucket/wh", "--format", "json")
    assert json.loads(shown) == [{"n": len(expected) * 240, "files": 2}]


def test_a_table_in_a_bucket_is_read_by_its_log(store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (*KEYS.items(), ("AWS_ENDPOINT_URL", store[0])):
        monkeypatch.setenv(name, value)
    place, memory = "s3://bucket/lake/rides", Read()
    options = Location.of(place).storage_options()

    def append(*times: int) -> None:
        rows = events(*times)
        deltalake.write_deltalake(place, rows, mode="append", partition_by=["type"], storage_options=options)

    append(1, 2)
    append(3)
    assert memory.new("s3://bucket/lake") == [1, 2, 3]
    append(4)
    deltalake.DeltaTable(place, storage_options=options).optimize.compact()
    append(5)
    assert memory.new("s3://bucket/lake") == [4, 5]
    assert memory.new(place) == []
    deltalake.DeltaTable(place, storage_options=options).delete("time = 2")
    assert times(discover(place)) == [1, 3, 4, 5]
