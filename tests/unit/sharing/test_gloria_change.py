"""What becomes of GLORIA's plans when queries come and go, or statistics change."""

from dataclasses import replace
from random import Random

import pytest

from hamlet_core.errors import InvariantError
from hamlet_core.sharing.gloria.building import Pruning, build_graph
from hamlet_core.sharing.gloria.change import (
    Migration,
    migration,
    plan_again,
    plan_cost,
    plan_with,
    plan_without,
    with_queries,
    without_query,
)
from hamlet_core.sharing.gloria.planning import plan_of, plan_sharing
from hamlet_core.sharing.gloria.plans import Doubt, QuerySet, TransitionPlan, written
from hamlet_core.sharing.gloria.workload import KleeneBody, Workload, of_sequences
from tests.unit.sharing.gloria_workloads import NAMES, chain, frequencies, tree

SIZES = {"F": 10, "A": 5, "B": 10, "C": 12, "D": 4, "E": 3}
TWO = of_sequences(["FABCD", "ABCD"], SIZES)
THREE = of_sequences(["FABCD", "ABCD", "ECD"], SIZES)


def plans(plan):
    return {one.source + one.target: written(one.sets) for one in plan.transitions}


def test_a_new_query_shares_with_nobody():
    old = plan_sharing(TWO)
    workload = with_queries(TWO, of_sequences(["ECD"], SIZES))
    assert (workload.starts, workload.ends) == (THREE.starts, THREE.ends)
    assert set(workload.transitions) == set(THREE.transitions)
    plan = plan_with(workload, old)
    assert plans(plan) == plans(plan_sharing(THREE))
    assert (plan.cost, plan.doubts) == (307, (Doubt.CHANGED,))
    # The third query alone: start 3, E to C 36, C to D 48.
    assert plan.cost == old.cost + 87


def test_a_new_query_on_an_old_way_pays_for_itself():
    old = plan_sharing(TWO)
    plan = plan_with(with_queries(TWO, of_sequences(["ABCD"], SIZES)), old)
    assert plans(plan) == {
        "FA": "(0)",
        "AB": "(0,1)^A (2)",
        "BC": "(0,1)^A (2)",
        "CD": "(0,1)^A (2)",
    }
    assert plan.cost == old.cost + 5 + 50 + 120 + 48


def test_a_new_query_in_a_body():
    body = KleeneBody((("A", "B"), ("B", "A")), (0, 1))
    pair = Workload((), (("A",),) * 2, (("B",),) * 2, {"A": 1, "B": 10}, (body,))
    turned = KleeneBody(body.transitions[::-1], (0,))
    one = Workload((), (("A",),), (("B",),), pair.frequencies, (turned,))
    workload = with_queries(pair, one)
    assert workload.bodies == (replace(body, queries=(0, 1, 2)),)
    plan = plan_with(workload, plan_sharing(pair))
    assert plans(plan) == {"AB": "(0,1)^A (2)", "BA": "(0,1)^A (2)"}
    assert plan.cost == plan_sharing(pair).cost + plan_sharing(one).cost


def test_who_is_left_alone_goes_unshared():
    workload = without_query(TWO, 1)
    plan = plan_without(workload, plan_sharing(TWO))
    assert plans(plan) == {"FA": "(0)", "AB": "(0)", "BC": "(0)", "CD": "(0)"}
    assert plan.cost == plan_sharing(workload).cost == plan_sharing(of_sequences(["FABCD"], SIZES)).cost


def test_a_large_set_stays_shared_without_one_query():
    four = of_sequences(["ABCD"] * 4, SIZES)
    workload = without_query(four, 2)
    plan = plan_without(workload, plan_sharing(four))
    assert set(plans(plan).values()) == {"(0,1,3)^A"}
    assert plan.cost == plan_sharing(workload).cost


