"""What the tables refuse, in words for people; and tables of an older version, which become those of this one."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import deltalake
import pyarrow as pa
import pytest
from delta.tables import DeltaTable
from pyspark.sql.pandas.types import from_arrow_schema

from hamlet_core.errors import HamletError
from pipelines.main_job import run_main_job
from resources import tables
from resources import warehouse as warehouse_module
from resources.data_files import remove_begun_log
from resources.migrations import MIGRATIONS, VERSION, schema_version
from resources.storage import Location
from resources.tables import Table
from resources.warehouse import Warehouse, equal, frame_of
from tests.spark.pipeline_cases import Killed, expected_rows, settings_for, stream, table_rows, write_csv

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
RESULT: dict[str, object] = {
    "query": "q", "window_start": NOW, "window_end": NOW + timedelta(hours=12), "group_key": "{}",
    "aggregate": "COUNT(*)", "value": 2.0, "sign": 1, "log2": 1.0, "workload": "w", "workload_hash": "h",
    "run_id": "r", "events_version": 1, "day": date(2026, 1, 5),
}  # fmt: skip
EVENTS = replace(tables.events_table((), ()), properties=())
GOOD: dict[str, tuple[Table, dict[str, object]]] = {
    "events": (
        EVENTS,
        {"event_time": NOW, "event_type": "A", "source_file": "f", "ingested_at": NOW, "day": NOW.date(), "bucket": 0},
    ),
    "events_quarantine": (tables.QUARANTINE, {"source_file": "f", "reason": "r", "code": "E401", "ingested_at": NOW}),
    "ingested_files": (
        tables.LEDGER,
        {"source_file": "f", "path": "/f", "fingerprint": "p", "rows": 0, "rejected": 0, "ingested_at": NOW},
    ),
    "workload_plan": (
        tables.PLAN,
        {"workload": "w", "workload_hash": "h", "query": "q", "text": "t", "run_id": "r", "within_us": 1, "slide_us": 1},
    ),
    "computed_partitions": (
        tables.COMPUTED_PARTITIONS,
        {"workload": "w", "partition": "all", "query": "q", "query_hash": "h", "events_until": NOW,
         "events_version": 1, "workload_hash": "h", "run_id": "r"},
    ),
    "stream_progress": (
        tables.STREAMS,
        {"workload": "w", "query": "q", "query_hash": "h", "began": NOW, "watermark": NOW, "events_until": NOW,
         "workload_hash": "h", "run_id": "r"},
    ),
    "events_late": (
        tables.LATE,
        {"workload": "w", "event_time": NOW, "event_type": "A", "source_file": "f", "ingested_at": NOW, "watermark": NOW,
         "queries": "", "workload_hash": "h", "run_id": "r"},
    ),
    "trend_aggregates": (tables.PUBLISHED, RESULT),
    "sharing_decisions": (
        tables.DECISIONS,
        {"workload": "w", "workload_hash": "h", "run_id": "r", "bursts": 1, "events": 0, "outcome": "apart"},
    ),
    "run_metrics": (
        tables.METRICS,
        {"run_id": "r", "workload": "w", "step": "s", "metric": "m", "measured_at": NOW},
    ),
}  # fmt: skip
# Table, constraint, what is wrong with the row.
BAD = [
    ("events", "known", {"event_type": None}),
    ("events", "day_fits", {"day": date(2026, 1, 6)}),
    ("events", "bucket_counts", {"bucket": -1}),
    ("events_quarantine", "known", {"reason": None}),
    ("events_quarantine", "row_number_counts", {"row_number": 0}),
    ("ingested_files", "known", {"fingerprint": None}),
    ("ingested_files", "rows_count", {"rejected": -1}),
    ("workload_plan", "known", {"text": None}),
    ("workload_plan", "windows_have_a_length", {"slide_us": 0}),
    ("workload_plan", "position_counts", {"position": -1}),
    ("workload_plan", "mode_is_one", {"mode": "next"}),
    ("computed_partitions", "known", {"events_until": None}),
    ("stream_progress", "known", {"watermark": None}),
    ("events_late", "known", {"queries": None}),
    ("trend_aggregates", "known", {"group_key": None}),
    ("trend_aggregates", "windows_have_a_length", {"window_start": NOW + timedelta(hours=13)}),
    ("trend_aggregates", "day_fits", {"window_end": NOW + timedelta(hours=12, microseconds=1)}),
    ("trend_aggregates", "sign_is_a_sign", {"sign": 2}),
    ("trend_aggregates", "numbers_are_finite", {"value": float("nan")}),
    ("trend_aggregates", "numbers_are_finite", {"log2": float("-inf")}),
    ("trend_aggregates", "fingerprint_is_a_residue", {"fingerprint": 2**61 - 1}),
    ("sharing_decisions", "known", {"run_id": None}),
    ("sharing_decisions", "bursts_count", {"bursts": 0}),
    ("sharing_decisions", "outcome_is_one", {"outcome": "none"}),
    ("run_metrics", "known", {"step": None}),
]  # fmt: skip

WITHOUT_SPARK = {
    "ingested_files", "workload_plan", "computed_partitions", "stream_progress", "events_late", "sharing_decisions",
    "run_metrics",
}  # fmt: skip
"""The small tables that delta-rs writes: their constraints are of SQL that it knows, too."""


def add(
    spark, warehouse: Warehouse, rows: list[dict[str, object]], table: Table, *, few: bool = False
) -> None:
    """Rows in one commit of Spark, or, if they are few, of this process."""
    warehouse.append(frame_of(spark, rows, table), table, few=few)


@pytest.fixture(scope="module")
def filled(spark, tmp_path_factory) -> Warehouse:
    """Every table with one row that it allows, all else NULL."""
    warehouse = Warehouse(tmp_path_factory.mktemp("constraints"))
    for table, row in GOOD.values():
        add(spark, warehouse, [row], table)
    return warehouse


def test_every_constraint_of_every_table_has_a_row_that_breaks_it():
    declared = {(table.name, check.name) for table in tables.ALL for check in table.checks}
    assert {(name, check) for name, check, _ in BAD} == declared
    assert set(GOOD) == {table.name for table in tables.ALL if table.checks}


@pytest.mark.parametrize("few", [False, True], ids=["by Spark", "here"])
@pytest.mark.parametrize(("name", "check", "wrong"), BAD, ids=str)
def test_a_row_against_a_constraint_is_refused_with_its_name_and_values(
    spark, filled, name, check, wrong, few
):
    table, good = GOOD[name]
    before = filled.version(name)
    with pytest.raises(HamletError) as refused:
        add(spark, filled, [good, {**good, **wrong}], table, few=few)
    assert refused.value.code == "E519"
    assert f"the table {name} does not allow: CHECK constraint {check} " in refused.value.message
    assert all(f" - {column} : " in refused.value.message for column in wrong)
    assert refused.value.hint
    assert filled.version(name) == before


@pytest.mark.parametrize(("name", "check", "wrong"), [one for one in BAD if one[0] in WITHOUT_SPARK], ids=str)
def test_a_write_without_spark_is_refused_too(spark, filled, name, check, wrong):
    table, good = GOOD[name]
    before = filled.version(name)
    with pytest.raises(HamletError) as refused:
        filled.append_rows(spark, [{**good, **wrong}], table)
    assert refused.value.code == "E519"
    assert f"the table {name} does not allow: one of its CHECK constraints " in refused.value.message
    assert f"{check} (" in refused.value.message
    assert filled.version(name) == before


def test_few_rows_that_need_more_than_the_table_has_are_written_by_spark(spark, tmp_path):
    """New columns come into the table, and a constraint of somebody else holds."""
    warehouse, (table, row) = Warehouse(tmp_path), GOOD["events"]
    add(spark, warehouse, [row], table, few=True)
    wider = tables.events_table((tables.Column("v", pa.float64(), "as in the source"),), ())
    add(spark, warehouse, [{**row, "v": 1.5}], wider, few=True)
    assert warehouse.rows("events", ["v"])["v"].to_pylist() in ([None, 1.5], [1.5, None])
    spark.sql(
        f"ALTER TABLE delta.`{warehouse.path_of('events')}` ADD CONSTRAINT theirs CHECK (v > 1 OR v IS NULL)"
    )
    with pytest.raises(HamletError, match=r"E519.*theirs"):
        add(spark, warehouse, [{**row, "v": 0.5}], wider, few=True)
    assert warehouse.count("events") == 2


def test_replacing_is_refused_too_and_other_failures_stay_what_they_are(spark, filled):
    frame = frame_of(spark, [{**RESULT, "sign": 7}], tables.PUBLISHED)
    with pytest.raises(HamletError, match=r"E519.*sign_is_a_sign"):
        filled.replace(frame, tables.PUBLISHED, equal(workload="w"))
    with pytest.raises(Exception, match="REPLACE_WHERE_MISMATCH") as other:
        filled.replace(frame_of(spark, [RESULT], tables.PUBLISHED), tables.PUBLISHED, equal(workload="x"))
    assert not isinstance(other.value, HamletError)


@pytest.mark.parametrize("name", GOOD)
def test_readers_need_version_one_and_writers_three(filled, name):
    protocol = filled.open(name).protocol()
    assert (protocol.min_reader_version, protocol.reader_features) == (1, None)
    assert (protocol.min_writer_version, protocol.writer_features) == (3, None)
    assert filled.properties(name)[VERSION] == str(schema_version(name))
    assert filled.rows(name).num_rows == 1


def make_old(spark, old: Warehouse, new: Warehouse) -> None:
    """Copy the tables of a warehouse in the shape that they had before there were versions."""
    for table in tables.ALL:
        if table in (tables.COMPUTED_PARTITIONS, tables.STREAMS, tables.LATE):  # there were no such tables
            continue
        frame = new.read(spark, table.name).drop("position", "mode", "days", "size", "modified")
        if table is tables.DECISIONS:
            frame = frame.drop(*(name for one in MIGRATIONS[table.name] for name in one.columns))
        builder = DeltaTable.create(spark).location(old.path_of(table.name)).addColumns(frame.schema)
        for key, value in new.properties(table.name).items():
            if not key.startswith(("delta.constraints.", "delta.minWriterVersion")) and key != VERSION:
                builder = builder.property(key, value)
        builder.partitionedBy(*table.partition).execute()
        frame.write.format("delta").mode("append").save(old.path_of(table.name))
        assert old.open(table.name).protocol().min_writer_version == 2


@pytest.fixture(scope="module")
def job(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("job")
    events = write_csv(stream(120), folder / "events.csv")
    with events.open("a") as file:
        file.write("no event\n")
    settings = settings_for(events, folder / "warehouse")
    assert run_main_job(settings).success
    return settings


def squeezed(sql: str) -> str:
    """Delta writes the tokens of a constraint that is added later with blanks between them."""
    return "".join(sql.split())


def test_a_job_migrates_an_old_warehouse_however_often_it_is_killed(spark, job, tmp_path, monkeypatch):
    settings = replace(job, warehouse=tmp_path / "old")
    old = Warehouse(settings.warehouse)
    make_old(spark, old, Warehouse(job.warehouse))
    kills = []

    def die_in_every_table(write: str) -> None:
        # After the first step of each table, and once before the last one.
        if write.startswith("migrate:") and kills.count(write) < (2 if write.endswith("_plan") else 1):
            kills.append(write)
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(warehouse_module, "passed", die_in_every_table)
        for table in tables.ALL:
            for _ in range(3):
                try:
                    old.migrate(spark, table)
                except Killed:
                    continue
    assert len(kills) == 9
    steps = {table.name: old.version(table.name) for table in tables.ALL if old.exists(table.name)}
    assert run_main_job(settings).success
    assert table_rows(old, "trend_aggregates") == expected_rows(settings)
    assert old.rows("events").num_rows == 120
    for name in steps:
        properties = old.properties(name)
        assert properties[VERSION] == str(schema_version(name))
        declared = {
            check.name: check.holds for table in tables.ALL if table.name == name for check in table.checks
        }
        stored = {
            key.removeprefix("delta.constraints."): value
            for key, value in properties.items() if key.startswith("delta.constraints.")
        }  # fmt: skip
        assert {key: squeezed(value) for key, value in stored.items()} == {
            key: squeezed(value) for key, value in declared.items()
        }
        assert old.open(name).protocol().min_reader_version == 1
    assert old.version("events") == steps["events"]
    assert [row["position"] for row in old.rows("workload_plan").to_pylist()] == [0, 1, 2]


def test_an_old_warehouse_that_nobody_touched_is_migrated_by_the_job(spark, job, tmp_path):
    settings = replace(job, warehouse=tmp_path / "old")
    old = Warehouse(settings.warehouse)
    make_old(spark, old, Warehouse(job.warehouse))
    assert run_main_job(settings).success
    assert table_rows(old, "trend_aggregates") == expected_rows(settings)
    made = [table.name for table in tables.ALL if table not in (tables.STREAMS, tables.LATE)]
    found = {name: old.properties(name)[VERSION] for name in made}
    assert found == {name: str(schema_version(name)) for name in made}
    assert set(found.values()) == {"2", "3", "5"}
    assert old.schema("sharing_decisions").names == tables.DECISIONS.schema.names
    old.replace_rows(spark, [GOOD["sharing_decisions"][1]], tables.DECISIONS, equal(workload="w"))
    assert old.rows("sharing_decisions")["bursts"].to_pylist() == [1]


def test_an_old_table_with_a_row_that_cannot_be_is_refused_in_words(spark, tmp_path):
    warehouse = Warehouse(tmp_path)
    bare = replace(tables.METRICS, checks=())
    row = {**GOOD["run_metrics"][1], "step": None}
    frame = frame_of(spark, [row], bare)
    frame.write.format("delta").save(warehouse.path_of("run_metrics"))
    with pytest.raises(
        HamletError, match=r"E519.*run_metrics has rows that this version does not allow"
    ) as refused:
        warehouse.migrate(spark, tables.METRICS)
    assert "delete or correct" in refused.value.hint


def test_a_table_of_a_newer_version_is_refused_by_every_door(spark, job, tmp_path):
    warehouse = Warehouse(tmp_path)
    builder = DeltaTable.create(spark).location(warehouse.path_of("events"))
    builder.addColumns(from_arrow_schema(EVENTS.schema)).property(VERSION, "3").execute()
    for door in (
        lambda: warehouse.rows("events"),
        lambda: warehouse.read(spark, "events"),
        lambda: add(spark, warehouse, [GOOD["events"][1]], EVENTS),
        lambda: run_main_job(replace(job, warehouse=tmp_path)),
    ):
        with pytest.raises(HamletError, match=r"E527.*events has schema version 3.*knows 2"):
            door()


def test_a_table_whose_creation_was_killed_is_created_again(spark, tmp_path):
    warehouse = Warehouse(tmp_path)
    log = tmp_path / "run_metrics" / "_delta_log"
    (log / "_staged_commits").mkdir(parents=True)
    (log / ".00000000000000000000.json.0b5d.tmp").write_text("{")
    add(spark, warehouse, [GOOD["run_metrics"][1]], tables.METRICS)
    assert warehouse.rows("run_metrics").num_rows == 1


def test_a_log_with_a_commit_is_never_removed(tmp_path):
    log = tmp_path / "t" / "_delta_log"
    log.mkdir(parents=True)
    (log / "00000000000000000000.json").write_text("{}")
    remove_begun_log(Location.of(tmp_path / "t"))
    assert log.is_dir()
    (log / "00000000000000000000.json").rename(log / "00000000000000000010.checkpoint.parquet")
    remove_begun_log(Location.of(tmp_path / "t"))
    assert log.is_dir()
    (log / "00000000000000000010.checkpoint.parquet").unlink()
    remove_begun_log(Location.of(tmp_path / "t"))
    assert not log.exists()
    remove_begun_log(Location.of(tmp_path / "t"))


def test_two_writers_on_one_partition_are_one_clear_error(spark, tmp_path, monkeypatch):
    """The lock keeps runs of one machine apart; this is what another machine meets."""
    warehouse = Warehouse(tmp_path)
    add(spark, warehouse, [RESULT], tables.PUBLISHED)
    path = warehouse.path_of("trend_aggregates")

    def meanwhile(rows):
        for batch in rows:
            deltalake.DeltaTable(path).delete("workload = 'w'")
            yield batch

    source = frame_of(spark, [RESULT], tables.PUBLISHED)
    slow = source.coalesce(1).mapInArrow(meanwhile, source.schema)
    with pytest.raises(HamletError, match=r"E528.*trend_aggregates") as refused:
        warehouse.replace(slow, tables.PUBLISHED, equal(workload="w"))
    assert "run again" in refused.value.hint


def test_constraints_of_a_table_are_sql_that_spark_reads_the_same_in_every_time_zone(spark, filled):
    table, good = GOOD["events"]
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    try:
        add(spark, filled, [good], table)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert filled.rows("events").num_rows == 2
