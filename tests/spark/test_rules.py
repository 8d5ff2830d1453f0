"""Every Great Expectations rule can turn red: one bad row each, and a table without one stays green."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest

from pipelines.checks.event_rules import event_rules
from pipelines.checks.result_rules import RESULT_RULES
from pipelines.checks.rules import run_rules
from pipelines.settings import Source
from pipelines.steps.ingest import Needs, ingest
from pipelines.steps.merging import RESULT_SCHEMA
from resources.warehouse import Warehouse
from tests.spark.pipeline_cases import stream, write_csv

START = datetime(2026, 1, 1, tzinfo=UTC)
GOOD = {
    "query": "good", "window_start": START, "window_end": START + timedelta(days=1), "group_key": "{}",
    "aggregate": "COUNT(*)", "value": 4.0, "sign": 1, "log2": 2.0, "workload": "w", "day": date(2026, 1, 1),
}  # fmt: skip
NUMBER = {"aggregate": "SUM(a.v)"}


def result(query: str, **changes: object) -> dict[str, object]:
    return {**GOOD, "query": query, **changes}


# The rule -> rows of which the last is against it, and against no other rule.
BROKEN_RESULTS: dict[str, list[dict[str, object]]] = {
    "query is known": [{**GOOD, "query": None, "group_key": "no query"}],
    "window_start is known": [result("r1", window_start=None, window_end=START + timedelta(days=1))],
    "window_end is known": [result("r2", window_end=None)],
    "group_key is known": [result("r3", group_key=None)],
    "aggregate is known": [result("r4", aggregate=None)],
    "one row a key": [result("r5"), result("r5")],
    "windows have a length": [result("r6", window_end=START, day=date(2025, 12, 31))],
    "day fits window": [result("r7", day=date(2026, 1, 2))],
    "a row is a trend": [result("r8", value=0.0, sign=0, log2=None)],
    "counts are counts": [result("r9", aggregate="COUNT(a)", value=-4.0, sign=-1)],
    "numbers are finite": [result("r10", **NUMBER, value=float("inf"), log2=float("inf"))],
    "sign fits value": [result("r11", **NUMBER, sign=-1)],
    "log2 fits value": [result("r12", **NUMBER, log2=2.1)],
    "nothing or too large": [result("r13", **NUMBER, value=None, sign=1, log2=5.0)],
    "MIN <= AVG <= MAX": [
        result("r14", aggregate="MAX(a.v)", value=2.0, log2=1.0),
        result("r14", aggregate="MIN(a.v)", value=1.0, log2=0.0),
        result("r14", aggregate="AVG(a.v)"),
    ],
}
SOUND_RESULTS = [
    result("ok"),
    result("ok", aggregate="COUNT(a)", value=0.0, sign=0, log2=None),
    result("ok", aggregate="COUNT(b)", value=None, sign=1, log2=5000.0),
    result("ok", aggregate="SUM(a.v)", value=1e-30, sign=None, log2=-99.65784284662087),
    result("ok", aggregate="MIN(a.v)", value=1.0, log2=0.0),
    result("ok", aggregate="AVG(a.v)", value=1.0, log2=0.0),
    result("ok", aggregate="MAX(a.v)", value=None, sign=None, log2=None),
    result("ok", aggregate="MIN(b.v)", value=None, sign=None, log2=None),
    result("ok", aggregate="MAX(b.v)", value=-4.0, sign=-1),
]


def outcomes(spark, rows):
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema=RESULT_SCHEMA))
    return {one.rule: one for one in run_rules(frame, "results", RESULT_RULES)}


def test_rules_on_results_turn_red_for_their_row_alone(spark):
    assert set(BROKEN_RESULTS) == {rule.name for rule in RESULT_RULES}
    found = outcomes(spark, SOUND_RESULTS + [row for rows in BROKEN_RESULTS.values() for row in rows])
    for name, rows in BROKEN_RESULTS.items():
        # A comparison with NULL is not true: a row without a key or an end breaks these rules, too.
        more = {
            "windows have a length": 2,
            "day fits window": 1,
            "a row is a trend": 1,
            "counts are counts": 1,
            "MIN <= AVG <= MAX": 1,
            "log2 fits value": 1,
        }
        assert not found[name].passed, name
        assert found[name].broken <= 1 + more.get(name, 0), (name, found[name])
        shown = rows[-1]["query"] or rows[-1]["group_key"]
        assert shown in found[name].examples, (name, found[name])


def test_rules_on_results_accept_everything_that_can_be(spark):
    assert [one for one in outcomes(spark, SOUND_RESULTS).values() if not one.passed] == []


@pytest.fixture(scope="module")
def warehouse(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("rules")
    warehouse = Warehouse(folder / "warehouse")
    needs = Needs(frozenset(), (frozenset({"k"}),))
    ingest(spark, warehouse, Source(str(write_csv(stream(40), folder / "events.csv"))), needs)
    return warehouse


# The rule -> what is wrong with the row.
BROKEN_EVENTS: dict[str, dict[str, object]] = {
    "event_time is known": {"event_time": None},
    "event_type is known": {"event_type": None},
    "source_file is known": {"source_file": None},
    "ingested_at is known": {"ingested_at": None},
    "every ingest is known": {"ingested_at": START},
    "day fits time": {"day": date(2001, 1, 1)},
    "bucket in range": {"bucket": 2},
    "years 1 to 9999": {"event_time": "far"},
    "numbers are finite": {"w": float("nan")},
}


def test_rules_on_events_turn_red_for_their_row_alone(spark, warehouse):
    rules = event_rules(warehouse)
    assert {rule.name for rule in rules} == {*BROKEN_EVENTS, "rows add up"}
    table = warehouse.rows("events")
    good = table.slice(0, 1).to_pylist()[0]
    rows = [{**good, **change, "g": name} for name, change in BROKEN_EVENTS.items()]
    for row in rows:
        if row["event_time"] == "far":
            row["event_time"] = 10_000 * 365 * 86_400 * 1_000_000  # beyond what Python's datetime can say
    added = pa.Table.from_pylist(rows, schema=table.schema)
    frame = warehouse.read(spark, "events").unionByName(spark.createDataFrame(added))
    found = {one.rule: one for one in run_rules(frame, "events", rules)}
    assert not found["rows add up"].passed
    assert found["rows add up"].broken == len(rows)
    for name in BROKEN_EVENTS:
        assert not found[name].passed, name
        assert name in found[name].examples, found[name]
        assert found[name].broken <= 3, found[name]


def test_rules_on_events_accept_what_was_ingested(spark, warehouse):
    found = run_rules(warehouse.read(spark, "events"), "events", event_rules(warehouse))
    assert [one for one in found if not one.passed] == []
