"""Engines in turns: who takes part, what is measured, who is stopped, and when answers are the same."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

import hamlet_core
from hamlet_core import EventSchema, StreamError
from pipelines.cli import main
from pipelines.comparing import child, runs
from pipelines.comparing.answers import Judge
from pipelines.comparing.members import Member, members
from pipelines.comparing.runs import Comparison, ComparisonError, Measured, Outcome, check_outcomes, compare
from pipelines.showing.comparison import as_table, show, write

TEXT = """
p: RETURN COUNT(*) PATTERN SEQ(A, B, C) WITHIN 100 s
q: RETURN COUNT(*) PATTERN SEQ(B, C) WITHIN 100 s
"""


def events(types: str) -> pa.Table:
    return pa.table({"time": range(len(types)), "type": list(types), "v": range(len(types))})


def asked(text: str = TEXT, types: str = "ABCABC", **how: object) -> Comparison:
    return Comparison(hamlet_core.parse(text), events(types), EventSchema(), **how)  # type: ignore[arg-type]


def by_name(outcomes: Sequence[Outcome]) -> dict[str, Outcome]:
    return {one.member.name: one for one in outcomes}


def test_the_compiled_engine_takes_part_with_each_way_to_share() -> None:
    assert [one.name for one in members(("gloria", "hamlet"))] == [
        "hamlet", "hamlet always", "hamlet never", "hamlet paper",
        "hamlet by hamlet", "hamlet by gloria", "hamlet by sharon", "hamlet by greedy", "gloria", "gloria by greedy",
    ]  # fmt: skip
    assert len({one.name for one in members()}) == len(members()) == 16
    with pytest.raises(StreamError, match="E210"):
        members(("greta", "flink"))


def test_every_engine_answers_the_same_and_is_measured() -> None:
    told: list[str] = []
    outcomes = compare(asked(rounds=2), members(), told.append)
    assert [one.member for one in outcomes] == list(members())
    for one in outcomes:
        assert (one.reason, one.differences, len(one.runs)) == ("", (), 2), one.member.name
        assert 0 < one.seconds < 30
        assert one.events_per_second == 6 / one.seconds
        assert 20e6 < one.peak_bytes < 2e9
    planning = {one.member.name: one.planning_seconds for one in outcomes}
    assert planning["greta"] == planning["aseq"] == 0
    assert min(planning["gloria"], planning["sharon"], planning["shared_two_step"]) > 0
    check_outcomes(outcomes)
    assert told[:2] == ["running hamlet, round 1 of 2", "running hamlet always, round 1 of 2"]
    assert told[16:18] == ["running hamlet always, round 2 of 2", "running hamlet never, round 2 of 2"]


def test_a_run_gets_what_is_asked_for() -> None:
    request = runs._request(asked(threads=2, arithmetic="exact"), Member("hamlet", policy="never"))
    assert request["text"] == TEXT
    assert request["options"] == {
        "engine": "hamlet", "policy": "never", "cost_model": "measured", "optimizer": "auto",
        "arithmetic": "exact", "threads": 2,
    }  # fmt: skip


def test_who_takes_too_long_is_stopped_and_has_no_further_turn() -> None:
    """Each of a hundred windows has half a million trends: fewer than the engine refuses, and minutes of listing them."""
    told: list[str] = []
    comparison = asked("RETURN COUNT(*) PATTERN B+ WITHIN 19 s", "B" * 1_900, limit=5.0, rounds=2)
    found = by_name(compare(comparison, members(("greta", "two_step", "aseq")), told.append))
    assert found["two_step"].reason == "over the limit of 5 s"
    assert found["two_step"].runs == []
    assert (
        found["aseq"].reason
        == "[E302] query q1: the engine aseq counts sequences of single events, and has no rule for Kleene plus"
    )
    assert len(found["greta"].runs) == 2
    assert sum("two_step" in line for line in told) == 1
    assert [pid for pid in Path("/proc").glob("[0-9]*") if is_child_of_ours(pid)] == []


def is_child_of_ours(process: Path) -> bool:
    try:
        told = (process / "stat").read_text().rpartition(")")[2].split()
        command = (process / "cmdline").read_text()
    except OSError:
        return False
    return int(told[1]) == os.getpid() and child.__name__ in command


def test_what_an_engine_says_while_it_runs_is_the_reason() -> None:
    table = events("AB").set_column(2, "v", pa.array([1.0, float("nan")]))
    text = "RETURN SUM(b.v) PATTERN SEQ(A, B b) WITHIN 9 s"
    told: list[str] = []
    comparison = Comparison(hamlet_core.parse(text), table, EventSchema(), rounds=2)
    (outcome,) = compare(comparison, members(("greta",)), told.append)
    assert outcome.reason == "[E205] column 'v': NaN or infinite in 1 value, first at row 1 (from 0)"
    assert outcome.runs == []
    assert len(told) == 1


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {**vars(child), "__name__": "tests.unit.pipelines.wrong_child"}
    monkeypatch.setattr(runs, "child", SimpleNamespace(**names))


@pytest.mark.usefixtures("wrong")
def test_an_answer_that_differs_is_an_error_that_shows_it() -> None:
    outcomes = compare(asked(rounds=1), [Member("greta"), Member("gloria")])
    assert by_name(outcomes)["greta"].differences == ()
    with pytest.raises(ComparisonError) as caught:
        check_outcomes(outcomes)
    assert caught.value.code == "E550"
    assert caught.value.message.splitlines() == [
        "answers differ from those of greta",
        "  gloria: query p, window 0, group {}, COUNT(*): value is 5.0, not 4.0",
        "  gloria: query q, window 0, group {}, COUNT(*): value is 4.0, not 3.0",
    ]


@pytest.mark.usefixtures("wrong")
def test_a_process_that_ends_without_an_answer() -> None:
    found = by_name(compare(asked(rounds=2), members(("greta", "aseq", "sharon"))))
    assert found["aseq"].reason == "ended by signal 9, perhaps for want of memory"
    assert found["sharon"].reason == "RuntimeError: the kernels are gone"
    assert len(found["greta"].runs) == 2


@pytest.mark.usefixtures("wrong")
def test_the_command_shows_the_table_before_it_fails(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "w.hamlet").write_text(TEXT)
    (tmp_path / "e.csv").write_text("time,type\n" + "".join(f"{t},{e}\n" for t, e in enumerate("ABC")))
    command = ["compare", str(tmp_path / "w.hamlet"), "--events", str(tmp_path / "e.csv"), "--rounds", "1"]
    code = main([*command, "--engines", "greta,gloria", "--out", str(tmp_path / "new" / "out")])
    shown = capfd.readouterr()
    assert code == 1
    assert "[E550] answers differ from those of greta" in shown.err
    assert "differs in 2 places" in shown.out
    rows = list(csv.DictReader((tmp_path / "new" / "out" / "comparison.csv").read_text().splitlines()))
    differences = {row["member"]: row["differences"] for row in rows}
    assert differences == {"greta": "0", "gloria": "2", "gloria by greedy": "2"}


def test_nobody_who_answers_is_an_error() -> None:
    with pytest.raises(ComparisonError, match="E551"):
        check_outcomes([Outcome(Member("aseq"), 3, reason="refused")])


SUMS = "RETURN SUM(a.v), COUNT(*) PATTERN A a WITHIN 100 s"


def judged(values: list[float], expected: float, found: float, arithmetic: str = "scaled") -> int:
    """In how many places an answer differs in which the sum is `found` in place of `expected`."""
    table = pa.table({"time": range(len(values)), "type": ["A"] * len(values), "v": values})
    right = hamlet_core.run(SUMS, table, arithmetic=arithmetic, engine="greta")
    rows = right.to_pylist()
    assert rows[0]["value"] == expected
    rows[0] |= {
        "value": found,
        "sign": None if found == 0 else rows[0]["sign"],
        "log2": None if found == 0 else rows[0]["log2"],
    }
    changed = pa.Table.from_pylist(rows, schema=right.schema)
    judge = Judge(hamlet_core.parse(SUMS), table, EventSchema(), arithmetic)
    assert judge.differing(right, right) == ()
    return len(judge.differing(changed, right))


def test_sums_may_differ_by_what_their_terms_allow_and_no_more() -> None:
    assert judged([1.0, 2.0], 3.0, 3.0 + 1e-10) == 0
    assert judged([1.0, 2.0], 3.0, 3.0 + 1e-8) == 1
    # 1 beside 1e12: what is left of the sum is rounding.
    assert judged([1e12, 1.0, -1e12], 1.0, 0.0) == 0
    assert judged([1e12, 1.0, -1e12], 1.0, 5e4) == 1


def test_digits_may_not_differ() -> None:
    table = events("AAA")
    right = hamlet_core.run(SUMS, table, arithmetic="exact")
    changed = pa.Table.from_pylist([{**row, "exact": "7"} for row in right.to_pylist()], schema=right.schema)
    found = Judge(hamlet_core.parse(SUMS), table, EventSchema(), "exact").differing(changed, right)
    assert [(one.column, one.stored, one.expected) for one in found] == [
        ("exact", "7", "3"),
        ("exact", "7", "3"),
    ]


def outcomes() -> list[Outcome]:
    done = Outcome(
        Member("greta"), 1_000, [Measured(*one) for one in ((2.0, 0.5, 10), (4.0, 0.1, 30), (3.0, 0.2, 20))]
    )
    return [done, Outcome(Member("aseq"), 1_000, reason="[E302] no")]


def test_a_row_has_medians_and_the_peak(tmp_path: Path) -> None:
    write(outcomes(), tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "comparison.csv",
        "comparison.json",
        "comparison.svg",
    ]
    done, refused = json.loads((tmp_path / "comparison.json").read_text())
    assert done["seconds"] == 3.0
    assert done["planning_seconds"] == 0.2
    assert done["peak_bytes"] == 30
    assert done["events_per_second"] == pytest.approx(1_000 / 3)
    assert (done["runs"], done["differences"], done["reason"]) == (3, 0, None)
    assert (refused["runs"], refused["seconds"], refused["reason"]) == (0, None, "[E302] no")
    drawn = (tmp_path / "comparison.svg").read_text()
    assert all(
        f"<!-- {words} -->" in drawn for words in ("greta", "events/s", "peak memory (MB)", "aseq: [E302] no")
    )


def test_where_nobody_answers_nothing_is_drawn(tmp_path: Path) -> None:
    write(outcomes()[1:], tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["comparison.csv", "comparison.json"]


def test_a_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    show(outcomes(), sys.stdout)
    _, _, done, refused = capsys.readouterr().out.splitlines()
    assert done.split() == ["greta", "333", "3.0", "s", "0", "MB", "200.0", "ms", "the", "same"]
    assert refused.split() == ["aseq", "-", "-", "-", "-", "[E302]", "no"]
    assert as_table(outcomes()).column_names[:4] == ["member", "engine", "policy", "cost_model"]
