"""What the figures are made of: rows that are compared, sizes without a number, orderings, charts."""

from __future__ import annotations

import io
from collections.abc import Sequence
from datetime import UTC, datetime
from random import Random

import pyarrow as pa
import pytest
from PIL import Image

from hamlet_core import run
from hamlet_core.sharing.gloria.plans import SharingPlan
from hamlet_core.sharing.gloria.workload import Workload
from pipelines.checks.differences import Difference
from pipelines.comparing.members import Member
from pipelines.comparing.runs import Comparison, Measured, Outcome
from tests.benchmarks import sweeps
from tests.benchmarks.__main__ import FIGURES, main
from tests.benchmarks.answers import WrongAnswer, require_same_rows
from tests.benchmarks.experiments import of_gloria, of_hamlet, of_sharon, plans
from tests.benchmarks.plots import Chart, picture
from tests.benchmarks.scale import Scale
from tests.benchmarks.sweeps import LATENCY, MEMORY, PLANNING, THROUGHPUT, Material, Ordering, Sweep

TEXT = "RETURN COUNT(*) PATTERN SEQ(A a, B b) WITHIN 100 s"
EVENTS = pa.table({"time": [1, 2, 3], "type": ["A", "B", "B"]})
SWEEP = Sweep("letters", "queries", (1, 2, 4), lambda size: Material(TEXT, EVENTS, 3))  # noqa: ARG005
START = datetime(2026, 1, 1, tzinfo=UTC)
MEMBERS = (Member("greta"), Member("gloria"), Member("two_step"))


@pytest.fixture
def rows() -> pa.Table:
    return run(TEXT + " SLIDE 50 s", EVENTS)


def test_the_same_rows_in_any_order(rows: pa.Table) -> None:
    require_same_rows("rows", rows.take(list(reversed(range(len(rows))))), rows)


def test_rows_that_differ(rows: pa.Table) -> None:
    place = rows.schema.get_field_index("log2")
    other = pa.array([one + 1e-6 for one in rows["log2"].to_pylist()])
    with pytest.raises(WrongAnswer, match="rows differ"):
        require_same_rows("rows", rows.set_column(place, "log2", other), rows)
    with pytest.raises(WrongAnswer, match="and not the"):
        require_same_rows("rows", rows.slice(1), rows)
    with pytest.raises(WrongAnswer, match="prove nothing"):
        require_same_rows("rows", rows.slice(0, 0), rows.slice(0, 0))


