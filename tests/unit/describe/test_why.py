"""`hamlet_core.why`: its trends are those that the engines count, in every construct and with every kind of time."""

# ruff: noqa: DTZ001 - naive times are among what is tested

from __future__ import annotations

import io
from collections import Counter
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from hamlet_core import EventSchema, StreamError, run, why
from pipelines.showing.trends import show_trends
from tests.golden.harness import FILES, load, table

EVENTS = pa.table(
    {
        "time": [1, 2, 2, 3, 5, 12, 13],
        "type": ["A", "B", "B", "B", "A", "A", "B"],
        "g": ["x", "x", "x", "x", None, "x", "x"],
        "k": [1, 1, 1, 1, 1, 2, 2],
        "v": [0, 3, 2, 1, 0, 0, 5],
    }
)


@pytest.mark.parametrize("file", FILES)
def test_it_lists_as_many_trends_as_are_counted(file: str) -> None:
    """Over golden cases: COUNT(*) of a result row is the number of its trends, or pairs."""
    compared = 0
    for case in load(file):
        events = table(case.events)
        if events.num_rows > 40:
            continue
        for (query, start, group, label), count in list(case.expected.items())[:6]:
            if label != "COUNT(*)" or count is None or count > 100:
                continue
            place = {"group": group, "window_start": start, "schema": EventSchema("t"), "limit": None}
            found = {one.query: one for one in why(case.text, events, **place)}
            one = found[query]
            assert (one.trends if one.pairs is None else one.pairs) == count, case.name
            assert (
                len({tuple(e.row for e in trend.events) for trend in one.shown})
                == one.trends
                == len(one.shown)
            )
            compared += 1
    assert compared > 10


def test_events_of_a_trend_have_alias_time_row_and_what_the_query_reads() -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE [k] AND b.v > NEXT(b).v GROUP-BY g WITHIN 10 s"
    (found,) = why(text, EVENTS, group='{ "g": "x" }', window_start=0)
    assert (found.query, found.window_start, found.window_end, found.group_key) == ("q1", 0, 10, '{"g":"x"}')
    assert found.trends == 5
    rows = [[event.row for event in trend.events] for trend in found.shown]
    assert sorted(rows) == [[0, 1], [0, 1, 3], [0, 2], [0, 2, 3], [0, 3]]
    last = found.shown[rows.index([0, 1, 3])].events[-1]
    assert (last.alias, last.type, last.time) == ("b", "B", 3)
    assert last.attributes == (("g", "x"), ("k", 1), ("v", 1))


def test_no_trends_is_an_answer() -> None:
    (found,) = why("RETURN COUNT(*) PATTERN C WITHIN 10 s", EVENTS, group="{}", window_start=0)
    assert (found.trends, found.shown) == (0, ())


def test_the_limit_cuts_what_is_shown_and_not_what_is_counted() -> None:
    (found,) = why("RETURN COUNT(*) PATTERN B b+ WITHIN 10 s", EVENTS, group="{}", window_start=0, limit=2)
    assert (found.trends, len(found.shown)) == (5, 2)


def test_only_queries_with_such_a_group_and_window_answer() -> None:
    text = """
      all:   RETURN COUNT(*) PATTERN B b WITHIN 10 s
      late:  RETURN COUNT(*) PATTERN B b WITHIN 10 s SLIDE 7 s
      group: RETURN COUNT(*) PATTERN B b GROUP-BY g WITHIN 10 s
    """
    assert [one.query for one in why(text, EVENTS, group="{}", window_start=10)] == ["all"]
    assert [one.query for one in why(text, EVENTS, group="{}", window_start=0)] == ["all", "late"]
    assert [one.query for one in why(text, EVENTS, group='{"g":null}', window_start=0)] == ["group"]


def test_and_pairs_trends_within_a_partition() -> None:
    text = "RETURN COUNT(*) PATTERN (A a AND B b) WHERE [k] WITHIN 20 s"
    (found,) = why(text, EVENTS, group="{}", window_start=0)
    assert dict(found.sides) == {"left": 3, "right": 4, "both": 0}
    assert found.pairs == 2 * 3 + 1 * 1
    assert run(text, EVENTS, arithmetic="exact").column("exact").to_pylist() == [str(found.pairs)]
    assert Counter(trend.side for trend in found.shown) == {"left": 3, "right": 4}


def test_a_trend_that_matches_in_two_ways_is_one_with_both_aliases() -> None:
    (found,) = why("RETURN COUNT(*) PATTERN SEQ(B x+, B y+) WITHIN 10 s", EVENTS, group="{}", window_start=0)
    assert sorted({event.alias for trend in found.shown for event in trend.events}) == ["x", "y"]
    longer = pa.table({"time": [1, 2, 3], "type": ["B"] * 3})
    (found,) = why("RETURN COUNT(*) PATTERN SEQ(B x+, B y+) WITHIN 10 s", longer, group="{}", window_start=0)
    assert found.trends == 4
    (longest,) = (trend for trend in found.shown if len(trend.events) == 3)
    assert [event.alias for event in longest.events] == ["x", "x or y", "y"]


