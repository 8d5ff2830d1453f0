"""Events of types that a query does not name: read, sampled and told as late for a contiguous query, and for no other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

from hamlet_core import QueryPlan
from pipelines.checks.raw_events import RawEvents
from pipelines.checks.sampling import Ending, Sample, from_events
from pipelines.reading import ColumnOptions
from pipelines.settings import JobSettings, NamedWorkload, Source
from pipelines.spans import EPOCH, WHOLE, Partition, Span
from pipelines.steps.execution.computed import Entry, late_entries
from resources import tables
from resources.warehouse import Warehouse

TEXT = """
plain: RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE [k] GROUP-BY g WITHIN 10 s
next:  RETURN COUNT(*) PATTERN SEQ(A a, B b) SEMANTICS next WHERE [k] GROUP-BY g WITHIN 10 s
close: RETURN COUNT(*) PATTERN SEQ(A a, B b) SEMANTICS contiguous WHERE [k] GROUP-BY g WITHIN 10 s
"""
FIRST, SECOND = datetime(2026, 1, 5, tzinfo=UTC), datetime(2026, 1, 6, tzinfo=UTC)
EVENTS = [(1, "A", "x"), (2, "C", "x"), (3, "B", "x"), (4, "D", "y"), (11, "C", "x"), (12, "B", None)]


def settings_for(warehouse: Path) -> JobSettings:
    return JobSettings(NamedWorkload("w", TEXT), Source("-", ColumnOptions()), warehouse)


def plans(warehouse: Path) -> dict[str, QueryPlan]:
    return {plan.name: plan for plan in settings_for(warehouse).workload.plans}


def write(warehouse: Warehouse, events: list[tuple[int, str, str | None]], ingested_at: datetime) -> None:
    """Append events of one ingest, and what the ledger says of it."""
    rows = [
        {
            "time": second, "type": kind, "k": "k", "g": group, "event_time": EPOCH + timedelta(seconds=second), "event_type": kind,
            "source_file": "f", "ingested_at": ingested_at, "day": EPOCH.date(), "bucket": 0,
        }
        for second, kind, group in events
    ]  # fmt: skip
    known = pa.schema([("time", pa.int64()), ("type", pa.string()), ("k", pa.string()), ("g", pa.string())])
    ours = tables.events_table((), ()).schema.remove_metadata()
    schema = pa.schema([*known, *(field.remove_metadata() for field in ours)])
    deltalake.write_deltalake(
        warehouse.path_of("events"),
        pa.Table.from_pylist(rows, schema),
        mode="append",
        partition_by=["day", "bucket"],
    )
    read = {
        "source_file": "f",
        "path": "/f",
        "fingerprint": str(ingested_at),
        "rows": len(rows),
        "rejected": 0,
    }
    deltalake.write_deltalake(
        warehouse.path_of(tables.LEDGER.name),
        pa.Table.from_pylist([{**read, "ingested_at": ingested_at}], tables.LEDGER.schema.remove_metadata()),
        mode="append",
    )


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    found = Warehouse(tmp_path)
    write(found, EVENTS, FIRST)
    return found


def raw(warehouse: Warehouse, *names: str, span: Span = Span()) -> RawEvents:
    asked = [plan for plan in plans(Path(str(warehouse.root))).values() if plan.name in names]
    schema = settings_for(Path(str(warehouse.root))).event_schema
    return RawEvents.of(warehouse, None, asked, schema, 0, span)


@pytest.mark.parametrize(
    ("names", "count"), [(("plain", "next"), 3), (("close",), 6), (("plain", "close"), 6)]
)
def test_the_comparison_reads_what_matters_to_one_of_the_queries(warehouse, names, count):
    events = raw(warehouse, *names)
    assert (events.at_most(count), events.at_most(count - 1), events.everything().num_rows) == (
        True,
        False,
        count,
    )
    assert events.columns == ("time", "type", "k", "g", "event_time", "event_type")


def test_days_and_times_still_limit_what_is_read(warehouse):
    span = Span((Partition("later", EPOCH + timedelta(seconds=10)),))
    assert raw(warehouse, "close", span=span).everything()["time"].to_pylist() == [11, 12]


def test_a_window_and_group_has_its_events_of_all_types_where_they_matter(warehouse, tmp_path):
    events = raw(warehouse, "plain", "close")
    places = [
        Sample(name, EPOCH, EPOCH + timedelta(seconds=10), (("g", "x"),)).place(plan)
        for name, plan in plans(tmp_path).items()
    ]
    assert [place.types for place in places] == [{"A", "B"}, {"A", "B"}, None]
    assert events.counts(places) == [2, 2, 3]
    assert [sorted(found["type"].to_pylist()) for found in events.of_places(places)] == [
        ["A", "B"],
        ["A", "B"],
        ["A", "B", "C"],
    ]


def test_only_events_that_a_trend_may_hold_draw_a_window(warehouse, tmp_path):
    """A window of events of other types alone has no row, whatever breaks what there."""
    drawn = from_events(raw(warehouse, "close"), [plans(tmp_path)["close"]], Ending(Span(), None, 0), 20)
    assert {(sample.window_start.second, sample.group) for sample in drawn} == {
        (0, (("g", "x"),)),
        (10, (("g", None),)),
    }


@pytest.mark.parametrize(
    ("late", "stale"),
    [
        ((5, "B", "x"), {"plain", "next", "close"}),
        ((5, "C", "x"), {"close"}),
        ((5, "never seen", None), {"close"}),
    ],
)
def test_a_late_event_makes_what_reads_it_stale(warehouse, tmp_path, late, stale):
    settings = settings_for(tmp_path)
    entries = [Entry(WHOLE, name, "hash", FIRST) for name in plans(tmp_path)]
    assert list(late_entries(warehouse, settings, entries)) == []
    write(warehouse, [late], SECOND)
    assert {entry.query for entry in late_entries(warehouse, settings, entries)} == stale


def test_a_late_event_makes_no_other_partition_stale(warehouse, tmp_path):
    settings = settings_for(tmp_path)
    days = [
        Partition(str(day), EPOCH + timedelta(days=day), EPOCH + timedelta(days=day + 1)) for day in (0, 1)
    ]
    entries = [Entry(day, "close", "hash", FIRST) for day in days]
    write(warehouse, [(5, "C", "x")], SECOND)
    assert [entry.partition.key for entry in late_entries(warehouse, settings, entries)] == ["0"]
