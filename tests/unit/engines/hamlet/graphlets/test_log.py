"""The decision log adds up: what is decided, what is not worth a decision, and what is left when the log is full."""

from itertools import product
from random import Random

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core.engines.hamlet import engine
from hamlet_core.engines.hamlet.graphlets.settings import ROOM
from hamlet_core.sharing.costs import Constants, Paper
from hamlet_core.sharing.options import CHOICES, COST_MODELS, Sharing
from hamlet_core.streams import bursty
from hamlet_core.streams.w50 import w50
from hamlet_core.windows import WindowSpec
from tests.properties.decided import Row, Run, Setting, decided

SUMMED = {
    "bursts": "bursts", "events": "events", "snapshots_created": "created", "snapshots_carried": "carried",
    "cost_shared": "shared", "cost_alone": "alone",
}  # fmt: skip
UNKNOWN = ("partition", "burst")
"""Columns that a summary of decisions leaves open."""
PAPER = {"policy": "dynamic", "cost_model": "paper"}
PAIR = "q1: RETURN COUNT(*) PATTERN SEQ(A a, B b+) {0}\nq2: RETURN COUNT(*) PATTERN SEQ(C c, B b+) {0}"


def stream(rows):
    """A table of (time, type, v)."""
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(("time", "type", "v"))})


def sums(log):
    return {name: sum(log[name].to_pylist()) for name in SUMMED}


def test_a_full_log_goes_on_in_sums():
    runs = Run("q1", "A", "", "", None, None), Run("q2", "C", "", "", 5, None)
    random, rows = Random(1), []
    while len(rows) < 5 * ROOM:
        rows.append(Row(len(rows), "A" if len(rows) % 2 else "C", 0, 0))
        odd = random.random() < 0.4
        rows += [Row(len(rows) + one, "B", 9 * odd, 0) for one in range(random.choice((1, 2, 5)))]
    window = WindowSpec(10**6, 10**6)
    expected = decided(runs, runs, rows, Setting(window, "dynamic", "guarded", Paper()))
    assert len(expected) > ROOM + 1_000

    text = "\n".join(f"{run.text} WITHIN {window.within} s" for run in runs)
    done = hamlet_core.execute(text, stream([(row.time, row.type, row.v) for row in rows]), **PAPER)
    log, counters = done.decisions, done.counters
    detail, summary = log.slice(0, ROOM).to_pylist(), log.slice(ROOM).to_pylist()
    assert [row["burst"] for row in detail] == [one.burst for one in expected[:ROOM]]
    assert {said(row) for row in summary} == {(one.outcome, one.reason) for one in expected[ROOM:]}
    assert len(summary) == len({said(row) for row in summary}) == 3
    assert {row[name] for row in summary for name in UNKNOWN} == {None}
    assert {row["candidates"] for row in summary} == {"q1, q2"}
    assert {row["pane"] for row in summary} == {0}
    assert {row["queries"] for row in summary if row["snapshots_carried"]} == {None}
    assert {row["queries"] for row in summary if not row["snapshots_carried"]} == {""}
    assert sums(log) == {name: sum(getattr(one, field) for one in expected) for name, field in SUMMED.items()}
    assert counters.decided_bursts == sum(one.bursts for one in expected)
    assert counters.shared_bursts == sum(one.bursts for one in expected if one.sets)
    assert counters.snapshots == sums(log)["snapshots_created"]
    assert counters.lanes == sums(log)["snapshots_carried"]


def said(row):
    return row["outcome"], row["reason"]


def test_the_log_of_a_run_is_bounded(monkeypatch):
    """Whatever the number of passes and panes: what is too much is added up, and nothing is lost."""
    rows = [(time, "AC"[time % 2] if time % 3 == 0 else "B", time % 5) for time in range(900)]
    text = PAIR.format("WHERE b.v < NEXT(b).v WITHIN 30 s SLIDE 10 s")
    monkeypatch.setattr(Sharing, "may_rest", False)
    whole = hamlet_core.execute(text, stream(rows))
    assert len(whole.decisions) > 80
    monkeypatch.setattr(engine, "MOST_DECISIONS", 40)
    cut = hamlet_core.execute(text, stream(rows))
    assert 20 < len(cut.decisions) <= 40
    assert cut.counters.decided_bursts == whole.counters.decided_bursts == sums(cut.decisions)["bursts"]
    assert sums(cut.decisions) == pytest.approx(sums(whole.decisions))
    assert cut.results == whole.results


