"""Calibration: times that the cost model predicts give its constants back, and trials do what they are named for."""

from dataclasses import fields, replace

import pytest

from hamlet_core import execute
from hamlet_core.bench import calibrate as calibrating
from hamlet_core.bench.calibrate import APART, TOGETHER, TRIALS, Calibration, constants_of
from hamlet_core.results.counters import Work
from hamlet_core.sharing.burst import Access, Burst, Storage
from hamlet_core.sharing.costs import Constants, Measured, plan_cost

OWN = Constants(
    total=0.7, level=0.3, older=0.05, product=2.5, clear=0.2, graphlet=90.0, apart=60.0, mixed=400.0
)


def predicted(trial, constants):
    """Nanoseconds of a window, by the model, beside what all trials have in common."""
    found = trial.length - trial.unmatched
    storage = Storage(
        trial.access,
        stored=0 if trial.access is Access.TOTAL else trial.length,
        inputs=None
        if trial.inputs == 1
        else tuple((query % trial.inputs,) for query in range(trial.queries)),
    )
    half = trial.queries // 2
    signatures = tuple((int(query < half),) * trial.differing for query in range(trial.queries))
    burst = Burst(found, found, 2, signatures, storage=storage)
    sets = [burst.queries] if trial.sharing is TOGETHER else []
    return 1_000.0 + trial.bursts * plan_cost(Measured(constants), burst, sets)


def test_times_that_the_model_predicts_give_its_constants_back():
    times = {name: predicted(trial, OWN) for name, trial in TRIALS.items()}
    assert constants_of(times).values() == pytest.approx(OWN.values())


def test_no_constant_is_below_zero():
    times = {name: -predicted(trial, OWN) for name, trial in TRIALS.items()}
    found = constants_of(times)
    assert min(found.values()) == 0.0


@pytest.mark.parametrize("name", ["total 4 64", "tree 4", "scan 4"])
def test_all_share_together_and_nobody_apart(name):
    for sharing, shared in ((TOGETHER, 2), (APART, 0)):
        trial = replace(TRIALS[f"{name}, together"], sharing=sharing, windows=2, bursts=1)
        prepared = trial.prepared()
        prepared.fold()
        ((_, passes),) = prepared.classes
        (decided,) = passes.decided
        (group,) = decided.groups
        assert (group.condition < 0) == (trial.access is Access.TOTAL)
        assert len(group.places) == trial.queries
        work = Work()
        decided.add_to(work)
        assert (work.decided_bursts, work.shared_bursts, work.snapshots) == (2, shared, shared)
        assert passes.bursts == 0


@pytest.mark.parametrize(("name", "lanes"), [("differing 1", 2), ("differing 0", 1), ("inputs 32 64", 32)])
def test_snapshots_are_those_of_the_trial(name, lanes):
    trial = replace(TRIALS[name], windows=3, bursts=1)
    prepared = trial.prepared()
    prepared.fold()
    work = Work()
    prepared.classes[0][1].decided[0].add_to(work)
    assert (work.decided_bursts, work.shared_bursts, work.snapshots) == (3, 3, 3 * lanes)


def test_every_trial_has_trends_in_the_range_of_doubles():
    for trial in (TRIALS["total 4 8, apart"], TRIALS["tree 4, apart"], TRIALS["scan 4, apart"]):
        small = replace(trial, windows=2)
        rows = execute(small.text(), small.table()).results.to_pylist()
        assert len(rows) == 2 * trial.queries
        assert all(0 < row["log2"] < 1_000 for row in rows)


def test_a_calibration_takes_the_shortest_runs_of_all_rounds(monkeypatch):
    few = {name: replace(trial, windows=1, bursts=1) for name, trial in TRIALS.items()}
    monkeypatch.setattr(calibrating, "TRIALS", few)
    monkeypatch.setattr(calibrating, "ROUNDS", 2)
    monkeypatch.setattr(calibrating, "BATCHES", 2)
    rounds = iter([{"a": 5.0, "b": 9.0}, {"a": 7.0, "b": 8.0}, {"a": 4.0, "b": 30.0}, {"a": 6.0, "b": 10.0}])
    monkeypatch.setattr(
        calibrating, "_round", lambda ready: next(rounds) if ready.keys() == few.keys() else {}
    )
    monkeypatch.setattr(
        calibrating, "constants_of", lambda times: replace(OWN, total=times["a"], mixed=times["b"])
    )
    heard = []
    found = calibrating.calibrate(lambda done, of: heard.append((done, of)))
    assert found == Calibration(
        replace(OWN, total=4.0, mixed=8.0),
        replace(OWN, total=4.0, mixed=8.0),
        replace(OWN, total=5.0, mixed=10.0),
    )
    assert heard == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_round_times_every_trial(monkeypatch):
    few = {name: replace(trial, windows=1, bursts=1) for name, trial in TRIALS.items()}
    monkeypatch.setattr(calibrating, "TRIALS", few)
    times = calibrating._round({name: trial.prepared() for name, trial in few.items()})
    assert times.keys() == few.keys()
    assert min(times.values()) > 0


def test_the_constants_that_are_shipped_are_numbers_of_nanoseconds():
    assert all(0 <= value < 10_000 for value in Constants().values())
    assert all(one.metadata["means"] for one in fields(Constants))
