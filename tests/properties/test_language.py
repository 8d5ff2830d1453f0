"""Text and tree are two views of one query, and exactly the legal patterns are accepted."""

from random import Random

from hypothesis import given

import hamlet_core
from hamlet_core import QueryMeaningError
from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import Aggregate, AggregateFunction, Duration, Query, Workload
from hamlet_core.language.writer import write_workload
from tests.properties import strategies
from tests.properties.patterns import any_pattern
from tests.properties.profiles import quick
from tests.properties.shapes import legal

TOO_AMBIGUOUS = "E132"


@quick(100)
@given(strategies.workload_cases)
def test_writing_and_parsing_is_the_identity(case):
    workload = case.workload
    assert parse_syntax(write_workload(workload)) == workload


def refusal(pattern):
    """The code of the error that a pattern raises; None if it has a meaning."""
    second = Duration(1_000_000)
    query = Query("q", (Aggregate(AggregateFunction.COUNT),), pattern, second, second)
    try:
        hamlet_core.plan(Workload((query,)))
    except QueryMeaningError as error:
        return error.code
    return None


def test_exactly_the_legal_patterns_are_accepted():
    patterns = [any_pattern(Random(seed)) for seed in range(2000)]
    answers = [(pattern, legal(pattern), refusal(pattern)) for pattern in patterns]
    wrong = [(p, code) for p, sound, code in answers if code != TOO_AMBIGUOUS and sound != (code is None)]
    assert wrong == []
    assert 600 < sum(sound for _, sound, _ in answers) < 1400