def test_who_was_left_alone_later_keeps_the_snapshots():
    """The second query ends at B; the first one carries their expression on."""
    workload = of_sequences(["ABCD", "AB", "AB"], {"A": 1, "B": 10, "C": 10, "D": 10})
    plan = plan_sharing(workload)
    assert plans(plan)["CD"] == "(0)^A"
    assert plans(plan_without(without_query(workload, 1), plan)) == {
        "AB": "(0,2)^A",
        "BC": "(0)^A",
        "CD": "(0)^A",
    }
    both = without_query(without_query(workload, 1), 2)
    assert set(plans(plan_without(both, plan)).values()) == {"(0)"}


def test_a_query_without_common_types_changes_nothing_else():
    random = Random(11)
    sizes = {"X": 3, "Y": 8, "Z": 2}
    for pattern in ["XYZ", "YZ", "X"] * 20:
        workload, new = chain(random, 2, 30), of_sequences([pattern], sizes)
        before, both = plan_sharing(workload), with_queries(workload, new)
        anew = plan_sharing(both)
        assert plan_with(both, before).cost == anew.cost == before.cost + plan_sharing(new).cost
        gone = plan_without(without_query(both, 2), anew)
        assert gone.cost == before.cost == plan_sharing(without_query(both, 2)).cost


@pytest.mark.parametrize("shape", ["chain", "one end", "one start", "either"])
def test_changed_plans_are_plans_and_no_cheaper_than_new_ones(shape):
    random = Random(f"change {shape}")
    for _ in range(80):
        whole = chain(random, 3, 30) if shape == "chain" else tree(random, 3, 30, shape)
        anew = plan_sharing(whole)
        for query in whole.queries:
            fewer = without_query(whole, query)
            best = plan_sharing(fewer)
            assert plan_without(fewer, anew).cost >= best.cost
            assert plan_cost(fewer, best) == best.cost
            grown = plan_with(whole, best)
            assert grown.cost >= anew.cost
            assert plan_without(fewer, grown).cost == best.cost


def known(plan):
    return {(one.source, one.target): one.sets for one in plan.transitions}


@pytest.mark.parametrize("pruning", [Pruning.NONE, Pruning.GUARDED])
def test_new_statistics_search_the_nodes_that_are_there(pruning):
    """As cheap as planning anew wherever the graph has kept the nodes of the new plan."""
    random = Random(f"statistics {pruning.value}")
    the_same = 0
    for _ in range(200):
        workload = chain(random, 2, 30)
        graph = build_graph(workload, pruning=pruning)
        sizes = frequencies(random, sorted(workload.frequencies), 30)
        again = plan_again(graph, sizes)
        changed = replace(workload, frequencies=sizes)
        anew = plan_sharing(changed)
        assert again.cost == plan_cost(changed, again) >= anew.cost
        assert again.cost <= plan_cost(changed, plan_of(graph))
        there = {
            (pair, node.sets)
            for pool, found in zip(graph.pools.pools, graph.nodes, strict=True)
            for pair in pool.transitions
            for node in found
        }
        if known(anew).items() <= there:
            assert again.cost == anew.cost
            the_same += 1
        assert again.optimal == (sizes == workload.frequencies)
    assert the_same > 100


def test_the_same_statistics_give_the_same_plan():
    graph = build_graph(THREE)
    again = plan_again(graph, SIZES)
    assert again == plan_sharing(THREE)
    assert plan_again(build_graph(THREE), {**SIZES, "A": 6}).doubts == (Doubt.OLDER,)


def test_statistics_there_and_back():
    graph = build_graph(THREE)
    other = plan_again(graph, {**SIZES, "A": 200, "B": 2})
    assert plans(other)["BC"] != "(0,1)^A"
    assert plan_again(graph, SIZES).cost == 307


def test_a_move_pays_if_it_saves_more_than_old_expressions_cost():
    old = plan_sharing(TWO)
    assert set(plans(old).values()) == {"(0)", "(0,1)^A"}
    rare = replace(TWO, frequencies={**SIZES, "A": 20, "B": 2, "C": 30, "D": 10, "F": 1})
    new = plan_sharing(rare)
    moved = migration(rare, old, new)
    # A events carry their own snapshot only: one term for each of the two queries.
    assert moved == Migration(saving=1101 - 223, cost=2 * 20)
    assert moved.worth
    assert migration(rare, new, new) == Migration(0, 0)
    assert not migration(rare, new, new).worth


