"""Sessions: when windows are given out, what is late, what comes and goes, what is held, and what a state brings back."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core import EventSchema, HamletError, QueryMeaningError, Session, StreamError, stream
from tests.conftest import ROOT

PAIRS = "RETURN COUNT(*) PATTERN SEQ(A a, B b) WITHIN 10 s"
SLIDING = "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 10 s SLIDE 2 s"
STRICT = "RETURN COUNT(*) PATTERN SEQ(A a, B b) SEMANTICS contiguous WHERE [g] WITHIN 10 s"


def events(*rows: tuple[int, str], **more: Any) -> pa.Table:
    """Events of (time, type)."""
    times, types = [time for time, _ in rows], [kind for _, kind in rows]
    return pa.table({"time": pa.array(times, pa.int64()), "type": pa.array(types, pa.string()), **more})


def windows(rows: pa.Table) -> list[tuple[str, int, str]]:
    """(query, window start, exact) of result rows."""
    return [(row["query"], row["window_start"], row["exact"]) for row in rows.to_pylist()]


def asked(text: str = PAIRS, **options: Any) -> Session:
    """A session in exact arithmetic."""
    return stream(text, arithmetic="exact", **options)


# --- when a window is given out ------------------------------------------------------------------
#
#   0         10        20
#   |---------|---------|      windows of 10 s
#    A B      ^ a watermark of 10 closes the first


@pytest.mark.parametrize(("time", "closed"), [(9, False), (10, True), (11, True)])
def test_a_window_is_given_out_when_the_watermark_reaches_its_end(time: int, closed: bool) -> None:
    session = asked()
    session.push(events((1, "A"), (2, "B")))
    assert windows(session.push(events((time, "C")))) == [("q1", 0, "1")] * closed


@pytest.mark.parametrize(("time", "closed"), [(13, False), (14, True)])
def test_the_lateness_keeps_windows_open(time: int, closed: bool) -> None:
    session = asked(lateness="4 s")
    session.push(events((1, "A"), (2, "B")))
    assert windows(session.push(events((time, "A")))) == [("q1", 0, "1")] * closed


def test_an_event_at_the_watermark_is_in_time() -> None:
    session = asked(lateness=4)
    session.push(events((1, "A"), (13, "A")))
    rows = session.push(events((9, "B"), (14, "B"), (10, "A"), (15, "B")))
    assert windows(rows) == [("q1", 0, "1")]
    assert session.take_late() == ()
    assert windows(session.flush()) == [("q1", 10, "4")]  # A at 10 and 13, B at 14 and 15


def test_a_window_that_was_given_out_is_not_given_out_again() -> None:
    session = asked(SLIDING)
    found = [
        *windows(session.push(events((1, "A"), (2, "B"), (12, "A")))),
        *windows(session.push(events((13, "B")))),
    ]
    found += windows(session.flush())
    starts = [start for _, start, _ in found]
    assert len(starts) == len(set(starts))
    assert found == windows(run_sorted(SLIDING, events((1, "A"), (2, "B"), (12, "A"), (13, "B"))))


def run_sorted(text: str, table: pa.Table) -> pa.Table:
    """What a run says of all."""
    return hamlet_core.run(text, table, arithmetic="exact")


def test_flush_ends_the_stream() -> None:
    session = asked()
    session.push(events((1, "A"), (2, "B")))
    assert windows(session.flush()) == [("q1", 0, "1")]
    assert session.flush().num_rows == 0
    with pytest.raises(StreamError, match="E224"):
        session.push(events((30, "A")))
    with pytest.raises(StreamError, match="E224"):
        Session.restore(session.state()).push(events((30, "A")))
    assert session.stats().held_events == 0


def test_a_session_without_events_gives_out_nothing() -> None:
    rows = asked().flush()
    assert (rows.num_rows, rows.schema) == (0, hamlet_core.result_schema(pa.int64()))


def test_no_rows_have_the_columns_of_rows() -> None:
    session = asked()
    table = events((1, "A")).set_column(0, "time", pa.array([1], pa.timestamp("s")))
    assert session.push(table).schema == hamlet_core.result_schema(pa.timestamp("us", "UTC"))
    assert session.push(table.slice(1)).schema == hamlet_core.result_schema(pa.timestamp("us", "UTC"))


# --- late events -----------------------------------------------------------------------------------


def test_late_events_are_handed_back_as_they_came() -> None:
    session = asked(lateness="5 s")
    session.push(events((1, "A"), (20, "B"), note=["x", "y"]))
    rows = session.push(
        events((14, "A"), (15, "A"), (21, "C"), (15, "B"), note=["late", "in time", "-", "late, too"])
    )
    assert rows.num_rows == 0
    (late,) = session.take_late()
    assert late.drop_columns("late_reason").to_pylist() == [
        {"time": 14, "type": "A", "note": "late", "late_watermark": 15},
        {"time": 15, "type": "B", "note": "late, too", "late_watermark": 16},
    ]
    assert set(late["late_reason"].to_pylist()) == {
        "earlier than the watermark, the largest time before it minus 5 s"
    }
    assert session.take_late() == ()
    assert (session.stats().rows, session.stats().late, session.stats().late_waiting) == (6, 2, 0)


def test_late_events_are_not_counted() -> None:
    session = asked()
    rows = [session.push(events((1, "A"), (12, "A"), (2, "B"))), session.push(events((13, "B"), (20, "A")))]
    assert [windows(one) for one in rows] == [[], [("q1", 10, "1")]]


def test_late_events_wait_in_the_state() -> None:
    session = asked()
    session.push(events((10, "A"), (1, "B")))
    table = events((11, "A"), (2, "B")).set_column(1, "type", pa.array(["A", "B"]).dictionary_encode())
    session.push(table.append_column("more", pa.array([[1], None])))
    restored = Session.restore(session.state())
    assert restored.stats().late_waiting == 2
    first, second = restored.take_late()
    assert first["time"].to_pylist() == [1]
    assert second.select(["time", "type", "more"]).to_pylist() == [{"time": 2, "type": "B", "more": None}]
    assert second.equals(session.take_late()[1])


@pytest.mark.parametrize("cut", [1, 2, 3, 4])
def test_what_is_late_does_not_depend_on_batches(cut: int) -> None:
    table = events((5, "A"), (9, "B"), (4, "B"), (30, "A"), (8, "A"))
    whole, parts = asked(lateness=3), asked(lateness=3)
    whole.push(table)
    for batch in (table.slice(0, cut), table.slice(cut)):
        parts.push(batch)
    assert pa.concat_tables(whole.take_late()) == pa.concat_tables(parts.take_late())
    assert windows(whole.flush()) == windows(parts.flush())


def test_no_lateness_and_no_time_is_too_large() -> None:
    session = asked("RETURN COUNT(*) PATTERN A a WITHIN 1 s", lateness=2**63 - 1)
    session.push(events((-(2**62), "A"), (2**62, "A"), (1 - 2**62, "A"), (-(2**62), "A")))
    (late,) = session.take_late()
    assert late["time"].to_pylist() == [-(2**62)]
    assert session.stats().watermark == 2**62 - (2**63 - 1)


@pytest.mark.parametrize("lateness", ["2 min", timedelta(minutes=2), 2])
def test_a_lateness_in_any_form(lateness: Any) -> None:
    text = "RETURN COUNT(*) PATTERN A a WITHIN 10 min"
    session = asked(text, schema=EventSchema(time_unit="min"), lateness=lateness)
    assert session.push(events((1, "A"), (11, "A"))).num_rows == 0
    assert Session.restore(session.state()).push(events((12, "A"))).num_rows == 1
    assert session.push(events((12, "A"))).num_rows == 1


# --- queries that come and go --------------------------------------------------------------------


def test_an_added_query_answers_from_the_first_window_that_begins_after_it_came() -> None:
    session = asked()
    session.push(events((1, "A"), (2, "B"), (4, "B")))
    session.add("new: RETURN COUNT(*) PATTERN B b WITHIN 4 s SLIDE 2 s")
    assert session.queries == ("q1", "new")
    rows = [session.push(events((5, "B"), (6, "B"), (7, "B"), (20, "A"))), session.flush()]
    # The largest time seen was 4: the window from 4 has an event that came before the query did, so it begins with 6.
    assert windows(pa.concat_tables(rows)) == [("q1", 0, "5"), ("new", 6, "2")]


def test_a_query_added_before_any_event_answers_from_the_beginning() -> None:
    session = asked()
    session.add("new: RETURN COUNT(*) PATTERN A a WITHIN 10 s")
    session.push(events((1, "A")))
    assert windows(session.flush()) == [("new", 0, "1")]


def test_a_query_is_checked_against_the_columns_seen_when_it_comes() -> None:
    session = asked()
    session.push(events((1, "A"), v=["text"]))
    with pytest.raises(QueryMeaningError, match="E135"):
        session.add("new: RETURN SUM(a.v) PATTERN A a WITHIN 10 s")
    with pytest.raises(QueryMeaningError, match="E220"):
        session.add("new: RETURN COUNT(*) PATTERN A a WITHIN 10 ms")
    assert session.queries == ("q1",)
    session.push(events((2, "B"), v=["text"]))
    assert windows(session.flush()) == [("q1", 0, "1")]


def test_an_added_query_has_new_columns_in_events_that_come_later() -> None:
    session = asked()
    session.push(events((1, "A"), (2, "B"), v=[1, 2], g=["x", "y"]))
    session.add("new: RETURN SUM(a.v) PATTERN A a GROUP-BY g WITHIN 3 s")
    session.push(events((3, "A"), (4, "A"), (5, "A"), v=[5, 6, 7], g=["x", None, None]))
    rows = Session.restore(session.state()).flush()
    assert windows(rows) == [("q1", 0, "1"), ("new", 3, "5"), ("new", 3, "13")]
    assert rows["group_key"].to_pylist() == ["{}", '{"g":"x"}', '{"g":null}']


def test_a_removed_query_stops() -> None:
    session = asked(f"one: {PAIRS}\ntwo: {PAIRS}")
    session.push(events((1, "A"), (2, "B")))
    session.remove("one")
    assert windows(session.push(events((10, "A")))) == [("two", 0, "1")]
    assert session.queries == ("two",)


def test_a_query_is_changed_by_removing_and_adding_it() -> None:
    session = asked(lateness=0)
    session.push(events((1, "A"), (2, "B")))
    session.remove("q1")
    session.add("RETURN COUNT(*) PATTERN A a WITHIN 5 s")
    session.push(events((3, "A"), (6, "A"), (7, "A")))
    assert windows(session.flush()) == [("q1", 5, "2")]


def test_a_session_without_queries_holds_nothing() -> None:
    session = asked()
    session.push(events((1, "A"), (2, "B")))
    session.remove("q1")
    assert session.stats().held_events == 0
    restored = Session.restore(session.state())
    assert restored.push(events((3, "A"))).num_rows == 0
    restored.add(PAIRS)
    restored.push(events((11, "A"), (12, "B")))
    assert windows(restored.flush()) == [("q1", 10, "1")]


def test_what_is_no_query_is_refused_and_changes_nothing() -> None:
    session = asked()
    for text in ("new: RETURN COUNT(*) PATTERN", "new: RETURN SUM(b.v) PATTERN A a WITHIN 1 s", PAIRS):
        with pytest.raises(HamletError):
            session.add(text)
    assert session.queries == ("q1",)


def test_an_engine_that_cannot_answer_a_query_refuses_it() -> None:
    session = stream(PAIRS, engine="aseq")
    with pytest.raises(QueryMeaningError, match="E302"):
        session.add("kleene: RETURN COUNT(*) PATTERN A a+ WITHIN 1 s")
    assert session.queries == ("q1",)


# --- batches in any form ---------------------------------------------------------------------------


def test_batches_may_differ_in_order_form_and_further_columns() -> None:
    text = "RETURN COUNT(*), MAX(b.v) PATTERN SEQ(A a, B b) GROUP-BY g WITHIN 10 s"
    session = asked(text)
    session.push(pa.table({"v": [None, None], "g": ["x", "x"], "type": ["A", "B"], "time": [1, 2]}))
    dictionary = pa.array(["B", "A"]).dictionary_encode()
    session.push(
        pa.table(
            {
                "time": [3, 4],
                "more": [0, 0],
                "type": dictionary,
                "g": dictionary,
                "v": pa.array([7, 8], pa.int16()),
            }
        )
    )
    session.push(pa.table({"time": pa.array([], pa.null()), "type": [], "v": [], "g": []}))
    batch = pa.RecordBatch.from_pydict(
        {"time": [5], "type": ["B"], "g": pa.array(["x"], pa.large_string()), "v": [9]}
    )
    session.push(batch)
    session.push(pa.RecordBatchReader.from_batches(batch.schema, [batch]))
    whole = pa.table(
        {
            "time": [1, 2, 3, 4, 5, 5],
            "type": list("ABBABB"),
            "g": list("xxBAxx"),
            "v": [None, None, 7, 8, 9, 9],
        }
    )
    assert session.flush() == run_sorted(text, whole)


@pytest.mark.parametrize(
    "broken",
    [
        events((3, "B")).set_column(0, "time", pa.array([None], pa.int64())),
        events((3, "B"), v=["text"]),
        events((3, "B")),
        events((2**63 - 1, "A"), v=[1]),
        [{"time": 3, "type": "B", "v": 1}],
    ],
)
def test_a_batch_that_is_refused_changes_nothing(broken: Any) -> None:
    session = asked("RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, B b) WITHIN 10 s")
    session.push(events((1, "A"), (2, "B"), v=[1, 2]))
    before, stats = session.state(), session.stats()
    with pytest.raises(StreamError):
        session.push(broken)
    assert (session.state(), session.stats()) == (before, stats)
    session.push(events((10, "A"), v=[0]))
    assert session.stats().result_rows == 2


def test_decimals_of_different_widths_are_one_column() -> None:
    text = "RETURN SUM(a.v), MIN(a.v) PATTERN A a WITHIN 10 s"
    narrow, wide = pa.array([150], pa.decimal128(5, 2)), pa.array([10**30], pa.decimal256(60, 2))
    session = asked(text)
    session.push(events((1, "A"), v=narrow))
    session.push(events((2, "A"), v=wide))
    assert [row["exact"] for row in session.flush().to_pylist()] == [f"{10**30 + 150}.00", "150.00"]


# --- what is held ----------------------------------------------------------------------------------


def test_only_what_open_windows_need_is_held() -> None:
    session = asked("RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 100 s SLIDE 50 s", lateness=20)
    most = 0
    for first in range(0, 20_000, 100):
        session.push(events(*((first + time, "AB"[time % 2]) for time in range(100))))
        most = max(most, session.stats().held_events)
    assert most <= 100 + 20 + 100  # a window, the lateness, a batch
    assert session.stats().held_bytes < 50 * most
    assert session.stats().rows == 20_000
    assert session.stats().watermark == 20_000 - 1 - 20


def test_texts_of_events_that_are_gone_are_not_held() -> None:
    session = asked("RETURN COUNT(*) PATTERN A a GROUP-BY g WITHIN 10 s")
    sizes = []
    for first in range(0, 3_000, 10):
        names = [f"group {first + time} {'x' * 1000}" for time in range(10)]
        session.push(events(*((first + time, "A") for time in range(10)), g=names))
        sizes.append(session.stats().held_bytes)
    assert max(sizes) < 3_000_000


def test_types_that_no_query_reads_are_not_held() -> None:
    session = asked()
    session.push(events((1, "A"), (2, "C"), (3, "C")))
    assert session.stats().held_events == 1


def test_every_type_is_held_where_a_query_is_contiguous() -> None:
    session = asked(STRICT)
    session.push(events((1, "A"), (2, "C"), (3, "B"), g=["x", "x", "x"]))
    session.push(events((4, "A"), (5, "B"), g=["x", "x"]))
    assert session.stats().held_events == 5
    assert windows(session.flush()) == [("q1", 0, "1")]


# --- state -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "unit"),
    [
        (EventSchema(origin=datetime(2020, 1, 1, 0, 0, 7, tzinfo=UTC)), "ms"),
        (EventSchema(origin=datetime.fromisoformat("2020-01-01T00:00:07")), "us"),
        (EventSchema(origin=date(2020, 1, 1)), "s"),
    ],
)
def test_a_state_keeps_every_option(schema: EventSchema, unit: str) -> None:
    options = {"policy": "never", "cost_model": "paper", "choice": "guarded", "arithmetic": "modular"}
    options["optimizer"] = "sharon"
    table = events((1, "A"), (2, "B")).set_column(0, "time", pa.array([1, 2], pa.timestamp(unit)))
    session = stream(PAIRS, schema=schema, lateness="3 s", **options)
    session.push(table)
    restored = Session.restore(memoryview(session.state()))
    assert restored.state() == session.state()
    assert restored.stats() == session.stats()
    assert restored.flush() == hamlet_core.run(PAIRS, table, schema=schema, **options)


IN_ANOTHER_PROCESS = """
import sys, pyarrow as pa
from hamlet_core import Session
session = Session.restore(sys.stdin.buffer.read())
rows = pa.concat_tables([session.push(pa.ipc.open_stream(sys.argv[1]).read_all()), session.flush()])
with pa.ipc.new_stream(sys.stdout.buffer, rows.schema) as writer:
    writer.write_table(rows)
"""


def test_another_process_goes_on(tmp_path: Any) -> None:
    text = "one: RETURN COUNT(*), AVG(b.v) PATTERN SEQ(A a, B b+) GROUP-BY g WITHIN 20 s SLIDE 5 s"
    random = Random(7)
    rows = [(time, random.choice("AB")) for time in range(60)]
    more = {"g": [random.choice(["x", None]) for _ in rows], "v": [random.randint(0, 9) for _ in rows]}
    table = events(*rows, **more)
    session = asked(text, lateness=3)
    first = session.push(table.slice(0, 30))
    with pa.ipc.new_stream(tmp_path / "rest", table.schema) as writer:
        writer.write_table(table.slice(30))
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS, str(tmp_path / "rest")],
        input=session.state(),
        capture_output=True,
        check=True,
        cwd=ROOT,
    )
    rest = pa.ipc.open_stream(done.stdout).read_all()
    assert first.num_rows > 0
    assert pa.concat_tables([first, rest]) == run_sorted(text, table)
