"""The pure decisions of the steps: packs, layout, names, ledger, drift, tasks; no JVM."""

from __future__ import annotations

import hashlib
import json
import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from unittest.mock import Mock

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hamlet_core import EventSchema, parse, plan
from hamlet_core.errors import HamletError
from pipelines.checks.ledger_rules import files_of
from pipelines.reading import (
    ColumnEvidence,
    ColumnOptions,
    Evidence,
    Format,
    SourceFile,
    discover,
    discover_first,
    fingerprint_of_first,
    infer_columns,
    read_file,
    sources,
)
from pipelines.settings import ExecuteOptions, NamedWorkload
from pipelines.steps.execution.file_tasks import file_tasks
from pipelines.steps.execution.task_rows import TaskInput
from pipelines.steps.ingestion import ledger as ledger_module
from pipelines.steps.ingestion.drift import columns_for_table
from pipelines.steps.ingestion.ledger import Ledger, Part, Seen
from pipelines.steps.ingestion.parsing import EARLIEST, LATEST, REJECTED, _batches, event_times, parsed_schema
from pipelines.steps.layout import Layout, bucket_key, refuse_impossible_names, source_properties
from pipelines.steps.packing import pack
from resources.sql import literal
from resources.warehouse import DataFile


@given(st.lists(st.integers(0, 1000), max_size=40), st.integers(1, 12))
def test_packs_hold_everything_once_and_none_is_twice_the_fair_share(sizes, parts):
    packs = pack(sizes, parts)
    assert sorted(index for members in packs for index in members) == list(range(len(sizes)))
    assert all(packs)
    assert len(packs) == min(parts, len(sizes))
    heaviest = max((sum(sizes[index] for index in members) for members in packs), default=0)
    assert heaviest <= sum(sizes) / max(len(packs), 1) + max([*sizes, len(sizes)], default=0)


@pytest.mark.parametrize(
    ("partitions", "columns", "key"),
    [
        (["ab", "abc", "ab"], "abc", ("a", "b")),
        (["ab", "b", ""], "ab", ("b",)),
        (["ab", "ac", "d"], "abcd", ("a",)),
        (["a"], "b", ()),
        ([""], "ab", ()),
        ([], "ab", ()),
        (["x", "xy"], "xy", ("x",)),
    ],
)
def test_the_bucket_key_serves_as_many_queries_as_one_key_can(partitions, columns, key):
    assert bucket_key([frozenset(one) for one in partitions], columns) == key


@pytest.mark.parametrize(
    ("rows", "cores", "buckets"),
    [(0, 2, 2), (120_000, 2, 2), (200_000, 2, 4), (5_000_000, 2, 8), (5_000_000, 4, 16)],
)
def test_buckets_grow_with_the_events_up_to_a_few_a_core(rows, cores, buckets):
    assert Layout.choose([frozenset("a")], "a", rows, cores).buckets == buckets


def test_without_a_key_there_is_one_bucket():
    assert Layout.choose([frozenset()], "a", 5_000_000, 2) == Layout((), 1)


def test_a_layout_is_kept_in_the_properties_of_its_table():
    layout = Layout(("a b", 'q"'), 7)
    assert Layout.of(dict(layout.properties())) == layout


@pytest.mark.parametrize(
    "name", ["day", "DAY", "bucket", "event_time", "ingested_at", "a b", "a,b", "a=b", "(a)", ""]
)
def test_names_that_the_table_cannot_have_are_refused(name):
    with pytest.raises(HamletError, match="E521"):
        refuse_impossible_names(pa.schema([("time", pa.int64()), (name, pa.string())]))


def test_names_that_the_table_can_have_pass():
    refuse_impossible_names(
        pa.schema([(name, pa.string()) for name in ("time", "a.b", "a-b", "`", "é", "Days")])
    )


def test_options_of_the_source_are_compared_as_text():
    ((_, one),) = source_properties(ColumnOptions(time="at", type_value="Day"))
    assert json.loads(one) == {"time": "at", "time_unit": "s", "type": None, "type_value": "Day"}
    ((_, other),) = source_properties(ColumnOptions(time="at", type="kind", type_value="Day"))
    assert json.loads(other)["type_value"] is None