def test_decisions_that_say_the_same_are_one_row():
    text = PAIR.format("WHERE b.v <= NEXT(b).v WITHIN 100 s")
    rows = [
        row for time in range(0, 60, 3) for row in ((time, "A", 0), (time + 1, "B", 1), (time + 2, "B", 1))
    ]
    always = hamlet_core.execute(text, stream(rows), policy="always").decisions.to_pylist()
    assert [(row["outcome"], row["burst"], row["bursts"], row["events"]) for row in always] == [
        ("open", 0, 1, 2), ("continue", 1, 19, 38),
    ]  # fmt: skip
    text = PAIR.format("WITHIN 100 s").replace("c, B b+)", "c, B b+) WHERE b.v < 0")
    apart = hamlet_core.execute(text, stream(rows), **PAPER).decisions.to_pylist()
    assert [(row["outcome"], row["burst"], row["bursts"], row["events"]) for row in apart] == [
        ("apart", 0, 20, 40)
    ]


def test_another_pane_is_another_row():
    rows = [(0, "A", 0), (1, "C", 0), *((time, "B", 1) for time in range(2, 30))]
    text = PAIR.format("WITHIN 30 s SLIDE 10 s")
    log = hamlet_core.execute(text, stream(rows), policy="always").decisions.to_pylist()
    last = [(row["pane"], row["outcome"], row["bursts"], row["events"]) for row in log[-6:-3]]
    assert last == [(0, "open", 1, 8), (10, "continue", 1, 10), (20, "continue", 1, 10)]


def test_alone_costs_what_events_cost_where_nothing_is_kept():
    rows = [(0, "A", 0), (1, "C", 0), *((time, "B", 0) for time in (2, 3, 4, 5, 6, 12))]
    log = hamlet_core.execute(PAIR.format("WITHIN 20 s SLIDE 10 s"), stream(rows), policy="always").decisions
    (row,) = (row for row in log.to_pylist() if row["outcome"] == "continue")
    known = Constants()
    assert row["cost_alone"] == pytest.approx(2 * known.total + known.apart)


def test_nobody_shares_what_there_is_no_room_for():
    text = "\n".join(
        f"q{number}: RETURN COUNT(*) PATTERN SEQ({prefix}, B b+) {where} WITHIN 100 s"
        for number, (prefix, where) in enumerate((("A", ""), ("C", "WHERE b.v < 5"), ("D", "WHERE b.v < 2")))
    )
    rows = [(0, "A", 0), *((time, "B", 9) for time in range(1, 31)), (31, "B", 3)]
    done = hamlet_core.execute(text, stream(rows), **PAPER, choice="paper")
    (row,) = done.decisions.to_pylist()
    assert (done.counters.decided_bursts, done.counters.shared_bursts) == (1, 0)
    assert (row["outcome"], row["queries"], row["snapshots_created"]) == ("apart", "", 0)


FEW = w50(queries=10, adjacent=True, within=50).replace("COUNT(*)", "COUNT(*), SUM(b.v)", 1)
"""Each query has a prefix of its own, and so a lane of its own in a tree, with a sum that all others do not ask for."""
BURSTS = bursty.generate(bursty.Bursty(events=600))


@pytest.mark.parametrize(("cost_model", "choice"), [*product(COST_MODELS, CHOICES)])
def test_policy_never_decides_nothing(cost_model, choice):
    done = hamlet_core.execute(
        w50(adjacent=True, within=50), BURSTS, policy="never", cost_model=cost_model, choice=choice
    )
    assert (done.counters.decided_bursts, done.counters.snapshots, done.decisions.num_rows) == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "model"),
    [
        pytest.param(w50(local=True, within=50), "measured", id="closed form"),
        pytest.param(FEW, "measured", id="more numbers on lanes than alone"),
        pytest.param(w50(queries=1, within=50), "paper", id="one query"),
    ],
)
def test_nothing_is_decided_where_nothing_can_be_gained(text, model):
    done = hamlet_core.execute(text, BURSTS, policy="dynamic", cost_model=model)
    assert (done.counters.decided_bursts, done.counters.snapshots, done.decisions.num_rows) == (0, 0, 0)
    assert done.counters.decision_seconds == 0


@pytest.mark.parametrize("text", [w50(local=True, within=50), w50(adjacent=True, within=50)])
def test_always_decides_the_same_queries(text):
    done = hamlet_core.execute(text, BURSTS, policy="always")
    assert done.counters.decided_bursts == sum(done.decisions["bursts"].to_pylist()) > 0


@pytest.mark.parametrize(("length", "shares"), [(1, False), (100, True)])
def test_a_tree_is_shared_where_its_bursts_are_long(monkeypatch, length, shares):
    """To open and close graphlets costs as much for a burst of one event as for a long one: all of a window are priced."""
    monkeypatch.setattr(Sharing, "may_rest", False)
    kinds = (["A"] + ["B"] * length + ["C"] + ["B"] * length) * (1_000 // length)
    rows = [(time, kind, time % 5) for time, kind in enumerate(kinds)]
    done = hamlet_core.execute(PAIR.format("WHERE b.v < NEXT(b).v WITHIN 500 s"), stream(rows)).counters
    assert done.decided_bursts > 0
    assert (done.shared_bursts > 0) is shares
