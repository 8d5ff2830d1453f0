"""Decisions on their way from tasks: each pane is of one span, the reports stay small; no JVM."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pyarrow as pa
import pytest

from hamlet_core import DECISION_SCHEMA, EventSchema, parse, plan
from hamlet_core.results.folded import Part
from pipelines.settings import ExecuteOptions
from pipelines.spans import Partition, Span, moment
from pipelines.steps.execution import decisions as decisions_step
from pipelines.steps.execution import task_rows
from pipelines.steps.execution.decisions import (
    SENT,
    Decided,
    gathered,
    nothing_decided,
    of_span,
    packed,
    slot_of,
)
from pipelines.steps.execution.task_rows import TASK_SCHEMA, Reports, TaskInput, TaskReport, Working

DAY = datetime(2026, 1, 5, tzinfo=UTC)
SECOND = 1_000_000
TEXT = "q: RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s"


def seconds(when: datetime) -> int:
    return int(when.timestamp())


def days(first: int, last: int) -> Span:
    """Days from DAY, both inclusive."""
    return Span(
        tuple(
            Partition(str(day), DAY + timedelta(days=day), DAY + timedelta(days=day + 1))
            for day in range(first, last + 1)
        )
    )


def log(*panes: int, **values: object) -> pa.Table:
    """A decision of one burst for each pane."""
    one = {
        "partition": "{}", "kleene": "B+", "burst": 0, "bursts": 1, "events": 3, "candidates": "p, q",
        "queries": "p, q", "outcome": "open", "reason": "why", "snapshots_created": 1, "snapshots_carried": 2,
        "cost_shared": 1.0, "cost_alone": 2.0,
    }  # fmt: skip
    return pa.Table.from_pylist([one | {"pane": pane} | values for pane in panes], DECISION_SCHEMA)


def test_a_pane_is_of_the_span_it_starts_in() -> None:
    start = seconds(DAY)
    panes = [start - 1, start, start + 1, start + 86_399, start + 86_400, start + 2 * 86_400]
    found = [of_span(log(*panes), days(day, day), SECOND, "day") for day in (-1, 0, 1, 2)]
    assert [one["pane"].to_pylist() for one in found] == [panes[:1], panes[1:4], panes[4:5], panes[5:]]
    assert all(one.schema == SENT for one in found)
    assert of_span(log(*panes), days(-1, 2), SECOND, "day")["pane"].to_pylist() == panes
    assert of_span(log(*panes), Span(), SECOND, "day").num_rows == 6
    # Bounds between two ticks.
    odd = Span((Partition("odd", moment(1_500_000), moment(3_500_000)),))
    assert of_span(log(1, 2, 3, 4), odd, SECOND, "day")["pane"].to_pylist() == [2, 3]


def test_slots_are_days_or_hours_and_unknown_beyond_what_tables_can_hold() -> None:
    panes = [seconds(DAY) + 3 * 3_600 + 5, -1, 10**12, -(10**12)]
    by_day = of_span(log(*panes), Span(), SECOND, "day")["slot"].to_pylist()
    assert by_day == [DAY, datetime(1969, 12, 31, tzinfo=UTC), None, None]
    by_hour = of_span(log(*panes), Span(), SECOND, "hour")["slot"].to_pylist()
    assert by_hour == [DAY + timedelta(hours=3), datetime(1969, 12, 31, 23, tzinfo=UTC), None, None]


def test_hourly_partitions_have_slots_of_hours() -> None:
    hour = Span((Partition("h", DAY, DAY + timedelta(hours=1)),))
    assert [slot_of(span) for span in (Span(), days(0, 3), hour)] == ["day", "day", "hour"]


def test_what_tasks_send_comes_home_in_order_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    start = seconds(DAY)
    later, earlier = (
        of_span(log(*range(one, one + 60)), Span(), SECOND, "day") for one in (start, start - 60)
    )
    sent = [packed(later), packed(earlier), packed(nothing_decided())]
    assert sent[2] == b""
    found = gathered(sent)
    assert found["pane"].to_pylist() == list(range(start - 60, start + 60))
    assert gathered([]).schema == SENT
    monkeypatch.setattr(decisions_step, "MOST_OF_A_RUN", 20)
    few = gathered(sent)
    assert few.num_rows == 20
    assert [one["pane"] for one in few.to_pylist()] == [*range(start - 60, start - 42), None, None]
    assert {one["slot"] for one in few.to_pylist()[18:]} == {DAY - timedelta(days=1), DAY}
    assert Decided.of(few) == Decided.of(found) == Decided(120, 120, 120, 240)


def test_a_long_log_is_small_on_its_way() -> None:
    names = ", ".join(f"a_query_with_a_long_name_{number}" for number in range(20))
    rows = of_span(log(*range(10_000), candidates=names, queries=names), Span(), SECOND, "day")
    assert rows.nbytes > 10_000_000
    assert len(packed(rows)) < 500_000


def test_bursts_are_counted_as_shared_unless_nobody_shares() -> None:
    rows = [
        log(0, bursts=2, queries=""),
        log(0, bursts=3, queries="p, q; r, s"),
        log(0, bursts=4, queries=None),
    ]
    assert Decided.of(pa.concat_tables(rows)) == Decided(9, 7, 3, 6)
    assert Decided.of(log()) == Decided()


@pytest.fixture
def working() -> Working:
    events = pa.schema([("time", pa.int64()), ("type", pa.string())])
    shared = TaskInput(parse(TEXT), plan(TEXT), events, EventSchema(), ExecuteOptions())
    return Working(shared, ("q",), ("q",))


def part(decisions: pa.Table) -> Part:
    nothing = pa.Table.from_batches([], TASK_SCHEMA)
    return Part(nothing, nothing, 5, decisions)


def test_a_task_reports_the_decisions_of_its_pieces_once(working: Working) -> None:
    start = seconds(DAY)
    for day in (0, 1):  # the second piece reads the end of the first again
        assert list(working.rows_of_part(part(log(start + 1, start + 86_401)), days(day, day))) == []
    report = working.report()
    assert report.events == 10
    assert gathered([report.decisions])["pane"].to_pylist() == [start + 1, start + 86_401]


def test_a_task_keeps_its_decisions_short(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_rows, "MOST_OF_A_TASK", 50)
    for piece in range(4):
        panes = range(100 * piece, 100 * piece + 100)
        list(working.rows_of_part(part(log(*panes)), Span()))
        assert working.decisions.num_rows <= 50
    assert Decided.of(gathered([working.report().decisions])).bursts == 400


def test_a_task_computes_as_it_is_told(working: Working, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, object] = {}

    def run_part(*_: object, **options: object) -> Part:
        told.update(options)
        return part(log())

    monkeypatch.setattr(task_rows, "run_part", run_part)
    options = ExecuteOptions("greta", "always", "paper", "paper", "exact")
    working.shared = replace(working.shared, options=options)
    assert list(working.rows_of(working.shared.events.empty_table(), Span())) == []
    names = ("engine", "policy", "cost_model", "choice", "arithmetic")
    assert {name: told[name] for name in names} == {name: getattr(options, name) for name in names}


def test_an_engine_that_decides_nothing_sends_nothing(working: Working) -> None:
    events = pa.table({"time": [1, 2], "type": ["A", "B"]})
    assert sum(one.num_rows for one in working.rows_of(events, Span())) == 1
    assert working.report().decisions == b""


@pytest.mark.parametrize("wanted", [True, False])
def test_decisions_that_nobody_asks_for_stay_where_they_are(wanted: bool) -> None:
    added: list[dict[int, TaskReport]] = []
    reports = Reports(SimpleNamespace(add=added.append), wanted)  # type: ignore[arg-type]
    report = TaskReport(("q",), 5, decisions=b"rows")
    reports.add(1, report)
    assert added == [{1: report if wanted else replace(report, decisions=b"")}]