def source_file(name: str, fingerprint: str) -> SourceFile:
    return SourceFile(f"/in/{name}", name, 1, fingerprint, Format.CSV)


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEDGER = Ledger({"f1": "a.csv"}, {"/in/a.csv": "f1"}, frozenset({NOON}))


def test_the_ledger_lets_only_new_content_through():
    files = [
        source_file("a.csv", "f1"),
        source_file("b.csv", "f1"),
        source_file("c.csv", "f2"),
        source_file("d.csv", "f2"),
    ]
    sifted = LEDGER.sift(files)
    assert [file.name for file in sifted.fresh] == ["c.csv"]
    assert {one.name: one.reason for one in sifted.skipped} == {
        "a.csv": "already ingested",
        "b.csv": "same content as a.csv, which is in",
        "d.csv": "same content as c.csv, which is in",
    }


def in_before(size: int | None = 10, rows: int = 3) -> Ledger:
    """a.csv is in, with so many rows of so many bytes; so is g.csv."""
    a, g = Seen(size, NOON, NOON, "a.csv", rows), Seen(30, NOON, NOON, "g.csv", 5)
    return Ledger(
        {"f1": "a.csv", "fg": "g.csv"},
        {"/in/a.csv": "f1", "/in/g.csv": "fg"},
        frozenset({NOON}),
        seen={"/in/a.csv": a, "/in/g.csv": g},
    )


def now(fingerprint: str, size: int, name: str = "a.csv") -> SourceFile:
    return SourceFile(f"/in/{name}", name, size, fingerprint, Format.CSV)


@pytest.mark.parametrize(
    ("ledger", "size", "first", "again"),
    [
        (in_before(), 11, "f1", True),
        (in_before(), 11, "other", False),
        (in_before(), 10, "f1", False),
        (in_before(), 9, "f1", False),
        (in_before(size=None), 11, "f1", False),
        (in_before(rows=0), 9, "other", True),
    ],
    ids=["grown", "other content", "as long", "shorter", "length not known", "without an event"],
)
def test_a_file_that_has_grown_at_its_end_takes_its_own_place_and_any_other_change_waits(
    ledger, size, first, again
):
    asked = []
    sifted = ledger.sift(
        [now("f2", size), now("f3", 1, "b.csv")], first=lambda path, many: asked.append((path, many)) or first
    )
    assert [file.name for file in sifted.fresh] == (["a.csv", "b.csv"] if again else ["b.csv"])
    assert [file.name for file in sifted.changed] == ([] if again else ["a.csv"])
    assert dict(sifted.replaced) == ({"/in/a.csv": ledger.seen["/in/a.csv"]} if again else {})
    assert set(asked) <= {("/in/a.csv", 10)}


def test_a_file_that_has_grown_to_the_content_of_another_is_emptied():
    for others in ([], [now("f4", 30, "0.csv")]):
        twin = "f4" if others else "fg"
        sifted = in_before().sift([*others, now(twin, 30)], first=lambda _path, _many: "f1")
        assert [file.name for file in sifted.emptied] == ["a.csv"]
        assert list(sifted.replaced) == ["/in/a.csv"]
        assert [file.name for file in sifted.fresh] == [file.name for file in others]
        (skipped,) = sifted.skipped
        assert skipped.reason == f"same content as {others[0].name if others else 'g.csv'}, which is in"


@given(st.binary(max_size=200), st.integers(0, 250))
def test_the_fingerprint_of_first_bytes_is_that_of_a_file_of_them(tmp_path_factory, content, size):
    place = tmp_path_factory.mktemp("first") / "a.csv"
    place.write_bytes(content)
    assert fingerprint_of_first(str(place), size) == hashlib.sha256(content[:size]).hexdigest()


