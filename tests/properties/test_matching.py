"""Modes and the aggregates over trends and partitions: oracle == two_step == greta, and hamlet == greta beyond it."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import assume, given

from hamlet_core.language.parser import parse_syntax
from hamlet_core.language.syntax import Mode, Workload
from hamlet_core.language.writer import write_workload
from tests.golden.harness import ARITHMETICS
from tests.oracle.oracle import AmbiguousBindingError, TooManyMatchesError
from tests.properties import agreement, comparison, matching, strategies
from tests.properties.constructs import CLAUSES, MODES, OF_TRENDS, PATTERNS, constructs
from tests.properties.profiles import quick

REFERENCES = ("greta", "two_step")
NEW = MODES | OF_TRENDS
POLICIES = ("dynamic", "always", "never")


def check(case, arithmetics):
    assert comparison.disagreements(case, REFERENCES, arithmetics) == [], case


def check_all(make, seeds):
    """How many cases were too large to enumerate."""
    skipped = 0
    for seed in seeds:
        try:
            check(make(Random(seed)), ("exact",) if seed % 4 else ARITHMETICS)
        except TooManyMatchesError:
            skipped += 1
    return skipped


@quick(60)
@given(strategies.matching_cases)
def test_engines_agree_with_enumeration(case):
    try:
        check(case, ARITHMETICS)
    except TooManyMatchesError:
        assume(False)


def test_engines_agree_with_enumeration_on_seeded_cases():
    assert check_all(matching.case, range(250)) < 12


def test_engines_agree_on_workloads():
    assert check_all(matching.workload_case, range(60)) < 5


def test_hamlet_agrees_on_seeded_workloads():
    """The first of the twenty thousand."""
    for seed in range(10**6, 10**6 + 200):
        case = matching.task(Random(seed))
        policy = POLICIES[seed % len(POLICIES)]
        wrong, _ = agreement.compare(case.workload, case.table(), case.schema, policy=policy)
        assert wrong == [], (seed, policy, case)


@pytest.mark.slow
def test_hamlet_agrees_on_twenty_thousand_workloads():
    reached: Counter[str] = Counter()
    for seed in range(10**6, 10**6 + 20_000):
        case = matching.task(Random(seed))
        policy = POLICIES[seed % len(POLICIES)]
        wrong, counters = agreement.compare(case.workload, case.table(), case.schema, policy=policy)
        assert wrong == [], (seed, policy, case)
        reached.update(name for query in case.workload.queries for name in constructs(query))
        reached["rows"] += any(one.result_rows for one in counters)
        reached["sharing"] += any(one.shared_bursts for one in counters)
    assert {name: reached[name] for name in NEW | PATTERNS | CLAUSES if reached[name] < 300} == {}
    assert reached["rows"] > 10_000
    assert reached["sharing"] > 100


@quick(60)
@given(strategies.matching_workload_cases)
def test_writing_and_parsing_is_the_identity(case):
    assert parse_syntax(write_workload(case.workload)) == case.workload


def test_every_mode_meets_every_construct_and_aggregate():
    pairs: Counter[tuple[str, str]] = Counter()
    for seed in range(3_000):
        found = constructs(matching.case(Random(seed)).query)
        assert "AND" not in found or not found & OF_TRENDS
        pairs.update((mode, name) for mode in found & MODES for name in found - MODES)
    wanted = {(mode, name) for mode in MODES for name in PATTERNS | CLAUSES | OF_TRENDS}
    assert {pair: pairs[pair] for pair in wanted if pairs[pair] < 3} == {}


def test_most_cases_have_rows_and_modes_matter():
    filled = reached = changed = 0
    for seed in range(400):
        case = matching.case(Random(seed))
        try:
            values, _ = comparison.expected(case)
            plain = Workload((replace(case.query, mode=Mode.ANY),))
            other, _ = comparison.expected(replace(case, workload=plain))
        except (TooManyMatchesError, AmbiguousBindingError):
            continue
        filled += bool(values)
        changed += values != other
        reached += any(value and key[3].startswith("REACH") for key, value in values.items())
    assert filled > 200
    assert changed > 60
    assert reached > 100
