"""What `hamlet explain` says of partitions that are larger than a task's fair share."""

from __future__ import annotations

import pyarrow as pa
import pytest

from hamlet_core import EventSchema, plan
from pipelines.hot_keys import hot_keys
from pipelines.steps.execution import file_tasks

HOUR = 3600
TEXT = """
a: RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE [k] WITHIN {within}
b: RETURN g, COUNT(*) PATTERN SEQ(A a, B b+) WHERE [k] GROUP-BY g WITHIN {within}
"""


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_tasks, "LEAST_SHARE", 10)


def events(hot: int, of: int = 400) -> pa.Table:
    """A day of events, of which so many have one key; in hours, so that the last one is 23 hours after the first."""
    return pa.table(
        {
            "time": [place * 23 * HOUR // (of - 1) for place in range(of)],
            "type": ["A", "B", "B", "C"] * (of // 4),
            "k": [0 if place < hot else place for place in range(of)],
            "g": ["x", "y"] * (of // 2),
        }
    )


def lines(table: pa.Table, within: str, parts: int = 4) -> list[str]:
    return list(hot_keys(plan(TEXT.format(within=within)), table, EventSchema(), parts))


def test_a_hot_key_is_cut_where_windows_end() -> None:
    first, second = lines(events(360), "1 hour", 8)
    assert first == (
        "Spark: 270 of 400 events are one partition of a (k = 0); tasks take it in about 6 pieces, "
        "cut where windows of 1 h end"
    )
    assert (
        "180 of 400 events are one partition of b (k = 0, g = x); tasks take it in about 4 pieces" in second
    )
    assert lines(events(360), "5 hours", 80)[0].endswith("about 4 pieces, cut where windows of 5 h end")


def test_where_nothing_can_be_cut_it_is_said() -> None:
    first, second = lines(events(360), "1 day")
    assert second.endswith(
        "and windows of 1 day are not cut: one task takes it, which no number of cores makes faster"
    )
    assert first == (
        "Spark: 270 of 400 events are one partition of a (k = 0), and windows of 1 day are not cut: one task takes it, "
        "which no number of cores makes faster"
    )


def test_the_longest_window_of_a_key_decides_for_all_its_queries() -> None:
    text = (
        TEXT.format(within="1 day")
        .replace("g, COUNT", "k, COUNT")
        .replace("GROUP-BY g WITHIN 1 day", "GROUP-BY k WITHIN 1 hour")
    )
    (line,) = hot_keys(plan(text), events(360), EventSchema(), 4)
    assert line.startswith(
        "Spark: 270 of 400 events are one partition of a, b (k = 0), and windows of 1 day are not cut"
    )


def test_fair_shares_are_not_told() -> None:
    assert lines(events(100), "1 hour") == []
    assert lines(events(400).slice(0, 0), "1 hour") == []


def test_queries_without_a_key_have_one_partition() -> None:
    text = "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WITHIN 1 hour"
    (line,) = hot_keys(plan(text), events(0), EventSchema(), 4)
    assert line.startswith(
        "Spark: 300 of 400 events are one partition of q1; tasks take it in about 3 pieces"
    )
