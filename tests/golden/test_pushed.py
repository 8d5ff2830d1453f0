"""Every golden case once more, pushed as it may come: the rows of a session are those of a run, to the digit."""

from random import Random

import pytest

import hamlet_core
from hamlet_core import EventSchema
from hamlet_core.online import sliding
from tests.golden import harness
from tests.properties.pushed import pushed

SCHEMA = EventSchema(time="t", type="type")


@pytest.fixture(params=[sliding.JOIN, 0.0], ids=["as it pays", "always joined"], autouse=True)
def joining(request, monkeypatch):
    """Small windows would never be joined from panes, if joining them cost something."""
    monkeypatch.setattr(sliding, "JOIN", request.param)


@pytest.mark.parametrize("lateness", [0, 5])
@pytest.mark.parametrize("file", harness.FILES)
def test_pushed_and_run_are_the_same(file, lateness):
    wrong = {}
    for number, case in enumerate(harness.load(file)):
        events, how = harness.table(case.events), {"schema": SCHEMA, "arithmetic": "exact"}
        found = pushed(case.text, events, Random(number), lateness=lateness, **how)
        expected = hamlet_core.run(case.text, events, **how)
        if found != expected:
            wrong[case.name] = case.text, found.to_pylist(), expected.to_pylist()
    assert wrong == {}


@pytest.mark.parametrize("arithmetic", ["scaled", "modular"])
@pytest.mark.parametrize("file", harness.FILES)
def test_pushed_in_other_arithmetics(file, arithmetic):
    wrong = {}
    for number, case in enumerate(harness.load(file)):
        found = pushed(
            case.text, harness.table(case.events), Random(number), SCHEMA, lateness=3, arithmetic=arithmetic
        )
        if differences := harness.differences(found, case.expected, arithmetic):
            wrong[case.name] = case.text, differences
    assert wrong == {}
