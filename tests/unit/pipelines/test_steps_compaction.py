"""Small files that a stream leaves are put together while it runs: which, how, and that no row changes."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.steps.compaction import MOST_BYTES, MOST_ROWS, TOGETHER, WORTH, crowded, tidy
from resources.storage import Location
from resources.table_logs import commits_since_checkpoint
from resources.tables import BUCKET_KEY, BUCKETS, TIMESTAMP
from resources.warehouse import MOST_COMMITS, DataFile, Warehouse

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def files(
    count: int, rows: int, *, bucket: str = "0", first: datetime = NOON, name: str = "f"
) -> list[DataFile]:
    return [
        DataFile(
            f"{name}{number:03}", rows, 1, {"bucket": bucket}, first=first + number * SECOND,
            last=first + (number + 1) * SECOND,
        )
        for number in range(count)
    ]  # fmt: skip


def test_files_of_one_size_and_partition_are_put_together_the_oldest_first() -> None:
    small, other = files(TOGETHER, 5_000), files(TOGETHER - 1, 5_000, bucket="1")
    assert crowded([*small[::-1], *other], NOON) == [tuple(small)]
    assert crowded([*small[1:], *other], NOON) == []
    sizes = [*files(TOGETHER - 1, 5_000), *files(TOGETHER - 1, 500_000, name="large")]
    assert crowded(sizes, NOON) == [], "each row is written a few times, not with every micro-batch"
    more = [*small, *files(TOGETHER + 3, 4_500, bucket="1")]
    assert [len(group) for group in crowded(more, NOON)] == [TOGETHER + 3, TOGETHER], "the most crowded first"


def test_what_is_put_together_fits_memory_and_large_files_stay() -> None:
    many = files(2 * TOGETHER, MOST_ROWS // TOGETHER)
    assert [len(group) for group in crowded(many, NOON)] == [TOGETHER]
    assert crowded(files(2 * TOGETHER, MOST_ROWS), NOON) == []
    assert crowded(files(2 * TOGETHER, 0), NOON) == [], "nobody knows how many rows these have"
    wide = [replace(file, size=MOST_BYTES // 4) for file in files(2 * TOGETHER, 5_000)]
    assert crowded(wide, NOON) == []
    after_a_large_one = [
        *files(1, 4 * WORTH // 5),
        *files(3, 3 * WORTH // 5, first=NOON + 9 * SECOND, name="g"),
    ]
    assert _sizes(after_a_large_one) == [2]


def _sizes(listed: list[DataFile]) -> list[int]:
    return [len(group) for group in crowded(listed, NOON + timedelta(days=1))]


@pytest.mark.parametrize(("since", "groups"), [(NOON + 60 * SECOND, [3]), (NOON, [])])
def test_few_large_files_are_put_together_once_their_windows_are_given_out(
    since: datetime, groups: list[int]
) -> None:
    assert [len(group) for group in crowded(files(3, WORTH // 3), since)] == groups
    assert crowded(files(3, WORTH // 3 - 1), since) == []


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """Events in many files of two buckets, and an old version of them."""
    found = Warehouse(tmp_path)
    schema = pa.schema(
        [
            ("k", pa.string()),
            ("event_time", TIMESTAMP),
            ("bucket", pa.int32()),
        ]
    )
    properties = {BUCKET_KEY: '["k"]', BUCKETS: "2", "delta.dataSkippingStatsColumns": "event_time"}
    deltalake.DeltaTable.create(
        found.path_of("events"),
        schema,
        partition_by=["bucket"],
        configuration=properties,
        raise_if_key_not_exists=False,
    )
    for number in range(2 * TOGETHER):
        rows = [
            {
                "k": f"k{5 - place}",
                "event_time": NOON + (7 * number + place) * SECOND,
                "bucket": number % 2,
            }
            for place in range(6)
        ]
        deltalake.write_deltalake(found.path_of("events"), pa.Table.from_pylist(rows, schema), mode="append")
    return found


def rows_of(warehouse: Warehouse, version: int | None = None) -> list[dict[str, object]]:
    rows = warehouse.dataset("events", version).to_table().to_pylist()
    return sorted(rows, key=lambda row: (row["event_time"], row["k"]))


def test_no_row_changes_and_the_log_says_so(warehouse: Warehouse) -> None:
    before, version = rows_of(warehouse), warehouse.version("events")
    assert tidy(warehouse, NOON + timedelta(days=1)) == 2 * TOGETHER
    assert rows_of(warehouse) == before == rows_of(warehouse, version)
    together = warehouse.files("events")
    assert [(file.rows, file.partition) for file in together] == [
        (6 * TOGETHER, {"bucket": bucket}) for bucket in "01"
    ]
    assert [file.first for file in together] == [NOON, NOON + 7 * SECOND]
    log = Path(warehouse.path_of("events"), "_delta_log", f"{version + 1:020}.json")
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    changes = [
        action[kind]["dataChange"] for action in actions for kind in ("add", "remove") if kind in action
    ]
    assert changes == [False] * (2 * TOGETHER + 2)
    assert tidy(warehouse, NOON + timedelta(days=1)) == 0
    assert warehouse.version("events") == version + 1


def test_tables_of_others_and_such_as_only_spark_understands_stay_as_they_are(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(TOGETHER):
        rows = pa.table({"city": ["New York"], "number": [number]})
        deltalake.write_deltalake(warehouse.path_of("cities"), rows, mode="append", partition_by=["city"])
    protocol = deltalake.DeltaTable.protocol
    monkeypatch.setattr(
        deltalake.DeltaTable, "protocol", lambda table: protocol(table)._replace(min_reader_version=3)
    )
    assert tidy(warehouse, NOON + timedelta(days=1)) == 0
    monkeypatch.undo()
    assert tidy(warehouse, NOON + timedelta(days=1)) == 2 * TOGETHER
    assert len(warehouse.files("cities")) == warehouse.count("cities") == TOGETHER


def test_what_cannot_be_put_together_is_told_and_ends_nothing(
    warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = warehouse.files("events")[0]
    Path(damaged.path).write_bytes(b"PAR1 no more")
    before = warehouse.version("events")
    assert tidy(warehouse, NOON + timedelta(days=1)) == 0
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("small files of events are not put together: [E514]")
    assert warehouse.version("events") == before


def test_files_that_went_since_they_were_listed_do_not_come_back(warehouse: Warehouse) -> None:
    groups = crowded(warehouse.files("events"), NOON + timedelta(days=1))
    warehouse.delete_rows("events", "k = 'k5' AND bucket = 0")
    before = rows_of(warehouse)
    warehouse.merge_files("events", groups)
    assert rows_of(warehouse) == before
    assert max(len(pq.read_table(file.path)) for file in warehouse.files("events")) == 6 * TOGETHER


def test_what_a_table_says_of_no_columns_it_keeps_of_numbers_and_times(tmp_path: Path) -> None:
    warehouse = Warehouse(tmp_path)
    for number in range(TOGETHER):
        at = {"measured_at": pa.array([NOON + number * SECOND], TIMESTAMP), "day": [NOON.date()]}
        rows = pa.table({"step": ["s"], "value": [0.5], "count": [number], **at})
        deltalake.write_deltalake(warehouse.path_of("run_metrics"), rows, mode="append")
    assert tidy(warehouse, NOON) == TOGETHER
    (row,) = pa.table(warehouse.open("run_metrics").get_add_actions(flatten=True)).to_pylist()
    assert (row["min.count"], row["max.count"]) == (0, TOGETHER - 1)
    assert (row["min.measured_at"], row["max.measured_at"]) == (NOON, NOON + (TOGETHER - 1) * SECOND)
    assert row["min.day"] == row["max.day"] == NOON.date()
    assert row["num_records"] == TOGETHER


def test_rows_stand_by_key_and_time_as_an_ingest_writes_them(warehouse: Warehouse) -> None:
    tidy(warehouse, NOON)
    for file in warehouse.files("events"):
        found = [(row["k"], row["event_time"]) for row in pq.read_table(file.path).to_pylist()]
        assert len(found) == 6 * TOGETHER
        assert found == sorted(found)


def test_a_reader_of_a_log_reads_few_commits(warehouse: Warehouse) -> None:
    place = Location.of(warehouse.path_of("events"))
    version = warehouse.version("events")
    assert commits_since_checkpoint(place, version) == version + 1 >= MOST_COMMITS
    warehouse.sum_up("events")
    assert commits_since_checkpoint(place, version) == 0
    before = rows_of(warehouse)
    for number in range(version):
        Path(warehouse.path_of("events"), "_delta_log", f"{number:020}.json").unlink()
    assert rows_of(Warehouse(warehouse.root)) == before
    assert deltalake.DeltaTable(place.address).version() == version
    last = Path(warehouse.path_of("events"), "_delta_log", "_last_checkpoint")
    last.write_text("{")
    assert commits_since_checkpoint(place, version) == version + 1
