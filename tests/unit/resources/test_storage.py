"""Paths and URIs: what Spark, Arrow and delta-rs are each told, without any store being asked."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.fs as pa_fs
import pyarrow.parquet as pq
import pytest

from hamlet_core.errors import HamletError
from pipelines.example import example_events
from pipelines.instance import dagster_home
from pipelines.querying import query
from pipelines.reading import ColumnOptions, discover, ignored, listing, read_all
from resources import storage
from resources.data_files import parquet
from resources.storage import Location, place_of
from resources.warehouse import Warehouse
from resources.warehouse_lock import LOCK_FILE, WarehouseBusy, exclusive


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("/data/wh/", "/data/wh"),
        (Path("/data/a b"), "/data/a b"),
        ("/data/day/../wh/.", "/data/wh"),
        ("file:///data/wh/", "file:///data/wh"),
        ("file:///data/day/../wh/", "file:///data/wh"),
        ("file://localhost/data/wh", "file:///data/wh"),
        ("s3://bucket/wh", "s3://bucket/wh"),
        ("s3a://bucket/wh/", "s3://bucket/wh"),
        ("abfs://box@account.dfs.core.windows.net/wh", "abfss://box@account.dfs.core.windows.net/wh"),
        ("hdfs://name:8020/wh", "hdfs://name:8020/wh"),
    ],
)
def test_a_place_has_one_address(given, address):
    assert Location.of(given).address == address
    assert Location.of(address).address == address
    assert Warehouse(given).path_of("events") == f"{address}/events"


def test_a_path_is_seen_from_here_and_a_uri_from_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Location.of("wh").address == str(tmp_path / "wh")
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to("here")
    assert Location.of("link/../wh").address == str(tmp_path / "wh")
    assert Location.of("link/wh").address == str(tmp_path / "here" / "wh")
    assert place_of("wh") == Path("wh")
    assert place_of("wh", Path("/etc/x")) == Path("/etc/x/wh")
    assert place_of("s3://bucket/wh", Path("/etc/x")) == "s3://bucket/wh"


@pytest.mark.parametrize(
    "given",
    ["ftp://host/wh", "s3:/bucket/wh", "s3:///wh", "file://host/wh", "s3://bucket/a b", "s3://bucket/a%20b"],
)
def test_a_uri_that_readers_would_not_agree_on_is_refused(given):
    with pytest.raises(HamletError, match="E526") as refused:
        Location.of(given)
    assert given in refused.value.message
    assert refused.value.hint


def test_amazon_is_reached_by_the_variables_that_delta_rs_knows(monkeypatch):
    asked = []
    monkeypatch.setattr(storage.pa_fs, "S3FileSystem", lambda **options: asked.append(options) or "s3")
    place = Location.of("s3a://bucket/wh/events")
    environ = {
        "AWS_REGION": "eu-north-1",
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_ENDPOINT_URL": "http://minio:9000/",
        "HOME": "/",
    }
    assert place.filesystem(environ) == ("s3", "bucket/wh/events")
    assert place.filesystem({}) == ("s3", "bucket/wh/events")
    # Keys are for Amazon's own chain to find: none is handed on to Arrow.
    assert asked == [{"region": "eu-north-1", "endpoint_override": "minio:9000", "scheme": "http"}, {}]
    assert place.storage_options(environ) == {
        "AWS_REGION": "eu-north-1",
        "AWS_ACCESS_KEY_ID": "id",
        "AWS_ENDPOINT_URL": "http://minio:9000/",
        "AWS_ALLOW_HTTP": "true",
    }
    assert place.storage_options({"AZURE_STORAGE_ACCOUNT_KEY": "k"}) == {}
    assert Location.of("/data").storage_options(environ) is None


def test_azure_has_account_and_key_of_its_own(monkeypatch):
    asked = []
    monkeypatch.setattr(storage.pa_fs, "AzureFileSystem", lambda **options: asked.append(options) or "azure")
    place = Location.of("abfss://box@account.dfs.core.windows.net/wh")
    for environ in ({"AZURE_STORAGE_ACCOUNT_KEY": "k"}, {"AZURE_STORAGE_SAS_TOKEN": "t"}, {}):
        assert place.filesystem(environ) == ("azure", "box/wh")
    assert asked == [
        {"account_name": "account", "account_key": "k"},
        {"account_name": "account", "sas_token": "t"},
        {"account_name": "account"},
    ]
    assert place.storage_options({"AZURE_STORAGE_ACCOUNT_KEY": "k"}) == {"AZURE_STORAGE_ACCOUNT_KEY": "k"}


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """A store that is none: whatever Arrow is asked of s3 lies below a folder; delta-rs gets the folder's path."""
    root = tmp_path / "store"
    (root / "bucket").mkdir(parents=True)
    store = pa_fs.SubTreeFileSystem(str(root), pa_fs.LocalFileSystem())
    monkeypatch.setattr(storage.pa_fs, "S3FileSystem", lambda **_: store)
    monkeypatch.setenv("AWS_REGION", "eu-north-1")
    monkeypatch.setenv("HAMLET_STATE", str(tmp_path / "state"))
    asked = []

    class Table(deltalake.DeltaTable):
        def __init__(self, uri, version=None, storage_options=None):
            asked.append((uri, (storage_options or {}).get("AWS_REGION")))
            super().__init__(str(root / uri.removeprefix("s3://")), version=version)

        @staticmethod
        def is_deltatable(uri, storage_options=None):
            asked.append((uri, (storage_options or {}).get("AWS_REGION")))
            return deltalake._internal.RawDeltaTable.is_deltatable(
                str(root / uri.removeprefix("s3://")), None
            )

    monkeypatch.setattr("resources.warehouse.deltalake.DeltaTable", Table)
    return root / "bucket", asked


