"""Engines for sequences of fixed length: oracle == aseq on small streams, aseq and sharon == greta on longer ones."""

from collections import Counter
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hamlet_core.engines import sharon
from hamlet_core.engines.registry import check_queries
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.sharing.sharon.plan import sharon_plan
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


def agree(seeds, make=sequences.long_case, engine=ENGINE):
    """Compare with the reference on each; how often what was met, and how many answers have rows."""
    met: Counter[str] = Counter()
    for seed in seeds:
        case = make(Random(seed))
        events = comparison.table(case)
        wrong, counters = agreement.compare(case.workload, events, comparison.SCHEMA, engine=engine)
        assert wrong == [], (seed, case)
        met.update(name for query in case.workload.queries for name in constructs(query))
        met["rows"] += any(one.result_rows for one in counters)
    return met


def test_the_engine_agrees_with_the_reference_on_seeded_workloads():
    met = agree(range(150))
    assert met["rows"] > 75


@pytest.mark.slow
def test_the_engine_agrees_with_the_reference_on_twenty_thousand_workloads():
    met = agree(range(10**6, 10**6 + 20_000))
    assert {name: met[name] for name in MET if met[name] < 100} == {}
    assert met["rows"] > 10_000


def plans(monkeypatch):
    """The plans of SHARON from here on."""
    found = []

    def kept(*given):
        found.append(sharon_plan(*given))
        return found[-1]

    monkeypatch.setattr(sharon, "sharon_plan", kept)
    return found


def test_what_queries_have_in_common_is_shared_and_changes_no_answer(monkeypatch):
    found = plans(monkeypatch)
    met = agree(range(150), sequences.common_case, "sharon")
    assert met["rows"] > 75
    # In each of three arithmetics.
    assert sum(bool(one.shared) for one in found) > 3 * 75
    assert sum(len(one.shared) > 1 for one in found) > 3 * 10


@pytest.mark.slow
def test_sharing_changes_no_answer_of_twenty_thousand_workloads(monkeypatch):
    found = plans(monkeypatch)
    met = agree(range(10**6, 10**6 + 20_000), sequences.common_case, "sharon")
    assert met["rows"] > 10_000
    assert {
        name: met[name]
        for name in ("local", "equivalence", "GROUP-BY", "repeated type", "sliding")
        if met[name] < 100
    } == {}
    assert sum(bool(one.shared) for one in found) > 3 * 10_000


def test_the_workloads_meet_all_that_the_engine_takes():
    met: Counter[str] = Counter()
    for seed in range(1_500):
        case = sequences.case(Random(seed))
        analysed = analyse_workload(case.workload)
        check_queries(ENGINE, analysed, "")
        met.update(name for query in case.workload.queries for name in constructs(query))
    assert {name: met[name] for name in MET if met[name] < 20} == {}