def test_a_move_evaluates_where_the_new_plan_first_reads():
    workload = of_sequences(["ABCD", "ABCD"], {"A": 4, "B": 3, "C": 5, "D": 2})
    everywhere = (QuerySet((0, 1), "A"),)
    old = replace(
        plan_sharing(workload),
        transitions=tuple(TransitionPlan(*pair, everywhere) for pair in ("AB", "BC", "CD")),
    )
    local = replace(
        old,
        transitions=(
            *old.transitions[:2],
            TransitionPlan("C", "D", (QuerySet((0, 1), "C"),)),
        ),
    )
    # C events carry expressions over A: 5 events of 4 terms, evaluated for two queries.
    assert migration(workload, old, local).cost == 2 * 5 * 4
    assert migration(workload, old, local).saving == plan_cost(workload, old) - plan_cost(workload, local)
    # Numbers need no evaluation.
    alone = replace(old, transitions=tuple(replace(one, sets=()) for one in old.transitions))
    apart = replace(
        alone,
        transitions=tuple(replace(one, sets=(QuerySet((0,)), QuerySet((1,)))) for one in alone.transitions),
    )
    assert migration(workload, apart, old).cost == 0


def test_a_query_moves_once_on_each_way():
    random = Random(17)
    for _ in range(100):
        workload = chain(random, 3, 20)
        old, new = (
            plan_sharing(workload),
            plan_sharing(replace(workload, frequencies=frequencies(random, NAMES, 20))),
        )
        bound = 0
        for one in old.transitions:
            shared = [own for own in one.sets if own.shared]
            bound += sum(
                len(own.queries) * workload.frequencies[one.source] * workload.frequencies[own.snapshot_type]
                for own in shared
            )
        moved = migration(workload, old, new)
        assert 0 <= moved.cost <= bound
        assert moved.saving <= 0  # the old plan is the cheapest one
        assert not moved.worth


@pytest.mark.parametrize(
    ("sets", "complaint"),
    [
        ({"AB": "0,1 A", "BC": "0 / 1"}, "no legal step"),
        ({"AB": "0 / 1", "BC": "0,1 A"}, "no legal step"),
        ({"AB": "0,1 A", "BC": "0 B / 1 B"}, "no legal step"),
        ({"AB": "0 / 1", "BC": "0 B / 1"}, "no legal step"),
        ({"AB": "0,1 A", "BC": "0 B"}, "has no plan for"),
        ({"AB": "0,1 A"}, "has no plan for"),
    ],
)
def test_what_is_no_plan(sets, complaint):
    workload = of_sequences(["ABC", "ABC"], {"A": 4, "B": 3, "C": 5})

    def read(text):
        parts = [one.split() for one in text.split(" / ")]
        return tuple(
            QuerySet(tuple(map(int, queries.split(","))), *snapshots) for queries, *snapshots in parts
        )

    plan = replace(
        plan_sharing(workload),
        transitions=tuple(TransitionPlan(*pair, read(text)) for pair, text in sets.items()),
    )
    with pytest.raises(InvariantError, match=complaint):
        plan_cost(workload, plan)


def test_no_plan_keeps_a_set_that_numbers_enter():
    whole = of_sequences(["ABC", "ABC"], {"A": 4, "B": 3, "C": 5})
    kept = tuple(TransitionPlan(*pair, (QuerySet((0, 1), "A"),)) for pair in ("AB", "BC"))
    plan = replace(plan_sharing(whole), transitions=kept)
    assert plan_cost(whole, plan) == 4 * 2 + 4 + 3 * 4 + 2 * 5 * 4
    assert plan_cost(replace(whole, starts=(("A", "B"),) * 2), plan) == 64 + 2 * 3
    with pytest.raises(InvariantError, match="no legal step"):
        plan_cost(replace(whole, starts=(("A", "B"), ("A",))), plan)
