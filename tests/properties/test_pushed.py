"""A stream pushed batch by batch has the rows of a run: random workloads, streams, orders, cuts and restarts."""

from random import Random

import pytest
from hypothesis import given

from hamlet_core import QueryMeaningError
from tests.properties import comparison, generation, matching, strategies
from tests.properties.profiles import quick
from tests.properties.pushed import pushed


def check(case, random, engine="hamlet"):
    events, lateness = comparison.table(case), random.choice((0, 0, 1, 4, 100))
    how = {"schema": comparison.SCHEMA, "engine": engine, "arithmetic": "exact"}
    expected = rows_or_code(lambda: comparison.run(case, engine, "exact", events))
    found = rows_or_code(lambda: pushed(case.workload, events, random, lateness=lateness, **how))
    assert found == expected, case


def rows_or_code(answer):
    """Result rows, or the code of the refusal."""
    try:
        return answer().to_pylist()
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
def test_pushed_and_run_are_the_same_ten_thousand_times(make):
    for seed in range(10**6, 10**6 + 10_000):
        random = Random(seed)
        check(make(random), random)
