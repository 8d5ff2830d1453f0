"""Every golden case, in the oracle and in every engine and arithmetic, through the public door."""

from functools import cache
from itertools import product

import pytest

import hamlet_core
from hamlet_core import EventSchema, HamletError, QueryMeaningError
from hamlet_core.engines.registry import CHECKS, GENERAL
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
FOLDED = {
    "paper": "hamlet-fig4-q1 hamlet-fig4-q2 gloria-fig4 kleene-start-two-graphlets interleaved suffix-after-two-graphlets "
    "varpulis-7 varpulis-20 opencep-11 ties sum-multiplicity threshold-30 threshold-100 tumbling edge-predicate-q1 "
    "edge-predicate-q2 nested down-trend",
    "corner": "adjacent-one-edge-only adjacent-inner-kleene merge-over-equivalence window-not-multiple "
    "null-group-and-null-predicate tie-inside-burst",
    "random": "random-3 random-5 random-7 random-11 random-16 random-17 random-23 random-25 random-27 random-28 random-30 "
    "random-37 random-41 random-42 random-43 random-44 random-45 random-46 random-47 random-49 random-50 random-53 "
    "random-63 random-67 random-69 random-70 random-71 random-75 random-77 random-81 random-82 random-83 random-86 "
    "random-87 random-89 random-91 random-95 random-97 random-98",
    "repeated": "repeat-1 repeat-2 repeat-27 repeat-29 repeat-39 repeat-52 repeat-59",
    "workloads": "workload-0 workload-3 workload-4 workload-5 workload-9 workload-12 workload-14 workload-15 workload-25 "
    "workload-29 workload-31 workload-38 workload-39 workload-41 workload-43 workload-44 workload-45 workload-46 "
    "workload-48 workload-50 workload-56 workload-59",
    "matching": "modes-any partitions partitions-without-equivalence reach-funnel reach-asked-of-a-later-step-only "
    "duration matching-12-partitions-any matching-15-local-any matching-20-nested-any matching-37-kleene-any "
    "matching-49-group-any matching-54-seq-any matching-69-local-any matching-83-sliding-any",
}
"""Those that GLORIA has rules for: sequences and Kleene plus."""


def supported(engine, file):
    if engine == "gloria":
        return FOLDED.get(file, "").split()
    return [name for name in COUNTED.get(file, "").split() if engine == "aseq" or name not in WITH_NOT]


@pytest.mark.parametrize("arithmetic", harness.ARITHMETICS)
@pytest.mark.parametrize("engine", sorted(CHECKS))
@pytest.mark.parametrize("file", harness.FILES)
def test_what_the_paper_of_an_engine_has_rules_for(file, engine, arithmetic):
    wrong, how = {}, {"schema": SCHEMA, "engine": engine, "arithmetic": arithmetic}
    names = supported(engine, file)
    for case in harness.load(file):
        events = harness.table(case.events)
        if case.name not in names:
            with pytest.raises(QueryMeaningError, match="E302"):
                hamlet_core.run(parsed(case.text), events, **how)
            continue
        found = hamlet_core.run(parsed(case.text), events, **how)
        if differences := harness.differences(found, case.expected, arithmetic):
            wrong[case.name] = case.text, differences
    assert wrong == {}
    assert {*names} <= {case.name for case in harness.load(file)}


@pytest.mark.parametrize(("engine", "number"), [("aseq", 27), ("sharon", 21), ("gloria", 106)])
def test_what_each_paper_has_rules_for_is_among_the_cases(engine, number):
    assert sum(len(supported(engine, file)) for file in harness.FILES) == number


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