def test_a_warehouse_in_a_store_is_read_through_arrow_and_delta_rs(bucket):
    folder, asked = bucket
    rows = pa.table({"k": ["a", "b", "c"], "day": ["1", "2", "2"]})
    deltalake.write_deltalake(str(folder / "wh" / "events"), rows, partition_by=["day"])
    (folder / "wh" / "notes").mkdir()
    warehouse = Warehouse("s3a://bucket/wh")
    assert warehouse.names() == ("events",)
    assert warehouse.exists("events")
    assert not warehouse.exists("others")
    files = warehouse.files("events")
    assert {file.path.rpartition("/")[0] for file in files} == {
        "s3://bucket/wh/events/day=1", "s3://bucket/wh/events/day=2",
    }  # fmt: skip
    # Delta's Spark writer keeps partition columns in the files, too; delta-rs does not.
    assert warehouse.rows("events").sort_by("k").to_pydict() == rows.to_pydict()
    schema = pa.schema([("k", pa.string()), ("day", pa.string())])
    second = [file.path for file in files if file.partition == {"day": "2"}]
    assert sorted(parquet(second, schema).to_table().column("k").to_pylist()) == ["b", "c"]
    assert query("SELECT count(*) AS n FROM events", "s3://bucket/wh").to_pylist() == [{"n": 3}]
    assert (
        len([one for one in warehouse.location.below("events").files() if one.path.endswith(".parquet")]) == 2
    )
    assert set(asked) == {
        (f"s3://bucket/wh/{name}", "eu-north-1") for name in ("events", "notes", "others")
    }  # fmt: skip
    with pytest.raises(HamletError, match="E540"):
        query("SELECT 1", "s3://bucket/none")


def test_what_belongs_to_a_warehouse_elsewhere_is_kept_in_the_state_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("HAMLET_STATE", str(tmp_path))
    place = "s3://bucket/wh"
    state = Location.of(place).state
    assert state.parent == tmp_path
    assert state == Location.of("s3a://bucket/wh/").state != Location.of("s3://bucket/wh2").state
    with exclusive(place):
        assert (state / LOCK_FILE).is_file()
        with (
            pytest.raises(WarehouseBusy, match=r"E520.*s3a://bucket/wh/ is in use"),
            exclusive("s3a://bucket/wh/"),
        ):
            pass
    assert dagster_home(place) == state / ".dagster"
    assert (state / ".dagster" / "dagster.yaml").is_file()
    monkeypatch.setattr("pipelines.example.write_csv", lambda _, path, **__: path.write_text("time"))
    assert example_events(place).is_relative_to(state)


