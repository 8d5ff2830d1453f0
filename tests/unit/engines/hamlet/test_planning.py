"""Plans that are made before events are folded, and made anew where rates change."""

from __future__ import annotations

import logging

import pyarrow as pa
import pytest

from hamlet_core import execute, run, stream
from hamlet_core.engines.hamlet import engine
from hamlet_core.engines.hamlet.input.chunks import Limits
from hamlet_core.sharing import adapting
from hamlet_core.sharing.options import STATIC

WINDOW = 1_000
EARLY, LATE = "FFFFFFFFFFAAAAABBBBBBBBBBCCCCCCCCCCCCDDDD", "F" + "A" * 20 + "BB" + "C" * 30 + "D" * 10
"""A window of each kind: by the rates of the first GLORIA shares from A on, by those of the second from B on."""
PATTERNS = {
    "gloria": ("F f, A a, B b, C c, D d", "A a, B b, C c, D d"),
    "sharon": ("A a, B b, C c, D d", "A a, B b, C c", "B b, C c, D d"),
}


def workload(optimizer: str) -> str:
    patterns = enumerate(PATTERNS.get(optimizer, PATTERNS["gloria"]))
    lines = (f"q{number}: RETURN COUNT(*) PATTERN SEQ({own}) WITHIN {WINDOW} s" for number, own in patterns)
    return "\n".join(lines)


def events(*windows: str, first: int = 0) -> pa.Table:
    """A window of a thousand ticks for each text of types."""
    rows = [
        (WINDOW * (first + number) + time, type_)
        for number, own in enumerate(windows)
        for time, type_ in enumerate(own)
    ]
    return pa.table(
        {"time": pa.array([time for time, _ in rows], pa.int64()), "type": [type_ for _, type_ in rows]}
    )


def same_rows(found: pa.Table, expected: pa.Table) -> None:
    """Whatever the order of rows."""
    columns = ["query", "window_start", "exact"]
    assert sorted(found.select(columns).to_pylist(), key=str) == sorted(
        expected.select(columns).to_pylist(), key=str
    )


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of a window or two."""
    fold = engine.fold_workload
    monkeypatch.setattr(
        engine, "fold_workload", lambda *about, **how: fold(*about, **how, limits=Limits(events=60))
    )


@pytest.mark.usefixtures("few")
def test_a_plan_changes_where_rates_do_and_the_log_says_why(caplog: pytest.LogCaptureFixture) -> None:
    table = events(*[EARLY] * 3, *[LATE] * 3)
    with caplog.at_level(logging.INFO, "hamlet_core"):
        done = execute(workload("gloria"), table, optimizer="gloria", arithmetic="exact")
    same_rows(done.results, run(workload("gloria"), table, engine="greta", arithmetic="exact"))
    (change,) = done.plan_changes
    assert (change.optimizer, change.queries, change.time) == ("gloria", ("q0", "q1"), 3 * WINDOW)
    assert (change.type, change.rate_before, change.rate) == ("F", 10, 1)
    assert change.cost == 223 < change.cost_before  # the worked number: unshared to B, then shared
    assert [one.getMessage() for one in caplog.records] == [str(change)]
    assert str(change).startswith(
        "optimizer gloria: another plan for q0, q1 from time 3000 on, because F came 10 "
    )


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("optimizer", STATIC)
def test_where_rates_stay_so_does_the_plan(optimizer: str) -> None:
    done = execute(workload(optimizer), events(*[EARLY] * 4), optimizer=optimizer)
    assert done.plan_changes == ()
    assert done.counters.planning_seconds > 0


@pytest.mark.usefixtures("few")
def test_a_plan_that_is_still_the_best_stays_whatever_the_rates() -> None:
    """All events are twice and more as often: what is cheapest is the same."""
    often = "".join(3 * one for one in EARLY)
    assert execute(workload("gloria"), events(EARLY, often), optimizer="gloria").plan_changes == ()


def test_a_session_goes_on_with_its_plan_and_changes_it() -> None:
    session = stream(workload("gloria"), optimizer="gloria", arithmetic="exact")
    pieces = [EARLY, EARLY, LATE, LATE, EARLY]
    rows = [session.push(events(own, first=number)) for number, own in enumerate(pieces)]
    rows.append(session.flush())
    same_rows(
        pa.concat_tables(rows), run(workload("gloria"), events(*pieces), engine="greta", arithmetic="exact")
    )
    assert [one.time for one in session.plan_changes] == [2 * WINDOW, 4 * WINDOW]
    first, second = session.plan_changes
    assert (first.rate_before, first.rate) == (second.rate, second.rate_before)


def test_a_session_that_does_not_end_keeps_the_last_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapting, "MOST_CHANGES", 2)
    session = stream(workload("gloria"), optimizer="gloria")
    for number in range(6):
        session.push(events((EARLY, LATE)[number % 2], first=number))
    assert [one.time for one in session.plan_changes] == [3 * WINDOW, 4 * WINDOW]
    assert [(one.rate_before, one.rate) for one in session.plan_changes] == [(10, 1), (1, 10)]


def test_windows_that_close_with_others_or_without_have_plans_of_their_own() -> None:
    """Predicates are numbered within those queries whose windows close together."""
    other = "other: RETURN COUNT(*) PATTERN SEQ(A a, B b) WHERE b.time > 5 WITHIN 2000 s"
    both = [
        f"{name}: RETURN COUNT(*) PATTERN SEQ({one}) WHERE a.time >= 0 WITHIN {WINDOW} s"
        for name, one in (("q0", "F f, A a, B b, C c, D d"), ("q1", "A a, B b, C c, D d"))
    ]
    text = "\n".join([other, *both])
    session = stream(text, optimizer="gloria", arithmetic="exact")
    pieces = [EARLY, EARLY, LATE, EARLY, LATE]
    rows = [session.push(events(own, first=number)) for number, own in enumerate(pieces)]
    rows.append(session.flush())
    same_rows(pa.concat_tables(rows), run(text, events(*pieces), engine="greta", arithmetic="exact"))


def test_a_plan_does_not_outlive_its_queries() -> None:
    """Another query under the name of one that was removed is planned for by itself."""
    session = stream(workload("gloria"), optimizer="gloria", arithmetic="exact")
    session.push(events(EARLY, EARLY))
    session.remove("q1")
    session.add(f"q1: RETURN COUNT(*) PATTERN SEQ(C c, D d) WITHIN {WINDOW} s")
    rows = [session.push(events(LATE, first=number)) for number in (2, 3)]
    rows.append(session.flush())
    assert session.plan_changes == ()
    assert sum(one.num_rows for one in rows) > 0


@pytest.mark.usefixtures("few")
def test_sharon_changes_what_it_shares() -> None:
    """More is saved by other parts when D is not rare any more."""
    table = events(*["AABBBBBBCCCCCCD"] * 6, *["ABBBBBBCCCCCCDDDDDDDD"] * 6)
    text = workload("sharon")
    done = execute(text, table, optimizer="sharon", arithmetic="exact")
    same_rows(done.results, run(text, table, engine="greta", arithmetic="exact"))
    (change,) = done.plan_changes
    assert change.type == "D"
    assert change.cost < change.cost_before < 0
    assert change.rate > change.rate_before == 1
