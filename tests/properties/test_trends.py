"""Engines that share whole sub-patterns of sequences and Kleene plus: equal to the reference, and they really share."""

from collections import Counter
from random import Random

import pytest

from hamlet_core.engines import gloria, shared_two_step
from hamlet_core.sharing.gloria.planning import plan_sharing
from tests.properties import agreement, comparison, trends
from tests.properties.constructs import constructs

MET = {
    "SEQ", "+", "nested Kleene", "repeated type", "equivalence", "local", "adjacent", "GROUP-BY", "two groups", "sliding",
    "gaps", "timestamps", "COUNT(*)", "COUNT(E)", "SUM", "AVG", "MIN", "MAX",
}  # fmt: skip
IN_EACH_ARITHMETIC = 3


def agree(seeds, engine, *, short=False):
    """Compare with the reference on each; how often what was met, and how many answers have rows."""
    met: Counter[str] = Counter()
    for seed in seeds:
        case = trends.common_case(Random(seed), short=short)
        events = comparison.table(case)
        wrong, counters = agreement.compare(case.workload, events, comparison.SCHEMA, engine=engine)
        assert wrong == [], (seed, case)
        assert len(counters) == IN_EACH_ARITHMETIC, (seed, case)
        met.update(name for query in case.workload.queries for name in constructs(query))
        met["rows"] += any(one.result_rows for one in counters)
    return met


class Watched:
    """What the plans of GLORIA share from here on, and what its executor meets on the way."""

    def __init__(self, monkeypatch):
        self.met: Counter[str] = Counter()
        handed_on = gloria.Expressions.handed_on

        def planned(workload):
            plan = plan_sharing(workload)
            self.met.update(self.kinds(plan))
            return plan

        def watched(expressions, step, own, before):
            starting = step.starting.intersection(own.queries)
            self.met["all start where an expression goes on"] += len(starting) == len(own.queries)
            self.met["some start where an expression goes on"] += 0 < len(starting) < len(own.queries)
            self.met["some come in another way"] += any(
                0 < len({*its.queries}.intersection(own.queries)) < len(own.queries) for its, _ in before
            )
            return handed_on(expressions, step, own, before)

        monkeypatch.setattr(gloria, "plan_sharing", planned)
        monkeypatch.setattr(gloria.Expressions, "handed_on", watched)

    @staticmethod
    def kinds(plan):
        """What a plan has, each once."""
        shared = {
            (one.source, one.target): {own.snapshot_type for own in one.sets if own.shared}
            for one in plan.transitions
        }
        pairs = {pair for pair, types in shared.items() if types}
        found = {"shared"} if pairs else set()
        found |= {"a body of one type" for source, target in pairs if source == target}
        found |= {"a body of several" for pair in pairs if pair[0] != pair[1] and pair[::-1] in shared}
        found |= {"snapshots go on" for pair in pairs if shared[pair] - {pair[0]}}
        found |= {"several snapshot types"} if len(set().union(*shared.values())) > 1 else set()
        found |= {"a query by itself" for source, _ in shared if "@" in source}
        return found


def missed(met, least):
    return {name: (met[name], count) for name, count in least.items() if met[name] < count}


def test_sharing_expressions_changes_no_answer(monkeypatch):
    watched = Watched(monkeypatch)
    met = agree(range(150), "gloria")
    assert met["rows"] > 75
    least = {
        "shared": 100, "a body of several": 50, "snapshots go on": 75, "several snapshot types": 50,
        "all start where an expression goes on": 100, "some start where an expression goes on": 50,
        "some come in another way": 10,
    }  # fmt: skip
    assert missed(watched.met, least) == {}


@pytest.mark.slow
def test_sharing_expressions_changes_no_answer_of_twenty_thousand_workloads(monkeypatch):
    watched = Watched(monkeypatch)
    met = agree(range(10**6, 10**6 + 20_000), "gloria")
    assert met["rows"] > 10_000
    assert missed(met, dict.fromkeys(MET, 100)) == {}
    least = {
        "shared": 15_000, "a body of one type": 8_000, "a body of several": 12_000, "snapshots go on": 15_000,
        "several snapshot types": 10_000, "a query by itself": 1_000, "all start where an expression goes on": 75_000,
        "some start where an expression goes on": 30_000, "some come in another way": 15_000,
    }  # fmt: skip
    assert missed(watched.met, least) == {}


def covers(monkeypatch):
    """What queries are covered by from here on: each kind once per plan."""
    met: Counter[str] = Counter()
    planned = shared_two_step.planned

    def watched(prepared):
        shared = planned(prepared)
        found = {"shared"} if shared.covers else set()
        found |= {f"{len(own)} runs" for own in shared.covers.values()}
        edges = [edge for node in shared.nodes for edge in node.automaton.edges]
        found |= {"a Kleene plus in a run" for edge in edges if edge.source >= edge.target}
        found |= {
            "a condition in a run"
            for node in shared.nodes
            for into in node.incoming
            for edge in into
            if edge.condition
        }
        met.update(found)
        return shared

    monkeypatch.setattr(shared_two_step, "planned", watched)
    return met


def test_listing_common_parts_once_changes_no_answer(monkeypatch):
    met = covers(monkeypatch)
    assert agree(range(150), "shared_two_step", short=True)["rows"] > 75
    least = {
        "shared": 200,
        "2 runs": 100,
        "3 runs": 20,
        "a Kleene plus in a run": 150,
        "a condition in a run": 40,
    }
    assert missed(met, least) == {}


@pytest.mark.slow
def test_listing_common_parts_once_changes_no_answer_of_twenty_thousand_workloads(monkeypatch):
    shared = covers(monkeypatch)
    met = agree(range(10**6, 10**6 + 20_000), "shared_two_step", short=True)
    assert met["rows"] > 10_000
    assert missed(met, dict.fromkeys(MET, 100)) == {}
    least = {
        "shared": 25_000, "2 runs": 15_000, "3 runs": 4_000, "a Kleene plus in a run": 20_000, "a condition in a run": 6_000
    }  # fmt: skip
    assert missed(shared, least) == {}
