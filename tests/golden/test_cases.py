"""Every golden case, in the oracle and in every engine and arithmetic, through the public door."""

from functools import cache
from itertools import product

import pytest

import hamlet_core
from hamlet_core import EventSchema, HamletError, QueryMeaningError
from hamlet_core.engines.registry import GENERAL
from hamlet_core.pattern.meaning import analyse_workload
from hamlet_core.sharing.options import CHOICES, COST_MODELS, POLICIES
from hamlet_core.template.workload import Path, path_of
from tests.golden import harness
from tests.oracle.oracle import oracle_rows

SCHEMA = EventSchema(time="t", type="type")

REFUSED: dict[str, frozenset[str]] = {}
"""Engine -> names of cases it still refuses with a named error. May only shrink."""


# Reading a text takes as long as answering it here, and the language has tests of its own.
parsed = cache(hamlet_core.parse)


def test_no_case_that_was_handed_over_is_lost():
    handed_over = dict(zip(harness.FILES, (25, 15, 100, 60, 60, 120), strict=True))
    found = {file: len({case.name for case in harness.load(file)}) for file in harness.FILES}
    assert {file: count for file, count in found.items() if count < handed_over[file]} == {}


def enumerated(case):
    return {
        (query.name, row.window_start, harness.group_key(row.group), label): value
        for query in parsed(case.text).queries
        for row in oracle_rows(query, case.events)
        for label, value in row.values.items()
    }


@pytest.mark.parametrize("file", harness.FILES)
def test_oracle(file):
    wrong = {case.name: case.text for case in harness.load(file) if enumerated(case) != case.expected}
    assert wrong == {}


# One test takes a whole file: as tests of their own the cases would spend most of their time in the runner.
@pytest.mark.parametrize("arithmetic", harness.ARITHMETICS)
@pytest.mark.parametrize("engine", sorted(GENERAL))
@pytest.mark.parametrize("file", harness.FILES)
def test_engine(file, engine, arithmetic):
    refused = REFUSED.get(engine, frozenset())
    wrong = {}
    for case in harness.load(file):
        events, options = harness.table(case.events), {"engine": engine, "arithmetic": arithmetic}
        if case.name in refused:
            with pytest.raises(HamletError):
                hamlet_core.run(parsed(case.text), events, schema=SCHEMA, **options)
            continue
        found = hamlet_core.run(parsed(case.text), events, schema=SCHEMA, **options)
        if differences := harness.differences(found, case.expected, arithmetic):
            wrong[case.name] = case.text, differences
    assert wrong == {}


COUNTED = {
    "corner": "not-gap-is-open not-trailing-tie-and-window-end not-other-partition",
    "random": "random-3 random-5 random-12 random-23 random-27 random-42 random-44 random-69 random-70 random-75 "
    "random-77 random-83 random-86 random-87 random-89 random-91 random-95 random-98",
    "repeated": "repeat-1 repeat-9",
    "matching": "partitions-without-equivalence reach-asked-of-a-later-step-only reach-and-not matching-54-seq-any",
}
"""The cases of each file that A-Seq has rules for: single events in sequence, skip-till-any-match."""
WITH_NOT = frozenset(
    {"not-gap-is-open", "not-trailing-tie-and-window-end", "not-other-partition"}
    | {"random-12", "repeat-9", "reach-and-not"}
)
"""Those of them that SHARON has no rule for."""


@pytest.mark.parametrize("arithmetic", harness.ARITHMETICS)
@pytest.mark.parametrize("engine", ["aseq", "sharon"])
@pytest.mark.parametrize("file", harness.FILES)
def test_sequences_of_fixed_length(file, engine, arithmetic):
    wrong, how = {}, {"schema": SCHEMA, "engine": engine, "arithmetic": arithmetic}
    counted = [name for name in COUNTED.get(file, "").split() if engine == "aseq" or name not in WITH_NOT]
    for case in harness.load(file):
        events = harness.table(case.events)
        if case.name not in counted:
            with pytest.raises(QueryMeaningError, match="E302"):
                hamlet_core.run(parsed(case.text), events, **how)
            continue
        found = hamlet_core.run(parsed(case.text), events, **how)
        if differences := harness.differences(found, case.expected, arithmetic):
            wrong[case.name] = case.text, differences
    assert wrong == {}
    assert {*counted} <= {case.name for case in harness.load(file)}


def test_sequences_of_fixed_length_are_among_the_cases():
    assert sum(len(names.split()) for names in COUNTED.values()) == 27
    assert set(COUNTED) <= set(harness.FILES)
    assert set(" ".join(COUNTED.values()).split()) >= WITH_NOT


OPTIONS = [
    (policy, model, choice)
    for policy in POLICIES
    for model in COST_MODELS
    for choice in CHOICES
    if policy == "dynamic" or choice == "guarded"
    if policy != "never" or model == "measured"
]
"""How queries share, without those that say the same: only `dynamic` chooses, and `never` asks no price."""


@pytest.mark.parametrize(("policy", "cost_model", "choice"), OPTIONS)
@pytest.mark.parametrize("arithmetic", harness.ARITHMETICS)
@pytest.mark.parametrize("file", harness.FILES)
def test_kernels_do_all_the_work(file, arithmetic, policy, cost_model, choice):
    how = {"policy": policy, "cost_model": cost_model, "choice": choice, "arithmetic": arithmetic}
    wrong, shared = {}, 0
    for case in harness.load(file):
        done = hamlet_core.execute(parsed(case.text), harness.table(case.events), schema=SCHEMA, **how)
        folded, matched = done.counters.kernel_events, done.counters.matched_events
        differences = harness.differences(done.results, case.expected, arithmetic)
        alone = any(path_of(one) is Path.REFERENCE for one in analyse_workload(parsed(case.text)))
        if not alone and (folded != matched or (case.expected and not folded)):
            differences.append(f"kernels folded {folded} events of {matched}")
        if differences:
            wrong[case.name] = case.text, differences
        shared += done.counters.shared_bursts
    assert wrong == {}
    assert shared > 0 or file != "workloads" or (policy != "always" and cost_model != "paper")
    assert shared == 0 or policy != "never"


@pytest.mark.parametrize(
    ("policy", "cost_model", "choice"),
    sorted({*product(POLICIES, COST_MODELS, CHOICES)} - {*OPTIONS}),
)
def test_what_a_policy_does_not_ask_for_changes_nothing(policy, cost_model, choice):
    for case in harness.load("workloads"):
        events, how = harness.table(case.events), {"schema": SCHEMA, "policy": policy, "arithmetic": "exact"}
        found = hamlet_core.run(parsed(case.text), events, cost_model=cost_model, choice=choice, **how)
        assert found.equals(hamlet_core.run(parsed(case.text), events, **how)), case.name
