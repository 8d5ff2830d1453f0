"""oracle == every engine that answers all queries, over random queries and streams, in every arithmetic."""

from itertools import islice
from random import Random

import pytest
from hypothesis import assume, given

from hamlet_core.engines.registry import GENERAL
from tests.golden.harness import ARITHMETICS
from tests.oracle.oracle import TooManyMatchesError
from tests.properties import comparison, generation, strategies
from tests.properties.profiles import quick

NAMES = tuple(sorted(GENERAL))


def check(case, arithmetics):
    wrong = comparison.disagreements(case, NAMES, arithmetics)
    assert wrong == [], case


def seeded(seeds, make=generation.case):
    for seed in seeds:
        yield make(Random(seed))


def check_all(cases):
    skipped = 0
    for number, case in enumerate(cases):
        try:
            check(case, ("exact",) if number % 4 else ARITHMETICS)
        except TooManyMatchesError:
            skipped += 1
    return skipped


@quick(60)
@given(strategies.cases)
def test_engines_agree_with_enumeration(case):
    try:
        check(case, ARITHMETICS)
    except TooManyMatchesError:
        assume(False)


def test_engines_agree_with_enumeration_on_seeded_cases():
    assert check_all(seeded(range(200))) < 10


def test_engines_agree_on_workloads():
    assert check_all(seeded(range(60), generation.workload_case)) < 5


@pytest.mark.slow
def test_engines_agree_on_twenty_thousand_cases():
    single = islice(seeded(range(10**6, 2 * 10**6)), 18_000)
    several = islice(seeded(range(10**6, 2 * 10**6), generation.workload_case), 2_000)
    assert check_all(single) + check_all(several) < 200