@pytest.mark.parametrize(
    "start", [datetime(2026, 1, 5), datetime(2026, 1, 5, tzinfo=UTC), date(2026, 1, 5)], ids=["naive", "aware", "date"]
)  # fmt: skip
def test_timestamps(start: datetime | date) -> None:
    times = pa.array([datetime(2026, 1, 5, 8), datetime(2026, 1, 5, 9, 0, 0, 1)], pa.timestamp("ns"))
    events = pa.table({"time": times, "due": times, "type": ["A", "B"]})
    text = "RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE a.due < NEXT(b).due WITHIN 1 day"
    (found,) = why(text, events, group="{}", window_start=start)
    assert (found.window_start, found.window_end) == ("2026-01-05T00:00:00Z", "2026-01-06T00:00:00Z")
    (trend,) = found.shown
    assert [event.time for event in trend.events] == ["2026-01-05T08:00:00Z", "2026-01-05T09:00:00.000001Z"]
    assert trend.events[0].attributes == (("due", "2026-01-05T08:00:00Z"),)


def test_the_schema_says_where_time_and_type_stand() -> None:
    events = EVENTS.rename_columns(["at", "kind", "g", "k", "v"])
    schema = EventSchema("at", "kind", origin=5)
    (found,) = why(
        "RETURN COUNT(*) PATTERN A a WITHIN 10 s", events, group="{}", window_start=5, schema=schema
    )
    assert [trend.events[0].time for trend in found.shown] == [5, 12]


@pytest.mark.parametrize(
    ("group", "start", "code"),
    [("{}", 3, "E216"), ("{}", datetime(2026, 1, 5), "E216"), ('{"h":1}', 0, "E217"), ("x", 0, "E217"), ("[1]", 0, "E217")],
)  # fmt: skip
def test_a_group_or_window_that_cannot_be(group: str, start: int | datetime, code: str) -> None:
    with pytest.raises(StreamError) as refused:
        why("RETURN COUNT(*) PATTERN A a WITHIN 10 s", EVENTS, group=group, window_start=start)
    assert refused.value.code == code
    assert refused.value.hint


def test_too_many_trends_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hamlet_core.engines.two_step.TREND_LIMIT", 4)
    with pytest.raises(StreamError, match="E301"):
        why("RETURN COUNT(*) PATTERN B b+ WITHIN 10 s", EVENTS, group="{}", window_start=0)


@pytest.mark.parametrize(
    "pattern",
    [
        "Tick t",
        "Tick t+",
        "SEQ(Tick t+, NOT Stop s)",
        "SEQ(Stop r, NOT Stop s, Tick t)",
        "(Tick t+ AND Tick u)",
    ],
)
def test_a_few_trends_of_a_large_window_are_shown_and_the_others_not_counted(pattern: str) -> None:
    """By far too many to list: this ends soon, or never."""
    rows = 50_000
    types = ["Stop" if row % 5 == 4 and row < rows // 2 else "Tick" for row in range(rows)]
    table = pa.table({"time": range(rows), "type": types, "x": range(rows)})
    text = f"RETURN COUNT(*) PATTERN {pattern} WITHIN 1 day"
    (found,) = why(text, table, group="{}", window_start=0, limit=5)
    assert len(found.shown) == 5
    assert (found.sides, found.pairs) == ((), None)
    if pattern == "Tick t":
        assert found.trends == types.count("Tick")
    else:
        assert found.trends is None
        out = io.StringIO()
        show_trends((found,), out)
        assert "more than 5 trends; COUNT(*) says how many" in out.getvalue()
        assert out.getvalue().endswith("  and more (--limit 0 lists all)\n")


@pytest.mark.parametrize(
    ("mode", "trends"),
    [
        ("skip-till-any-match", [[1, 3], [1, 4], [1, 3, 4]]),
        ("skip-till-next-match", [[1, 3], [1, 3, 4]]),
        ("contiguous", []),
    ],
)
def test_only_trends_that_the_mode_allows_are_listed(mode: str, trends: list[list[int]]) -> None:
    events = pa.table({"time": [1, 2, 3, 4], "type": ["A", "C", "B", "B"]})
    text = f"RETURN REACH(a), COUNT(*) PATTERN SEQ(A a, B b+) SEMANTICS {mode} WITHIN 10 s"
    (found,) = why(text, events, group="{}", window_start=0)
    times = [[event.time for event in trend.events] for trend in found.shown]
    assert sorted(times) == sorted(trends)
    assert found.trends == len(trends)
