"""Engines for sequences of fixed length: oracle == aseq on small streams, aseq == greta on longer ones."""

from collections import Counter
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hamlet_core.engines.registry import check_queries
from hamlet_core.pattern.meaning import analyse_workload
from tests.golden.harness import ARITHMETICS
from tests.oracle.oracle import TooManyMatchesError
from tests.properties import agreement, comparison, sequences
from tests.properties.constructs import constructs
from tests.properties.profiles import quick

ENGINE = "aseq"
MET = {
    "SEQ", "NOT leading", "NOT middle", "NOT trailing", "NOT twice in a gap", "positive and negated type",
    "predicate on NOT", "repeated type", "equivalence", "local", "GROUP-BY", "two groups", "sliding", "gaps",
    "timestamps", "COUNT(*)", "COUNT(E)", "SUM", "AVG", "MIN", "MAX", "COUNT(PARTITIONS)", "REACH(E)", "SUM(DURATION)",
    "AVG(DURATION)", "MIN(DURATION)", "MAX(DURATION)",
}  # fmt: skip
"""What the engine takes."""


@quick(60)
@given(st.randoms(use_true_random=False, note_method_calls=False))
def test_the_engine_agrees_with_enumeration(random):
    case = sequences.case(random)
    try:
        assert comparison.disagreements(case, (ENGINE,), ARITHMETICS) == []
    except TooManyMatchesError:
        assume(False)


def test_the_engine_agrees_with_enumeration_on_seeded_cases():
    skipped = 0
    for seed in range(300):
        case = sequences.case(Random(seed))
        try:
            arithmetics = ("exact",) if seed % 4 else ARITHMETICS
            assert comparison.disagreements(case, (ENGINE,), arithmetics) == [], (seed, case)
        except TooManyMatchesError:
            skipped += 1
    assert skipped < 5


def agree(seeds):
    """Compare with the reference on each; how often what was met, and how many answers have rows."""
    met: Counter[str] = Counter()
    for seed in seeds:
        case = sequences.long_case(Random(seed))
        events = comparison.table(case)
        wrong, counters = agreement.compare(case.workload, events, comparison.SCHEMA, engine=ENGINE)
        assert wrong == [], (seed, case)
        met.update(name for query in case.workload.queries for name in constructs(query))
        met["rows"] += any(one.result_rows for one in counters)
    return met


def test_the_engine_agrees_with_the_reference_on_seeded_workloads():
    met = agree(range(150))
    assert met["rows"] > 75


@pytest.mark.slow
def test_the_engine_agrees_with_the_reference_on_five_thousand_workloads():
    met = agree(range(10**6, 10**6 + 5_000))
    assert {name: met[name] for name in MET if met[name] < 100} == {}
    assert met["rows"] > 2_500


def test_the_workloads_meet_all_that_the_engine_takes():
    met: Counter[str] = Counter()
    for seed in range(1_500):
        case = sequences.case(Random(seed))
        analysed = analyse_workload(case.workload)
        check_queries(ENGINE, analysed, "")
        met.update(name for query in case.workload.queries for name in constructs(query))
    assert {name: met[name] for name in MET if met[name] < 20} == {}