class Turns:
    """In place of `compare`: who was asked for, and what each says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[list[str]] = []
        self.reasons: dict[tuple[int, str], str] = {}
        self.differences: tuple[Difference, ...] = ()
        monkeypatch.setattr(sweeps, "compare", self)

    def __call__(self, comparison: Comparison, members: Sequence[Member]) -> list[Outcome]:
        assert comparison.events is EVENTS
        self.asked.append([one.name for one in members])
        found = []
        for one in members:
            reason = self.reasons.get((len(self.asked), one.name), "")
            runs = [] if reason else [Measured(3.0 if one.engine == "gloria" else 6.0, 1.5, 80_000_000)]
            wrong = self.differences if one.engine == "gloria" else ()
            found.append(Outcome(one, 3, runs, reason, wrong))
        return found


def test_who_has_no_number_is_not_asked_for_more_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = Turns(monkeypatch)
    turns.reasons = {(1, "two_step"): "[E301] more trends", (2, "greta"): "over the limit of 10 s"}
    found = sweeps.measured(SWEEP, MEMBERS, Scale())
    assert turns.asked == [["greta", "gloria", "two_step"], ["greta", "gloria"], ["gloria"]]
    assert [found[size, "two_step"] for size in SWEEP.sizes] == ["E301", "(E301)", "(E301)"]
    assert [found[size, "greta"] for size in SWEEP.sizes[1:]] == ["> 10 s", "(> 10 s)"]
    assert found[1, "greta"] == {LATENCY: 2.0, THROUGHPUT: 0.5, MEMORY: 80.0, PLANNING: 0.0}


def test_a_plan_made_before_is_no_part_of_latency(monkeypatch: pytest.MonkeyPatch) -> None:
    Turns(monkeypatch)
    found = sweeps.measured(SWEEP, MEMBERS, Scale())
    assert found[4, "gloria"] == {LATENCY: 0.5, THROUGHPUT: 2.0, MEMORY: 80.0, PLANNING: 1.5}


def test_a_wrong_answer_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    Turns(monkeypatch).differences = (Difference("missing", "q1", START, START, "{}", "COUNT(*)"),)
    with pytest.raises(WrongAnswer, match=r"letters, queries 1: .*answers differ from those of greta"):
        sweeps.measured(SWEEP, MEMBERS, Scale())
    monkeypatch.setattr(of_gloria, "sweeps", lambda scale: [SWEEP])  # noqa: ARG005
    monkeypatch.setattr(of_gloria, "MEMBERS", MEMBERS)
    assert main(["--only", "f3"]) == 1
    assert "ANSWERS DIFFER" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("fast", "slow", "times", "said"),
    [
        ("gloria", "greta", 4.0, "yes"),
        ("greta", "gloria", 0.25, "no: because"),
        ("gloria", "two_step", "", "yes: two_step (E301)"),
        ("two_step", "gloria", 4.0, "yes"),
        ("hamlet", "greta", "", "not asked: hamlet E302"),
    ],
)
def test_an_ordering_is_looked_for_where_the_faster_has_answered(
    fast: str, slow: str, times: float | str, said: str
) -> None:
    found = {(size, "greta"): {LATENCY: 2.0} for size in SWEEP.sizes}
    found |= {(size, "gloria"): {LATENCY: 0.5} for size in SWEEP.sizes}
    found |= {(size, "hamlet"): "E302" for size in SWEEP.sizes}
    found |= {(1, "two_step"): {LATENCY: 0.125}, (2, "two_step"): "E301", (4, "two_step"): "(E301)"}
    judged = sweeps.judged(Ordering(fast, slow, "because"), SWEEP, found)
    assert judged["paper"] == f"{fast} before {slow}"
    assert judged["size"] == (1 if fast == "two_step" else 4)
    assert (judged["times"], judged["found"]) == (times, said)


@pytest.mark.parametrize("module", [of_sharon, of_gloria, of_hamlet])
def test_orderings_are_of_members(module) -> None:
    names = {one.name for one in module.MEMBERS}
    assert {name for one in module.ORDERINGS for name in (one.fast, one.slow)} <= names
    assert len(names) == len(module.MEMBERS)


def test_a_larger_workload_begins_with_the_smaller() -> None:
    ground = of_hamlet.GROUNDS[0]
    small, large = (ground.material(200, queries).text.splitlines()[1:] for queries in (3, 6))
    assert large[:3] == small


def test_windows_are_as_many_as_are_divided_by() -> None:
    for material, minutes in (
        (of_sharon.material("ecommerce", 500, 2, 2), 1),
        (of_gloria.material("stock", 500, 5), 1),
        (of_hamlet.GROUNDS[0].material(200, 5), of_hamlet.SLIDE),
    ):
        times = material.table["time"]
        lasting = (times[-1].as_py() - times[0].as_py()).total_seconds() / 60
        assert abs(lasting / minutes - material.windows) <= 0.5


def test_a_planner_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def endless(workload: Workload) -> SharingPlan:
        asked.append(workload)
        while True:
            Random(1)

    monkeypatch.setattr(plans, "LIMIT", 0.05)
    monkeypatch.setitem(plans.PLANNERS, plans.NOPRUNE, endless)
    rows = list(plans.planned(Scale(quick=True), plans.sequences))
    assert [row["s"] for row in rows if row["planner"] == plans.NOPRUNE] == ["> 0.05 s", "(> 0.05 s)"]
    assert len(asked) == 1
    assert all(row["cost"] > 0 for row in rows if row["planner"] != plans.NOPRUNE)


def test_figures_are_on_request() -> None:
    assert FIGURES == ("f1", "f2", "f3", "f4")


def test_charts_without_numbers_and_with_zeros() -> None:
    charts = [
        Chart("queries", "MB", {"one": [], "other": [(5, 0.0), (10, 0.0)]}, logarithmic=False),
        Chart("queries", "s", {"one": [], "other": [(5, 0.1), (10, 3_000.0)]}),
    ]
    drawn = Image.open(io.BytesIO(picture("title", [charts])))
    assert drawn.format == "PNG"
    assert drawn.width > drawn.height
