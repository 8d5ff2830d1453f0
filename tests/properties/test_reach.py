"""The generators reach the whole language: each construct, and each pair of constructs that can meet."""

from collections import Counter
from itertools import combinations
from random import Random

import pytest

from tests.oracle.oracle import AmbiguousBindingError, TooManyMatchesError, oracle_rows
from tests.properties import generation
from tests.properties.constructs import AGGREGATES, CLAUSES, PATTERNS, constructs

ALL = PATTERNS | CLAUSES | AGGREGATES
ALONE = {frozenset(pair) for pair in combinations(("sliding", "not a multiple", "gaps"), 2)}
"""A window is one of these."""
ALONE |= {frozenset(("AND", name)) for name in AGGREGATES - {"COUNT(*)"}}
ALONE |= {frozenset(("GROUP-BY", "two groups"))}


@pytest.fixture(scope="module")
def reached():
    queries = [generation.case(Random(seed)).query for seed in range(15_000)]
    return [constructs(query) for query in queries]


def test_every_construct_is_reached_often(reached):
    counts = Counter(name for found in reached for name in found)
    assert {name: counts[name] for name in ALL if counts[name] < 60} == {}


def test_every_pair_of_constructs_is_reached(reached):
    pairs = {frozenset(pair) for found in reached for pair in combinations(found & ALL, 2)}
    wanted = {frozenset(pair) for pair in combinations(ALL, 2)} - ALONE
    assert sorted(map(sorted, wanted - pairs)) == []


def test_impossible_pairs_are_impossible(reached):
    assert [found for found in reached if any(pair <= found for pair in ALONE)] == []


def test_most_cases_have_rows():
    filled = 0
    for seed in range(600):
        case = generation.case(Random(seed))
        try:
            rows = oracle_rows(case.query, case.events, integer_time=case.integer_time, limit=60_000)
            filled += bool(rows)
        except (TooManyMatchesError, AmbiguousBindingError):
            continue
    assert filled > 360