@pytest.mark.parametrize(
    ("before", "size", "modified", "opened"),
    [
        (timedelta(minutes=1), 3, timedelta(), 0),
        (timedelta(seconds=5), 3, timedelta(), 0),
        (timedelta(seconds=4), 3, timedelta(), 1),
        (timedelta(minutes=1), 2, timedelta(), 1),
        (timedelta(minutes=1), 3, timedelta(microseconds=1), 1),
        (timedelta(minutes=1), 3, timedelta(microseconds=-1), 1),
        (None, 3, timedelta(), 1),
    ],
)
def test_a_file_that_is_as_it_was_is_not_opened(tmp_path, monkeypatch, before, size, modified, opened):
    file = tmp_path / "a.csv"
    file.write_text("a,b")
    changed = NOON if before is None else NOON - before
    moment = changed + modified
    os.utime(file, ns=(0, int(moment.timestamp()) * 10**9 + moment.microsecond * 1000))
    seen = Seen(size, None if before is None else changed, NOON)
    ledger = Ledger({"f1": "a.csv"}, {str(file): "f1"}, frozenset({NOON}), seen={str(file): seen})
    reads = []
    monkeypatch.setattr(sources, "open_file", lambda path: reads.append(path) or open(path, "rb"))  # noqa: PTH123, SIM115
    (found,) = discover(tmp_path, ledger)
    assert (found.fingerprint == "f1", len(reads)) == (not opened, opened)


def test_of_new_files_the_oldest_are_looked_at_and_the_others_are_not_opened(tmp_path, monkeypatch):
    texts = {"d.csv": "a", "c.csv": "b", "b.csv": "b", "a.csv": "known", "e.csv": "c", "f.csv": "d"}
    for number, (name, text) in enumerate(texts.items()):
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (number, number))
    (tmp_path / "b.csv").write_text("b")  # the youngest, and like another
    reads = []
    monkeypatch.setattr(sources, "open_file", lambda path: reads.append(Path(path).name) or open(path, "rb"))  # noqa: PTH123, SIM115
    known = hashlib.sha256(b"known").hexdigest()
    ledger = Ledger({known: "x.csv"}, {"/elsewhere/x.csv": known}, frozenset({NOON}))
    seen = {}
    for at_most in range(1, 6):
        reads.clear()
        files, left = discover_first(tmp_path, ledger, at_most)
        assert [file.name for file in files] == sorted(reads)
        seen[at_most] = list(reads), left
    assert seen == {
        1: (["d.csv"], 5),
        2: (["d.csv", "c.csv"], 4),
        3: (["d.csv", "c.csv", "a.csv", "e.csv"], 2),
        4: (["d.csv", "c.csv", "a.csv", "e.csv", "f.csv"], 1),
        5: (["d.csv", "c.csv", "a.csv", "e.csv", "f.csv", "b.csv"], 0),
    }
    assert discover_first(tmp_path, ledger, 9) == (discover(tmp_path, ledger), 0)


def test_a_file_of_a_table_that_was_read_by_its_content_is_in(tmp_path):
    """As it was before Delta tables were read by their logs."""
    file = SourceFile("/t/part.parquet", "part.parquet", 9, "by name", Format.PARQUET, NOON, lasting=True)
    ledger = Ledger({"by content": file.name}, {file.path: "by content"}, frozenset({NOON}))
    sifted = ledger.sift([file])
    assert (sifted.fresh, sifted.changed, len(sifted.skipped)) == ((), (), 1)


def test_an_ingest_is_later_than_all_others_and_of_whole_milliseconds():
    assert LEDGER.next_ingest(NOON - timedelta(hours=1)) == NOON + timedelta(milliseconds=1)
    assert LEDGER.next_ingest(NOON + timedelta(microseconds=2_999)) == NOON + timedelta(milliseconds=2)


TABLE = pa.schema([("i", pa.int64()), ("x", pa.float64()), ("s", pa.string())])


def columns(**types: pa.DataType) -> pa.Schema:
    return pa.schema(list(types.items()))


def seen(*names: str) -> Evidence:
    return Evidence(tuple(ColumnEvidence(name, integers=3) for name in names))


def test_the_types_of_the_table_win_where_nothing_is_lost():
    new = columns(i=pa.int64(), x=pa.int64(), s=pa.int64(), n=pa.bool_())
    agreed = columns_for_table(new, seen("i", "x", "s", "n"), TABLE)
    assert [str(field.type) for field in agreed] == ["int64", "double", "string", "bool"]
    assert (
        columns_for_table(columns(i=pa.string()), Evidence((ColumnEvidence("i"),)), TABLE).field("i").type
        == pa.int64()
    )


