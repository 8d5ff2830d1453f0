"""The generators reach the whole language: each construct, and each pair of constructs that can meet."""

from collections import Counter
from itertools import combinations
from random import Random

from tests.oracle.oracle import AmbiguousBindingError, TooManyMatchesError, oracle_rows
from tests.properties import generation
from tests.properties.constructs import AGGREGATES, CLAUSES, PATTERNS, constructs

ALL = PATTERNS | CLAUSES | AGGREGATES
ALONE = {frozenset(pair) for pair in combinations(("sliding", "not a multiple", "gaps"), 2)}
"""Pairs that cannot meet: a window is one of these, grouping is by one or two, AND takes COUNT(*) only."""
ALONE |= {frozenset(("AND", name)) for name in AGGREGATES - {"COUNT(*)"}}
ALONE |= {frozenset(("GROUP-BY", "two groups"))}


def test_every_construct_and_every_possible_pair_is_reached():
    reached = [constructs(generation.case(Random(seed)).query) & ALL for seed in range(5_000)]
    counts = Counter(name for found in reached for name in found)
    assert {name: counts[name] for name in ALL if counts[name] < 50} == {}
    pairs = {frozenset(pair) for found in set(reached) for pair in combinations(found, 2)}
    wanted = {frozenset(pair) for pair in combinations(ALL, 2)}
    assert sorted(map(sorted, wanted - pairs - ALONE)) == []
    assert sorted(map(sorted, ALONE & pairs)) == []


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
