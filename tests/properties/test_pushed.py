"""A stream pushed batch by batch has the rows of a run: random workloads, streams, orders, cuts and restarts."""

from random import Random

import pytest
from hypothesis import given

from hamlet_core import QueryMeaningError
from hamlet_core.online import sliding
from tests.properties import agreement, comparison, generation, matching, strategies
from tests.properties.profiles import quick
from tests.properties.pushed import pushed


@pytest.fixture(params=[sliding.JOIN, 0.0], ids=["as it pays", "always joined"], autouse=True)
def joining(request, monkeypatch):
    """Small windows would never be joined from panes, if joining them cost something."""
    monkeypatch.setattr(sliding, "JOIN", request.param)


def check(case, random, engine="hamlet"):
    events, lateness = comparison.table(case), random.choice((0, 0, 1, 4, 100))
    arithmetic = random.choice(("exact", "exact", "modular", "scaled"))
    how = {"schema": comparison.SCHEMA, "engine": engine, "arithmetic": arithmetic}
    expected = rows_or_code(lambda: comparison.run(case, engine, arithmetic, events))
    found = rows_or_code(lambda: pushed(case.workload, events, random, lateness=lateness, **how))
    if isinstance(expected, str) or isinstance(found, str) or arithmetic == "exact":
        assert found == expected, case
        return
    assert agreement.heads_differ(found, expected) == [], case
    assert agreement.column_differs(found, expected, "fingerprint") == [], case
    assert agreement.doubles_differ(found, expected, case.workload, events, comparison.SCHEMA) == [], case


def rows_or_code(answer):
    """Result rows, or the code of the refusal."""
    try:
        return answer()
    except QueryMeaningError as refusal:
        return refusal.code


@quick(60)
@given(strategies.workload_cases, strategies.randoms)
def test_pushed_and_run_are_the_same(case, random):
    check(case, random)


@quick(40)
@given(strategies.matching_workload_cases, strategies.randoms)
def test_pushed_and_run_are_the_same_in_any_mode(case, random):
    check(case, random)


@quick(30)
@given(strategies.workload_cases, strategies.randoms)
def test_pushed_and_run_are_the_same_in_the_reference(case, random):
    check(case, random, "greta")


@pytest.mark.slow
@pytest.mark.parametrize("make", [generation.workload_case, matching.workload_case], ids=["any", "modes"])
def test_pushed_and_run_are_the_same_five_thousand_times(make):
    """Twice and twice: joined as it pays, and always."""
    for seed in range(10**6, 10**6 + 5_000):
        random = Random(seed)
        check(make(random), random)