@pytest.mark.parametrize(
    "new", [columns(i=pa.float64()), columns(x=pa.string()), columns(i=pa.string()), columns(I=pa.int64())]
)
def test_a_retyped_or_respelt_column_is_refused(new):
    with pytest.raises(HamletError, match="E525"):
        columns_for_table(new, seen(*new.names), TABLE)


QUERIES = """
    by_k: RETURN COUNT(*) PATTERN A WHERE [k] WITHIN 1 min
    by_kg: RETURN g, COUNT(*) PATTERN A WHERE [k] GROUP-BY g WITHIN 1 min
    per_k: RETURN k, COUNT(*) PATTERN A GROUP-BY k WITHIN 1 min
    by_g: RETURN g, COUNT(*) PATTERN A GROUP-BY g WITHIN 1 min
"""
FILES = [
    DataFile(f"/w/{bucket}/{name}", 10, 1, {"bucket": str(bucket)}) for bucket in range(3) for name in "ab"
]


def tasks_of(layout: Layout, files: list[DataFile], parts: int) -> list[tuple[object, ...]]:
    shared = TaskInput(parse(QUERIES), plan(QUERIES), TABLE, EventSchema(), ExecuteOptions())
    return [
        (
            task.queries,
            task.finished,
            [tuple(file.path.removeprefix("/w/") for file in piece.files) for piece in task.pieces],
        )
        for task in file_tasks(shared, layout, files, parts)
    ]


def test_queries_go_bucket_by_bucket_where_their_partitions_allow_it():
    everything = tuple(file.path.removeprefix("/w/") for file in FILES)
    local, finished = ("by_k", "by_kg", "per_k"), ("per_k",)
    assert tasks_of(Layout(("k",), 3), FILES, 8) == [
        (local, finished, [("0/a", "0/b")]),
        (local, finished, [("1/a", "1/b")]),
        (local, finished, [("2/a", "2/b")]),
        (("by_g",), ("by_g",), [everything]),
    ]
    packed = tasks_of(Layout(("k",), 3), FILES, 2)
    assert [len(pieces) for _, _, pieces in packed] == [2, 1, 1]


def test_a_single_bucket_holds_every_group_whole():
    assert tasks_of(Layout(("k",), 1), FILES[:2], 8)[0] == (
        ("by_k", "by_kg", "per_k"),
        ("by_k", "by_kg", "per_k"),
        [("0/a", "0/b")],
    )


def test_without_a_key_each_query_is_a_task_and_without_files_there_is_none():
    assert [queries for queries, _, _ in tasks_of(Layout((), 1), FILES, 8)] == [
        ("by_k",),
        ("by_kg",),
        ("per_k",),
        ("by_g",),
    ]
    assert tasks_of(Layout(("k",), 2), [], 8) == []


def test_integer_times_count_units_from_the_epoch():
    times = pa.array([-1, 0, 90], pa.int64())
    seconds = event_times(times, ColumnOptions(time_unit="min")).cast(pa.int64()).to_pylist()
    assert seconds == [-60_000_000, 0, 5_400_000_000]
    days = event_times(pa.array([1], pa.date32()), ColumnOptions())
    assert days.cast(pa.int64()).to_pylist() == [86_400_000_000]


def test_times_that_no_reader_can_say_go_to_quarantine(tmp_path):
    (tmp_path / "far.csv").write_text("time,type,n\n0,A,1\n-800000,A,2\n3000000,B,3\n")
    files = discover(tmp_path / "far.csv")
    options = ColumnOptions(time_unit="d")
    columns = infer_columns(files, options)
    (rows,) = read_file(files[0], columns, options)
    assert rows.good.num_rows == 3
    kept, refused = _batches(rows, parsed_schema(columns, options), "far.csv", 0, options)
    assert kept.column("n").to_pylist() == [1]
    told = refused.column(REJECTED).to_pylist()
    assert [(row["code"], row["row_number"], row["raw"]) for row in told] == [
        ("E416", 2, '{"time": "-800000", "type": "A", "n": "2"}'),
        ("E416", 3, '{"time": "3000000", "type": "B", "n": "3"}'),
    ]
    assert "years 2 to 9998" in told[0]["reason"]


