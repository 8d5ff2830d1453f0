"""Windows that are joined from panes as events arrive: the rows of a run, every event folded once."""

from __future__ import annotations

from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core import Session, StreamError, stream
from hamlet_core.online import sliding
from tests.properties.pushed import in_order

SUMS = "RETURN COUNT(*), SUM(b.v), MIN(b.v), MAX(a.v), AVG(b.w) PATTERN SEQ(A a, B b+)"
GROUPED = f"{SUMS} WHERE [key] GROUP-BY g"


@pytest.fixture(autouse=True)
def joining(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows as small as these would not be joined from panes, if joining them cost something."""
    monkeypatch.setattr(sliding, "JOIN", 0.0)


def events(
    count: int, *, seed: int = 1, gap: int = 1, keys: int = 3, first: int = 0, types: str = "AB"
) -> pa.Table:
    """Events of A and B about `gap` apart, with values that are NULL now and then."""
    draw = Random(seed)
    times = sorted(draw.randrange(first, first + count * gap) for _ in range(count))

    def some(values: list[Any]) -> list[Any]:
        return [draw.choice([*values, None]) for _ in times]

    return pa.table(
        {
            "time": pa.array(times, pa.int64()),
            "type": [draw.choice(types) for _ in times],
            "key": pa.array(some(list(range(keys))), pa.int64()),
            "g": pa.array(some(["x", "y"]), pa.string()),
            "v": pa.array(some([-4, 0, 7]), pa.int64()),
            "w": pa.array(some([0.5, -2.25, 1e9]), pa.float64()),
        }
    )


def answered(text: str, table: pa.Table, *, batch: int = 7, **options: Any) -> tuple[pa.Table, Session]:
    """All rows that a session gives out, in the order of a run; and the session."""
    session = stream(text, **options)
    found = [session.push(table.slice(first, batch)) for first in range(0, len(table), batch)]
    rows = [*found, session.flush()]
    return in_order([one for one in rows if one.num_rows] or rows[-1:], session.queries), session


@pytest.mark.parametrize("window", ["10 s SLIDE 1 s", "12 s SLIDE 5 s", "9 s SLIDE 6 s", "40 s SLIDE 3 s"])
@pytest.mark.parametrize("text", [SUMS, GROUPED])
def test_the_rows_are_those_of_a_run(text: str, window: str) -> None:
    table, asked = events(150, first=-60), f"{text} WITHIN {window}"
    rows, session = answered(asked, table, arithmetic="exact")
    assert rows == hamlet_core.run(asked, table, arithmetic="exact")
    assert session.stats().folded_events <= len(table)


NEGATED = {
    "between": "RETURN COUNT(*), SUM(b.v), MIN(b.v) PATTERN SEQ(A a, NOT C c, B b+)",
    "first": "RETURN COUNT(*), AVG(b.w), MAX(a.v) PATTERN SEQ(NOT C c, A a+, B b)",
    "last": "RETURN COUNT(*), SUM(a.v), MIN(a.v) PATTERN SEQ(A a, B b+, NOT C c)",
    "last, of two": "RETURN COUNT(*), COUNT(b) PATTERN SEQ(A a+, B b, NOT (C c OR D d))",
    "between rounds": "RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, NOT C c, B b)+",
    "by a condition": "RETURN COUNT(*), SUM(b.v) PATTERN SEQ(A a, NOT C c, B b+) WHERE c.v > 0 AND [key]",
    "in several places": "RETURN COUNT(*), SUM(b.v) PATTERN SEQ(NOT D d, A a, NOT C c, B b+, NOT D e)",
    "and": "RETURN COUNT(*) PATTERN (SEQ(A a, B b+) AND C c+) GROUP-BY g",
    "and, negated": "RETURN COUNT(*) PATTERN (SEQ(A a, NOT D d, B b+) AND SEQ(C c+, NOT D e)) WHERE [key]",
}


@pytest.mark.parametrize("arithmetic", ["exact", "modular"])
@pytest.mark.parametrize("window", ["10 s SLIDE 1 s", "12 s SLIDE 5 s", "40 s SLIDE 3 s"])
@pytest.mark.parametrize("text", NEGATED.values(), ids=NEGATED)
def test_not_and_and_are_joined_from_panes(text: str, window: str, arithmetic: str) -> None:
    table, asked = events(200, types="AABBBCD"), f"{text} WITHIN {window}"
    rows, session = answered(asked, table, arithmetic=arithmetic)
    assert rows == hamlet_core.run(asked, table, arithmetic=arithmetic)
    assert 0 < session.stats().folded_events <= len(table)


def test_what_a_negated_match_of_several_events_covers_is_folded_again() -> None:
    asked = "RETURN COUNT(*) PATTERN SEQ(A a, NOT SEQ(C c, D d), B b+) WITHIN 12 s SLIDE 1 s"
    table = events(200, types="AABBBCD")
    rows, session = answered(asked, table, arithmetic="exact")
    assert rows == hamlet_core.run(asked, table, arithmetic="exact")
    assert session.stats().folded_events > 2 * len(table)


def test_several_queries_and_windows_go_together() -> None:
    text = "\n".join(
        f"q{number}: {text} WITHIN {window}"
        for number, (text, window) in enumerate(
            [
                (SUMS, "20 s SLIDE 2 s"),
                (GROUPED, "20 s SLIDE 2 s"),
                (GROUPED, "20 s"),
                (GROUPED, "20 s SLIDE 2 s"),
            ]
        )
    )
    table = events(200)
    assert answered(text, table, arithmetic="exact")[0] == hamlet_core.run(text, table, arithmetic="exact")


@pytest.mark.parametrize("slide", [30, 10, 3, 1])
def test_an_event_is_folded_once_however_many_windows_hold_it(slide: int) -> None:
    table, asked = events(400), f"{SUMS} WITHIN 60 s SLIDE {slide} s"
    _, session = answered(asked, table)
    assert session.stats().folded_events == len(table)


def test_where_neighbours_are_compared_an_event_is_folded_with_each_window_that_closes() -> None:
    table = events(400)
    asked = "RETURN COUNT(*) PATTERN B b+ WHERE b.v < NEXT(b).v WITHIN 60 s SLIDE 3 s"
    rows, session = answered(asked, table, arithmetic="exact")
    assert rows == hamlet_core.run(asked, table, arithmetic="exact")
    assert session.stats().folded_events > 3 * len(table) * 0.4


def test_a_long_silence_costs_no_windows() -> None:
    table = pa.concat_tables(
        [events(30), events(30, seed=2, first=10**9), events(30, seed=3, first=10**9 + 10**6)]
    )
    asked = f"{GROUPED} WITHIN 10 s SLIDE 1 s"
    assert answered(asked, table, arithmetic="exact")[0] == hamlet_core.run(asked, table, arithmetic="exact")


def test_partitions_that_are_gone_are_forgotten() -> None:
    asked, sizes = "RETURN COUNT(*) PATTERN SEQ(A a, B b+) WHERE [key] WITHIN 20 s SLIDE 2 s", []
    session = stream(asked)
    for first in range(0, 3_000, 10):
        keys = pa.array(range(first, first + 10), pa.int64())
        session.push(
            pa.table({"time": pa.array(range(first, first + 10)), "type": ["A", "B"] * 5, "key": keys})
        )
        sizes.append(session.stats().pane_bytes)
    assert sizes[50] > 0
    assert max(sizes[100:]) <= 2 * max(sizes[:100])


@pytest.mark.parametrize(
    "values",
    [
        pa.array([Decimal("1.50"), Decimal("-7.25"), Decimal("3.00")] * 20),
        pa.array([2**63 - 1, -(2**63), 5] * 20, pa.int64()),
        pa.array([2**63 - 1, 0, 5] * 20, pa.int64()),
    ],
    ids=["decimals", "both ends of the integers", "the largest integer"],
)
def test_extremes_that_cannot_be_joined_are_folded_again(values: pa.Array) -> None:
    asked = "RETURN MIN(a.v), MAX(a.v), SUM(a.v) PATTERN A a+ WITHIN 9 s SLIDE 3 s"
    table = pa.table({"time": range(60), "type": ["A"] * 60, "v": values})
    assert answered(asked, table, arithmetic="exact")[0] == hamlet_core.run(asked, table, arithmetic="exact")


@pytest.mark.parametrize("arithmetic", ["scaled", "modular"])
def test_counts_beyond_all_doubles(arithmetic: str) -> None:
    table = pa.table({"time": range(3_000), "type": ["A"] * 3_000, "v": [1] * 3_000})
    asked = "RETURN COUNT(*), SUM(a.v) PATTERN A a+ WITHIN 2000 s SLIDE 500 s"
    rows, _ = answered(asked, table, batch=500, arithmetic=arithmetic)
    expected = hamlet_core.run(asked, table, arithmetic=arithmetic)
    assert rows.drop_columns("log2") == expected.drop_columns("log2")
    for found, true in zip(rows["log2"].to_pylist(), expected["log2"].to_pylist(), strict=True):
        assert found == pytest.approx(true, abs=1e-9)
    assert max(rows["log2"].to_pylist()) > 1_999


def test_a_column_that_gets_its_kind_later() -> None:
    asked = "RETURN MIN(a.v), SUM(a.v) PATTERN A a+ WITHIN 9 s SLIDE 3 s"
    first = pa.table({"time": range(5), "type": ["A"] * 5, "v": pa.nulls(5)})
    rest = pa.table({"time": range(5, 20), "type": ["A"] * 15, "v": range(15)})
    session = stream(asked, arithmetic="exact")
    rows = [session.push(first), session.push(rest), session.flush()]
    whole = pa.concat_tables([first.set_column(2, "v", pa.nulls(5, pa.int64())), rest])
    assert in_order(rows, session.queries) == hamlet_core.run(asked, whole, arithmetic="exact")


def test_a_push_that_fails_while_windows_close_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, table = f"{SUMS} WITHIN 10 s SLIDE 2 s", events(60)
    session = stream(asked, arithmetic="exact")
    rows = [session.push(table.slice(0, 30))]
    before = session.state()

    def full(*_: object) -> None:
        raise StreamError("no room", code="E211", hint="make some")

    with monkeypatch.context() as broken:
        broken.setattr(Session, "_shown", full)
        with pytest.raises(StreamError, match="no room"):
            session.push(table.slice(30))
    assert session.state() == before
    rows += [session.push(table.slice(30)), session.flush()]
    assert in_order(rows, session.queries) == hamlet_core.run(asked, table, arithmetic="exact")


def test_few_windows_over_many_events_are_joined_and_many_over_few_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    table = events(60_000, gap=1)
    _, folded_again = answered(f"{SUMS} WITHIN 60 s SLIDE 1 s", table, batch=10_000)
    assert folded_again.stats().pane_bytes == 0
    _, joined = answered(f"{SUMS} WITHIN 20000 s SLIDE 2000 s", table, batch=1_000)
    assert joined.stats().pane_bytes > 0
    assert joined.stats().folded_events < 3 * len(table)