def test_a_folder_of_this_machine_keeps_everything_beside_its_tables(tmp_path):
    for place in (tmp_path, f"file://{tmp_path}"):
        location = Location.of(place)
        assert location.local == location.state == tmp_path
        assert dagster_home(place) == tmp_path / ".dagster"
        files, path = location.filesystem()
        assert isinstance(files, pa_fs.LocalFileSystem)
        assert path == str(tmp_path)
    with exclusive(tmp_path), pytest.raises(WarehouseBusy), exclusive(f"file://{tmp_path}"):
        pass


def test_the_home_of_state_can_be_chosen():
    assert storage.state_home({"HAMLET_STATE": "/var/hamlet", "XDG_STATE_HOME": "/x"}) == Path("/var/hamlet")
    assert storage.state_home({"XDG_STATE_HOME": "/x"}) == Path("/x/hamlet")
    assert storage.state_home({}) == Path.home() / ".local" / "state" / "hamlet"


def test_events_are_read_from_a_store_as_from_a_folder(bucket, tmp_path):
    folder, _ = bucket
    inbox = folder / "in box"
    (inbox / "_hidden").mkdir(parents=True)
    (inbox / "2026 #1").mkdir()
    (inbox / "_hidden" / "x.csv").write_text("time,type\n9,Z\n")
    (inbox / "a?b%20c.csv").write_text("time,type\n1,A\n2,B\n")
    (inbox / "2026 #1" / "lines.jsonl").write_text('{"time": 3, "type": "A"}\n')
    (inbox / "notes.txt").write_text("no events")
    pq.write_table(pa.table({"time": [4, 5], "type": ["A", "B"]}), inbox / "p.parquet")
    place = "s3a://bucket/in box"
    here, there = discover(inbox), discover(place)
    assert [file.name for file in there] == ["2026 #1/lines.jsonl", "a?b%20c.csv", "p.parquet"]
    assert [(file.name, file.size, file.fingerprint, file.modified) for file in there] == [
        (file.name, file.size, file.fingerprint, file.modified) for file in here
    ]
    assert there[0].path == "s3://bucket/in box/2026 #1/lines.jsonl"
    assert ignored(place) == ignored(inbox) == ("notes.txt",)
    assert [file.path for file in listing(place)] == [file.path for file in there]
    good, rejected, _ = read_all(there, None, ColumnOptions())
    assert (good.sort_by("time").column("time").to_pylist(), rejected.num_rows) == ([1, 2, 3, 4, 5], 0)
    (one,) = discover(f"{place}/p.parquet")
    assert (one.name, one.path) == ("p.parquet", "s3://bucket/in box/p.parquet")
    (same,) = discover(f"file://{inbox}/p.parquet")
    assert same == discover(inbox / "p.parquet")[0]


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("ftp://host/events", r"E450.*cannot be read from ftp://host/events.*s3://"),
        ("s3://bucket/absent", r"E450.*no such file or folder: s3://bucket/absent"),
        ("s3://bucket", r"E450.*no event files at s3://bucket"),
    ],
)
def test_a_place_without_events_is_refused_in_words(bucket, place, says):
    with pytest.raises(HamletError, match=f"(?s){says}"):
        discover(place)
    assert listing("s3://bucket/absent") == ()


def test_a_store_that_does_not_answer_says_where_credentials_come_from(monkeypatch):
    def refuse(**_: object) -> None:
        raise OSError("When listing objects: AWS Error ACCESS_DENIED\nmore")

    monkeypatch.setattr(storage.pa_fs, "S3FileSystem", refuse)
    with pytest.raises(
        HamletError, match=r"E450.*s3://bucket/in cannot be listed: When .* ACCESS_DENIED"
    ) as refused:
        discover("s3://bucket/in")
    assert "environment" in refused.value.hint