def test_the_limits_of_time_are_new_years_days():
    assert (EARLIEST.as_py(), LATEST.as_py()) == (
        datetime(2, 1, 1, tzinfo=UTC),
        datetime(9999, 1, 1, tzinfo=UTC),
    )


@pytest.mark.parametrize("name", ["", "a b", "../x", "a'b", "x" * 101])
def test_a_name_that_could_be_more_than_a_name_is_refused(name):
    with pytest.raises(HamletError, match="E530"):
        NamedWorkload(name, "")


def test_a_text_is_a_literal_whatever_is_in_it():
    assert literal("it's a \\ b") == "'it\\'s a \\\\ b'"


def entry(path: str, fingerprint: str, minute: int, **others: object) -> dict[str, object]:
    """A row of the ledger."""
    told = {"rows": 3, "rejected": 0, "days": None, "faults": []} | others
    at = NOON + timedelta(minutes=minute)
    return {"source_file": path, "path": path, "fingerprint": fingerprint, "ingested_at": at, **told}


def test_a_ledger_in_parts_is_that_of_all_their_rows(monkeypatch):
    fault = {"column": "x", "values": 1, "refused": True}
    rows = [
        entry("a", "f1", 0, removed_days=[NOON.date()]),
        entry("b", "f2", 1, rejected=1, faults=[fault]),
        entry("c", "f3", 2, rejected=1, faults=None),
        entry("r1", "kafka:c/t/0/10-20", 3),
        entry("r2", "kafka:c/t/0/0-10", 4, rows=0),
        entry("r3", "kafka:c/t/0/30-40", 5, days=[{"day": NOON.date(), "rows": 3, "checksum": 1}]),
        entry("r4", "kafka:c/t/1/5-9", 6),
        entry("s", "kafka:c/s/0/0-1", 6, rows=0, rejected=2),
    ]
    for cuts in ((0, 8), (0, 3, 8), (0, 1, 4, 5, 8)):
        parts = [Part.of(tuple(rows[first:last])) for first, last in pairwise(cuts)]
        monkeypatch.setattr(ledger_module, "parts_of", lambda _, parts=parts: parts)
        ledger = Ledger.of(Mock(exists=lambda _: False))
        assert ledger.names == {row["fingerprint"]: row["source_file"] for row in rows}
        assert ledger.fingerprints == {row["path"]: row["fingerprint"] for row in rows}
        assert set(ledger.seen) == set(ledger.fingerprints)
        assert ledger.ingests == {row["ingested_at"] for row in rows}
        assert {NOON, NOON - timedelta(hours=1)} - ledger.ingests == {NOON - timedelta(hours=1)}
        assert ledger.next_ingest(NOON) == NOON + timedelta(minutes=6, milliseconds=1)
        assert ledger.read_of("kafka:c/t") == {0: [(0, 20), (30, 40)], 1: [(5, 9)]}
        assert ledger.read_of("kafka:c/other") == {}
        assert ledger.judged_otherwise(lambda name: name == "x") == {"c": "f3"}
        assert ledger.judged_otherwise(lambda _: False) == {"b": "f2", "c": "f3"}
        assert [one for part in parts for one in part.removed] == [(NOON, NOON.date())]
        found = {one["source_file"]: one for one in files_of([*rows, rows[0], rows[5]], parts)}
        assert {one["same_content"] for one in found.values()} == {1}
        assert {one["same_events"] for one in found.values()} == {1}
        twice = [*parts, Part.of((entry("d", "f1", 7), entry("e", "f5", 7, days=rows[5]["days"])))]
        found = {one["source_file"]: one for one in files_of(rows, twice)}
        assert {name for name, one in found.items() if one["same_content"] == 2} == {"a"}
        assert {name for name, one in found.items() if one["same_events"] == 2} == {"r3"}
